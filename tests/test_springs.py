"""Springs that harden or yield, end stops, springs beside an actuator: against closed forms and other integrators."""

import numpy as np
import oracle
import pytest
from random_arms import random_arm, random_state
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import flexarm as fa
from flexarm.simulation.crossings import crossings

J_MOTOR, J_LINK = 0.5, 2.0
REDUCED = J_MOTOR * J_LINK / (J_MOTOR + J_LINK)


def two_inertias(drive=None, **joint):
    """A motor and a link that turn about one axis, with a spring between them and nothing else."""
    body = fa.Rigid(length=0.0, mass=1.0, com=(0, 0, 0), inertia=(1.0, 1.0, J_LINK))
    return fa.Arm(name="two", links=[fa.Link(name="a", joint=turning(drive, **joint), body=body)])


def turning(drive=None, **joint):
    return fa.Revolute(rotor_inertia=J_MOTOR, drive=drive, **joint)


def slider(drive, mass=1.5):
    """A mass on a rail."""
    return fa.Arm(
        name="mass",
        links=[
            fa.Link(
                name="a",
                joint=fa.Prismatic(axis=(1, 0, 0), drive=drive),
                body=fa.Rigid(length=0.0, mass=mass, com=(0, 0, 0), inertia=0.1),
            )
        ],
    )


def run(arm, until, **given):
    given = {"u": np.zeros(len(arm.inputs)), "progress": False, "rtol": 1e-10, "solver": fa.Solver(atol=1e-12), **given}
    return fa.simulate(fa.Model(arm), until, **given)


# -- the spring --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cubic", [300.0, -20.0])
def test_a_duffing_spring_swings_with_the_period_of_the_elliptic_integral(cubic):
    """phi'' = -(k phi + k3 phi^3) / J from A: T = 4 K(m) / w, w^2 = (k + k3 A^2) / J, m = k3 A^2 / (2 J w^2)."""
    k, A = 100.0, 0.7
    w2 = (k + cubic * A**2) / REDUCED
    period = 4 * ellipk(cubic * A**2 / (2 * REDUCED * w2)) / np.sqrt(w2)
    arm = two_inertias(fa.Drive(spring=fa.Spring(stiffness=k, cubic=cubic)))
    start = np.array([-A, A]) * REDUCED / np.array([J_LINK, J_MOTOR])
    result = run(arm, 5 * period, q0=start, samples=41)
    assert np.allclose(result.q.values[::8], start, atol=1e-9)
    assert np.allclose(result.q.values[4::8], -start, atol=1e-9)
    assert result.energy_drift < 1e-8


def test_a_spring_of_the_drive_stands_beside_the_joints_own():
    spring = fa.Drive(spring=fa.Spring(stiffness=40.0, damping=0.3))
    alone = fa.Model(two_inertias(stiffness=100.0, spring_damping=0.9))
    both = fa.Model(two_inertias(spring, stiffness=60.0, spring_damping=0.6))
    q, qd, u = np.array([0.2, -0.5]), np.array([0.7, 0.3]), np.array([1.1])
    assert np.allclose(both.forward_dynamics(q, qd, u), alone.forward_dynamics(q, qd, u), rtol=1e-13)
    assert np.allclose(both.stiffness_force(q), alone.stiffness_force(q), rtol=1e-13)
    assert np.allclose(both.damping_force(q, qd), alone.damping_force(q, qd), rtol=1e-13)
    assert np.allclose(both.frequencies(q, locked=False), alone.frequencies(q, locked=False), atol=1e-6)


def test_a_table_of_a_cubic_springs_forces_becomes_that_spring_with_order_two():
    """Linear between n points: the force's error falls by four where n doubles."""
    k, k3, where = 50.0, 400.0, np.linspace(-0.999, 0.999, 4001)
    exact, errors = k * where + k3 * where**3, []
    for n in (10, 20, 40, 80):
        points = [(x, k * x + k3 * x**3) for x in np.linspace(-1, 1, n + 1)]
        model = fa.Model(two_inertias(fa.Drive(spring=fa.Spring(table=points))))
        force = model.stiffness_force(np.stack([0 * where, where], axis=1))
        assert np.allclose(force[:, 0], -force[:, 1])
        errors.append(np.abs(force[:, 1] - exact).max())
    assert np.allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.15)


def test_a_table_goes_on_beyond_its_ends_and_may_be_one_sided():
    """Slack to one side, then 20 N m/rad, then 80; the energy is the integral of the force, and zero unwound."""
    model = fa.Model(two_inertias(fa.Drive(spring=fa.Spring(table=[(-1.0, 0.0), (0.0, 0.0), (0.1, 2.0), (0.2, 10.0)]))))
    for wound, force, energy in ((-3.0, 0.0, 0.0), (0.05, 1.0, 0.025), (0.1, 2.0, 0.1), (0.4, 26.0, 0.1 + 0.6 + 3.6)):
        q = np.array([0.3, 0.3 + wound])
        assert np.allclose(model.stiffness_force(q), [-force, force], atol=1e-12)
        assert model.energy(q, np.zeros(2))[1] == pytest.approx(energy, abs=1e-12)


# -- hysteresis --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("exponent", "shape"), [(1.0, 0.5), (2.0, 0.5), (1.5, 0.8), (3.0, 1.0)])
def test_a_bouc_wen_spring_follows_an_independent_integration(exponent, shape):
    """Motion, elastic deflection, energy lost and energy held, written out once more with signs."""
    k, kh, Fh, d = 30.0, 200.0, 4.0, 0.2
    zy = Fh / kh

    def rate(t, x):
        phi, v, z, _ = x
        towards = 1.0 if v * z > 0 else -1.0
        dz = v * (1 - abs(z / zy) ** exponent * (shape * towards + 1 - shape))
        torque = k * phi + d * v + kh * z
        return [v, -torque / REDUCED, dz, d * v**2 + kh * z * (v - dz)]

    drive = fa.Drive(
        spring=fa.Spring(
            stiffness=k, damping=d, hysteresis=fa.Hysteresis(stiffness=kh, force=Fh, exponent=exponent, shape=shape)
        )
    )
    result = run(two_inertias(drive), 2.0, qd0=[-3.0 * REDUCED / J_LINK, 3.0 * REDUCED / J_MOTOR], samples=41)
    known = solve_ivp(
        rate, (0, 2), [0, 3, 0, 0], method="DOP853", rtol=1e-11, atol=1e-13, t_eval=result.time.values, max_step=2e-3
    ).y
    assert np.allclose(result.q.values[:, 1] - result.q.values[:, 0], known[0], atol=1e-7)
    assert list(result.state.values) == ["a.spring.hysteresis"]
    assert np.allclose(result.drive_state.values[:, 0], known[2], atol=1e-7)
    assert np.allclose(result.dissipated.values, known[3], atol=1e-5)
    held = 0.5 * k * known[0] ** 2 + 0.5 * kh * known[2] ** 2
    assert np.allclose(result.potential.values, held, atol=1e-6)
    assert (np.diff(result.dissipated.values) >= -1e-12).all()
    assert result.energy_drift < 1e-7


def test_a_bouc_wen_spring_yields_at_its_force():
    """exponent 1: F = F_h (1 - exp(-phi / z_y)) as it is wound for the first time; unloading goes back along a line."""
    kh, Fh = 200.0, 4.0
    model = fa.Model(two_inertias(fa.Drive(spring=fa.Spring(hysteresis=fa.Hysteresis(stiffness=kh, force=Fh)))))
    place = model.arm.states.index("a.spring.hysteresis")
    slope = [
        float(model.evaluate("state_rate", np.zeros(2), [0.0, v], [0.0], s=[z])[4 + place])
        for v, z in ((2.0, 0.0), (2.0, Fh / kh), (-2.0, Fh / kh))
    ]
    assert np.allclose(slope, [2.0, 0.0, -2.0], atol=1e-14)
    z = solve_ivp(
        lambda t, z: [model.evaluate("state_rate", np.zeros(2), [0.0, 1.0], [0.0], s=z)[4]],
        (0, 0.05),
        [0.0],
        rtol=1e-10,
        atol=1e-13,
    ).y[0, -1]
    assert kh * z == pytest.approx(Fh * (1 - np.exp(-0.05 * kh / Fh)), rel=1e-7)


# -- stiffness as an input ---------------------------------------------------------------------------------------------


def test_a_variable_stiffness_adds_and_what_it_supplies_is_in_the_account():
    """Held at w, it moves as a spring of k + w, and supplies -w phi phi': all of -w (phi^2 - phi_0^2) / 2."""
    w, start = 70.0, np.array([0.1, 0.5])
    arm = two_inertias(fa.Drive(spring=fa.Spring(stiffness=30.0, variable=True)))
    assert arm.exogenous == ("a.spring.stiffness",)
    result = run(arm, 1.3, q0=start, w=[w])
    known = run(two_inertias(stiffness=100.0), 1.3, q0=start)
    assert np.allclose(result.q, known.q, atol=1e-9)
    phi = result.q.values[:, 1] - result.q.values[:, 0]
    assert np.allclose(result.work, -0.5 * w * (phi**2 - phi[0] ** 2), atol=1e-8)
    assert result.energy_drift < 1e-8


def test_a_variable_stiffness_alone_is_none_where_nothing_is_said():
    model = fa.Model(two_inertias(fa.Drive(spring=fa.Spring(variable=True))))
    q, qd, u = np.array([0.1, 0.5]), np.zeros(2), np.zeros(1)
    assert np.allclose(model.forward_dynamics(q, qd, u), 0.0)
    assert np.allclose(model.forward_dynamics(q, qd, u, w=[10.0]), [4.0 / J_LINK, -4.0 / J_MOTOR])


# -- end stops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zeta", [0.0, 0.05, 0.3, 0.6, 0.9])
def test_a_stop_gives_back_what_a_spring_and_a_damper_do(zeta):
    """Schwager & Poschel 2007, eq. 19: contact ends as the force is zero; e depends on zeta alone."""
    m, k, v = 1.5, 2e4, 0.8
    w0 = np.sqrt(k / m)
    beta, w = zeta * w0, w0 * np.sqrt(1 - zeta**2)
    angle = np.arctan2(2 * beta * w, w**2 - beta**2)
    e = np.exp(-beta / w * (np.pi - angle))
    drive = fa.Drive(stops=fa.Stops(lower=-0.1, upper=0.2, stiffness=k, damping=2 * zeta * np.sqrt(k * m), sharp=True))
    result = run(slider(drive, m), 1.0, qd0=[v], samples=5001)
    speeds = np.abs(result.qd.values[:, 0])
    bounces = np.flatnonzero(np.diff(np.sign(result.qd.values[:, 0])))
    assert len(bounces) >= 1
    after = speeds[np.searchsorted(result.time.values, result.time.values[bounces[0]] + 0.05)]
    assert after == pytest.approx(e * v, rel=1e-7)
    assert result.energy_drift < 1e-8


def test_stops_never_pull():
    k, d = 1e4, 300.0
    model = fa.Model(slider(fa.Drive(stops=fa.Stops(lower=-1.0, upper=1.0, stiffness=k, damping=d))))
    for q, v, force in (
        (1.01, 0.0, -100.0),
        (1.01, 0.2, -160.0),
        (1.01, -0.2, -40.0),
        (1.01, -2.0, 0.0),
        (0.99, 5.0, 0.0),
        (-1.01, 2.0, 0.0),
        (-1.01, -0.2, 160.0),
    ):
        assert 1.5 * model.forward_dynamics([q], [v], [0.0])[0] == pytest.approx(force, abs=1e-9)


@pytest.mark.parametrize("q", [-1.02, -0.99, 0.98, 1.0, 1.02])
def test_within_its_transition_a_stop_acts_by_the_slope_of_its_deflection(q):
    """A force F of the deflection p acts as F dp/dq, and the rate of p is dp/dq v."""
    k, d, transition = 1e4, 80.0, 0.05
    stops = fa.Stops(lower=-1.0, upper=1.0, stiffness=k, damping=d, transition=transition)
    model, side = fa.Model(slider(fa.Drive(stops=stops))), np.sign(q)
    p, slope = smooth(side * q - 1.0, transition)
    assert 0.0 < slope < 1.0
    for v in (-3.0, -0.1, 0.0, 0.4):
        force = k * p + max(d * slope * side * v, -k * p)
        assert 1.5 * model.forward_dynamics([q], [v], [0.0])[0] == pytest.approx(-side * slope * force, rel=1e-10)


def test_stops_of_one_side_leave_the_other_open():
    model = fa.Model(slider(fa.Drive(stops=fa.Stops(lower=-1.0, stiffness=10.0))))
    assert model.stiffness_force([-1.5])[0] == pytest.approx(-5.0)
    assert model.stiffness_force([100.0])[0] == 0.0


# -- sharp contacts ----------------------------------------------------------------------------------------------------

POINTS = [(-0.8, -70.0), (-0.2, -9.0), (0.0, 0.0), (0.1, 2.0), (0.8, 60.0)]
ELASTIC = {
    "straight": (fa.Spring(stiffness=100.0), lambda p: 100.0 * p),
    "hardening": (fa.Spring(stiffness=10.0, cubic=4e3), lambda p: 10.0 * p + 4e3 * p**3),
    "table": (fa.Spring(table=POINTS), lambda p: np.interp(p, *np.transpose(POINTS))),
}
"""Springs between a motor and its joint, and their forces."""


def pressed(kind, damping):
    """A model with sharp sides: it, its sides from (q, qd), the force on each, and what a spring gives beyond a side.

    A side is (distance beyond it, rate of that distance), and forces come from accelerations.
    """
    if kind == "stops":
        stops = fa.Stops(lower=-0.1, upper=0.2, stiffness=400.0, damping=damping, sharp=True)
        sides = lambda q, qd: [(-0.1 - q[0], -qd[0]), (q[0] - 0.2, qd[0])]  # noqa: E731
        return (
            slider(fa.Drive(stops=stops)),
            sides,
            lambda qdd: 1.5 * qdd[0] * np.array([1.0, -1.0]),
            [lambda p: 400.0 * p] * 2,
        )
    spring, elastic = ELASTIC[kind]
    drive = fa.Drive(spring=spring.replace(damping=damping), backlash=fa.Backlash(width=0.1, sharp=True))

    def sides(q, qd):
        y, rate = q[1] - q[0], qd[1] - qd[0]
        return [(y - 0.05, rate), (-y - 0.05, -rate)]

    both = elastic, lambda p: -elastic(-p)
    return two_inertias(drive), sides, lambda qdd: J_LINK * qdd[0] * np.array([1.0, -1.0]), both


@pytest.mark.parametrize("damping", [0.0, 30.0])
@pytest.mark.parametrize("kind", [*ELASTIC, "stops"])
def test_a_run_stops_where_a_side_touches_and_where_the_force_on_it_ends(kind, damping):
    """A contact function for each: the distance beyond a side, and with a damper the force by hand, which may pull
    there; the force of the model never does."""
    arm, sides, forces, elastic = pressed(kind, damping)
    model, random = fa.Model(arm), np.random.default_rng(5)
    found, pushed, pulled = crossings(model), 0, 0
    for _ in range(60):
        q, qd = random.uniform(-0.25, 0.35, model.nq), random.uniform(-3.0, 3.0, model.nv)
        functions = np.array(found(q, qd)).ravel()
        acting = forces(np.array(model.function("forward_dynamics")(q, qd, np.zeros(1))).ravel())
        assert len(functions) == (4 if damping else 2)
        for i, (distance, rate) in enumerate(sides(q, qd)):
            assert functions[i] == pytest.approx(distance, rel=1e-12)
            if distance <= 0.0:
                assert acting[i] < 1e-12 and not (functions[2 + i :: 2] >= 0.0).any()
                continue
            force = elastic[i](distance) + damping * rate
            assert acting[i] == pytest.approx(max(force, 0.0), rel=1e-10, abs=1e-10)
            assert not damping or functions[2 + i] == pytest.approx(force, rel=1e-10)
            pushed, pulled = pushed + (force > 0.0), pulled + (force < 0.0)
    assert pushed > 10 and (pulled > 5) == bool(damping)


# -- beside an actuator ------------------------------------------------------------------------------------------------


def test_a_parallel_spring_is_between_the_links_and_damps():
    spring = fa.Parallel(stiffness=20.0, rest=0.3, damping=0.4)
    for joint in ({}, {"stiffness": 500.0}):
        model = fa.Model(two_inertias(fa.Drive(parallel=spring), **joint))
        n = len(model.coordinates)
        q, qd = np.linspace(0.8, 1.1, n), np.linspace(0.5, -0.2, n)
        plain = fa.Model(two_inertias(**joint))
        expected = np.zeros(n)
        expected[0] = 20.0 * 0.5 + 0.4 * 0.5
        assert np.allclose(model.inverse_dynamics(q, qd, 0 * q) - plain.inverse_dynamics(q, qd, 0 * q), expected)
        assert np.allclose(model.energy(q, qd)[1] - plain.energy(q, qd)[1], 10.0 * 0.25)


# -- everything together -----------------------------------------------------------------------------------------------

EVERYTHING = fa.Drive(
    friction=fa.Friction(coulomb=0.1, viscous=0.05, creep_rate=0.05),
    spring=fa.Spring(
        stiffness=30.0,
        cubic=200.0,
        table=[(-0.2, -3.0), (-0.05, -0.1), (0.1, 0.2), (0.3, 6.0)],
        damping=0.2,
        hysteresis=fa.Hysteresis(stiffness=60.0, force=1.5, exponent=2.0, shape=0.7),
        variable=True,
    ),
    backlash=fa.Backlash(width=0.04, transition=0.02),
    stops=fa.Stops(lower=-0.6, upper=0.4, stiffness=500.0, damping=3.0, transition=0.05),
    parallel=fa.Parallel(stiffness=8.0, rest=-0.2, damping=0.1),
)


def with_drives(seed, drive):
    """A random arm, all of whose joints are elastic, with this in each."""
    plain = random_arm(seed, elastic=True, damping=True)
    links = [link.replace(joint=link.joint.replace(drive=drive)) if link.joint.moves else link for link in plain.links]
    return plain, plain.replace(links=links)


def smooth(y, t):
    """The integral of x^2 (3 - 2 x), x = y / t + 1/2 between 0 and 1, by a fine sum; and that itself."""

    def slope(y):
        x = np.clip(y / t + 0.5, 0, 1)
        return 3 * x**2 - 2 * x**3

    fine, w = np.polynomial.legendre.leggauss(40)
    low, high = -t / 2, np.clip(y, -t / 2, t / 2)
    inside = np.sum(w * slope(low + (high - low) * (1 + fine) / 2)) * (high - low) / 2
    return inside + max(y - t / 2, 0.0), slope(y)


def by_hand(drive, linear, y, v, joint, rate, z, w):
    """Force along the stretch, force on the joint, and z': everything of a drive but its friction, in plain numbers."""
    above, below = smooth(y - drive.backlash.width / 2, 0.02), smooth(-y - drive.backlash.width / 2, 0.02)
    p, slope = above[0] - below[0], above[1] + below[1]
    xs, Fs = np.array(drive.spring.table).T
    if xs[0] <= p <= xs[-1]:
        table = np.interp(p, xs, Fs)
    else:
        i = 0 if p < xs[0] else -2
        table = Fs[i] + (p - xs[i]) * (Fs[i + 1] - Fs[i]) / (xs[i + 1] - xs[i])
    elastic = (linear[0] + drive.spring.stiffness) * p + drive.spring.cubic * p**3 + table
    drag = (linear[1] + drive.spring.damping) * slope * v
    drag = max(drag, min(-elastic, 0)) if elastic > 0 else min(drag, max(-elastic, 0))
    yielding = drive.spring.hysteresis
    ratio = abs(z) * yielding.stiffness / yielding.force
    towards = np.sign(slope * v * z)
    z_dot = slope * v * (1 - ratio**yielding.exponent * (yielding.shape * towards + 1 - yielding.shape))
    across = -slope * (elastic + drag + yielding.stiffness * z + w * p)
    over, under = smooth(joint - drive.stops.upper, 0.05), smooth(drive.stops.lower - joint, 0.05)
    push = -8.0 * (joint - drive.parallel.rest) - 0.1 * rate
    for (deep, steep), sign in ((over, 1), (under, -1)):
        push -= sign * steep * (500.0 * deep + max(3.0 * sign * steep * rate, -500.0 * deep))
    return across, push, z_dot


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_an_arm_with_everything_moves_as_lagranges_equations_and_forces_by_hand_say(seed):
    plain, arm = with_drives(seed, EVERYTHING.replace(friction=None))
    loose = plain.replace(
        links=[
            x.replace(joint=x.joint.replace(stiffness=1e-9, spring_damping=0.0)) if x.joint.moves else x
            for x in plain.links
        ]
    )
    model, lagrangian, n = fa.Model(arm), oracle.Lagrangian(loose), len(arm.coordinates)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        q, qd, u = random_state(arm, int(rng.integers(1000)))
        s, w = rng.uniform(-0.02, 0.02, len(arm.states)), rng.uniform(0, 30, len(arm.exogenous))
        force, z_dots = np.zeros(n), []
        for k, (joint, motor) in enumerate(arm.springs):
            link = arm.links[arm.layout[joint].link]
            given = (q[motor] - q[joint], qd[motor] - qd[joint], q[joint], qd[joint], s[k], w[k])
            across, push, z_dot = by_hand(EVERYTHING, (link.joint.stiffness, link.joint.spring_damping), *given)
            force[motor] += across
            force[joint] += push - across
            z_dots.append(z_dot)
        M = lagrangian.mass_matrix(q)
        expected = np.linalg.solve(M, lagrangian.B @ u + force - lagrangian.inverse_dynamics(q, qd, np.zeros(n)))
        found = model.evaluate("state_rate", q, qd, u, s=s, w=w)
        assert np.allclose(found[n : 2 * n], expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())
        assert np.allclose(found[2 * n : 2 * n + len(s)], z_dots, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sharp", [False, True])
def test_the_account_is_whole_with_everything_on(sharp):
    drive = EVERYTHING
    if sharp:
        stops = EVERYTHING.stops.replace(transition=None, sharp=True)
        drive = EVERYTHING.replace(backlash=fa.Backlash(width=0.04, sharp=True), stops=stops)
    arm = fa.Arm(
        name="all",
        gravity=(0, 0, -9.81),
        links=[
            fa.Link(
                name=name,
                joint=fa.Revolute(axis=(0, 1, 0), rotor_inertia=0.2, gear_ratio=2.0, stiffness=80.0, drive=drive),
                body=fa.Beam(length=0.6, mass=0.8, EI=20.0, modes={"z": 1}),
            )
            for name in ("upper", "fore")
        ],
    )
    result = run(arm, 1.0, w=[20.0, 5.0], u=[1.0, -2.0], q0=[0.1, 0.2, 0, 0, 0.15, 0.1], qd0=[1.0, 2.0, 0, 0, 0, 3.0])
    assert result.energy_drift < 1e-7
    assert result.dissipated.values[-1] > 0.1
    assert ("contacts" in result.method_reason) == sharp


# -- descriptions ------------------------------------------------------------------------------------------------------

TOML = """
name = "written"
[[links]]
name = "a"
body = { type = "rigid", length = 1.0, mass = 2.0 }
[links.joint]
type = "revolute"
rotor_inertia = 0.1
[links.joint.drive]
backlash = { width = 0.01, sharp = true }
stops = { lower = -1.0, upper = 2.0, stiffness = 1e3, damping = 1.0, transition = 0.01 }
parallel = { stiffness = 4.0, rest = 0.5, damping = 0.2 }
[links.joint.drive.spring]
stiffness = 10.0
cubic = 3.0
table = [[-1.0, -2.0], [1.0, 2.0]]
damping = 0.1
variable = true
hysteresis = { stiffness = 5.0, force = 0.2, exponent = 2, shape = 0.6 }
"""


def test_a_file_gives_what_the_classes_do(tmp_path):
    path = tmp_path / "written.toml"
    path.write_text(TOML)
    arm = fa.load(path)
    assert arm.links[0].joint.drive == fa.Drive(
        spring=fa.Spring(
            stiffness=10.0,
            cubic=3.0,
            table=[(-1, -2), (1, 2)],
            damping=0.1,
            variable=True,
            hysteresis=fa.Hysteresis(stiffness=5.0, force=0.2, exponent=2, shape=0.6),
        ),
        backlash=fa.Backlash(width=0.01, sharp=True),
        stops=fa.Stops(lower=-1, upper=2, stiffness=1e3, damping=1, transition=0.01),
        parallel=fa.Parallel(stiffness=4, rest=0.5, damping=0.2),
    )
    assert arm.coordinates == ("a.joint", "a.motor")
    assert arm.states == ("a.spring.hysteresis",)
    assert arm.exogenous == ("a.spring.stiffness",)
    assert fa.Arm.from_json(arm.canonical()) == arm


def test_a_rigid_arm_keeps_what_does_not_bend():
    arm = two_inertias(EVERYTHING, stiffness=50.0).rigid()
    drive = arm.links[0].joint.drive
    assert arm.coordinates == ("a.joint",)
    assert (drive.spring, drive.backlash) == (None, None)
    assert (drive.stops, drive.parallel, drive.friction) == (EVERYTHING.stops, EVERYTHING.parallel, EVERYTHING.friction)


NAMES = {
    "spring.stiffness": 25.0,
    "spring.cubic": 150.0,
    "spring.damping": 0.5,
    "spring.hysteresis.stiffness": 70.0,
    "spring.hysteresis.force": 2.0,
    "spring.hysteresis.shape": 0.9,
    "backlash.width": 0.05,
    "backlash.transition": 0.03,
    "stops.lower": -0.4,
    "stops.upper": 0.2,
    "stops.stiffness": 700.0,
    "stops.damping": 5.0,
    "stops.transition": 0.02,
    "parallel.stiffness": 9.0,
    "parallel.rest": 0.1,
    "parallel.damping": 0.3,
}


@pytest.mark.parametrize("name", NAMES)
def test_each_number_varies_as_the_arm_rebuilt_with_it(name):
    model = fa.Model(two_inertias(EVERYTHING, stiffness=50.0), vary=[f"a.drive.{name}"])
    rebuilt = fa.Model(model.arm_at([NAMES[name]]))
    assert rebuilt.arm != model.arm
    nominal, changed = fa.Model(model.arm), []
    for q in ([0.41, 0.2], [-0.61, -0.595]):  # within both transitions, and beyond both ends
        given, more = (q, [0.3, -0.7], [0.2]), {"s": [0.01], "w": [3.0]}
        found = model.evaluate("state_rate", *given, **more, p=[NAMES[name]])
        assert np.allclose(found, rebuilt.evaluate("state_rate", *given, **more), rtol=1e-12, atol=1e-12)
        changed.append(not np.allclose(found, nominal.evaluate("state_rate", *given, **more), rtol=1e-6, atol=0))
    assert any(changed)


SOFT = fa.Drive(spring=fa.Spring(stiffness=1.0))
PLAYS = fa.Drive(backlash=fa.Backlash(width=0.1))
NONE = "with sharp = true there is no transition: leave it out"
WRONG = [
    (fa.Spring, {}, " has no stiffness; give stiffness, cubic, table, hysteresis or variable = true"),
    (fa.Spring, {"stiffness": -1.0}, ": stiffness is -1.0 N m/rad or N/m; it must be zero or positive"),
    (fa.Spring, {"table": 3}, ": table is 3; it must be a list of pairs (deflection, force)"),
    (fa.Spring, {"table": [(0, 0)]}, ": table has 1 point; it must have 2 to 200"),
    (fa.Spring, {"table": [(0, 0), 1]}, ": table[1] is 1; it must be a pair (deflection, force)"),
    (fa.Spring, {"table": [(0, 0), (1, 2, 3)]}, ": table[1] has 3 entries; it must be a pair (deflection, force)"),
    (
        fa.Spring,
        {"table": [(0, 0), (0, 1)]},
        ": table[1] has the deflection 0.0; it must be larger than the one before, 0.0",
    ),
    (fa.Spring, {"table": [(0, 0), (1, "x")]}, ": table[1] is 'x'; it must be a number in N m or N"),
    (fa.Hysteresis, {"stiffness": 1.0, "force": 1.0, "exponent": 0.5}, ": exponent is 0.5; it must be at least 1"),
    (fa.Hysteresis, {"stiffness": 1.0, "force": 1.0, "shape": 0.4}, ": shape is 0.4; it must be from 0.5 to 1"),
    (fa.Backlash, {"width": 0.0}, ": width is 0.0 rad or m; it must be positive"),
    (fa.Backlash, {"width": 0.1, "transition": 0.2}, ": transition is 0.2; it must be at most width, 0.1"),
    (fa.Backlash, {"width": 0.1, "transition": 0.01, "sharp": True}, f": transition is 0.01; {NONE}"),
    (fa.Stops, {"stiffness": 1.0}, " has no end; give lower, upper or both"),
    (fa.Stops, {"lower": 1.0, "upper": 0.5, "stiffness": 1.0}, ": upper is 0.5; it must be larger than lower, 1.0"),
    (fa.Stops, {"upper": 0.5, "stiffness": 1.0, "transition": 0.1, "sharp": True}, f": transition is 0.1; {NONE}"),
    (
        fa.Revolute,
        {"drive": PLAYS},
        ": drive.backlash is given, but backlash needs a spring; give stiffness or drive.spring",
    ),
    (
        fa.Revolute,
        {"drive": SOFT},
        ": rotor_inertia is 0.0 kg m^2; a joint with stiffness has a motor, whose inertia must be positive",
    ),
]


@pytest.mark.parametrize(("kind", "given", "said"), WRONG)
def test_what_is_wrong_is_said_in_one_line(kind, given, said):
    with pytest.raises(fa.DescriptionError) as caught:
        kind(**given)
    assert str(caught.value) == f"{kind.__name__}{said}"
