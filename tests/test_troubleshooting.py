"""Every message on the page of troubleshooting is one that the package gives, and comes when the page says."""

import re
import warnings

import numpy as np
import pytest
from pages import ROOT, text

import flexarm as fa
from flexarm import analysis, errors
from flexarm.control import LQR, Composite, JointPD, Sampled

PAGE = ROOT / "docs" / "do" / "troubleshooting.md"
ROWS = re.findall(r"^\| `(.+?)` \|", text(PAGE), re.M)

BEAM = {"type": "beam", "length": 1.0, "mass": 0.5, "EI": 10.0, "modes": {"y": 2}, "damping": 0.002}


def arm(joint=None, payload=0.2, hub=0.3, **body):
    link = {"name": "boom", "joint": joint or {"type": "revolute"}, "body": BEAM | body, "hub_inertia": hub}
    return fa.Arm(name="boom", links=[link], payload={"mass": payload} if payload else None)


def model(**changes):
    return fa.Model(arm(**changes))


def slew(end=1.0, duration=0.8):
    return fa.Quintic(start=[0.0], end=[end], duration=duration)


def run(given=None, until=0.1, **options):
    return fa.simulate(given or model(), until=until, progress=False, **{"u": [0.0]} | options)


def stepped(**options):
    """A vibrating boom, moved for more than the 64 periods after which the energy balance is checked."""
    plant = fa.Stepper(model(), 0.02, q0=[0.0, 0.02, 0.01], **options)
    for _ in range(70):
        plant.step([1.0])


def readings(given, **changes):
    """A short experiment, as `fa.identify` takes it."""
    t = np.arange(101) / 500
    u = np.sin(40 * t)
    motion = run(given, until=t[-1], u=fa.Table(t, u[:, None]), samples=len(t))
    return {"u": u[:, None], "angle": motion.q.values[:, 0]} | changes


def identified(fit, arm=None, **options):
    fa.identify(
        arm or model(),
        readings(model()),
        fit=fit,
        outputs={"angle": fa.Encoder(coordinate="boom.drive")},
        **{"sample_rate": 500} | options,
    )


def damaged(folder):
    path = fa.save_result(run(until=0.01, samples=5), folder / "run.nc")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    fa.load_result(path)


def written(folder, words):
    (folder / "arm.toml").write_text(words)
    fa.load(folder / "arm.toml")


ARM = 'name = "a"\n[[links]]\nname = "b"\nbody = { type = "rigid", length = 1.0, mass = 1.0 }\n'


def arm_as_scenario(folder):
    (folder / "arm.toml").write_text(ARM)
    fa.load_scenario(folder / "arm.toml")


def twisting():
    """A beam that twists, and nothing that would turn with it."""
    return model(payload=None, modes={"torsion": 1}, GJ=1.0)


def telescope_out(folder):
    beam = fa.Beam(length=1.2, mass=1.0, EI=1e4, modes={"y": 1})
    boom = fa.Arm(name="crane", links=[fa.Link(name="boom", joint=fa.Telescope(free_length=0.6), body=beam)])
    run(fa.Model(boom), u=[5.0], until=2.0)


def rigid():
    return fa.Model(arm().rigid())


def mixed_lengths():
    second = {"name": "fore", "joint": {"type": "revolute"}, "body": BEAM | {"length": 1000.0}}
    links = [{"name": "boom", "joint": {"type": "revolute"}, "body": BEAM}, second]
    return fa.Arm(name="boom", links=links)


def spikes(t):
    """Something at single times alone, the middles of 1024 cells, that a second run does not meet either."""
    return [float(t > 5 and (t / 10 * 1024) % 1 == 0.5)]


PROVOKED = {
    "unknown key": lambda folder: written(folder, ARM.replace("mass", "masss")),
    "not a TOML file": lambda folder: written(folder, "name = boom\n"),
    "bundled arm": lambda folder: fa.load("canadarmm"),
    "this is an arm": arm_as_scenario,
    "this is a scenario": lambda folder: written(folder, 'name = "a"\narm = "canadarm"\nuntil = 1.0\n'),
    "give its fields by name": lambda folder: fa.Rigid(1.0, 2.0),
    "cannot be changed": lambda folder: setattr(arm(), "name", "b"),
    "must be a unit vector": lambda folder: fa.Revolute(axis=(1, 1, 0)),
    "mass is …; it must be positive": lambda folder: fa.Rigid(length=1.0, mass=-1.0),
    "has a motor": lambda folder: fa.Revolute(stiffness=100.0),
    "give one of mass, mass_per_length": lambda folder: fa.Beam(length=1.0, EI=1.0, modes={"y": 1}),
    "which needs": lambda folder: fa.Beam(length=1.0, mass=1.0, modes={"torsion": 1}),
    "of critical damping": lambda folder: arm(damping=2.0),
    "the next longest link": lambda folder: mixed_lengths(),
    "gave …": lambda folder: run(u=lambda t: [1 / t if t else np.nan]),
    "its last axis must have": lambda folder: model().mass_matrix([0.0, 0.0]),
    "contains NaN": lambda folder: model().mass_matrix([np.nan, 0.0, 0.0]),
    "unknown parameter": lambda folder: fa.Model(arm(), vary=["boom.stiffnes"]),
    "cannot vary": lambda folder: fa.Model(arm(), vary=["boom.modal_damping.1.1"]),
    "no inertia resists": lambda folder: twisting().frequencies([0.0, 0.0], locked=False),
    "columns for": lambda folder: run(u=[0.0, 0.0]),
    "it must be an object": lambda folder: run(u=JointPD),
    "is a motion and not an input": lambda folder: run(u=slew()),
    "reference moves": lambda folder: run(reference=fa.Quintic(start=[0, 0], end=[1, 1], duration=1.0)),
    "It must be one of": lambda folder: run(method="rk5"),
    "chooses its own steps": lambda folder: run(method="dop853", solver=fa.Solver(step=1e-3)),
    "diverged by": lambda folder: run(u=[1.0], until=5.0, solver=fa.Solver(method="rk4", step=0.05), samples=11),
    "which bends link": lambda folder: run(u=lambda t, q, qd: 1.0 + 50.0 * qd[:1], until=5.0),
    "is discontinuous": lambda folder: run(u=lambda t, q, qd: -3 * np.sign(qd[:1] + 5 * q[:1] - 1), until=1.0),
    "J exchanged": lambda folder: run(
        u=[1.0], until=1.0, solver=fa.Solver(method="generalized-alpha", step=0.2), samples=11
    ),
    "has missed a part of the input": lambda folder: run(until=10.0, u=spikes, samples=11),
    "is in degrees": lambda folder: run(q0=[90.0, 0.0, 0.0]),
    "of the energy exchanged by": lambda folder: stepped(method="rk4", step=0.02),
    "its steps are fixed: give": lambda folder: stepped(method="rk4"),
    "could not meet the tolerance": lambda folder: run(rigid(), u=lambda t: [1 / (0.5 - t)], until=1.0),
    "a free length, leaves": telescope_out,
    "this mode is aliased": lambda folder: run(u=Sampled(JointPD(slew(), 20.0, 5.0), period=0.2), until=1.0),
    "has no reference": lambda folder: fa.performance(run()),
    "simulate longer": lambda folder: fa.performance(run(u=JointPD(slew(), 20.0, 5.0), until=0.8)),
    "no default bandwidth": lambda folder: run(fa.Model(fa.load("rigid-two-link")), u=LQR((0.0, 0.0))),
    "is rigid, so it has no fast motion": lambda folder: run(fa.Model(arm().rigid()), u=Composite(slew(), 4.0, 4.0)),
    "a pole at": lambda folder: run(u=Composite(slew(), 4e4, 40.0)),
    "; the arm has no vibration": lambda folder: fa.design_shaper(fa.Model(arm().rigid()), [0.0]),
    "of the line": lambda folder: fa.TaskLine(fa.load("subudhi-morris"), (0.8, 0.1), (1.5, 0.0), 2.0),
    "no equilibrium found": lambda folder: analysis.equilibrium(
        fa.Model(fa.load("canadarm").replace(gravity=(300.0, -1e3, 0.0))), [0.1, 0.2, 0.3]
    ),
    "is 0 at the start": lambda folder: identified(["boom.damping"], fa.Model(arm(), vary=["boom.damping"])),
    "sample_rate is missing": lambda folder: identified(["boom.EI"], sample_rate=None),
    "do not depend on": lambda folder: identified(["boom.hub_inertia"], given={"boom.drive": "angle"}),
    "the file is damaged": damaged,
    "cannot be written": lambda folder: fa.save_result(run(until=0.01, samples=5), folder),
}
"""What gives a message, by some of its words."""


@pytest.mark.parametrize("words", PROVOKED)
def test_message(words, tmp_path):
    """It comes, and reads as the page has it."""
    rows = [row for row in ROWS if words in row]
    assert len(rows) == 1, rows
    pattern = ".*".join(map(re.escape, rows[0].split("…")))
    warnings.simplefilter("error")  # until the test's end
    with pytest.raises((fa.FlexarmError, UserWarning)) as caught:
        PROVOKED[words](tmp_path)
    assert re.fullmatch(f"{pattern}.*", str(caught.value), re.S), str(caught.value)


def test_every_message_of_the_page_is_provoked():
    assert len(ROWS) == len(PROVOKED) == len(set(ROWS))


def test_the_page_lists_every_class_of_warnings():
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Warning)]
    listed = re.findall(r"^- `(\w+)`: ", text(PAGE), re.M)
    assert sorted(listed) == sorted(each.__name__ for each in classes)
