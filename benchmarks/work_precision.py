"""Work and precision: what each method takes for an error of the tip, on arms soft and stiff.

Every method runs at a series of tolerances. Its error is the largest distance of the tip, at so many times, from a
converged run of the same discretised arm; two methods of different kinds must agree on that one.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import flexarm as fa
from benchmarks.arms import Array, Case, cases
from benchmarks.report import Picture, Table, time
from benchmarks.timing import empty_cache
from flexarm import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXPLICIT = ("dop853", "vern7", "vern8")
IMPLICIT = ("generalized-alpha", "gauss4", "gauss8", "radau5", "radau9")
METHODS = (*EXPLICIT, *IMPLICIT)
TOLERANCES = tuple(10.0**-k for k in range(2, 12))
SHARE = 1e-2  # of rtol: atol
SAMPLES = 201
GOALS = (1e-4, 1e-6, 1e-8)
"""Errors of the tip that are asked for [m]."""
EXACT = {"dop853": 1e-12, "radau9": 1e-10}
"""The methods that must agree, and their tolerances."""
PATIENCE, FINE = 0.7, 1e-10
"""A method that is exact to the first goal is tightened no further after so many seconds; none at such an error [m]."""
MORE, SHORT = 3, 0.03
"""So many times as many repeats of runs of fewer seconds."""

NOTE = (
    "Each cell has the time and the number of evaluations for the error of its column. Both are interpolated on "
    f"logarithmic axes between runs with tolerances of {TOLERANCES[0]:.0e}, {TOLERANCES[1]:.0e} and so on. A dash "
    f"means that no run of less than about {PATIENCE:g} s was accurate enough. Times are the shortest of several "
    f"alternating runs, for the solver alone and without compilation. atol is {SHARE:g} rtol. The error is the largest "
    f"distance of the tip from the reference run at {SAMPLES} times. For the implicit methods of flexarm, evaluations "
    "are those of the residual, including those for Jacobians."
)


@dataclass
class Point:
    """A run: its error [m], evaluations, and samples of its seconds."""

    setting: Any
    error: float
    evaluations: int
    seconds: list[float] = field(default_factory=list)

    @property
    def least(self) -> float:
        """Of the seconds: what is left of a machine that others use as well."""
        return min(self.seconds)


def measure(quick: bool) -> list[Table]:
    """A table and a diagram of each arm."""
    with empty_cache(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = [table(case, *swept(case, 1 if quick else 3, TOLERANCES[:7:2] if quick else TOLERANCES))
                  for case in cases(quick)]  # fmt: skip
    tables[-1].notes.append(NOTE)
    return tables


# -- runs --------------------------------------------------------------------------------------------------------------


def run(case: Case, method: str, rtol: float) -> tuple[Array, Any]:
    """The tip (samples, 3) and the attributes of a run."""
    result = fa.simulate(
        case.model,
        case.until,
        case.u,
        solver=fa.Solver(method=method, rtol=rtol, atol=SHARE * rtol),
        samples=SAMPLES,
        progress=False,
    )
    return result.tip.values, result.attrs


def distance(a: Array, b: Array) -> float:
    """Largest, of two paths (samples, 2 or 3)."""
    return float(np.linalg.norm(a - b, axis=1).max())


def swept(case: Case, repeats: int, tolerances: Sequence[float]) -> tuple[dict[str, list[Point]], float]:
    """The points of every method, and how far apart the two converged runs are [m]."""
    exact, other = (run(case, method, rtol)[0] for method, rtol in EXACT.items())
    points: dict[str, list[Point]] = {}
    for method in METHODS:
        run(case, method, 1e-2)  # compiles what it needs
        points[method] = []
        for rtol in tolerances:
            try:
                tip, attrs = run(case, method, rtol)
            except fa.SimulationError:
                continue
            found = Point(rtol, distance(tip, exact), attrs["evaluations"], [attrs["solve_seconds"]])
            points[method].append(found)
            if found.error < FINE or (found.error < GOALS[0] and found.seconds[0] > PATIENCE):
                break
    for turn in range(1, MORE * repeats):
        for method, row in points.items():
            for point in row:
                if turn < repeats or point.seconds[0] < SHORT:
                    point.seconds.append(run(case, method, point.setting)[1]["solve_seconds"])
    return points, distance(exact, other)


# -- what an error costs -----------------------------------------------------------------------------------------------


def needed(errors: Sequence[float], costs: Sequence[float], goal: float) -> float | None:
    """The cost of an error, between the cheapest runs on its two sides, logarithms of both in proportion.

    Of the runs those alone count that no other undercuts in both. None if no run is as exact; the cheapest of all runs
    if that is exact enough: nothing is extrapolated.
    """
    front: list[tuple[float, float]] = []  # errors fall, costs rise
    for cost, error in sorted(zip(costs, errors, strict=True)):
        if not front or error < front[-1][0]:
            front.append((error, cost))
    exact = [i for i, (error, _) in enumerate(front) if error <= goal]
    if not exact:
        return None
    i = exact[0]
    if i == 0:
        return front[0][1]
    (e0, c0), (e1, c1) = front[i - 1], front[i]
    share = np.log(goal / e0) / np.log(e1 / e0) if e1 > 0 else 1.0
    return float(np.exp(np.log(c0) + share * np.log(c1 / c0)))


def cell(row: list[Point], goal: float, floor: float) -> str:
    """Time and evaluations, as they are shown; nothing below what the converged run itself is known to."""
    errors = [point.error for point in row]
    seconds = needed(errors, [point.least for point in row], goal)
    evaluations = needed(errors, [float(point.evaluations) for point in row], goal)
    if seconds is None or evaluations is None or goal < floor:
        return "-"
    return f"{time(seconds)}, {float(f'{evaluations:.2g}'):.0f}"


def table(case: Case, points: dict[str, list[Point]], apart: float) -> Table:
    """Of one arm."""
    found = Table(f"Work and precision: {case.title}", ("method", *(f"{goal:.0e} m" for goal in GOALS)))
    for method, row in points.items():
        found.add(method, *(cell(row, goal, apart) for goal in GOALS))
    methods = " and ".join(f"{method} at rtol {rtol:.0e}" for method, rtol in EXACT.items())
    found.notes.append(
        f"The arm has {len(case.model.coordinates)} coordinates. The reference runs, {methods}, differ by {apart:.0e} "
        "m."
    )
    found.picture = Picture(f"work-precision-{case.label}.svg", partial(diagram, case, points, apart))
    return found


# -- diagrams ----------------------------------------------------------------------------------------------------------


def diagram(case: Case, points: dict[str, list[Point]], apart: float) -> "Figure":
    """Error over time and over evaluations, a line a method: explicit methods dashed, implicit ones solid."""
    figure = style.figure(9, 4, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for method, row in points.items():
        dashes = style.DASHES[0 if method in IMPLICIT else 1]
        look = style.joined(list(METHODS).index(method), linestyle=dashes, label=method)
        errors = [max(point.error, 1e-16) for point in row]
        left.plot([point.least for point in row], errors, **look)
        right.plot([point.evaluations for point in row], errors, **look)
    ruled(left, "time of the solver [s]")
    ruled(right, "evaluations")
    left.set_ylabel("largest error of the tip [m]")
    left.set_ylim(max(1e-11, apart), 1.0)
    right.legend(ncols=2)
    figure.suptitle(case.title[0].upper() + case.title[1:])
    return style.finished(figure)


def ruled(axes: "Axes", label: str) -> None:
    """Logarithmic both ways, with lines."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()  # half the file
    axes.set_xlabel(label)
