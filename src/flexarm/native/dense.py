"""Dense linear algebra of small matrices, to be translated: inverses, products with vectors, and a solution.

Newton's matrix is inverted rarely and multiplied often. A product is a sum of columns, in which SIMD processes several
numbers at once. In a solution by factors, each number would have to wait for the previous one.

Matrices are stored column by column. A complex matrix is stored as its real parts followed by its imaginary parts.
"""

from flexarm.native.language import Floats, Words, lanes


def inverted(A: Floats, pivots: Words, n: int) -> int:
    """Invert A (n, n) in place by Gauss-Jordan elimination. Return 0 if A is singular or not finite."""
    for c in range(n):
        p, largest, top = c, abs(A[c * n + c]), A[c * n :]
        for r in range(c + 1, n):
            size = abs(A[r * n + c])
            if size > largest:
                p, largest = r, size
        pivots[c] = p
        if not largest > 0.0:
            return 0
        for r in range(c + 1, n):
            if p == r:
                swapped(top, A[r * n :], n)
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
    unpivoted(A, pivots, n)
    return 1


def swapped(x: Floats, y: Floats, n: int) -> None:
    """Exchange two rows."""
    for j in range(n):
        x[j], y[j] = y[j], x[j]


def unpivoted(A: Floats, pivots: Words, n: int) -> None:
    """Exchange the columns of an inverse in the place of the rows of the matrix."""
    for c in range(n - 1, -1, -1):
        p = pivots[c]
        for k in range(c + 1, n):
            if p == k:
                for r in range(n):
                    row = A[r * n :]
                    row[c], row[k] = row[k], row[c]


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
        p, largest = c, abs(A[c * n + c]) + abs(B[c * n + c])
        a, b = A[c * n :], B[c * n :]
        for r in range(c + 1, n):
            size = abs(A[r * n + c]) + abs(B[r * n + c])
            if size > largest:
                p, largest = r, size
        pivots[c] = p
        for r in range(c + 1, n):
            if p == r:
                swapped(a, A[r * n :], n)
                swapped(b, B[r * n :], n)
        square = a[c] * a[c] + b[c] * b[c]
        if not square > 0.0:
            return 0
        x, y = a[c] / square, -b[c] / square
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
    unpivoted(A, pivots, n)
    unpivoted(B, pivots, n)
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
