"""Texts of Modelica, compiled and run by Rumoca: rates, signals and motions are the model's."""

import re

import numpy as np
import pytest
from driven_loops import four_bar
from exported import telescope, with_currents
from random_arms import random_arm
from rubbing import random_drives

import flexarm as fa
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.fmu.arm import usual_sensors
from flexarm.exports.modelica import modelica
from flexarm.exports.programs import state
from flexarm.model import closures

rumoca = pytest.importorskip("rumoca", reason="Rumoca, which compiles Modelica, is not installed")


def rubbing():
    arm = random_drives(random_arm(11, links=2, elastic=True), 7, brakes=False)
    return arm.replace(forces=(fa.Force(name="push", link=arm.links[-1].name, at=1.0),))


def yielding():
    """A spring whose force is a power."""
    hysteresis = fa.Hysteresis(stiffness=50.0, force=2.0, exponent=1.5)
    drive = fa.Drive(spring=fa.Spring(stiffness=20.0, hysteresis=hysteresis))
    joint = fa.Revolute(rotor_inertia=0.1, drive=drive)
    return fa.Arm(name="yielding", links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))])


def three_joints():
    """The arm in space without its wrist."""
    arm = fa.load("spatial-6r")
    return arm.replace(links=arm.links[:3])


CASES = {
    "powers": lambda: (fa.Model(yielding()), None),
    "two links": lambda: (fa.Model(fa.load("subudhi-morris")), None),
    "parameters": lambda: (fa.Model(fa.load("canadarm"), vary=["payload.mass", "upper.EI*"]), None),
    "gravity": lambda: (fa.Model(three_joints()), [fa.Accelerometer(link="fore"), fa.TipPosition()]),
    "telescope": lambda: (fa.Model(telescope()), None),
    "drives": lambda: (fa.Model(with_currents()), None),
    "friction and a push": lambda: (fa.Model(rubbing()), [fa.TipPosition(axes="xz")]),
    "free base": lambda: (fa.Model(fa.load("canadarm-free")), None),
    "closures": lambda: (fa.Model(four_bar(flexible=True), vary=["rocker.mass"]), [fa.Accelerometer(link="rocker")]),
}


def compiled(text, name="Arm", given=(), equations=()):
    """The class within another that gives its inputs."""
    inputs = re.findall(r"^  Input (\w+)", text, re.MULTILINE)
    lines = [f"{x} = {value!r};" for x, value in zip(inputs, map(float, given), strict=True)] if len(given) else []
    around = "\n".join(f"  arm.{line}" for line in (*lines, *equations))
    return rumoca.Session().loads(f"{text}\nmodel Test\n  {name} arm;\nequation\n{around}\nend Test;\n", model="Test")


def started(model, sensors, seed=1):
    """A state near rest with all that acts, and the class that starts there."""
    at = state(model, np.random.default_rng(seed))
    text = modelica(model, "Arm", sensors, at["q"], at["qd"], at["s"] if len(at["s"]) else None)
    return at, compiled(text, given=[*at["u"], *at["w"]])


def close(found, value, tolerance=1e-12):
    np.testing.assert_allclose(found, value, rtol=0, atol=tolerance * max(np.abs(value).max(), 1e-300))


def legal(name):
    return re.sub(r"\W", "_", name, flags=re.ASCII)


@pytest.mark.parametrize("case", CASES)
def test_rates_and_signals_are_the_models(case):
    model, sensors = CASES[case]()
    at, made = started(model, sensors)
    p = model.p * (1.0 + 0.3 * np.arange(1, len(model.p) + 1))
    names = [f"arm.p_{legal(each.name)}" for each in model.varied]
    assert made.parameters.names == names
    ran = made.simulate(t=(0.0, 1e-9), dt=1e-9, params=dict(zip(names, p, strict=True)))
    more = {a: at[a] for a in ("s", "w") if len(at[a])} | ({"p": p} if len(p) else {})
    count = model.nq + model.nv + len(model.states)
    rates = [ran[f"arm.dx[{i}]"][0] for i in range(1, count + 1)]
    close(rates, model.evaluate("state_rate", at["q"], at["qd"], at["u"], **more)[:count])
    seen = fa.outputs(model, usual_sensors(model) if sensors is None else sensors)
    signals = [ran[f"arm.{legal(name)}"][0] for name in seen.names]
    close(signals, seen.values(at["q"], at["qd"], at["u"], **more))


def test_a_loop_in_modelica_stays_closed():
    """A start off the closures stops the simulation; a small gap does not grow."""
    model = fa.Model(four_bar(flexible=True))
    q, qd = fa.assemble(model, [1.1, 0.2, 1.2, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0], held=["crank.joint"])
    text = modelica(model, "Arm", None, q, qd)
    ran = compiled(text, given=[3.0]).simulate(
        t=(0.0, 0.5), dt=0.05, config=rumoca.SimConfig(rtol=1e-9, atol=1e-11, solver="rk-like")
    )
    ours = fa.simulate(model, 0.5, [3.0], q0=q, qd0=qd, rtol=1e-11, samples=11, progress=False)
    found = np.transpose([ran[f"arm.q_{legal(each)}"] for each in model.coordinates])
    np.testing.assert_allclose(found, ours.q.values, rtol=0, atol=1e-6)
    assert "assert(apart[1] < 1e-06" in text
    (begins,) = re.findall(r"q_coupler_joint\(.*start = ([-\d.]+)", text)
    away = text.replace(f"start = {begins}", f"start = {float(begins) + 1e-5!r}")
    ran = compiled(away, given=[3.0]).simulate(t=(0.0, 1e-9), dt=1e-9)
    near = closures.corrected(model, q + [0.0, 1e-5, 0.0, 0.0, 0.0], qd)
    rates = [ran[f"arm.dx[{i}]"][0] for i in range(1, 11)]
    close(rates, model.evaluate("state_rate", *near, np.array([3.0]))[:10], 1e-9)


@pytest.mark.parametrize("name", ["rigid-two-link", "subudhi-morris"])
def test_a_motion_is_that_of_simulate(name):
    model = fa.Model(fa.load(name))
    at, made = started(model, None)
    config = rumoca.SimConfig(rtol=1e-12, atol=1e-14, solver="rk-like")
    theirs = made.simulate(t=(0.0, 0.5), dt=0.05, config=config)
    more = {"method": "dop853", "rtol": 1e-12, "solver": fa.Solver(atol=1e-14), "samples": 11, "progress": False}
    ours = fa.simulate(model, 0.5, at["u"], q0=at["q"], qd0=at["qd"], **more)
    found = np.transpose([theirs[f"arm.q_{legal(each)}"] for each in model.coordinates])
    assert np.abs(found - found[0]).max() > 0.01  # it has moved
    np.testing.assert_allclose(found, ours.q.values, rtol=0, atol=1e-10)


def test_a_law_in_modelica_makes_no_algebraic_loop():
    """Signals that do not follow the inputs at once are functions of the state alone; those that do stand apart."""
    model = fa.Model(fa.load("rigid-two-link"))
    feedback = ("u_upper_joint = -3.0*arm.upper_joint;", "u_fore_joint = -arm.fore_joint_rate;")
    sensors = [*usual_sensors(model), fa.Accelerometer(link="fore")]
    q0 = [0.3, -0.2]
    text = modelica(model, "Arm", sensors, q0)
    parts = {name: re.search(f"function {name} .*?end {name};", text, re.DOTALL)[0] for name in ("signals", "driven")}
    assert "input Real u[2];" in parts["driven"] and "input Real u" not in parts["signals"]
    made = compiled(text, equations=feedback)
    config = rumoca.SimConfig(rtol=1e-12, atol=1e-14, solver="rk-like")
    theirs = made.simulate(t=(0.0, 0.3), dt=0.1, config=config)

    u = lambda t, q, qd: np.array([-3.0 * q[0], -qd[1]])  # noqa: E731
    ours = fa.simulate(model, 0.3, u, q0=q0, qd0=[0, 0], method="dop853", rtol=1e-12, samples=4, progress=False)
    np.testing.assert_allclose(theirs["arm.fore_joint"], ours.q.values[:, 1], rtol=0, atol=1e-10)
    last = (ours.q.values[-1], ours.qd.values[-1])
    seen = fa.outputs(model, sensors).values(*last, u(0.3, *last))
    names = fa.outputs(model, sensors).names
    np.testing.assert_allclose([theirs[f"arm.{legal(name)}"][-1] for name in names], seen, rtol=0, atol=1e-8)


def test_what_is_said_of_a_variable():
    model = fa.Model(fa.load("canadarm"), vary=["payload.mass"])
    made = rumoca.Session().loads(modelica(model, "Arm", q0=[0.25, *[0.0] * (model.nq - 1)]))
    first, mass = made.states[f"q_{legal(model.coordinates[0])}"], made.parameters["p_payload_mass"]
    assert (first.unit, first.fixed, mass.unit, mass.min, mass.value) == ("rad", True, "kg", 0.0, float(model.p[0]))
    assert first.description == f"q.{model.coordinates[0]}: coordinate"
    assert made.inputs[f"u_{legal(model.inputs[0])}"].unit == "N.m"
    text = modelica(fa.Model(fa.load("industrial-arm"), vary=["upper.drive.motor.resistance"]), "Arm")
    units = set(re.findall(r'[( ]unit = "([^"]*)"', text))
    assert {"rad", "Ohm"} <= units <= {"rad", "rad/s", "m", "m/s", "N.m", "A", "V", "N", "Ohm"}
    assert {*re.findall(r'displayUnit = "([^"]*)"', text)} == {"deg", "deg/s"}


def test_names_are_modelicas_and_each_its_own():
    """Words of the language, letters that it has not, quotes in what is said, two names that become one."""
    links = [fa.Link(name=name, body=fa.Rigid(length=0.5, mass=1.0)) for name in ("end", "größe", "a-b", "a_b", "2nd")]
    arm = fa.Arm(name="when", description='says "no"\\ \n and on', links=links)
    sensors = [fa.Encoder(coordinate="a-b.joint", name=name) for name in ("der", "dx", "signals", "within", "Arm")]
    model = fa.Model(arm)
    text = modelica(model, "Arm", sensors, [0.1, 0.2, 0.3, 0.4, 0.5])
    made = compiled(text, given=[0.0] * 5)
    ran = made.simulate(t=(0.0, 1e-9), dt=1e-9)
    assert {"arm.q_end_joint", "arm.q_gr__e_joint", "arm.q_a_b_joint", "arm.q_a_b_joint_"} <= {*ran.names}
    assert {"arm.der_", "arm.dx_", "arm.signals_", "arm.within_", "arm.Arm_"} <= {*ran.names}
    assert [ran[f"arm.{name}"][0] for name in ("der_", "dx_", "signals_", "within_", "Arm_")] == [0.3] * 5
    assert '"q.a_b.joint: coordinate"' in text and 'model Arm "says \\"no\\"\\\\   and on"' in text


def test_beyond_a_telescopes_range_it_stops():
    model = fa.Model(telescope())
    q0 = np.array(model.arm.rest)
    slide = next(i for i, unit in enumerate(model.arm.units) if unit == "m")
    q0[slide] = 9.0
    made = compiled(modelica(model, "Arm", q0=q0), given=[0.0] * len(model.inputs))
    with pytest.raises(rumoca.SimulationError, match="the arm is beyond its range, where its rates are no numbers"):
        made.simulate(t=(0.0, 0.01), dt=0.01)


def test_the_class_is_called_as_its_file(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"))
    path = fa.export_modelica(model, tmp_path / "Pendulum.mo")
    assert path == tmp_path / "Pendulum.mo" and path.read_text() == modelica(model, "Pendulum")
    assert rumoca.Session().load(path).name == "Pendulum"
    for name in ("2nd.mo", "an-arm.mo", "arm.txt", "arm", "model.mo", "sin.mo", "größe.mo"):
        said = rf"^export_modelica: path is '{name}'; it must be NAME\.mo; NAME is a letter, then letters, digits and _"
        with pytest.raises(DescriptionError, match=said):
            fa.export_modelica(model, tmp_path / name)


def test_what_does_not_fit_is_refused(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"))
    with pytest.raises(DescriptionError, match=r"^export_modelica: model is 3; it must be a Model$"):
        fa.export_modelica(3, tmp_path / "Arm.mo")
    with pytest.raises(DescriptionError, match=r"^q0 has shape \(3,\); it must have 2 numbers"):
        fa.export_modelica(model, tmp_path / "Arm.mo", q0=[0.0] * 3)
    said = r"^s0 has shape \(1,\); it must have 0 numbers: none$"
    with pytest.raises(DescriptionError, match=said):
        fa.export_modelica(model, tmp_path / "Arm.mo", s0=[1.0])
    twice = [fa.Encoder(coordinate="upper.joint", name="x"), fa.Encoder(coordinate="fore.joint", name="x")]
    with pytest.raises(FlexarmError, match=r"two .*'x'"):
        fa.export_modelica(model, tmp_path / "Arm.mo", sensors=twice)
