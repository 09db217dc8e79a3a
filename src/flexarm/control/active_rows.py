"""Active rows of the dual active-set method: their products, the inverse of their Cholesky factor, and multipliers.

With A the active rows and A A' + C / w = L L' their products, where C / w is that of the slack variables, the method
needs W = 1 / L alone. The multipliers of the rows as equations are W' W b. A further row a changes them in the
direction -W' W A a, and appends a row to W at once. Removing a row takes plane rotations of the rows of W after it.

The functions are in the language of `native.language`.
"""

from flexarm.control.horizon_rows import Horizon, dot, steady
from flexarm.native.language import Floats, lanes, sqrt

DEPENDENT = 1e-11
"""Relative size below which a row counts as a combination of the active ones.

It is relative to the squared norm of the row. Rounding leaves 1e-15."""

USELESS = 0.6
"""Share of negative multipliers above which a solution is not resumed, because removing them takes longer."""

FIRST = 32
"""Number of rows whose multipliers show whether to resume a solution. The check is repeated at each doubling."""

NEAR = 16
"""Number of steps within which the products of a row are computed afresh when the horizon moves.

Later rows lose the part of the moves that are past. The rows of near outputs become small beside that part."""


def room(h: Horizon, r: int, side: float) -> float:
    """Return b - a z for the moves z = 0 and e = -1, from which multipliers move the solution."""
    loose = 1.0 if h.slack[r] >= 0 else 0.0
    if r >= h.k * (2 * h.m + h.p):
        return loose
    if side > 0.0:
        return h.low[r] - h.y0[r] + loose
    return h.y0[r] - h.high[r] + loose


def products(h: Horizon, i: int, within: int, late: int) -> None:
    """Compute the products of active row i with the rows up to it.

    Products with rows from step `within` on and before step `late` are taken from the previous sample.
    """
    r, slot, rows = h.active[i], h.slots[i], h.k * (2 * h.m + h.p)
    stored, found = h.gram[slot * h.most :], h.product
    a, own, length = h.rows[slot * h.moves :], h.steps[r], 8 * (i + 1)
    if h.tabled == 1 and steady(h) == 1:
        line, side = h.table[r * rows :], h.sides[i]
        for j in range(i + 1):
            both = min(own, h.steps[h.active[j]])
            length += min(both + 1, h.steered) * h.m
            found[j] = 0.0
            if both >= 0:
                found[j] = side * h.sides[j] * line[h.active[j]]
    else:
        for j in range(i + 1):
            both = min(own, h.steps[h.active[j]])
            length += min(both + 1, h.steered) * h.m
            if both < within or both >= late:
                stored[h.slots[j]] = dot(a, h.rows[h.slots[j] * h.moves :], min(both + 1, h.steered) * h.m)
            found[j] = stored[h.slots[j]]
    h.operations += float(length)
    q = h.slack[r]
    if q >= 0:
        for j in range(i + 1):
            if h.slack[h.active[j]] == q:
                found[j] += 1.0 / h.weight


def products_operations(h: Horizon, n: int) -> float:
    """Return the largest number of operations of the products of a row with n others and itself.

    Products that are stored count as well, so that a board, which has no memory for them, does the same.
    """
    return float((n + 1) * (h.moves + 8))


def directed_operations(n: int) -> float:
    """Return the number of operations of `directed` and of `multiplied_out`."""
    return float(n * (n + 24))


def removed_operations(n: int, k: int) -> float:
    """Return the number of operations of `removed`. Each rotation waits for a root and a division."""
    return float((n - k) * (2 * n + 64))


def shortened(h: Horizon, i: int, count: int) -> None:
    """Remove the first `count` moves from the products of row i with the rows up to it."""
    h.operations += float((i + 1) * (count + 8))
    a, stored = h.rows[h.slots[i] * h.moves :], h.gram[h.slots[i] * h.most :]
    for j in range(i + 1):
        stored[h.slots[j]] -= dot(a, h.rows[h.slots[j] * h.moves :], count)


def lower(h: Horizon, x: Floats, n: int, to: Floats) -> None:
    """Compute W x for the first n rows, four rows at a time."""
    most = h.most
    for i in range(0, n - 3, 4):
        row0, row1, row2, row3 = h.W[i * most :], h.W[(i + 1) * most :], h.W[(i + 2) * most :], h.W[(i + 3) * most :]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for j in lanes(i + 4):
            s0 += row0[j] * x[j]
            s1 += row1[j] * x[j]
            s2 += row2[j] * x[j]
            s3 += row3[j] * x[j]
        to[i], to[i + 1], to[i + 2], to[i + 3] = s0, s1, s2, s3
    for i in range(n // 4 * 4, n):
        to[i] = dot(h.W[i * most :], x, i + 1)


def upper(h: Horizon, x: Floats, n: int, to: Floats) -> None:
    """Compute W' x for the first n rows, four rows at a time."""
    most = h.most
    for j in lanes(n):
        to[j] = 0.0
    for i in range(0, n - 3, 4):
        row0, row1, row2, row3 = h.W[i * most :], h.W[(i + 1) * most :], h.W[(i + 2) * most :], h.W[(i + 3) * most :]
        x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in lanes(i + 4):
            to[j] += (x0 * row0[j] + x1 * row1[j]) + (x2 * row2[j] + x3 * row3[j])
    for i in range(n // 4 * 4, n):
        row, f = h.W[i * most :], x[i]
        for j in lanes(i + 1):
            to[j] += f * row[j]


def directed(h: Horizon, n: int) -> float:
    """Compute the direction in which a further row changes the multipliers of the first n rows.

    Return what remains of the row's squared norm beside these rows.
    """
    h.operations += directed_operations(n)
    lower(h, h.product, n, h.half)
    upper(h, h.half, n, h.direction)
    return h.product[n] - dot(h.half, h.half, n)


def appended(h: Horizon, left: float) -> None:
    """Append the row of `directed` to W, the inverse of the Cholesky factor."""
    n, size = h.n, 1.0 / sqrt(left)
    row = h.W[n * h.most :]
    for j in lanes(n):
        row[j] = -size * h.direction[j]
    row[n] = size
    for j in range(n + 1, min(n + 5, h.most)):
        row[j] = 0.0
    h.n = n + 1


def removed(h: Horizon, k: int, last: int) -> float:
    """Remove active row k from W by plane rotations, and compute `half`. Rows after it move up, as far as `last`.

    P = W' W is the inverse of the products. Without row k it is P - half half'. Return the root of P[k, k].
    """
    n, most = h.n, h.most
    h.operations += removed_operations(n, k)
    for i in range(k, n - 1):
        top, below = h.W[i * most :], h.W[(i + 1) * most :]
        size = sqrt(top[k] * top[k] + below[k] * below[k])
        c, s = below[k] / size, top[k] / size
        for j in lanes(k):
            top[j], below[j] = c * top[j] - s * below[j], s * top[j] + c * below[j]
        below[k] = size
        to, a, b = top[k:], top[k + 1 :], below[k + 1 :]
        for j in lanes(i + 1 - k):
            to[j], b[j] = c * a[j] - s * b[j], s * a[j] + c * b[j]
        top[i + 1] = 0.0
    row = h.W[(n - 1) * most :]
    pivot = row[k]
    for j in lanes(k):
        h.half[j] = row[j]
    to, a = h.half[k:], row[k + 1 :]
    for j in lanes(n - 1 - k):
        to[j] = a[j]
    dropped(h, k, last)
    return pivot


def negative(h: Horizon) -> int:
    """Return the number of negative multipliers."""
    wrong = 0
    for i in range(h.n):
        if h.multipliers[i] < 0.0:
            wrong += 1
    return wrong


def factored(h: Horizon) -> int:
    """Compute W of the active rows, without those that depend on earlier ones. Return 0 if the rows are useless.

    Then most of the first ones have negative multipliers, which is checked before many more follow.
    """
    count, check = h.n, FIRST
    h.n = 0
    for _ in range(count):
        i = h.n
        products(h, i, h.k if h.fresh == 1 else NEAR, h.steered - h.shift if h.shift > 0 or h.fresh == 1 else h.k)
        left = directed(h, i)
        if left > DEPENDENT * h.product[i]:
            appended(h, left)
            if h.n == check and h.n < count and count > h.p:
                check = 2 * check
                multiplied_out(h)
                if negative(h) > USELESS * float(h.n):
                    return 0
        else:
            h.n = count
            dropped(h, i, count - 1)
            count -= 1
            h.n = i
    return 1


def multiplied_out(h: Horizon) -> None:
    """Compute the multipliers of the active rows, as if they were equations."""
    h.operations += directed_operations(h.n)
    for i in range(h.n):
        h.product[i] = room(h, h.active[i], h.sides[i])
    lower(h, h.product, h.n, h.half)
    upper(h, h.half, h.n, h.multipliers)


def placed(h: Horizon) -> None:
    """Compute z and e of the multipliers."""
    z, rows, f = h.z, h.rows, h.multipliers
    h.operations += float(h.n * h.moves)
    for j in lanes(h.moves):
        z[j] = 0.0
    for q in range(h.p):
        h.e[q] = -1.0
    for i in range(0, h.n - 3, 4):
        row0, row1 = rows[h.slots[i] * h.moves :], rows[h.slots[i + 1] * h.moves :]
        row2, row3 = rows[h.slots[i + 2] * h.moves :], rows[h.slots[i + 3] * h.moves :]
        f0, f1, f2, f3 = f[i], f[i + 1], f[i + 2], f[i + 3]
        for j in lanes(h.moves):
            z[j] += (f0 * row0[j] + f1 * row1[j]) + (f2 * row2[j] + f3 * row3[j])
    for i in range(h.n // 4 * 4, h.n):
        row0, f0 = rows[h.slots[i] * h.moves :], f[i]
        for j in lanes(h.moves):
            z[j] += f0 * row0[j]
    for i in range(h.n):
        q = h.slack[h.active[i]]
        if q >= 0:
            h.e[q] += f[i] / h.weight


def dropped(h: Horizon, k: int, last: int) -> None:
    """Remove active row k from the lists. Rows after it move up, as far as `last`."""
    slot = h.slots[k]
    for i in range(k, last):
        h.active[i] = h.active[i + 1]
        h.sides[i] = h.sides[i + 1]
        h.slots[i] = h.slots[i + 1]
        h.multipliers[i] = h.multipliers[i + 1]
    h.slots[last] = slot
    h.n -= 1
