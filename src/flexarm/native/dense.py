"""Dense linear algebra of small matrices, to be translated: inverses, products with vectors, and a solution.

Newton's matrix is inverted rarely and multiplied often. A product is a sum of columns, in which SIMD processes several
numbers at once. In a solution by factors, each number would have to wait for the previous one.

Matrices are stored column by column. A complex matrix is stored as its real parts followed by its imaginary parts.
"""

from flexarm.native.language import Floats, Words, lanes


def inverted(A: Floats, pivots: Words, n: int) -> int:
    """Invert A (n, n) in place by Gauss-Jordan elimination. Return 0 if A is singular or not finite."""
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(A[r * n + c]) > abs(A[p * n + c]):
                p = r
        pivots[c] = p
        top, other = A[c * n :], A[p * n :]
        if not abs(other[c]) > 0.0:
            return 0
        if p != c:
            for j in range(n):
                top[j], other[j] = other[j], top[j]
        f = 1.0 / top[c]
        top[c] = 1.0
        for j in lanes(n):
            top[j] *= f
        for r in range(n):
            if r != c:
                row = A[r * n :]
                f = row[c]
                row[c] = 0.0
                for j in lanes(n):
                    row[j] -= f * top[j]
    for c in range(n - 1, -1, -1):
        p = pivots[c]
        if p != c:
            for r in range(n):
                row = A[r * n :]
                row[c], row[p] = row[p], row[c]
    return 1


def eliminated(A: Floats, n: int, x: Floats) -> int:
    """Replace x by the solution of A x = x, and A (n, n), stored row by row, by numbers of the elimination.

    Return 0 if A is singular or not finite.
    """
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(A[r * n + c]) > abs(A[p * n + c]):
                p = r
        top, other = A[c * n :], A[p * n :]
        if not abs(other[c]) > 0.0:
            return 0
        if p != c:
            for j in range(c, n):
                top[j], other[j] = other[j], top[j]
            x[c], x[p] = x[p], x[c]
        behind = top[c + 1 :]
        for r in range(c + 1, n):
            row = A[r * n :]
            f = row[c] / top[c]
            if f != 0.0:
                rest = row[c + 1 :]
                for j in lanes(n - c - 1):
                    rest[j] -= f * behind[j]
                x[r] -= f * x[c]
    for c in range(n - 1, -1, -1):
        row = A[c * n :]
        for j in range(c + 1, n):
            x[c] -= row[j] * x[j]
        x[c] /= row[c]
    return 1


def multiplied(A: Floats, n: int, x: Floats, y: Floats) -> None:
    """Compute y = A x."""
    for j in lanes(n):
        y[j] = 0.0
    for c in range(n):
        column, f = A[c * n :], x[c]
        for j in lanes(n):
            y[j] += f * column[j]


def multiplied_sides(A: Floats, n: int, sides: int, x: Floats, y: Floats) -> None:
    """Compute y = A x for several right sides x (n, sides)."""
    for j in lanes(n * sides):
        y[j] = 0.0
    added_sides(A, n, sides, 1.0, x, y)


def added_sides(A: Floats, n: int, sides: int, factor: float, x: Floats, y: Floats) -> None:
    """Add `factor` A x to y for several right sides x (n, sides)."""
    for c in range(n):
        column, row = A[c * n :], x[c * sides :]
        for r in range(n):
            f, to = factor * column[r], y[r * sides :]
            for j in lanes(sides):
                to[j] += f * row[j]


def inverted_complex(A: Floats, pivots: Words, n: int) -> int:
    """Invert a complex matrix like `inverted`. The pivot has the largest sum of the sizes of its parts."""
    B = A[n * n :]
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(A[r * n + c]) + abs(B[r * n + c]) > abs(A[p * n + c]) + abs(B[p * n + c]):
                p = r
        pivots[c] = p
        a, b = A[c * n :], B[c * n :]
        d, e = A[p * n :], B[p * n :]
        size = d[c] * d[c] + e[c] * e[c]
        if not size > 0.0:
            return 0
        if p != c:
            for j in range(n):
                a[j], d[j] = d[j], a[j]
                b[j], e[j] = e[j], b[j]
        x, y = a[c] / size, -b[c] / size
        a[c] = 1.0
        b[c] = 0.0
        for j in range(n):
            a[j], b[j] = x * a[j] - y * b[j], x * b[j] + y * a[j]
        for r in range(n):
            if r != c:
                g, h = A[r * n :], B[r * n :]
                x, y = g[c], h[c]
                g[c] = 0.0
                h[c] = 0.0
                for j in lanes(n):
                    g[j] -= x * a[j] - y * b[j]
                    h[j] -= x * b[j] + y * a[j]
    for c in range(n - 1, -1, -1):
        p = pivots[c]
        if p != c:
            for r in range(n):
                g, h = A[r * n :], B[r * n :]
                g[c], g[p] = g[p], g[c]
                h[c], h[p] = h[p], h[c]
    return 1


def multiplied_complex(A: Floats, n: int, x: Floats, y: Floats) -> None:
    """Compute y = A x. The vectors are real parts followed by imaginary parts."""
    B, u, v = A[n * n :], y, y[n:]
    for j in lanes(2 * n):
        y[j] = 0.0
    for c in range(n):
        a, b = A[c * n :], B[c * n :]
        f, g = x[c], x[n + c]
        for j in lanes(n):
            u[j] += f * a[j] - g * b[j]
            v[j] += f * b[j] + g * a[j]
