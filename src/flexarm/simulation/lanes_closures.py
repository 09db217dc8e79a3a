"""States of a SIMD batch on the closures of an arm, in the language that is translated; `rhs.close` is for one run."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.model.closures import CORRECTIONS, MET
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, call, lanes
from flexarm.simulation.steps import copied


@dataclass
class LanesClosing:
    """Data of `close_lanes`.

    Attributes
    ----------
    kernel, known : address, int
        The correction of `LANES` states, 0 for an arm without closures, and its number of arguments from a state.
    constants, own : int, (count, constants)
        Constants of each run, which follow the state in the kernel's arguments.
    given, found : (known + constants, LANES), (known + 1, LANES)
        The kernel's arguments, and its values: corrected numbers, and the sum of squares of the gaps before.
    open : (LANES,)
        1 in lanes whose gaps may still be large, else 0.
    small : float
        Sum of squares that is small enough.
    """

    kernel: int
    known: int
    constants: int
    own: Floats
    given: Floats
    found: Floats
    open: Floats
    small: float


@final
class BatchClosing:
    """The closures of a batch's runs.

    Parameters
    ----------
    kernel : Kernel, optional
        The correction of a state, see `model.closures.kernel`; None for an arm without closures.
    known : int
        Length of q and qd.
    own : (count, k)
        Constants of each run.
    """

    def __init__(self, kernel: Kernel | None = None, known: int = 0, own: Array | None = None):
        self.constants = np.zeros((0, 0)) if own is None else np.ascontiguousarray(own)
        code, fixed = None if kernel is None else kernel.vector_code, self.constants.shape[1]
        self._held = code
        self.record = Placed(
            LanesClosing(
                kernel=0 if code is None else code.addresses["evaluate"],
                known=known,
                constants=fixed,
                own=self.constants,
                given=np.zeros((known + fixed, LANES)),
                found=np.zeros((known + 1, LANES)),
                open=np.zeros(LANES),
                small=MET**2,
            )
        )


# -- translated functions ----------------------------------------------------------------------------------------------


def close_lanes(s: LanesClosing, x: Floats) -> None:
    """Correct the states of the open lanes until their gaps and the rates of these are small."""
    given, found, is_open = s.given, s.found, s.open
    for _ in range(CORRECTIONS):
        copied(x, given, LANES * s.known)
        call(s.kernel, given, found)
        for j in range(s.known):
            old, new = x[LANES * j :], found[LANES * j :]
            for i in lanes(LANES):
                old[i] = new[i] if is_open[i] > 0.0 else old[i]
        left = 0
        for lane in range(LANES):
            if found[LANES * s.known + lane] < s.small:
                is_open[lane] = 0.0
            elif is_open[lane] > 0.0:
                left = 1
        if left == 0:
            return
