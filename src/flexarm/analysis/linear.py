"""Poles, zeros, zero dynamics, transfer functions and responses of linear systems."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.analysis.balance import ROUNDED, balanced_matrix, doubtful, eigenvalues
from flexarm.analysis.rosenbrock import reduced, scaled
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, checked_instance, counted, refused, unknown_name
from flexarm.errors import DescriptionError, UncertainResult

if TYPE_CHECKING:
    import control

Channels = str | int | Sequence[str | int] | None
"""Selection of outputs or inputs by name or index, one or several of them. None selects all."""

ORIGIN = 3e-8
"""Share of the fastest pole below which a zero counts as 0 if rounding may have moved it from there.

Rounding moves a double zero by that much, as in a mode that is not observed.
"""

REFINEMENTS = 3
MOVED = 0.1
"""Share of a zero's size by which a refinement may move it. One that moves farther is in a cluster and not refined."""

DETERMINED = 1e-2
"""Share of a zero's size by which the last digits of the system may move it without a warning."""

CANCELLED = 1e-7
"""Relative distance below which a pole and a zero cancel, because their mode is not controllable or not observable."""


def poles(system: "control.StateSpace") -> Array:
    """Eigenvalues of A, by size: (n,) complex [1/s].

    A double pole at zero, of a joint that is free to turn, is accurate only to the square root of rounding. A warning,
    `UncertainResult`, reports a slow pole that is lost to the rounding of fast ones.
    """
    s, error = eigenvalues(np.asarray(state_space("poles", system).A, dtype=float))
    if (poor := doubtful(s, error)).any():
        i = int(np.flatnonzero(poor)[0])
        warnings.warn(
            f"poles: the pole {s[i]:.4g} 1/s has an error of +-{error[i]:.2g} 1/s, as poles reach "
            f"{np.abs(s).max():.2g} 1/s; "
            "make the stiffest or lightest part rigid; Model.frequencies and frozen_eigenvalues are more accurate",
            UncertainResult,
            stacklevel=2,
        )
    return _by_size(s)


def zeros(system: "control.StateSpace", output: Channels = None, input: Channels = None) -> Array:
    """Finite zeros from some inputs to some outputs, by size: (k,) complex [1/s], in exactly conjugate pairs.

    Zeros are the s at which Rosenbrock's system matrix [A - s 1, B; C, D] loses rank. They include transmission zeros,
    and modes that these inputs do not control or these outputs do not observe. Infinite zeros (two for each pair of a
    position output and a force input) are removed by orthogonal transformations before any eigenvalue is computed: A.
    Emami-Naeini and P. Van Dooren, Computation of zeros of linear multivariable systems, Automatica 18 (1982) 415-430.
    The numbers of outputs and inputs are usually equal. Other systems, and those that lose rank everywhere, have the
    remaining zeros.

    Raises `DescriptionError` for an unknown output or input, and if no output depends on any input. A warning,
    `UncertainResult`, reports zeros that the last digits of the system's numbers move.
    """
    s, error = zeros_with_errors(system, output, input)
    if (poor := error > DETERMINED * np.abs(s)).any():
        least = np.abs(s[poor]).min()
        warnings.warn(
            f"zeros: {poor.sum()} of {counted(len(s), 'zero')}, from "
            f"{least:.4g} 1/s on, are sensitive to rounding of the "
            "system's numbers, so they are not reliable; use fewer modes, or leave out the fastest poles",
            UncertainResult,
            stacklevel=2,
        )
    return s


def zeros_with_errors(
    system: "control.StateSpace", output: Channels = None, input: Channels = None
) -> tuple[Array, Array]:
    """Return the zeros of `zeros`, and how far the last digits of the system's numbers move each; 0 for a zero at 0."""
    A, B, C, D, _, _, rate = scaled(*_channel(system, output, input))
    given, square = (A, B, C, D), len(C) == B.shape[1]
    A, B, C, D, _ = reduced(A, B, C, D)
    A, C, B, D = (X.T for X in reduced(A.T, C.T, B.T, D.T)[:4])
    n = len(A)
    if not len(D):
        raise DescriptionError("zeros: no output depends on any of the inputs")
    if n == 0:
        return np.empty(0, dtype=complex), np.empty(0)
    # [A - s 1, B; C, D] with D square and regular: on the null space of [C, D] the pencil has the size of A
    null = np.linalg.svd(np.hstack([C, D]))[2][len(C) :].T
    from scipy.linalg import eigvals

    s = eigvals(np.hstack([A, B]) @ null, null[:n])
    upper, real = s[s.imag > 0], s[s.imag == 0]
    s = np.concatenate([real, upper])
    s, entries, rows = _refined(s, given) if square else (s, np.zeros(len(s)), np.full(len(s), np.inf))
    s = _at_origin(s, 1.0, rows)
    entries = np.where(s == 0.0, 0.0, entries)
    k = len(real)
    s, error = np.concatenate([s, s[k:].conj()]), np.concatenate([entries, entries[k:]])  # exact pairs
    order = _size_order(s)
    return rate * s[order], rate * error[order]


def _refined(s: Array, system: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return zeros of a square system by Rayleigh quotients of its system matrix, and two error bounds of each zero.

    The first bound is for rounding errors of each number, the second for those of the largest number in each row.

    The staircase is exact for a system that differs by rounding of its largest numbers. The quotients keep the digits
    of slow zeros beside fast ones. A zero stays unchanged if its refinement is not nearer to a singular matrix.
    """
    A, B, C, D = system
    n, m = B.shape
    P0, _ = balanced_matrix(np.block([[A, B], [C, D]]))
    E = np.diag([1.0] * n + [0.0] * m)
    found, entries, rows = s.copy(), np.zeros(len(s)), np.full(len(s), np.inf)
    rng = np.random.default_rng(0)
    for i in range(len(s)):
        for _ in range(REFINEMENTS):
            try:
                x, y = _null_vectors(P0 - found[i] * E, rng)
            except np.linalg.LinAlgError:  # the zero is exact to the last digit
                break
            size = np.vdot(y, E @ x)
            if not abs(size) > 0.0:
                break
            entries[i] = ROUNDED / abs(size) * float(np.abs(y) @ np.abs(P0) @ np.abs(x))
            rows[i] = ROUNDED / abs(size) * float(np.abs(y) @ np.abs(P0).max(axis=1)) * float(np.abs(x).sum())
            step = np.vdot(y, P0 @ x - found[i] * (E @ x)) / size
            if not abs(step) <= MOVED * max(abs(found[i]), rows[i]):
                break
            found[i] = found[i] + step if s[i].imag else (found[i] + step).real
    return found, entries, rows


def _null_vectors(P: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Vectors x and y of norm 1 with the smallest P x and y' P, by inverse iteration."""
    x, y = (rng.standard_normal(len(P)) + 0j for _ in range(2))
    for _ in range(2):
        x = np.linalg.solve(P, x)
        y = np.linalg.solve(P.conj().T, y)
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return x, y


def transfer_function(
    system: "control.StateSpace", output: Channels = None, input: Channels = None
) -> "control.TransferFunction":
    """Return a `control.TransferFunction` from inputs to outputs, made from poles, zeros and gain of each pair.

    python-control's own conversion leaves rounding errors in coefficients that should be zero. Its numerators then have
    a wrong degree, and margins and root loci have spurious zeros far out. Here the degree follows from the zeros of
    `zeros`, poles of freely turning joints are exactly at 0, and modes that are not controllable or not observable
    cancel. Polynomial coefficients are inaccurate for many poles. Above about 20 poles, take frequency responses from
    the state space.

    Raises `DescriptionError` for an unknown output or input.
    """
    import control

    state_space("transfer_function", system)
    rows, columns = chosen("output", output, system.output_labels), chosen("input", input, system.input_labels)
    channels = [[_ratio(system, i, j) for j in columns] for i in rows]
    num, den = ([[each[k] for each in row] for row in channels] for k in (0, 1))
    names = {
        "inputs": [system.input_labels[j] for j in columns],
        "outputs": [system.output_labels[i] for i in rows],
    }
    return control.TransferFunction(num, den, **names)


def _ratio(system: "control.StateSpace", output: int, input: int) -> tuple[Array, Array]:
    """Numerator and denominator from one input to one output."""
    A, B, C, D = _channel(system, output, input)
    s_p, error = eigenvalues(A)
    size = float(np.abs(s_p).max(initial=0.0)) or 1.0
    s_p = _at_origin(s_p, size, error)
    try:
        s_z, _ = zeros_with_errors(system, output, input)
    except DescriptionError:  # the output does not depend on this input
        return np.zeros(1), np.ones(1)
    s_p, s_z = _without_common(s_p, s_z, size)
    # the gain, from values away from poles and zeros
    near = np.concatenate([np.abs(s_p[s_p != 0]), np.abs(s_z[s_z != 0]), [size]])
    found = []
    for s in np.geomspace(near.min() / 3, 3 * size, 15):
        value = (C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D).item()
        factors = np.log((s - s_p).astype(complex)).sum() - np.log((s - s_z).astype(complex)).sum()
        found.append(value * np.exp(factors).real)
    num, den = np.real(np.poly(s_z)), np.real(np.poly(s_p))
    return float(np.median(found)) * np.atleast_1d(num), np.atleast_1d(den)


def _without_common(s_p: Array, s_z: Array, size: float) -> tuple[Array, Array]:
    """Poles and zeros without the pairs that cancel, which are equal except for rounding."""
    left_p, left_z = list(s_p), []
    for z in s_z:
        gaps = np.abs(np.array(left_p) - z) if left_p else np.array([np.inf])
        i = int(np.argmin(gaps))
        if gaps[i] <= CANCELLED * max(abs(z), ORIGIN * size):
            left_p.pop(i)
        else:
            left_z.append(z)
    return np.array(left_p, dtype=complex), np.array(left_z, dtype=complex)


def _at_origin(s: Array, size: float, error: Array | float) -> Array:
    """Replace values by 0 if they differ from 0 only by the rounding of a double one."""
    return np.where((np.abs(s) < ORIGIN * size) & (np.abs(s) <= error), 0.0, s)


def is_minimum_phase(system: "control.StateSpace", output: Channels = None, input: Channels = None) -> bool:
    """True if no zero lies in the right half plane; those on the imaginary axis, of an undamped arm, are allowed."""
    s = zeros(system, output, input)
    return bool((s.real <= 1e-6 * np.abs(s)).all())


@final
@brief
@dataclass(frozen=True, eq=False)
class ZeroDynamics:
    """Motions that leave the outputs at zero: x = basis z, u = gain z, z_dot = matrix z.

    The eigenvalues of `matrix`, (k, k) [1/s], are the zeros. `basis` is (states, k), and `gain` is (inputs, k). The z
    are not coordinates of the arm: only x and u have a meaning.
    """

    matrix: Array
    basis: Array
    gain: Array


def zero_dynamics(system: "control.StateSpace", output: Channels = None, input: Channels = None) -> ZeroDynamics:
    """Linear zero dynamics of as many outputs as inputs: the remaining motion when the outputs are held at zero.

    An inverse-dynamics controller of these outputs causes this motion (Lin & Lewis, section 5). Such a controller is
    not usable if `matrix` is unstable. Raises `DescriptionError` if the numbers of outputs and inputs differ, or if u
    is not unique.
    """
    a, b, c, d = _channel(system, output, input)
    A, B, C, D, x_scale, u_scale, rate = scaled(a, b, c, d)
    if len(C) != B.shape[1]:
        raise DescriptionError(
            f"zero dynamics: {counted(len(C), 'output')} for {counted(B.shape[1], 'input')}; the numbers must be equal"
        )
    A, B, C, D, basis = reduced(A, B, C, D)
    if len(D) < B.shape[1]:
        raise DescriptionError("zero dynamics: outputs or inputs are linearly dependent, so u is not unique")
    gain = -np.linalg.solve(D, C)
    return ZeroDynamics(rate * (A + B @ gain), x_scale[:, None] * basis, u_scale[:, None] * gain)


def _by_size(s: Array) -> Array:
    s = np.asarray(s, dtype=complex)
    return s[_size_order(s)]


def _size_order(s: Array) -> Array:
    first = np.argsort(np.abs(s))
    s = s[first]
    size = np.abs(s)
    group = np.cumsum(np.diff(size, prepend=0.0) > 1e-6 * size)  # conjugate pairs, and +-s, have equal sizes
    angle = s / np.where(size > 0, size, 1.0)
    return first[np.lexsort((np.round(angle.real, 6), np.round(angle.imag, 6), group))]


def _channel(system: "control.StateSpace", output: Channels, input: Channels) -> tuple[Array, Array, Array, Array]:
    state_space("zeros", system)
    rows = chosen("output", output, system.output_labels)
    columns = chosen("input", input, system.input_labels)
    A, B, C, D = (np.asarray(X, dtype=float) for X in (system.A, system.B, system.C, system.D))
    return A, B[:, columns], C[rows], D[np.ix_(rows, columns)]


def state_space(where: str, system: Any) -> "control.StateSpace":
    """Return the system if it is a StateSpace of finite numbers; raises `DescriptionError` otherwise."""
    import control

    with refused(where):
        checked_instance(system, control.StateSpace, "system")
    if not all(np.isfinite(X).all() for X in (system.A, system.B, system.C, system.D)):
        raise DescriptionError(f"{where}: the system's matrices contain NaN or infinity")
    return system


def chosen(what: str, wanted: Any, labels: list[str]) -> list[int]:
    if wanted is None:
        return list(range(len(labels)))
    found: list[int] = []
    wanted = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
    for each in wanted if isinstance(wanted, list | tuple | range) else [wanted]:
        if isinstance(each, str) and each in labels:
            found.append(labels.index(each))
        elif isinstance(each, int | np.integer) and 0 <= each < len(labels):
            found.append(int(each))
        else:
            raise DescriptionError(unknown_name(f"unknown {what}", each, labels, "the system has"))
    if not found:
        raise DescriptionError(f"no {what} is given; the system has {', '.join(labels)}")
    return found


def transfer_matrix(system: "control.StateSpace", omega: Array) -> Array:
    """C (j omega - A)^-1 B + D at frequencies [rad/s]: (frequencies, outputs, inputs) complex; infinite at a pole."""
    state_space("transfer_matrix", system)
    with refused("transfer_matrix"):
        s = 1j * np.atleast_1d(checked_array(omega, "omega"))
        if s.ndim > 1:
            raise Fault("omega", f"has shape {s.shape}; it must be one number or a list of numbers")
    return np.moveaxis(system(s, squeeze=False, warn_infinite=False), -1, 0)
