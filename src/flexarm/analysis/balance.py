"""Linear systems in balanced states, and eigenvalues with bounds of their rounding errors."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError, FlexarmError

EPS = float(np.finfo(float).eps)
ROUNDED = 10.0 * EPS
"""Assumed relative error of each entry of a matrix, which is a sum of several terms."""


SURE = 10.0
"""Ratio of an eigenvalue to its error from which the eigenvalue has at least one correct digit."""
DOUBLE = 1e-6
"""A hundred times the square root of the machine precision, for double eigenvalues."""


def balanced(A: Array, B: Array, C: Array) -> tuple[Array, Array, Array]:
    """Return the system with each state scaled by a power of 2, so that its row and its column are equally large.

    Orthogonal transformations of an unbalanced realization, such as a companion form of fast poles, lose the slow part
    to rounding: B. N. Parlett and C. Reinsch, Balancing a matrix for calculation of eigenvalues and eigenvectors,
    Numerische Mathematik 13 (1969) 293-304. Inputs and outputs take part, and keep their units. The scaling is exact.
    """
    n, ends = len(A), max(B.shape[1], len(C))
    joined = np.zeros((n + ends, n + ends))
    joined[:n, :n], joined[:n, n : n + B.shape[1]], joined[n : n + len(C), :n] = A, B, C
    x = balanced_matrix(joined)[1][:n]
    return A / x[:, None] * x, B / x[:, None], C * x


def eigenvalues(A: Array) -> tuple[Array, Array]:
    """Eigenvalues (n,) of a matrix, and a bound (n,) of the error of each due to rounding of the matrix.

    The bound is of first order. Each entry has an assumed error of `ROUNDED` times the largest entry in its row of the
    balanced matrix. A slow part therefore keeps its digits beside a fast part on which it does not depend. The bound is
    infinite for a multiple eigenvalue with too few eigenvectors.
    """
    from scipy.linalg import eig

    if not len(A):
        return np.empty(0, dtype=complex), np.empty(0)
    scaled, _ = balanced_matrix(A)
    s, left, right = eig(scaled, left=True, right=True)
    noise = ROUNDED * (np.abs(left.T) @ np.abs(scaled).max(axis=1)) * np.abs(right).sum(axis=0)
    cosine = np.abs(np.einsum("ij,ij->j", left.conj(), right))
    return s, np.divide(noise, cosine, out=np.full(len(s), np.inf), where=cosine > 0.0)


def doubtful(s: Array, error: Array) -> Array:
    """Return (n,) of bool: True for eigenvalues that rounding may have moved from 0 or from its other side.

    A double eigenvalue at 0 is not doubtful. Rounding moves such an eigenvalue by the square root of the precision, in
    units of the next eigenvalue.
    """
    known = np.isfinite(s) & (np.abs(s) > SURE * error)
    next_ = np.abs(s[known]).min(initial=np.inf)
    return np.isfinite(s) & ~known & (s != 0.0) & (error > DOUBLE * next_)


def balanced_matrix(A: Array) -> tuple[Array, Array]:
    """Return D^-1 A D, whose rows and columns have similar norms, and the powers of 2 in D (n,)."""
    from scipy.linalg import get_lapack_funcs

    found, _, _, scale, _ = get_lapack_funcs("gebal", (A,))(A, scale=True, permute=False)
    return found, scale


@contextmanager
def computing(where: str) -> Iterator[None]:
    """Context of linear algebra: raises `DescriptionError` for overflows, singular matrices and failed iterations."""
    try:
        with np.errstate(all="ignore"):
            yield
    except FlexarmError:
        raise
    except (ArithmeticError, ValueError, RuntimeError, np.linalg.LinAlgError) as error:
        reason = " ".join(str(error).split())
        raise DescriptionError(
            f"{where}: the computation failed, probably because a number is too large or too small ({reason}); check "
            "units and weights"
        ) from None
