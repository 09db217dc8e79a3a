"""FMUs by FMPy: its validator, its solvers, its build; values, slopes and states function by function."""

import ctypes
import re
import shutil
import subprocess
import sys
from functools import cache
from zipfile import ZipFile

import fmpy
import numpy as np
import pytest
from exported import STRICT
from fmpy.build import build_platform_binary
from fmpy.validation import validate_fmu
from fmus import called, described

import flexarm as fa
from flexarm import cli
from flexarm.attitude import configuration, local
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.exports.fmu import build
from flexarm.exports.fmu.arm import usual_sensors
from flexarm.exports.fmu.units import per_second, powers
from flexarm.simulation import crossings

VERSIONS = ("2.0", "3.0")
CC = shutil.which("cc")
assert CC, "the tests need a C compiler"


@cache
def bends():
    """Two links, the first bends, in gravity: states of very different size."""
    links = [
        fa.Link(name="upper", body=fa.Beam(length=0.8, mass=0.5, EI=40.0, modes={"y": 1}, damping=0.02)),
        fa.Link(name="fore", body=fa.Rigid(length=0.5, mass=0.4)),
    ]
    return fa.Model(
        fa.Arm(name="bends", links=links, payload=fa.Payload(mass=0.3), gravity=(0.0, -9.81, 0.0)),
        ["payload.mass", "upper.EI", "fore.length"],
    )


@cache
def driven():
    """An elastic joint with a voltage for its input, current and friction for its states, and a force at its tip."""
    motor = fa.Motor(
        input="voltage", torque_constant=0.4, resistance=1.5, inductance=5e-3, voltage_limit=100.0, efficiency=0.9
    )
    friction = fa.Friction(coulomb=0.5, static=0.7, model="lugre", bristle_stiffness=500.0, bristle_damping=1.0)
    drive = fa.Drive(motor=motor, friction=friction)
    joint = fa.Revolute(axis=(0, 0, 1), stiffness=400.0, rotor_inertia=1e-3, gear_ratio=30.0, drive=drive)
    link = fa.Link(name="upper", joint=joint, body=fa.Rigid(length=0.6, mass=2.0))
    return fa.Model(fa.Arm(name="driven", links=[link], forces=[fa.Force(name="push", link="upper")]))


@cache
def floats():
    """A free base with a thruster and one link that bends."""
    push = fa.Thruster(name="push", direction=[1, 0, 0], at=[-0.5, 0.0, 0.2])
    body = fa.Beam(length=1.2, mass=3.0, EI=400.0, modes={"z": 1})
    link = fa.Link(name="upper", parent="base", joint=fa.Revolute(axis=[0, 1, 0]), body=body)
    base = fa.FreeBase(mass=40.0, inertia=[5.0, 6.0, 7.0], thrusters=[push])
    return fa.Model(fa.Arm(name="floats", base=base, links=[link]), ["base.mass"])


MODELS = {"bends": bends, "driven": driven, "floats": floats}

START = {"bends": ([0.3, -0.5, 0.01], [0.2, 0.1, -0.1]), "driven": ([0.1, 0.12], [0.5, 0.4])}
"""q and qd; of the free arm a configuration."""


def started(name, model):
    if name in START:
        return START[name]
    shift = 0.1 * np.arange(1, model.nv + 1) / model.nv
    return configuration(model.arm, local(model.arm, np.array(model.arm.rest)) + shift).tolist(), (0.5 * shift).tolist()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(name, version) -> the model and its FMU, each written once."""
    folder, known = tmp_path_factory.mktemp("fmus"), {}

    def find(name, version):
        if (name, version) not in known:
            model = MODELS[name]()
            q0, qd0 = started(name, model)
            path = folder / f"{name}-{version}.fmu"
            known[name, version] = model, fa.export_fmu(model, path, version, q0=q0, qd0=qd0, sensors=SENSORS[name])
        return known[name, version]

    return find


SENSORS = {
    "bends": None,
    "driven": [
        fa.Encoder(coordinate="upper.drive"),
        fa.MotorCurrent(link="upper"),
        fa.Accelerometer(link="upper"),
        fa.MotorTorque(link="upper", name="torque"),
    ],
    "floats": None,
}
EACH = pytest.mark.parametrize(("name", "version"), [(name, version) for name in MODELS for version in VERSIONS])
ACTS = {
    "bends": {"u.upper.joint": 4.0, "u.fore.joint": 1.0},
    "driven": {"u.upper.motor": 6.0, "w.push.fy": 0.5},
    "floats": {"u.upper.joint": 0.3, "u.base.push": 2.0},
}


def inputs_of(name, model):
    """u and w as a run has them."""
    acts = ACTS[name]
    u = [acts.get(f"u.{each}", 0.0) for each in model.inputs]
    return np.array(u), np.array([acts.get(f"w.{each}", 0.0) for each in model.exogenous])


def run_of(name, model, until, p=None):
    """Our own run to the same time: state and what the sensors measure at its end."""
    u, w = inputs_of(name, model)
    q0, qd0 = started(name, model)
    more = {"w": w} if len(w) else {}
    run = fa.simulate(
        model, until, u, q0=np.array(q0), qd0=np.array(qd0), rtol=1e-11, samples=3, p=p, progress=False, **more
    )
    q, qd = run.q.values[-1], run.qd.values[-1]
    s = run.drive_state.values[-1] if model.states else np.empty(0)
    sensors = SENSORS[name] or usual_sensors(model)
    given = {"s": s if len(s) else None, "w": w if len(w) else None}
    return np.concatenate([q, qd, s]), fa.outputs(model, sensors).values(q, qd, u, p=p, **given)


@EACH
def test_fmpy_validates(made, name, version):
    model, fmu = made(name, version)
    assert validate_fmu(str(fmu.path)) == []
    assert fmu.platform and {"c-code", fmpy.platform} <= set(fmpy.supported_platforms(str(fmu.path)))
    assert len(fmu.states) == model.nq + model.nv + len(model.states)
    assert list(fmu.inputs) == [*(f"u.{x}" for x in model.inputs), *(f"w.{x}" for x in model.exogenous)]


@EACH
def test_every_variable_has_the_value_that_is_said(made, tmp_path, name, version):
    """Value references: start values are those of the file, and of the model."""
    model, fmu = made(name, version)
    with called(fmu.path, tmp_path) as it:
        it.begin()
        starts = {x.name: float(x.start) for x in it.said.modelVariables if x.start is not None}
        assert it.get(starts) == list(starts.values())
        x = it.get(fmu.states)
        q0, qd0 = started(name, model)
        assert x == pytest.approx([*q0, *qd0, *[0.0] * len(model.states)], abs=1e-15)  # a quaternion is made a unit one
        assert it.get(fmu.parameters) == model.p.tolist()
        assert it.states == list(fmu.states)
        it.set(ACTS[name])
        u, w = inputs_of(name, model)
        arguments = {"q": np.array(q0), "qd": np.array(qd0), "u": u, "s": np.zeros(len(model.states)), "w": w}
        given = [arguments[a] for a in model.arguments("state_rate")]
        rate = np.array(model.fixed("state_rate")(*given)).ravel()[: len(x)]
        found = np.array(it.get([f"der({each})" for each in fmu.states]))
        assert np.abs(found - rate).max() < 1e-12 * np.abs(rate).max()


@EACH
@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_co_simulation_is_our_run(made, name, version, tolerance):
    model, fmu = made(name, version)
    x, y = run_of(name, model, 0.2)
    found = fmpy.simulate_fmu(
        str(fmu.path),
        fmi_type="CoSimulation",
        stop_time=0.2,
        output_interval=0.02,
        start_values={**ACTS[name], "tolerance": tolerance, "step": 2e-5},
        output=[*fmu.states, *fmu.outputs],
    )
    last = np.array(found[-1].tolist()[1:])
    expected = np.concatenate([x, y])
    assert np.abs(last - expected).max() < 2e-7 * np.abs(expected).max()
    assert np.abs(expected - np.array(found[0].tolist()[1:])).max() > 1e-2  # it has moved


@EACH
def test_model_exchange_by_cvode_is_our_run(made, name, version):
    model, fmu = made(name, version)
    x, y = run_of(name, model, 0.2)
    found = fmpy.simulate_fmu(
        str(fmu.path),
        fmi_type="ModelExchange",
        solver="CVode",
        stop_time=0.2,
        output_interval=0.002,
        relative_tolerance=1e-9,
        start_values=ACTS[name],
        output=[*fmu.states, *fmu.outputs],
    )
    expected = np.concatenate([x, y])
    assert np.abs(np.array(found[-1].tolist()[1:]) - expected).max() < 2e-5 * np.abs(expected).max()


@EACH
def test_directional_derivatives_are_those_of_differences(made, tmp_path, name, version):
    """One column for each state, input and parameter, of all rates and outputs; and their sum along a direction."""
    model, fmu = made(name, version)
    knowns = [*fmu.states, *fmu.inputs, *fmu.parameters]
    unknowns = [*(f"der({each})" for each in fmu.states), *fmu.outputs]
    with called(fmu.path, tmp_path) as it:
        it.begin()
        slopes = np.array([it.slope(unknowns, [known], [1.0]) for known in knowns]).T
    slopes_by_differences = []
    with called(fmu.path, tmp_path) as it:
        it.fmu.setupExperiment(startTime=0.0) if version == "2.0" else None
        it.fmu.enterInitializationMode()
        for known in knowns:
            (here,) = it.get([known])
            h = 1e-5 * max(1.0, abs(here)) if not known.startswith("p.") else 1e-5 * abs(here)
            ends = []
            for side in (1, -1):
                it.set({known: here + side * h})
                ends.append(np.array(it.get(unknowns)))
            it.set({known: here})
            slopes_by_differences.append((ends[0] - ends[1]) / (2 * h))
    expected = np.array(slopes_by_differences).T
    scale = np.abs(expected).max(axis=1, keepdims=True) + 1.0
    assert np.abs((slopes - expected) / scale).max() < 1e-6
    direction = np.random.default_rng(1).normal(size=len(knowns))
    with called(fmu.path, tmp_path) as it:
        it.begin()
        along = np.array(it.slope(unknowns, knowns, direction.tolist()))
    assert np.abs((along - slopes @ direction) / scale[:, 0]).max() < 1e-12 * len(knowns) * 10


@pytest.mark.parametrize("name", MODELS)
def test_adjoint_derivatives_are_the_transpose_of_the_directional(made, tmp_path, name):
    """One row for each rate and output; some unknowns weighted, some knowns asked, each in another order."""
    _, fmu = made(name, "3.0")
    knowns = [*fmu.states, *fmu.inputs, *fmu.parameters]
    unknowns = [*(f"der({each})" for each in fmu.states), *fmu.outputs]
    weights = np.random.default_rng(2).normal(size=len(unknowns) // 2)
    with called(fmu.path, tmp_path) as it:
        assert it.said.coSimulation.providesAdjointDerivatives and it.said.modelExchange.providesAdjointDerivatives
        it.begin()
        slopes = np.array([it.slope(unknowns, [known], [1.0]) for known in knowns]).T
        rows = np.array([it.adjoint([unknown], knowns, [1.0]) for unknown in unknowns])
        some = it.adjoint(unknowns[::-2][: len(weights)], knowns[::-1][1::2], weights.tolist())
        for wrong in (([knowns[0]], knowns), (unknowns, [unknowns[0]])):
            with pytest.raises(Exception, match="fmi3GetAdjointDerivative failed"):
                it.adjoint(*wrong, [1.0] * len(wrong[0]))
    close = 1e-12 * np.abs(slopes).max()
    np.testing.assert_allclose(rows, slopes, rtol=1e-11, atol=close)
    expected = weights @ slopes[::-2][: len(weights)]
    np.testing.assert_allclose(some, expected[::-1][1::2], rtol=1e-10, atol=100 * close)


@EACH
def test_what_depends_on_what_is_true(made, tmp_path, name, version):
    """Who is not among the dependencies has no slope, and who is has one at a general state."""
    model, fmu = made(name, version)
    knowns = [*fmu.states, *fmu.inputs]
    unknowns = [*(f"der({each})" for each in fmu.states), *fmu.outputs]
    with called(fmu.path, tmp_path) as it:
        it.begin(ACTS[name])
        slopes = np.array([it.slope(unknowns, [known], [1.0]) for known in knowns]).T
        said = it.said
    listed = {x.variable.name: {y.name for y in x.dependencies} for x in (*said.derivatives, *said.outputs)}
    found = {
        x: {known for known, slope in zip(knowns, row, strict=True) if slope != 0.0}
        for x, row in zip(unknowns, slopes, strict=True)
    }
    assert [x for x in unknowns if found[x] - listed[x]] == []
    total = sum(map(len, listed.values()))
    assert sum(map(len, found.values())) > 0.6 * total and total < 0.9 * slopes.size  # it says something
    start = {x.variable.name: {y.name for y in x.dependencies} for x in said.initialUnknowns}
    assert set(start) == set(unknowns) and all(start[x] >= listed[x] for x in unknowns)
    if fmu.parameters:
        assert {name for x in unknowns for name in start[x]} >= set(fmu.parameters)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_that_was_kept_is_gone_back_to(made, tmp_path, version):
    model, fmu = made("driven", version)
    with called(fmu.path, tmp_path) as it, called(fmu.path, tmp_path, name="another") as other:
        it.begin(ACTS["driven"] | {"tolerance": 1e-8})
        for k in range(5):
            it.step(0.01 * k, 0.01)
        kept = it.get([*fmu.states, *fmu.outputs])
        state = it.saved()
        text = it.in_bytes(state)
        ends = []
        for _ in range(2):
            for k in range(5, 10):
                it.step(0.01 * k, 0.01)
            ends.append(
                it.get(["time", *fmu.states, *fmu.outputs] if version == "3.0" else [*fmu.states, *fmu.outputs])
            )
            assert it.get(fmu.outputs) != kept[len(fmu.states) :]
            it.restore(state)
            assert it.get([*fmu.states, *fmu.outputs]) == kept
        assert ends[0] == ends[1]
        it.free(state)
        other.begin()
        there = other.from_bytes(text)
        other.restore(there)
        assert other.get(fmu.states) == it.get(fmu.states) and other.get(fmu.inputs) == it.get(fmu.inputs)
        for k in range(5, 10):
            other.step(0.01 * k, 0.01)
        assert other.get(fmu.states) == (ends[0][1:] if version == "3.0" else ends[0])[: len(fmu.states)]
        other.free(there)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_parameter_that_is_set_is_the_models(made, version):
    model, fmu = made("bends", version)
    p = {"payload.mass": 0.9, "upper.EI": 25.0, "fore.length": 0.6}
    x, y = run_of("bends", model, 0.1, p=p)
    found = fmpy.simulate_fmu(
        str(fmu.path),
        fmi_type="CoSimulation",
        stop_time=0.1,
        output_interval=0.01,
        start_values=ACTS["bends"]
        | {"step": 2e-5, "tolerance": 0.0}
        | {f"p.{name}": value for name, value in p.items()},
        output=[*fmu.states, *fmu.outputs],
    )
    nominal, _ = run_of("bends", model, 0.1)
    assert np.abs(np.array(found[-1].tolist()[1:]) - np.concatenate([x, y])).max() < 1e-6
    assert np.abs(x - nominal).max() > 1e-2


@pytest.mark.parametrize("version", VERSIONS)
def test_instances_know_nothing_of_each_other(made, tmp_path, version):
    model, fmu = made("bends", version)
    with called(fmu.path, tmp_path, name="a") as a, called(fmu.path, tmp_path, name="b") as b:
        a.begin(ACTS["bends"] | {"p.payload.mass": 1.0})
        b.begin()
        with called(fmu.path, tmp_path, name="c") as c:
            c.begin(ACTS["bends"] | {"p.payload.mass": 1.0})
            for k in range(10):
                c.step(0.01 * k, 0.01)
            alone = c.get(fmu.states)
        for k in range(10):
            a.step(0.01 * k, 0.01)
            b.step(0.01 * k, 0.01)
        assert a.get(fmu.states) == alone != b.get(fmu.states)
        assert a.fmu.reset() in (0, None) and a.get(fmu.parameters) == model.p.tolist()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_cannot_be_is_refused_and_changes_nothing(made, tmp_path, version):
    model, fmu = made("bends", version)
    with called(fmu.path, tmp_path) as it:
        it.begin(ACTS["bends"])
        before = it.get([*fmu.states, *fmu.inputs, *fmu.parameters])
        for values in (
            {fmu.outputs[0]: 1.0},
            {fmu.states[0]: 1.0},
            {"step": 1e-3},
            {"der(q.upper.joint)": 1.0},
            {"p.payload.mass": float("nan")},
            {fmu.inputs[0]: float("inf")},
        ):
            with pytest.raises(Exception, match="fmi"):
                it.set(values)
        with pytest.raises(Exception, match="fmi"):
            it.step(0.5, 0.01)  # it is at 0
        with pytest.raises(Exception, match="fmi"):
            it.step(0.0, -0.01)
        it.references["nobody"] = 10_000
        with pytest.raises(Exception, match="fmi"):
            it.get(["nobody"])
        with pytest.raises(Exception, match="fmi"):
            it.slope([fmu.outputs[0]], ["step"], [1.0])
        assert it.get([*fmu.states, *fmu.inputs, *fmu.parameters]) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_a_step_that_fails_leaves_the_instance_where_it_was(made, tmp_path, version):
    """Fixed steps that are far too long blow up."""
    model, fmu = made("bends", version)
    with called(fmu.path, tmp_path) as it:
        it.begin({"step": 0.5, "tolerance": 0.0})
        before = it.get(fmu.states)
        with pytest.raises(Exception, match="fmi"):
            it.step(0.0, 100.0)
        assert it.get(fmu.states) == before
        it.step(0.0, 1e-3)
    with called(fmu.path, tmp_path, name="adaptive") as it:
        it.begin({"tolerance": 1e-6, "qd.upper.joint": 1e150})  # its first steps overflow, however short they are
        before = it.get(fmu.states)
        with pytest.raises(Exception, match="fmi"):
            it.step(0.0, 1.0)
        assert it.get(fmu.states) == before


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("summed", [False, True])
def test_late_times_are_met_however_a_master_counts_them(made, tmp_path, version, summed):
    """k h or a sum of h: after 12 days neither is what the other is, and the motion is that of the first second."""
    _, fmu = made("bends", version)
    with called(fmu.path, tmp_path) as early, called(fmu.path, tmp_path, name="late") as late:
        early.begin(ACTS["bends"])
        late.begin(ACTS["bends"], time=1e6)
        t = 1e6
        for k in range(200):
            early.step(1e-4 * k, 1e-4)
            late.step(t if summed else 1e6 + 1e-4 * k, 1e-4)
            t += 1e-4
        np.testing.assert_allclose(late.get(fmu.states), early.get(fmu.states), rtol=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("start", "t", "h"),
    [
        ({}, 0.0, np.inf),
        ({"tolerance": 1e-6}, 0.0, np.inf),
        ({}, np.nan, 0.01),
        ({}, 0.0, np.nan),
        ({}, 0.0, 0.0),
        ({"step": 1e-320, "tolerance": 0.0}, 0.0, 0.01),
        ({"step": 1e-9, "tolerance": 0.0}, 0.0, 1e8),
        ({}, 0.0, 1e8),
    ],
)
def test_steps_that_would_never_end_are_refused(made, tmp_path, version, start, t, h):
    _, fmu = made("bends", version)
    with called(fmu.path, tmp_path) as it:
        it.begin(start)
        before = it.get(fmu.states)
        with pytest.raises(Exception, match="fmi"):
            it.step(t, h)
        assert it.get(fmu.states) == before
        if "step" not in start:
            it.step(0.0, 1e-3)


@pytest.mark.parametrize("version", VERSIONS)
def test_calls_in_a_wrong_order_are_refused(made, tmp_path, version):
    """Each function is called where the standard has it not; what follows in order goes on."""
    _, fmu = made("bends", version)

    def refuses(call):
        with pytest.raises(Exception, match="fmi"):
            call()

    with called(fmu.path, tmp_path) as it:
        for call in (it.fmu.exitInitializationMode, it.fmu.terminate, lambda: it.step(0.0, 0.01)):
            refuses(call)
        for values in ({"step": 0.0}, {"step": -1.0}, {"tolerance": -1e-9}, {"step": np.nan}):
            refuses(lambda values=values: it.set(values))
        refuses(lambda: it.begin(time=np.nan))
        it.begin()
        for call in (it.fmu.enterInitializationMode, it.fmu.exitInitializationMode):
            refuses(call)
        it.step(0.0, 0.01)
        it.fmu.terminate()
        for call in (it.fmu.terminate, lambda: it.step(0.01, 0.01), lambda: it.set(ACTS["bends"])):
            refuses(call)
        assert np.isfinite(it.get(fmu.outputs)).all()
        it.fmu.reset()
        it.begin().step(0.0, 0.01)
    with called(fmu.path, tmp_path, kind="exchange") as it:
        discrete = it.fmu.newDiscreteStates if version == "2.0" else it.fmu.updateDiscreteStates
        for call in (it.fmu.enterEventMode, it.fmu.enterContinuousTimeMode, discrete, lambda: it.fmu.setTime(0.0)):
            refuses(call)
        it.begin()
        discrete()
        it.fmu.enterContinuousTimeMode()
        x = (ctypes.c_double * len(it.states))()
        few = [lambda: it.fmu.setContinuousStates(x, len(x) - 1), lambda: it.fmu.getContinuousStates(x, len(x) - 1)]
        for call in (discrete, it.fmu.enterContinuousTimeMode, lambda: it.fmu.setTime(np.inf), *few):
            refuses(call)
        it.fmu.setContinuousStates(x, len(x))
        it.fmu.enterEventMode()
        it.fmu.terminate()
        for call in (it.fmu.enterEventMode, lambda: it.fmu.setTime(1.0)):
            refuses(call)


@pytest.mark.parametrize("version", VERSIONS)
def test_another_files_token_gives_no_instance(made, tmp_path, version):
    _, fmu = made("bends", version)
    with pytest.raises(Exception, match="nstantiat"):
        called(fmu.path, tmp_path, token="{another}").__enter__()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_refused_is_said_to_whoever_wants_to_know(made, tmp_path, capfd, version):
    _, fmu = made("bends", version)
    said = "no variable has the value reference 10000"
    with called(fmu.path, tmp_path, logging=True) as loud, called(fmu.path, tmp_path, name="silent") as silent:
        for wanted in (True, False):
            for it, heard in ((loud, wanted), (silent, not wanted)):
                it.references["nobody"] = 10_000
                with pytest.raises(Exception, match="fmi"):
                    it.get(["nobody"])
                shown = "".join(capfd.readouterr())
                assert (said in shown) == heard
                it.fmu.setDebugLogging(not heard, [])


@pytest.mark.parametrize("version", VERSIONS)
def test_bytes_of_another_length_are_no_state(made, tmp_path, version):
    _, fmu = made("bends", version)
    with called(fmu.path, tmp_path) as it:
        state = it.begin().saved()
        text = it.in_bytes(state)
        for wrong in (text[:-1], text + b"x", b""):
            with pytest.raises(Exception, match="fmi"):
                it.from_bytes(wrong)
        if version == "2.0":
            serialize, room = it.fmu.fmi2SerializeFMUstate, ctypes.create_string_buffer(len(text))
        else:
            serialize, room = it.fmu.fmi3SerializeFMUState, (ctypes.c_ubyte * len(text))()
        with pytest.raises(Exception, match="fmi"):
            serialize(it.fmu.component, state, room, len(text) - 1)
        it.free(state)


def test_how_far_it_has_come_is_told(made, tmp_path):
    _, fmu = made("bends", "2.0")
    with called(fmu.path, tmp_path) as it:
        it.begin(time=3.0).step(3.0, 0.01)
        assert it.fmu.getRealStatus(2) == pytest.approx(3.01, abs=1e-12)  # fmi2LastSuccessfulTime
        assert it.fmu.getBooleanStatus(3) is False  # fmi2Terminated
        for call in (it.fmu.getRealStatus, it.fmu.getBooleanStatus, it.fmu.getIntegerStatus):
            with pytest.raises(Exception, match="fmi"):
                call(0)
    _, fmu = made("bends", "3.0")
    with called(fmu.path, tmp_path) as it:
        it.begin(time=3.0)
        event, end, early, t = it.fmu.doStep(3.0, 0.01)
        assert (event, end, early, t) == (False, False, False, pytest.approx(3.01, abs=1e-12))


# -- contacts ----------------------------------------------------------------------------------------------------------


def touches():
    """A link that falls on a damped stop, and a motor that turns it through a play: both sharp."""
    stops = fa.Stops(lower=-0.5, upper=2.0, stiffness=2e3, damping=5.0, sharp=True)
    spring = fa.Spring(stiffness=400.0, damping=0.5)
    drive = fa.Drive(stops=stops, backlash=fa.Backlash(width=0.02, sharp=True), spring=spring)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=2e-2, drive=drive)
    link = fa.Link(name="upper", joint=joint, body=fa.Rigid(length=0.6, mass=2.0))
    return fa.Model(fa.Arm(name="touches", links=[link], gravity=(0.0, -9.81, 0.0)), ["upper.mass"])


@pytest.mark.parametrize("version", VERSIONS)
def test_contacts_are_event_indicators(tmp_path, version):
    model = touches()
    q0 = np.array([0.3, 0.3])
    fmu = fa.export_fmu(model, tmp_path / "touches.fmu", version, q0=q0)
    assert validate_fmu(str(fmu.path)) == []
    told = crossings.crossings(model)
    n = told.numel_out()
    assert n == 8  # ends of stops and sides of the play, and where the force on each ends
    with called(fmu.path, tmp_path, kind="exchange") as it:
        names = [f"contact_{i + 1}" for i in range(n)]
        assert it.said.numberOfEventIndicators == n
        values = (ctypes.c_double * n)()
        for x, touched in (([0.3, 0.3, 0.0, 0.0], 0), ([-0.51, -0.53, -0.2, 0.1], 4), ([0.4, 0.385, 0.3, -0.1], 2)):
            it.begin(dict(zip(fmu.states, x, strict=True)))
            it.fmu.getEventIndicators(values, n)
            expected = np.array(told(x[:2], x[2:], model.p)).ravel()
            assert list(values) == pytest.approx(expected, abs=1e-12) and it.get(names) == list(values)
            assert (expected > 0.0).sum() == touched
            it.fmu.reset()
        it.begin()
        with pytest.raises(fmpy.fmi1.FMICallException):
            it.fmu.getEventIndicators(values, n - 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_another_solver_stops_at_contacts(tmp_path, version):
    model = touches()
    q0 = np.array([0.3, 0.3])
    fmu = fa.export_fmu(model, tmp_path / "touches.fmu", version, q0=q0)
    found = fmpy.simulate_fmu(
        str(fmu.path), fmi_type="ModelExchange", solver="CVode", stop_time=1.0, output_interval=0.1,
        relative_tolerance=1e-10, output=fmu.states,
    )  # fmt: skip
    run = fa.simulate(model, 1.0, q0=q0, method="dop853", rtol=1e-11, samples=11, progress=False)
    met = int(re.search("stopped at ([0-9]+) contacts", run.method_reason).group(1))
    between = len(found) - 11  # rows at events, before and after each
    assert met > 3 and met <= between <= 3 * met
    assert np.abs([found[x][-1] for x in fmu.states[:2]] - run.q.values[-1]).max() < 1e-6


def test_what_is_not_sharp_has_no_event_indicators(made):
    model, fmu = made("driven", "2.0")
    assert described(fmu.path).get("numberOfEventIndicators") == "0" and not model.arm.sharp


# -- a law beside its arm ----------------------------------------------------------------------------------------------


def loop(**given):
    return fa.control.Sampled(
        fa.control.JointPD([0.5, -0.3], Kp=[30.0, 10.0], Kd=[3.0, 1.0], filter=200.0), 0.002, **given
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_an_arm_and_its_law_are_our_closed_loop(tmp_path, version):
    """Connected by equal names; delay, limit and the filter's memory are within the law."""
    model = bends()
    sampled = loop(delay=0.004, limit=5.0)
    arm = fa.export_fmu(model, tmp_path / "arm.fmu", version, step=2e-5, tolerance=0.0)
    law = fa.export_law_fmu(sampled, model, tmp_path / "law.fmu", version)
    assert validate_fmu(str(law.path)) == []
    assert set(law.inputs) == {"upper_joint", "fore_joint"} <= set(arm.outputs) and law.outputs == arm.inputs
    with called(arm.path, tmp_path / "a") as a, called(law.path, tmp_path / "l") as c:
        a.begin()
        c.begin()
        seen = []
        for k in range(100):
            c.set(dict(zip(law.inputs, a.get(law.inputs), strict=True)))
            a.set(dict(zip(law.outputs, c.get(law.outputs), strict=True)))
            seen.append(a.get(arm.inputs))
            for each in (a, c):
                each.step(0.002 * k, 0.002)
        x = a.get(arm.states)
    rest = {"q0": np.array(model.arm.rest), "qd0": np.zeros(3)}
    run = fa.simulate(model, 0.2, sampled, **rest, method="dop853", rtol=1e-10, samples=101, progress=False)
    expected = np.concatenate([run.q.values[-1], run.qd.values[-1]])
    assert np.abs(np.array(x) - expected).max() < 1e-6 * np.abs(expected).max()
    assert np.abs(np.array(seen) - run.u.values[:-1]).max() < 1e-5
    assert np.abs(seen).max() == 5.0  # the limit was met


@pytest.mark.parametrize("version", VERSIONS)
def test_a_law_changes_at_its_samples_alone(tmp_path, version):
    """By whoever integrates: events every 2 ms; and in longer steps, in which it takes several samples."""
    law = fa.export_law_fmu(loop(), bends(), tmp_path / "law.fmu", version)
    ramp = np.array([(0.0, 0.0), (0.02, 0.2)], dtype=[("time", float), ("upper_joint", float)])
    seen = fmpy.simulate_fmu(
        str(law.path),
        fmi_type="ModelExchange",
        stop_time=0.01,
        output_interval=0.0005,
        input=ramp,
        output=law.outputs[:1],
    )
    t, u = seen["time"], seen[law.outputs[0]]
    jumps = t[1:][np.abs(np.diff(u)) > 1e-9]
    assert len(jumps) >= 4 and np.abs(jumps / 0.002 - np.round(jumps / 0.002)).max() < 1e-6
    with called(law.path, tmp_path / "x") as once, called(law.path, tmp_path / "x", name="y") as often:
        for it in (once, often):
            it.begin({"upper_joint": 0.1})
        once.step(0.0, 0.007)
        for k in range(7):
            often.step(0.001 * k, 0.001)
        assert once.get(law.outputs) == often.get(law.outputs) != [0.0, 0.0]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_laws_samples_are_met_late_too_and_shown_in_the_event_alone(tmp_path, version):
    law = fa.export_law_fmu(loop(), bends(), tmp_path / "law.fmu", version)
    with called(law.path, tmp_path / "x") as early, called(law.path, tmp_path / "x", name="late") as late:
        early.begin()
        late.begin(time=1e6)
        for k in range(30):
            for it, t in ((early, 0.0), (late, 1e6)):
                it.set({"upper_joint": 0.01 * k})
                it.step(t + 0.002 * k, 0.002)
            assert late.get(law.outputs) == pytest.approx(early.get(law.outputs), rel=1e-9)
        with pytest.raises(Exception, match="fmi"):
            early.step(0.06, 1e300)
    with called(law.path, tmp_path / "x", kind="exchange") as it:
        discrete = it.fmu.newDiscreteStates if version == "2.0" else it.fmu.updateDiscreteStates
        it.begin()
        discrete()
        it.fmu.enterContinuousTimeMode()
        before = it.get(law.outputs)
        it.set({"upper_joint": 0.1})
        it.fmu.setTime(0.002)
        assert it.get(law.outputs) == before
        it.fmu.enterEventMode()
        assert it.get(law.outputs) != before


def test_a_law_in_python_has_no_fmu(tmp_path):
    python = fa.control.Sampled(lambda t, q, qd: [0.0, 0.0], 0.01)
    with pytest.raises(DescriptionError, match="is a Python function"):
        fa.export_law_fmu(python, bends(), tmp_path / "law.fmu")
    with pytest.raises(DescriptionError, match="it must be a Sampled"):
        fa.export_law_fmu(fa.control.JointPD([0.0, 0.0], Kp=1.0, Kd=1.0), bends(), tmp_path / "law.fmu")
    assert list(tmp_path.iterdir()) == []


# -- what is in the file -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_sources_compile_without_a_warning(made, tmp_path, version):
    _, fmu = made("driven", version)
    law = fa.export_law_fmu(loop(), bends(), tmp_path / "law.fmu", version, binary=False)
    for path in (fmu.path, law.path):
        with ZipFile(path) as archive:
            archive.extractall(tmp_path / path.stem)
        sources = tmp_path / path.stem / "sources"
        files = [each.name for each in sources.glob("*.c")]
        for standard in ("c99", "gnu17"):  # the latter has more names of its own
            command = [CC, f"-std={standard}", *STRICT, "-O1", "-c", "-fPIC", *files]
            done = subprocess.run(command, cwd=sources, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", VERSIONS)
def test_fmpy_builds_the_sources(tmp_path, version):
    """The binary that FMPy makes by CMake from an FMU without one runs as ours does."""
    fmu = fa.export_fmu(fa.Model(fa.load("rigid-two-link")), tmp_path / "arm.fmu", version, binary=False)
    assert fmu.platform is None and str(fmu).endswith("sources only")
    folder = tmp_path / "arm"
    fmpy.extract(str(fmu.path), str(folder))
    (tmp_path / "build").mkdir()
    build_platform_binary(folder, tmp_path / "build")
    given = {
        "fmi_type": "CoSimulation",
        "stop_time": 0.1,
        "output": list(fmu.states),
        "start_values": {fmu.inputs[0]: 3.0},
    }
    theirs = fmpy.simulate_fmu(str(folder), **given)
    own = fa.export_fmu(fa.Model(fa.load("rigid-two-link")), tmp_path / "own.fmu", version)
    ours = fmpy.simulate_fmu(str(own.path), **given)
    assert np.abs(np.array(theirs[-1].tolist()) - np.array(ours[-1].tolist())).max() < 1e-12


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_model_gives_the_same_bytes(tmp_path, version):
    arm = fa.load("rigid-two-link")
    first, second = (fa.export_fmu(fa.Model(arm), tmp_path / name, version) for name in ("a.fmu", "b.fmu"))
    assert first.path.read_bytes() == second.path.read_bytes()
    key = "guid" if version == "2.0" else "instantiationToken"
    tokens = {described(first.path).get(key)}
    heavier = fa.export_fmu(
        fa.Model(arm.replace(payload=fa.Payload(mass=3.0))), tmp_path / "c.fmu", version, binary=False
    )
    moved = fa.export_fmu(fa.Model(arm), tmp_path / "d.fmu", version, q0=[0.1, 0.2], binary=False)
    tokens |= {described(each.path).get(key) for each in (heavier, moved)}
    assert len(tokens) == 3


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["model", "Core", "fmi2", "FMI3"])
def test_names_of_its_own_files(tmp_path, version, name):
    """The arm's files lie beside those that every FMU has, on systems, too, that know no capitals."""
    arm = fa.load("rigid-two-link").replace(name=name)
    fmu = fa.export_fmu(fa.Model(arm), tmp_path / "x.fmu", version, binary=name == "model")
    with ZipFile(fmu.path) as archive:
        files = [each.lower() for each in archive.namelist()]
    assert len({*files}) == len(files) and f"sources/fmu_{name.lower()}.c" in files


@pytest.mark.parametrize("version", VERSIONS)
def test_names_with_odd_letters(tmp_path, version):
    """Of the arm, of links, and of sensors; of what C has for itself."""
    links = [
        fa.Link(name="ärm-<&>\"'", body=fa.Rigid(length=0.4, mass=1.0)),
        fa.Link(name="int", body=fa.Rigid(length=0.1, mass=0.1)),
    ]
    model = fa.Model(fa.Arm(name="double", links=links, description='*/ "quoted" \\ <b>'), ["int.mass"])
    sensors = [fa.Encoder(coordinate="int.joint", name="int"), fa.TipPosition()]
    fmu = fa.export_fmu(model, tmp_path / "odd.fmu", version, sensors=sensors)
    assert validate_fmu(str(fmu.path)) == [] and described(fmu.path).get("variableNamingConvention") == "flat"
    found = fmpy.simulate_fmu(
        str(fmu.path), stop_time=0.01, start_values={fmu.inputs[0]: 1.0}, output=list(fmu.outputs)
    )
    assert found.dtype.names[1:] == fmu.outputs and np.isfinite(found[-1].tolist()).all()
    plain = fa.export_fmu(bends(), tmp_path / "plain.fmu", version, binary=False)
    assert described(plain.path).get("variableNamingConvention") == "structured"


def test_two_signals_with_one_name_are_refused(tmp_path):
    twice = [fa.Encoder(coordinate="upper.joint"), fa.Encoder(coordinate="upper.joint")]
    with pytest.raises(DescriptionError, match="two signals are called 'upper_joint'"):
        fa.export_fmu(bends(), tmp_path / "x.fmu", sensors=twice)
    for name in ("time", "step"):
        with pytest.raises(DescriptionError, match=f"^two variables are called '{name}'"):
            fa.export_fmu(bends(), tmp_path / "x.fmu", sensors=[fa.Encoder(coordinate="upper.joint", name=name)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"version": "1.0"}, 'export_fmu: version is \'1.0\'; it must be "2.0" or "3.0"'),
        ({"version": np.zeros(2)}, "export_fmu: version is array"),
        ({"step": 0.0}, "export_fmu: step is 0.0 s; it must be positive"),
        ({"tolerance": -1.0}, "export_fmu: tolerance is -1.0; it must be zero or positive"),
        ({"binary": "yes"}, "export_fmu: binary is 'yes'; it must be true or false"),
        ({"q0": [0.0]}, r"^q0 has shape \(1,\); it must have 3 numbers: upper.joint"),
        ({"qd0": [0.0, 0.0, float("nan")]}, "qd0 contains NaN or infinity"),
        ({"s0": [1.0]}, r"^s0 has shape \(1,\); it must have 0 numbers: none"),
        ({"sensors": []}, "outputs is \\[\\]; it must be a list of sensors"),
        ({"sensors": 3}, "outputs is 3; it must be a list of sensors"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(tmp_path, given, message):
    with pytest.raises(DescriptionError, match=message):
        fa.export_fmu(bends(), tmp_path / "x.fmu", **given)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"export_fmu: model is .*; it must be a Model"):
        fa.export_fmu(3, tmp_path / "x.fmu")
    with pytest.raises(DescriptionError, match="cannot be written"):
        fa.export_fmu(bends(), tmp_path)
    with pytest.raises(DescriptionError, match="must be the name of a file"):
        fa.export_fmu(bends(), 3)


def test_without_a_compiler_there_are_sources_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    fmu = fa.export_fmu(fa.Model(fa.load("rigid-two-link")), tmp_path / "x.fmu")
    assert fmu.platform is None and str(fmu).endswith("sources only: no C compiler is found (cc, gcc or clang)")
    assert validate_fmu(str(fmu.path)) == []
    with pytest.raises(FlexarmError, match="none is found of cc, gcc, clang; install one"):
        fa.export_fmu(fa.Model(fa.load("rigid-two-link")), tmp_path / "y.fmu", binary=True)
    assert [each.name for each in tmp_path.iterdir()] == ["x.fmu"]


def test_a_compiler_that_fails_leaves_the_older_file(tmp_path, monkeypatch):
    path, model = tmp_path / "x.fmu", fa.Model(fa.load("rigid-two-link"))
    path.write_bytes(b"older")
    for body, message in (
        ("echo 'x.c:1: error: it is full' >&2\nexit 1", "fails: x.c:1: error: it is full"),
        ("exit 0", "fails: status 0"),
    ):
        compiler = tmp_path / "cc"
        compiler.write_text(f"#!/bin/sh\n{body}\n")
        compiler.chmod(0o755)
        monkeypatch.setattr(build, "compiler", lambda compiler=compiler: str(compiler))
        with pytest.raises(FlexarmError, match=message):
            fa.export_fmu(model, path)
    monkeypatch.setattr(build, "compiler", lambda: str(tmp_path / "nobody"))
    with pytest.raises(FlexarmError, match="cannot be used"):
        fa.export_fmu(model, path)
    assert path.read_bytes() == b"older" and sorted(each.name for each in tmp_path.iterdir()) == ["cc", "x.fmu"]


@pytest.mark.parametrize("version", VERSIONS)
def test_variables_are_described_as_they_are(tmp_path, version):
    """Which parameter has an end, what may change when, what a law has not, where it starts, how long a step is."""
    model = fa.Model(driven().arm, ["upper.mass", "upper.gear_ratio"])
    made = fa.export_fmu(model, tmp_path / "arm.fmu", version, binary=False)
    said = {each.name: each for each in fmpy.read_model_description(str(made.path)).modelVariables}
    mass, gear = said["p.upper.mass"], said["p.upper.gear_ratio"]
    assert (float(mass.min), gear.min) == (0.0, None)  # a gear may turn the other way
    assert {each.variability for each in (mass, gear)} == {"tunable"} and said["step"].variability == "fixed"
    assert {said[name].variability for name in (*made.outputs, *made.inputs, *made.states)} == {"continuous"}
    rest = {"q": model.arm.rest, "qd": np.zeros(model.nv), "s": np.zeros(len(model.states))}
    fastest = np.abs(np.linalg.eigvals(model.linearize(rest["q"], rest["qd"], np.zeros(1), s=rest["s"]).A)).max()
    assert made.step == 0.01 or 0.2 / 2.5 - 1e-9 < made.step * fastest < 0.2 + 1e-9
    root = described(made.path)
    degrees = next(each for each in root.iter("Unit") if each.get("name") == "rad").find("DisplayUnit")
    assert degrees.get("name") == "deg" and float(degrees.get("factor")) == pytest.approx(np.degrees(1.0))
    satellite = fa.Model(fa.load("satellite"))
    pd = fa.control.AttitudePD(Kp=1.0, Kd=1.0, actuators=list(satellite.inputs))
    law = fa.export_law_fmu(fa.control.Sampled(pd, 0.05), satellite, tmp_path / "law.fmu", version, binary=False)
    said = {each.name: each for each in fmpy.read_model_description(str(law.path)).modelVariables}
    assert {said[name].variability for name in law.outputs} == {"discrete"}
    assert float(said["base_qw"].start) == 1.0
    root = described(law.path)
    assert float(root.find("DefaultExperiment").get("stepSize")) == 0.05
    key = f"providesDirectionalDerivative{'s' if version == '3.0' else ''}"
    for name in ("ModelExchange", "CoSimulation"):
        assert (root.find(name).get(key), described(made.path).find(name).get(key)) == ("false", "true")


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_binary_shows_the_standards_functions_and_nothing_else(made, tmp_path, version):
    _, fmu = made("bends", version)
    with ZipFile(fmu.path) as archive:
        (name,) = (each for each in archive.namelist() if each.startswith("binaries/"))
        assert archive.getinfo(name).external_attr >> 16 == 0o755
        archive.extract(name, tmp_path)
    found = subprocess.run(["nm", "-D", "--defined-only", tmp_path / name], capture_output=True, text=True, check=True)
    names = {line.split()[-1] for line in found.stdout.splitlines()}
    assert {each[:4] for each in names} == {f"fmi{version[0]}"} and len(names) > 30


def test_units_by_powers_of_base_units(made):
    assert powers("N m/rad") == {"kg": 1, "m": 2, "s": -2, "rad": -1}
    assert powers("V s/rad") == {"kg": 1, "m": 2, "s": -2, "A": -1, "rad": -1}
    assert powers("m/s^2") == {"m": 1, "s": -2} and powers("1") == {} and powers("rad/rad") == {}
    assert powers("ohm") == powers("V/A") and powers("H") == powers("V s/A") and powers("W") == powers("V A")
    assert powers("N m or N") is None and powers("furlong") is None
    assert [per_second(x) for x in ("rad", "m/s", "1", "")] == ["rad/s", "m/s^2", "1/s", ""]
    _, fmu = made("driven", "2.0")
    said = {each.name: each.unit for each in fmpy.read_model_description(str(fmu.path)).modelVariables}
    assert said["u.upper.motor"] == "V" and said["w.push.fy"] == "N" and said["upper_motor_current"] == "A"
    assert said["der(qd.upper.motor)"] == "rad/s^2"


def test_the_command_writes_one(tmp_path, capsys, monkeypatch):
    path = tmp_path / "arm.fmu"

    def call(*more):
        monkeypatch.setattr(sys, "argv", ["flexarm", "export", "rigid-two-link", "--fmu", *map(str, more)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, capsys.readouterr()

    status, said = call(path, "--fmi", "3.0", "--vary", "payload.mass")
    assert status == 0 and "FMI 3.0, 4 states, 2 inputs, 1 parameter, 7 outputs; sources and a binary" in said.out
    assert validate_fmu(str(path)) == []
    before = path.read_bytes()
    for more, message in (
        ([path, "--fmi", "1.0"], "--fmi is '1.0'; it must be 2.0 or 3.0"),
        ([tmp_path], "cannot be written: it is a folder"),
    ):
        status, said = call(*more)
        assert status == 2 and message in said.err and len(said.err.splitlines()) == 1
    assert path.read_bytes() == before
