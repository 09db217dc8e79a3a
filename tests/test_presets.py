"""Drives by name: what they give a joint, what goes before them, their sources; the industrial arm made of them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import flexarm as fa
from flexarm import control
from flexarm.cli import app
from flexarm.errors import DescriptionError

BODY = fa.Rigid(length=0.5, mass=2.0)


def one(**joint):
    return fa.Arm(name="one", links=[fa.Link(name="l", joint=fa.Revolute(**joint), body=BODY)])


@pytest.mark.parametrize("name", fa.presets.names())
def test_each_preset_is_a_drive_that_moves_and_says_where_it_is_from(name):
    preset = fa.presets.preset(name)
    assert preset.name == name and preset.about and preset.source
    made = fa.Revolute(preset=name)
    assert made.gear_ratio == preset.joint["gear_ratio"]
    assert made.elastic == (name != "direct-drive")
    model = fa.Model(one(preset=name))
    run = fa.simulate(model, 0.2, u=[3.0], solver=fa.Solver(rtol=1e-9, atol=1e-11), samples=5)
    assert run.q.values[-1, 0] > 0
    assert run.energy_drift < 1e-7


def test_the_catalogue_s_numbers_of_size_25():
    """CSF-25 and CSG-25 from ratio 80 on: 14 N m wind it by 1.5 arcmin, 48 N m by 3.9; two masses on K_1, K_2, K_3."""
    made = fa.Revolute(preset="harmonic-drive-25-100")
    assert (made.rotor_inertia, made.gear_ratio) == (0.413e-4, 100.0)
    model = fa.Model(one(preset="harmonic-drive-25-100"))
    arcmin = np.pi / 180 / 60
    wound = model.evaluate("stiffness_force", [[0.0, 1.553 * arcmin], [0.0, 3.890 * arcmin], [0.0, -3.890 * arcmin]])
    assert wound[:, 1] == pytest.approx([14.0, 48.0, -48.0], rel=1e-3)
    J, G2I = 2.0 * 0.5**2 / 3, 100.0**2 * 0.413e-4
    for d, K in ((0.0, 3.1e4), (2.5 * arcmin, 5.0e4), (-6.0 * arcmin, 5.7e4), (30.0 * arcmin, 5.7e4)):
        omega = model.frequencies([0.0, d], locked=False)
        assert omega == pytest.approx([0.0, np.sqrt(K * (1 / J + 1 / G2I))], rel=1e-9, abs=1e-6)


def test_what_a_joint_says_goes_before_its_preset():
    made = fa.Revolute(
        preset="harmonic-drive-25-100",
        gear_ratio=120.0,
        drive={"friction": {"coulomb": 9.0}, "motor": {"efficiency": 1.0}},
    )
    assert made.gear_ratio == 120.0
    assert made.drive.spring == fa.Revolute(preset="harmonic-drive-25-100").drive.spring
    assert made.drive.friction == fa.Friction(coulomb=9.0, viscous=4.0, creep_rate=0.01)
    assert made.drive.motor == fa.Motor(efficiency=1.0, back_efficiency=0.7)
    by_objects = fa.Revolute(
        preset="harmonic-drive-25-100",
        gear_ratio=120.0,
        drive=fa.Drive(friction=fa.Friction(coulomb=9.0), motor=fa.Motor(efficiency=1.0)),
    )
    assert by_objects == made
    assert fa.Revolute(preset="direct-drive", drive={"friction": None}).drive.friction is None
    assert not made.rigid().elastic  # what is taken away stays away
    assert fa.Arm.from_json(one(preset="series-elastic").canonical()) == one(preset="series-elastic")


def test_a_preset_in_a_file(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(
        """
name = "one"
[[links]]
name = "l"
body = { type = "rigid", length = 0.5, mass = 2.0 }
joint = { type = "revolute", preset = "planetary-gear-25", drive = { friction = { coulomb = 0.2 } } }
"""
    )
    found = fa.load(file).links[0].joint
    assert found == fa.Revolute(preset="planetary-gear-25", drive={"friction": {"coulomb": 0.2}})
    assert (found.gear_ratio, found.drive.friction.coulomb) == (25.0, 0.2)
    file.write_text(file.read_text().replace("planetary-gear-25", "planetary-gear"))
    with pytest.raises(
        DescriptionError, match=r"link 'l': joint.preset is 'planetary-gear'; did you mean .* Known presets are "
    ):
        fa.load(file)


@pytest.mark.parametrize("name", ["harmonic", 3, [1]])
def test_unknown_presets_are_named(name):
    with pytest.raises(DescriptionError, match=r"preset is .*; known presets are harmonic-drive-14-100, "):
        fa.Revolute(preset=name)
    with pytest.raises(DescriptionError, match=r"unknown preset .*; known presets are harmonic-drive-14-100, "):
        fa.presets.preset(name)


def test_a_slide_has_no_preset():
    with pytest.raises(DescriptionError, match="preset is 'direct-drive'; only revolute joints can have a preset"):
        fa.Prismatic(preset="direct-drive")


# -- shown -------------------------------------------------------------------------------------------------------------


def test_show_prints_the_drives():
    said = CliRunner().invoke(app, ["show", "industrial-arm"], env={"COLUMNS": "250"})
    assert said.exit_code == 0
    lines = said.output.splitlines()
    assert any("preset harmonic-drive-25-100" in line and "gear_ratio 100" in line for line in lines)
    assert any("motor" in line and "voltage_limit 200" in line for line in lines)
    assert any("friction" in line and "coulomb 9" in line for line in lines)
    plain = CliRunner().invoke(app, ["show", "rigid-two-link"]).output
    assert "preset" not in plain and "linear" not in plain


def test_show_gives_the_drives_as_json():
    said = CliRunner().invoke(app, ["show", "industrial-arm", "--json"])
    drives = json.loads(said.output)["drives"]
    assert [each["link"] for each in drives] == ["column", "upper", "fore", "wrist-roll", "wrist-pitch", "flange"]
    fore = drives[2]
    assert (fore["input"], fore["preset"]) == ("V", "harmonic-drive-25-100")
    assert {"name": "gear_ratio", "value": 100.0, "unit": ""} in fore["linear"]
    assert {"name": "damping", "value": 1.0, "unit": "N m s/rad"} in fore["linear"]
    motor = next(each["fields"] for each in fore["parts"] if each["part"] == "motor")
    assert {"name": "inductance", "value": 7e-3, "unit": "H"} in motor
    assert "saturation" not in [each["name"] for each in motor]  # left to its default


# -- sensors -----------------------------------------------------------------------------------------------------------


def test_sensors_of_a_motor_and_of_the_torque_behind_the_gear():
    described = fa.load("industrial-arm")
    fore = described.links[2]
    springs = {"spring": None, "backlash": None}
    linear = fore.joint.replace(stiffness=5.0e4, spring_damping=20.0, drive=fore.joint.drive.replace(**springs))
    links = [fore.replace(joint=linear) if link is fore else link for link in described.links]
    model = fa.Model(described.replace(links=links))
    n, rng = len(model.coordinates), np.random.default_rng(1)
    q, qd, u, s = (0.1 * rng.normal(size=k) for k in (n, n, 6, 6))
    sensors = [
        fa.MotorCurrent(link="fore"),
        fa.Encoder(coordinate="fore.drive"),
        fa.MotorTorque(link="fore"),
        fa.JointTorque(link="fore"),
    ]
    found = fa.outputs(model, sensors)
    assert found.names == ("fore_motor_current", "fore_drive", "fore_motor_torque", "fore_joint_torque")
    assert found.units == ("A", "rad", "N m", "N m")
    joint, motor = model.coordinates.index("fore.joint"), model.coordinates.index("fore.motor")
    wound = 5.0e4 * (q[motor] - q[joint]) + 20.0 * (qd[motor] - qd[joint])
    assert found.values(q, qd, u, s=s) == pytest.approx([s[2], q[motor], 0.45 * 100.0 * s[2], wound])
    many = found.values(np.tile(q, (3, 1)), np.tile(qd, (3, 1)), np.tile(u, (3, 1)), s=np.tile(s, (3, 1)))
    assert many == pytest.approx(np.tile(found.values(q, qd, u, s=s), (3, 1)))
    system = model.linearize(q, qd, u, outputs=[fa.JointTorque(link="fore")])
    assert system.C[0, motor] == pytest.approx(5.0e4)


def test_a_motor_without_electrical_numbers_has_a_torque_and_no_current():
    model = fa.Model(one(rotor_inertia=1e-3, drive={"motor": {"torque_limit": 2.0, "saturation": "sharp"}}))
    sensor = fa.outputs(model, [fa.MotorTorque(link="l")])
    assert sensor.values([0.0], [0.0], [5.0]) == pytest.approx([2.0])
    assert fa.outputs(fa.Model(one()), [fa.MotorTorque(link="l")]).values([0.0], [0.0], [5.0]) == pytest.approx([5.0])
    with pytest.raises(DescriptionError, match="MotorCurrent: link 'l' has no motor with a torque_constant"):
        fa.outputs(model, [fa.MotorCurrent(link="l")])
    with pytest.raises(DescriptionError, match="JointTorque: link 'l' has no elastic joint; give it a stiffness"):
        fa.outputs(model, [fa.JointTorque(link="l")])
    with pytest.raises(DescriptionError, match="outputs: u is missing; a motor is measured"):
        sensor.values([0.0], [0.0])
    with pytest.raises(
        DescriptionError, match=r"MotorTorque: link 'l': its value depends on u and on states of drives"
    ):
        model.linearize([0.0], [0.0], [0.0], outputs=[fa.MotorTorque(link="l")])
    fixed = fa.Link(name="f", joint=fa.Fixed(), body=BODY)
    with pytest.raises(DescriptionError, match="MotorTorque: link 'f' has a joint without a motor"):
        fa.outputs(fa.Model(one().replace(links=[fixed, *one().links])), [fa.MotorTorque(link="f")])


def test_what_an_ammeter_would_have_read():
    motor = {"input": "voltage", "torque_constant": 0.1, "resistance": 1.0, "inductance": 2e-3}
    model = fa.Model(one(rotor_inertia=1e-4, gear_ratio=50.0, drive={"motor": motor}))
    run = fa.simulate(model, 0.05, u=[8.0], samples=51)
    read = fa.sensor_readings([fa.MotorCurrent(link="l"), fa.MotorTorque(link="l")], model, run, seed=1)
    assert read.l_motor_current.values == pytest.approx(run.drive_state.values[:, 0])
    assert read.l_motor_torque.values == pytest.approx(5.0 * run.drive_state.values[:, 0])
    assert read.l_motor_current.attrs["units"] == "A"


# -- the industrial arm ------------------------------------------------------------------------------------------------


def test_the_industrial_arm_follows_its_reference_at_1_khz_and_the_account_holds():
    scenario = fa.load_scenario("industrial-arm")
    model = fa.Model(scenario.loaded_arm())
    run = scenario.run(model, progress=False)
    assert run.input_description == "Cascaded, sampled every 0.001 s"
    assert run.energy_drift < 1e-7
    motors = run.q.values[:, list(model.arm.motors)]
    assert np.abs(motors - run.q_ref.values).max() < 0.01
    assert np.abs(motors - run.q_ref.values)[-1].max() < 1e-3
    assert np.abs(run.u.values).max() < 200.0
    solver = scenario.solver.replace(method="dop853", rtol=1e-9, atol=1e-11, step=None)
    exact = scenario.replace(solver=solver, until=1.0, samples=201).run(model, progress=False)
    assert run.q.values[:201] == pytest.approx(exact.q.values, abs=2e-6)


def test_the_industrial_arm_at_rest_is_held_by_voltages_that_carry_it():
    """Standing still: V = R tau_g / (k_t G), by the gravity torque of the whole arm at rest."""
    model = fa.Model(fa.load("industrial-arm"))
    place = [0.0, -0.6, 0.9, 0.0, 0.3, 0.0]
    law = control.Cascaded(place, Kp=10.0, Kv=[600.0, 800.0, 250.0, 50.0, 50.0, 20.0], Ti=0.05)
    run = fa.simulate(model, 4.0, u=control.Sampled(law, 1e-3), solver=fa.Solver(method="rk4", step=5e-4), samples=5)
    current = run.drive_state.values[-1]
    R = [link.joint.drive.motor.resistance for link in model.arm.links]
    assert run.u.values[-1] == pytest.approx(R * current, rel=1e-2, abs=0.05)
    torque = model.evaluate("restoring_force", run.q.values[-1])[list(model.arm.motors)]
    found = [
        link.joint.drive.motor.torque_constant * 100.0 * i for link, i in zip(model.arm.links, current, strict=True)
    ]
    friction = [link.joint.drive.friction.coulomb for link in model.arm.links]
    assert (np.abs(found - torque) <= friction).all()  # what sticks may hold the rest
    assert np.abs(torque).max() > 50.0
