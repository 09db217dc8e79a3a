"""Elementary motions: effect of a turn about, or a slide along, a coordinate axis on accelerations, wrenches, inertias.

Every step between two bodies of an arm (a tip's deflection and slope, a placement, a joint) is a sequence of these
motions. Quantities are lists of scalars (CasADi SX or float): a vector has 3, an acceleration (a, alpha) and a wrench
(f, n) have 6. An inertia is a symmetric 6 x 6 list of rows that maps an acceleration to a wrench. Symmetric entries are
computed once and used twice. Scalar operations on coordinate axes keep the operation count small: a turn takes 28
multiplications, and the product X' I X of full 6 x 6 matrices would take 432.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from math import pi
from typing import Any, final

import casadi as ca
import numpy as np

Scalar = Any
"""A CasADi SX of size 1, or a float."""

Vector = list
Matrix = list


def zeros(rows: int, columns: int) -> Matrix:
    """Return rows of float zeros."""
    return [[0.0] * columns for _ in range(rows)]


def dot(a: Iterable, b: Iterable) -> Scalar:
    """Return the sum of a_i b_i, without operations for zero terms."""
    return sum((x * y for x, y in zip(a, b, strict=True) if not (is_zero(x) or is_zero(y))), 0.0)


def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def added(a: Iterable, b: Iterable) -> Vector:
    """Return a + b."""
    return [y if is_zero(x) else x if is_zero(y) else x + y for x, y in zip(a, b, strict=True)]


def scaled(factor: Scalar, a: Iterable) -> Vector:
    """Return factor a."""
    return [factor * x for x in a]


def product(M: Matrix, x: Vector) -> Vector:
    """Return M x."""
    return [dot(row, x) for row in M]


def transposed(M: Matrix) -> Matrix:
    """Return M'."""
    return [list(column) for column in zip(*M, strict=True)]


# The functions of CasADi behind `SX.binary` and `SX.is_zero`, without a Python call between. Tracing calls them most.
_binary, _is_zero = ca.casadi._casadi.SX_binary, ca.casadi._casadi.SX_is_zero  # type: ignore[attr-defined]  # noqa: SLF001
_NUMBERS = (int, float)


def is_zero(x: Scalar) -> bool:
    """Return True if x is the constant zero."""
    if x.__class__ is Quick:
        found: bool = _is_zero(x)
        return found
    return x == 0.0 if isinstance(x, _NUMBERS) else x.is_zero()


@lru_cache(maxsize=4096)
def _number(y: float) -> ca.SX:
    """Return the constant, which must not be modified."""
    return ca.SX(y)


def _operator(name: str, code: int) -> Callable[[ca.SX, Any], ca.SX]:
    """Return the operator of `Quick` with this name.

    Operands that are neither an SX nor a number use CasADi's operator.
    """
    general, turned = getattr(ca.SX, name), name.startswith("__r")

    def operator(x: ca.SX, y: Any) -> ca.SX:
        if y.__class__ is not Quick:
            if isinstance(y, _NUMBERS):
                y = _number(float(y))
            elif not isinstance(y, ca.SX):
                return general(x, y)
        result = _binary(code, y, x) if turned else _binary(code, x, y)
        result.__class__ = Quick
        return result

    return operator


@final
class Quick(ca.SX):
    """An SX of size 1 whose operators call those of SX directly.

    CasADi's `*` first tries to convert both sides to floats, arrays and DM, in Python, which takes ten times as long as
    the multiplication. Such operations dominate the time to trace an arm. The expressions are the same.
    """

    __add__, __radd__ = _operator("__add__", ca.OP_ADD), _operator("__radd__", ca.OP_ADD)
    __sub__, __rsub__ = _operator("__sub__", ca.OP_SUB), _operator("__rsub__", ca.OP_SUB)
    __mul__, __rmul__ = _operator("__mul__", ca.OP_MUL), _operator("__rmul__", ca.OP_MUL)
    __truediv__, __rtruediv__ = _operator("__truediv__", ca.OP_DIV), _operator("__rtruediv__", ca.OP_DIV)

    def __neg__(self) -> ca.SX:
        return _quick(ca.SX.unary(ca.OP_NEG, self))


def _quick(x: Any) -> ca.SX:
    """Return the same x, which is of size 1, as a `Quick`. Only its Python class changes."""
    x.__class__ = Quick
    return x


def entries(x: ca.SX) -> Vector:
    """Return the scalars of a column (or row), also of a DM, which CasADi creates from numbers alone."""
    return [_quick(entry) for entry in (x if isinstance(x, ca.SX) else ca.SX(x)).elements()]


def matrix(M: Matrix) -> ca.SX:
    """Return an SX of the same rows."""
    columns = transposed(M)
    return ca.reshape(ca.vertcat(*(x for column in columns for x in column)), len(M), len(columns))


def numbers(M: Matrix) -> np.ndarray | None:
    """Return the same rows as numbers, or None if an entry is not a finite number."""
    rows = ca.SX(matrix(M))
    found = np.array(ca.DM(rows)) if rows.is_constant() else None
    return None if found is None or not np.isfinite(found).all() else found


def is_symbolic(x: Scalar) -> bool:
    """Return True if x is an expression instead of a number."""
    return isinstance(x, ca.SX) and not x.is_constant()


def square_root(x: Scalar) -> Scalar:
    """Return the square root of a scalar."""
    return _quick(ca.SX.unary(ca.OP_SQRT, x)) if isinstance(x, ca.SX) else float(x) ** 0.5


def cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return cosine and sine of an angle."""
    if isinstance(angle, ca.SX):
        return _quick(ca.SX.unary(ca.OP_COS, angle)), _quick(ca.SX.unary(ca.OP_SIN, angle))
    return ca.cos(angle), ca.sin(angle)


@final
@dataclass(frozen=True)
class Slide:
    """A slide of the frame by `value` along its axis `axis` (0, 1 or 2) at `rate`."""

    axis: int
    value: Scalar
    rate: Scalar = 0.0

    @property
    def direction(self) -> int:
        """Index of the component of an acceleration or a wrench that belongs to this motion's own coordinate."""
        return self.axis

    @property
    def shift(self) -> Vector:
        """Origin of the moved frame in the previous frame."""
        return [self.value if c == self.axis else 0.0 for c in range(3)]

    def acceleration(self, x: Vector) -> Vector:
        """Return the acceleration (or twist) of the moved frame from the previous frame's, at rest: a + alpha x d."""
        k, i, j = _axes(self.axis)
        y = list(x)
        y[i] = x[i] + x[3 + j] * self.value
        y[j] = x[j] - x[3 + i] * self.value
        return y

    def drift(self, w: Vector) -> Vector:
        """Return u of the acceleration w x u due to velocities, in linear and angular part: w x d + 2 d_dot."""
        k, i, j = _axes(self.axis)
        u = [0.0] * 6
        u[i], u[j], u[k] = w[j] * self.value, -(w[i] * self.value), 2 * self.rate
        return u

    def wrench(self, f: Vector) -> Vector:
        """Return a wrench carried back to the previous frame: n + d x f."""
        k, i, j = _axes(self.axis)
        g = list(f)
        g[3 + i] = f[3 + i] - self.value * f[j]
        g[3 + j] = f[3 + j] + self.value * f[i]
        return g

    def inertia(self, I: Matrix) -> Matrix:
        """Return an inertia carried back to the previous frame: X' I X, 11 multiplications."""
        k, i, j = _axes(self.axis)
        d = self.value
        B = [row[3:] for row in I[:3]]
        for r in range(3):  # B - A [d]x
            B[r][i] = I[r][3 + i] - I[r][j] * d
            B[r][j] = I[r][3 + j] + I[r][i] * d
        C = [row[3:] for row in I[3:]]
        C[i][i] = I[3 + i][3 + i] - d * (B[j][i] + I[j][3 + i])
        C[j][j] = I[3 + j][3 + j] + d * (B[i][j] + I[i][3 + j])
        C[i][j] = C[j][i] = I[3 + i][3 + j] + d * (I[i][3 + i] - B[j][j])
        C[i][k] = C[k][i] = I[3 + i][3 + k] - d * B[j][k]
        C[j][k] = C[k][j] = I[3 + j][3 + k] + d * B[i][k]
        return assembled([row[:3] for row in I[:3]], B, C)


@final
@dataclass(frozen=True)
class Turn:
    """A turn of the frame by the angle `value` about its axis `axis` (0, 1 or 2) at `rate`."""

    axis: int
    value: Scalar
    rate: Scalar = 0.0
    cos: Scalar = field(init=False, repr=False)
    sin: Scalar = field(init=False, repr=False)

    def __post_init__(self) -> None:
        c, s = _quarter(self.value) or cos_sin(self.value)
        object.__setattr__(self, "cos", c)
        object.__setattr__(self, "sin", s)

    @property
    def direction(self) -> int:
        """Index of the component of an acceleration or a wrench that belongs to this motion's own coordinate."""
        return 3 + self.axis

    @property
    def shift(self) -> Vector:
        """Origin of the turned frame in the previous frame."""
        return [0.0, 0.0, 0.0]

    def _out(self, v: Vector) -> Vector:
        k, i, j = _axes(self.axis)
        r = list(v)
        r[i] = self.cos * v[i] + self.sin * v[j]
        r[j] = self.cos * v[j] - self.sin * v[i]
        return r

    def _back(self, v: Vector) -> Vector:
        k, i, j = _axes(self.axis)
        r = list(v)
        r[i] = self.cos * v[i] - self.sin * v[j]
        r[j] = self.sin * v[i] + self.cos * v[j]
        return r

    def acceleration(self, x: Vector) -> Vector:
        """Return the acceleration (or twist) of the turned frame, from that of the previous frame, at rest."""
        return self._out(x[:3]) + self._out(x[3:])

    def drift(self, w: Vector) -> Vector:
        """Return u of the acceleration w x u due to velocities, in linear and angular part: the rate."""
        return [0.0] * self.direction + [self.rate] + [0.0] * (5 - self.direction)

    def wrench(self, f: Vector) -> Vector:
        """Return a wrench carried back to the previous frame."""
        return self._back(f[:3]) + self._back(f[3:])

    def inertia(self, I: Matrix) -> Matrix:
        """Return an inertia carried back to the previous frame: 28 multiplications."""
        A, B, C = [row[:3] for row in I[:3]], [row[3:] for row in I[:3]], [row[3:] for row in I[3:]]
        return assembled(self._tensor(A), self._tensor(B, symmetric=False), self._tensor(C))

    def _tensor(self, S: Matrix, symmetric: bool = True) -> Matrix:
        """Return R S R'."""
        k, i, j = _axes(self.axis)
        T = [list(row) for row in S]
        h = self.sin * (S[i][i] - S[j][j]) + self.cos * (S[i][j] + S[j][i])  # uses cos^2 + sin^2 = 1
        T[i][i] = S[i][i] - self.sin * h
        T[j][j] = S[j][j] + self.sin * h
        if is_zero(self.cos):  # a quarter turn
            T[i][i], T[j][j] = S[j][j], S[i][i]
        T[i][j] = self.cos * h - S[j][i]
        T[j][i] = T[i][j] if symmetric else self.cos * h - S[i][j]
        T[i][k] = self.cos * S[i][k] - self.sin * S[j][k]
        T[j][k] = self.sin * S[i][k] + self.cos * S[j][k]
        T[k][i] = T[i][k] if symmetric else self.cos * S[k][i] - self.sin * S[k][j]
        T[k][j] = T[j][k] if symmetric else self.sin * S[k][i] + self.cos * S[k][j]
        return T


@final
@dataclass(frozen=True)
class Attitude:
    """A turn of the frame by a rotation matrix `value`, whose columns are the turned frame's axes. It has no rate."""

    axis: int
    value: Any
    rate: Scalar = 0.0

    @property
    def direction(self) -> int:
        """Index of a component, as for other motions; the motion has no coordinate of its own."""
        return 3 + self.axis

    @property
    def shift(self) -> Vector:
        """Origin of the turned frame in the previous frame."""
        return [0.0, 0.0, 0.0]

    def acceleration(self, x: Vector) -> Vector:
        """Return the acceleration (or twist) of the turned frame, from that of the previous frame, at rest."""
        inward = transposed(self.value)
        return product(inward, x[:3]) + product(inward, x[3:])

    def drift(self, w: Vector) -> Vector:
        """Return no acceleration: the angular velocity is that of the `Spin` steps that follow."""
        return [0.0] * 6

    def wrench(self, f: Vector) -> Vector:
        """Return a wrench carried back to the previous frame."""
        return product(self.value, f[:3]) + product(self.value, f[3:])

    def inertia(self, I: Matrix) -> Matrix:
        """Return an inertia carried back to the previous frame."""
        blocks = [[row[:3] for row in I[:3]], [row[3:] for row in I[:3]], [row[3:] for row in I[3:]]]
        A, B, C = ([product(self.value, column) for column in transposed(block)] for block in blocks)  # (R S)'
        A, B, C = ([product(self.value, row) for row in transposed(block)] for block in (A, B, C))
        A, C = ([[S[min(r, c)][max(r, c)] for c in range(3)] for r in range(3)] for S in (A, C))
        return assembled(A, B, C)


@final
@dataclass(frozen=True)
class Spin:
    """An angular velocity `rate` about the axis `axis`, which does not turn the frame.

    Three of them, after an `Attitude`, are the rates of a ball joint.
    """

    axis: int
    value: Scalar = 0.0
    rate: Scalar = 0.0

    @property
    def direction(self) -> int:
        """Index of the component of an acceleration or a wrench that belongs to this motion's own coordinate."""
        return 3 + self.axis

    @property
    def shift(self) -> Vector:
        """Origin of the frame in the previous frame, the same."""
        return [0.0, 0.0, 0.0]

    def acceleration(self, x: Vector) -> Vector:
        """Return the acceleration (or twist), which stays the same."""
        return list(x)

    def drift(self, w: Vector) -> Vector:
        """Return u of the acceleration w x u due to velocities, in linear and angular part: the rate."""
        return [0.0] * self.direction + [self.rate] + [0.0] * (5 - self.direction)

    def wrench(self, f: Vector) -> Vector:
        """Return a wrench, which stays the same."""
        return list(f)

    def inertia(self, I: Matrix) -> Matrix:
        """Return an inertia, which stays the same."""
        return [list(row) for row in I]


def assembled(A: Matrix, B: Matrix, C: Matrix) -> Matrix:
    """Return the 6 x 6 inertia from its blocks: force from a, force from alpha, moment from alpha."""
    return [[*A[r], *B[r]] for r in range(3)] + [[B[0][r], B[1][r], B[2][r], *C[r]] for r in range(3)]


def _quarter(angle: Scalar) -> tuple[float, float] | None:
    """Return cosine and sine of a constant multiple of a quarter turn, without rounding, or None for another angle."""
    if not isinstance(angle, int | float) or (quarters := round(angle / (pi / 2))) * (pi / 2) != angle:
        return None
    return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]


def _axes(k: int) -> tuple[int, int, int]:
    return k, (k + 1) % 3, (k + 2) % 3


Motion = Slide | Turn | Attitude | Spin

TIP: tuple[tuple[type[Motion], int, int], ...]
TIP = ((Slide, 0, 1), (Slide, 1, 1), (Slide, 2, 1), (Turn, 2, 1), (Turn, 1, -1), (Turn, 0, 1))
"""Motion, axis and sign of a body's six tip functions, base frame to distal frame: p, then Rz Ry(-) Rx."""
