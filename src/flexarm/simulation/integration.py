"""Integration of a run from one breakpoint of its inputs to the next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model
from flexarm.simulation import crossings, divergence, restarts
from flexarm.simulation.advance import Stretch
from flexarm.simulation.block import Block
from flexarm.simulation.breakpoints import NEAR
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.race import Race
from flexarm.simulation.rhs import Plan
from flexarm.simulation.varying import ChangingParameters

Solving = Solve | Race | crossings.Stopped

MOST_AHEAD = 10_000
"""Number of intervals that are processed together."""


@final
@dataclass
class Run:
    """A run over a grid of times from an initial state, and its computed part.

    Attributes
    ----------
    x : (times, layout.size)
        States; the first `reached` are known.
    reached : int
    steps : int
    completed : bool
    short : (stretch, t, x), optional
        An interval that ended early, and the last time and state before.
    failure : str
        Why the run could not continue: an input's own message, or the diagnosis.
    breakpoints : (k,)
        Times at which the solver restarts, in addition to the jumps of the input [s].
    changing : ChangingParameters, optional
        Parameters that change during the run.
    missed : float, optional
        Time at which a function of time changed unseen [s].
    """

    times: Array
    start: Array
    breakpoints: Array = field(default_factory=lambda: np.empty(0))
    changing: ChangingParameters | None = None
    x: Array = field(init=False)
    reached: int = 1
    steps: int = 0
    completed: bool = False
    short: tuple[Stretch, float, Array] | None = None
    failure: str = ""
    missed: float | None = None

    def __post_init__(self) -> None:
        self.x = np.empty((len(self.times), len(self.start)))
        self.x[0] = self.start

    def integrate(
        self, model: Model, drive: Block, exogenous: ExogenousInputs, plan: Plan, solve: Solving, layout: Layout
    ) -> None:
        """Compute the run, and repeat it if it has missed a change of a function of time."""
        plan.span = float(self.times[-1])
        divergence.end_if_diverged(model, drive, layout, plan, plan.span)
        # a sampled controller has its own memory, so its run cannot be repeated
        rounds = restarts.ROUNDS if drive.period is None else 1
        for left in reversed(range(rounds)):  # pragma: no branch  (the last round returns)
            self._once(model, drive, exogenous, plan, solve)
            ended = self.completed and not plan.stopped
            found = restarts.missed(plan, layout, self.times, self.x) if ended else np.empty(0)
            self.missed = float(found[0]) if len(found) else None
            if self.missed is None or not left:
                return
            self.breakpoints = np.union1d(self.breakpoints, found)
            plan.seen.clear()
            self.reached, self.completed = 1, False

    def _once(self, model: Model, drive: Block, exogenous: ExogenousInputs, plan: Plan, solve: Solving) -> None:
        """Integrate from each breakpoint of the input to the next, in native code if possible.

        Jumps of exogenous inputs divide an interval into parts.
        """
        end = float(self.times[-1])
        x, corners = self.start, map(float, drive.corners(end))
        exogenous.feed(plan, model, 0.0, x)
        if self.changing is not None:
            self.changing.begin()
        whole = len(self._parts(exogenous, 0.0, end)) == 2 and self.changing is None
        ahead = drive.ahead(plan, solve.advance(), self.times, self.x) if solve.advance and whole else None
        last = next(corners)
        while following := list(islice(corners, MOST_AHEAD)):
            edges, attempts = np.array([last, *following]), 0
            while len(edges) > 1:
                done, most = 0, len(edges)
                if ahead is not None:
                    done, x, self.reached, steps = ahead(edges, x)
                    self.steps += steps
                    most, attempts = 2**attempts, attempts + 1  # the more often native code ends early, the longer
                for a, b in pairwise(map(float, edges[done : done + most + 1])):
                    if not self._fed(lambda: drive.feed(plan, self.present(model, a), a, x)):  # noqa: B023  (at once)
                        return
                    for c, d in pairwise([a, b] if whole else self._parts(exogenous, a, b)):
                        if self.changing is not None:
                            x = self._entered(self.changing.enter(c, d, x), c)
                        if not whole:
                            exogenous.feed(plan, model, c, x)
                        found = self._changing(plan, solve, c, d, x, lambda t, x: exogenous.feed(plan, model, t, x))
                        if found is None:
                            return
                        x = found
                edges = edges[done + most :]
            last = following[-1]
        self.completed = True

    def _parts(self, exogenous: ExogenousInputs, a: float, b: float) -> list[float]:
        """Return the ends of the parts of an interval."""
        edges, more = exogenous.between(a, b), self.breakpoints
        near = NEAR * (b - a)
        more = more[(more > a + near) & (more < b - near)]
        if self.changing is not None:
            more = np.union1d(more, self.changing.edges[(self.changing.edges > a) & (self.changing.edges < b)])
        return sorted({*edges, *more.tolist()}) if len(more) else edges

    def present(self, model: Model, t: float) -> Model:
        """Return the model with the parameters at a time that the run has reached."""
        return model if self.changing is None else self.changing.present(t)

    def _entered(self, x: Array, t: float) -> Array:
        """Store the state after a jump at t in the result, if t is one of its times, and return the state."""
        if self.times[self.reached - 1] == t:
            self.x[self.reached - 1] = x
        return x

    def _changing(
        self, plan: Plan, solve: Solving, a: float, b: float, x: Array, feed: Callable[[float, Array], None]
    ) -> Array | None:
        """Return the state at b from x at a, or None as `_stretch` does, with the changes whose conditions are met."""
        changing = self.changing
        while True:
            first, found = self.reached, self._stretch(plan, solve, a, b, x)
            if changing is None or not changing.conditional or plan.stopped:
                return found
            rows = zip(self.times[first : self.reached].tolist(), self.x[first : self.reached], strict=True)
            points = [(a, x), *rows, *([] if found is None else [(b, found)])]
            if (met := changing.met(points, solve)) is None:
                return found
            self.short, self.reached = None, int(np.searchsorted(self.times, met.t, side="right"))
            x = changing.enter(met.t, b, changing.change(met.t, met.x, met.change))
            a, x = met.t, self._entered(x, met.t)
            feed(a, x)

    def _fed(self, feed: Callable[[], None]) -> bool:
        """Return True if an input could be set, else store its failure."""
        try:
            feed()
        except DescriptionError:  # the input does not fit the arm
            raise
        except FlexarmError as error:
            self.failure = str(error)
            return False
        return True

    def _stretch(self, plan: Plan, solve: Solving, a: float, b: float, x: Array) -> Array | None:
        """Return the state at b from x at a, or None if b is not reached."""
        times = self.times
        plan.end(b)
        wanted = times[self.reached : np.searchsorted(times, b, side="right")]
        on_time = len(wanted) > 0 and wanted[-1] == b
        ends = wanted if on_time else np.append(wanted, b)
        stretch = solve(a, x, ends)
        self.steps += stretch.steps
        rows = stretch.x[: len(wanted)]
        self.x[self.reached : self.reached + len(rows)] = rows
        self.reached += len(rows)
        if len(stretch.x) < len(ends):
            reached = len(stretch.x)
            self.short = stretch, float(ends[reached - 1]) if reached else a, stretch.x[-1] if reached else x
            return None
        return stretch.x[-1]
