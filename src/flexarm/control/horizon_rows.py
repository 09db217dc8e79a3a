"""Values and gradients of a horizon's limits, by recursions over its steps, in the language of `native.language`.

The moves z are those of Riccati's recursion (see `predictive_horizon`). The values of all limits follow from one
recursion forwards, and the gradient a of one limit, its row, from one recursion backwards. No matrix of the complete
horizon is needed.

Where all steps have the same matrices, as at a fixed position, the gradients of a quantity at different steps are parts
of one sequence, its response to moves at earlier and earlier steps. A record then stores these responses, and the
products of all rows if memory allows it.
"""

from dataclasses import dataclass

from flexarm.native.language import Floats, Words, lanes, sqrt

SLIGHTLY = 1e-7
"""Violation of a hard limit, as a share of it, that may be rounding in a plan that continues."""


@dataclass
class Horizon:
    """Program of a horizon, and the memory of its solution.

    Rows are numbered by steps: inputs, their changes, outputs of step 0, then those of step 1, and last the slack
    variables. Values are shares of the limits.

    Attributes
    ----------
    k, s, m, p : int
        Steps, states, inputs and outputs.
    steered : int
        Number of steps with moves. In later ones the inputs are those of the optimum without limits.
    soft : int
        1 if the limits of outputs are soft.
    first, count : int
        Index of the first step's matrices, and the number of matrices. The last one stands for all later ones.
    wide, narrow : int
        Lengths of columns in `forward` and of rows in `backward`, both multiples of 4.
    forward, backward : (count, s + m, wide), (count, s + m + p, narrow)
        Matrices from (x, z) to (x', u, y), by columns and by rows.
    known, tabled : int
        1 if `responses` and if `table` belong to the last matrices.
    responses : (2m + p, k m)
        Gradients of the rows of the last step, if all steps have the last matrices and moves.
    table : (k (2m + p), k (2m + p))
        Products of these gradients for all pairs of rows.
    scales : (k (2m + p),)
        One over the lengths of the gradients, or 1 if these are unknown.
    x0 : (s,)
    low, high : (k (2m + p),)
    of_u, of_rate, of_y : (m,), (k m,), (p,)
        One over the limits' sizes.
    weight : float
    tolerance : float
        Largest violation in a solution.
    most, moves : int
        Largest number of active rows, and the length of z, a multiple of 4.
    slack, steps : (rows + p,)
        Index of the slack variable in each row, or -1, and the row's step, or -1 for a slack variable.
    allowed : float
        Largest number of operations, that is of multiplications with additions.
    shift, fresh : int
        Number of steps by which the horizon has moved since the previous solution, and 1 if its matrices have changed.
    n : int
        Number of active rows.
    active, sides, slots : (most,)
        Active rows, 1.0 for lower and -1.0 for upper limits, and the indices of their gradients in `rows` and `gram`.
    rows : (most, moves)
    gram : (most, most)
        Products of each active row with the earlier ones.
    W : (most, most)
        Inverse of the Cholesky factor of the active rows' products.
    product, half, direction : (most,)
        Products of one row with the active ones, W times these, and the change of the multipliers that they cause.
    multipliers : (most,)
    z, e : (moves,), (p,)
    y, y0 : (k (2m + p),)
        Values of the rows in the solution, and without moves.
    x, v, g, before, candidates, beyond : workspaces
    operations : float
        Operations of the last solution. Those that wait for each other count several times.
    bound : float
        A lower bound of the cost, if the last solution is unfinished.
    iterations : int
        Rows that were added or removed for the last solution.
    worst : int
        A row that cannot be satisfied.
    """

    k: int
    s: int
    m: int
    p: int
    steered: int
    soft: int
    first: int
    count: int
    wide: int
    narrow: int
    forward: Floats
    backward: Floats
    known: int
    tabled: int
    responses: Floats
    table: Floats
    scales: Floats
    x0: Floats
    low: Floats
    high: Floats
    of_u: Floats
    of_rate: Floats
    of_y: Floats
    weight: float
    tolerance: float
    most: int
    moves: int
    slack: Words
    steps: Words
    allowed: float
    shift: int
    fresh: int
    n: int
    active: Words
    sides: Floats
    slots: Words
    rows: Floats
    gram: Floats
    W: Floats
    product: Floats
    half: Floats
    multipliers: Floats
    direction: Floats
    z: Floats
    e: Floats
    y: Floats
    y0: Floats
    x: Floats
    v: Floats
    g: Floats
    before: Floats
    candidates: Words
    beyond: Floats
    operations: float
    bound: float
    iterations: int
    worst: int


def affords(h: Horizon, operations: float) -> int:
    """Return 1 if so many further operations are allowed, and afterwards those of a step without a solution.

    These are the multipliers' moves, and the values of three plans.
    """
    last = 4.0 * swept_operations(h) + float((h.n + 2) * (h.moves + h.n + 32))
    return 1 if h.operations + operations + last <= h.allowed else 0


def swept_operations(h: Horizon) -> float:
    """Return the number of operations of `swept`, and of looking at its values."""
    return float(h.k * ((h.s + h.m + 2) * h.wide + 6 * (2 * h.m + h.p)))


def traced_operations(h: Horizon) -> float:
    """Return the largest number of operations of `gradient`."""
    return float(h.moves) if steady(h) == 1 else float(h.moves + h.k * (h.s + 2) * h.narrow)


def dot(a: Floats, b: Floats, n: int) -> float:
    """Return the product of two vectors, in four sums of vectors that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    part = n // 16 * 4
    a1, a2, a3, b1, b2, b3 = a[part:], a[2 * part :], a[3 * part :], b[part:], b[2 * part :], b[3 * part :]
    for j in lanes(part):
        s0 += a[j] * b[j]
        s1 += a1[j] * b1[j]
        s2 += a2[j] * b2[j]
        s3 += a3[j] * b3[j]
    last, rest = a[4 * part :], b[4 * part :]
    for j in lanes(n - 4 * part):
        s0 += last[j] * rest[j]
    return (s0 + s1) + (s2 + s3)


def combined(N: Floats, width: int, f: Floats, count: int, to: Floats) -> None:
    """Add the combination of the rows of N (count, width) with the factors f to a vector, up to eight at a time."""
    for c in range(0, count - 7, 8):
        block = N[c * width :]
        row0, row1, row2, row3 = block, block[width:], block[2 * width :], block[3 * width :]
        row4, row5, row6, row7 = block[4 * width :], block[5 * width :], block[6 * width :], block[7 * width :]
        f0, f1, f2, f3 = f[c], f[c + 1], f[c + 2], f[c + 3]
        f4, f5, f6, f7 = f[c + 4], f[c + 5], f[c + 6], f[c + 7]
        for j in lanes(width):
            to[j] += ((f0 * row0[j] + f1 * row1[j]) + (f2 * row2[j] + f3 * row3[j])) + (
                (f4 * row4[j] + f5 * row5[j]) + (f6 * row6[j] + f7 * row7[j])
            )
    for c in range(count // 8 * 8, count - 3, 4):
        row0, row1, row2, row3 = N[c * width :], N[(c + 1) * width :], N[(c + 2) * width :], N[(c + 3) * width :]
        f0, f1, f2, f3 = f[c], f[c + 1], f[c + 2], f[c + 3]
        for j in lanes(width):
            to[j] += (f0 * row0[j] + f1 * row1[j]) + (f2 * row2[j] + f3 * row3[j])
    for c in range(count // 4 * 4, count):
        row, one = N[c * width :], f[c]
        for j in lanes(width):
            to[j] += one * row[j]


def swept(h: Horizon, z: Floats, y: Floats) -> None:
    """Compute the values y of all rows under moves z, forwards from x0: (x', u, y) = N (x, z)."""
    s, m, wide = h.s, h.m, h.wide
    x, v = h.x, h.v
    h.operations += swept_operations(h)
    for j in range(s):
        x[j] = h.x0[j]
    for j in range(m):
        h.before[j] = 0.0
    for i in range(h.k):
        N = h.forward[min(h.first + i, h.count - 1) * (s + m) * wide :]
        for j in range(m):
            x[s + j] = 0.0
            if i < h.steered:
                x[s + j] = z[i * m + j]
        for j in lanes(wide):
            v[j] = 0.0
        combined(N, wide, x, s + m, v)
        valued(h, i, y)


def valued(h: Horizon, i: int, y: Floats) -> None:
    """Write the values of the rows of step i, and begin the next step."""
    s, m, v, found = h.s, h.m, h.v, y[i * (2 * h.m + h.p) :]
    for j in range(m):
        u = v[s + j]
        found[j] = u * h.of_u[j]
        found[m + j] = (u - h.before[j]) * h.of_rate[i * m + j]
        h.before[j] = u
    for j in range(h.p):
        found[2 * m + j] = v[s + m + j] * h.of_y[j]
    for j in range(s):
        h.x[j] = v[j]


def followed(h: Horizon, wanted: Floats, kept: int, z: Floats, y: Floats) -> None:
    """Compute the moves z and the values y of inputs that are clipped to their limits and rates, forwards from x0.

    The inputs are `wanted` (kept, m) in the first steps, and then those of the optimum without limits for the state
    there.
    """
    s, m, wide, per = h.s, h.m, h.wide, 2 * h.m + h.p
    x, v, before = h.x, h.v, h.before
    h.operations += swept_operations(h)
    for j in range(s):
        x[j] = h.x0[j]
    for j in range(m):
        before[j] = 0.0
    for i in range(h.k):
        N = h.forward[min(h.first + i, h.count - 1) * (s + m) * wide :]
        for j in lanes(wide):
            v[j] = 0.0
        combined(N, wide, x, s, v)
        for j in range(m - 1, -1, -1):  # the matrix from z to u is upper triangular
            r, u = i * per + j, wanted[i * m + j] if i < kept else v[s + j]
            low, least = h.low[r] / h.of_u[j], before[j] + h.low[r + m] / h.of_rate[i * m + j]
            high, most = h.high[r] / h.of_u[j], before[j] + h.high[r + m] / h.of_rate[i * m + j]
            x[s + j] = 0.0
            if i < h.steered:
                left = min(max(u, max(low, least)), min(high, most)) - v[s + j]
                for c in range(j + 1, m):
                    left -= N[(s + c) * wide + s + j] * x[s + c]
                x[s + j] = left / N[(s + j) * wide + s + j]
                z[i * m + j] = x[s + j]
        combined(N[s * wide :], wide, x[s:], m, v)
        valued(h, i, y)


def cost_of(h: Horizon, z: Floats, y: Floats) -> float:
    """Return the cost of moves z with the values y, or -1.0 if y is beyond a hard limit."""
    m, per, found = h.m, 2 * h.m + h.p, dot(z, z, h.moves) / 2.0
    for place in range(per):
        most = 0.0
        for i in range(h.k):
            r = i * per + place
            most = max(most, max(h.low[r] - y[r], y[r] - h.high[r]))
        if h.soft == 1 and place >= 2 * m:
            found += h.weight * (most + most * most / 2.0)
        elif most > SLIGHTLY:
            return -1.0
    return found


def traced(h: Horizon, r: int, side: float, steered: int, a: Floats) -> None:
    """Compute the gradient of a row, backwards from its step, for the moves of all steps before `steered`.

    The recursion is (dx, dz) = N' (dx', du, dy).
    """
    s, m, p, narrow = h.s, h.m, h.p, h.narrow
    x, g = h.x, h.g
    i = r // (2 * m + p)
    place, is_rate, scale = r - i * (2 * m + p), 0, side
    if place < m:
        scale *= h.of_u[place]
    elif place < 2 * m:
        is_rate = 1
        place -= m
        scale *= h.of_rate[i * m + place]
    else:
        place -= m
        scale *= h.of_y[place - m]
    size = (s + m + p) * narrow
    row = h.backward[min(h.first + i, h.count - 1) * size + (s + place) * narrow :]
    for j in lanes(narrow):
        g[j] = scale * row[j]
    if i < steered:
        for j in range(m):
            a[i * m + j] = g[s + j]
    for step in range(i - 1, -1, -1):
        N = h.backward[min(h.first + step, h.count - 1) * size :]
        for j in range(s):
            x[j] = g[j]
        f = -scale if is_rate == 1 and step == i - 1 else 0.0
        row = N[(s + place) * narrow :]
        for j in lanes(narrow):
            g[j] = f * row[j]
        combined(N, narrow, x, s, g)
        if step < steered:
            for j in range(m):
                a[step * m + j] = g[s + j]


def steady(h: Horizon) -> int:
    """Return 1 if all steps have the last matrices, and their responses are known."""
    return 1 if h.known == 1 and h.first >= h.count - 1 else 0


def gradient(h: Horizon, r: int, side: float, a: Floats) -> None:
    """Compute the row a of a limit."""
    m, per = h.m, 2 * h.m + h.p
    for j in lanes(h.moves):
        a[j] = 0.0
    i = r // per
    h.operations += float(h.moves)
    if i >= h.k:  # of a slack variable
        return
    h.operations += traced_operations(h) - float(h.moves)
    if steady(h) == 1:
        response = h.responses[((r - i * per) * h.k + h.k - 1 - i) * m :]
        for j in lanes(min(i + 1, h.steered) * m):
            a[j] = side * response[j]
    else:
        traced(h, r, side, h.steered, a)


def responded(h: Horizon, products: int) -> None:
    """Store the responses of the last matrices, and the products of all rows if `products` is 1.

    The product of two rows is that of the same quantities one step earlier, and the product of the moves of step 0,
    which those do not contain. Rows after the steps with moves have one move less each, so that small numbers would
    remain of large ones. Their products are computed afresh.
    """
    k, m, per, kept = h.k, h.m, 2 * h.m + h.p, h.first
    h.first = h.count - 1
    for q in range(per):
        traced(h, (k - 1) * per + q, 1.0, k, h.responses[q * k * m :])
    h.first = kept
    h.known = 1
    rows = k * per if products == 1 else 0
    for row in range(rows):
        i = row // per
        a = h.responses[((row - i * per) * k + k - 1 - i) * m :]
        for other in range((i + 1) * per):
            before = other // per
            b = h.responses[((other - before * per) * k + k - 1 - before) * m :]
            if before == 0 or before >= h.steered:
                found = dot(a, b, min(before + 1, h.steered) * m)
            else:
                found = h.table[(row - per) * rows + other - per] + dot(a, b, m)
            h.table[row * rows + other] = found
            h.table[other * rows + row] = found
    for row in range(rows):
        h.scales[row] = 1.0 / sqrt(h.table[row * rows + row] + 1e-300)
    h.tabled = products
