"""Motions corrected on native runs: slopes against other integrators, steps and their multipliers, the cost, linear
programs; several stretches, places on the way, several arms."""

from dataclasses import replace
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
import small_arms
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, linprog, minimize_scalar
from small_arms import turning

import flexarm as fa
from flexarm.optimal import optimal_motion, plants, search
from flexarm.optimal.collocation import Grid
from flexarm.optimal.correction import corrected, improved
from flexarm.optimal.expense import Expense
from flexarm.optimal.outcome import joined
from flexarm.optimal.program import found_on, grids, transcribed, unpacked
from flexarm.optimal.shooting import Course, Goal, Plant, Within, in_metres
from flexarm.optimal.start import prescribed
from flexarm.optimal.step import Allowed, moved, seen, step, ways
from flexarm.optimal.task import asked
from flexarm.optimal.variations import variations
from flexarm.trajectory import reference_values

SOON = {"intervals": 12, "most_intervals": 12}
NEVER = bool  # what stops a search: false


@pytest.fixture(scope="module")
def masses():
    return small_arms.two_masses()


@pytest.fixture(scope="module")
def slide():
    return small_arms.slide()


@pytest.fixture(scope="module")
def hub():
    return fa.Model(turning(8.0))


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


def matrices(model):
    """A and B of a linear arm: M qdd + K q = b u, here without damping."""
    n, q = model.nv, np.zeros(model.nv)
    M, K = model.mass_matrix(q), np.array(model.slope("restoring_force", 0)(q))
    b = np.linalg.solve(M, model.evaluate("input_matrix", q)[:, :1])
    zero = np.zeros((n, n))
    return np.block([[zero, np.eye(n)], [-np.linalg.solve(M, K), zero]]), np.vstack([np.zeros((n, 1)), b])


def carried(model, h, linear):
    """What an interval makes of a state (first result) and of the inputs of one drive, held or at both ends: exact."""
    A, B = matrices(model)
    n, m = B.shape
    zero = np.zeros((m, n + m))
    if not linear:
        whole = expm(h * np.block([[A, B], [zero, np.zeros((m, 0))]]))
        return whole[:n, :n], whole[:n, n:]
    rows = [[A, B, np.zeros((n, m))], [zero, np.eye(m) / h], [np.zeros((m, n + 2 * m))]]
    whole = expm(h * np.block(rows))
    first, climb = whole[:n, n : n + m], whole[:n, n + m :]
    return whole[:n, :n], np.hstack([first - climb, climb])


def course_of(rng, model, durations, intervals, linear, size=1.0):
    """A course of a random state and of random inputs: a gap at the end of every interval."""
    u = rng.uniform(-size, size, (intervals + linear, len(model.inputs)))
    return Course(np.array(durations), u, (0.3 * size * rng.normal(size=(intervals + 1, 2 * model.nv)),))


def plant_of(model, end, intervals, within=(), box=0.0):
    """From rest at zero to rest at an end (nq,), all of the state within a box."""
    metres = in_metres(model, end, 1.0)
    at = np.append(end, np.zeros(model.nv))
    goals = [Goal(intervals, metres, at, np.full(len(at), box))]
    return Plant(model, np.zeros(len(at)), metres, goals, list(within))


def allowed_of(m, most=np.inf, slope=np.inf, ends=None, fixed=False):
    return Allowed(np.ones(m), np.full(m, most), np.full(m, slope), ends, fixed)


def coordinate(i, n, lower, upper, name="joint_range"):
    """lower <= x_i <= upper of states (k, 2n)."""
    slope = np.eye(2 * n)[[i]]
    return Within(name, lambda x: (x[:, [i]], np.tile(slope, (len(x), 1, 1))), np.array([lower]), np.array([upper]))


# -- courses and their slopes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize(("turns", "damping"), [(0.1, 0.0), (3.0, 0.3), (60.0, 0.02), (900.0, 1.5)])
def test_first_order_changes_are_those_of_other_integrators(turns, damping, linear):
    """Random linear systems whose slopes change, of different lengths of intervals; the fastest mode turns that far."""
    rng = np.random.default_rng(7)
    N, n, m, parts = 3, 4, 2, 2
    pieces = max(3, int(np.ceil(1.3 * turns / (2.0 * parts))))
    lasts, samples = np.array([0.7, 1.0, 1.3]), parts * pieces + 1
    modes, omega = np.linalg.qr(rng.normal(size=(n, n)))[0], turns * np.array([0.02, 0.1, 0.4, 1.0])
    way = rng.normal(size=(n, 2 * n)) * np.repeat([1.0, 0.2], n) * np.minimum(1.0, omega[:, None])
    inward = rng.normal(size=(2, n, m))

    def slopes(t):
        """A and B of an interval of any length, at a share t of it."""
        A = np.hstack([-modes @ np.diag(omega**2) @ modes.T, -damping * modes @ np.diag(omega) @ modes.T])
        return A + modes @ (way * np.sin(3.0 * t)), inward[0] + inward[1] * np.cos(2.0 * t)

    to_x, to_u = (np.stack(each) for each in zip(*map(slopes, np.linspace(0.0, 1.0, samples)), strict=True))
    found = variations(np.tile(to_x, (N, 1, 1, 1)), np.tile(to_u, (N, 1, 1, 1)), lasts, parts, linear)
    assert found.shape == (N, parts, 2 * n, 2 * n + (1 + linear) * m)
    columns = found.shape[3]

    def rates(t, y, h):
        dx = y.reshape(2 * n, columns)
        A, B = slopes(t / h)
        u = np.zeros((m, columns))
        u[:, 2 * n : 2 * n + m] = (1.0 - linear * t / h) * np.eye(m)
        if linear:
            u[:, 2 * n + m :] = t / h * np.eye(m)
        return np.concatenate([dx[n:], A @ dx + B @ u]).ravel()

    for k, h in enumerate(lasts):
        ends = h * np.arange(1, parts + 1) / parts
        run = solve_ivp(
            rates, (0.0, h), np.eye(2 * n, columns).ravel(), "DOP853", t_eval=ends, args=(h,), rtol=1e-10, atol=1e-12
        )
        wanted = run.y.T.reshape(parts, 2 * n, columns)
        np.testing.assert_allclose(found[k], wanted, rtol=0.0, atol=2e-3 * np.abs(wanted).max(axis=(1, 2)).min())


@pytest.mark.parametrize("size", [1e30, np.inf, np.nan])
def test_slopes_far_from_all_motions_have_no_changes(size):
    to_x = np.zeros((2, 5, 1, 2))
    to_x[1, :, 0, 0] = -size
    assert np.isnan(variations(to_x, np.ones((2, 5, 1, 1)), np.ones(2), 2, False)[1]).any()


def test_an_interval_has_enough_pieces_for_a_cubic():
    with pytest.raises(ValueError, match="an interval has 2 pieces; it must have at least 3"):
        variations(np.zeros((1, 3, 1, 2)), np.ones((1, 3, 1, 1)), np.ones(1), 1, False)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("name", ["masses", "slide"])
def test_the_slopes_of_an_interval_are_matrix_exponentials(name, linear, request):
    model = request.getfixturevalue(name)
    rng, end = np.random.default_rng(1), np.zeros(model.nq)
    course, plant = course_of(rng, model, [0.6, 1.0], 4, linear), plant_of(model, end, 4)
    W, back, x = plant.metres, np.linalg.inv(plant.metres), course.x[0]
    sizes = np.array([2.5])
    on, to_u, to_h = (each[:, -1] for each in plant.slopes(x[:-1], course, sizes))
    ends = plant.paths(x[:-1], course.pieces, course.steps, linear)[:, -1]
    for k, h in enumerate(course.steps):
        Phi, G = carried(model, h, linear)

        def after(h, k=k):
            Phi, G = carried(model, h, linear)
            return Phi @ x[k] + G @ course.pieces[k]

        longer = (after(h + 1e-6) - after(h - 1e-6)) / 2e-6
        np.testing.assert_allclose(ends[k], after(h), atol=1e-8)
        np.testing.assert_allclose(on[k], W @ Phi @ back, atol=2e-4)
        np.testing.assert_allclose(to_u[k], W @ G * 2.5, atol=2e-6)
        np.testing.assert_allclose(to_h[k], W @ longer, atol=2e-6)


@pytest.mark.parametrize("linear", [False, True])
def test_the_slopes_of_an_arm_that_is_not_linear_are_those_of_its_runs(planar, linear):
    """Along one random way in everything together, by central differences of other runs, Richardson's."""
    rng = np.random.default_rng(2)
    course = course_of(rng, planar, [0.2], 2, linear, 0.3)
    n, m, size = planar.nv, 2, np.array([0.5, 0.7])
    plant = replace(plant_of(planar, np.zeros(planar.nq), 2), parts=16)  # the fastest mode turns by 19 rad
    x = np.tile([*rng.uniform(-1, 1, 2), *np.full(4, 0.005), *np.full(n, 0.2)], (2, 1))
    on, to_u, to_h = (each[:, -1] for each in plant.slopes(x, course, size))
    dz, du, dh = rng.normal(size=2 * n), rng.normal(size=to_u.shape[2]), 0.05
    dz[[n - 1, -1]] = 0.0  # the fastest mode hardly moves the tip: so many metres bend it beyond what is linear
    dx, dv = np.linalg.solve(plant.metres, dz), du * np.tile(size, len(du) // m)

    def end(s):
        h, given = 0.1 + s * dh, course.pieces[0] + s * dv
        u = fa.Table(np.array([0.0, h]), given.reshape(2, m), "linear") if linear else given
        a = x[0] + s * dx
        run = fa.simulate(
            planar, h, u, a[:n], a[n:], samples=2, solver=fa.Solver(rtol=1e-11, atol=1e-13), progress=False
        )
        return plant.metres @ np.concatenate([run.q.values[-1], run.qd.values[-1]])

    by = {s: (end(s) - end(-s)) / (2 * s) for s in (1e-5, 2e-5)}
    wanted = (4 * by[1e-5] - by[2e-5]) / 3
    found = on[0] @ dz + to_u[0] @ du + to_h[0] * dh
    np.testing.assert_allclose(found, wanted, atol=2e-3 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("name", "torque", "T"),
    [
        ("canadarm", [170.0, 86.0, 9.0], 3.0),
        ("spatial-6r", [600.0, 900.0, 450.0, 90.0, 60.0, 30.0], 0.3),
        ("subudhi-morris-elastic", [0.5, 0.5], 0.5),
    ],
)
def test_the_slopes_of_a_search_follow_the_fastest_modes(name, torque, T):
    """Intervals in which the fastest mode turns by tens of radians, about a run with torques that jump."""
    model, N, torque = fa.Model(fa.load(name)), 12, np.array(torque)
    start, end = np.zeros(len(torque)), np.full(len(torque), 0.3)
    task = asked(model, start, end, {"torque": torque.tolist(), "joint_rate": 99.0}, "time", None, 1e-3)
    plant = plants._plant(task, [], N, np.pi / T)
    assert plant.pieces > 1
    u = np.random.default_rng(3).uniform(-1.0, 1.0, (N, len(torque))) * torque
    course = Course(np.array([T]), u, (np.tile(plant.start, (N + 1, 1)),))
    x, path = plant.run(course)
    course = replace(course, x=(x,), paths=(path,))
    on, to_u, _ = (each[:, -1] for each in plant.slopes(x[:-1], course, torque, path))
    eps, n = 1e-6, len(plant.start)
    for k in (1, 5, 10):
        begins = np.repeat(x[k][None], 2 * n, axis=0)
        begins[:n] += eps * plant.back.T
        begins[n:] -= eps * plant.back.T
        pieces, steps = np.repeat(u[k][None], 2 * n, axis=0), np.repeat(course.steps[k], 2 * n)
        ends = plant.paths(begins, pieces, steps, False)[:, -1]
        wanted = plant.metres @ (ends[:n] - ends[n:]).T / (2 * eps)
        np.testing.assert_allclose(on[k], wanted, rtol=0.0, atol=1e-2 * np.abs(wanted).max())


def test_the_solver_takes_few_steps_on_a_grid():
    """The slew of the Canadarm with torques that jump. With the library's scaling of its equations, 167 steps."""
    model = fa.Model(fa.load("canadarm"))
    ranges = [[-0.5, 1.5], [-0.5, 1.5], [-0.5, 2.0]]
    limits = {"torque": [1700.0, 860.0, 90.0], "deflection": 0.3, "joint_range": ranges}
    task = asked(model, [0.0, 0.0, 0.0], [0.75, 0.5, 1.0], limits, "time", None, 5e-4)
    known = prescribed(model, task.places, task.torque, None)
    solved = found_on(task, Grid(model, 20, 3), known, 300)[1]
    assert solved.found and solved.steps < 80


@pytest.mark.parametrize("linear", [False, True])
def test_parts_of_intervals_have_slopes_values_and_limits_of_their_own(slide, linear):
    """A linear arm over parts of its intervals, exactly; and a limit that only a part between two nodes exceeds."""
    rng, parts, sizes = np.random.default_rng(4), 3, np.array([1.7])
    course, plant = course_of(rng, slide, [0.6, 1.0], 4, linear), plant_of(slide, np.zeros(2), 4)
    plant, W, back, x = replace(plant, parts=parts, pieces=1), plant.metres, np.linalg.inv(plant.metres), course.x[0]
    path = plant.paths(x[:-1], course.pieces, course.steps, linear)
    found = plant.slopes(x[:-1], course, sizes)
    A, B = matrices(slide)
    generator = np.zeros((6, 6))
    generator[:4, :4], generator[:4, 4:5] = A, B
    assert path.shape == (4, parts, 4)
    for k, h in enumerate(course.steps):

        def state(j, h, k=k):
            grows = generator.copy()
            grows[4, 5] = linear / h  # the input, and how much it grows over the interval
            E = expm(grows * h * j / parts)
            a, b = course.pieces[k][[0, -1]]
            held = np.column_stack([E[:4, 4] - linear * E[:4, 5], E[:4, 5]][: 1 + linear])
            return E[:4, :4], held, E[:4, :4] @ x[k] + E[:4, 4] * a + E[:4, 5] * (b - a)

        for j in range(1, parts + 1):
            Phi, G, there = state(j, h)
            longer = (state(j, h + 1e-6)[2] - state(j, h - 1e-6)[2]) / 2e-6
            np.testing.assert_allclose(path[k, j - 1], there, atol=1e-8)
            for each, wanted in zip(found, (W @ Phi @ back, W @ G * 1.7, W @ longer), strict=True):
                np.testing.assert_allclose(each[k, j - 1], wanted, atol=2e-5)
    begin = seen([plant], course, whole=True)
    every = begin.course.paths[0]
    beyond = every[:, :-1].max(axis=(0, 1)) - every[:, -1].max(axis=0)
    i = int(beyond.argmax())
    y, most = every[..., i], every[..., i].max() - min(1e-3, beyond[i] / 2)
    k, j = np.unravel_index(y.argmax(), y.shape)
    assert beyond[i] > 1e-3 and j < parts - 1
    limited = replace(plant, within=[coordinate(i, 2, -9.0, most)])
    limited.goals[0] = replace(limited.goals[0], box=np.full(4, 99.0))  # nothing but the limit asks for a step
    now, allowed, active = seen([limited], course, whole=True), allowed_of(1), [set()]
    np.testing.assert_allclose(now.values[0][0][0].ravel(), y.ravel())
    ways_ = ways([limited], now.course, allowed)
    taken = step([limited], now, ways_, allowed, active)
    d = np.append(taken.u.ravel(), taken.durations)
    after = y.ravel() + (back @ ways_[0].after(d).reshape(4 * parts, 4, 1))[:, i, 0]
    assert after.max() == pytest.approx(most, abs=1e-5) and (int(k * parts + j), 0) in active[0]


@pytest.mark.parametrize("linear", [False, True])
def test_a_run_goes_through_the_stretches_one_after_the_other(slide, linear):
    rng = np.random.default_rng(3)
    course = course_of(rng, slide, [0.3, 0.9, 0.6], 6, linear)
    np.testing.assert_allclose(course.times, [0.0, 0.15, 0.3, 0.75, 1.2, 1.5, 1.8], atol=1e-15)
    plant = plant_of(slide, np.zeros(2), 6)
    x, found = np.zeros(4), plant.run(course)[0]
    for k, h in enumerate(course.steps):
        np.testing.assert_allclose(found[k], x, atol=1e-7)
        Phi, G = carried(slide, h, linear)
        x = Phi @ x + G @ course.pieces[k]
    np.testing.assert_allclose(found[-1], x, atol=1e-7)


def test_deviations_in_metres_are_ways_of_the_tips():
    """Of links that turn, bend and stand behind springs, seen by differences of places; and rates over frequencies."""
    arm = fa.load("subudhi-morris-elastic")
    model, rng = fa.Model(arm), np.random.default_rng(4)
    q, n = np.zeros(model.nq), model.nv
    joints = np.zeros((n, 2))
    joints[list(arm.joints), [0, 1]] = 1.0
    joints[list(arm.actuated), [0, 1]] = 1.0  # its gears turn one to one
    q = q + joints @ rng.uniform(-1, 1, 2)
    omega, modes = model.modes(q)
    W = in_metres(model, q, 1.0)
    for i, way in enumerate(np.hstack([joints, modes]).T):
        eps = 1e-6 / np.abs(way).max()
        there, back = (model.frames(q + s * eps * way)[:, :3, 3] for s in (1, -1))
        far = np.linalg.norm(there - back, axis=1).max() / (2 * eps)
        z = W @ np.append(way, np.zeros(n))
        assert z[i] == pytest.approx(far, rel=1e-6)
        np.testing.assert_allclose(np.delete(z, i), 0.0, atol=1e-9 * far)
        slow = omega.min() if i < 2 else omega[i - 2]
        v = W @ np.append(np.zeros(n), way)
        assert v[n + i] == pytest.approx(far / slow, rel=1e-6)
        np.testing.assert_allclose(np.delete(v, n + i), 0.0, atol=1e-9 * far)


def test_what_moves_no_tip_counts_a_little_and_rates_where_nothing_vibrates_are_over_the_pace():
    turns = fa.Link(name="rod", joint=fa.Revolute(axis=(1, 0, 0)), body=fa.Rigid(length=0.5, mass=1.0, inertia=0.1))
    swings = fa.Link(name="arm", joint=fa.Revolute(axis=(0, 0, 1)), body=fa.Rigid(length=0.5, mass=1.0, inertia=0.1))
    model = fa.Model(fa.Arm(name="spun", links=[swings, turns], gravity=(0, 0, 0)))
    np.testing.assert_allclose(in_metres(model, np.zeros(2), 4.0), np.diag([1.0, 0.01, 0.25, 0.0025]), atol=1e-12)


# -- what a motion costs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("stretches", [1, 3])
def test_the_cost_is_the_integral_and_its_slopes_are_differences(stretches, linear):
    rng = np.random.default_rng(5)
    N, scale = 6, np.array([2.0, 0.5])
    durations, u = rng.uniform(0.5, 2.0, stretches), rng.normal(size=(N + linear, 2))
    expense = Expense({"time": 0.7, "effort": 1.3, "smoothness": 0.4 * linear}, scale)

    def cost(durations, u):
        return expense.of(Course(durations, u, (np.zeros((N + 1, 2)),)))[0]

    course = Course(durations, u, (np.zeros((N + 1, 2)),))
    y, gradient = expense.of(course)
    wanted = 0.7 * durations.sum()
    for k, (a, b) in enumerate(pairwise(course.times)):
        ends = (u[k] / scale, u[k + linear] / scale)
        t, w = np.polynomial.legendre.leggauss(4)
        at = [ends[0] + (1 + s) / 2 * (ends[1] - ends[0]) for s in t]
        climb = (ends[1] - ends[0]) / (b - a)
        wanted += (
            (b - a) / 2 * sum(v * (1.3 * each @ each + 0.4 * climb @ climb) for v, each in zip(w, at, strict=True))
        )
    assert y == pytest.approx(wanted, rel=1e-12)
    eps = 1e-6
    by_u = [
        (cost(durations, u + eps * e.reshape(u.shape)) - cost(durations, u - eps * e.reshape(u.shape))) / (2 * eps)
        for e in np.eye(u.size)
    ]
    by_T = [
        (cost(durations * (1 + eps * e), u) - cost(durations * (1 - eps * e), u)) / (2 * eps) for e in np.eye(stretches)
    ]
    np.testing.assert_allclose(gradient, [*by_u, *by_T], rtol=1e-7, atol=1e-8)


# -- one step ----------------------------------------------------------------------------------------------------------


def test_a_program_whose_solver_reports_a_cycle_gets_a_second_try(monkeypatch):
    """min sum d^2 / 2 with d_1 + 2 d_2 = 1 has the solution (1, 2) / 5; and a program without solution gets one try."""
    import daqp

    from flexarm.optimal.step import _least

    tried, solve = [], daqp.solve

    def cycles(*given, **options):
        tried.append(options["primal_tol"])
        found = solve(*given, **options)
        return found if len(tried) > 1 else (found[0], found[1], -2, found[3])

    monkeypatch.setattr(daqp, "solve", cycles)
    row, one, bound = np.array([[1.0, 2.0]]), np.ones(1), np.ones(2)
    d, on_row, on_bounds = _least(np.ones(2), np.zeros(2), [(row, one, one)], -bound, bound)
    np.testing.assert_allclose(d, [0.2, 0.4], atol=1e-6)
    assert tried[1] > tried[0] and not on_bounds.any() and on_row != 0.0
    tried[:] = [0.0]
    assert _least(np.ones(2), np.zeros(2), [(row, 9 * one, 9 * one)], -bound, bound) is None
    assert len(tried) == 2


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_one_step_brings_a_linear_arm_to_its_goal(masses, linear, whole):
    rng = np.random.default_rng(6)
    course, plant = course_of(rng, masses, [6.0], 12, linear), plant_of(masses, np.ones(2), 12)
    course.x[0][0] = 0.0
    allowed = allowed_of(1, fixed=True)
    now = seen([plant], course, whole)
    found = ways([plant], now.course, allowed)
    taken = step([plant], now, found, allowed, [])
    assert now.off > 0.1 and not taken.durations.any()
    after = moved([plant], now.course, taken, 1.0, allowed)
    np.testing.assert_allclose((after.x[0] - now.course.x[0])[1:] @ plant.metres.T, taken.states[0], atol=1e-12)
    assert seen([plant], after, whole).off < 2e-4 * now.off
    part = moved([plant], now.course, taken, 0.25, allowed)
    assert seen([plant], part, whole).off == pytest.approx(0.75 * now.off, rel=2e-3)
    # of all that close the gaps it is the smallest: nothing is left along what moves no end
    J = plant.goals[0].W @ np.linalg.inv(plant.metres) @ found[0].G[-1][:, : course.u.size]
    free = np.linalg.svd(J)[2][4:]
    np.testing.assert_allclose(free @ taken.u.ravel(), 0.0, atol=1e-5 * np.abs(taken.u).max())


def test_goals_on_the_way_and_boxes_are_kept_to(masses):
    rng = np.random.default_rng(7)
    course = course_of(rng, masses, [2.0, 4.0], 12, False)
    course.x[0][0] = 0.0
    plant = plant_of(masses, np.ones(2), 12, box=0.01)
    passing = Goal(6, np.eye(4)[[1]], np.full(4, 0.7), np.array([0.0]))
    plant = replace(plant, goals=[*plant.goals, passing])
    allowed = allowed_of(1)
    now = seen([plant], course, whole=False)
    taken = step([plant], now, ways([plant], course, replace(allowed, fixed=True)), replace(allowed, fixed=True), [])
    x = moved([plant], course, taken, 1.0, allowed).x[0]
    assert x[6, 1] == pytest.approx(0.7, abs=1e-7)
    off = np.abs(plant.metres @ (x[-1] - plant.goals[0].wanted))
    assert off.max() == pytest.approx(0.01, abs=1e-6)  # the smallest step goes no farther than the box


def test_limits_are_kept_and_say_where_they_press(masses):
    """The conditions of Karush, Kuhn and Tucker: d + gradient + multipliers times rows is zero, signs and places."""
    n, N = 2, 16
    course = Course(np.array([9.0]), np.zeros((N, 1)), (np.zeros((N + 1, 4)),))
    plant, fixed = plant_of(masses, np.full(2, 0.5), N), allowed_of(1, fixed=True)
    now, found = seen([plant], course, whole=False), ways([plant], course, fixed)
    free = step([plant], now, found, fixed, [])
    u_free, v_free = np.abs(free.u).max(), moved([plant], course, free, 1.0, fixed).x[0][:, n].max()
    # the link's rate and the force less than they were
    plant = replace(plant, within=[coordinate(n, n, -0.1, 0.98 * v_free, "joint_rate")])
    limit, fastest, allowed, active = (
        0.95 * u_free,
        0.98 * v_free,
        allowed_of(1, most=0.95 * u_free, fixed=True),
        [set()],
    )
    now = seen([plant], course, whole=False)
    taken = step([plant], now, found, allowed, active)
    after = moved([plant], course, taken, 1.0, allowed)
    u, rate = after.u[:, 0], after.x[0][1:, n]
    assert np.abs(u).max() <= limit and (np.abs(u) > limit - 1e-7).sum() >= 2
    assert rate.max() == pytest.approx(fastest, abs=1e-6) and active[0]
    pushed = np.zeros(N)
    for (k, i), push in taken.on_within[0].items():
        assert i == 0
        pushed[k] = push
    at = rate > fastest - 1e-6
    assert (pushed[at] >= -1e-9).all() and pushed.max() > 1e-4
    np.testing.assert_allclose(pushed[~at], 0.0, atol=1e-7)
    on = taken.on_inputs[:, 0]
    upper, lower = u > limit - 1e-7, u < 1e-7 - limit
    assert (on[upper] > 0).all() and (on[lower] < 0).all()
    np.testing.assert_allclose(on[~(upper | lower)], 0.0, atol=1e-7)
    # what is left of the gradient is of the goal's rows alone
    G = found[0].G[1:, :, :N]
    rows = np.einsum("i,kij->kj", np.linalg.inv(plant.metres)[n], G)
    left = taken.u[:, 0] / N + on + pushed @ rows
    p = np.linalg.lstsq(G[-1].T, left, rcond=None)[0]
    np.testing.assert_allclose(G[-1].T @ p, left, atol=1e-6 * np.abs(left).max())


def test_limits_hold_for_what_is_left_when_the_gaps_are_closed(masses):
    rng, N = np.random.default_rng(11), 12
    course = course_of(rng, masses, [8.0], N, False, 0.1)
    course.x[0][0] = 0.0
    plant, fixed = plant_of(masses, np.full(2, 0.5), N), allowed_of(1, fixed=True)
    now, found = seen([plant], course, whole=False), ways([plant], course, fixed)
    free = moved([plant], course, step([plant], now, found, fixed, []), 1.0, fixed).x[0][1:, 2].max()
    plant = replace(plant, within=[coordinate(2, 2, -1.0, 0.95 * free)])
    now = seen([plant], course, whole=False)
    kept = moved([plant], course, step([plant], now, found, fixed, [set()]), 1.0, fixed).x[0][1:, 2].max()
    assert kept == pytest.approx(0.95 * free, abs=1e-6)


def test_a_step_down_the_cost_goes_as_far_as_the_weight_allows(masses):
    """With a gradient the step is -gradient / weight but for what moves the end."""
    N, rng = 8, np.random.default_rng(8)
    plant = plant_of(masses, np.zeros(2), N)
    course = Course(np.array([4.0]), np.zeros((N, 1)), (np.zeros((N + 1, 4)),))
    allowed = allowed_of(1, fixed=True)
    now, found = seen([plant], course, whole=True), ways([plant], course, allowed)
    gradient = np.append(rng.normal(size=N), 0.0)
    J = found[0].G[-1][:, :N]
    free = np.linalg.svd(J)[2][4:]
    for pace in (1.0, 10.0):
        taken = step([plant], now, found, allowed, [], 1e-3 * gradient, pace)
        np.testing.assert_allclose(J @ taken.u.ravel(), 0.0, atol=1e-8)
        wanted = -1e-3 * N / pace * free @ gradient[:N]
        np.testing.assert_allclose(free @ taken.u.ravel(), wanted, atol=1e-7)


def test_where_no_step_leads_to_the_goal_there_is_none(masses):
    plant = plant_of(masses, np.full(2, 5.0), 8)
    course = Course(np.array([2.0]), np.zeros((8, 1)), (np.zeros((9, 4)),))
    allowed = allowed_of(1, most=0.1, fixed=True)
    found = ways([plant], course, allowed)
    assert step([plant], seen([plant], course, False), found, allowed, []) is None
    assert step([plant], seen([plant], course, False), found, replace(allowed, most=np.array([1e3])), []) is not None
    assert corrected([plant], course, allowed, 1e-6) is None


def test_inputs_that_are_straight_lines_climb_no_faster_than_they_may(masses):
    N, plant = 16, plant_of(masses, np.ones(2), 16)
    zero, held = np.zeros((N + 1, 4)), (np.array([0.02]), np.array([-0.03]))
    course = Course(np.array([4.0, 5.0]), np.zeros((N + 1, 1)), (zero,))
    ended = allowed_of(1, ends=held)
    now, found = seen([plant], course, False), ways([plant], course, ended)
    free = step([plant], now, found, ended, [])
    assert free.on_slopes.size == 0
    most = 0.9 * np.abs(np.diff(free.u[:, 0]) / course.steps).max()
    allowed = allowed_of(1, slope=most, ends=held)
    taken = step([plant], now, found, allowed, [])
    after = moved([plant], course, taken, 1.0, allowed)
    slopes = np.diff(after.u[:, 0]) / after.steps
    assert slopes.max() == pytest.approx(most, abs=1e-6)
    back = step(
        [replace(plant, goals=[replace(plant.goals[0], wanted=-plant.goals[0].wanted)])], now, found, allowed, []
    )
    turned = moved([plant], course, back, 1.0, allowed)
    assert (np.diff(turned.u[:, 0]) / turned.steps).min() == pytest.approx(-most, abs=1e-6)
    slopes = np.abs(slopes)
    np.testing.assert_allclose(after.u[[0, -1], 0], [0.02, -0.03], atol=1e-9)
    at, on = slopes > most - 1e-6, taken.on_slopes[:, 0]
    assert on.shape == (N,) and on[at].max() > 1e-4
    np.testing.assert_allclose(on[~at], 0.0, atol=1e-7)


# -- corrections -------------------------------------------------------------------------------------------------------


def quintic(x, T, N):
    """Shares of a quintic at the ends of intervals, its rates, and in the middles its accelerations."""
    s, c = np.arange(N + 1) / N, (np.arange(N) + 0.5) / N
    way, rate = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / T
    return np.outer(way, x), np.outer(rate, x), np.outer(60 * c * (1 - c) * (1 - 2 * c) / T**2, x)


@pytest.mark.parametrize("linear", [False, True])
def test_a_disturbed_course_of_a_linear_arm_is_mended(slide, linear):
    rng, N = np.random.default_rng(9), 12
    q, qd, qdd = quintic(np.array([0.3, 0.0]), 1.2, N)
    u = 0.9 * qdd[:, :1]
    u = np.vstack([u, u[-1:]]) if linear else u
    x = np.hstack([q, qd]) + 0.03 * rng.normal(size=(N + 1, 4))
    x[0] = 0.0
    plant, allowed = plant_of(slide, np.array([0.3, 0.0]), N, box=1e-5), allowed_of(1, most=2.0)
    found = corrected([plant], Course(np.array([1.2]), u, (x,)), allowed, 1e-6).course
    assert np.abs(found.u).max() <= 2.0
    x = np.zeros(4)
    for k, h in enumerate(found.steps):
        Phi, G = carried(slide, h, linear)
        x = Phi @ x + G @ found.pieces[k]
        np.testing.assert_allclose(found.x[0][k + 1], x, atol=1e-6)
    assert np.abs(plant.metres @ (x - [0.3, 0, 0, 0])).max() < 1.2e-5


def test_a_course_of_an_arm_that_bends_is_mended_within_its_limits(planar):
    N, limit, n = 16, np.array([0.4, 0.25]), planar.nv
    end = np.array([0.8, 0.3, 0, 0, 0, 0])
    q, qd, qdd = quintic(end, 1.5, N)
    u = np.clip(1.1 * qdd @ planar.mass_matrix(end)[:, :2], -limit, limit)
    stays = coordinate(n, n, -2.0, 0.9, "joint_rate")
    plant = plant_of(planar, end, N, [stays], box=1e-5)
    allowed = Allowed(limit, limit, np.full(2, np.inf), None, fixed=False)
    found = corrected([plant], Course(np.array([1.5]), u, (np.hstack([q, qd]),)), allowed, 1e-6).course
    assert (np.abs(found.u) <= limit).all()
    torques = fa.Piecewise(found.times, np.vstack([found.u, found.u[-1:]]))
    run = fa.simulate(
        planar, found.times[-1], torques, solver=fa.Solver(rtol=1e-11, atol=1e-13), samples=N + 1, progress=False
    )
    x = np.hstack([run.q.values, run.qd.values])
    assert x[:, n].max() <= 0.9 + 1e-6 and x[:, n].max() > 0.85
    assert np.abs(plant.metres @ (x[-1] - plant.goals[0].wanted)).max() < 2e-5


# -- the cheapest ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shortened(slide):
    """The least time of the slide over 0.3 m within 2 N, from a course that takes longer."""
    N, end = 20, np.array([0.3, 0.0])
    q, qd, qdd = quintic(end, 1.6, N)
    plant, allowed = plant_of(slide, end, N, box=1e-7), allowed_of(1, most=2.0)
    allowed = replace(allowed, sizes=np.array([2.0]))
    begin = corrected([plant], Course(np.array([1.6]), 0.9 * qdd[:, :1], (np.hstack([q, qd]),)), allowed, 1e-7)
    expense = Expense({"time": 1.0, "effort": 0.0, "smoothness": 0.0}, np.array([2.0]))
    found, pressed = improved([plant], begin, allowed, 1e-7, expense, NEVER)
    return plant, allowed, begin, found.course, pressed


def farthest(model, T, N, limit):
    """The largest way that held inputs make from rest to rest in T, the inputs, and the worth of the end (4,)."""
    Phi, G = carried(model, T / N, linear=False)
    columns = [G]
    for _ in range(N - 1):
        columns.insert(0, Phi @ columns[0])
    rows = np.hstack([*columns, -np.eye(4)[:, :1]])
    bounds = [(-limit, limit)] * N + [(0.0, None)]
    found = linprog(np.append(np.zeros(N), -1.0), A_eq=rows, b_eq=np.zeros(4), bounds=bounds, method="highs")
    return found.x[-1], found.x[:-1], found.eqlin.marginals @ rows[:, :-1]


def test_the_least_time_of_a_linear_arm_is_that_of_a_linear_program(slide, shortened):
    _, _, begin, course, pressed = shortened
    begin = begin.course
    T = brentq(lambda T: farthest(slide, T, 20, 2.0)[0] - 0.3, 0.5, 1.6, xtol=1e-9)
    assert begin.durations[0] > 1.1 * T
    assert course.durations[0] == pytest.approx(T, abs=1e-4)
    _, u, worth = farthest(slide, T, 20, 2.0)
    np.testing.assert_allclose(course.u[:, 0], u, atol=2e-2)
    on, at = pressed.inputs[:, 0], np.abs(u) > 2.0 - 1e-9
    assert (on[at] * u[at] >= 0.0).all() and np.count_nonzero(on[at]) >= at.sum() - 1  # one is just inside
    cosine = on[at] @ worth[at] / np.linalg.norm(on[at]) / np.linalg.norm(worth[at])
    assert abs(cosine) > 0.999  # the switching function of either is the other's


def test_a_cheaper_motion_ends_where_the_other_does_and_no_step_is_dearer(slide, shortened):
    plant, allowed, begin, course, _ = shortened
    assert np.abs(course.u).max() <= 2.0
    assert seen([plant], course, whole=True).off <= 1.5e-7
    costs = []

    class Watched:
        """Time, and what is asked for."""

        def of(self, course):
            y, gradient = Expense({"time": 1.0, "effort": 0.0, "smoothness": 0.0}, np.array([2.0])).of(course)
            costs.append(y)
            return y, gradient

    asked_for = []

    def after_two():
        asked_for.append(1)
        return len(asked_for) > 2

    sooner, _ = improved([plant], begin, allowed, 1e-7, Watched(), after_two)
    assert course.durations[0] < sooner.course.durations[0] < begin.course.durations[0]
    assert sooner.course.durations[0] == min(costs)


def test_the_least_effort_of_a_linear_arm_is_a_projection(slide):
    """Over a given time: the smallest inputs that make the way, (G G')^-1, and their multipliers are zero."""
    N, end = 16, np.array([0.3, 0.0])
    q, qd, qdd = quintic(end, 1.2, N)
    plant, allowed = plant_of(slide, end, N, box=1e-7), replace(allowed_of(1, fixed=True), sizes=np.array([0.2]))
    begin = corrected([plant], Course(np.array([1.2]), 0.9 * qdd[:, :1], (np.hstack([q, qd]),)), allowed, 1e-7)
    rough = replace(begin.course, u=begin.course.u + 0.2 * (-1.0) ** np.arange(N)[:, None])
    begin = corrected([plant], rough, allowed, 1e-7)
    expense = Expense({"time": 0.0, "effort": 1.0, "smoothness": 0.0}, np.array([1.0]))
    found, pressed = improved([plant], begin, allowed, 1e-7, expense, NEVER)
    Phi, G = carried(slide, 1.2 / N, linear=False)
    columns = [G]
    for _ in range(N - 1):
        columns.insert(0, Phi @ columns[0])
    u = np.linalg.lstsq(np.hstack(columns), [0.3, 0, 0, 0], rcond=None)[0]
    assert expense.of(begin.course)[0] > 1.01 * expense.of(found.course)[0]
    assert expense.of(found.course)[0] == pytest.approx(u @ u * 1.2 / N, rel=2e-4)
    assert found.course.durations[0] == 1.2 and np.abs(pressed.inputs).max() < 1e-9


# -- grids of several stretches and arms -------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["radau", "legendre"])
@pytest.mark.parametrize("linear", [False, True])
def test_places_of_two_arms_on_a_grid_of_stretches_are_apart_and_all_there(hub, scheme, linear):
    first = Grid(hub, 6, 2, scheme, linear, stretches=3)
    second = replace(first, before=first)
    third = replace(first, before=second)
    taken = [first.durations, first.inputs]
    for grid in (first, second, third):
        taken += [grid.nodes[0], grid.x, *([] if scheme == "radau" else [grid.nodes[1:]])]
        np.testing.assert_array_equal(grid.inputs, first.inputs)
        np.testing.assert_array_equal(grid.durations, [0, 1, 2])
        np.testing.assert_array_equal(grid.lasts.ravel(), [0, 0, 1, 1, 2, 2])
        if scheme == "radau":
            np.testing.assert_array_equal(grid.nodes[1:], grid.x[:, -1])
    every = np.concatenate([each.ravel() for each in taken])
    np.testing.assert_array_equal(np.sort(every), np.arange(third.size))


@pytest.mark.parametrize("objective", ["time", {"smoothness": 0.5}])
def test_the_slopes_of_a_program_of_stretches_and_arms_are_those_of_the_whole(hub, objective):
    duration = None if objective == "time" else 2.0
    limits = {"torque": 1.0, "deflection": 0.1}
    task = asked(hub, [0], [1], limits, objective, duration, 1e-4, [[0.6]], [{"payload.mass": 0.2}])
    grid = Grid(hub, 4, 2, "radau", task.linear, stretches=2)
    known = prescribed(hub, task.places, task.torque, duration)
    program = transcribed(task, grid, known)
    assert {"rest", "rest, arm 2", "deflection, arm 2", "dynamics, arm 2"} <= set(program.rows)
    assert ("together" in program.rows) is (duration is not None)
    nlp = program.functions["nlp"]
    x, p = nlp.mx_in()
    f, g = nlp(x, p)
    lam = ca.MX.sym("lam", g.numel())
    bent = ca.hessian(0.7 * f + ca.dot(lam, g), x)[0]
    direct = ca.Function("direct", [x, lam], [ca.jacobian(g, x), ca.gradient(f, x), bent])
    at, factors = (np.random.default_rng(10).normal(size=each.numel()) for each in (x, g))
    J, gradient, H = (np.array(y) for y in direct(at, factors))
    np.testing.assert_allclose(np.array(program.functions["jac_g"](at, [])[1]), J, atol=1e-11)
    np.testing.assert_allclose(np.array(program.functions["grad_f"](at, [])[1]), gradient, atol=1e-11)
    upper = np.array(program.functions["hess_lag"](at, [], 0.7, factors))
    np.testing.assert_allclose(upper, np.triu(H), atol=1e-10 * np.abs(H).max())
    # each arm has its own states in what a grid is unpacked to
    x = np.arange(float(program.start.size))
    found = unpacked(task, grid, x)
    for i, own in enumerate(grids(task, grid)):
        np.testing.assert_array_equal(found.arm(i).x[1:], x[own.x].reshape(-1, 4))
        np.testing.assert_array_equal(found.arm(i).x[0], x[own.nodes[0]])
        again = np.zeros_like(x)
        found.arm(i).fill(own, again, np.array([np.inf]))
        np.testing.assert_allclose(again[own.nodes], x[own.nodes], rtol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_the_dynamics_of_a_grid_are_of_the_slopes_of_polynomials(hub, linear):
    """Cubics in the share of the motion, whose states, slopes and inputs at every point of two stretches are known."""
    grid = Grid(hub, 4, 3, "legendre", linear, stretches=2)
    rng = np.random.default_rng(12)
    cubics, x = [np.polynomial.Polynomial(rng.normal(size=4)) for _ in range(4)], np.zeros(grid.size)
    x[grid.durations], x[grid.inputs] = [1.3, 0.4], rng.normal(size=(5, 1))
    for i, each in enumerate(cubics):
        x[grid.nodes[:, i]], x[grid.x[..., i]] = each(np.arange(5) / 4), each(grid.shares)
    found = (grid.motion()[0].variables @ x).reshape(4, 3, -1)
    slopes = np.stack([each.deriv()(grid.shares) / grid.stretches for each in cubics], axis=2)  # per share of a stretch
    u, T = x[grid.inputs], np.repeat([1.3, 0.4], 2)
    ends = np.hstack([u[:-1], u[1:]]) if linear else u[:-1]
    per_point = np.repeat(np.hstack([ends, T[:, None]])[:, None], 3, axis=1)
    np.testing.assert_allclose(found, np.concatenate([x[grid.x], slopes, per_point], axis=2), atol=1e-12)


# -- motions -----------------------------------------------------------------------------------------------------------


def natively(model, found, start=(0.0, 0.0)):
    """The run of a motion's torques, (k, nq) and (k, n)."""
    run = fa.simulate(
        model,
        found.duration,
        found.torques,
        np.array(start),
        solver=fa.Solver(rtol=1e-10, atol=1e-12),
        samples=401,
        progress=False,
    )
    return run.time.values, run.q.values, run.qd.values


@pytest.fixture(scope="module")
def straight(hub):
    return optimal_motion(hub, [0], [1], {"torque": 1.0}, **SOON)


def test_a_motion_is_dense_and_its_torques_are_those_that_were_found(hub, straight):
    assert len(straight.times) > 320 and (np.diff(straight.times) > 0).all()
    for name, values in {"q": straight.q, "u": straight.u, "on_inputs": straight.on_inputs}.items():
        assert len(values) == len(straight.times), name
    parts = (len(straight.times) - 1) // straight.report["intervals"]
    assert parts * straight.report["intervals"] == len(straight.times) - 1 and parts > 1
    for each in range(parts):
        np.testing.assert_array_equal(straight.u[each:-1:parts], straight.u[:-1:parts])
        np.testing.assert_array_equal(straight.on_inputs[each:-1:parts], straight.on_inputs[:-1:parts])
    on, u = straight.on_inputs[:-1, 0], straight.u[:-1, 0]
    pressed = np.abs(on) > 1e-2 * np.abs(on).max()
    assert (on[pressed] * u[pressed] > 0).all()  # a multiplier stands beside its own input
    held = fa.Piecewise(straight.times[::parts], straight.u[::parts])
    run = fa.simulate(hub, straight.duration, held, solver=fa.Solver(rtol=1e-10, atol=1e-12), samples=2, progress=False)
    np.testing.assert_allclose(run.q.values[-1], straight.q[-1], atol=1e-7)
    t, q, _ = natively(hub, straight)
    np.testing.assert_allclose(reference_values(straight, t)[:, 0], q[:, 0], atol=1e-7)


def test_a_dense_motion_of_straight_lines_has_the_same_lines(hub):
    smooth = optimal_motion(hub, [0], [1], objective="smoothness", duration=2.0, **SOON)
    assert smooth.duration == pytest.approx(2.0, rel=1e-14) and smooth.linear and len(smooth.times) > 320
    parts = (len(smooth.times) - 1) // smooth.report["intervals"]
    corners = slice(None, None, parts)
    lines = np.interp(smooth.times, smooth.times[corners], smooth.u[corners, 0])
    np.testing.assert_allclose(smooth.u[:, 0], lines, atol=1e-12)
    t, q, qd = natively(hub, smooth)
    np.testing.assert_allclose(reference_values(smooth, t)[:, 0], q[:, 0], atol=1e-7)
    assert np.abs(q[-1] - [1, 0]).max() < 1e-4 and np.abs(qd[-1]).max() < 1e-3


def test_a_place_on_the_way_of_the_fastest_motion_costs_nothing(hub, straight):
    """One that it passes anyway: it is passed at speed."""
    found = optimal_motion(hub, [0], [1], {"torque": 1.0}, through=[[0.3]], **SOON)
    near = np.argmin(np.abs(found.q[:, 0] - 0.3))
    assert abs(found.q[near, 0] - 0.3) < 1e-4 and found.qd[near, 0] > 0.5
    assert found.duration == pytest.approx(straight.duration, rel=3e-3)
    assert max(found.report[name] for name in ("end_error", "residual")) < 1e-4
    t, q, _ = natively(hub, found)
    np.testing.assert_allclose(reference_values(found, t)[:, 0], q[:, 0], atol=1e-7)
    np.testing.assert_allclose(q[-1], [1, 0], atol=1e-4)


def test_two_joints_pass_a_place_together():
    model = fa.Model(fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)))
    place = [0.9, -0.4]
    found = optimal_motion(model, [0, 0], [1, 0.5], {"torque": [40.0, 15.0]}, through=[place], **SOON)
    off = np.abs(found.q - place).max(axis=1)
    assert off.min() < 1e-4 and np.abs(found.qd[np.argmin(off)]).max() > 0.3
    np.testing.assert_allclose(found.q[-1], [1, 0.5], atol=1e-4)


def test_a_motion_with_stops_is_motions_one_after_the_other(hub):
    parts = [
        optimal_motion(hub, *ends, {"torque": 1.0}, tolerance=2e-5, **SOON) for ends in (([0], [0.4]), ([0.4], [1]))
    ]
    first, last = parts
    task = asked(hub, [0], [1], {"torque": 1.0}, "time", None, 1e-4, [[0.4]])
    found = joined(task, parts)
    assert found.duration == pytest.approx(first.duration + last.duration, rel=1e-12)
    assert (np.diff(found.times) > 0).all()
    k = len(first.times) - 1
    assert found.times[k] == pytest.approx(first.duration, rel=1e-12)
    for name, off in {"u": 0.0, "on_inputs": 0.0, "q": 1e-4, "qd": 1e-3}.items():
        values = getattr(found, name)
        assert len(values) == len(found.times)
        np.testing.assert_allclose(values[:k], getattr(first, name)[:-1], atol=off)
        np.testing.assert_allclose(values[k:], getattr(last, name), atol=off)
    assert len(found.pieces) == len(found.times) - 1
    for name in ("cost", "steps", "intervals", "rigid_duration"):
        assert found.report[name] == pytest.approx(first.report[name] + last.report[name])
    whole = optimal_motion(hub, [0], [1], {"torque": 1.0}, through=[[0.4]], stops=True, **SOON)
    np.testing.assert_allclose(whole.times, found.times, atol=1e-9)
    np.testing.assert_allclose(whole.u, found.u, atol=1e-6)
    np.testing.assert_allclose(whole.q[k], [0.4, 0], atol=1e-4)
    np.testing.assert_allclose(whole.qd[k], 0.0, atol=1e-3)
    assert whole.report["intervals"] == found.report["intervals"]


def test_a_motion_with_stops_is_one_run(hub, monkeypatch):
    """What is left at the stop drifts until the end, and is in what the report says."""
    found = optimal_motion(hub, [0], [1], {"torque": 1.0}, through=[[0.4]], stops=True, **SOON)
    t, q, qd = natively(hub, found)
    np.testing.assert_allclose(reference_values(found, t)[:, 0], q[:, 0], atol=1e-7)
    off = np.linalg.norm(hub.tip(q[-1])[:3, 3] - hub.tip(np.array([1.0, 0.0]))[:3, 3])
    assert off < 1e-4 and found.report["end_error"] == pytest.approx(off, abs=1e-7)
    assert found.report["end_rate"] == pytest.approx(np.abs(qd[-1]).max(), abs=1e-7)
    monkeypatch.setattr(search, "SHARE", 1.0)  # each stretch as rough as the whole may be
    with pytest.warns(
        fa.errors.NotReached,
        match=r"at the last stop the tip error is .* m and the residual vibration .* m; tolerance is 0.0001 m",
    ):
        optimal_motion(hub, [0], [1], {"torque": 1.0}, through=[[0.4]], stops=True, **SOON)


def left(model, found):
    """What a motion leaves of an arm's vibrations, and of its joint's rate, in metres."""
    _, q, qd = natively(model, found)
    return np.abs(in_metres(model, q[-1], 1.0) @ np.append(q[-1], qd[-1]))[1:].max(), q[-1, 0]


@pytest.mark.parametrize("plants", [[fa.Model(turning(5.0))], [{"beam.EI": 6.0, "mP": 0.15}]])
def test_several_arms_come_to_rest_under_the_same_torques(hub, straight, plants):
    """All in their native runs; under those for the first alone the others swing."""
    models = [each if isinstance(each, fa.Model) else fa.Model(hub.arm, vary=list(each)).at(each) for each in plants]
    found = optimal_motion(hub, [0], [1], {"torque": 1.0}, plants=plants, **SOON)
    for model in models:
        assert left(model, straight)[0] > 1e-3
        assert left(model, found)[0] < 1e-4
    off, end = left(hub, found)
    assert off < 1e-4 and end == pytest.approx(1.0, abs=1e-4)
    assert np.abs(found.u).max() <= 1.0
    assert straight.duration < found.duration < 1.3 * straight.duration
    assert found.report["residual"] < 1e-4


def test_a_search_for_two_arms_that_finds_nothing_begins_again_with_another_duration(hub, monkeypatch):
    """One search in six ends without a motion, and rounding errors decide which; here the first may take 2 steps."""
    task = asked(hub, [0], [1], {"torque": 1.0}, "time", None, 1e-4, (), [{"payload.mass": 0.3}])
    grid, stopped = Grid(hub, 12, 3, "radau", task.linear, 1), search.Stopped()
    known, durations, whole = search._begun(task, grid, 300, stopped), [], search.found_on

    def short_at_first(task, grid, known, steps, stopped):
        durations.append(known.durations.sum() / first)
        return whole(task, grid, known, 2 if len(durations) == 1 else steps, stopped)

    first = known.durations.sum()
    monkeypatch.setattr(search, "found_on", short_at_first)
    _, solved = search._found_first(task, grid, known, 300, stopped)
    assert solved.found and solved.steps > 2
    assert durations[0] == 1.0 and durations[1] > 1.0


def test_the_least_time_of_two_linear_arms_is_that_of_one_linear_program(slide):
    """Slides with different beams: both at rest, the first at its place."""
    N, limit, end = 20, 2.0, np.array([0.3, 0.0])
    beam = slide.arm.links[0].body
    other = fa.Model(slide.arm, vary=["EI_1"]).at({"EI_1": 0.6 * beam.EI})
    q, qd, qdd = quintic(end, 1.8, N)
    plants = [plant_of(model, end, N, box=1e-7) for model in (slide, other)]
    moves = replace(plants[1].goals[0], W=plants[1].metres[1:], box=np.full(3, 1e-7))
    plants[1] = replace(plants[1], goals=[moves])
    allowed = replace(allowed_of(1, most=limit), sizes=np.array([limit]))
    x = np.hstack([q, qd])
    begin = corrected(plants, Course(np.array([1.8]), 0.9 * qdd[:, :1], (x, x)), allowed, 1e-7)
    expense = Expense({"time": 1.0, "effort": 0.0, "smoothness": 0.0}, np.array([limit]))
    found, _ = improved(plants, begin, allowed, 1e-7, expense, NEVER)

    def way(T):
        rows = []
        for model in (slide, other):
            Phi, G = carried(model, T / N, linear=False)
            columns = [G]
            for _ in range(N - 1):
                columns.insert(0, Phi @ columns[0])
            rows.append(np.hstack(columns))
        ends = np.hstack([np.vstack([rows[0], rows[1][1:]]), np.append(-1.0, np.zeros(6))[:, None]])
        bounds = [(-limit, limit)] * N + [(0.0, None)]
        return linprog(np.append(np.zeros(N), -1.0), A_eq=ends, b_eq=np.zeros(7), bounds=bounds).x[-1]

    T = brentq(lambda T: way(T) - 0.3, 0.8, 1.8, xtol=1e-9)
    assert found.course.durations[0] == pytest.approx(T, abs=2e-4)


def test_a_duration_that_is_given_is_shared_out_between_stretches_as_is_cheapest(masses):
    """For each share the least effort through a place is a projection; the best of all shares is found."""
    N, T, place = 12, 8.0, 0.6
    plant = plant_of(masses, np.ones(2), N, box=1e-7)
    plant = replace(plant, goals=[*plant.goals, Goal(6, np.eye(4)[[1]], np.full(4, place), np.array([1e-7]))])
    allowed = allowed_of(1, fixed=True)
    course = Course(np.array([T / 2, T / 2]), np.zeros((N, 1)), (np.zeros((N + 1, 4)),))
    begin = corrected([plant], course, allowed, 1e-6)
    expense = Expense({"time": 0.0, "effort": 1.0, "smoothness": 0.0}, np.array([1.0]))
    found, _ = improved([plant], begin, allowed, 1e-6, expense, NEVER)
    down = expense.of(begin.course)[1] / expense.of(begin.course)[0]
    taken = step([plant], begin, ways([plant], begin.course, allowed), allowed, [], down)
    assert np.abs(taken.durations).max() > 1e-3
    assert taken.durations @ begin.course.durations == pytest.approx(0.0, abs=1e-7)

    def least(share):
        steps = np.repeat([share * T / 6, (1 - share) * T / 6], 6)
        at, rows = np.zeros((4, N)), []
        for k, h in enumerate(steps):
            Phi, G = carried(masses, h, linear=False)
            at = Phi @ at
            at[:, [k]] += G
            rows += [at[[1]]] if k == 5 else []
        A = np.vstack([at, *rows]) / np.sqrt(steps)
        v = np.linalg.lstsq(A, [1, 1, 0, 0, place], rcond=None)[0]
        return v @ v

    best = minimize_scalar(least, bounds=(0.3, 0.8), method="bounded", options={"xatol": 1e-7})
    assert abs(best.x - 0.5) > 0.02
    assert found.course.durations.sum() == pytest.approx(T, rel=1e-14)
    assert expense.of(found.course)[0] == pytest.approx(best.fun, rel=2e-2)
    assert expense.of(found.course)[0] < least(0.5) - 0.8 * (least(0.5) - best.fun)


def weighing():
    """A beam that lies under gravity: more load takes more torque to hold."""
    link = fa.Link(name="rod", joint=fa.Revolute(axis=(0, 1, 0)), body=fa.Rigid(length=1.0, mass=1.0, inertia=0.1))
    return fa.Model(fa.Arm(name="weighing", links=[link], payload=fa.Payload(mass=0.1), gravity=(0, 0, -9.81)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plants": 3}, "plants is 3; it must be a list"),
        ({"plants": [3]}, r"plants\[0\] is 3; it must be"),
        ({"plants": [{"payload.weight": 1.0}]}, r"plants\[0\]: .*unknown parameter 'payload.weight'"),
        ({"plants": [{"payload.mass": -1.0}]}, r"plants\[0\]: "),
        ({"plants": [fa.Model(turning(8.0, 2))]}, r"plants\[0\] has other coordinates or inputs than arm 'hub'"),
        ({"through": "there"}, "through is 'there'; it must be a list"),
        ({"through": [[1.0, 2.0, 3.0]]}, r"through\[0\]: "),
        ({"through": [[0.5]], "stops": 1}, "stops is 1"),
        ({"through": [[0.5]], "stops": True, "plants": [{"mP": 0.2}]}, "stops are for one arm"),
        (
            {"through": [[0.5]], "stops": True, "objective": "effort", "duration": 2.0},
            "stops need an objective with time",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(hub, options, message):
    with pytest.raises(fa.DescriptionError, match=message) as refusal:
        optimal_motion(hub, [0], [1], **{"limits": {"torque": 1.0}, **options})
    assert "\n" not in str(refusal.value)


def test_arms_that_no_torques_hold_alike_are_refused():
    with pytest.raises(
        fa.DescriptionError, match=r"plants\[0\]: at the start its holding torques differ from those of the first arm"
    ):
        optimal_motion(weighing(), [0], [1], {"torque": 50.0}, plants=[{"payload.mass": 0.2}])


def test_a_free_base_goes_through_no_places_and_has_no_others():
    model = fa.Model(fa.load("canadarm-free"))
    ends = np.zeros(len(model.arm.joints)), np.full(len(model.arm.joints), 0.1)
    for options, message in (
        ({"through": [ends[0]]}, "through: the arm has a free base, which through does not support"),
        ({"plants": [model]}, r"plants\[0\] does not support an arm with a free base"),
    ):
        with pytest.raises(fa.DescriptionError, match=message):
            optimal_motion(model, *ends, {"torque": 1000.0}, **options)
