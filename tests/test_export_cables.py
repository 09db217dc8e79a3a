"""Exported cables: tendons of MuJoCo exert the same forces, and the file names each cable that is left out."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.exports.exudyn import exudyn_script
from flexarm.exports.lumped import lumped
from flexarm.exports.mjcf import mjcf

mj = pytest.importorskip("mujoco")


def arm_of(**more):
    """A beam and a rod with a stay of constant length, a tendon whose tension is an input, and a winch."""
    beam = fa.Beam(length=0.7, mass=0.5, EI=20.0, modes={"z": 2})
    rod = fa.Rigid(length=0.5, mass=0.8, inertia=(0.01, 0.03, 0.03))
    links = [
        fa.Link(name="a", joint=fa.Revolute(axis=(0, -1, 0)), body=beam),
        fa.Link(name="b", joint=fa.Revolute(axis=(0, -0.6, 0.8)), body=rod),
    ]
    world, half, tip = {"point": (0.1, 0.2, 1.1)}, {"link": "a", "at": 0.6}, {"link": "b"}
    cables = [
        fa.Cable(name="stay", points=[world, half, tip], EA=100.0, length=1.6, transition=0.0, **more),
        fa.Cable(name="tendon", points=[half, tip], input="tension"),
        fa.Cable(name="winch", points=[world, tip], stiffness=9.0, length=0.2, input="rate"),
    ]
    return fa.Arm(name="held", links=links, gravity=(0.5, 0, -9.81), cables=cables)


def test_tendons_of_mujoco_pull_as_cables():
    """Accelerations of the lumped equivalent, slack and taut, with a tension that is given."""
    arm = arm_of()
    equivalent, text = lumped(arm, 2), mjcf(arm, 2)
    assert "winches are left out: winch" in text and "slack cables" not in text
    model, theirs = fa.Model(equivalent.arm), mj.MjModel.from_xml_string(text)
    theirs.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    joints = [theirs.joint(name).qposadr[0] for name in model.coordinates]
    straight = mj.MjData(theirs)
    mj.mj_forward(theirs, straight)
    assert straight.ten_length[0] == pytest.approx(np.sqrt(0.32**2 + 0.2**2 + 1.1**2) + 0.78)
    rng, taut = np.random.default_rng(2), set()
    for _ in range(8):
        q, qd = rng.normal(size=(2, model.nv)) * 0.8
        data = mj.MjData(theirs)
        data.qpos[joints], data.qvel[joints] = q, qd
        data.ctrl[theirs.actuator("tendon").id] = 6.0
        mj.mj_forward(theirs, data)
        qdd = model.forward_dynamics(q, qd, np.zeros(len(model.inputs)), w=[6.0])
        assert data.qacc[joints] == pytest.approx(qdd, rel=1e-7, abs=1e-7 * np.abs(qdd).max())
        tension = model.evaluate("tension", q, qd, w=[6.0])[0]
        assert data.ten_length[0] > 1.6 or tension == 0.0
        taut.add(bool(tension > 0.0))
    assert taut == {True, False}


def test_what_differs_is_said():
    arm = arm_of(damping=2.0)
    assert "the damping of slack cables acts too, and may push: stay" in mjcf(arm, 1)
    script = exudyn_script(arm, 1)
    assert "cables are left out" in script


def test_cables_come_back_from_the_file(tmp_path):
    rigid = arm_of().rigid()
    path = fa.export_mjcf(fa.Model(rigid), tmp_path / "held.xml")
    found = fa.robot_report(path.path if hasattr(path, "path") else path).arm
    assert [(x.name, x.input) for x in found.cables] == [("stay", "none"), ("tendon", "tension")]
    assert found.cables[0].stiffness == pytest.approx(100.0 / 1.6) and found.cables[0].length == 1.6
