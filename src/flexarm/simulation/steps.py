"""Steps of the implicit methods, in the language that is translated. The methods' tables are in `tableaus`.

`integrate` takes steps, and rejects them where their error is too large or Newton's iteration fails. The slopes in
Newton's matrix are finite differences of the residual (`jacobian`).

A state y is (pose, inner q, v, z, s, quadrature states), as in a run's `Layout`. A row of rates k is (rates of the
pose, qdd, dz/dt, ds/dt, powers): `width` numbers, the first m being unknowns of a step. The inner coordinates
are integrals of their rates v, which are integrals of qdd. The coordinates of a free base's pose are not: their rates
N(q) v depend on the pose. They are unknowns of first order, like z and s. An arm with a fixed base has no pose. The
rows of `Step.k` are those of the step's stages, followed by those of previous nodes, the newest first. The previous
rows predict the next ones, and the highest difference of the rows is a step's error.

The equation to be solved is not qdd = f but the equation of motion itself, force - M qdd - ... = 0. Both have the same
solution. In coordinates with constant stiffness, the slopes of the latter change with the motion only as M does, by a
few percent in a step. The slopes of f = M^-1 (...) carry the large stiffness into all directions: with slopes of an
earlier state, Newton's iteration then diverges for very stiff arms. The equation of motion also takes half the
operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from flexarm.native.dense import inverted, multiplied
from flexarm.native.language import Each, Floats, Shared, Words, call, lanes, sqrt
from flexarm.simulation.decoupled import Decoupled, block_solved, corrected, inverses, weighted_sum
from flexarm.simulation.rhs import (
    EARLY,
    MIDDLE,
    NAN,
    PARTS,
    RunRecord,
    crosses,
    departs,
    looked,
    may_touch,
    measured,
    nears,
    passes,
    put_on_closures,
    touched_in,
    touching_at,
    turning,
    unmarked,
    was_beyond,
)

ITERATIONS, PATIENT = 10, 40
"""Largest numbers of Newton iterations: with step control, where a shorter step is possible, and with fixed steps."""
KAPPA = 0.03
"""Error of Newton's iteration, relative to the tolerance."""
RATIO = 0.02
"""Assumed ratio of two corrections after a single iteration, which estimates the remaining error."""
SLOW = 0.3
"""Ratio of two corrections above which a new Jacobian is computed."""
WAIT = 10
"""Number of steps after a rejected one before a longer step is tried. Each length needs its own inverses, and where a
mode oscillates, the estimate of the error oscillates with it."""

REACH = 1.5
"""Number of step lengths back in time over which rates enter the error estimate.

If a kink of the rates causes a shorter step, a difference that reaches far beyond the kink would treat them as smooth.
"""
UNKNOWN = 1e6
"""Relative error of a step whose end is beyond a sharp contact, where the rates are unknown.

The next step is a fifth of this one.
"""
MATTERS = 1e-9
"""Step above which integrals of powers count in its error, as a share of the interval's length.

A power that jumps, as that of a damped stop, would otherwise demand steps that end the run. The integrals serve the
energy balance alone.
"""
NEARLY = 1.0 - 1e-9
"""Share of a step beyond which a time is its end."""
SHORTEST = 1e-13
"""Shortest step, relative to the time reached, since the end may be far away."""
BRIEF = 1e-7
"""Share of an interval below which a step may pass over a contact. Its force has no time for an effect."""
CONTACT = 1e-11
"""Share of an interval below which a step that would pass a sharp contact ends at it."""


@dataclass
class Trail:
    """The steps of a run, which are recorded for derivatives.

    Attributes
    ----------
    count, room : int
        Number of steps so far, and the largest number that is recorded.
    rows, width : int
        Number of steps in `ring`, and the numbers of one step there.
    times : (room, 2)
        Start and length of each step [s].
    starts : (room // rows + 1, size)
        State at the start of the first of every `rows` steps.
    ring : (rows, width)
        State at the start and rates of the stages of the last steps. Step i has the row i modulo `rows`.
    """

    count: int
    room: int
    rows: int
    width: int
    times: Floats
    starts: Floats
    ring: Floats


@dataclass
class Step:
    """Data that a run's steps share with Python. Each entry takes one word; arrays are stored as addresses.

    n coordinates, which begin with the pose; nv rates, the input's memory, the drives' states; m unknowns per
    stage, from index `inner` on the accelerations of the other coordinates. `width` = m plus the powers, and `size` is
    the length of a state. After the state follow u and the `tried` values. `recorded` is 1 if the steps are recorded in
    `trail` for derivatives.

    `stale` is 1 if the slopes must be computed again, `fresh` is 1 if they are those of this state, and `wait` counts
    down the steps in which h does not grow, after an error that was too large. `going` is 1 if an interval continues.
    """

    shared: Sequence[RunRecord]
    stages: int
    kept: int
    remembered: int
    n: int
    pose: int
    nv: int
    inner: int
    m: int
    size: int
    inputs: int
    memory: int
    tried: int
    width: int
    fixed: int
    c: Shared
    a1: Shared
    a2: Shared
    b1: Shared
    b2: Shared
    mix: float
    carried: float
    before: float
    rtol: float
    atol: Shared
    y: Floats
    trial: Floats
    f: Floats
    k: Floats
    nodes: Floats
    e: Floats
    newton: Decoupled
    mass: Floats
    pivots: Words
    r: Floats
    w: Floats
    scale: Floats
    weights: Floats
    V: Floats
    h: float
    t: float
    ratio: float
    inverted: float
    known: Each
    stale: Each
    fresh: Each
    wait: Each
    going: int
    limit: int
    steps: Each
    recorded: int
    trail: Trail


def residual(s: Step, t: float, y: Floats, k: Floats, e: Floats) -> None:
    """Set e = (force - M qdd - ..., residuals of all other rates, powers) at t, in y, for the rates k."""
    shared = s.shared[0]
    n, m, pose, states = s.nv, s.m, s.pose, shared.states
    shared.time = t
    shared.evaluations += 1
    shared.buffer[0] = min(t, shared.last)
    x = shared.buffer[1:]
    copied(y, x, states)
    u = x[states:]
    copied(k[pose:], u[s.tried :], n)
    equations(s)
    copied(s.e, e[pose:], n)
    first, own = pose + n, pose + n + s.memory
    for j in range(first, own):
        e[j] = u[s.inputs + j - first] - k[j]
    for j in range(own, m):
        e[j] = s.e[n + j - own] - k[j]
    for j in range(pose):
        e[j] = s.e[n + m - own + j] - k[j]
    copied(s.e[m - s.memory :], e[m:], s.width - m)
    guarded(s, y, e)


def equations(s: Step) -> None:
    """Evaluate u and the kernel at the time, the state and the accelerations in the buffer.

    Its values e are (force - M qdd - ..., ds/dt, rates of the pose, powers).
    """
    shared = s.shared[0]
    x = shared.buffer[1:]
    u = x[shared.states :]
    put_on_closures(s.shared, x)
    call(shared.stage, shared.buffer, u, shared.data)
    if shared.exogenous != 0:
        call(shared.exogenous, shared.buffer, shared.buffer[shared.place :], shared.given)
    call(shared.rate, x, s.e)


def guarded(s: Step, y: Floats, e: Floats) -> None:
    """Add the power of mass that arrives or leaves, and return no residual beyond the bounds of a motion."""
    shared, m = s.shared[0], s.m
    if shared.carried != 0:
        call(shared.carried, shared.buffer, e[m:], shared.carrying)
    if shared.watch != 0:
        call(shared.watch, shared.buffer, e, shared.watched)
    looked(s.shared, y, e)
    if shared.stop != 0:
        e[0] = NAN


def jacobian(s: Step) -> int:
    """Compute M, C, K, the slopes of -e with respect to the rates, to the pose and (v, z, s), and to other coordinates.

    The slopes are finite differences at the current state and its last rates. Newton's matrix need not be exact, and is
    usually an old one. Return 0 if M is singular.
    """
    s.inverted = 0.0
    if masses(s) == 0:
        return 0
    slopes(s)
    return 1


def masses(s: Step) -> int:
    """Compute M and its inverse, since e is linear in the rates."""
    m, width = s.m, s.width
    rates, e, other = s.w, s.w[width:], s.w[2 * width :]
    copied(s.k[s.stages * width :], rates, width)
    residual(s, s.t, s.y, rates, e)
    for c in range(m):
        x = rates[c]
        rates[c] = x + 1.0
        residual(s, s.t, s.y, rates, other)
        rates[c] = x
        column = s.newton.M[c * m :]
        for r in lanes(m):
            column[r] = e[r] - other[r]
    copied(s.newton.M, s.mass, m * m)
    return inverted(s.mass, s.pivots, m)


def slopes(s: Step) -> None:
    """Compute C and K."""
    n, m, pose, width = s.n, s.m, s.pose, s.width
    rates, e = s.w, s.w[width:]
    copied(s.k[s.stages * width :], rates, width)
    copied(s.y, s.trial, s.size)
    shared = s.shared[0]
    watch = shared.watch
    shared.watch = 0
    residual(s, s.t, s.trial, rates, e)
    for c in range(pose):
        differenced(s, c, s.newton.C[c * m :])
    for c in range(pose, m):
        differenced(s, n - pose + c, s.newton.C[c * m :])
    for c in range(n - pose):
        differenced(s, pose + c, s.newton.K[c * m :])
    shared.watch = watch


def differenced(s: Step, i: int, column: Floats) -> None:
    """Compute the slope of -e with respect to the i-th number of the state. w contains rates and e."""
    width = s.width
    rates, e, other = s.w, s.w[width:], s.w[2 * width :]
    x = s.trial[i]
    s.trial[i] = x + 1e-7 * max(abs(x), 1e-2)
    f = 1.0 / (s.trial[i] - x)
    residual(s, s.t, s.trial, rates, other)
    s.trial[i] = x
    for r in lanes(s.m):
        column[r] = f * (e[r] - other[r])


def reached(s: Step, along: float, h: float, first: Floats, second: Floats, count: int, x: Floats) -> None:
    """Compute the state x after `along` h, with weights of `count` rows of k in v (first) and in q (second)."""
    pose, behind, a = s.pose, s.n - s.pose, along * h
    inner, rates = x[pose:], x[s.n :]
    q, v, moving = s.y[pose:], s.y[s.n :], s.y[s.n + s.inner - pose :]
    for i in lanes(behind):
        inner[i] = q[i] + a * moving[i]
    copied(s.y, x, pose)
    copied(v, rates, s.width - pose)
    for j in range(count):
        f, g = h * first[j], h * h * second[j]
        row = s.k[j * s.width :]
        own, accelerations = row[pose:], row[s.inner :]
        for i in range(pose):
            x[i] += f * row[i]
        for i in lanes(behind):
            inner[i] += g * accelerations[i]
        for i in lanes(s.width - pose):
            rates[i] += f * own[i]


def newton(s: Step, h: float) -> int:
    """Solve for the stages' rates from predicted ones. Return 1 if the iteration converged."""
    m, width, stages = s.m, s.width, s.stages
    weights = stages + s.kept
    before, ratio = 0.0, s.ratio
    scaled(s, h)
    for iteration in range(PATIENT if s.fixed == 1 else ITERATIONS):
        for i in range(stages):
            reached(s, s.c[i], h, s.a1[i * weights :], s.a2[i * weights :], weights, s.trial)
            k, r = s.k[i * width :], s.r[i * m :]
            proper(s, k)
            residual(s, s.t + s.c[i] * h, s.trial, s.w, s.w[width:])
            e, f = s.w[width:], s.mix
            for j in lanes(m):
                r[j] = f * e[j]
            copied(e[m:], k[m:], width - m)
        corrected(s.newton, s.r)
        sum_ = 0.0
        for i in range(stages):
            k, r = s.k[i * width :], s.r[i * m :]
            for j in lanes(m):
                k[j] += r[j]
            sum_ += size(s, r)
        now = sqrt(sum_ / float(stages))
        if not now < 1e30:
            return 0
        if iteration > 0:
            ratio = max(now / before, RATIO)
            if ratio > 2.0 and s.fixed == 0:
                return 0
            s.ratio = min(ratio, 0.9)
        if now * ratio / (1.0 - min(ratio, 0.9)) <= KAPPA:
            return 1
        before = now
    return 0


def proper(s: Step, k: Floats) -> None:
    """Write the motion's rates of a stage's unknowns k to w. They differ only for the generalized-alpha method."""
    last, w, start = s.k[s.stages * s.width :], s.w, s.f
    x, y, z = 1.0 / s.mix, s.carried / s.mix, s.before / s.mix
    for j in lanes(s.m):
        w[j] = x * k[j] - y * start[j] - z * last[j]


def scaled(s: Step, h: float) -> None:
    """Compute the squared effect of a unit error of each rate on q, v and z in a step, relative to the tolerance."""
    m, pose, behind = s.m, s.pose, s.n - s.pose
    for i in range(m):
        j = i if i < pose else behind + i
        e = h / (s.atol[j] + s.rtol * abs(s.y[j]))
        s.scale[i] = e * e / float(behind + m)
    for i in range(behind):
        e = 0.5 * h * h / (s.atol[pose + i] + s.rtol * abs(s.y[pose + i]))
        s.scale[s.inner + i] += e * e / float(behind + m)


def size(s: Step, rates: Floats) -> float:
    """Return the squared size of an error of the unknown rates, relative to the tolerance."""
    sum_ = 0.0
    for i in range(s.m):
        sum_ += s.scale[i] * rates[i] * rates[i]
    return sum_


def near(s: Step, h: float) -> int:
    """Return the number of rows of k that the error estimate uses."""
    count = s.stages + 1
    while count < s.stages + s.known and s.t - s.nodes[count - s.stages] <= REACH * h:
        count += 1
    return count


def error(s: Step, h: float, count: int, powers: int) -> float:
    """Return the estimated error of a step relative to the tolerance, from the highest difference of the rates.

    The number of nodes is such that the difference belongs to the first derivative that the method does not integrate
    exactly. A difference of order j counts as h^(j + 1) / 4^(j - 1), three times the error of a Gauss quadrature,
    because the stages are not exact. A slightly shorter step would not reduce a method's error in modes that are faster
    than the step. Newton's matrix therefore removes these modes from the estimate. It is applied twice, since they
    affect v more than q.
    """
    located(s, h)
    nodes, weights = s.weights, s.weights[s.stages + s.remembered :]
    for i in range(count):
        product = 1.0
        for j in range(count):
            if j != i:
                product *= nodes[i] - nodes[j]
        weights[i] = 4.0 ** float(2 - count) / product
    weighted_sum(weights, count, s.k, s.e, s.width, s.width)
    return weighed(s, h, powers)


def end_error(s: Step, h: float, count: int, powers: int) -> float:
    """Return the error of a step relative to the tolerance, as `error` does, with the rates at the step's end as well.

    All stages of Gauss's methods lie before the end. If a contact begins after the last stage, no stage notices it, and
    the next step begins beyond the contact. The rates at the end are those of one step of Newton's method with the last
    mass matrix, from the extrapolated rates. The error is NaN if the end is beyond a sharp contact.
    """
    m, nodes, weights = s.m, s.weights, s.weights[s.stages + s.remembered :]
    rates, e, left = s.w, s.w[s.width :], 1.0
    for i in range(count):
        product = 1.0
        for j in range(count):
            if j != i:
                product *= (1.0 - nodes[j]) / (nodes[i] - nodes[j])
        weights[i] = product
        left *= 4.0 * (1.0 - nodes[i])
    weighted_sum(weights, count, s.k, rates, s.width, s.width)
    reached(s, 1.0, h, s.b1, s.b2, s.stages + s.kept, s.trial)
    put_on_closures(s.shared, s.trial)
    residual(s, s.t + h, s.trial, rates, e)
    multiplied(s.mass, m, e, s.e)
    for j in range(m, s.width):
        s.e[j] = e[j] - rates[j]
    return 4.0 * weighed(s, h, powers) / left


def weighed(s: Step, h: float, powers: int) -> float:
    """Return the size of an error e of all rates relative to the tolerance, without the modes that are faster than h.

    `powers` is the number of integrals of powers that count. Their tolerance is infinite, except for arms that touch
    (`Layout.tolerances`).
    """
    m, behind = s.m, s.size - s.width + s.m
    copied(s.e, s.r, m)
    for _ in range(2):
        multiplied(s.newton.M, m, s.r, s.w)
        for j in range(m):
            s.w[m + j] = 0.0
        block_solved(s.newton, 0, s.w, s.r)
    sum_ = size(s, s.r)
    for j in range(powers):
        e = h * s.e[m + j] / (s.atol[behind + j] + s.rtol * abs(s.y[behind + j]))
        sum_ += e * e / float(s.n - s.pose + m)
    return sqrt(sum_)


def located(s: Step, h: float) -> int:
    """Write the times of the rows of k, from the step's start in units of the step, to weights. Return their number."""
    stages = s.stages
    count = stages + s.known
    for i in range(count):
        s.weights[i] = s.c[i] if i < stages else (s.nodes[i - stages] - s.t) / h
    return count


def predicted(s: Step, h: float) -> None:
    """Predict the stages' rates from the polynomial through the previous nodes."""
    known, width, nodes, weights = s.known, s.width, s.nodes, s.weights
    others = s.weights[s.remembered :]
    for j in range(known):
        product = 1.0
        for i in range(known):
            if i != j:
                product *= nodes[j] - nodes[i]
        others[j] = 1.0 / product
    for i in range(s.stages):
        x, product = s.t + s.c[i] * h, 1.0
        for j in range(known):
            weights[j] = product * others[j]
            product *= x - nodes[j]
        product = 1.0
        for j in range(known - 1, -1, -1):
            weights[j] *= product
            product *= x - nodes[j]
        weighted_sum(weights, known, s.k[s.stages * width :], s.k[i * width :], width, width)


def fitted(s: Step, h: float) -> None:
    """Compute V, which maps powers of x to weights of the rows of k, for the polynomial through all known rates.

    V is the identity for rates that are not known yet.
    """
    count, most = located(s, h), s.stages + s.remembered
    for i in range(most):
        power, column = 1.0, s.V[i * most :]
        for p in range(most):
            column[p] = power if i < count and p < count else 1.0 if i == p else 0.0
            power *= s.weights[i]
    inverted(s.V, s.pivots, most)


def between(s: Step, x: float, h: float, y: Floats) -> None:
    """Compute the state y at a fraction x of the step by integration of the polynomial of `fitted`."""
    most = s.stages + s.remembered
    powers, first, second = s.weights, s.weights[most:], s.weights[2 * most :]
    power = x
    for p in range(most):
        powers[p] = power / float(p + 1)
        power *= x
    multiplied(s.V, most, powers, first)
    for p in range(most):
        powers[p] *= x / float(p + 2)
    multiplied(s.V, most, powers, second)
    reached(s, x, h, first, second, s.stages + s.known, y)


def touches(s: Step, h: float) -> int:
    """Return 1 if the motion is on the other side of a contact within a step, where none of its stages is."""
    if nears(s.shared[0]) == 0:
        return 0
    known = s.known
    s.known = near(s, h) - s.stages  # nodes that are much farther away would amplify rounding
    fitted(s, h)
    found = turns(s, h)
    s.known = known
    return found


def turns(s: Step, h: float) -> int:
    """Return 1 if the polynomial of `fitted` passes a contact at a border of the step's parts or where it turns."""
    for part in range(PARTS + 1):
        if crosses_at(s, float(part) / float(PARTS), h, part) == 1:
            return 1
    for part in range(1, PARTS):
        for i in range(s.shared[0].marked):
            along = turning(s.shared[0].marks[4 * s.shared[0].marked :], s.shared[0].marked, part, i, 1.0)
            if along > 0.0 and crosses_at(s, along, h, PARTS + 1) == 1:
                return 1
    return 0


def brushes(s: Step, h: float) -> int:
    """Return 1 if parts of the arm touch, or are apart, only between the ends of a step."""
    known = s.known
    s.known = near(s, h) - s.stages  # nodes that are much farther away would amplify rounding
    fitted(s, h)
    found = brushes_within(s, h)
    s.known = known
    return found


def brushes_within(s: Step, h: float) -> int:
    """Return 1 if parts touch, or are apart, along the polynomial of `fitted` and not at its ends."""
    gaps, count = s.shared[0].gaps, s.shared[0].gapped
    brushes_at(s, 0.0, h, 0)
    brushes_at(s, 0.5, h, MIDDLE)
    brushes_at(s, 1.0, h, PARTS)
    brushes_at(s, s.c[0], h, PARTS + 1)
    if departs(gaps, count) == 1:
        brushes_at(s, EARLY * s.c[0], h, 1)
        if passes(gaps, count) == 1:
            return 1
    if may_touch(gaps, count) == 0:
        return 0
    for part in range(1, PARTS):
        if brushes_at(s, float(part) / float(PARTS), h, part) == 1:
            return 1
    for part in range(1, PARTS):
        for i in range(count):
            along = touching_at(gaps, count, part, i)
            if along > 0.0 and brushes_at(s, along, h, PARTS + 1) == 1:
                return 1
    return 0


def brushes_at(s: Step, along: float, h: float, row: int) -> int:
    """Return 1 if parts of the arm touch, or are apart, at a fraction of a step and not at its ends."""
    between(s, along, h, s.trial)
    put_on_closures(s.shared, s.trial)
    measured(s.shared[0], s.trial, row)
    return touched_in(s.shared[0].gaps, s.shared[0].gapped, row)


def crosses_at(s: Step, along: float, h: float, row: int) -> int:
    """Return 1 if the motion is on the other side of a contact at a fraction of a step, else 0."""
    between(s, along, h, s.trial)
    put_on_closures(s.shared, s.trial)
    return crosses(s.shared[0], s.t + along * h, s.trial, row)


def passed(s: Step, h: float) -> None:
    """Make the step's stages the newest nodes, and their rates the newest rows."""
    stages, width = s.stages, s.width
    most = s.remembered
    i = most - 1
    while i >= stages:
        copied(s.k[i * width :], s.k[(i + stages) * width :], width)
        s.nodes[i] = s.nodes[i - stages]
        i -= 1
    for i in range(stages):
        copied(s.k[i * width :], s.k[(2 * stages - 1 - i) * width :], width)
        s.nodes[stages - 1 - i] = s.t + s.c[i] * h
    s.known = min(s.known + stages, most)


def noted(s: Step, h: float) -> None:
    """Record an accepted step: its state, and the rates of all numbers of the state at its stages."""
    i, behind = placed(s.trail, s.t, h, s.y, s.size), s.n - s.pose
    if i < 0:
        return
    row = s.trail.ring[i * s.trail.width :]
    for j in range(s.stages):
        reached(s, s.c[j], h, s.a1[j * s.stages :], s.a2[j * s.stages :], s.stages, s.trial)
        rates, k = row[(1 + j) * s.size :], s.k[j * s.width :]
        copied(k, rates, s.pose)
        copied(s.trial[s.n + s.inner - s.pose :], rates[s.pose :], behind)
        copied(k[s.pose :], rates[s.n :], s.width - s.pose)


def placed(trail: Trail, t: float, h: float, y: Floats, size: int) -> int:
    """Record the start of a step from t to t + h at a state y. Return its row in the ring, or -1 if there is none."""
    i = trail.count
    trail.count = i + 1
    if i >= trail.room:
        return -1
    trail.times[2 * i] = t
    trail.times[2 * i + 1] = h
    part = i // trail.rows
    row = i - part * trail.rows
    if row == 0:
        copied(y, trail.starts[part * size :], size)
    copied(y, trail.ring[row * trail.width :], size)
    return row


def copied(x: Floats, y: Floats, count: int) -> None:
    """Copy x to y."""
    for i in lanes(count):
        y[i] = x[i]


def begin(s: Step, t0: float) -> int:
    """Discard data from before t0, where the input may have jumped, except Newton's matrix if it is still useful.

    Return 1 if it is, 2 if it is new, and 0 if the first accelerations cannot be computed.
    """
    s.t = t0
    s.nodes[0] = t0
    s.known = 1
    if s.inverted > 0.0 and accelerated(s) <= KAPPA * KAPPA:
        return 1
    first = s.k[s.stages * s.width :]
    for j in range(s.width):
        first[j] = 0.0
    s.inverted = 0.0
    s.ratio = SLOW
    if masses(s) == 0 or not accelerated(s) < 1e300:
        return 0
    slopes(s)
    return 2


def accelerated(s: Step) -> float:
    """Compute the first rates from the last ones by the last mass matrix.

    Return the remaining squared error, as in `size`.
    """
    m, width, left = s.m, s.width, 1.0
    first, e, r = s.k[s.stages * width :], s.w, s.w[width:]
    scaled(s, s.h)
    for _ in range(ITERATIONS):
        residual(s, s.t, s.y, first, e)
        multiplied(s.mass, m, e, r)
        copied(e[m:], first[m:], width - m)
        for j in lanes(m):
            first[j] += r[j]
        left = size(s, r)
        if left <= KAPPA * KAPPA or not left < 1e300:
            break
    copied(first, s.f, m)
    return left


def integrate(s: Step, t0: float, times: Floats, count: int, out: Floats) -> int:
    """Integrate the state y from t0 to the times, and write the states to out. Return the number of times reached."""
    stages = s.stages
    end = times[count - 1]
    done = 0
    if s.going == 0:
        s.stale, s.wait = 0, 0
        s.fresh = begin(s, t0)
        if s.fresh == 0:
            return 0
        s.fresh -= 1
    while done < count:
        if s.shared[0].stop != 0 or s.shared[0].evaluations >= s.limit:
            return done
        left, shortest = end - s.t, SHORTEST * (abs(s.t) + SHORTEST * abs(end))
        at_contact = max(shortest, CONTACT * (end - t0))
        h = s.h
        if s.t + 1.01 * h >= end:
            h = left
        elif s.t + 2.0 * h > end and s.fixed == 0:
            h = 0.5 * left
        if s.stale == 1:
            if jacobian(s) == 0:
                return done
            s.stale, s.fresh = 0, 1
        if h != s.inverted:
            if inverses(s.newton, h) == 0:
                return done
            s.inverted = h
        predicted(s, h)
        unmarked(s.shared[0])
        if newton(s, h) == 0:  # the step is rejected: first new slopes are tried, then a shorter step
            s.ratio = SLOW
            if s.fresh == 0:
                s.stale = 1
            elif s.fixed == 1 or h < (at_contact if was_beyond(s.shared[0]) == 1 else shortest):
                return done
            else:
                s.h = 0.3 * h
            continue
        if s.fixed == 0:
            rows = near(s, h)
            powers = s.width - s.m if h > MATTERS * (end - t0) else 0
            e = error(s, h, rows, powers)
            if e <= 1.0 and s.c[stages - 1] < 1.0:
                at_end = end_error(s, h, rows, powers)
                if not at_end <= 1.0:
                    e = at_end if at_end < UNKNOWN else UNKNOWN
            scale = 0.9 * max(e, 1e-10) ** (-1.0 / float(rows))
            if not e <= 1.0:  # the step is rejected
                s.h = h * min(max(scale, 0.2), 0.9)
                s.wait = WAIT
                if s.h < shortest or not e < 1e300:
                    return done
                continue
            if s.wait > 0:
                s.wait -= 1
            elif scale >= 1.2 and h == s.h:  # a step shortened at the end does not determine the next
                s.h = h * min(scale, 5.0)
        if s.fixed == 0 and s.shared[0].watch != 0 and touches(s, h) == 1:  # as if no stage had rates there
            s.h = 0.3 * h
            s.wait = WAIT
            if s.h < at_contact:
                return done
            continue
        if s.fixed == 0 and s.shared[0].touch != 0 and h > BRIEF * (end - t0) and brushes(s, h) == 1:
            s.h = 0.25 * h
            s.wait = WAIT
            continue
        last = 1 if h >= left else 0
        if times[done] < s.t + h:
            fitted(s, h)
        while done < count and (times[done] < s.t + h or last == 1):
            x = (times[done] - s.t) / h
            if x < NEARLY:
                between(s, x, h, s.trial)
            else:
                reached(s, 1.0, h, s.b1, s.b2, stages + s.kept, s.trial)
            put_on_closures(s.shared, s.trial)
            copied(s.trial, out[done * s.size :], s.size)
            done += 1
        if s.recorded == 1:
            noted(s, h)
        reached(s, 1.0, h, s.b1, s.b2, stages + s.kept, s.trial)
        put_on_closures(s.shared, s.trial)
        copied(s.trial, s.y, s.size)
        if s.kept > 0:
            proper(s, s.k)
            copied(s.w, s.f, s.m)
        passed(s, h)
        s.t = end if last == 1 else s.t + h
        s.steps += 1
        s.fresh = 0
        if s.ratio > SLOW:
            s.stale = 1
    return done
