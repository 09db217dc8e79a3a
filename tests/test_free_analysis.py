"""Arms on a free base: modes, equilibria, linear models, zeros, the generalised Jacobian, reaction null motion."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh, expm

import flexarm as fa
from flexarm import analysis, attitude, quaternions
from flexarm.errors import DescriptionError, FlexarmError

TOLERANCE = 1e-9
"""Of identities whose two sides are computed in different ways, relative to their size."""


def beam(length: float, mass: float, EI: float = 250.0, modes: int = 1) -> fa.Beam:
    return fa.Beam(length=length, mass=mass, EI=EI, GJ=120.0, polar_inertia=0.05, modes={"y": modes, "z": modes})


def links(flexible: bool = True, count: int = 2) -> list[fa.Link]:
    axes = [(0, 0, 1), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    bodies = [beam(1.2, 4.0) if flexible and i == 0 else fa.Rigid(length=0.8, mass=3.0, com=(0.4, 0, 0), inertia=0.3)
              for i in range(count)]  # fmt: skip
    first = fa.Pose(xyz=(0.4, 0.1, -0.05), rpy=(0.1, 0.2, -0.3))
    return [
        fa.Link(name=f"l{i}", joint=fa.Revolute(axis=axes[i]), body=body, placement=fa.Pose() if i else first)
        for i, body in enumerate(bodies)
    ]


def base(mass: float = 60.0, **more) -> fa.FreeBase:
    inertia = [[8.0, 0.3, -0.2], [0.3, 7.0, 0.4], [-0.2, 0.4, 9.0]]
    return fa.FreeBase(mass=mass, com=(0.05, -0.03, 0.02), inertia=(mass / 60.0 * np.array(inertia)).tolist(), **more)


@cache
def satellite(flexible: bool = True, count: int = 2, mass: float | None = 60.0, gravity: tuple = (0, 0, 0)) -> fa.Model:
    on = None if mass is None else base(mass)
    return fa.Model(fa.Arm(name="satellite", links=links(flexible, count), base=on, gravity=gravity))


def somewhere(model: fa.Model, seed: int = 0, bent: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """A configuration, the base anywhere, and rates."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.0, 1.0, model.nv)
    x[list(model.arm.flexible)] *= bent
    return attitude.configuration(model.arm, x), rng.uniform(-1.0, 1.0, model.nv)


# -- modes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("gravity", [(0, 0, 0), (1.0, -2.0, -9.0)])
def test_an_arm_in_space_has_six_frequencies_of_exactly_zero_and_modes_of_its_pencil(locked, gravity):
    model = satellite(gravity=gravity)
    q, _ = somewhere(model)
    omega, phi = model.modes(q, locked=locked)
    zeros = 6 if locked else 8
    assert (omega[:6] == 0.0).all()
    assert np.abs(omega[6:zeros]).max(initial=0.0) < 1e-5
    assert (omega[zeros:] > 1.0).all()
    M, K = model.mass_matrix(q), np.array(model.slope("stiffness_force", "q")(q))
    assert np.abs(phi.T @ M @ phi - np.eye(len(omega))).max() < TOLERANCE
    assert np.abs(phi.T @ K @ phi - np.diag(omega**2)).max() < TOLERANCE * omega.max() ** 2
    keep = [i for i in range(model.nv) if not locked or i not in model.arm.joints]
    whole = eigh(K[np.ix_(keep, keep)], M[np.ix_(keep, keep)], eigvals_only=True)
    assert np.abs(np.sqrt(np.abs(whole[zeros:])) - omega[zeros:]).max() < 1e-6 * omega.max()


def test_modes_do_not_depend_on_the_attitude_and_those_of_a_heavy_base_are_those_of_a_fixed_one():
    model, heavy, fixed = satellite(), satellite(mass=1e9), satellite(mass=None)
    q, _ = somewhere(model)
    turned = attitude.configuration(model.arm, np.r_[3.0, 1.0, -2.0, 0.4, -2.0, 1.0, q[7:]])
    assert np.abs(model.frequencies(q) - model.frequencies(turned)).max() < 1e-8 * model.frequencies(q).max()
    there = np.r_[heavy.arm.rest[:7], q[7:]]
    assert np.allclose(heavy.frequencies(there)[6:], fixed.frequencies(q[7:]), rtol=1e-6)
    assert (model.frequencies(q)[6:] > fixed.frequencies(q[7:])).all()  # a mass that gives way makes them faster


def test_a_mode_table_names_a_free_bases_shift_and_turn():
    model = satellite()
    table = analysis.mode_table(model, np.array(model.arm.rest))
    assert list(table.coordinate.values[:6]) == list(attitude.LOCAL)
    assert (table.frequency.values[:6] == 0.0).all()
    assert not table.controllable.values[:6].any()  # joints give no momentum
    assert np.allclose((table.controllability.values**2).sum(axis=0), 1.0)


# -- where it stands ---------------------------------------------------------------------------------------------------


def test_an_equilibrium_in_space_is_at_any_attitude():
    model = satellite()
    q, _ = somewhere(model, bent=0.0)
    found, u = analysis.equilibrium(model, q)
    assert np.abs(found - q).max() < 1e-12
    assert np.abs(u).max() == 0.0
    assert np.abs(analysis.configuration(model, [0.3, -0.2]) - np.r_[0, 0, 0, 1, 0, 0, 0, 0.3, -0.2, 0, 0]).max() == 0.0


def test_a_quaternion_that_is_none_is_refused():
    model = satellite()
    for call in (analysis.configuration, analysis.equilibrium, analysis.generalized_jacobian):
        with pytest.raises(DescriptionError, match=r"base.qw, .* has length 0; it must be 1"):
            call(model, np.zeros(model.nq))


@pytest.mark.parametrize("held", ["drives", "joints"])
def test_in_gravity_a_free_base_stands_nowhere_without_thrust(held):
    with pytest.raises(FlexarmError, match="nothing balances the load on its free base"):
        analysis.equilibrium(satellite(gravity=(0, 0, -9.81)), [0.1, 0.2], held=held)


def test_thrusters_carry_what_they_can_and_the_arm_sags_as_on_a_fixed_base():
    down = (0.0, 0.0, -2.0)
    push = [fa.Thruster(name=f"f{k}", direction=d) for k, d in zip("xyz", np.eye(3).tolist(), strict=True)]
    push += [
        fa.Thruster(name=f"t{k}", direction=d, kind="torque") for k, d in zip("xyz", np.eye(3).tolist(), strict=True)
    ]
    hovering = fa.Model(fa.Arm(name="hover", links=links(), base=base(thrusters=push), gravity=down))
    standing = satellite(mass=None, gravity=down)
    q, u = analysis.equilibrium(hovering, [0.1, 0.2])
    fixed, torques = analysis.equilibrium(standing, [0.1, 0.2])
    assert np.abs(q[7:] - fixed).max() < 1e-9
    assert np.abs(u[:2] - torques).max() < 1e-9
    assert np.abs(u[2:5] - [0.0, 0.0, 2.0 * (60.0 + 4.0 + 3.0)]).max() < 1e-9
    assert np.abs(hovering.forward_dynamics(q, np.zeros(hovering.nv), u)).max() < 1e-8


# -- linear models -----------------------------------------------------------------------------------------------------


def test_the_linear_model_of_a_moving_base_is_the_slope_of_its_motion_in_local_coordinates():
    model = satellite()
    q, qd = somewhere(model)
    u, n = np.array([0.7, -1.1]), model.nv
    system = model.linearize(q, qd, u)
    assert system.state_labels[:6] == [name.replace(".", "_") for name in attitude.LOCAL]
    start = np.concatenate([np.zeros(n), qd])

    def ahead(state: np.ndarray, dt: float) -> np.ndarray:
        """The state a short time later, about where the undisturbed motion is then: by the flow itself."""
        x, v = attitude.configuration(model.arm, attitude.local(model.arm, q, q) + state[:n], q), state[n:]
        run = fa.simulate(
            model,
            dt,
            lambda t, q, qd: u,
            q0=x,
            qd0=v,
            samples=2,
            progress=False,
            solver=fa.Solver(rtol=1e-12, atol=1e-14),
        )
        return np.concatenate([run.q.values[-1], run.qd.values[-1]])

    dt, eps = 2e-3, 1e-4
    undisturbed = ahead(start, dt)
    for k in (3, 4, 6, 9, n + 1, n + 4, n + 7):
        moved = [ahead(start + sign * eps * np.eye(2 * n)[k], dt) for sign in (1, -1)]
        out = [
            np.concatenate([attitude.local(model.arm, y[: model.nq], undisturbed[: model.nq]), y[model.nq :]])
            for y in moved
        ]
        slope = (out[0] - out[1]) / (2 * eps)
        # over a short time A hardly changes along the motion: that is of second order in dt
        linear = expm(np.asarray(system.A) * dt)[:, k]
        assert np.abs(slope - linear).max() < 2e-3 * max(1.0, np.abs(linear).max()), k


def test_zeros_from_a_joints_torque_to_its_angle_are_the_modes_with_the_joint_held():
    model = satellite(count=1)
    q = np.array(model.arm.rest)
    found = analysis.zeros(model.linearize(q, np.zeros(model.nv), np.zeros(1)), "l0_joint", "u_l0_joint")
    held = model.frequencies(q)[6:]
    bending = np.sort(found.imag[found.imag > 1e-3])
    assert np.allclose(bending[: len(held)], held, rtol=1e-6)


# -- along a trajectory ------------------------------------------------------------------------------------------------


def test_frozen_eigenvalues_of_a_satellite_at_rest_are_its_modes_with_the_drives_held():
    model = satellite()
    q = np.array(model.arm.rest)[None]
    found = analysis.frozen_eigenvalues(model, q, np.zeros((1, model.nv)), qdd=np.zeros((1, model.nv)))[0]
    omega = model.frequencies(q[0])[6:]
    assert np.allclose(np.sort(found.imag)[-len(omega) :], omega, rtol=1e-6)
    with pytest.raises(DescriptionError, match="is free, and moves with the drives"):
        analysis.flexible_equations(model, straight=True)


def test_flexible_equations_about_a_moving_base_are_the_slopes_of_its_inverse_dynamics():
    model = satellite()
    arm, n = model.arm, model.nv
    q0, v0 = somewhere(model)
    a0, (z, zd, zdd) = np.random.default_rng(5).uniform(-1, 1, n), np.random.default_rng(6).uniform(-1, 1, (3, n))
    driven = list(arm.actuated)
    for x in (z, zd, zdd):
        x[driven] = 0.0
    M, C, K, _ = (
        x[0] for x in analysis.equations_along(analysis.flexible_equations(model), q0[None], v0[None], a0[None])
    )
    free = [i for i in range(n) if i not in driven]
    expected = M @ zdd[free] + C @ zd[free] + K @ z[free]

    def pose(t: float) -> np.ndarray:
        """A motion through q0 with twist v0 and its rate a0, to third order in t."""
        w, alpha = v0[3:6], a0[3:6]
        turned = w * t + alpha * t**2 / 2 + np.cross(w, alpha) * t**3 / 12
        R0 = quaternions.rotation(q0[3:7])
        v, a = v0[:3], a0[:3] + np.cross(w, v0[:3])
        x = np.r_[q0[:3] + R0 @ (v * t + a * t**2 / 2), quaternions.product(q0[3:7], quaternions.quaternion(turned))]
        return np.r_[x, q0[7:] + v0[6:] * t + a0[6:] * t**2 / 2]

    def residual(eps: float) -> np.ndarray:
        """What inverse dynamics asks for on a motion disturbed by eps (z + zd t + zdd t^2 / 2)."""
        h = 1e-3

        def at(t: float) -> np.ndarray:
            return attitude.configuration(
                arm, attitude.local(arm, pose(t), pose(t)) + eps * (z + zd * t + zdd * t**2 / 2), pose(t)
            )

        def rate(t: float) -> np.ndarray:
            """(v, w) and the other rates, from differences of configurations about the one in the middle."""
            x = [attitude.local(arm, at(t + s * h), at(t)) for s in (-2, -1, 1, 2)]
            return (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)

        v = rate(0.0)
        acceleration = (rate(-2 * h) - 8 * rate(-h) + 8 * rate(h) - rate(2 * h)) / (12 * h)
        return model.inverse_dynamics(at(0.0), v, acceleration)

    eps = 1e-4
    found = (residual(eps) - residual(-eps))[free] / (2 * eps)
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_the_energy_of_vibration_changes_as_its_rate_says_on_a_free_base():
    model = satellite()
    run = fa.simulate(
        model, 0.5, lambda t, q, qd: [3.0, -2.0], samples=2001, progress=False, solver=fa.Solver(rtol=1e-10, atol=1e-12)
    )
    u = np.tile([3.0, -2.0], (2001, 1))
    found = analysis.lyapunov_rate(model, run.q.values, run.qd.values, u)
    slope = np.gradient(found.value, run.time.values)
    assert np.abs(slope - found.rate)[5:-5].max() < 1e-3 * np.abs(found.rate).max()


def test_convergence_of_a_satellite_holds_the_base_for_the_compliance_alone():
    free, fixed = satellite().arm, satellite(mass=None).arm
    few, same = analysis.convergence(free), analysis.convergence(fixed)
    assert few.compliance == pytest.approx(same.compliance, rel=1e-9)
    assert (few.locked[:6] == 0.0).all()
    assert few.locked[6] > same.locked[0]
    assert not few.sag.any()
    falling = analysis.convergence(satellite(gravity=(0, 0, -9.81)).arm)
    assert not falling.sag.any()
    assert "sag" not in str(falling)


# -- the generalised Jacobian ------------------------------------------------------------------------------------------


def test_the_tips_jacobian_is_the_slope_of_its_pose():
    model = satellite(count=3)
    q, qd = somewhere(model)
    h = 1e-6
    places = [
        model.tip(attitude.configuration(model.arm, attitude.local(model.arm, q, q) + s * h * qd, q)) for s in (-1, 1)
    ]
    rate = (places[1] - places[0]) / (2 * h)
    spin = rate[:3, :3] @ model.tip(q)[:3, :3].T
    found = analysis.tip_jacobian(model, q) @ qd
    assert np.abs(found - np.r_[rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]).max() < 1e-8
    fixed = satellite(count=3, mass=None)
    assert analysis.tip_jacobian(fixed, q[7:]).shape == (6, fixed.nv)


def test_joint_rates_with_the_bases_leave_no_momentum_and_move_the_tip_by_the_generalised_jacobian():
    model = satellite(flexible=False, count=6)
    q, _ = somewhere(model, 3)
    rates = np.random.default_rng(1).uniform(-1, 1, 6)
    qd = np.r_[analysis.base_rates(model, q) @ rates, rates]
    assert np.abs(model.momentum(q, qd)).max() < 1e-10
    found = analysis.generalized_jacobian(model, q) @ rates
    assert np.abs(found - analysis.tip_jacobian(model, q) @ qd).max() < 1e-12
    fixed, heavy = satellite(flexible=False, count=6, mass=None), satellite(flexible=False, count=6, mass=1e10)
    usual = analysis.generalized_jacobian(fixed, q[7:])
    at_rest = np.r_[heavy.arm.rest[:7], q[7:]]
    # links of 18 kg that reach 5 m beside a base of 1.5e9 kg m^2: shares of 3e-7
    assert np.abs(analysis.generalized_jacobian(heavy, at_rest) - usual).max() < 1e-6
    with pytest.raises(DescriptionError, match="is fixed; base_rates needs a free base"):
        analysis.base_rates(fixed, q[7:])


def test_the_turn_of_a_base_with_one_link_is_that_of_the_closed_form():
    # a hinge at the bus's centre of mass: h = I0 w + (I1 + mu c^2) (w + rate) = 0, mu = m0 m1 / (m0 + m1)
    m0, I0, m1, c, I1, length = 50.0, 6.0, 8.0, 0.7, 0.9, 1.5
    body = fa.Rigid(length=length, mass=m1, com=(c, 0, 0), inertia=[0.1, I1, I1])
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0, 0, 1)), body=body)
    model = fa.Model(fa.Arm(name="one", links=[link], base=fa.FreeBase(mass=m0, inertia=I0)))
    mu = m0 * m1 / (m0 + m1)
    share = (I1 + mu * c**2) / (I0 + I1 + mu * c**2)
    q = np.array([0, 0, 0, 1.0, 0, 0, 0, 0.4])
    rates = analysis.base_rates(model, q)[:, 0]
    assert rates[5] == pytest.approx(-share, rel=1e-12)
    along = np.array([np.cos(0.4), np.sin(0.4)])
    # the tip turns with 1 - share about the common centre of mass, from which it lies at length - c m1 / (m0 + m1)
    v = analysis.generalized_jacobian(model, q)[:2, 0]
    turned = np.array([-along[1], along[0]])
    assert v == pytest.approx((1 - share) * (length - c * m1 / (m0 + m1)) * turned, rel=1e-10)


def test_reaction_null_motion_does_not_turn_the_base():
    model = satellite(flexible=False, count=6)
    q, _ = somewhere(model, 4)
    null = analysis.reaction_null(model, q)
    assert null.shape == (6, 3)
    assert np.abs(null.T @ null - np.eye(3)).max() < 1e-12
    turns = analysis.base_rates(model, q)[3:]
    assert np.abs(turns @ null).max() < 1e-10 * np.abs(turns).max()
    some = analysis.reaction_null(model, q, ["l0", "l1", "l2", "l4"])
    assert some.shape == (6, 1)
    assert not some[[3, 5]].any()
    assert np.abs(turns @ some).max() < 1e-10 * np.abs(turns).max()
    assert analysis.reaction_null(model, q, ["l0", "l1"]).shape == (6, 0)
    assert analysis.reaction_null(model, q, []).shape == (6, 0)
    with pytest.raises(DescriptionError, match=r"links has 'elbow'; links whose joints move are l0, l1"):
        analysis.reaction_null(model, q, ["elbow"])


def test_wheels_among_the_links_take_up_what_the_arm_gives():
    wheels = [fa.reaction_wheel(f"w{k}", d, 0.05, mass=1.0) for k, d in zip("xyz", np.eye(3).tolist(), strict=True)]
    model = fa.Model(fa.Arm(name="wheeled", links=[*links(flexible=False), *wheels], base=base(), tip="l1"))
    q = np.r_[model.arm.rest[:7], 0.3, -0.4, 0, 0, 0]
    null = analysis.reaction_null(model, q)
    assert null.shape == (5, 2)
    qd = np.r_[analysis.base_rates(model, q) @ null[:, 0], null[:, 0]]
    assert np.abs(qd[3:6]).max() < 1e-12
    assert np.abs(model.momentum(q, qd)).max() < 1e-12
    assert np.abs(null[:2]).max() > 1e-3


# -- a line without reaction -------------------------------------------------------------------------------------------

BEGIN, WAY = (0.2, 0.7, -0.5, 0.4, -0.9, 0.3), (-0.25, 0.2, 0.1)


def test_a_line_without_reaction_moves_the_tip_along_it_and_does_not_turn_the_base():
    model = satellite(flexible=False, count=6)
    line = analysis.ReactionlessLine(model, BEGIN, WAY, 3.0)
    assert line.missed < 1e-7
    found = fa.simulate(
        model, 3.5, fa.PrescribedMotion(line), samples=71, progress=False, solver=fa.Solver(rtol=1e-10, atol=1e-12)
    )
    turns = np.abs(attitude.local(model.arm, found.q.values)[:, 3:6]).max()
    assert turns < 1e-6
    tip = found.tip.values - found.tip.values[0]
    along = tip @ WAY / np.dot(WAY, WAY)
    assert np.abs(tip - along[:, None] * WAY).max() < 1e-6
    assert along[-1] == pytest.approx(1.0, abs=1e-6)
    # the same end along straight lines of the joints turns the base
    ends = [np.array([fa.trajectory.reference_motion(line, t)[0] for t in (0.0, 3.0)])[i].tolist() for i in (0, 1)]
    plain = fa.simulate(model, 3.5, fa.PrescribedMotion(fa.Quintic(*ends, 3.0)), samples=71, progress=False)
    assert np.abs(attitude.local(model.arm, plain.q.values)[:, 3:6]).max() > 1e3 * turns


def test_with_fewer_joints_the_tip_goes_as_far_as_it_can():
    model = satellite(flexible=False, count=6)
    line = analysis.ReactionlessLine(model, BEGIN, (-0.05, 0.04, 0.02), 3.0, links=["l0", "l1", "l2", "l4"])
    assert 0.0 < line.missed < np.linalg.norm([0.05, 0.04, 0.02])
    found = fa.simulate(model, 3.0, fa.PrescribedMotion(line), samples=31, progress=False)
    assert np.abs(attitude.local(model.arm, found.q.values)[:, 3:6]).max() < 1e-6
    assert np.abs(found.q.values[:, [10, 12]] - np.array(BEGIN)[[3, 5]]).max() < 1e-9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"joints": BEGIN[:3]}, "ReactionlessLine: joints has 3 numbers; it must have 6"),
        ({"duration": 0.0}, "ReactionlessLine: duration is 0.0 s; it must be positive"),
        ({"way": (1.0, 2.0)}, "ReactionlessLine: way has 2 numbers; it must have 3"),
        ({"links": ["l0", "l1"]}, "every motion of the joints turns the base"),
        ({"way": (9.0, 0.0, 0.0)}, "on the line the joints would be too fast near a singular configuration"),
        ({"model": satellite(flexible=False, count=6, mass=None)}, "the base of arm 'satellite' is fixed"),
    ],
)
def test_lines_that_cannot_be_are_refused_in_one_line(given, message):
    whole = {"model": satellite(flexible=False, count=6), "joints": BEGIN, "way": WAY, "duration": 3.0} | given
    with pytest.raises(DescriptionError, match=message) as refusal:
        analysis.ReactionlessLine(**whole)
    assert "\n" not in str(refusal.value)
