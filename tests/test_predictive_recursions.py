"""The native active-set method of predictive control, beside a dense solver on the complete problem."""

import warnings
from itertools import permutations, product
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import block_diag, solve_discrete_are
from scipy.optimize import linprog

import flexarm as fa
from flexarm.control import Predictive, active_set, predictive_recursions, predictive_steps
from flexarm.control.predictive_course import Stage, optimum
from flexarm.control.predictive_horizon import Limits, condensed
from flexarm.control.predictive_recursions import Matrices, Recursions
from flexarm.errors import FlexarmError, NotReached

EXACT = 1e-8


def problem(rng, soft, steered=11, k=11, s=5, m=2, p=2, longer=9):
    """A random plant that changes from step to step, its weights, and limits; more steps than a horizon has."""
    count = k + longer
    F = np.eye(s) + 0.3 * rng.normal(size=(count, s, s))
    F /= np.maximum(1.0, np.abs(np.linalg.eigvals(F)).max(axis=1))[:, None, None]
    G, d, C = rng.normal(size=(count, s, m)), 0.02 * rng.normal(size=(count, s)), rng.normal(size=(count, p, s))
    Q, R = (x @ np.swapaxes(x, 1, 2) for x in (rng.normal(size=(count, n, n + 2)) for n in (s, m)))
    stage = Stage.of(F, G, d, Q, R + np.eye(m))
    wide = np.concatenate([C, np.zeros((count, p, 1))], axis=2)
    u, rate = np.array([0.31, 0.27]), np.array([0.19, np.inf])
    low, high = np.array([-1.3, -np.inf]), np.array([1.1, 1.7])
    limits = Limits(np.ones(k, dtype=int), steered, u, rate, low, high, soft, ("a", "b", "c", "d"))
    P = np.zeros((s + 1, s + 1))
    P[:s, :s] = 3.0 * np.eye(s)
    return SimpleNamespace(stage=stage, best=optimum(stage, P), C=wide, limits=limits, k=k, P=P)


def dense(given, first, x0, v, last, y, weight):
    """u (k, m) and e (p,) of a horizon: all states as functions of all inputs, by DAQP. (QRQP misses some optima.)

    After the steps with moves, the inputs are those of the law without limits.
    """
    k, limits = given.k, given.limits
    stage, C, best = given.stage.rows(slice(first, first + k)), given.C[first : first + k], given.best
    (s, m), p = stage.G.shape[1:], C.shape[1]
    count = limits.steered * m
    of_x0, of_u = np.zeros((k + 1, s, s)), np.zeros((k + 1, s, count))
    own, own0 = np.zeros((k, m, count)), np.zeros((k, m, s))  # of the inputs
    of_x0[0] = np.eye(s)
    for i in range(k):
        if i < limits.steered:
            own[i][:, i * m : (i + 1) * m] = np.eye(m)
        else:
            own[i], own0[i] = -best.K[first + i] @ of_u[i], -best.K[first + i] @ of_x0[i]
        of_x0[i + 1] = stage.F[i] @ of_x0[i] + stage.G[i] @ own0[i]
        of_u[i + 1] = stage.F[i] @ of_u[i] + stage.G[i] @ own[i]
    W = [*stage.Q, best.P[first + k]]
    H = sum(X.T @ w @ X for X, w in [*zip(of_u, W, strict=True), *zip(own, stage.R, strict=True)])
    pairs = [*zip(of_u, of_x0, W, strict=True), *zip(own, own0, stage.R, strict=True)]
    g = sum(X.T @ w @ X0 @ x0 for X, X0, w in pairs)
    soft = p if limits.soft else 0
    H, g = block_diag(H, weight * np.eye(soft)), np.append(g, weight * np.ones(soft))
    change = np.eye(k * m) - np.eye(k * m, k=-m)
    inputs, inputs0 = own.reshape(k * m, count), own0.reshape(k * m, s) @ x0
    out, without = (np.concatenate([C[i] @ X[i + 1] for i in range(k)]) for X in (of_u, of_x0))
    e = np.tile(np.eye(p)[:, :soft], (k, 1))
    none = np.full(k * p, np.inf)
    before = np.vstack([last, v[:-1]])
    units = np.tile(limits.units, k)  # a violation counts in shares of the limits
    y0 = y.ravel() + without @ x0
    none_of = np.zeros((k * m, soft))
    step, start = (v - before).ravel() + change @ inputs0, v.ravel() + inputs0
    rate, size = np.tile(limits.rate, k), np.tile(limits.u, k)
    rows = [
        (np.hstack([inputs, none_of]), -size - start, size - start),
        (np.hstack([change @ inputs, none_of]), -rate - step, rate - step),
        (np.hstack([out / units[:, None], -e]), -none, (np.tile(limits.high, k) - y0) / units),
        (np.hstack([out / units[:, None], e]), (np.tile(limits.low, k) - y0) / units, none),
    ]
    A, lower, upper = (np.concatenate([row[i] for row in rows]) for i in range(3))
    least, most = np.full(count + soft, -np.inf), np.full(count + soft, np.inf)
    least[count:] = 0.0
    kept = np.isfinite(lower) | np.isfinite(upper)
    A, lower, upper = A[kept], lower[kept], upper[kept]
    structure = {"h": ca.DM(H).sparsity(), "a": ca.DM(A).sparsity()}
    solver = ca.conic("dense", "daqp", structure, {"error_on_fail": False})
    found = solver(h=H, g=g, a=A, lba=lower, uba=upper, lbx=least, ubx=most)
    z = np.array(found["x"]).ravel()
    rooms = linprog(
        np.zeros(len(z)),
        np.vstack([A[np.isfinite(upper)], -A[np.isfinite(lower)]]),
        np.append(upper[np.isfinite(upper)], -lower[np.isfinite(lower)]),
        bounds=np.stack([least, most], axis=1),
    )
    u = (own @ z[:count]) + own0 @ x0
    return u, z[count:], rooms.status == 0


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize(("seed", "steered"), [*((i, 11) for i in range(6)), *((i, 5 + i % 2) for i in range(6))])
def test_each_sample_of_a_random_plant_has_the_solution_of_a_dense_solver(seed, steered, soft):
    """From sample to sample the horizon moves, also by two; matrices, limits and states are other ones each time.

    The last steps may have no moves, but the law without limits.
    """
    rng = np.random.default_rng(seed)
    given, weight = problem(rng, soft, steered), 7.0
    solver = Recursions(given.limits, given.C.shape[2], weight)
    solver.use(Matrices.of(given.stage, given.best, given.C))
    k, (s, m), p = given.k, given.stage.G.shape[1:], given.C.shape[1]
    limited, feasible = 0, 0
    for sample in (0, 1, 2, 4, 5, 5, 6, 7, 8):
        x0 = np.append(rng.normal(size=s - 1) * (1.2 if soft else 0.35), 1.0)
        v, last = 0.1 * rng.normal(size=(k, m)), 0.1 * rng.normal(size=m)
        y = 0.1 * rng.normal(size=(k, p))
        solver.x0[:] = x0
        solver.low[:], solver.high[:] = given.limits.shares(v, last, y)
        good = solver(sample, sample)
        u, e, is_feasible = dense(given, sample, x0, v, last, y, weight)
        assert good == is_feasible
        if good:
            feasible += 1
            np.testing.assert_allclose(solver.inputs, u, atol=EXACT * np.abs(u).max())
            if soft:
                np.testing.assert_allclose(solver.e, e, atol=EXACT * max(1.0, e.max()))
            at, push = solver.pushing
            limited += len(at)
            sides = np.where(push > 0, solver.high.ravel()[at % solver.y.size], solver.low.ravel()[at % solver.y.size])
            own = at < solver.y.size
            place = at % (2 * m + p) - 2 * m
            excess = np.where(place >= 0, e[np.maximum(place, 0)] if soft else 0.0, 0.0) * np.sign(push)
            np.testing.assert_allclose(solver.y.ravel()[at[own]], (sides + excess)[own], atol=1e-8)
    assert limited >= 2 * feasible >= 2


@pytest.mark.parametrize("products", [2000, 0])
@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("steered", [11, 5])
def test_equal_steps_have_stored_gradients_and_the_same_solution(steered, soft, products, monkeypatch):
    """The plant does not change, so the gradients are responses. Their products are stored, or computed."""
    monkeypatch.setattr(predictive_recursions, "MOST_PRODUCTS", products)
    rng = np.random.default_rng(steered)
    given = problem(rng, soft, steered)
    F, G, Q, R = (X[:1] for X in (given.stage.F, given.stage.G, given.stage.Q, given.stage.R))
    count, s = len(given.stage.F), F.shape[1] - 1
    F[:, :s, s] = 0.0
    given.P[:s, :s] = solve_discrete_are(F[0, :s, :s], G[0, :s], Q[0, :s, :s], R[0])
    given.stage = Stage.of(
        *(np.repeat(X, count, axis=0) for X in (F[:, :s, :s], G[:, :s], F[:, :s, s], Q[:, :s, :s], R))
    )
    given.best, given.C = optimum(given.stage, given.P), np.repeat(given.C[:1], count, axis=0)
    solver = Recursions(given.limits, s + 1, 7.0)
    solver.use(Matrices.of(given.stage.rows([0]), given.best.rows([0]), given.C[:1]))
    solver.hold()
    k, m, p = given.k, G.shape[2], given.C.shape[1]
    limited = feasible = 0
    for sample in (0, 1, 2, 4, 5, 5, 6, 20, 21):
        x0 = np.append(rng.normal(size=s) * (1.2 if soft else 0.35), 1.0)
        v, last, y = 0.1 * rng.normal(size=(k, m)), 0.1 * rng.normal(size=m), 0.1 * rng.normal(size=(k, p))
        solver.x0[:] = x0
        solver.low[:], solver.high[:] = given.limits.shares(v, last, y)
        good = solver(sample, 0)
        u, e, is_feasible = dense(given, 0, x0, v, last, y, 7.0)
        assert good == is_feasible
        if good:
            feasible += 1
            limited += len(solver.pushing[0])
            np.testing.assert_allclose(solver.inputs, u, atol=EXACT * np.abs(u).max())
            if soft:
                np.testing.assert_allclose(solver.e, e, atol=EXACT * max(1.0, e.max()))
    assert limited >= 2 * feasible >= 2


def place_of(rows, m, p):
    """Places of rows within their steps."""
    return rows % (2 * m + p)


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_no_sample_takes_more_operations_than_allowed(seed, soft):
    """For bounds from the least possible on. What is left unfinished has a lower bound of the cost."""
    rng = np.random.default_rng(seed)
    given, weight = problem(rng, soft, 11 - seed % 2 * 4), 7.0
    s, m, p = given.stage.G.shape[1] - 1, given.stage.G.shape[2], given.C.shape[1]
    free = Recursions(given.limits, s + 1, weight)
    share, unfinished, within = rng.uniform(0.0, 1.5, 25), 0, []
    solvers = [Recursions(given.limits, s + 1, weight, free.least * (1 + x) + 200) for x in (0.0, *share)]
    for each in (free, *solvers):
        each.use(Matrices.of(given.stage, given.best, given.C))
    for sample in (0, 1, 2, 4, 5, 5, 6, 7, 8):
        x0 = np.append(rng.normal(size=s) * (1.2 if soft else 0.3), 1.0)
        v, last, y = 0.1 * rng.normal(size=(given.k, m)), 0.1 * rng.normal(size=m), 0.1 * rng.normal(size=(given.k, p))
        for each in (free, *solvers):
            each.x0[:] = x0
            each.low[:], each.high[:] = given.limits.shares(v, last, y)
        if not free(sample, sample):
            continue
        e = free.e if soft else np.zeros(p)
        cost = free.z @ free.z / 2 + weight * float((e + e**2 / 2).sum())
        for each in solvers:
            good, record = each(sample, sample), each._record
            assert each.operations + 2 * given.k * (s + 1 + m) * record.wide <= record.allowed
            if good:
                np.testing.assert_allclose(each.inputs, free.inputs, atol=EXACT * np.abs(free.inputs).max())
            else:
                unfinished += 1
                assert each.unfinished and -1e-9 <= record.bound <= cost * (1 + 1e-9) + 1e-12
                within.append(record.bound / cost)
                at, push = (x[each.pushing[1] != 0.0] for x in each.pushing)
                e = each.e[: p if soft else 0]
                y, low, high = (
                    np.append(X.ravel(), tail) for X, tail in ((each.y, e), (each.low, 0 * e), (each.high, e))
                )
                loose = np.where(
                    at < each.y.size, np.append(np.zeros(2 * m), e)[place_of(at, m, p)] if soft else 0.0, 0.0
                )
                gap = np.where(push > 0, high[at] + loose - y[at], y[at] + loose - low[at])  # 0 at the limit
                dual = each.z @ each.z / 2 + weight * float((e + e**2 / 2).sum()) - np.abs(push) @ gap
                assert record.bound == pytest.approx(max(0.0, dual), abs=1e-9)
    assert unfinished > 3 and np.mean(within) > 0.05


def test_python_and_machine_code_take_the_same_steps():
    rng = np.random.default_rng(3)
    given = problem(rng, True)
    solvers = [Recursions(given.limits, given.C.shape[2], 5.0) for _ in range(2)]
    translated, plain = solvers
    record = plain._record._held

    def run(_):
        for name in ("first", "count", "shift", "fresh", "n"):
            setattr(record, name, getattr(plain._record, name))
        record.forward, record.backward = (x.ravel() for x in plain._matrices)
        for name in ("low", "high", "y", "y0", "of_rate"):
            setattr(record, name, getattr(record, name).reshape(-1))
        status = active_set.solved(record)
        for name in ("n", "iterations", "worst"):
            setattr(plain._record, name, getattr(record, name))
        return status

    plain._call = run
    for sample in (0, 1, 2):
        x0 = np.append(rng.normal(size=given.stage.G.shape[1] - 1), 1.0)
        v, y = 0.1 * rng.normal(size=(given.k, 2)), np.zeros((given.k, 2))
        for each in solvers:
            if not sample:
                each.use(Matrices.of(given.stage, given.best, given.C))
            each.x0[:] = x0
            each.low[:], each.high[:] = given.limits.shares(v, v[0], y)
        assert [each(sample, sample) for each in solvers] == [True, True]
        assert plain.iterations == translated.iterations
        np.testing.assert_allclose(plain.z, translated.z, atol=1e-12)


@pytest.fixture(scope="module")
def beam():
    """A hub and a beam of 0.8 m with two modes."""
    body = fa.Beam(length=0.8, mass=0.3, EI=8.0, modes={"y": 2}, damping=0.005)
    link = fa.Link(name="beam", joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05), body=body)
    return fa.Model(fa.Arm(name="beam", links=[link], payload=fa.Payload(mass=0.1), gravity=(0, 0, 0)))


WEAK = {"Q": [30.0, 10.0, 10.0, 1.0, 0.1, 0.1], "R": 0.5}


def warned(steps, t, x, match):
    """Return the inputs of a sample; the first one has no solution, with a warning."""
    if t > 0.0:
        return steps(t, x)
    with pytest.warns(NotReached, match=match):
        return steps(t, x)


BENT = {"limit": 0.2, "rate_limit": 6.0, "deflection": 0.004, "horizon": 25, **WEAK}


def cost_along(steps, x0, u):
    """Half the cost of deviations u (k, m) of the inputs, and of soft limits, beyond x0' P x0 / 2, step by step."""
    course, total, bent = steps.course, 0.0, []
    F, G, Q, R = (X[-1] for X in (course.stage.F, course.stage.G, course.stage.Q, course.stage.R))
    x = x0
    for each in u:
        total += (x @ Q @ x + each @ R @ each) / 2
        x = F @ x + G @ each
        bent.append(steps.C[-1] @ x + steps.y[-1])
    P = course.best.P[-1]
    limits = steps.limits
    over = np.maximum(np.maximum(bent - limits.high, limits.low - bent), 0.0).max(axis=0) / limits.units
    return total + (x @ P @ x - x0 @ P @ x0) / 2 + steps._weight * float((over + over**2 / 2).sum())


def test_the_number_of_operations_is_bounded_and_a_start_that_needs_more_recovers(beam):
    """Each step takes at most what is allowed, and one that needs more has a plan within the limits.

    Its cost is computed here step by step, and the optimum's by a controller without the bound.
    """
    x = np.array([0.5, 0, 0, 0, 0, 0])
    free = Predictive(0.0, **BENT).stepper(beam, 0.02)
    free(0.0, x)
    allowed = 2 * free.report()["predictive_operations"] // 5
    few = Predictive(0.0, **BENT, operations=allowed).stepper(beam, 0.02)
    plant = fa.Stepper(beam, 0.02, x[:3], x[3:])
    failed, last, excess, bounds = [], 0.0, [], []
    for k in range(32):
        before, state = few.failed, plant.state.copy()
        best = Predictive(0.0, **BENT).stepper(beam, 0.02)
        best._last[:] = best.along.last[:] = last
        u = warned(few, 0.02 * k, plant.state, f"no solution within {allowed} operations; .*a plan within the limits")
        assert few._recursions.operations <= allowed
        assert abs(u[0]) <= 0.2 and abs(u[0] - last) <= 6.0 * 0.02 + 1e-12
        failed.append(few.failed > before)
        assert few.along.recovered == failed[-1] == (1 - few.along.good)
        if failed[-1]:
            best(0.02 * k, state)
            x0, plan = np.append(few.course.S * state, 1.0), few.along.plan
            assert (np.abs(plan) <= 0.2 + 1e-12).all()
            assert (np.abs(np.diff(plan[:, 0], prepend=last)) <= 6.0 * 0.02 + 1e-12).all()
            optimum, cost = (cost_along(few, x0, each.along.plan) for each in (best, few))
            bound = cost - few.along.excess
            assert bound - EXACT <= optimum <= cost + EXACT
            assert bound == pytest.approx(few._recursions._record.bound, abs=1e-9)
            bounds.append(bound / optimum)
            P = few.course.best.P[-1]
            excess.append((cost - bound) / (bound + x0 @ P @ x0 / 2))
        last = u[0]
        plant.step(u)
    assert failed[0] and failed[1] and not any(failed[15:])
    assert np.median(bounds) > 0.1
    report = few.report()
    assert report["predictive_failed"] == report["predictive_recovered"] == sum(failed)
    assert report["predictive_excess"] == pytest.approx(max(excess))
    assert 0.9 * allowed < report["predictive_operations"] <= allowed


def test_the_plan_of_an_unfinished_step_has_its_cost_for_several_inputs():
    """Two links, beside the cost step by step; a later input does not change an earlier one."""
    body = fa.Beam(length=0.7, mass=0.4, EI=30.0, modes={"y": 1}, damping=0.01)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05)
    links = [fa.Link(name=name, joint=joint, body=body) for name in ("upper", "fore")]
    model = fa.Model(fa.Arm(name="two", links=links, payload=fa.Payload(mass=0.2)))
    given = {"limit": [1.1, 0.4], "rate_limit": [30.0, 11.0], "deflection": 0.008, "horizon": 30, "bandwidth": 5.0}
    least = Predictive([0.4, -0.2], **given).stepper(model, 0.01).least
    few = Predictive([0.4, -0.2], **given, operations=int(1.3 * least)).stepper(model, 0.01)
    x = few.course.r[0] + np.array([0.3, 0.2, 0, 0, 0, 0, 0, 0])
    u = warned(few, 0.0, x, "no solution within")
    x0, plan = np.append(few.course.S * (x - few.course.r[0]), 1.0), few.along.plan
    np.testing.assert_allclose(u, plan[0], rtol=1e-12)
    assert (np.abs(plan) <= [1.1 + 1e-12, 0.4 + 1e-12]).all()
    assert (np.abs(np.diff(plan, axis=0, prepend=0.0)) <= 0.01 * np.array([30.0, 11.0]) + 1e-12).all()
    cost = cost_along(few, x0, plan)
    assert few.along.excess + few._recursions._record.bound == pytest.approx(cost)


def test_an_unfinished_step_takes_the_last_plan_if_it_costs_less(beam):
    """After a solution within the bound, a push is too much for it. The last plan, clipped, is compared."""
    least, taken = Predictive(0.0, **BENT).stepper(beam, 0.02).least, []
    for push, share in product((0.1, 1.0), (1.5, 2.0, 4.0)):
        few = Predictive(0.0, **BENT, operations=int(share * least)).stepper(beam, 0.02)
        first = few(0.0, np.array([1e-3, 0, 0, 0, 0, 0]))
        assert few.along.good
        before, state = few.along.plan.copy(), np.array([push, 0, 0, 0, 0, 0])
        continued = np.vstack([before[1:], np.zeros((1, 1))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotReached)
            few(0.02, state)
        if few.along.recovered:
            x0 = np.append(few.course.S * state, 1.0)
            costs = [cost_along(few, x0, each) for each in (few.along.plan, continued)]
            assert costs[0] <= costs[1] + 1e-9 * abs(costs[1])
            taken.append(bool(np.allclose(few.along.plan[:-1], before[1:], atol=1e-12)))
        assert abs(few._last[0] - first[0]) <= 6.0 * 0.02 + 1e-12
    assert set(taken) == {True, False}


def test_many_useless_active_limits_are_left_early(beam):
    """The second state is on the other side. Its solution is that of a controller without a past, and takes fewer
    operations than the active limits of the first one alone.
    """
    kept, fresh = (Predictive(0.0, **{**BENT, "horizon": 120}).stepper(beam, 0.02) for _ in range(2))
    kept(0.0, np.array([1.0, 0, 0, 0, 0, 0]))
    before = kept._recursions._record.n
    assert before > 90
    x, u = np.array([-0.05, 0, 0, 0.1, 0, 0]), kept._last
    fresh._last[:] = fresh.along.last[:] = u
    assert kept(0.02, x) == pytest.approx(fresh(0.02, x), abs=1e-9)
    np.testing.assert_allclose(kept.along.plan, fresh.along.plan, atol=1e-7)
    assert kept.failed == fresh.failed == 0
    assert kept._recursions.operations < fresh._recursions.operations + before**3 / 6


def test_too_few_operations_are_refused(beam):
    with pytest.raises(
        fa.errors.DescriptionError, match=r"operations is 5000; with this horizon a step takes at least"
    ):
        Predictive(0.0, **BENT, operations=5000).stepper(beam, 0.02)


def test_a_step_that_needs_too_many_operations_never_forms_the_matrices_of_the_horizon(beam, monkeypatch):
    """They take many times as long as a step. Only the text about a limit that nothing keeps needs them."""
    formed = []

    def seen(*given):
        formed.append(1)
        return condensed(*given)

    monkeypatch.setattr(predictive_steps, "condensed", seen)
    given = {"deflection": 0.004, "otherwise": "raise", **WEAK}
    bound = {"limit": 0.2, "rate_limit": 6.0, "horizon": 25, **given}
    least = Predictive(0.0, **bound).stepper(beam, 0.02).least
    few = Predictive(0.0, **bound, operations=least).stepper(beam, 0.02)
    formed.clear()
    with pytest.raises(FlexarmError, match=f"no solution within {least} operations; more are allowed by operations"):
        few(0.0, np.array([0.5, 0, 0, 0, 0, 0]))
    assert few.failed == 1 and not formed
    hard = Predictive(0.0, limit=0.6, horizon=20, penalty=None, **given).stepper(beam, 0.02)
    formed.clear()
    with pytest.raises(FlexarmError, match="no solution within the limits; beam_deflection_y exceeds its limit most"):
        hard(0.0, np.array([0, 0.01, 0, 0, 0, 0]))
    assert hard.failed == 1 and len(formed) == 1


def test_a_step_far_from_the_previous_one_has_the_solution_of_a_controller_without_a_past(beam):
    """Most active limits of the previous step are then wrong, and the solution does not begin with them."""
    given = {"limit": 0.2, "rate_limit": 6.0, "deflection": 0.004, "horizon": 25, **WEAK}
    places = [np.array([0.5, 0, 0, 0.1, 0, 0]), np.array([-0.4, 0, 0, 0.2, 0, 0]), np.array([0.01, 0, 0, 0, 0, 0])]
    for first, then in permutations(places, 2):
        steps, fresh = (Predictive(0.0, **given).stepper(beam, 0.02) for _ in range(2))
        u = steps(0.0, first)
        steps._last[:] = fresh._last
        for each in (steps, fresh):
            each.along.last[:] = u  # both may change u as much
        fresh.along.previous = -1
        assert steps(0.02, then) == pytest.approx(fresh(0.02, then), abs=1e-9)
        assert steps.along.plan == pytest.approx(fresh.along.plan, abs=1e-7)
        assert steps.failed == fresh.failed == 0


def test_a_hard_limit_that_no_input_can_keep_is_reported_and_left_again(beam):
    """The arm begins bent beyond its limit: no solution, and a few samples later there is one again."""
    given = {"limit": 0.6, "deflection": 0.004, "horizon": 20, "penalty": None, **WEAK}
    steps = Predictive(0.0, **given).stepper(beam, 0.02)
    plant = fa.Stepper(beam, 0.02, [0.0, 0.01, 0.0], [0.0, 0.0, 0.0])
    failed = []
    for k in range(150):
        before = steps.failed
        plant.step(warned(steps, 0.02 * k, plant.state, "beam_deflection_y exceeds its limit most"))
        failed.append(steps.failed > before)
    assert failed[0] and not any(failed[-40:])
    assert steps.report()["predictive_first_failure"].startswith("t = 0 s: no solution")


def test_a_run_begins_with_the_limits_of_its_reference(beam):
    """The first step of a run that begins on its reference changes nothing: the plan was prepared."""
    slew = fa.Quintic((0.0,), (1.0,), 0.8)
    given = {"limit": 0.4, "deflection": 0.01, "horizon": 40, **WEAK}
    steps = Predictive(slew, **given).stepper(beam, 0.02)
    steps(0.0, np.zeros(6))
    assert steps.plan.active and steps._recursions.iterations == 0 and steps.solved == 1
