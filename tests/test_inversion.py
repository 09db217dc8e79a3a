"""Inverse dynamics of arms that bend: quasi-static compensation of the tip, and stable inversion."""

import control
import numpy as np
import pytest

import flexarm as fa
from flexarm.analysis import stable_inversion
from flexarm.sensors import Encoder, TipPosition
from flexarm.trajectory import TipCompensated, reference_motion, reference_values


def link(modes=2, damping=0.0, shapes="clamped-free"):
    body = fa.Beam(length=1.0, mass=0.5, EI=5.0, modes={"y": modes}, damping=damping, shapes=shapes)
    joined = fa.Link(name="a", joint=fa.Revolute(), body=body, hub_inertia=0.1)
    return fa.Model(fa.Arm(name="one", links=[joined], payload=fa.Payload(mass=0.1)))


def linear(model, sensor):
    n, m = len(model.coordinates), len(model.inputs)
    return model.linearize(np.zeros(n), np.zeros(n), np.zeros(m), outputs=[sensor])


def smooth(size, duration=1.0, count=1001):
    """From rest to rest with three continuous derivatives."""
    t = np.linspace(0.0, duration, count)
    x = t / duration
    return t, size * (35 * x**4 - 84 * x**5 + 70 * x**6 - 20 * x**7)


# -- stable inversion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", [1, 2])
def test_the_linear_arm_follows(modes):
    """Driven by the input, from the state that belongs to it, the output is the one that was asked for."""
    system = linear(link(modes), TipPosition(axes="y"))
    t, y = smooth(0.3)
    inverse = stable_inversion(system, t, y)
    x0 = inverse.x[0]
    found = control.forced_response(system, inverse.time - inverse.time[0], inverse.u.T, x0)
    np.testing.assert_allclose(np.squeeze(found.outputs), inverse.y[:, 0], atol=1e-5 * 0.3)  # piecewise linear input
    inside = (inverse.time >= 0) & (inverse.time <= 1.0)
    np.testing.assert_allclose(inverse.y[inside, 0], np.interp(inverse.time[inside], t, y), atol=1e-12)


def test_the_tip_of_a_flexible_link_is_non_minimum_phase_and_the_input_leads():
    system = linear(link(), TipPosition(axes="y"))
    inverse = stable_inversion(system, *smooth(0.3))
    assert not inverse.minimum_phase
    slowest = inverse.zeros.real[inverse.zeros.real > 0].min()
    assert inverse.lead == pytest.approx(np.log(1000) / slowest, rel=0.35), "it fades into the past as exp(z t)"
    assert inverse.described().startswith(f"non-minimum phase, zeros at {slowest:.4g}")
    before = inverse.time < -inverse.lead
    assert np.abs(inverse.u[before]).max() < 1e-3 * np.abs(inverse.u).max() * (1 + 1e-9)


def test_the_hub_of_a_damped_link_is_minimum_phase_and_nothing_leads():
    system = linear(link(damping=0.4), Encoder(coordinate="a.joint"))
    inverse = stable_inversion(system, *smooth(0.3))
    assert inverse.minimum_phase
    assert inverse.time[0] == 0.0, "nothing is to come before"
    assert inverse.lead < 0.05, "but for the rounding of the smooth start"
    assert inverse.described() == "minimum phase: the input starts with the output"


def test_the_nonlinear_arm_nearly_follows_a_small_motion():
    """What is left is of second order in the motion: a quarter of it for half the motion."""
    model = link()
    system, errors = linear(model, TipPosition(axes="y")), []
    for size in (0.1, 0.05):
        inverse = stable_inversion(system, *smooth(size))
        times = inverse.time - inverse.time[0]
        x0 = inverse.x[0]
        result = fa.simulate(
            model, times[-1], u=fa.Table(times, inverse.u), q0=x0[:3], qd0=x0[3:], samples=len(times), progress=False
        )
        errors.append(np.abs(result.tip.values[:, 1] - inverse.y[:, 0]).max())
    assert errors[0] < 0.02 * 0.1
    assert errors[0] / errors[1] > 3.5


def followed(system, inverse):
    """What the linear system does under the input, from the state that belongs to it."""
    found = control.forced_response(system, inverse.time - inverse.time[0], inverse.u.T, inverse.x[0])
    return np.squeeze(found.outputs)


def test_what_rings_long_is_cut_and_told():
    """A zero at -0.024 +- 8.3j would ring for minutes; the input up to the cut is right, and the arm starts at rest."""
    system = linear(link(damping=0.004), Encoder(coordinate="a.joint"))
    told = r"cut at 6 s after t = 0, where 88 % of the slowest zero's motion is left"
    with pytest.warns(fa.errors.NotReached, match=f"stable_inversion: {told}"):
        inverse = stable_inversion(system, *smooth(0.3))
    assert inverse.described() == f"minimum phase: the input starts with the output; {told}".replace("\\", "")
    slowest = np.abs(inverse.zeros.real).min()
    assert inverse.cut == (0.0, pytest.approx(np.exp(-5 * slowest), rel=1e-3))
    assert (inverse.time[0], inverse.time[-1]) == (0.0, pytest.approx(6.0))
    assert np.abs(inverse.x[0]).max() < 1e-7, "nothing moves before the output does"
    np.testing.assert_allclose(followed(system, inverse), inverse.y[:, 0], atol=1e-5 * 0.3)
    longer = stable_inversion(system, *smooth(0.3), after=8.0)
    count = len(inverse.time)
    np.testing.assert_allclose(longer.u[:count], inverse.u, atol=1e-6 * np.abs(inverse.u).max())


def test_each_side_has_the_time_of_its_own_zeros():
    """Damping moves the left one of a pair of real zeros out of reach of the right one's time, and back."""
    system = linear(link(damping=0.05), TipPosition(axes="y"))
    inverse = stable_inversion(system, *smooth(0.3))
    right, left = inverse.zeros.real[inverse.zeros.real > 0].min(), -inverse.zeros.real[inverse.zeros.real < 0].max()
    assert abs(right - left) > 0.05 * left
    assert -inverse.time[0] == pytest.approx(8 / right, abs=1.1e-3)
    assert inverse.time[-1] - 1.0 == pytest.approx(8 / left, abs=1.1e-3)
    assert inverse.span == pytest.approx(1 + 8 / right + 8 / left, abs=2.2e-3)
    given = stable_inversion(system, *smooth(0.3), before=0.02, after=0.5)
    assert given.time[0] == pytest.approx(-0.02) and given.time[-1] == pytest.approx(1.5)
    assert given.cut == (pytest.approx(np.exp(-0.02 * right)), pytest.approx(np.exp(-0.5 * left)))
    assert "cut at 0.02 s before t = 0" in given.described()
    inside = (inverse.time > -0.0201) & (inverse.time < 1.2)
    np.testing.assert_allclose(
        given.u[: inside.sum()],
        inverse.u[inside],
        atol=1e-6 * np.abs(inverse.u).max(),
        err_msg="a cut changes nothing else",
    )


def test_a_motion_may_begin_elsewhere_than_at_zero():
    """The arm then stands bent by what holds its output there."""
    beam = fa.Beam(length=1.0, mass=0.5, EI=5.0, modes={"y": 2}, damping=0.4)
    sprung = fa.Link(name="a", joint=fa.Revolute(stiffness=20.0, rotor_inertia=0.1, spring_damping=1.0), body=beam)
    model = fa.Model(fa.Arm(name="hanging", links=[sprung], gravity=(0.0, 0.0, 0.0)))
    system = linear(model, Encoder(coordinate="a.joint"))
    t, y = smooth(0.3)
    inverse = stable_inversion(system, t, 0.2 + y)
    assert inverse.y[0, 0] == 0.2
    np.testing.assert_allclose(followed(system, inverse), inverse.y[:, 0], atol=1e-5 * 0.3)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"y": np.zeros((11, 2))}, r"y has shape \(11, 2\); it must have one row per time, \(11, 1\)"),
        ({"times": np.linspace(0, 1, 11) ** 2}, "times must increase in equal steps"),
        ({"y": np.linspace(0, 1, 11)}, "y must begin and end at rest"),
    ],
)
def test_what_cannot_be_inverted_is_refused(change, line):
    given = {"times": np.linspace(0, 1, 11), "y": np.zeros(11)} | change
    with pytest.raises(fa.DescriptionError, match=line):
        stable_inversion(linear(link(), TipPosition(axes="y")), **given)


def test_as_many_outputs_as_inputs():
    with pytest.raises(fa.DescriptionError, match="2 outputs for 1 input"):
        stable_inversion(linear(link(), TipPosition(axes="xy")), *smooth(0.1))


def test_zeros_on_the_imaginary_axis_have_no_bounded_inverse():
    system = linear(link(1), Encoder(coordinate="a.joint"))
    locked = link(1).frequencies(np.zeros(2))[0]
    with pytest.raises(fa.DescriptionError, match=f"zeros at {locked:.4g} rad/s on the imaginary axis"):
        stable_inversion(system, *smooth(0.1))


# -- quasi-static compensation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["subudhi-morris", "subudhi-morris-elastic"])
def test_a_slow_tip_follows_the_line(name):
    """The error of the compensated tip falls with the fourth power of the speed, the other's with the second."""
    model = fa.Model(fa.load(name))
    errors = {}
    for duration in (6.0, 12.0):
        line = fa.TaskLine(model.arm, (0.8, 0.1), (0.5, 0.6), duration)
        for reference in (line, TipCompensated(line, model)):
            result = fa.simulate(
                model, duration, u=fa.PrescribedMotion(reference), rtol=1e-9, samples=401, progress=False
            )
            s = result.time.values / duration
            wanted = np.outer(1 - (way := 10 * s**3 - 15 * s**4 + 6 * s**5), (0.8, 0.1)) + np.outer(way, (0.5, 0.6))
            away = np.linalg.norm(result.tip.values[:, :2] - wanted, axis=1)
            errors[type(reference).__name__, duration] = np.sqrt((away**2).mean())
    assert errors["TipCompensated", 6.0] < 0.4 * errors["TaskLine", 6.0]
    assert errors["TipCompensated", 12.0] < 0.3 * errors["TaskLine", 12.0]
    assert errors["TaskLine", 6.0] / errors["TaskLine", 12.0] == pytest.approx(4.0, rel=0.4)


def test_at_rest_under_gravity_the_tip_is_where_the_rigid_one_is():
    """And the springs of the joints carry their torques: the arm stays where the reference puts it."""
    arm = fa.load("subudhi-morris-elastic")
    stiff = [link.replace(joint=link.joint.replace(stiffness=20.0)) for link in arm.links]
    model = fa.Model(arm.replace(gravity=(0.0, -0.2, 0.0), links=stiff))
    hold = fa.Quintic((0.3, 0.4), (0.3, 0.4), 1.0)
    compensated = TipCompensated(hold, model)
    motors = reference_values(compensated, np.zeros(1))[0]
    from flexarm.analysis import equilibrium

    q0 = np.zeros(len(model.coordinates))
    q0[[0, 1]] = q0[[-2, -1]] = motors
    q, _ = equilibrium(model, q0)
    rigid = fa.Model(model.arm.rigid())
    missed = np.linalg.norm(model.tip(q)[:2, 3] - rigid.tip(np.array([0.3, 0.4]))[:2, 3])
    uncompensated = q0.copy()
    uncompensated[[0, 1, -2, -1]] = 0.3, 0.4, 0.3, 0.4
    sag = np.linalg.norm(model.tip(equilibrium(model, uncompensated)[0])[:2, 3] - model.tip(uncompensated)[:2, 3])
    assert sag > 0.01
    assert missed < 0.05 * sag, "what is left is of second order in the deflection"


def test_a_rigid_arm_needs_no_compensation():
    model = fa.Model(fa.load("rigid-two-link"))
    quintic = fa.Quintic((0.1, 0.2), (0.5, 0.9), 1.0)
    compensated = TipCompensated(quintic, model)
    for t in (0.0, 0.3, 0.9):
        for a, b in zip(reference_motion(quintic, t), reference_motion(compensated, t), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)
    assert quintic.described() in compensated.described()
    assert compensated.jumps().tolist() == fa.trajectory.jumps_of(quintic).tolist()


def test_compensation_is_refused_where_it_makes_no_sense():
    with pytest.raises(fa.DescriptionError, match="axes is 'xyz'; it must have one axis per joint, 2"):
        TipCompensated(fa.Quintic((0, 0), (1, 1), 1.0), fa.Model(fa.load("rigid-two-link")), axes="xyz")
    with pytest.raises(fa.DescriptionError, match="has a telescope"):
        TipCompensated(fa.Quintic((0, 0, 0.3), (1, 1, 1), 1.0), fa.Model(fa.load("theodore-ghosal")), axes="xyz")
    with pytest.raises(fa.DescriptionError, match="moves 1 joint; the arm has 2"):
        TipCompensated(fa.Quintic((0,), (1,), 1.0), fa.Model(fa.load("rigid-two-link"))).expression(0.0)
