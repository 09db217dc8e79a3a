"""Contacts at which no run of a SIMD batch stops, in the language that is translated; `touches` is for one run."""

from dataclasses import dataclass
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, Words, call, lanes
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import MIDDLE, PARTS, ROUGH
from flexarm.simulation.steps import copied


@dataclass
class LanesTouching:
    """Functions of touches of `LANES` runs.

    Attributes
    ----------
    kernel, count : address, int
        The functions of `LANES` states, 0 for an arm without contacts, and their number.
    coordinates, own, place : int
        Numbers of coordinates and of the states of drives, which are the kernel's first arguments, and the place of the
        latter in a state.
    constants, of_runs : int, (runs, constants)
        Constants of each run, which are the kernel's last arguments.
    given : (coordinates + own + constants, LANES)
        The kernel's arguments.
    rows, gaps, total : (PARTS + 2, count, LANES), (PARTS + 2, count), int
        The values at the borders of the parts of the lanes' steps, those of one lane, and their number.
    low : (LANES,)
        Negative in lanes in whose step there may be a contact.
    left, open, hit : int, (LANES,), (LANES,)
        Number of lanes whose step is still to be checked, 1 for these lanes, and 1 for those in whose step a contact
        was found.
    """

    kernel: int
    count: int
    coordinates: int
    own: int
    place: int
    constants: int
    of_runs: Floats
    given: Floats
    rows: Floats
    gaps: Floats
    total: int
    low: Floats
    left: int
    open: Words
    hit: Words


@final
class BatchTouching:
    """The contacts of a batch's runs.

    Parameters
    ----------
    kernel : Kernel, optional
        The functions of a state, see `touches.kernel`; None for an arm without contacts.
    layout : Layout, optional
    of_runs : (runs, k), optional
        Constants of each run.
    """

    def __init__(self, kernel: Kernel | None = None, layout: Layout | None = None, of_runs: Array | None = None):
        coordinates, own, place, count, self._held = 0, 0, 0, 0, None
        self.constants = np.zeros((0, 0)) if of_runs is None else np.ascontiguousarray(of_runs)
        if kernel is not None and layout is not None:
            self._held, count = kernel.vector_code, kernel.vector_code.facts["n_out"]
            coordinates, own, place = layout.q.stop, layout.s.stop - layout.s.start, layout.s.start
        self.record = Placed(
            LanesTouching(
                kernel=0 if self._held is None else self._held.addresses["evaluate"],
                count=count,
                coordinates=coordinates,
                own=own,
                place=place,
                constants=self.constants.shape[1],
                of_runs=self.constants,
                given=np.zeros((coordinates + own + self.constants.shape[1], LANES)),
                rows=np.zeros((PARTS + 2, count, LANES)),
                gaps=np.zeros((PARTS + 2, count)),
                total=(PARTS + 2) * count,
                low=np.zeros(LANES),
                left=0,
                open=np.zeros(LANES, dtype=np.int64),
                hit=np.zeros(LANES, dtype=np.int64),
            )
        )


# -- translated functions ----------------------------------------------------------------------------------------------


def measured_lanes(s: LanesTouching, x: Floats, row: int) -> None:
    """Compute the functions of touches at states x, in a row."""
    copied(x, s.given, LANES * s.coordinates)
    copied(x[LANES * s.place :], s.given[LANES * s.coordinates :], LANES * s.own)
    measured_given(s, row)


def measured_given(s: LanesTouching, row: int) -> None:
    """Compute the functions of touches at the states in `given`, in a row."""
    call(s.kernel, s.given, s.rows[LANES * row * s.count :])


def advanced_lanes(s: LanesTouching, took: Floats) -> None:
    """Make the values at the end of a step those at the start of the next one, in lanes that accepted the step."""
    for j in range(s.count):
        first, last = s.rows[LANES * j :], s.rows[LANES * (PARTS * s.count + j) :]
        for i in lanes(LANES):
            first[i] = last[i] if took[i] > 0.0 else first[i]


def suspected(s: LanesTouching) -> None:
    """Set `low` to a negative number in lanes for which `departs` or `may_touch` may return 1, and perhaps in others.

    `may_touch` returns 1 only where the value in the middle is smaller than ROUGH + 1/2 times the bend.
    """
    end_share = ROUGH + 0.51  # a little more, for rounding
    middle_share = 1.0 + 2.0 * end_share
    for i in lanes(LANES):
        s.low[i] = 0.0
    for j in range(s.count):
        first, middle = s.rows[LANES * j :], s.rows[LANES * (MIDDLE * s.count + j) :]
        last, then = s.rows[LANES * (PARTS * s.count + j) :], s.rows[LANES * ((PARTS + 1) * s.count + j) :]
        low = s.low
        for i in lanes(LANES):
            low[i] = min(
                low[i],
                min(first[i] * then[i], first[i] * (middle_share * middle[i] - end_share * (first[i] + last[i]))),
            )
