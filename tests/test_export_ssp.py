"""An arm and its law in one file: two masters run it, and the motion is ours."""

from xml.etree import ElementTree
from zipfile import ZipFile

import casadi as ca
import fmpy
import fmpy.ssp.ssd
import numpy as np
import pytest
from command_line import caller
from driven_loops import at, four_bar
from fmpy.ssp.simulation import simulate_ssp

import flexarm as fa
from flexarm.control import LQR, Cascaded, JointPD, Sampled
from flexarm.errors import DescriptionError
from flexarm.simulation.law import Law
from flexarm.simulation.sampled_calls import SampledCalls

PERIOD, GOAL = 1e-3, [0.4, -0.3]


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris"))


def test_fmpys_master_gives_our_loop(model, tmp_path):
    """FMPy carries values over after each step, from zeros: one period more, which our loop has as a delay."""
    loop = Sampled(JointPD(GOAL, Kp=20.0, Kd=5.0), PERIOD, limit=10.0)
    file = fa.export_ssp(loop, model, tmp_path / "loop.ssp", tolerance=1e-10)
    theirs = simulate_ssp(str(file), stop_time=0.2, step_size=PERIOD)
    late = Sampled(JointPD(GOAL, Kp=20.0, Kd=5.0), PERIOD, limit=10.0, delay=PERIOD)
    rest = {"q0": np.zeros(model.nq), "qd0": np.zeros(model.nv)}
    more = {"method": "dop853", "rtol": 1e-11, "samples": len(theirs) + 1, "progress": False}
    ours = fa.simulate(model, PERIOD * len(theirs), late, **rest, **more)
    found = np.transpose([theirs["arm.upper_joint"], theirs["arm.fore_joint"]])
    assert np.ptp(found, axis=0).min() > 0.05
    np.testing.assert_allclose(found, ours.q.values[1:, :2], rtol=0, atol=1e-9)


def test_a_loop_of_links_gives_our_loop(tmp_path):
    """The arm's FMU keeps its closures; FMPy begins with zeros, as the crank does."""
    arm = fa.Model(four_bar())
    q0 = at(arm, 0.0)
    law, late = (Sampled(JointPD([0.3], Kp=40.0, Kd=6.0, gravity=False), PERIOD, delay=x) for x in (0.0, PERIOD))
    theirs = simulate_ssp(
        str(fa.export_ssp(law, arm, tmp_path / "loop.ssp", q0=q0, tolerance=1e-10)), stop_time=0.05, step_size=PERIOD
    )
    more = {"rtol": 1e-11, "samples": len(theirs) + 1, "progress": False}
    ours = fa.simulate(arm, PERIOD * len(theirs), late, q0=q0, qd0=np.zeros(3), **more)
    assert np.ptp(ours.q.values[:, 0]) > 0.01
    np.testing.assert_allclose(theirs["arm.crank_joint"], ours.q.values[1:, 0], rtol=0, atol=1e-10)


def test_who_is_connected_with_whom(model, tmp_path):
    """By equal names, each input of a component once; what the law measures is among the arm's outputs."""
    law, qd0 = Sampled(LQR(reference=GOAL), PERIOD), [0.1, 0.2, *[0.0] * (model.nv - 2)]
    file = fa.export_ssp(law, model, tmp_path / "loop.ssp", [fa.TipPosition()], qd0=qd0, step=5e-4)
    said = fmpy.ssp.ssd.read_ssd(str(file))  # by the standard's schema
    arm, law = said.system.elements
    signals = {(each.name, kind): [c.name for c in each.connectors if c.kind == kind] for each in (arm, law)
               for kind in ("input", "output")}  # fmt: skip
    assert [arm.name, law.name] == ["arm", "law"] and len(signals["law", "input"]) == 2 * model.nv
    assert signals["arm", "output"] == ["tip_x", "tip_y", "tip_z", *signals["law", "input"]]
    assert signals["arm", "input"] == signals["law", "output"]
    found = [(c.startElement, c.startConnector, c.endElement, c.endConnector) for c in said.system.connections]
    forth = [("arm", name, "law", name) for name in signals["law", "input"]]
    assert found == forth + [("law", name, "arm", name) for name in signals["law", "output"]]
    assert said.system.name == "subudhi_morris"
    with ZipFile(file) as archive, archive.open("resources/arm.fmu") as inner:
        begins = {each.name: each.start for each in fmpy.read_model_description(inner).modelVariables}
        assert [begins[each] for each in ("qd.upper.joint", "qd.fore.joint", "step")] == ["0.1", "0.2", "0.0005"]
        assert sorted(archive.namelist()) == ["SystemStructure.ssd", "resources/arm.fmu", "resources/law.fmu"]


def wound(**drive):
    """A link on a motor with a winding, behind a gear."""
    motor = fa.Motor(input="voltage", torque_constant=0.12, resistance=0.8, inductance=3e-3)
    joint = fa.Revolute(rotor_inertia=2e-4, gear_ratio=50.0, drive=fa.Drive(motor=motor, **drive))
    return fa.Model(fa.Arm(name="one", links=[fa.Link(name="l", joint=joint, body=fa.Rigid(length=0.5, mass=2.0))]))


class FeelsBristles:
    """A law of the user's own, of what no sensor reads."""

    def law(self, model, period):
        place = model.states.index("l.friction.bristle")
        return Law(lambda t, q, qd, z, s: (-q - s[place], lambda u: ca.SX(0, 1)), drives=True)


@pytest.mark.parametrize("sensors", [None, [fa.MotorCurrent(link="l"), fa.Encoder(coordinate="l.joint")]])
def test_a_law_that_measures_currents_is_connected_with_their_sensors(tmp_path, sensors):
    """Cascaded control, of angle, rate and current. FMPy's master hands over after each step: of the sample that begins
    then the law shows what it gives, with what it was handed before."""
    model, loop = wound(), Sampled(Cascaded(0.5, Kp=10.0, Kv=6.0, current_bandwidth=400.0), PERIOD)
    file = fa.export_ssp(loop, model, tmp_path / "loop.ssp", sensors, tolerance=1e-10)
    ends = [(c.startConnector, c.endConnector) for c in fmpy.ssp.ssd.read_ssd(str(file)).system.connections]
    assert ("l_motor_current", "s.l.motor.current") in ends and len(ends) == 4
    theirs = simulate_ssp(str(file), stop_time=0.1, step_size=PERIOD)
    x = np.vstack(
        [np.zeros(3), *np.transpose([theirs[f"arm.l_{name}"] for name in ("joint", "joint_rate", "motor_current")])]
    )
    law, u = SampledCalls(loop.feedback(model), model), [0.0]
    for k, before in enumerate(x[:-1]):
        law(k * PERIOD, before)
        memory = law.given.copy()
        u.append(law((k + 1) * PERIOD, before)[0])
        law.given[:] = memory
    assert np.ptp(u) > 5.0
    np.testing.assert_allclose(theirs["law.u.l.joint"], u[1:], rtol=0, atol=1e-12)
    held = fa.Piecewise(PERIOD * np.arange(1, len(u)), np.reshape(u[1:], (-1, 1)))
    run = fa.simulate(
        model, PERIOD * len(theirs), held, samples=len(u), q0=[0.0], method="dop853", rtol=1e-11, progress=False
    )
    ours = np.hstack([run.q.values, run.qd.values, run.drive_state.values])
    np.testing.assert_allclose(x, ours, rtol=0, atol=1e-6)


def test_the_same_loop_gives_the_same_bytes(model, tmp_path):
    loop = Sampled(JointPD(GOAL, Kp=20.0, Kd=5.0), PERIOD)
    files = [fa.export_ssp(loop, model, tmp_path / f"{k}.ssp") for k in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_has_no_ssp_is_refused(model, tmp_path):
    loop = Sampled(JointPD(GOAL, Kp=20.0, Kd=5.0), PERIOD)
    with pytest.raises(DescriptionError, match=r"^export_ssp: model is 3; it must be a Model$"):
        fa.export_ssp(loop, 3, tmp_path / "loop.ssp")
    with pytest.raises(DescriptionError, match=r"^export_law_fmu: controller is a Python function"):
        fa.export_ssp(Sampled(lambda t, q, qd: np.zeros(2), PERIOD), model, tmp_path / "loop.ssp")
    rubbing = fa.Friction(coulomb=0.5, model="lugre", bristle_stiffness=500.0, bristle_damping=1.0)
    with pytest.raises(DescriptionError, match=r"^export_ssp: loop depends on s\.l\.friction\.bristle, the state of a"):
        fa.export_ssp(Sampled(FeelsBristles(), PERIOD), wound(friction=rubbing), tmp_path / "loop.ssp")
    assert not list(tmp_path.glob("*.ssp"))


SCENARIO = """
name = "held"
arm = "subudhi-morris"
until = 1.0
initial = {{ q = {{ "upper.joint" = 0.1 }} }}
{more}
"""
PD = 'reference = {{ type = "quintic", start = [0.05, 0.0], end = [0.3, 0.2], duration = 1.0 }}\n[controller]\n'
PD += 'type = "joint-pd"\nKp = 20.0\nKd = 5.0\n'


def test_the_arm_s_fmu_beside_that_of_its_law_has_what_the_law_measures(tmp_path, monkeypatch, capsys):
    """Modal coordinates too, which an arm's FMU by itself does not show."""
    monkeypatch.chdir(tmp_path)
    call = caller(monkeypatch, capsys)
    call("export", "subudhi-morris-composite", "--fmu", "arm.fmu", "--law-fmu", "law.fmu")
    names = {}
    for file, causality in (("arm", "output"), ("law", "input")):
        with ZipFile(f"{file}.fmu") as archive:
            root = ElementTree.fromstring(archive.read("modelDescription.xml"))
        named = [each.get("name") for each in root.iter("ScalarVariable") if each.get("causality") == causality]
        names[file] = set(named)
    assert "upper_y1_rate" in names["law"] and names["law"] <= names["arm"]


def test_the_law_of_a_scenario_from_the_command_line(tmp_path, monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "held.toml").write_text(SCENARIO.format(more=PD.format()))
    (tmp_path / "sampled.toml").write_text(SCENARIO.format(more=PD.format() + "period = 0.002\n"))
    (tmp_path / "free.toml").write_text(SCENARIO.format(more=""))
    said = call("export", "sampled.toml", "--law", "c", "--law-fmu", "law.fmu", "--ssp", "loop.ssp").out
    for written in ("c/subudhi_morris_law.c", "law.fmu", "loop.ssp", "c/CMakeLists.txt"):
        assert written in said and (tmp_path / written).is_file()
    assert "t[1] = {((double)state->sample * 0.002)}" in (tmp_path / "c" / "subudhi_morris_law.c").read_text()
    led = SCENARIO.format(more=PD.format()).replace('initial = { q = { "upper.joint" = 0.1 } }', "")
    (tmp_path / "led.toml").write_text(led)
    call("export", "led.toml", "--ssp", "led.ssp", "--period", "0.004")
    for file, begins in (("loop.ssp", b'start="0.1"'), ("led.ssp", b'start="0.05"')):  # else on the reference
        with ZipFile(file) as archive, ZipFile(archive.open("resources/arm.fmu")) as arm:
            assert begins in arm.read("modelDescription.xml").split(b'"q.upper.joint"')[1].split(b"/>")[0]
    call("export", "held.toml", "--fmu", "held.fmu", "--modelica", "Held.mo", "--law", "d", "--period", "0.004")
    with ZipFile("held.fmu") as arm:
        assert b'start="0.1"' in arm.read("modelDescription.xml").split(b'"q.upper.joint"')[1].split(b"/>")[0]
    assert "q_upper_joint(" in (text := (tmp_path / "Held.mo").read_text())
    assert "start = 0.1," in text.partition("q_upper_joint(")[2].partition(";")[0]
    assert "sample * 0.004" in (tmp_path / "d" / "subudhi_morris_law.c").read_text()
    refusals = {
        (
            "held.toml",
            "--law",
            "e",
        ): "scenario 'held': the controller is continuous; give a sampling period, such as --period 0.001",
        (
            "free.toml",
            "--law",
            "e",
        ): "scenario 'held': the scenario has no controller, which --law, --controller, --law-fmu or --ssp would",
        (
            "sampled.toml",
            "--law",
            "e",
            "--period",
            "1",
        ): "--period: scenario 'held' has a period already, 0.002 s; change it there",
        ("held.toml", "--law", "e", "--period", "0"): "Sampled: period is 0.0 s; it must be positive",
        (
            "held.toml",
            "--law",
            "e",
            "--c",
            "e",
        ): "--law e: --c writes to this folder too, both with a CMakeLists.txt; give another",
        ("subudhi-morris", "--modelica", "an-arm.mo"): "export_modelica: path is 'an-arm.mo'; it must be NAME.mo",
    }
    for words, message in refusals.items():
        ended = call("export", *words)
        assert ended.status == 2 and ended.err.startswith(f"flexarm: {message}") and ended.err.count("\n") == 1
    assert not (tmp_path / "e").exists()
    ended = call("export", "rigid-two-link", "--modelica", "Pendulum.mo", "--vary", "payload.mass")
    assert ended.status == 0 and "written: Pendulum.mo; " in ended.out
    text = (tmp_path / "Pendulum.mo").read_text()
    assert text.startswith("model Pendulum ") and "parameter Real p_payload_mass" in text
