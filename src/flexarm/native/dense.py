"""Dense linear algebra of small matrices, to be translated: real and complex factors, and solutions.

A complex matrix stands as its real parts followed by its imaginary parts.
"""

from flexarm.native.language import Floats, Words


def factor(A: Floats, pivots: Words, n: int) -> int:
    """Factors L U of A (n, n) with rows exchanged, in its place; 0 where it is singular, or not a number."""
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(A[r * n + c]) > abs(A[p * n + c]):
                p = r
        pivots[c] = p
        if not abs(A[p * n + c]) > 0.0:
            return 0
        top, other = A[c * n :], A[p * n :]
        if p != c:
            for j in range(n):
                top[j], other[j] = other[j], top[j]
        for r in range(c + 1, n):
            row = A[r * n :]
            f = row[c] / top[c]
            row[c] = f
            for j in range(c + 1, n):
                row[j] -= f * top[j]
    return 1


def solve(A: Floats, pivots: Words, n: int, x: Floats) -> None:
    """The solution for the right side x, in its place."""
    for c in range(n):
        p = pivots[c]
        x[c], x[p] = x[p], x[c]
    for r in range(n):
        row = A[r * n :]
        sum_ = x[r]
        for j in range(r):
            sum_ -= row[j] * x[j]
        x[r] = sum_
    for r in range(n - 1, -1, -1):
        row = A[r * n :]
        sum_ = x[r]
        for j in range(r + 1, n):
            sum_ -= row[j] * x[j]
        x[r] = sum_ / row[r]


def factor_complex(A: Floats, pivots: Words, n: int) -> int:
    """As `factor`; a pivot is the largest by the sum of its parts' sizes."""
    B = A[n * n :]
    for c in range(n):
        p = c
        for r in range(c + 1, n):
            if abs(A[r * n + c]) + abs(B[r * n + c]) > abs(A[p * n + c]) + abs(B[p * n + c]):
                p = r
        pivots[c] = p
        size = A[p * n + c] * A[p * n + c] + B[p * n + c] * B[p * n + c]
        if not size > 0.0:
            return 0
        a, b = A[c * n :], B[c * n :]
        d, e = A[p * n :], B[p * n :]
        if p != c:
            for j in range(n):
                a[j], d[j] = d[j], a[j]
                b[j], e[j] = e[j], b[j]
        for r in range(c + 1, n):
            g, h = A[r * n :], B[r * n :]
            x = (g[c] * a[c] + h[c] * b[c]) / size
            y = (h[c] * a[c] - g[c] * b[c]) / size
            g[c] = x
            h[c] = y
            for j in range(c + 1, n):
                g[j] -= x * a[j] - y * b[j]
                h[j] -= x * b[j] + y * a[j]
    return 1


def solve_complex(A: Floats, pivots: Words, n: int, x: Floats, y: Floats) -> None:
    """The solution for the right side x + i y, in its place."""
    B = A[n * n :]
    for c in range(n):
        p = pivots[c]
        x[c], x[p] = x[p], x[c]
        y[c], y[p] = y[p], y[c]
    for r in range(n):
        a, b = A[r * n :], B[r * n :]
        s, t = x[r], y[r]
        for j in range(r):
            s -= a[j] * x[j] - b[j] * y[j]
            t -= a[j] * y[j] + b[j] * x[j]
        x[r] = s
        y[r] = t
    for r in range(n - 1, -1, -1):
        a, b = A[r * n :], B[r * n :]
        s, t = x[r], y[r]
        for j in range(r + 1, n):
            s -= a[j] * x[j] - b[j] * y[j]
            t -= a[j] * y[j] + b[j] * x[j]
        size = a[r] * a[r] + b[r] * b[r]
        x[r] = (s * a[r] + t * b[r]) / size
        y[r] = (t * a[r] - s * b[r]) / size
