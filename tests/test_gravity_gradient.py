"""Gravity's gradient on an orbit: against material points, Hill's equations, libration, a dumbbell, its account."""

import numpy as np
import pytest
from oracle import Lagrangian
from random_arms import random_state
from random_trees import random_tree
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.attitude import configuration, local

FORCES = 5e-13  # relative, as in test_trees.py
DIFFERENCES = 1e-8  # relative: sixth-order central differences with a step of 1e-3
RADIAL, NORMAL = (0.6, 0.0, 0.8), (0.8, 0.0, -0.6)
RATE = 1.3


def assert_close(actual, expected, tolerance=FORCES):
    scale = np.max(np.abs(expected), initial=1e-300)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def slope(f, h=1e-3):
    return sum(c * (f(k * h) - f(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def on_orbit(arm, rate=RATE, radial=RADIAL, normal=NORMAL):
    return arm.replace(base=arm.base.replace(orbit=fa.Orbit(rate=rate, radial=radial, normal=normal)))


def gradient(angle, rate=RATE):
    """G of Hill's field, its vertical turned by Rodrigues' formula."""
    r = Rotation.from_rotvec(angle * np.array(NORMAL)).apply(RADIAL)
    return rate**2 * (3 * np.outer(r, r) - np.eye(3))


def values(model, name, *arguments):
    return np.array(model.function(name)(*arguments)).ravel()


TREES = [
    {"seed": 1},
    {"seed": 12, "telescope": True, "twisting": True, "elastic": True},
    {"seed": 13, "rotor": "absolute"},
    {"seed": 15, "foreshortening": True, "chord": True},
    {"seed": 22, "tapered": True},
]


@pytest.fixture(scope="module", params=TREES, ids=lambda options: "-".join(map(str, options.values())))
def case(request):
    plain = random_tree(free=True, **request.param)
    q, qd, u = random_state(plain, request.param["seed"])
    return fa.Model(plain), fa.Model(on_orbit(plain)), Lagrangian(plain), q, qd, u


def test_forces_and_energies_are_those_of_material_points(case):
    plain, model, oracle, q, qd, u = case
    assert model.states == ("base.orbit",) and model.arm.state_units == ("rad",)
    energies = []
    for angle in (0.0, 0.7, -2.9):
        V, force = oracle.pulled(q, gradient(angle))
        M = values(model, "mass_matrix", q).reshape(2 * [model.nv])
        more = values(model, "forward_dynamics", q, qd, [angle], u) - values(plain, "forward_dynamics", q, qd, u)
        assert_close(M @ more, -force, 1e-10)  # accelerations carry the condition of M
        residual = [
            values(m, "state_residual", q, qd, *s, u, np.zeros(m.nv)) for m, s in ((model, ([angle],)), (plain, ()))
        ]
        assert_close(residual[0][: model.nv] - residual[1][: model.nv], -force, 1e-11)
        assert_close(residual[0][model.nv], RATE)
        difference = values(model, "energy", q, qd, [angle])[1] - values(plain, "energy", q, qd)[1]
        energies.append((difference, V))
    found, expected = np.array(energies).T
    assert_close(found, expected, 1e-11)


def test_power_and_energy_agree(case):
    plain, model, _, q, qd, u = case
    angle = 0.7
    qdd = values(model, "forward_dynamics", q, qd, [angle], u)

    def energy(t):
        at = configuration(model.arm, local(model.arm, q, q) + t * qd, q)
        return values(model, "energy", at, qd + t * qdd, [angle + t * RATE])

    def turned(t):
        return values(model, "energy", q, qd, [angle + t * RATE])[1]

    rate = values(model, "state_rate", q, qd, [angle], u)
    assert_close(rate[-3], RATE)
    assert_close(slope(lambda t: sum(energy(t))), rate[-2] - rate[-1], DIFFERENCES)
    by_field = slope(turned)
    by_inputs = values(plain, "power", q, qd, u)[0]
    assert_close(values(model, "power", q, qd, [angle], u)[0], by_field + by_inputs, DIFFERENCES)


def test_what_holds_an_arm_knows_nothing_of_it(case):
    """It turns, so nothing stands still in it: what has no time has none of it."""
    plain, model, _, q, qd, _ = case
    for name, arguments in {"damping_force": (q, qd), "gravity_force": (q,), "restoring_force": (q,)}.items():
        assert_close(values(model, name, *arguments), values(plain, name, *arguments))


# -- one rigid body: axes x radial, y along the orbit, z normal to it --------------------------------------------------

N = 1.1e-3


def rigid_body(inertia, mass=1.0, rate=N, **more):
    base = fa.FreeBase(mass=mass, inertia=inertia, orbit=fa.Orbit(rate=rate))
    # an arm has a link: one of almost no mass
    link = fa.Link(name="mark", joint=fa.Fixed(), body=fa.Rigid(length=0.0, mass=1e-12, inertia=0.0))
    return fa.Model(fa.Arm(name="one", links=[link], base=base, **more))


def test_a_point_mass_moves_by_hills_equations():
    """In axes that turn with the orbit: x'' = 2 n y' + 3 n^2 x, y'' = -2 n x', z'' = -n^2 z (Clohessy & Wiltshire)."""
    model = rigid_body(1.0)
    x0, v0 = np.array([3.0, -2.0, 1.0]), np.array([0.002, -0.004, 0.001])  # in the turning axes
    qd = np.concatenate([v0 + N * np.array([-x0[1], x0[0], 0.0]), np.zeros(3)])
    q = np.concatenate([x0, [1, 0, 0, 0]])
    result = fa.simulate(
        model, until=2 * np.pi / N, q0=q, qd0=qd, solver=fa.Solver(rtol=1e-11, atol=1e-12), samples=41, progress=False
    )
    t = result.time.values
    c, s = np.cos(N * t), np.sin(N * t)
    x = (4 - 3 * c) * x0[0] + s / N * v0[0] + 2 / N * (1 - c) * v0[1]
    y = 6 * (s - N * t) * x0[0] + x0[1] - 2 / N * (1 - c) * v0[0] + (4 * s - 3 * N * t) / N * v0[1]
    z = c * x0[2] + s / N * v0[2]
    expected = np.stack([c * x - s * y, s * x + c * y, z], axis=-1)
    assert_close(result.q.values[:, :3], expected, 1e-8)  # what the tolerances leave over a revolution
    assert_close(result.drive_state.values[:, 0], N * t, 1e-12)
    assert result.energy_drift < 1e-9 and result.momentum_changed_by == "gravity's gradient"


def test_the_field_is_keplers_to_first_order():
    """A mass beside one on a circular orbit about the inverse square: what is left goes as the square of its place."""
    errors = []
    for size in (2.0, 1.0):
        radius = 1000.0
        x0, v0 = size * np.array([1.0, 0.5, 0.3]), size * np.array([0.0, 0.2, 0.1])

        def pull(t, s, radius=radius):
            origin = radius * np.array([np.cos(t), np.sin(t), 0.0])
            at = origin + s[:3]
            return np.concatenate([s[3:], -(radius**3) * at / np.linalg.norm(at) ** 3 + origin])

        exact = solve_ivp(pull, (0, 2.0), np.concatenate([x0, v0]), rtol=1e-12, atol=1e-14, method="DOP853").y[:3, -1]
        model = rigid_body(1.0, rate=1.0)
        run = fa.simulate(
            model,
            until=2.0,
            q0=[*x0, 1, 0, 0, 0],
            qd0=[*v0, 0, 0, 0],
            solver=fa.Solver(rtol=1e-11, atol=1e-13),
            samples=3,
            progress=False,
        )
        errors.append(np.linalg.norm(run.q.values[-1, :3] - exact))
    assert 3.9 < errors[0] / errors[1] < 4.1


def test_libration_has_the_frequencies_of_the_books():
    """Pitch n sqrt(3 (Iy - Ix) / Iz); roll and yaw s^4 + (1 + 3 k1 + k1 k3) n^2 s^2 + 4 k1 k3 n^4 = 0 (Hughes 9.3)."""
    Ix, Iy, Iz = 4.0, 9.0, 10.0  # yaw about the vertical, roll along the orbit, pitch about its normal
    model = rigid_body((Ix, Iy, Iz), rate=1.0)
    system = model.linearize(model.arm.rest, [0, 0, 0, 0, 0, 1.0], np.zeros(0), s=[0.0])
    k1, k3 = (Iz - Ix) / Iy, (Iz - Iy) / Ix
    both = np.roots([1.0, 0.0, 1 + 3 * k1 + k1 * k3, 0.0, 4 * k1 * k3])
    pitch = np.sqrt(3 * (Iy - Ix) / Iz)
    attitude = [i for i, name in enumerate(system.state_labels) if "_t" in name or "_w" in name]
    assert len(attitude) == 6
    A = system.A[np.ix_(attitude, attitude)]
    found = np.sort(np.abs(np.linalg.eigvals(A).imag))
    assert_close(found, np.sort(np.abs([*both.imag, pitch, -pitch])), 1e-12)
    place = [i for i, name in enumerate(system.state_labels) if "_d" in name or "_v" in name]
    hill = np.sort(np.abs(np.linalg.eigvals(system.A[np.ix_(place, place)]).imag))
    np.testing.assert_allclose(
        hill, [0, 0, 1, 1, 1, 1], rtol=0, atol=1e-7
    )  # a double zero is seen to the root of 1e-16


def test_a_dumbbell_swings_as_a_pendulum_of_twice_its_angle():
    """theta'' = -3/2 n^2 sin 2 theta of two masses on a rod, whatever they are; through large angles."""
    end = fa.Payload(mass=2.0)
    rod = fa.Link(name="rod", joint=fa.Fixed(), body=fa.Rigid(length=6.0, mass=1e-9, inertia=0.0), payload=end)
    base = fa.FreeBase(mass=4.0, inertia=1e-9, orbit=fa.Orbit(rate=0.5))
    model = fa.Model(fa.Arm(name="dumbbell", links=[rod], base=base))
    theta = 1.2
    q = np.array([-2 * np.cos(theta), -2 * np.sin(theta), 0.0, np.cos(theta / 2), 0.0, 0.0, np.sin(theta / 2)])
    qdd = model.forward_dynamics(q, np.zeros(6), np.zeros(0))
    assert_close(qdd[5], -1.5 * 0.25 * np.sin(2 * theta), 1e-8)  # the rod's own mass
    qd = np.array([0.0, -2 * 0.5, 0.0, 0.0, 0.0, 0.5])  # at rest in the turning axes, the centre of mass at the origin
    result = fa.simulate(
        model, until=15.0, q0=q, qd0=qd, solver=fa.Solver(rtol=1e-10, atol=1e-12), samples=31, progress=False
    )
    swing = solve_ivp(
        lambda t, y: [y[1], -1.5 * 0.25 * np.sin(2 * y[0])],
        (0, 15),
        [theta, 0.0],
        rtol=1e-11,
        atol=1e-13,
        t_eval=result.time.values,
    ).y[0]
    e = result.q.values[:, 3:7]
    turned = 2 * np.unwrap(np.arctan2(e[:, 3], e[:, 0]))
    assert_close(turned, swing + 0.5 * result.time.values, 1e-7)
    assert result.energy_drift < 1e-9


# -- runs, files, doors ------------------------------------------------------------------------------------------------


def swinging(rate=0.4):
    """A bus with an elastic arm that bends, fast enough on its orbit to feel it."""
    body = fa.Beam(length=4.0, mass=3.0, EI=40.0, GJ=30.0, polar_inertia=0.02, modes={"y": 2, "z": 1, "torsion": 1})
    link = fa.Link(
        name="boom",
        joint=fa.Revolute(axis=(0, 1, 0), stiffness=40.0, rotor_inertia=0.2, spring_damping=0.3),
        body=body,
        payload=fa.Payload(mass=1.0),
        placement=fa.Pose(xyz=(0.2, 0.3, -0.1), rpy=(0.3, 0.2, 0.1)),
    )
    base = fa.FreeBase(
        mass=9.0, com=(0.1, 0.0, 0.2), inertia=(2.0, 3.0, 4.0), orbit=fa.Orbit(rate=rate, radial=RADIAL, normal=NORMAL)
    )
    return fa.Model(fa.Arm(name="swinging", links=[link], base=base))


START = {
    "q0": [3.0, -2.0, 1.0, 0.5, 0.5, -0.5, 0.5, 0.4, 0.0, 0.02, 0.0, 0.0, 0.4],
    "qd0": [0.2, 0.1, -0.3, 0.3, -0.2, 0.1, 0.5, 0.0, 0.0, 0.0, 0.0, 0.2],
}


@pytest.mark.parametrize("method", ["auto", "gauss4"])
def test_the_account_is_exact(method):
    model = swinging()
    result = fa.simulate(
        model,
        until=6.0,
        u=[0.3],
        solver=fa.Solver(method=method, rtol=1e-10, atol=1e-12),
        samples=61,
        progress=False,
        **START,
    )
    assert result.energy_drift < 1e-8
    assert np.ptp(result.work.values) > 1.0  # the field has given something
    assert result.momentum_changed_by == "gravity's gradient"
    still = fa.simulate(
        swinging(0.0), until=2.0, solver=fa.Solver(rtol=1e-10, atol=1e-12), samples=5, progress=False, **START
    )
    plain = swinging().arm
    plain = fa.Model(plain.replace(base=plain.base.replace(orbit=None)))
    none = fa.simulate(plain, until=2.0, solver=fa.Solver(rtol=1e-10, atol=1e-12), samples=5, progress=False, **START)
    np.testing.assert_allclose(still.q.values, none.q.values, rtol=0, atol=1e-8)


def test_runs_of_an_ensemble_and_a_stepper_have_it():
    model = swinging()
    one = fa.simulate(model, until=1.0, solver=fa.Solver(method="rk4", step=2e-3), samples=11, progress=False, **START)
    several = fa.simulate_many(
        model,
        until=1.0,
        solver=fa.Solver(method="rk4", step=2e-3),
        samples=11,
        progress=False,
        **{k: np.array([v, v]) for k, v in START.items()},
    )
    assert_close(several.q.values[1], one.q.values, 1e-12)
    stepper = fa.Stepper(model, 0.1, method="rk4", step=2e-3)
    stepper.reset(START["q0"], START["qd0"])
    for _ in range(10):
        state = stepper.step([0.0])
    assert_close(state[: model.nq], one.q.values[-1], 1e-12)


def test_files_say_it(tmp_path):
    path = tmp_path / "sat.toml"
    path.write_text(
        """
name = "sat"
[base]
type = "free"
mass = 4.0
inertia = 2.0
orbit = { rate = 1.1e-3, radial = [0, 1, 0], normal = [1, 0, 0] }
[[links]]
name = "boom"
body = { type = "rigid", length = 1.0, mass = 1.0 }
"""
    )
    arm = fa.load(path)
    assert arm.orbit == fa.Orbit(rate=1.1e-3, radial=(0, 1, 0), normal=(1, 0, 0))
    assert fa.Arm.from_json(arm.canonical()) == arm
    assert fa.Model(arm).states == ("base.orbit",)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"rate": "fast"}, "Orbit: rate is 'fast'; it must be a number in rad/s"),
        (
            {"rate": 1.0, "radial": (1, 1, 0)},
            "Orbit: radial is (1.0, 1.0, 0.0), of length 1.41421; it must be a unit vector",
        ),
        (
            {"rate": 1.0, "normal": (1, 0, 0)},
            "Orbit: normal is (1.0, 0.0, 0.0); it must be perpendicular to radial, (1.0, 0.0, 0.0)",
        ),
    ],
)
def test_an_orbit_that_cannot_be(given, line):
    with pytest.raises(fa.DescriptionError) as error:
        fa.Orbit(**given)
    assert str(error.value) == line


def test_closed_forms_do_without_it():
    arm = swinging().arm
    with pytest.raises(
        fa.DescriptionError,
        match=r"closed forms do not include orbit; use arm.replace\(base=arm.base.replace\(orbit=None\)\)",
    ):
        fa.equations(arm)
