"""Tendons of MJCF files become cables: accelerations beside MuJoCo's."""

import numpy as np
import pytest

import flexarm as fa

mj = pytest.importorskip("mujoco")

ARM = """<mujoco><compiler angle="radian"/><option gravity="0.3 0 -9.81"/>{more}
  <worldbody>
    <site name="post" pos="0.2 0.4 1.1"/>
    <body name="a" pos="0.1 0 0.2">{root}<joint name="a" axis="0 1 0" {a}/>
      <inertial pos="0.2 0.02 0.03" mass="1.4" diaginertia="0.04 0.05 0.06"/>
      <site name="eye" pos="0.25 0.04 0.06"/>
      <body name="b" pos="0.5 0 0"><joint name="b" axis="0.6 0 0.8"/>
        <inertial pos="0.15 0 0.02" mass="0.8" diaginertia="0.01 0.02 0.02"/>
        <body name="c" pos="0.1 0.02 0" euler="0.2 0.3 0.1"><site name="tip" pos="0.35 0.05 0"/></body></body></body>
  </worldbody>
  <tendon>{tendons}</tendon>{actuators}
</mujoco>"""
PATH = '<site site="post"/><site site="eye"/><site site="tip"/>'
FREE = '<freejoint name="root"/></body><body name="unused" pos="9 9 9">'


def report(tmp_path, tendons, actuators="", more="", **settings):
    text = ARM.format(tendons=tendons, actuators=actuators, more=more, root="", a="")
    path = tmp_path / "arm.xml"
    path.write_text(text)
    return fa.robot_report(path, **settings), mj.MjModel.from_xml_string(text)


def theirs(model, q, qd, ctrl=()):
    data = mj.MjData(model)
    model.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:] = q, qd
    data.ctrl[:] = ctrl
    mj.mj_forward(model, data)
    return data.qacc.copy(), data.ten_length.copy()


STATES = np.random.default_rng(4).normal(size=(12, 2, 2))


def test_a_tendon_with_a_dead_band_is_a_cable(tmp_path):
    """Slack or taut, its length and its pull are MuJoCo's."""
    found, model = report(tmp_path, f'<spatial name="stay" stiffness="90" springlength="0 1.35">{PATH}</spatial>')
    assert not found.not_understood
    (cable,) = found.arm.cables
    assert (cable.name, cable.stiffness, cable.length, cable.damping) == ("stay", 90.0, 1.35, 0.0)
    assert cable.points[0].point == (0.2, 0.4, 1.1)
    arm, taut = fa.Model(found.arm), []
    assert arm.coordinates == ("a.joint", "b.joint")
    for q, qd in STATES:
        qdd, length = theirs(model, q, qd)
        assert arm.forward_dynamics(q, qd, [0, 0]) == pytest.approx(qdd, rel=1e-9)
        tension = max(90.0 * (length[0] - 1.35), 0.0)
        assert arm.evaluate("tension", q, qd)[0] == pytest.approx(tension, rel=1e-9)
        taut.append(tension > 0.0)
    assert {*taut} == {True, False}


def test_a_damped_tendon_is_a_cable_while_it_is_taut(tmp_path):
    """MuJoCo's damper also acts while the spring is slack or while both together push; a line says so."""
    found, model = report(
        tmp_path, f'<spatial name="stay" stiffness="400" damping="7" springlength="0 1">{PATH}</spatial>'
    )
    (said,) = found.not_understood
    assert said.endswith("damping of a slack tendon; that of its cable acts only while it is taut")
    arm, compared = fa.Model(found.arm), 0
    for q, qd in STATES:
        qdd, length = theirs(model, q, qd)
        tension = arm.evaluate("tension", q, qd)[0]
        if length[0] > 1.001 and tension > 0.0:
            assert arm.forward_dynamics(q, qd, [0, 0]) == pytest.approx(qdd, rel=1e-9)
            compared += 1
    assert compared > 5
    two_sided, _ = report(tmp_path, f'<spatial stiffness="400" springlength="0.9">{PATH}</spatial>')
    (said,) = two_sided.not_understood
    assert said.endswith("tendon that pushes when shorter than its springlength; its cable only pulls")
    assert two_sided.arm.cables[0].name == "tendon"
    default, model = report(tmp_path, f'<spatial name="x" stiffness="400">{PATH}</spatial>')
    assert default.arm.cables[0].length == pytest.approx(model.tendon_length0[0])  # of the file's first position
    off, _ = report(
        tmp_path, f'<spatial stiffness="400">{PATH}</spatial>', more='<option><flag spring="disable"/></option>'
    )
    assert not off.arm.cables


def test_an_actuator_that_only_pulls_is_the_tension_of_a_cable(tmp_path):
    tendons = f'<spatial name="t" springlength="0 1.1" stiffness="50">{PATH}</spatial>'
    pulls = '<actuator><motor name="pull" tendon="t" gear="-3" ctrlrange="0 8"/></actuator>'
    found, model = report(tmp_path, tendons, pulls)
    assert not found.not_understood
    assert [(x.name, x.input) for x in found.arm.cables] == [("t", "none"), ("pull", "tension")]
    assert any("3 for the tension of 'pull'" in note for note in found.notes)
    arm = fa.Model(found.arm)
    assert arm.exogenous == ("pull.tension",)
    for q, qd in STATES[:4]:
        qdd, _ = theirs(model, q, qd, [2.5])
        assert arm.forward_dynamics(q, qd, [0, 0], w=[7.5]) == pytest.approx(qdd, rel=1e-9)
    for other in ('gear="3" ctrlrange="0 8"', 'gear="-3"', 'gear="-3" ctrlrange="-1 8"'):
        found, _ = report(tmp_path, tendons, f'<actuator><motor tendon="t" {other}/></actuator>')
        assert len(found.arm.cables) == 1
        (said,) = found.not_understood
        assert said.endswith("<actuator> on a tendon")


def test_a_tendon_on_a_flexible_link_and_on_a_free_base(tmp_path):
    tendons = f'<spatial name="stay" stiffness="90" springlength="0 1.2">{PATH}</spatial>'
    found, _ = report(tmp_path, tendons, flexible={"links": {"a": {"EI": 400.0, "modes": {"y": 1, "z": 1}}}}, tip="b")
    stiff, _ = report(tmp_path, tendons, tip="b")
    q = np.array([0.4, -0.7])
    bent = fa.Model(found.arm).evaluate("tension", [*q, 0, 0], np.zeros(4))
    assert bent == pytest.approx(fa.Model(stiff.arm).evaluate("tension", q, [0, 0])) and bent > 1.0
    text = ARM.format(tendons=tendons, actuators="", more="", root="", a="").replace(
        '<joint name="a" axis="0 1 0" />', '<freejoint name="root"/>'
    )
    path = tmp_path / "free.xml"
    path.write_text(text)
    arm, model = fa.Model(fa.from_mjcf(path)), mj.MjModel.from_xml_string(text)
    assert arm.arm.free
    data = mj.MjData(model)
    data.qpos[:] = [0.3, -0.2, 0.5, 0.8, 0.0, 0.6, 0.0, 0.4]
    mj.mj_forward(model, data)
    tension = arm.evaluate("tension", data.qpos, np.zeros(7))[0]
    assert tension == pytest.approx(90 * (data.ten_length[0] - 1.2), rel=1e-9) and tension > 0


def test_what_a_cable_does_not_have_is_listed(tmp_path):
    limits = 'frictionloss="2" limited="true" range="0 2"'
    tendons = f"""<spatial name="t" stiffness="90" springlength="0 1" {limits}>{PATH}</spatial>
      <spatial name="pulley" stiffness="9"><site site="post"/><site site="eye"/><pulley divisor="2"/><site site="eye"/>
        <site site="tip"/></spatial>"""
    found, _ = report(tmp_path, tendons)
    assert len(found.arm.cables) == 1
    assert [x.partition(": ")[2] for x in found.not_understood] == [
        "frictionloss, limited of a tendon; its cable has none", "tendon with stiffness; it is ignored",
    ]  # fmt: skip
