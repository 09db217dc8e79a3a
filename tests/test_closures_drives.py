"""Controllers, references and inverse dynamics on the drives of arms with closures."""

import numpy as np
import pytest
from controlled import refused
from driven_loops import at, bars, four_bar

import flexarm as fa
from flexarm import analysis, control
from flexarm.model.driven import Driven
from flexarm.simulation.feedback import kernel
from flexarm.trajectory import TaskLine, reference_values

SLEW = fa.Quintic([0.9], [2.1], duration=0.8)


@pytest.fixture(scope="module")
def crank():
    return fa.Model(four_bar())


@pytest.fixture(scope="module")
def flexible():
    return fa.Model(four_bar(flexible=True))


def test_computed_torque_of_a_rigid_loop_decouples_it(crank):
    """From 0.5 rad away: the error obeys e'' + 20 e' + 100 e = 0; the torques are those of Decoupling."""
    q0 = at(crank, 0.4)
    laws = (kind(SLEW, Kp=100.0, Kd=20.0) for kind in (control.ComputedTorque, control.Decoupling))
    mine, other = (fa.simulate(crank, 1.0, u=law, q0=q0, rtol=1e-10, progress=False) for law in laws)
    t = mine.time.values
    error = reference_values(SLEW, t)[:, 0] - mine.q.values[:, 0]
    assert error == pytest.approx(0.5 * (1 + 10 * t) * np.exp(-10 * t), abs=1e-8)
    assert mine.u.values == pytest.approx(other.u.values, abs=1e-6)


def test_two_motors_of_a_loop_share_the_torque_by_least_squares():
    """Their torques are in the ratio of their rates, and the error of the crank obeys the same equation."""
    model = fa.Model(four_bar(driven=("crank", "rocker")))
    still = fa.Quintic([0.9, bars(0.9)[1]], [0.9, bars(0.9)[1]], duration=0.5)
    law = control.ComputedTorque(still, Kp=100.0, Kd=20.0)
    run = fa.simulate(model, 0.6, u=law, q0=at(model, 0.4), rtol=1e-10, progress=False)
    t = run.time.values
    assert run.q.values[:, 0] == pytest.approx(0.9 - 0.5 * (1 + 10 * t) * np.exp(-10 * t), abs=1e-8)
    moving = np.abs(run.qd.values[:, 0]) > 1e-2
    ratio = run.qd.values[moving, 2] / run.qd.values[moving, 0]
    assert run.u.values[moving, 1] / run.u.values[moving, 0] == pytest.approx(ratio, abs=1e-8)


def test_gravity_torques_hold_a_loop(crank, flexible):
    """JointPD has no error at rest on a rigid loop; with a filter and rounding it uses the encoder's reading."""
    q0 = at(crank, 0.9)
    run = fa.simulate(crank, 0.3, u=control.JointPD([0.9], Kp=100.0, Kd=20.0), q0=q0, progress=False)
    assert run.q.values == pytest.approx(np.tile(q0, (len(run.q), 1)), abs=1e-8)
    assert run.u.values[-1] == pytest.approx(analysis.equilibrium(crank, q0)[1], rel=1e-7)
    rounding = control.JointPD([0.9], Kp=100.0, Kd=20.0, filter=200.0, resolution=0.25)
    u = torque(crank, rounding, q0, 0.01, memory=[1.0, 0.0, 1.0])  # 0.9 rad are read as 1.0 rad, as before
    assert u == pytest.approx(analysis.equilibrium(crank, at(crank, 1.0))[1][0] - 10.0, rel=1e-7)
    bent = fa.assemble(flexible, [*q0, 0, 0], held=["crank.joint"])
    sagging = analysis.equilibrium(flexible, bent)[1][0]
    assert torque(flexible, control.JointPD([0.9], Kp=100.0, Kd=20.0), bent) == pytest.approx(sagging, rel=0.02)


def torque(model, controller, q, period=None, memory=()):
    """Output of a controller at rest."""
    return kernel(controller.law(model, period), model).one(np.concatenate([[0.0], q, np.zeros(model.nv), memory]))[0]


def test_a_feedforward_of_the_rigid_loop_improves_tracking(flexible):
    q0 = fa.assemble(flexible, [0.9, 0.2, 1.2, 0, 0], held=["crank.joint"])
    errors = {}
    for forward in ("none", "gravity", "dynamics"):
        law = control.Cascaded(SLEW, Kp=20.0, Kv=10.0, feedforward=forward)
        run = fa.simulate(flexible, 0.8, u=law, q0=q0, progress=False)
        errors[forward] = np.abs(run.q.values[:, 0] - reference_values(SLEW, run.time.values)[:, 0]).max()
    assert errors["dynamics"] < 0.35 * errors["gravity"] < 0.35 * errors["none"]


def test_rigid_inverse_dynamics_of_a_loop_are_its_prescribed_motion(crank):
    """Torques as a function of time alone move the rigid loop as the prescribed motion does, by the same torques."""
    q0, slew = at(crank, 0.4), fa.Quintic([0.4], [2.1], duration=0.8)
    alone = fa.RigidInverseDynamics(slew, q0=q0)
    runs = [fa.simulate(crank, 0.8, u=u, q0=q0, rtol=1e-10, progress=False) for u in (alone, fa.PrescribedMotion(slew))]
    assert runs[0].q.values == pytest.approx(runs[1].q.values, abs=1e-8)
    assert runs[0].u.values == pytest.approx(runs[1].u.values, abs=1e-8)
    for given, message in (
        ({}, "q0 is missing; closures need the 3 joints: crank.joint, coupler.joint, rocker.joint"),
        ({"q0": [0.4, 0.2]}, "q0 has 2 numbers; closures need the 3 joints: crank.joint, .*"),
    ):
        with refused(f"RigidInverseDynamics: {message}"):
            fa.simulate(crank, 0.1, u=fa.RigidInverseDynamics(slew, **given), q0=q0)


def test_references_that_do_not_fit_the_loop_are_refused(crank):
    both = fa.Model(four_bar(driven=("crank", "rocker")))
    q0 = at(crank, 0.4)
    crossed = fa.RigidInverseDynamics(fa.Quintic([0.4, 0.5], [0.9, 1.0], duration=0.8), q0=q0)
    with refused(r"RigidInverseDynamics: the reference does not fit the closures: the closures couple the drives.*"):
        fa.simulate(both, 0.1, u=crossed, q0=q0)
    swing = fa.RigidInverseDynamics(_Swing(), q0=q0)
    with refused("RigidInverseDynamics: the reference never comes to rest, as closures need it"):
        fa.simulate(crank, 0.1, u=swing, q0=q0)


class _Swing:
    """A crank that swings for ever."""

    def expression(self, t):
        import casadi as ca

        return [0.4 + 0.1 * ca.sin(t)]

    def described(self):
        return "swinging"


def five_bar():
    """Two motors at the base move the pin of two links in a plane."""

    def bar(name, parent, length, mass, passive, **more):
        joint, body = fa.Revolute(passive=passive), fa.Rigid(length=length, mass=mass)
        return fa.Link(name=name, parent=parent, joint=joint, body=body, **more)

    links = [
        bar("a", "base", 0.4, 1.1, False),
        bar("b", "a", 0.6, 0.7, True),
        bar("c", "base", 0.45, 1.2, False, placement=fa.Pose(xyz=(0.3, 0.0, 0.0))),
        bar("d", "c", 0.55, 0.8, True),
    ]
    return fa.Arm(name="five-bar", links=links, closures=[fa.Closure(name="pin", link="b", to="d")], tip="b")


def elbows(point):
    """Angles of the two cranks by triangles, with the elbows outward."""
    found = []
    for x0, first, second, side in ((0.0, 0.4, 0.6, 1.0), (0.3, 0.45, 0.55, -1.0)):
        x, y = point[0] - x0, point[1]
        r = np.hypot(x, y)
        found.append(np.arctan2(y, x) + side * np.arccos((r**2 + first**2 - second**2) / (2 * r * first)))
    return found


def test_a_five_bar_draws_a_straight_line():
    """Its motors' angles are those of two triangles; the prescribed motion keeps the pin on the line."""
    arm = five_bar()
    model, q0 = fa.Model(arm), fa.assemble(arm, [2.0, -1.2, 1.0, 1.0])
    start = model.tip(q0)[:2, 3]
    way = np.array([0.08, -0.06])
    line = TaskLine(arm, start, start + way, 1.0, axes="xy", q0=q0)
    assert line.deviation < 1e-9 and line.coefficients.shape[1] == 2
    for y in reference_values(line, np.array([0.0, 0.37, 1.0])):
        q = fa.assemble(arm, [y[0], q0[1], y[1], q0[3]], held=["a.joint", "c.joint"])
        both = elbows(model.tip(q)[:2, 3])
        assert np.exp(1j * y) == pytest.approx(np.exp(1j * np.array(both)), abs=1e-8)
    run = fa.simulate(model, 1.0, u=fa.PrescribedMotion(line), q0=q0, samples=21, progress=False)
    moved = run.tip.values[:, :2] - start
    assert moved @ [0.6, 0.8] == pytest.approx(np.zeros(21), abs=1e-8) and moved[-1] == pytest.approx(way, abs=1e-8)
    assert TaskLine(arm, None, start + way, 1.0, axes="xy", q0=q0).start == pytest.approx(start, abs=1e-12)
    for end, axes, guess, message in (
        (start + [2.0, 0.0], "xy", q0, r"arm 'five-bar' reaches no farther than .* % of the line, .* out of reach"),
        (start + way, "x", q0, r"axes is 'x'; it must have one axis per joint, 2: a\.joint, c\.joint"),
        (start + way, "xy", q0[:2], "q0 has 2 numbers; it must have 4"),
    ):
        with refused(f"TaskLine: {message}"):
            TaskLine(arm, start, end, 1.0, axes=axes, q0=guess)


def test_drives_must_determine_the_position():
    arm = four_bar()
    links = [*arm.links, fa.Link(name="bob", parent="rocker", joint=fa.Revolute(passive=True), body=arm.links[0].body)]
    with refused("ComputedTorque: arm 'four-bar': the joints with a motor do not determine bob.joint; give a joint.*"):
        control.ComputedTorque([0.9], Kp=1.0, Kd=1.0).law(fa.Model(arm.replace(links=links)))
    floating = arm.replace(base=fa.FreeBase(mass=9.0, inertia=2.0), gravity=(0.0, 0.0, 0.0))
    with refused("ComputedTorque does not support closures on a free base yet, as of arm 'four-bar'"):
        control.ComputedTorque([0.9], Kp=1.0, Kd=1.0).law(fa.Model(floating))
    assert Driven.of("test", fa.Model(four_bar(driven=("crank", "rocker")))).own == (0,)


def test_convergence_of_a_guided_beam():
    """A clamped beam whose tip slides along y without turning, by Euler and Bernoulli: exact with polynomials."""
    L, EI, mu, g = 1.3, 4.0, 0.6, 0.1
    body = fa.Beam(length=L, mass_per_length=mu, EI=EI, modes={"y": 4}, shapes="polynomial")
    guide = fa.Closure(name="guide", link="beam", joint="prismatic", axis=(0, 1, 0), place=(L, 0, 0))
    link = fa.Link(name="beam", joint=fa.Fixed(), body=body)
    arm = fa.Arm(name="guided", links=[link], closures=[guide], gravity=(0, -g, 0))
    found = analysis.convergence(arm)
    assert found.more_locked[0] == pytest.approx((2.3650203724 / L) ** 2 * np.sqrt(EI / mu), rel=2e-6)
    assert [found.compliance, found.more_compliance] == pytest.approx([L**3 / (12 * EI)] * 2, rel=1e-9)
    assert found.sag[1] == pytest.approx(-mu * g * L**4 / (24 * EI), rel=1e-9)
    pinned = four_bar(flexible=True)
    q = fa.assemble(pinned, [1.1, 0.2, 1.2, 0, 0], held=["crank.joint"])
    assert analysis.convergence(pinned, q).compliance == 0.0  # crank and rocker hold the pin
    with refused(r"convergence: q does not satisfy the closures; .*"):
        analysis.convergence(pinned, q + [0.1, 0, 0, 0, 0])
