"""Relative equilibria and the modes about them: rotors, turning bases and follower forces, against closed forms."""

import numpy as np
import pytest

import flexarm as fa
from flexarm.analysis import equilibrium, poles, steady_modes

L, MASS, EI = 3.0, 6.0, 50.0
UNIT = np.sqrt(EI / (MASS * L**3))  # rad/s


def blade(joint=None, hub=0.0, **more):
    """A blade of 3 m on a hub, with its root at a distance from the axis."""
    body = fa.Beam(length=L, mass=MASS, EI=EI, segments=2, **({"modes": {"y": 2, "z": 3}} | more))
    placement = fa.Pose(xyz=(hub, 0.0, 0.0))
    hinge = fa.Link(name="hub", joint=joint or fa.Revolute(), body=fa.Frame(length=0.0))
    return [hinge, fa.Link(name="blade", joint=fa.Fixed(), body=body, placement=placement)]


def rotor(**more):
    return fa.Arm(name="rotor", links=blade(**more))


@pytest.fixture(scope="module")
def turning():
    return fa.Model(rotor())


def test_a_rotor_on_its_joint_is_the_rotor_on_a_turning_base(turning):
    """The frequencies are also the poles of the linear model on the base, and the published ones of a spin of 4."""
    spin = 4 * UNIT
    found = steady_modes(turning, qd=[spin])
    based = fa.Model(rotor(joint=fa.Fixed()).replace(base=fa.MovingBase()))
    other = steady_modes(based, w={"base.wz": spin})
    np.testing.assert_allclose(found.frequency, other.frequency, rtol=1e-9)
    linear = poles(based.linearize(np.array(based.arm.rest), w={"base.wz": spin}))
    np.testing.assert_allclose(np.sort(linear.imag[linear.imag > 0]), other.frequency, rtol=1e-7)
    flap, lag = 5.5850, np.sqrt(5.5850**2 - 16.0)  # Wright et al. 1982; the lag is slower by the spin
    np.testing.assert_allclose(found.frequency[:2] / UNIT, [lag, flap], rtol=2e-3)
    np.testing.assert_allclose(found.damping_ratio, 0.0, atol=1e-9)


def test_at_rest_they_are_the_natural_modes(turning):
    found, (omega, phi) = steady_modes(turning), turning.modes(turning.arm.rest, locked=True)
    np.testing.assert_allclose(found.frequency, omega, rtol=1e-9)
    for mine, its in zip(found.shape.values, phi.T, strict=True):
        np.testing.assert_allclose(mine, its / its[np.abs(its).argmax()], atol=1e-7)


def test_the_shapes_solve_the_equations_of_small_motions():
    """By finite differences of the inverse dynamics: a shape times exp(s t) needs no force but that of the drive."""
    model = fa.Model(rotor(hub=0.4, modes={"y": 2, "axial": 1}, EA=1e3, tau=0.01))
    spin = 3 * UNIT
    found = steady_modes(model, qd=[spin])
    assert np.abs(found.q[1:]).max() > 0.01 and found.damping_ratio.min() > 0.0
    q, h = found.q.values, 1e-5
    rates = np.zeros_like(q)
    rates[0] = spin

    def force(z, zd, zdd):
        return np.array(model.fixed("inverse_dynamics")(q + z, rates + zd, zdd)).ravel()[1:]

    np.testing.assert_allclose(force(0 * q, 0 * q, 0 * q), 0.0, atol=1e-9)
    for mode in (0, 2):
        s, shape = found.pole.values[mode], found["shape"].values[mode]
        total = 0j
        for part, unit in ((shape.real, 1.0), (shape.imag, 1j)):
            for z, factor in ((0, 1.0), (1, s), (2, s**2)):
                moved = [h * part if i == z else 0 * part for i in range(3)]
                total = total + unit * factor * (force(*moved) - force(*(-x for x in moved))) / (2 * h)
        scale = np.abs(s**2 * model.mass_matrix(q)[1:] @ shape).max()
        assert np.abs(total).max() < 1e-6 * scale


def test_a_blade_sags_less_when_it_turns():
    """Under gravity along the axis. The drive needs no torque, and the deflection is that of a long run's mean."""
    model = fa.Model(rotor(modes={"z": 2}, damping=0.3).replace(gravity=(0.0, 0.0, -2.0)))
    still, _ = equilibrium(model, [0.0])
    q, u = equilibrium(model, [0.0], qd=[5 * UNIT])
    sag = [model.deflections(x)[1, 2] for x in (still, q)]
    assert sag[0] < 2.5 * sag[1] < 0.0
    np.testing.assert_allclose(u, 0.0, atol=1e-9)
    rates = np.where(np.arange(len(q)) == 0, 5 * UNIT, 0.0)
    result = fa.simulate(model, 2.0, u=u, q0=q, qd0=rates, progress=False)
    np.testing.assert_allclose(result.q.values[-1, 1:], q[1:], atol=1e-7)


def test_a_drive_holds_the_rate_against_drag():
    """Also through a spring, which winds up; and the motor turns with its joint."""
    joint = fa.Revolute(stiffness=20.0, rotor_inertia=0.02, gear_ratio=2.0, rotor="absolute", damping=0.3)
    model = fa.Model(rotor(joint=joint, modes={"y": 1}))
    q, u = equilibrium(model, [0.2], qd=[1.5])
    rates = np.zeros(len(q))
    rates[0] = rates[-1] = 1.5
    np.testing.assert_allclose(u, 0.3 * 1.5, rtol=1e-9)
    np.testing.assert_allclose(model.forward_dynamics(q, rates, u), 0.0, atol=1e-9)


def test_whirl_of_a_shaft_with_internal_damping_begins_at_its_critical_speed():
    """Kimball 1924: beyond sqrt(3 EI / m L^3) the damping of the shaft itself feeds the whirl."""
    shaft = fa.Beam(length=L, mass=1e-6, EI=EI, modes={"y": 2, "z": 2}, shapes="polynomial", tau=0.05)
    link = fa.Link(name="shaft", joint=fa.Revolute(axis=(1, 0, 0)), body=shaft)
    model = fa.Model(fa.Arm(name="shaft", links=[link], payload=fa.Payload(mass=MASS)))
    critical = np.sqrt(3.0) * UNIT
    ratio = [steady_modes(model, qd=[x * critical]).damping_ratio.min() for x in (0.999, 1.001)]
    assert ratio[0] > 0.0 > ratio[1]


REFUSED = [
    ({"qd": [1.0, 2.0]}, r"equilibrium: qd has shape \(2,\); give 1 rate, one per joint"),
    ({"qd": "fast"}, "equilibrium: qd is not an array of numbers"),
    ({"q": [1.0, 2.0]}, "q has shape"),
    ({"w": [1.0]}, "w is given, but arm 'rotor' has"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_is_refused(turning, given, message):
    with pytest.raises(fa.DescriptionError, match=message) as caught:
        steady_modes(turning, **given)
    assert "\n" not in str(caught.value)


def test_a_motion_that_is_not_steady_is_refused(turning):
    hung = fa.Model(rotor(modes={"y": 1}).replace(gravity=(0.0, -9.81, 0.0)))
    with pytest.raises(fa.DescriptionError, match="qd is no steady motion of arm 'rotor': its forces change as"):
        equilibrium(hung, [0.0], qd=[1.0])
    elbow = rotor(modes={"y": 1})
    hand = fa.Link(name="hand", joint=fa.Revolute(), body=fa.Rigid(length=0.7, mass=2.0))
    bent = fa.Model(elbow.replace(links=[*elbow.links, hand]))
    with pytest.raises(fa.DescriptionError, match=r"no steady motion of arm 'rotor': its (inertia|forces) change"):
        equilibrium(bent, [0.0, 0.5], qd=[0.0, 1.0])
    equilibrium(bent, [0.0, 0.5], qd=[1.0, 0.0])


def test_arms_that_have_no_relative_equilibrium_here():
    free = fa.Model(rotor(modes={"y": 1}).replace(base=fa.FreeBase(mass=9.0, inertia=2.0)))
    with pytest.raises(fa.DescriptionError, match=r"has a free base; use model.linearize"):
        steady_modes(free)
    with pytest.raises(fa.DescriptionError, match=r"qd is given, but the base of arm .* is free"):
        equilibrium(free, free.arm.rest, qd=np.ones(len(free.arm.joints)))
    ends = [fa.Closure(name="end", link="blade", to="base")]
    closed = fa.Model(rotor(modes={"y": 1}).replace(closures=ends))
    with pytest.raises(fa.DescriptionError, match="steady_modes does not support closures yet"):
        steady_modes(closed, q=[0.0, 0.0])
    motor = {"input": "voltage", "torque_constant": 0.05, "resistance": 0.5, "inductance": 1e-3}
    joint = fa.Revolute(drive=fa.Drive(motor=motor), rotor_inertia=0.1, gear_ratio=10.0)
    wound = fa.Model(rotor(joint=joint, modes={"y": 1}))
    with pytest.raises(fa.DescriptionError, match=r"arm 'rotor' has states; use model.linearize"):
        steady_modes(wound)
    with pytest.raises(fa.DescriptionError, match="qd is given, but drives of arm 'rotor' have states"):
        equilibrium(wound, [0.0], qd=[1.0])
