"""Norms of linear systems: the largest gain over all frequencies, and the response to white noise."""

from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from flexarm.analysis.balance import balanced, computing, eigenvalues
from flexarm.analysis.linear import state_space
from flexarm.analysis.margins import is_stable, peak
from flexarm.analysis.response import Response
from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.robust.systems import Matrices

if TYPE_CHECKING:
    import control


@final
class Norm(NamedTuple):
    """A largest gain, and the frequency where a system has it [rad/s]: infinity if that is the limit."""

    value: float
    frequency: float


@computing("hinf_norm")
def hinf_norm(system: "control.StateSpace") -> Norm:
    """Largest singular value of a stable system over all frequencies, to a relative accuracy of 1e-6.

    The search intersects levels of the gain with the imaginary eigenvalues of Hamiltonian matrices, so it does not miss
    narrow resonances: S. Boyd, V. Balakrishnan and P. Kabamba, Mathematics of Control, Signals, and Systems 2 (1989)
    207-219; N. A. Bruinsma and M. Steinbuch, Systems & Control Letters 14 (1990) 287-293. A sampled system is mapped to
    continuous time first.

    Raises `DescriptionError` if the system is not stable, since its norm is infinite then.
    """
    state_space("hinf_norm", system)
    A, B, C, D = (np.asarray(x, dtype=float) for x in (system.A, system.B, system.C, system.D))
    period = None if not system.dt else 1.0 if system.dt is True else float(system.dt)
    _check_stable("hinf_norm", A, period)
    if not len(A):
        return Norm(float(np.linalg.norm(D, 2)), 0.0)
    return Norm(*peak(Response(*balanced(A, B, C), D, period), _features(A, period)))


def largest_gain(system: Matrices) -> Norm:
    """Return the same for a system that is known to be stable."""
    if not system.order:
        return Norm(float(np.linalg.norm(system.D, 2)), 0.0)
    at = system.balanced
    return Norm(*peak(Response(at.A, at.B, at.C, at.D), _features(at.A, None)))


@computing("h2_norm")
def h2_norm(system: "control.StateSpace") -> float:
    """Standard deviation of the outputs under white noise of unit intensity at the inputs, of a continuous system.

    The value is sqrt(trace(C P C')), A P + P A' + B B' = 0. Raises `DescriptionError` if the system is not stable, or
    if it has a feedthrough matrix D, with which the norm is infinite.
    """
    from scipy.linalg import solve_continuous_lyapunov

    at = Matrices.of("h2_norm", system)
    _check_stable("h2_norm", at.A, None)
    if at.D.any():
        raise DescriptionError("h2_norm: the system has a feedthrough matrix D, so its norm is infinite; filter it")
    at = at.balanced
    if not at.order:
        return 0.0
    P = solve_continuous_lyapunov(at.A, -at.B @ at.B.T)
    return float(np.sqrt(max(np.trace(at.C @ P @ at.C.T), 0.0)))


def _features(A: Array, period: float | None) -> Array:
    """Return frequencies near those of the poles, ascending [rad/s]."""
    s, _ = eigenvalues(A)
    if period is not None:
        with np.errstate(divide="ignore"):
            s = np.log(np.where(s == 0.0, 1e-300, s)) / period
    found = np.concatenate([np.abs(s.imag), np.abs(s)])
    found = np.unique(found[found > 0.0])
    return found if period is None else found[found <= np.pi / period]


def _check_stable(where: str, A: Array, period: float | None) -> None:
    if not len(A):
        return
    s, error = eigenvalues(A if period is None else A - np.eye(len(A)))
    if period is not None:
        z = np.abs(1.0 + s)
        worst, stable = f"|z| = {z.max():.6g}", bool((z < 1.0).all())
    else:
        worst = f"{s[int(np.argmax(s.real))]:.4g} 1/s"
        stable = is_stable(s, error)
    if not stable:
        raise DescriptionError(
            f"{where}: the system is not stable, so its norm is infinite: it has a pole at {worst}; close a loop first"
        )
