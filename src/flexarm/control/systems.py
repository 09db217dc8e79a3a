"""Linear systems of python-control as matrices: realised, balanced, discretised."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final, get_args

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_array, choices, refused, shown
from flexarm.control.gains import designing
from flexarm.errors import DescriptionError
from flexarm.simulation.law import is_linear_system, what_it_is

Method = Literal["tustin", "zoh", "euler", "backward_diff"]
METHODS = get_args(Method)
IMPLICIT = {"tustin": 0.5, "backward_diff": 1.0}
"""Weight a of the next derivative in a step h."""
OWN = re.compile(r"[uy]\[\d+\]")
"""Default labels of python-control."""


@final
@dataclass(frozen=True, eq=False)
class System:
    """A linear system y = C x + D e, and dx/dt (or the next x) = A x + B e.

    Attributes
    ----------
    inputs, outputs : labels
    dt : period of a discrete one [s]; 0 of a continuous one, None where it may be either, True where any period will do
    """

    A: Array
    B: Array
    C: Array
    D: Array
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dt: float | bool | None

    def at(self, where: str, period: float | None, method: str, prewarp: float | None) -> "System":
        """Return the continuous system, or the discrete one of a period [s]; raises `DescriptionError` for another
        period.
        """
        if not len(self.A) and not self.dt:
            return self
        if self.dt:
            if period is None:
                said = f"{where}: the system is discrete" + ("" if self.dt is True else f", of period {self.dt:g} s")
                raise DescriptionError(f"{said}; use Sampled(...) with this period")
            if self.dt is not True and not abs(self.dt - period) <= 1e-9 * period:
                same = "they must be equal"
                raise DescriptionError(
                    f"{where}: the system's period is {self.dt:g} s and the loop's {period:g} s; {same}"
                )
            return self
        if period is None:
            return self
        from scipy.signal import cont2discrete

        step = period
        if prewarp is not None:
            if method != "tustin":
                raise DescriptionError(f"{where}: prewarp applies only to method 'tustin'; the method is {method!r}")
            if not prewarp * period < np.pi:
                most = f"it must be less than pi / period, {np.pi / period:.4g} rad/s"
                raise DescriptionError(f"{where}: prewarp is {prewarp:g} rad/s; {most}")
            step = 2.0 * np.tan(prewarp * period / 2.0) / prewarp
        with designing(where):
            named = "bilinear" if method == "tustin" else method
            A, B, _, D, _ = cont2discrete((self.A, self.B, self.C, self.D), step, named)
            if method in IMPLICIT:  # back from SciPy's states (1 - a h A) x, so that an initial state keeps its meaning
                B = np.linalg.solve(np.eye(len(A)) - IMPLICIT[method] * step * self.A, B)
        return replace(self, A=A, B=B, D=D, dt=period)


def system_of(where: str, given: Any) -> System:
    """Return a StateSpace, a TransferFunction, or a matrix of gains as a `System`; raises `DescriptionError`."""
    if isinstance(given, System):
        return given
    if not is_linear_system(given):
        must = "it must be a StateSpace or a TransferFunction of python-control, or a matrix of gains"
        if given is None or isinstance(given, str | type) or callable(given):
            what = shown(given) if given is None or isinstance(given, str) else what_it_is(given)
            raise DescriptionError(f"{where}: system is {what}; {must}")
        with refused(where):
            D = checked_array(given, "system")
        if D.ndim not in (0, 2):
            raise DescriptionError(f"{where}: system has shape {D.shape}; {must}")
        D = np.atleast_2d(D)
        rows, columns = D.shape
        A, B, C = np.zeros((0, 0)), np.zeros((0, columns)), np.zeros((rows, 0))
        return System(A, B, C, D, _own("u", columns), _own("y", rows), None)
    if all(hasattr(given, name) for name in "ABCD"):
        A, B, C, D = (np.array(getattr(given, name), dtype=float) for name in "ABCD")
    elif hasattr(given, "num") and hasattr(given, "den"):
        A, B, C, D = _of_fractions(where, given)
    else:
        must = "it must be a StateSpace or a TransferFunction"
        raise DescriptionError(f"{where}: system is {what_it_is(given)} of python-control; {must}")
    for name, part in zip("ABCD", (A, B, C, D), strict=True):
        if not np.isfinite(part).all():
            raise DescriptionError(f"{where}: the system's {name} contains NaN or infinity")
    return System(A, B, C, D, tuple(given.input_labels), tuple(given.output_labels), given.dt)


def _own(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}[{i}]" for i in range(count))


def _of_fractions(where: str, given: Any) -> tuple[Array, ...]:
    """Scaled realisation with the states of each entry of a transfer matrix one after the other."""
    rows, columns = len(given.output_labels), len(given.input_labels)
    A, B, C, D = np.zeros((0, 0)), np.zeros((0, columns)), np.zeros((rows, 0)), np.zeros((rows, columns))
    for i in range(rows):
        for j in range(columns):
            a, b, c, D[i, j] = _of_fraction(where, given.num[i][j], given.den[i][j])
            A = np.block([[A, np.zeros((len(A), len(a)))], [np.zeros((len(a), len(A))), a]])
            B = np.vstack([B, b[:, None] * np.eye(columns)[j]])
            C = np.hstack([C, np.eye(rows)[:, [i]] * c])
    return A, B, C, D


def _of_fraction(where: str, num: Array, den: Array) -> tuple[Array, Array, Array, float]:
    """A, b, c, d of num / den: the controllable form, scaled so that no state is far larger than its input."""
    from scipy.linalg import matrix_balance

    num, den = (np.trim_zeros(np.asarray(each, dtype=float), "f") for each in (num, den))
    if len(num) > len(den):
        message = f"with numerator degree {len(num) - 1} and denominator degree {len(den) - 1}"
        must = "it must be proper: filter the derivative"
        raise DescriptionError(f"{where}: a transfer function of the system is improper, {message}; {must}")
    n = len(den) - 1
    with designing(where):
        num, den = np.concatenate([np.zeros(n + 1 - len(num)), num]) / den[0], den / den[0]
    A, b, d = np.eye(n, k=-1), np.eye(n)[:, :1].ravel() if n else np.zeros(0), float(num[0])
    A[:1] = -den[1:]
    c = num[1:] - d * den[1:]
    if not n:
        return A, b, c, d
    A, (scale, _) = matrix_balance(A, permute=False, separate=True)
    b, c = b / scale, c * scale
    size = np.linalg.norm(A, 2) / np.linalg.norm(b) or 1.0
    return A, b * size, c / size, d


def order(where: str, labels: Sequence[str], names: Sequence[str], kind: str, what: str) -> list[int]:
    """Index of the label for each name: by name, or in order if the labels are python-control's defaults.

    Raises `DescriptionError` if they do not fit.
    """
    if len(labels) != len(names):
        raise DescriptionError(f"{where}: the system has {len(labels)} {kind}s; {what}: {', '.join(names)}")
    if all(OWN.fullmatch(each) for each in labels):
        return list(range(len(names)))
    for each in labels:
        if each not in names:
            must = f"use these names, or python-control's default names ({'uy'[kind == 'output']}[0], ...)"
            raise DescriptionError(
                f"{where}: the system's {kind} is called {each!r}; {what}: {', '.join(names)}; {must}"
            )
    return [labels.index(name) for name in names]


def checked_method(where: str, method: Any) -> None:
    """Raise `DescriptionError` for an unknown method of discretisation."""
    if not isinstance(method, str) or method not in METHODS:
        raise DescriptionError(f"{where}: method is {shown(method)}; it must be {choices(*map(repr, METHODS))}")
