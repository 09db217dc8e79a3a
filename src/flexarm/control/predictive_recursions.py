"""Solution of a horizon's program by recursions over its steps in native code, see `active_set`."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.control.active_set import AT_ONCE, SOLVED, UNFINISHED, forgotten, solved
from flexarm.control.horizon_rows import Horizon, responded
from flexarm.control.predictive_course import Optimum, Stage
from flexarm.control.predictive_horizon import Limits
from flexarm.control.predictive_samples import sampled
from flexarm.native.functions import translated
from flexarm.native.language import Placed
from flexarm.native.once import Once

VIOLATION = 1e-9
"""Largest violation in a solution, as a share of the limit."""

MOST_OPERATIONS = 2e9
"""Largest number of operations without another limit, about a second. Programs that take as many do not converge."""

MOST_PRODUCTS = 2000
"""Largest number of rows whose products are stored, in 32 MB. Otherwise they are computed from the gradients."""

CODE = Once(lambda: translated(solved, forgotten, sampled, responded))
SOLVE = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
SAMPLE = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
RESPOND = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
FORGET = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@final
@dataclass(frozen=True, eq=False)
class Matrices:
    """Matrices from (x, z) to (x', u, y) for steps under u = -K x + L'^-1 z, as `Horizon` stores them.

    Attributes
    ----------
    forward, backward : (k, s + m, wide), (k, s + m + p, narrow)
    """

    forward: Array
    backward: Array

    @classmethod
    def of(cls, stage: Stage, best: Optimum, C: Array) -> "Matrices":
        """Return the matrices of steps. C (k, p, s) are the outputs' slopes at the ends of the steps."""
        k, s, m = stage.G.shape
        p = C.shape[1]
        moves = np.swapaxes(np.linalg.inv(best.L), 1, 2)
        u = np.concatenate([-best.K, moves], axis=2)
        x = stage.G @ u
        x[:, :, :s] += stage.F
        N = np.concatenate([x, u, C @ x], axis=1)
        forward = np.zeros((k, s + m, _padded(s + m + p)))
        forward[:, :, : s + m + p] = np.swapaxes(N, 1, 2)
        backward = np.zeros((k, s + m + p, _padded(s + m)))
        backward[:, :, : s + m] = N
        return cls(forward, backward)


def _padded(n: int) -> int:
    """Return the next multiple of 4."""
    return n + -n % 4


@final
class Recursions:
    """Solver of the programs of one run, with the active limits of the previous sample.

    Parameters
    ----------
    limits : Limits
    states : int
        Length of x, with its last entry 1.
    weight : float
        Weight of soft limits, see `Program`.
    operations : float
        Largest number of multiplications with additions in the solution of one sample.

    Attributes
    ----------
    unfinished : bool
        True if the last program needs more operations, or cannot be solved to rounding.
    """

    def __init__(self, limits: Limits, states: int, weight: float, operations: float = MOST_OPERATIONS):
        (k, m), p = (len(limits.lengths), len(limits.u)), len(limits.low)
        u, rate, y = limits.sizes
        rows = k * (2 * m + p)
        moves, most = _padded(limits.steered * m), limits.steered * m + p + 1
        wide, narrow = _padded(states + m + p), _padded(states + m)
        self._weight, self._p, self._rows, self._first = weight, p, rows, -1
        self.unfinished = False
        self._slack = p if limits.soft else 0
        slack = np.concatenate([np.full(2 * m, -1), np.arange(p)])
        self.low, self.high, self.x0 = np.empty((k, 2 * m + p)), np.empty((k, 2 * m + p)), np.empty(states)
        self.y, self.z, self.e = np.zeros((k, 2 * m + p)), np.zeros(moves), np.zeros(p)
        self._moves, self._u = limits.steered * m, u
        self._active, self._sides = np.zeros(most, dtype=np.int64), np.zeros(most)
        self._multipliers = np.zeros(most)
        self._matrices = np.zeros(0), np.zeros(0)
        self._responses = self._table = np.zeros(0)
        self._code = CODE()
        self._call = SOLVE(self._code.addresses["solved"])
        self._record = Placed(
            Horizon(
                k=k,
                s=states,
                m=m,
                p=p,
                steered=limits.steered,
                soft=int(limits.soft),
                first=0,
                count=0,
                wide=wide,
                narrow=narrow,
                forward=self._matrices[0],
                backward=self._matrices[1],
                known=0,
                tabled=0,
                responses=self._responses,
                table=self._table,
                scales=np.ones(rows),
                x0=self.x0,
                low=self.low,
                high=self.high,
                of_u=1.0 / u,
                of_rate=1.0 / rate,
                of_y=1.0 / y,
                weight=weight,
                tolerance=VIOLATION,
                most=most,
                moves=moves,
                slack=np.concatenate([np.tile(slack, k), np.arange(p)]) if limits.soft else np.full(rows + p, -1),
                steps=np.concatenate([np.repeat(np.arange(k), 2 * m + p), np.full(p, -1)]),
                allowed=float(operations),
                shift=0,
                fresh=1,
                n=0,
                active=self._active,
                sides=self._sides,
                slots=np.arange(most),
                rows=np.zeros(most * moves),
                gram=np.zeros(most * most),
                W=np.zeros(most * most),
                product=np.zeros(most),
                half=np.zeros(most),
                multipliers=self._multipliers,
                direction=np.zeros(most),
                z=self.z,
                e=self.e,
                y=self.y,
                y0=np.zeros((k, 2 * m + p)),
                x=np.zeros(wide + narrow),
                v=np.zeros(wide),
                g=np.zeros(narrow),
                before=np.zeros(m),
                candidates=np.zeros(AT_ONCE + 1, dtype=np.int64),
                beyond=np.zeros(rows),
                operations=0.0,
                bound=0.0,
                iterations=0,
                worst=-1,
            )
        )

    def use(self, matrices: Matrices) -> None:
        """Use other matrices from the next solution on."""
        self._matrices = matrices.forward, matrices.backward
        record = self._record
        record.forward, record.backward = map(address_of, self._matrices)
        record.count, record.fresh, record.known, record.tabled = len(matrices.forward), 1, 0, 0

    def hold(self) -> None:
        """Store the responses of the last matrices, which then stand for equal steps, and the products of all rows."""
        record, (k, per) = self._record, self.y.shape
        self._responses = np.zeros((per, k * len(self._u)))
        record.responses = address_of(self._responses)
        if self.y.size <= MOST_PRODUCTS:
            self._table = np.zeros((self.y.size, self.y.size))
            record.table = address_of(self._table)
        RESPOND(self._code.addresses["responded"])(record.address, int(self.y.size <= MOST_PRODUCTS))

    def __call__(self, sample: int, first: int) -> bool:
        """Solve the program of a sample for `x0`, `low` and `high`. Return True if the solution is optimal.

        `first` is the index of the first step's matrices.
        """
        record = self._record
        shift = sample - self._first
        if self._first < 0 or shift < 0:
            FORGET(self._code.addresses["forgotten"])(record.address)
            shift = 0
        self._first = sample
        record.first, record.shift = first, shift
        status = self._call(record.address)
        record.fresh = 0
        self.unfinished = bool(status == UNFINISHED)
        if status != SOLVED and status != UNFINISHED:
            self._first = -1
        return bool(status == SOLVED and np.isfinite(self.z).all())

    @property
    def record(self) -> Placed:
        """Record of native code, see `Horizon`."""
        return self._record

    @property
    def matrices(self) -> tuple[Array, Array, Array]:
        """Matrices `forward` and `backward` of the record, and its responses."""
        return *self._matrices, self._responses

    def along(self, samples: Placed, sample: int, x: Array) -> bool:
        """Compute the inputs of a sample along a reference from the state x, see `Along`.

        Return True if there is a solution.
        """
        call = SAMPLE(self._code.addresses["sampled"])
        call(samples.address, sample, np.ascontiguousarray(x).ctypes.data)
        return bool(samples.good)

    @property
    def least(self) -> int:
        """Number of operations that any step may take: those of a start without active limits, and of its plans."""
        h, p = self._record, self._p
        swept = h.k * ((h.s + h.m + 2) * h.wide + 6 * (2 * h.m + p))
        return int(6 * swept + (AT_ONCE + 14) * self.y.size + (p + 2) * (p + 2) * (h.moves + h.p + 40))

    @property
    def operations(self) -> int:
        """Number of operations of the last solution."""
        return int(self._record.operations)

    @property
    def iterations(self) -> int:
        """Number of limits that became active or inactive in the last solution."""
        return self._record.iterations  # type: ignore[no-any-return]

    @property
    def inputs(self) -> Array:
        """Deviations of the inputs, (k, m)."""
        return self.y[:, : len(self._u)] * self._u

    @property
    def solution(self) -> Array:
        """Moves and slack variables, as in `Program`."""
        return np.append(self.z[: self._moves], self.e[: self._slack])

    @property
    def pushing(self) -> tuple[Array, Array]:
        """Rows (n,) of the active limits, and their multipliers, positive for upper limits."""
        n = self._record.n
        return self._active[:n].copy(), -self._sides[:n] * self._multipliers[:n]
