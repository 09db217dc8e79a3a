"""References do what their formulas say; shapers leave what their theory says, in formulas and in simulated arms."""

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq

import flexarm as fa
from flexarm.control import design_shaper, vibrations
from flexarm.trajectory import (
    EI,
    MZV,
    PSZV,
    UMZV,
    ZV,
    ZVD,
    ZVDD,
    BangBang,
    Cycloidal,
    MinimumJerk,
    ParabolicBlends,
    Quintic,
    Shaper,
    TaskLine,
    jumps_of,
    reference_values,
    shaped,
)

ROUNDING = 1e-12
FOLLOWED = 1e-9  # what integration at rtol 1e-10 leaves of a motion of some radians
ONE = Shaper((0.0,), (1.0,))

POINTS = [[0.1, 2.0, -1.0], [1.3, 1.5, 0.4], [0.2, -1.0, 0.9], [0.9, -0.2, 0.5], [2.0, 0.3, 0.0]]
TIMES = [0.2, 1.1, 1.6, 3.0, 3.7]


def derivatives(reference, t, order):
    """(order + 1, times, joints): the reference and its derivatives by automatic differentiation."""
    s = ca.SX.sym("t")
    rows = [ca.vertcat(*reference.expression(s))]
    for _ in range(order):
        rows.append(ca.jacobian(rows[-1], s))
    f = ca.Function("derivatives", [s], [ca.densify(row) for row in rows])
    return np.array([np.array(row).T for row in f(np.asarray(t, dtype=float)[None, :])])


@pytest.fixture(scope="module")
def planar():
    return fa.load("subudhi-morris")


# -- motions joint by joint --------------------------------------------------------------------------------------------


def test_quintic_is_equation_71():
    a, b, T = np.array([0.3, -1.0]), np.array([np.pi / 2, np.pi / 6]), 1.7
    t = np.random.default_rng(1).uniform(0, T, 50)
    s = t[:, None] / T
    expected = a + (6 * s**5 - 15 * s**4 + 10 * s**3) * (b - a)
    assert reference_values(Quintic(a, b, T), t) == pytest.approx(expected, abs=ROUNDING)


def test_quintic_is_at_rest_at_both_ends_and_outside():
    reference = Quintic([0.3], [1.5], 1.7)
    q, qd, qdd = derivatives(reference, [-1e9, -1.0, 0.0, 1.7, 1.8, 1e9], 2)[..., 0]
    assert q == pytest.approx([0.3, 0.3, 0.3, 1.5, 1.5, 1.5], abs=ROUNDING)
    assert not qd.any() and not qdd.any()
    q, qd, qdd = derivatives(reference, [1e-9, 1.7 - 1e-9], 2)[..., 0]
    assert np.abs(qd).max() < 1e-14 and np.abs(qdd).max() < 1e-7


def test_quintic_is_fastest_at_half_time():
    """1.875 d / T, and accelerations of 10 / sqrt(3) d / T^2."""
    t = np.linspace(0, 2, 20001)
    _, qd, qdd = derivatives(Quintic([1.0], [4.0], 2.0), t, 2)[..., 0]
    assert qd.max() == pytest.approx(1.875 * 3 / 2) and t[qd.argmax()] == pytest.approx(1.0)
    assert qdd.max() == pytest.approx(10 / np.sqrt(3) * 3 / 4)
    assert t[qdd.argmax()] == pytest.approx(1 - np.sqrt(3) / 3, abs=1e-4)


def test_bang_bang_has_one_acceleration_and_its_opposite():
    d, T = 1.2, 0.8
    reference = BangBang([0.5], [0.5 + d], T)
    q, qd, qdd = derivatives(reference, [-0.1, 0.1, 0.3, 0.5, 0.7, 0.9], 2)[..., 0]
    a = 4 * d / T**2
    assert qdd == pytest.approx([0, a, a, -a, -a, 0], abs=ROUNDING)
    assert q == pytest.approx([0.5, 0.5 + a * 0.005, 0.5 + a * 0.045, 1.7 - a * 0.045, 1.7 - a * 0.005, 1.7])
    assert set(jumps_of(reference)) == {0, T / 2, T}


def test_no_motion_is_sooner_than_bang_bang_under_its_acceleration():
    """The same way in the same time takes more acceleration along any other reference."""
    T = 1.3
    t = np.linspace(1e-6, T - 1e-6, 4001)
    others = [Quintic([0], [1], T), ParabolicBlends([0], [1], T, T / 3), MinimumJerk([0, 0.4, 1], [0, T / 2, T])]
    least = np.abs(derivatives(BangBang([0], [1], T), t, 2)[2]).max()
    assert all(np.abs(derivatives(other, t, 2)[2]).max() > 1.05 * least for other in others)


def test_minimum_jerk_passes_the_points_and_rests_outside():
    reference = MinimumJerk(POINTS, TIMES)
    assert reference_values(reference, TIMES) == pytest.approx(np.array(POINTS), abs=ROUNDING)
    q, qd, qdd = derivatives(reference, [-1.0, 0.2, 3.7, 9.0], 2)
    assert q == pytest.approx(np.array([POINTS[0], POINTS[0], POINTS[-1], POINTS[-1]]), abs=ROUNDING)
    assert np.abs([qd, qdd]).max() < 1e-11


def test_minimum_jerk_has_four_continuous_derivatives_at_its_points():
    reference = MinimumJerk(POINTS, TIMES)
    inner, h = np.array(TIMES[1:-1]), 1e-9
    before, at, after = (derivatives(reference, inner + d, 5) for d in (-h, 0.0, h))
    slope = np.abs(before[5]).max()
    for order in range(5):
        jump = 3 * h * (np.abs(before[order + 1]).max() + slope)
        assert after[order] == pytest.approx(before[order], abs=jump), order
        assert at[order] == pytest.approx(before[order], abs=jump), order  # nothing counted twice, nothing left out
    assert np.abs(after[5] - before[5]).min() > 1  # the fifth is not


def test_no_interpolant_has_less_jerk():
    """The first variation vanishes for every admissible change, and the cost is convex."""
    reference = MinimumJerk(POINTS, TIMES)
    x, w = leggauss(12)  # exact for the products of polynomials below
    t = np.concatenate([(a + b) / 2 + (b - a) / 2 * x for a, b in pairwise(TIMES)])
    w = np.concatenate([(b - a) / 2 * w for a, b in pairwise(TIMES)])
    jerk = derivatives(reference, t, 3)[3, :, 0]
    cost = w @ jerk**2
    rng = np.random.default_rng(3)
    for _ in range(10):  # zero at every point; no rate and no acceleration at the ends
        roots = [*TIMES, *2 * [TIMES[0]], *2 * [TIMES[-1]]]
        change = Polynomial.fromroots(roots) * Polynomial(rng.uniform(-1, 1, 3))
        extra = change.deriv(3)(t)
        extra *= np.sqrt(cost / (w @ extra**2))
        assert abs(w @ (jerk * extra)) < 1e-9 * cost
        assert w @ (jerk + 0.01 * extra) ** 2 > cost


def test_a_rate_at_a_way_point_is_free():
    """Fixing it at anything else costs jerk: two rest to rest motions are worse than one through the point."""
    x, w = leggauss(10)
    t, w = np.concatenate([0.5 + 0.5 * x, 1.5 + 0.5 * x]), np.concatenate([w, w]) / 2
    through = derivatives(MinimumJerk([0, 1, 2], [0, 1, 2]), t, 3)[3, :, 0]
    resting = np.concatenate([derivatives(Quintic([0], [1], 1.0), t[:10], 3)[3, :, 0]] * 2)
    assert w @ through**2 < 0.2 * (w @ resting**2)


def test_two_points_of_least_jerk_are_a_quintic():
    t = np.linspace(-0.5, 2.5, 31)
    jerk = reference_values(MinimumJerk([[0.3, 1.0], [1.5, -2.0]], [0.0, 2.0]), t)
    assert jerk == pytest.approx(reference_values(Quintic([0.3, 1.0], [1.5, -2.0], 2.0), t), abs=ROUNDING)


def test_many_points_stay_exact():
    """Pieces are summed, so errors could pile up: 60 uneven pieces of a sine."""
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.uniform(0.05, 0.3, 61))
    reference = MinimumJerk(np.sin(times), times)
    assert reference_values(reference, times)[:, 0] == pytest.approx(np.sin(times), abs=ROUNDING)
    inside = times[10:-10]
    assert derivatives(reference, inside, 1)[1, :, 0] == pytest.approx(np.cos(inside), abs=1e-3)


def motions(arm):
    n = 2
    line = TaskLine(arm, (0.7, 0.1), (0.3, 0.6), 0.8)
    return {
        "quintic": Quintic([0.1] * n, [1.0, -0.7], 0.8),
        "bang-bang": BangBang([0.1] * n, [1.0, -0.7], 0.8),
        "minimum jerk": MinimumJerk([[0, 0], [0.5, 1.0], [0.2, 0.3]], [0.1, 0.4, 0.8]),
        "task line": line,
        "shaped": shaped(Quintic([0.1] * n, [1.0, -0.7], 0.5), ZVD(20.0, 0.1)),
        "shaped cycloid": shaped(Cycloidal([1.0, 0.5], [0.4, 0.3]), ZV(20.0)),
        "shaped blends": shaped(ParabolicBlends([0.1] * n, [1.0, -0.7], 0.5, 0.1), EI(30.0)),
        "shaped line": shaped(line, ZV(50.0)),
    }


@pytest.mark.parametrize("name", list(motions(fa.load("subudhi-morris"))))
def test_compiled_references_move_a_simulated_arm(name, planar):
    """Accelerations compiled to native code, integrated twice, are the reference."""
    reference, model = motions(planar)[name], fa.Model(planar.rigid())
    result = fa.simulate(
        model,
        1.0,
        u=fa.PrescribedMotion(reference),
        reference=reference,
        solver=fa.Solver(rtol=1e-10, atol=1e-12),
        progress=False,
    )
    np.testing.assert_allclose(result.q, result.q_ref, atol=FOLLOWED)
    assert reference.described() in result.attrs["input_description"]


def test_descriptions_tell_references_apart(planar):
    references = [
        *motions(planar).values(),
        Quintic([0.1, 0.1], [1.0, -0.7], 0.9),
        MinimumJerk([[0, 0], [0.5, 1.0], [0.2, 0.3]], [0.1, 0.5, 0.8]),
        TaskLine(planar, (0.7, 0.1), (0.3, 0.6), 0.8, q0=(1.0, -0.5)),
        shaped(Quintic([0.1] * 2, [1.0, -0.7], 0.5), ZVD(20.0)),
    ]
    lines = [reference.described() for reference in references]
    assert len(set(lines)) == len(lines) and all(line.isprintable() for line in lines)


# -- lines of the tip --------------------------------------------------------------------------------------------------


def tip_of(arm, axes, reference, t):
    q = reference_values(reference, t)
    return fa.Model(arm.rigid()).tip(q)[:, ["xyz".index(a) for a in axes], 3]


def crane():
    """Turns about z, lifts along z, reaches along its own x."""
    rod = fa.Rigid(length=0.4, mass=1.0)
    links = [
        fa.Link(name="mast", joint=fa.Revolute(axis=(0, 0, 1)), body=rod),
        fa.Link(name="lift", joint=fa.Prismatic(axis=(0, 0, 1)), body=rod),
        fa.Link(name="jib", joint=fa.Prismatic(axis=(1, 0, 0)), body=rod),
    ]
    return fa.Arm(name="crane", links=links)


def slide():
    return fa.Arm(
        name="slide", links=[fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=1, mass=1))]
    )


LINES = {
    "planar": (lambda: fa.load("subudhi-morris"), "xy", (0.7, 0.1), (0.3, 0.6), None),
    "far out": (lambda: fa.load("subudhi-morris"), "xy", (0.9, 0.1), (0.3, 0.94), None),
    "swapped axes": (lambda: fa.load("subudhi-morris"), "yx", (0.1, 0.7), (0.6, -0.3), None),
    "elastic joints": (lambda: fa.load("subudhi-morris-elastic"), "xy", (0.7, 0.1), (0.3, -0.6), (0.2, 0.5)),
    "telescope": (lambda: fa.load("theodore-ghosal"), "xyz", None, (0.3, 0.6, 0.4), (0.1, 0.5, 0.6)),
    "crane": (crane, "xyz", (1.0, 0.2, 0.0), (-0.5, 1.0, 0.7), None),
    "slide": (slide, "x", (1.0,), (-2.0,), None),
    "nowhere": (lambda: fa.load("subudhi-morris"), "xy", (0.5, 0.5), (0.5, 0.5), None),
}


@pytest.mark.parametrize("name", LINES)
def test_the_tip_is_on_the_line_and_on_time(name):
    make, axes, start, end, q0 = LINES[name]
    arm, T = make(), 1.6
    line = TaskLine(arm, start, end, T, axes=axes, q0=q0)
    t = np.concatenate([[-1.0, 0.0, T, 9.0], np.random.default_rng(5).uniform(0, T, 500)])
    s = np.clip(t / T, 0, 1)[:, None]
    expected = np.array(line.start) + (10 * s**3 - 15 * s**4 + 6 * s**5) * (np.array(end) - np.array(line.start))
    off = np.linalg.norm(tip_of(arm, axes, line, t) - expected, axis=1)
    assert off.max() < 1e-9
    assert off.max() < 1.1 * line.deviation + 1e-12
    if start is not None:
        assert line.start == start


def test_equal_links_bend_as_the_law_of_cosines_says(planar):
    l, T = 0.5, 2.0
    line = TaskLine(planar, (0.7, 0.1), (0.3, 0.6), T)
    t = np.linspace(0, T, 41)
    p = tip_of(planar, "xy", line, t)
    q = reference_values(line, t)
    bend = np.arccos((p**2).sum(axis=1) / (2 * l**2) - 1)
    assert q[:, 1] == pytest.approx(bend, abs=1e-8)
    assert q[:, 0] == pytest.approx(np.arctan2(p[:, 1], p[:, 0]) - bend / 2, abs=1e-8)


def test_the_first_guess_chooses_the_elbow(planar):
    up, down = (TaskLine(planar, (0.7, 0.1), (0.3, 0.6), 2.0, q0=(0.0, bend)) for bend in (1.0, -1.0))
    t = np.linspace(0, 2, 21)
    assert (reference_values(up, t)[:, 1] > 0).all() and (reference_values(down, t)[:, 1] < 0).all()
    assert tip_of(planar, "xy", up, t) == pytest.approx(tip_of(planar, "xy", down, t), abs=1e-8)


def test_the_degree_follows_the_tolerance(planar):
    lines = [TaskLine(planar, (0.7, 0.1), (0.3, 0.6), 2.0, tolerance=tolerance) for tolerance in (1e-3, 1e-6, 1e-10)]
    assert all(line.deviation <= tolerance for line, tolerance in zip(lines, (1e-3, 1e-6, 1e-10), strict=True))
    degrees = [len(line.coefficients) for line in lines]
    assert degrees[0] < degrees[1] < degrees[2] < 30


def test_a_line_is_as_smooth_as_its_timing(planar):
    """The tip's velocity and acceleration by automatic differentiation are those of the quintic along the line."""
    T = 2.0
    line = TaskLine(planar, (0.7, 0.1), (0.3, 0.6), T)
    s = ca.SX.sym("t")
    tip = fa.Model(planar.rigid()).function("tip")(ca.vertcat(*line.expression(s)))[:2, 3]
    v = ca.jacobian(tip, s)
    f = ca.Function("f", [s], [ca.densify(v), ca.densify(ca.jacobian(v, s))])
    way = np.array([-0.4, 0.5])
    for t in (0.0, 0.3, 1.0, 1.7, 2.0):
        x = t / T
        velocity, acceleration = (np.array(a).ravel() for a in f(t))
        assert velocity == pytest.approx(way * 30 * x**2 * (1 - x) ** 2 / T, abs=1e-8)
        assert acceleration == pytest.approx(way * 60 * x * (1 - x) * (1 - 2 * x) / T**2, abs=1e-6)


OFF = [
    (
        lambda a: TaskLine(a, (2, 2), (0, 0), 1.0),
        r"no farther than 0 % of the line, x = 2, y = 2 m; that is 1\.83 m out",
    ),
    (
        lambda a: TaskLine(a, (0.5, 0.5), (1.0, 0.5), 1.0),
        r"^TaskLine: arm 'subudhi-morris' reaches no farther than 73\.2 % of the line, x = 0\.866, y = 0\.5 m; "
        r"x = 1, y = 0\.5 m is 0\.118 m out of reach$",
    ),
    (lambda a: TaskLine(a, (1, 0), (0.5, 0.5), 1.0), "in a singular configuration at 0 % of the line, x = 1, y = 0 m"),
    (
        lambda a: TaskLine(a, (0.5, 0), (-0.5, 0), 1.0),
        "in a singular configuration at 50 % of the line, x = .*, y = 0 m",
    ),
    (lambda a: TaskLine(a, (0.5, 0), (-0.7, 0), 1.0), r"in a singular configuration at 41\.7 % of the line"),
    (
        lambda a: TaskLine(a, (0.5, 1e-3), (-0.5, 1e-3), 1.0),
        "m from the line, and tolerance is 1e-09 m; the line passes",
    ),
    (lambda a: TaskLine(a, (0.7, 0.1), (0.3, 0.6), 1.0, tolerance=1e-15), "or the tolerance is below rounding"),
    (
        lambda a: TaskLine(a, (1, 1, 0), (1, 1, 1), 1.0, axes="xyz"),
        "axes is 'xyz'; it must have one axis per jo",
    ),
    (lambda a: TaskLine(a, (1,), (1,), 1.0, axes="x"), "axes is 'x'; .* per joint, 2: upper.joint, fore.joint"),
    (lambda a: TaskLine(a, (1, 1), (1, 0), 1.0, axes="xx"), "axes is 'xx'; it must be some of x, y, z, such as 'xy'"),
    (lambda a: TaskLine(a, (1, 1), (1, 0), 1.0, axes=2), "axes is 2; it must be some of x, y, z"),
    (lambda a: TaskLine(a, (1, 1, 1), (1, 0), 1.0), "start has 3 numbers; it must have 2"),
    (lambda a: TaskLine(a, (1, 1), "home", 1.0), "end is 'home'; it must be a list of numbers"),
    (lambda a: TaskLine(a, (1, 1), None, 1.0), "end is None; it must be a list of numbers"),
    (lambda a: TaskLine(a, None, (1, 1), 1.0), "start is missing; without it q0 says where the tip is"),
    (lambda a: TaskLine(a, (1, 1), (1, 0), 0.0), "duration is 0.0 s; it must be positive"),
    (lambda a: TaskLine(a, (1, 1), (1, 0), 1.0, tolerance=0), "tolerance is 0.0 m; it must be positive"),
    (lambda a: TaskLine("canadarm", (1, 1), (1, 0), 1.0), "arm is 'canadarm'; it must be an Arm"),
    (
        lambda a: TaskLine(fa.load("canadarm"), (1, 1, 0), (5, 5, 0), 1.0, axes="xyz"),
        "'canadarm' is in a singular configuration at 0 %",
    ),
    (
        lambda a: TaskLine(fa.load("theodore-ghosal"), None, (2.0, 2.0, 1.0), 1.0, "xyz", (0.1, 0.5, 0.6)),
        "'theodore-ghosal' reaches no farther than .* m out of reach",
    ),
]


@pytest.mark.parametrize(("make", "line"), OFF, ids=[line[:40] for _, line in OFF])
def test_a_line_that_cannot_be_is_refused_in_one_line(make, line, planar):
    with pytest.raises(fa.DescriptionError, match=line) as caught:
        make(planar)
    assert str(caught.value).startswith("TaskLine: ") and str(caught.value).isprintable()


# -- shapers -----------------------------------------------------------------------------------------------------------

KINDS = {"zv": ZV, "zvd": ZVD, "ei": EI}


def rung(shaper, omega, zeta):
    """Amplitude after the last impulse, from the impulse responses of an oscillator: x'' + 2 z w x' + w^2 x = w_d d(t).

    One impulse starts the amplitude 1.
    """
    damped, late = omega * np.sqrt(1 - zeta**2), shaper.duration - np.array(shaper.times)
    decay = np.array(shaper.amplitudes) * np.exp(-zeta * omega * late)
    x = decay @ np.sin(damped * late)
    xd = decay @ (damped * np.cos(damped * late) - zeta * omega * np.sin(damped * late))
    return np.hypot(x, (xd + zeta * omega * x) / damped)


def test_residual_is_what_an_oscillator_keeps():
    rng = np.random.default_rng(6)
    for _ in range(20):
        k = rng.integers(1, 5)
        amplitudes = rng.uniform(-1, 2, k)
        amplitudes[0] += 1 - amplitudes.sum()
        impulses = Shaper(np.cumsum(rng.uniform(0.1, 1, k)), amplitudes)
        omega, zeta = rng.uniform(0.5, 20), rng.uniform(0, 0.6)
        assert impulses.residual(omega, zeta) == pytest.approx(rung(impulses, omega, zeta), rel=1e-12)


@pytest.mark.parametrize("zeta", [0.0, 0.02, 0.2, 0.4])
@pytest.mark.parametrize("kind", KINDS)
def test_impulses_are_positive_and_their_sum_is_one(kind, zeta):
    times, amplitudes = KINDS[kind](7.0, zeta).impulses
    assert times[0] == 0 and sum(amplitudes) == pytest.approx(1, abs=1e-14) and min(amplitudes) > 0


@pytest.mark.parametrize("zeta", [0.0, 0.02, 0.2, 0.6])
def test_zv_leaves_nothing_and_zvd_not_even_a_slope(zeta):
    omega, h = 7.0, 1e-3
    assert ZV(omega, zeta).residual(omega, zeta) < 1e-15
    assert ZVD(omega, zeta).residual(omega, zeta) < 1e-15
    aside = omega * np.array([1 - 2 * h, 1 - h, 1 + h, 1 + 2 * h])
    once, twice = ZV(omega, zeta).residual(aside, zeta), ZVD(omega, zeta).residual(aside, zeta)
    assert once[3] / once[2] == pytest.approx(2, rel=0.02)  # the modulus grows as |d omega|, or as its square
    assert twice[3] / twice[2] == pytest.approx(4, rel=0.02) and twice[0] / twice[1] == pytest.approx(4, rel=0.02)


def test_zv_without_damping_is_a_cosine_in_the_frequency():
    """V = |cos(pi/2 omega / omega_0)|, and ZVD its square."""
    omega = np.linspace(0.1, 30, 200)
    assert ZV(7.0).residual(omega) == pytest.approx(np.abs(np.cos(np.pi / 2 * omega / 7)), abs=1e-13)
    assert ZVD(7.0).residual(omega) == pytest.approx(np.cos(np.pi / 2 * omega / 7) ** 2, abs=1e-13)


@pytest.mark.parametrize("zeta", [0.0, 0.02, 0.1, 0.3, 0.4])
@pytest.mark.parametrize("V", [0.01, 0.05, 0.1])
def test_ei_is_its_definition(V, zeta):
    """V at the frequency, none at one below and one above, less than V between but for the shift of the hump."""
    omega = 7.0
    impulses = EI(omega, zeta, V)
    assert impulses.residual(omega, zeta) == pytest.approx(V, rel=1e-9)
    grid = omega * np.linspace(0.4, 2.2, 18001)
    curve = impulses.residual(grid, zeta)
    lows = np.flatnonzero((curve[1:-1] < curve[:-2]) & (curve[1:-1] < curve[2:])) + 1
    below, above = lows[grid[lows] < omega][-1], lows[grid[lows] > omega][0]
    assert max(curve[below], curve[above]) < 1e-3 * V + 2e-4
    assert curve[below:above].max() < 1.04 * V
    assert impulses.duration == pytest.approx(2 * np.pi / (omega * np.sqrt(1 - zeta**2)), rel=1e-12)


def test_ei_without_damping_is_the_closed_form():
    V = 0.05
    times, amplitudes = EI(7.0, 0.0, V).impulses
    assert times == pytest.approx((0, np.pi / 7, 2 * np.pi / 7), abs=1e-12)
    assert amplitudes == pytest.approx(((1 + V) / 4, (1 - V) / 2, (1 + V) / 4), abs=1e-12)


@pytest.mark.parametrize("zeta", [0.05, 0.1, 0.2, 0.3])
def test_ei_is_near_the_published_fit(zeta):
    """Singhose, Seering & Singer's polynomials for V = 0.05, fitted for damping ratios up to 0.3."""
    V, z = 0.05, zeta
    first = 0.24968 + 0.24962 * V + 0.80008 * z + 1.23328 * V * z + 0.49599 * z**2 + 3.17316 * V * z**2
    last = 0.25149 + 0.21474 * V - 0.83249 * z + 1.41498 * V * z + 0.85181 * z**2 - 4.90094 * V * z**2
    middle = 0.5 + 0.46159 * V * z + 4.26169 * V * z**2 + 1.75601 * V * z**3
    middle += 8.57843 * V**2 * z - 108.644 * V**2 * z**2 + 336.989 * V**2 * z**3
    times, amplitudes = EI(2 * np.pi / np.sqrt(1 - z * z), z, V).impulses  # a damped period of 1 s
    assert amplitudes == pytest.approx((first, 1 - first - last, last), abs=3e-3)
    assert times == pytest.approx((0, middle, 1), abs=1e-3)


def test_robustness_has_its_order():
    """Within +-10 % of the frequency ZV leaves 16 %, EI 5 %, ZVD 2.5 %; EI holds 5 % widest."""
    omega = np.linspace(0.9, 1.1, 201)
    worst = {kind: KINDS[kind](1.0).residual(omega).max() for kind in KINDS}
    assert worst == pytest.approx({"zv": np.sin(np.pi * 0.05), "zvd": np.sin(np.pi * 0.05) ** 2, "ei": 0.05}, abs=1e-9)

    def width(kind):
        grid = np.linspace(0.5, 1.5, 10001)
        return (KINDS[kind](1.0).residual(grid) <= 0.05 + 1e-12).mean()

    assert width("zv") == pytest.approx(0.0637, abs=1e-3)  # 2 * 2 / pi * asin(0.05)
    assert width("zvd") == pytest.approx(0.287, abs=1e-3)
    assert width("ei") == pytest.approx(0.3995, abs=1e-3)  # cos(pi omega) from -1 to (3 V - 1) / (1 + V)


def insensitivity(shaper, omega=1.0, zeta=0.0, V=0.05):
    """Width over the frequency of the band around it in which an oscillator keeps V at most."""

    def excess(r):
        return rung(shaper, r * omega, zeta) - V

    def edge(step):
        r = 1.0
        while excess(r + step) <= 1e-9:
            r += step
        return brentq(lambda x: excess(x) - 1e-9, r, r + step)

    return edge(1e-3) - edge(-1e-3)


def test_insensitivities_are_those_published():
    """At 5 %: Singhose's review of 2009 gives 0.06 for ZV and UM-ZV, 0.29, 0.40 and 0.72 to 0.73 for two humps."""
    V, a = 0.05, 2 * np.pi / 3
    assert insensitivity(ZV(1.0)) == pytest.approx(0.06, abs=0.005)
    assert insensitivity(ZVD(1.0)) == pytest.approx(0.29, abs=0.005)
    assert insensitivity(EI(1.0)) == pytest.approx(0.40, abs=0.005)
    assert insensitivity(EI(1.0, humps=2)) == pytest.approx(0.72, abs=0.01)
    assert insensitivity(UMZV(1.0)) == pytest.approx(0.06, abs=0.005)
    # closed forms: V(r) is cos^3(pi r / 2), a cosine and its mean, a Chebyshev polynomial, |2 cos(pi r / 3) - 1|
    assert insensitivity(ZVDD(1.0)) == pytest.approx(4 / np.pi * np.arcsin(V ** (1 / 3)), abs=1e-6)
    within = np.arccos((3 * np.array([-V, V]) - 1) / 2) / a
    assert insensitivity(MZV(1.0, duration=2 / 3)) == pytest.approx(within[0] - within[1], abs=1e-6)
    for humps in (1, 2, 3):
        edge = 1 / np.cosh(np.arccosh(1 / V) / (humps + 1))
        assert insensitivity(EI(1.0, humps=humps)) == pytest.approx(4 / np.pi * np.arcsin(edge), abs=1e-6)
    within = np.arccos((1 + np.array([-V, V])) / 2) * 3 / np.pi
    assert insensitivity(UMZV(1.0)) == pytest.approx(within[0] - within[1], abs=1e-6)


@pytest.mark.parametrize("zeta", [0.0, 0.03, 0.2, 0.5])
@pytest.mark.parametrize("kind", [ZVDD, MZV, UMZV, PSZV, lambda w, z: MZV(w, z, 0.9), lambda w, z: PSZV(w, z, 3.0)])
def test_no_vibration_remains_at_the_frequency(kind, zeta):
    shaper = kind(7.0, zeta)
    assert rung(shaper, 7.0, zeta) < 1e-12 and sum(shaper.amplitudes) == pytest.approx(1, abs=1e-14)
    assert rung(shaper, 8.0, zeta) > 1e-6


def test_modified_zv_lies_between_zv_and_zvd():
    """The impulses of Klipper's firmware and of Shan, Liu & Sun, and the limits."""
    omega, z = 7.0, 0.1
    period = 2 * np.pi / (omega * np.sqrt(1 - z * z))
    K = np.exp(-0.75 * z * np.pi / np.sqrt(1 - z * z))
    klipper = np.array([1 - np.sqrt(0.5), (np.sqrt(2) - 1) * K, (1 - np.sqrt(0.5)) * K * K])
    times, amplitudes = MZV(omega, z).impulses
    assert times == pytest.approx((0, 0.375 * period, 0.75 * period), rel=1e-14)
    assert amplitudes == pytest.approx(klipper / klipper.sum(), rel=1e-12)
    third = np.exp(-2 * np.pi * z / np.sqrt(1 - z * z) / 3) ** np.arange(3)
    assert MZV(omega, z, 2 / 3).amplitudes == pytest.approx(third / third.sum(), rel=1e-12)
    assert MZV(omega, z, 1.0).amplitudes == pytest.approx(ZVD(omega, z).amplitudes, rel=1e-12)
    nearly = MZV(omega, z, 0.5 + 1e-9)
    assert nearly.amplitudes == pytest.approx((ZV(omega, z).amplitudes[0], 0, ZV(omega, z).amplitudes[1]), abs=1e-8)
    assert nearly.duration == pytest.approx(ZV(omega, z).duration, rel=1e-8)


@pytest.mark.parametrize(("humps", "zeta"), [(2, 0.0), (2, 0.1), (2, 0.3), (3, 0.0), (3, 0.1), (3, 0.2)])
def test_ei_with_several_humps_is_its_definition(humps, zeta):
    """The residual touches zero humps + 1 times, with humps as high as the tolerance between."""
    omega, V = 7.0, 0.03
    shaper = EI(omega, zeta, V, humps)
    assert min(shaper.amplitudes) > 0 and sum(shaper.amplitudes) == pytest.approx(1, abs=1e-14)
    grid = omega * np.linspace(0.3, 2.4, 42001)
    curve = np.array([rung(shaper, w, zeta) for w in grid[::10]]) if zeta else shaper.residual(grid, zeta)
    grid = grid[::10] if zeta else grid
    inner, before, after = curve[1:-1], curve[:-2], curve[2:]
    zeros = np.flatnonzero((inner < before) & (inner < after) & (inner < 0.1 * V)) + 1
    assert len(zeros) == humps + 1
    tops = np.flatnonzero((inner > before) & (inner > after)) + 1
    tops = tops[(tops > zeros[0]) & (tops < zeros[-1])]
    assert len(tops) == humps
    middle = humps // 2 if humps % 2 else None
    for k, top in enumerate(tops):
        assert curve[top] == pytest.approx(V, rel=1e-4 if k != middle else 0.05)
    assert rung(shaper, omega, zeta) == pytest.approx(V * (humps % 2), abs=1e-12)


def test_ei_with_several_humps_without_damping_is_the_closed_form():
    """Singhose, Porter, Tuttle & Singer 1997."""
    V = 0.05
    X = (V**2 * (np.sqrt(1 - V**2) + 1)) ** (1 / 3)
    A1 = (3 * X**2 + 2 * X + 3 * V**2) / (16 * X)
    assert EI(7.0, humps=2).amplitudes == pytest.approx((A1, 0.5 - A1, 0.5 - A1, A1), abs=1e-12)
    A1, A2 = (1 + 3 * V + 2 * np.sqrt(2 * (V**2 + V))) / 16, (1 - V) / 4
    assert EI(7.0, humps=3).amplitudes == pytest.approx((A1, A2, 1 - 2 * (A1 + A2), A2, A1), abs=1e-12)
    assert EI(7.0, humps=3).times == pytest.approx(np.pi / 7 * np.arange(5), abs=1e-12)


@pytest.mark.parametrize("z", [0.03, 0.1])
def test_two_humps_are_near_the_published_fit(z):
    """Singhose, Seering & Singer's polynomials for V = 0.05."""
    first = 0.16054 + 0.76699 * z + 2.26560 * z**2 - 1.22750 * z**3
    second = 0.33911 + 0.45081 * z - 2.58080 * z**2 + 1.73650 * z**3
    third = 0.34089 - 0.61533 * z - 0.68765 * z**2 + 0.42261 * z**3
    times = (
        0.0,
        0.49890 + 0.16270 * z - 0.54262 * z**2 + 6.16180 * z**3,
        0.99748 + 0.18382 * z - 1.58270 * z**2 + 8.17120 * z**3,
        1.49920 - 0.09297 * z - 0.28338 * z**2 + 1.85710 * z**3,
    )
    shaper = EI(2 * np.pi / np.sqrt(1 - z * z), z, 0.05, 2)  # a damped period of 1 s
    assert shaper.amplitudes == pytest.approx((first, second, third, 1 - first - second - third), abs=2e-3)
    assert shaper.times == pytest.approx(times, abs=1e-2)


def test_negative_shapers_are_the_published_ones():
    """Singhose, Singer & Seering 1997: UM-ZV over a third of a period; PS-ZV at 0.2098 and 0.2902 periods for P = 1."""
    period = 2 * np.pi / 7
    assert UMZV(7.0).impulses == (pytest.approx((0, period / 6, period / 3), rel=1e-12), (1, -1, 1))
    assert PSZV(7.0).times == pytest.approx((0, 0.20978 * period, 0.29022 * period), abs=1e-5)
    for P in (1.0, 1.7, 6.0):
        shaper = PSZV(7.0, 0.1, P)
        assert np.cumsum(shaper.amplitudes) == pytest.approx([P, -P, 1.0])
        assert shaper.duration < PSZV(7.0, 0.1, P / 1.5).duration if P > 1.5 else shaper.duration < period / 2
    # the published fit of UM-ZV, in damped periods
    z = 0.1
    found = np.array(UMZV(7.0, z).times) / period
    assert found[1] == pytest.approx(0.16724 + 0.27242 * z + 0.20345 * z**2, abs=3e-3)
    assert found[2] == pytest.approx(0.33323 + 0.00533 * z + 0.17914 * z**2 + 0.20125 * z**3, abs=3e-3)


def test_a_product_cancels_what_each_factor_cancels():
    a, b = ZVD(5.0, 0.1), ZV(13.0, 0.02)
    both = a * b
    assert both.residual(5.0, 0.1) < 1e-14 and both.residual(13.0, 0.02) < 1e-14
    assert len(both.times) == 6 and sum(both.amplitudes) == pytest.approx(1, abs=1e-14)
    assert both.duration == a.duration + b.duration
    assert (b * a).times == pytest.approx(both.times) and (b * a).amplitudes == pytest.approx(both.amplitudes)
    assert a * ONE == a
    grid = np.linspace(1, 30, 50)
    assert both.residual(grid) == pytest.approx(a.residual(grid) * b.residual(grid), abs=1e-14)


def test_zvd_is_zv_twice():
    K, half = np.exp(-0.1 * np.pi / np.sqrt(0.99)), np.pi / (7 * np.sqrt(0.99))
    times, amplitudes = ZVD(7.0, 0.1).impulses
    assert times == pytest.approx((0, half, 2 * half))
    assert amplitudes == pytest.approx(np.array([1, 2 * K, K * K]) / (1 + K) ** 2)


# -- shaped motions and torques ----------------------------------------------------------------------------------------


def test_a_shaped_reference_is_the_sum_of_its_copies():
    reference, impulses = Quintic([0.3, 1.0], [1.5, -1.0], 1.0), ZVD(9.0, 0.05)
    t = np.linspace(-1, 3, 81)
    copies = [A * derivatives(reference, t - late, 2) for late, A in zip(*impulses.impulses, strict=True)]
    assert derivatives(shaped(reference, impulses), t, 2) == pytest.approx(sum(copies), abs=1e-11)


def test_a_shaped_motion_keeps_its_ends():
    late = shaped(Quintic([0.3], [1.5], 1.0), ZVD(9.0, 0.05))
    q, qd, qdd = derivatives(late, [-5.0, 0.0, 1.0 + late.shaper.duration, 9.0], 2)[..., 0]
    assert q == pytest.approx([0.3, 0.3, 1.5, 1.5], abs=ROUNDING) and np.abs([qd, qdd]).max() < ROUNDING
    before_the_end = derivatives(late, [1.0 + 0.9 * late.shaper.duration], 1)
    assert before_the_end[1] > 1e-3


def test_a_copy_stands_until_its_impulse_comes():
    """A cycloid goes on for ever in both directions; shaped, nothing moves before its time."""
    k, T, late = 0.5, 0.8, np.pi / 9
    moved = reference_values(shaped(Cycloidal([k], [T]), ZV(9.0)), [-1.0, 0.0, 0.7 * late, 2.0])[:, 0]

    def cycloid(t):
        return k * (t - T / np.pi * np.sin(np.pi * t / T))

    expected = [0, 0, cycloid(0.7 * late) / 2, (cycloid(2.0) + cycloid(2.0 - late)) / 2]
    assert moved == pytest.approx(expected, abs=ROUNDING)


def test_jumps_are_shaped_too():
    late = ZV(10.0).times[1]
    blends = shaped(ParabolicBlends([0], [1], 1.0, 0.2), ZV(10.0))
    own = np.array([0.0, 0.2, 0.8, 1.0])
    assert jumps_of(blends) == pytest.approx(np.sort(np.concatenate([own, own + late])))
    assert len(jumps_of(shaped(Quintic([0], [1], 1.0), ZV(10.0)))) == 0

    class Ramp:
        """Accelerates from the first: its copies begin with jumps that it does not tell."""

        def expression(self, t):
            return [t**2]

        def described(self):
            return "a parabola"

    assert jumps_of(shaped(Ramp(), ZV(10.0))) == pytest.approx([0, late])


def test_a_shaped_torque_has_the_same_impulse_and_shaped_steps():
    torque, impulses = fa.bang_bang([2.0, 1.0], 0.5, start=0.1), EI(9.0, 0.05)
    late = shaped(torque, impulses)
    assert type(late) is fa.Piecewise
    t = np.random.default_rng(7).uniform(-1, 3, 300)

    def values(u, t):
        return np.vstack([0 * u.values_[:1], u.values_])[np.searchsorted(u.times, t, side="right")]

    copies = [A * values(torque, t - d) for d, A in zip(*impulses.impulses, strict=True)]
    assert values(late, t) == pytest.approx(sum(copies), abs=1e-14)
    first = np.array(torque.values_[:2].sum(axis=0))
    assert (np.diff(late.times) @ late.values_[:-1]) == pytest.approx(0.5 * first, abs=1e-13)


def test_a_constant_torque_shaped_is_itself():
    from flexarm.simulation.inputs import constant

    late = shaped(constant([2.0, 1.0]), ZVD(9.0))
    assert late.times.tolist() == [-np.inf] and late.values_[0] == pytest.approx([2.0, 1.0])


# -- an arm's own shaper -----------------------------------------------------------------------------------------------


def beam(damping=0.0, modes=1, payload=0.3, **joint):
    body = fa.Beam(length=1.0, mass=0.5, EI=5.0, modes={"y": modes}, damping=damping, shapes="clamped-free")
    link = fa.Link(name="beam", joint=fa.Revolute(**joint), body=body, hub_inertia=0.1)
    return fa.Model(fa.Arm(name="beam", links=[link], payload=fa.Payload(mass=payload, inertia=1e-3)))


def test_undamped_vibrations_are_the_frequencies():
    for name in ("subudhi-morris", "canadarm", "subudhi-morris-elastic"):
        model = fa.Model(fa.load(name))
        q = np.random.default_rng(8).uniform(-1, 1, len(model.coordinates)) * 0.01
        for locked in (True, False):
            frequencies = model.frequencies(q, locked)
            omega, zeta = vibrations(model, q, locked)
            assert omega == pytest.approx(frequencies[frequencies > 0]) and not zeta.any()


def test_the_damping_of_one_mode_is_its_damping_ratio():
    """The shape's ratio is that of the beam alone; the payload slows the mode, and c / (2 sqrt(k m)) falls with it."""
    bare, loaded = (vibrations(beam(damping=0.04, payload=m), np.zeros(2)) for m in (1e-9, 0.3))
    assert bare[1] == pytest.approx([0.04], rel=0.1)  # the payload's inertia of 1e-3 is still there
    assert loaded[1] / bare[1] == pytest.approx(loaded[0] / bare[0], rel=1e-9)


def test_damped_vibrations_are_the_poles_of_the_linear_model():
    arm = fa.load("subudhi-morris-elastic")
    links = [
        link.replace(
            body=link.body.replace(damping=(0.03, 0.05)),
            joint=link.joint.replace(damping=0.05, spring_damping=0.3),
        )
        for link in arm.links
    ]
    model = fa.Model(arm.replace(links=links))
    q = np.zeros(len(model.coordinates))
    q[:2] = q[-2:] = 0.3, 0.8
    poles = np.linalg.eigvals(model.linearize(q, 0 * q, np.zeros(2)).A)
    poles = poles[poles.imag > 1e-4]
    poles = poles[np.argsort(np.abs(poles))]
    omega, zeta = vibrations(model, q, locked=False)
    assert omega == pytest.approx(np.abs(poles), rel=1e-8)
    assert zeta == pytest.approx(-poles.real / np.abs(poles), rel=1e-6)
    assert 0.001 < zeta.min() < zeta.max() < 0.9


def left(model, reference, end, span=4.0):
    """Complex amplitude of the first flexible coordinate at `end`, and the largest deflection of a tip later on."""
    result = fa.simulate(
        model,
        end + span,
        u=fa.PrescribedMotion(reference),
        samples=2001,
        solver=fa.Solver(rtol=1e-11, atol=1e-14),
        progress=False,
    )
    omega, zeta = (x[0] for x in vibrations(model, result.q.values[-1]))
    at = int(np.searchsorted(result.time.values, end))
    t, x, v = result.time.values[at], result.q.values[at, 1], result.qd.values[at, 1]
    start = abs(x - 1j * (v + zeta * omega * x) / (omega * np.sqrt(1 - zeta**2)))
    return start * np.exp(zeta * omega * (t - end)), float(np.abs(result.deflection[at:, :, 1]).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("error", [0.8, 1.0, 1.15])
def test_a_link_keeps_the_vibration_that_theory_says(kind, damping, error):
    """Small motion of one mode: the shaped motion leaves V(omega) of what the unshaped one leaves, omega being off."""
    model, T = beam(damping), 0.4
    omega, zeta = (float(x[0]) for x in vibrations(model, np.zeros(2)))
    slew = Quintic([0.0], [1e-3], T)
    impulses = KINDS[kind](omega * error, zeta)
    before, _ = left(model, slew, T)
    after, _ = left(model, shaped(slew, impulses), T + impulses.duration)
    assert after / before == pytest.approx(float(impulses.residual(omega, zeta)), abs=2e-5)


@pytest.mark.parametrize("kind", [*KINDS, "zvdd", "mzv", "two-hump-ei", "three-hump-ei", "um-zv", "ps-zv"])
@pytest.mark.parametrize("angle", [0.1, 1.0])
def test_a_shaper_made_from_the_arm_calms_it(kind, angle):
    """A tenth at most, with the arm as modelled and in a large motion too, where the link softens as it turns.

    Negative impulses make the large motion faster, and the link softer.
    """
    model, T, share = beam(), 0.5, 0.15 if angle == 1.0 and kind in ("um-zv", "ps-zv") else 0.1
    slew = BangBang([0.0], [angle], T)
    impulses = design_shaper(model, [angle, 0.0], kind)
    assert left(model, shaped(slew, impulses), T + impulses.duration)[1] < share * left(model, slew, T)[1]


def test_robust_shapers_hold_with_half_as_much_payload_again():
    """Two flexible links, a large motion; the shapers know the nominal arm, whose slowest mode falls by 14 %."""
    arm, end, T = fa.load("subudhi-morris"), [np.pi / 2, np.pi / 6], 2.0
    nominal, heavy = fa.Model(arm), fa.Model(arm.replace(payload=fa.Payload(mass=0.15, inertia=0.0075)))
    q = np.array([*end, 0, 0, 0, 0])

    def swing(model, impulses):
        reference = shaped(Quintic([0, 0], end, T), impulses)
        stop = T + impulses.duration
        result = fa.simulate(model, stop + 3, u=fa.PrescribedMotion(reference), samples=2001, progress=False)
        late = result.tip.values[result.time.values > stop]
        return np.linalg.norm(late - model.tip(q)[:3, 3], axis=1).max()

    shapers = [ONE, *(design_shaper(nominal, q, kind) for kind in ("zv", "zvd", "ei"))]
    none, zv, zvd, ei = (swing(nominal, s) for s in shapers)
    assert zv < none / 10 and zvd < zv / 2 and ei < 0.06 * none
    none, zv, zvd, ei = (swing(heavy, s) for s in shapers)
    assert 0.2 * none < zv < 0.3 * none and zvd < 0.1 * none and ei < 0.05 * none


def test_a_shaper_for_two_modes_calms_both():
    """A short motion shakes both modes; shaping the first leaves the second."""
    model, T = beam(modes=2), 0.1
    slew = BangBang([0.0], [0.02], T)
    one, two = (design_shaper(model, np.zeros(3), "zv", modes) for modes in (1, 2))
    none, first, both = (left(model, shaped(slew, s), T + s.duration)[1] for s in (ONE, one, two))
    assert none > 10 * first > 100 * both > 0


def test_shaped_torques_calm_a_free_arm():
    """Bang-bang torque on a free joint: its frequencies are those of the free arm."""
    model, torque = beam(), fa.bang_bang(0.05, 0.2)
    impulses = design_shaper(model, np.zeros(2), "zv", locked=False)

    def swing(u, end):
        result = fa.simulate(
            model, end + 3, u=u, samples=2001, solver=fa.Solver(rtol=1e-10, atol=1e-13), progress=False
        )
        return np.abs(result.q.values[result.time.values > end, 1]).max()

    assert swing(shaped(torque, impulses), 0.4 + impulses.duration) < 0.02 * swing(torque, 0.4)
    wrong = design_shaper(model, np.zeros(2), "zv")  # of the arm with its joint held
    assert swing(shaped(torque, wrong), 0.4 + wrong.duration) > 0.2 * swing(torque, 0.4)


def test_a_shaper_is_the_product_of_its_modes():
    model = fa.Model(fa.load("subudhi-morris"))
    q = np.array([0.4, 0.7, 0, 0, 0, 0])
    omega = model.frequencies(q)
    assert design_shaper(model, q) == ONE * ZVD(omega[0])
    humps = EI(omega[0], 0, 0.02, 2) * EI(omega[1], 0, 0.02, 2)
    assert design_shaper(model, q, "two-hump-ei", 2, tolerance=0.02) == humps
    assert design_shaper(model, q, "three-hump-ei", tolerance=0.03) == ONE * EI(omega[0], 0, 0.03, 3)
    for kind, made in {"zvdd": ZVDD, "mzv": MZV, "um-zv": UMZV, "ps-zv": PSZV}.items():
        assert design_shaper(model, q, kind) == ONE * made(omega[0])
    assert design_shaper(model, q, "EI", 2, tolerance=0.02) == ONE * EI(omega[0], 0, 0.02) * EI(omega[1], 0, 0.02)


NAN = float("nan")
WRONG = [
    (lambda: Quintic([0], [1, 2], 1.0), "Quintic: 1 start for 2 ends; give one of each per joint"),
    (lambda: Quintic([0], [NAN], 1.0), r"Quintic: end\[0\] is nan; it must be finite"),
    (lambda: Quintic("a", [1], 1.0), "Quintic: start is 'a'; it must be a list of numbers"),
    (lambda: Quintic([0], [1], 0), "Quintic: duration is 0.0 s; it must be positive"),
    (lambda: BangBang([0], [1, 2], 1.0), "BangBang: 1 start for 2 ends"),
    (lambda: BangBang([0], [1], -1.0), "BangBang: duration is -1.0 s; it must be positive"),
    (
        lambda: ParabolicBlends([0], [1, 2], 1.0, 0.1),
        "ParabolicBlends: 1 start for 2 ends; give one of each per joint",
    ),
    (lambda: MinimumJerk([0, 1], [0]), "MinimumJerk: times has 1 number; it must have at least 2"),
    (lambda: MinimumJerk([0, 1], [0, 1, 2]), "MinimumJerk: 2 points for 3 times; give one time for each point"),
    (lambda: MinimumJerk([0, 1], [1, 1]), r"MinimumJerk: times\[1\] is 1.0 s after 1.0 s; times must increase"),
    (
        lambda: MinimumJerk([[0, 1], [1]], [0, 1]),
        r"MinimumJerk: points\[1\] has 1 joint and points\[0\] has 2",
    ),
    (lambda: MinimumJerk([[0, NAN]], [0, 1]), r"MinimumJerk: points\[0\]\[1\] is nan; it must be finite"),
    (lambda: MinimumJerk(3, [0, 1]), "MinimumJerk: points is 3; it must be a list of points"),
    (lambda: Shaper([0, 1], [1]), "Shaper: times has 2 numbers and amplitudes has 1"),
    (lambda: Shaper([0, 0], [0.5, 0.5]), r"Shaper: times is \[0.0, 0.0\]; they must increase from 0 or later"),
    (lambda: Shaper([-1, 0], [0.5, 0.5]), "they must increase from 0 or later"),
    (lambda: Shaper([0, 1], [0.5, 0.6]), "Shaper: amplitudes has the sum 1.1; it must be 1"),
    (lambda: ZV(0.0), "ZV: frequency is 0.0 rad/s; it must be positive"),
    (lambda: ZVD(1.0, 1.0), "damping_ratio is 1.0; it must be at least 0 and less than 1"),
    (lambda: ZV(1.0, -0.1), "ZV: damping_ratio is -0.1; it must be at least 0 and less than 1"),
    (lambda: EI(1.0, 0.6), r"EI: damping_ratio is 0.6; it must be from 0 to 0.4 \(ZV and ZVD allow more\)"),
    (lambda: EI(1.0, 0.31, humps=2), r"EI: damping_ratio is 0.31; it must be from 0 to 0.3 \(ZV and ZVD allow more\)"),
    (lambda: EI(1.0, 0.21, humps=3), r"EI: damping_ratio is 0.21; it must be from 0 to 0.2 \(ZV and ZVD allow more\)"),
    (lambda: EI(1.0, humps=4), "EI: humps is 4; it must be an integer from 1 to 3"),
    (lambda: EI(1.0, humps=0), "EI: humps is 0; it must be an integer from 1 to 3"),
    (lambda: MZV(1.0, duration=0.5), r"MZV: duration is 0.5 damped periods; it must be above 0.5 \(ZV\) and at most 1"),
    (lambda: UMZV(1.0, 0.6), r"UMZV: damping_ratio is 0.6; it must be from 0 to 0.5 \(ZV and ZVD allow more\)"),
    (lambda: PSZV(1.0, 0.6), r"PSZV: damping_ratio is 0.6; it must be from 0 to 0.5"),
    (lambda: PSZV(1.0, peak=0.9), "PSZV: peak is 0.9; it must be from 1 to 10"),
    (lambda: EI(1.0, 0.0, 0.5), "EI: tolerance is 0.5; it must be positive and at most 0.1"),
    (
        lambda: design_shaper(beam(), np.zeros(2), "zvddd"),
        "shaper: kind is 'zvddd'; did you mean 'zvdd'. It must be one of zv",
    ),
    (
        lambda: design_shaper(beam(), np.zeros(2), None),
        "shaper: kind is None; it must be one of zv, zvd, zvdd, mzv, ei, two-",
    ),
    (lambda: design_shaper(beam(), np.zeros(2), modes=2), "shaper: modes is 2; it must be an integer from 1 to 1"),
    (lambda: design_shaper(beam(), np.zeros(2), modes=0), "shaper: modes is 0; it must be an integer from 1 to 1"),
    (lambda: design_shaper(beam(), np.zeros(2), modes=1.5), "shaper: modes is 1.5; it must be an integer from 1 to 1"),
    (lambda: design_shaper(beam(modes=0), np.zeros(1)), "shaper: modes is 1; the arm has no vibration"),
    (lambda: design_shaper(beam(), np.zeros(3)), "q has shape"),
    (lambda: shaped(Quintic([0], [1], 1.0), "zv"), "shaped: shaper is 'zv'; it must be a Shaper, such as ZV"),
    (lambda: shaped(fa.Table([0, 1], [0, 1]), ZV(1.0)), "shaped: cannot shape Table.*; it must be a reference or a P"),
    (lambda: shaped(fa.Piecewise, ZV(1.0)), "shaped: cannot shape <class"),
]


@pytest.mark.parametrize(("make", "line"), WRONG, ids=[line[:40] for _, line in WRONG])
def test_what_is_wrong_is_said_in_one_line(make, line):
    with pytest.raises(fa.DescriptionError, match=line) as caught:
        make()
    assert str(caught.value).isprintable()
