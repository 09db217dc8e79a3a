"""Fastest motions that are known without the package: equations of their own, solved by SciPy, no line of flexarm.

- Two masses and a spring: the switches are roots of two equations, and the conditions of Pontryagin, sufficient where
  the dynamics are linear, hold in closed form.
- A rigid arm of two links: example 2 of section 12.4.2 in R. Luus, Iterative Dynamic Programming (CRC Press 2000). The
  switches by shooting, the costate at the end from them.
- Any linear arm on a grid of held inputs: linear programs, and a bound from their dual that no input at all can beat.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq, linprog, root

Array = np.ndarray

TIGHT = {"rtol": 1e-11, "atol": 1e-13}


@final
@dataclass(frozen=True)
class Known:
    """A motion whose inputs change sides: they begin with the signs `begins` (m,); `switches` of each, and `end`
    [s]."""

    begins: tuple[float, ...]
    switches: tuple[tuple[float, ...], ...]
    end: float

    def signs(self, t: Any) -> Array:
        """Sides of the inputs at times of any shape, (..., m)."""
        t = np.asarray(t, dtype=float)
        sides = [
            s * (-1.0) ** sum(t >= each for each in own) for s, own in zip(self.begins, self.switches, strict=True)
        ]
        return np.stack([np.broadcast_to(side, t.shape) for side in sides], axis=-1)


# -- two masses and a spring -------------------------------------------------------------------------------------------


def two_masses() -> Known:
    """Unit masses, a spring of 1 N/m between them, |u| <= 1 N on the first, one metre from rest to rest.

    Three switches, odd about half the time, tau before the end: the centre of mass wants 2 = tau^2 - 2 s^2, s the time
    from the first switch to the middle, and the vibration, of omega = sqrt(2), 0 = 1 - 2 cos(omega s) + cos(omega tau).
    """
    omega = np.sqrt(2.0)

    def left(s: float) -> float:
        return float(1 - 2 * np.cos(omega * s) + np.cos(omega * np.sqrt(2 + 2 * s * s)))

    s = float(brentq(left, 1.0, 1.2, xtol=1e-15))
    tau = float(np.sqrt(2 + 2 * s * s))
    return Known((1.0,), ((tau - s, tau, tau + s),), 2 * tau)


def two_masses_switching(t: Any) -> Array:
    """The switching function of that motion: c1 (t - tau) + c2 sin(omega (t - tau)), zero at its switches."""
    known = two_masses()
    omega, tau = np.sqrt(2.0), known.end / 2
    s = tau - known.switches[0][0]
    return np.sin(omega * (np.asarray(t) - tau)) * s - np.sin(omega * s) * (np.asarray(t) - tau)


# -- a rigid arm of two links ------------------------------------------------------------------------------------------

LUUS = ((0.0, 0.5), (0.522, 0.5))
"""Start and end: the angle of the first link, and that of the second against it [rad]."""


def two_links_rate(x: Array, u: Array) -> Array:
    """x' of x = (first link's rate, second's, angle between them, first link's angle), as Luus prints it.

    Uniform rods of 1 kg and 1 m, with 1 kg at the tip, the second torque between them.
    """
    w1, w2, theta, _ = x
    s, c = np.sin(theta), np.cos(theta)
    det = 31 / 36 + 9 / 4 * s * s
    first = s * (9 / 4 * c * w1 * w1 + 2 * w2 * w2) + 4 / 3 * (u[0] - u[1]) - 3 / 2 * c * u[1]
    second = s * (7 / 2 * w1 * w1 + 9 / 4 * c * w2 * w2) - 7 / 3 * u[1] + 3 / 2 * c * (u[0] - u[1])
    return np.array([first / det, -second / det, w2 - w1, w1])


@final
@dataclass(frozen=True, eq=False)
class TwoLinks:
    """The fastest motion from `LUUS[0]` to `LUUS[1]` within 1 N m, and what shows that it is extremal.

    Attributes
    ----------
    motion : Known
    times : (k,)
        Fine, from 0 to the end.
    switching : (k, 2)
        p' df/du: of the sign of the inputs (Pontryagin).
    hamiltonian : (k,)
        p' f: one everywhere.
    """

    motion: Known
    times: Array
    switching: Array
    hamiltonian: Array


FIRST = (1.49, 0.94, 2.63, 2.98)
"""Near the switches of the first input and of the second, and the end [s]; published: 2.983021 s, still falling as
grids get finer (V. M. Becerra, PSOPT, example twolinkarm, multiple shooting with 80 nodes)."""


def two_links(count: int = 601) -> TwoLinks:
    """One switch of the first torque, two of the second: with the end as many unknowns as states. The costate at the
    end is where both switching functions vanish at their switches and p' f = 1."""
    (a, theta), (b, after) = LUUS
    start, end = np.array([0.0, 0.0, theta, a]), np.array([0.0, 0.0, after, b])

    def known(z: Array) -> Known:
        return Known((1.0, 1.0), ((z[0],), (z[1], z[2])), z[3])

    z = root(lambda z: _way(two_links_rate, start, known(z))[1][:, -1] - end, FIRST, tol=1e-11).x
    motion = known(z)
    times = np.linspace(0.0, motion.end, count)
    asked = np.unique(np.concatenate([times, *motion.switches]))
    x = _way(two_links_rate, start, motion, asked)[1]
    P = _adjoint(two_links_rate, asked, x, motion)  # p(t)' = p(T)' P(t)
    B = [_slopes(lambda u, x=x: two_links_rate(x, u), np.zeros(2)) for x in x.T]  # linear in u
    S = np.stack([P[k] @ B[k] for k in range(len(asked))])  # (k, 4, 2)
    rows = [S[np.searchsorted(asked, t), :, i] for i, own in enumerate(motion.switches) for t in own]
    f = np.stack([two_links_rate(x, u) for x, u in zip(x.T, motion.signs(asked), strict=True)])
    rows.append(P[-1] @ f[-1])
    p = np.linalg.solve(np.array(rows), [0.0, 0.0, 0.0, 1.0])
    kept = np.isin(asked, times)
    H = np.einsum("i,kij,kj->k", p, P, f)
    return TwoLinks(motion, times, np.einsum("i,kij->kj", p, S)[kept], H[kept])


def _pieces(motion: Known) -> list[tuple[float, float, Array]]:
    """Begin, end and inputs of each stretch between switches."""
    ends = np.unique([0.0, motion.end, *(t for own in motion.switches for t in own)])
    return [(a, b, motion.signs((a + b) / 2)) for a, b in pairwise(ends)]


def _way(f: Callable[..., Array], start: Array, motion: Known, times: Array | None = None) -> tuple[Array, Array]:
    """Times (k,), or the end alone, and states (n, k) there."""
    asked = np.array([motion.end]) if times is None else times
    x, found = start, np.tile(start[:, None], (1, len(asked)))
    for a, b, u in _pieces(motion):
        run = solve_ivp(lambda _, x, u=u: f(x, u), (a, b), x, "DOP853", dense_output=True, **TIGHT)
        inside = (asked >= a) & (asked <= b)
        if inside.any():
            found[:, inside] = run.sol(asked[inside])
        x = run.y[:, -1]
    return asked, found


def _adjoint(f: Callable[..., Array], times: Array, x: Array, motion: Known) -> Array:
    """P (k, n, n) of p(t)' = p(T)' P(t), p' = -A' p along the motion, its way integrated again from the end on."""
    n = len(x)
    found = np.tile(np.eye(n), (len(times), 1, 1))
    state = np.concatenate([x[:, -1], np.eye(n).ravel()])
    for a, b, u in reversed(_pieces(motion)):

        def rate(_: float, y: Array, u: Array = u) -> Array:
            A = _slopes(lambda x: f(x, u), y[:n])
            return np.concatenate([f(y[:n], u), -(y[n:].reshape(n, n) @ A).ravel()])

        run = solve_ivp(rate, (b, a), state, "DOP853", dense_output=True, **TIGHT)
        inside = (times >= a) & (times <= b)
        if inside.any():
            found[inside] = run.sol(times[inside])[n:].T.reshape(-1, n, n)
        state = run.y[:, -1]
    return found


def _slopes(f: Callable[[Array], Array], x: Array) -> Array:
    """The Jacobian of an analytic function, by imaginary steps: exact."""
    step = 1e-30
    return np.stack([f(x + 1j * step * e).imag / step for e in np.eye(len(x))], axis=1)


# -- linear arms -------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Linear:
    """x' = A x + B u with |u| <= limit, from rest to rest `way` further: A way = 0.

    Parameters
    ----------
    A, B : (n, n), (n, m)
    way : (n,)
    limit : (m,)
    """

    A: Array
    B: Array
    way: Array
    limit: Array

    def moved(self, shares: Array, T: float) -> Array:
        """Where a unit of each held input in each interval brings the arm by the end, (n, N, m)."""
        n, m = self.B.shape
        block = np.block([[self.A, self.B], [np.zeros((m, n + m))]])
        after, found = np.eye(n), []
        steps: dict[float, Array] = {}
        for h in np.round(np.diff(shares) * T, 12)[::-1].tolist():
            step = steps.setdefault(h, expm(h * block))
            found.append(after @ step[:n, n:])
            after = after @ step[:n, :n]
        return np.stack(found[::-1], axis=1)

    def farthest(self, shares: Array, T: float) -> tuple[float, Array, Array]:
        """The largest multiple of the way that held inputs make in the time T, these inputs (N, m), and the dual's
        solution y (n,): y' way = 1, and no inputs on this grid go farther than sum |y' moved| limit."""
        G = self.moved(shares, T)
        n, N, m = G.shape
        size = np.abs(G).sum(axis=(1, 2))
        rows = np.hstack([(G * self.limit).reshape(n, -1), -self.way[:, None]]) / size[:, None]
        bounds = [(-1.0, 1.0)] * (N * m) + [(0.0, None)]
        found = linprog(np.append(np.zeros(N * m), -1.0), A_eq=rows, b_eq=np.zeros(n), bounds=bounds, method="highs-ds")
        y = found.eqlin.marginals / size
        y = y / (y @ self.way)
        return float(found.x[-1]), found.x[:-1].reshape(N, m) * self.limit, y

    def fastest(self, shares: Array, below: float, above: float) -> float:
        """The least time on a grid of these shares, between two bounds [s]."""
        return float(brentq(lambda T: self.farthest(shares, T)[0] - 1, below, above, xtol=1e-9))

    def impossible(self, y: Array, longest: float, count: int = 4001) -> float:
        """A time [s] within which no input at all makes the way, held or not: that in which the integral of
        |y' exp(A s) B| limit reaches y' way = 1. True of every y; sharp for the costate of the fastest motion."""
        s = np.linspace(0.0, longest, count)
        step, row = expm(s[1] * self.A), y / (y @ self.way)
        rate = np.empty(count)
        for k in range(count):
            rate[k] = np.abs(row @ self.B) @ self.limit
            row = row @ step
        covered = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2) * s[1]])
        return float(np.interp(1.0, covered, s))
