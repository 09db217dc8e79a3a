"""Comparison with Exudyn: what each takes for an error of the tip, at its best settings, run in turn.

Large deflections: the error is the whole one, of discretisation and integration, against a converged geometrically
exact solution. Linear arms: Exudyn's floating frames have our shapes, the equations are the same, the error is that of
integration.
"""

import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

import flexarm as fa
from benchmarks import exudyn_models
from benchmarks.arms import PUSH, SLEW, Array, segmented
from benchmarks.exudyn_models import Peer, Settings
from benchmarks.report import Picture, Table, time
from benchmarks.timing import empty_cache
from benchmarks.work_precision import distance, ruled
from flexarm import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLES = 201
TRIED, REPEATS, ENOUGH = 5, 15, 8.0
"""So many of the cheapest settings that are exact enough are run in turn, so often, or for so many seconds."""
SHORT = 0.02
"""Seconds of a run of which several are one sample, the least of them: others use the machine as well."""
SLOW = 1.5
"""Seconds of a run of Exudyn after which no smaller step is tried."""


@dataclass(frozen=True)
class Race:
    """A run of both: the arm, the errors asked for [m] and how much faster we want to be there."""

    label: str
    title: str
    arm: str
    until: float
    u: Any
    goals: tuple[float, ...]
    target: float
    ours: "Callable[[Race, bool], Iterator[Setting]]"
    theirs: "Callable[[Race, bool], Iterator[Setting]]"
    exact: tuple[int, ...] = ()
    """Segments, of 3 polynomials each, of the converged beams; none for a linear arm."""


@dataclass
class Setting:
    """One way to do a run: what it is called, how it is done, what came of it."""

    name: str
    run: Callable[[], tuple[float, Array | None]]
    error: float = np.inf
    seconds: list[float] = field(default_factory=list)

    def once(self, exact: Array) -> bool:
        """Run; False where it did not come to its end."""
        seconds, tip = self.run()
        if tip is None:
            return False
        self.error = distance(tip[:, :2], exact)
        self.seconds = [seconds, *(self.run()[0] for _ in range(2 if seconds < SHORT else 0))]
        return True

    @property
    def least(self) -> float:
        """Of the seconds: what is left of a machine that others use as well."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Of the seconds."""
        return statistics.median(self.seconds)


def measure(quick: bool) -> list[Table]:
    """One table of all, a diagram of each; a line where Exudyn is not there."""
    sides = ("Exudyn", "its settings", "flexarm", "its settings")
    found = Table(
        "Comparison with Exudyn", ("run", "error of the tip", *sides, "Exudyn / flexarm (medians)", "target", "met")
    )
    if missing := exudyn_models.missing():
        found.notes.append(missing)
        return [found]
    tables = [found]
    with empty_cache(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for race in RACES[-1:] if quick else RACES:
            tables.append(raced(race, found, quick))
    tables[-1].notes.append(NOTE)
    return tables


# -- a race ------------------------------------------------------------------------------------------------------------


def raced(race: Race, found: Table, quick: bool) -> Table:
    """Search both sides' settings, run the best in turn, add a row for each error asked for."""
    exact, said = converged(race)
    sides = {"Exudyn": race.theirs(race, quick), "flexarm": race.ours(race, quick)}
    tried = {side: [setting for setting in settings if setting.once(exact)] for side, settings in sides.items()}
    for goal in race.goals:
        best = {side: cheapest(settings, goal) for side, settings in tried.items()}
        theirs, ours = in_turn(best["Exudyn"], best["flexarm"], 2 if quick else REPEATS)
        found.add(race.title, f"{goal:.0e} m", *row(theirs, ours, race.target))
    drawn = Table(f"Comparison with Exudyn: {race.title}", ("", "settings tried", "smallest error"))
    for side, settings in tried.items():
        drawn.add(side, len(settings), f"{min(setting.error for setting in settings):.1e} m")
    drawn.notes.append(said)
    drawn.picture = Picture(f"beside-{race.label}.svg", partial(diagram, race, tried))
    return drawn


def cheapest(settings: list[Setting], goal: float) -> list[Setting]:
    """The few that were quickest of those exact enough."""
    return sorted((s for s in settings if s.error <= goal), key=lambda s: s.least)[:TRIED]


def in_turn(theirs: list[Setting], ours: list[Setting], repeats: int) -> tuple[Setting | None, Setting | None]:
    """The quickest of each, by samples taken one after the other; these alone are kept."""
    samples: list[list[float]] = []
    began = perf_counter()
    while len(samples) < repeats and (len(samples) < 2 or perf_counter() - began < ENOUGH):
        turn = [*theirs, *ours]
        samples.append([min(s.run()[0] for _ in range(5 if s.least < SHORT else 1)) for s in turn])
    for setting, seconds in zip((*theirs, *ours), zip(*samples, strict=True), strict=True):
        setting.seconds = list(seconds)
    return tuple(min(side, key=lambda s: s.least, default=None) for side in (theirs, ours))  # type: ignore[return-value]


def row(theirs: Setting | None, ours: Setting | None, target: float) -> tuple[str, ...]:
    """Times, settings, their ratio with its range, the target and whether it is met."""
    shown = [
        text for s in (theirs, ours) for text in ((time(s.least), f"{s.name}: {s.error:.1e} m") if s else ("-", "-"))
    ]
    if theirs is None or ours is None:
        return (*shown, "-", f">= {target:g}", "**no**" if ours is None else "-")  # the peer's sweep ends: no verdict
    ratio = theirs.least / ours.least
    spread = f"{ratio:.3g} ({theirs.median / ours.median:.3g})"
    return (*shown, spread, f">= {target:g}", "yes" if ratio >= target else "**no**")


def converged(race: Race) -> tuple[Array, str]:
    """The tip (samples, 2) that counts as exact, and what says so."""
    if not race.exact:
        runs = [simulated(race, "linear", method, rtol)[1] for method, rtol in (("dop853", 1e-12), ("radau9", 1e-10))]
        apart = distance(*runs)
        said = f"The reference is dop853 at rtol 1e-12. radau9 at rtol 1e-10 differs from it by {apart:.0e} m."
        return runs[0][:, :2], said
    fine, coarse = (simulated(race, (segments, 3), "radau9", 1e-7)[1] for segments in (race.exact, COARSER[race.exact]))
    tip = fine[:, :2]
    elements, steps = CHECK[race.arm]
    other = cables(race, elements).run(Settings(steps, 1e-6, 1e-6 * SCALE[race.arm]), SAMPLES)[1]
    away = "did not converge" if other is None else f"differs by {distance(other, tip):.0e} m"
    chain = f"an arm with {plus(race.exact)} segments of 3 polynomials each, by radau9 at rtol 1e-7"
    shorter = (
        f"A reference with {plus(COARSER[race.exact])} segments differs from it by {distance(coarse[:, :2], tip):.0e} m"
    )
    return tip, f"The reference is {chain}. {shorter}. Exudyn with {plus(elements)} elements and {steps} steps {away}."


def plus(counts: tuple[int, ...]) -> str:
    return " + ".join(map(str, counts))


# -- ours --------------------------------------------------------------------------------------------------------------


@cache
def model(arm: str, form: Any) -> fa.Model:
    """The bundled arm, or a chain of its segments with so many polynomials."""
    return fa.Model(fa.load(arm) if form == "linear" else segmented(fa.load(arm), *form))


def simulated(race: Race, form: Any, method: str, rtol: float, step: float | None = None) -> tuple[float, Array]:
    """Seconds of the solver and the tip (samples, 3)."""
    solver = fa.Solver(method=method, rtol=rtol, atol=1e-2 * rtol, step=step)
    result = fa.simulate(model(race.arm, form), race.until, race.u, solver=solver, samples=SAMPLES, progress=False)
    return result.attrs["solve_seconds"], result.tip.values


def our(race: Race, form: Any, method: str, rtol: float, step: float | None = None) -> Setting:
    """A setting of ours."""

    def run() -> tuple[float, Array | None]:
        try:
            return simulated(race, form, method, rtol, step)
        except fa.SimulationError:
            return 0.0, None

    shape = "" if form == "linear" else f"{plus(form[0])} segments of {form[1]}, "
    return Setting(f"{shape}{method}, {f'h = {time(step)}' if step else f'rtol {rtol:.0e}'}", run)


def our_linear(race: Race, quick: bool) -> Iterator[Setting]:
    """Methods that choose their steps, and fixed ones."""
    for method in ("dop853",) if quick else ("dop853", "vern7", "vern8", "gauss4", "gauss8", "radau5", "radau9"):
        our(race, "linear", method, 1e-2).run()  # compiles what it needs
        for k in range(2, 10):
            yield our(race, "linear", method, 10.0**-k)
    for method in () if quick else ("gauss4", "gauss8", "radau9", "rk4"):
        our(race, "linear", method, 1e-6, race.until / 50).run()
        for steps in STEPS:
            yield our(race, "linear", method, 1e-6, race.until / steps)


def our_large(race: Race, quick: bool) -> Iterator[Setting]:
    """Chains of segments that are fine enough; fixed steps, and steps by tolerance."""
    for form in FORMS[race.arm]:
        for method in ("dop853", "generalized-alpha", "gauss4", "gauss8", "radau5", "radau9"):
            our(race, form, method, 1e-1).run()
            for rtol in (1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5):
                yield our(race, form, method, rtol)
            if method != "dop853":
                for steps in STEPS:
                    for rtol in (1e-3, 2e-3):
                        yield our(race, form, method, rtol, race.until / steps)


# -- theirs ------------------------------------------------------------------------------------------------------------


def cables(race: Race, elements: tuple[int, ...]) -> Peer:
    """Geometrically exact."""
    return exudyn_models.cables(fa.load(race.arm), elements, AXIAL[race.arm], drives(race), race.until)


def drives(race: Race) -> list[exudyn_models.Torque]:
    return exudyn_models.torques(model(race.arm, "linear"), race.u, race.until)


def their(peer: Peer, name: str, settings: Settings) -> Setting:
    """A setting of Exudyn's."""
    rule = f"rho {settings.radius:g}"
    named = f"{name}{settings.steps} steps, {rule}, Newton {settings.rtol:.0e}, {settings.linear}"
    return Setting(named, lambda: peer.run(settings, SAMPLES))


def stepped(peer: Peer, name: str, settings: Iterator[Settings]) -> Iterator[Setting]:
    """Until a run takes too long."""
    for each in settings:
        setting = their(peer, name, each)
        yield setting
        if setting.seconds and setting.seconds[-1] > SLOW:
            return


def their_large(race: Race, quick: bool) -> Iterator[Setting]:
    """Elements, damping of the method, Newton's tolerance, linear solver, steps."""
    for elements in ELEMENTS[race.arm]:
        peer = cables(race, elements)
        name = f"{plus(elements)} ANCF, "
        for radius, rtol, linear in product((1.0, 0.9), (1e-5, 1e-6), ("EigenSparse", "EigenDense")):
            steps = (Settings(n, rtol, rtol * SCALE[race.arm], radius, linear) for n in THEIR_STEPS)
            yield from stepped(peer, name, steps)


def their_linear(race: Race, quick: bool) -> Iterator[Setting]:
    """Linear solver, Newton's tolerance, steps; damping gains nothing here."""
    peer = exudyn_models.floating(model(race.arm, "linear"), drives(race), race.until)
    for linear, rtol in product(("EXUdense", "EigenDense"), (1e-6,) if quick else (1e-5, 1e-7)):
        steps = (Settings(n, rtol, rtol * SCALE[race.arm], 1.0, linear) for n in THEIR_STEPS[: 4 if quick else None])
        yield from stepped(peer, "", steps)


# -- what is tried -----------------------------------------------------------------------------------------------------

STEPS = (50, 70, 100, 120, 140, 170, 200, 240, 280, 340, 400, 560, 800)
THEIR_STEPS = (400, 800, 1000, 1200, 2000, 2800, 4000, 8000)
"""Multiples of the samples' intervals: its sensors write at the ends of steps."""
FORMS: dict[str, tuple[tuple[tuple[int, ...], int], ...]] = {
    "canadarm": (((1, 1, 1), 3), ((2, 1, 1), 3), ((2, 2, 1), 3)),
    "subudhi-morris": (((1, 1), 2), ((1, 1), 3), ((2, 2), 2), ((2, 2), 3), ((2, 2), 4), ((3, 3), 3)),
}
COARSER = {(5, 5, 2): (4, 4, 1), (6, 6): (5, 5)}
CHECK = {"canadarm": ((16, 16, 6), 16000), "subudhi-morris": ((16, 16), 32000)}
ELEMENTS = {"canadarm": ((2, 2, 1), (3, 3, 1)), "subudhi-morris": ((2, 2), (3, 3), (4, 4), (6, 6), (8, 8))}
AXIAL = {"canadarm": 1e9, "subudhi-morris": 1e6}
"""EA [N]; a tenth of it is neither quicker nor as exact."""
SCALE = {"canadarm": 1e3, "subudhi-morris": 1.0}
"""Of the forces [N]: Newton's absolute tolerances are relative to it."""

CANADARM, SUBUDHI = ("canadarm", 10.0, SLEW), ("subudhi-morris", 2.0, PUSH)
LARGE, LINEAR = (our_large, their_large), (our_linear, their_linear)
RACES = (
    Race("canadarm-large", "Canadarm, large deflections", *CANADARM, (1e-4, 4e-5), 30.0, *LARGE, (5, 5, 2)),
    Race(
        "subudhi-morris-large",
        "Subudhi & Morris, large deflections",
        *SUBUDHI,
        (1e-4, 1e-5, 1e-6),
        10.0,
        *LARGE,
        (6, 6),
    ),
    Race("canadarm", "Canadarm", *CANADARM, (1e-4, 1e-5), 100.0, *LINEAR),
    Race("subudhi-morris", "Subudhi & Morris", *SUBUDHI, (1e-4, 1e-5, 1e-6), 100.0, *LINEAR),
)

NOTE = (
    "Times are those of the solvers alone, the shortest of several alternating runs. Each program uses the fastest of "
    "its settings that is accurate enough. For Exudyn the table has processor time and for flexarm clock time, which "
    "favours Exudyn on a busy machine. Errors are the largest distance of the tip at 201 times. With large "
    "deflections Exudyn uses cables (ANCF) and flexarm beams of segments, so the errors include those of the "
    "discretization in space. For the linear arms both programs use floating frames with the shapes and integrals of "
    "flexarm. They solve the same equations, and only the integration differs. Exudyn runs without range checks, in "
    "one thread, with modified Newton iterations and without output files. Its torques are symbolic functions: "
    "polynomials of degree 30, or steps with the mean value at a jump. Its implicit method is generalized alpha with "
    "fixed steps, because its explicit methods do not accept joints. Cables stretch and the beams of flexarm do not. "
    "The axial stiffness EA of the cables (1e9 and 1e6 N) is so large that this has no effect."
)


# -- diagrams ----------------------------------------------------------------------------------------------------------


def diagram(race: Race, tried: dict[str, list[Setting]]) -> "Figure":
    """Error over time: all that was tried, and the front of each side."""
    figure = style.figure(5.5, 4, layout="constrained")
    axes = figure.subplots()
    for i, (side, settings) in enumerate(tried.items()):
        front: list[Setting] = []
        for setting in sorted(settings, key=lambda s: s.least):
            if not front or setting.error < front[-1].error:
                front.append(setting)
        axes.plot([s.least for s in front], [s.error for s in front], **style.joined(i), label=side)
    ruled(axes, "time of the solver [s]")
    axes.set_ylabel(f"error of the tip, {'of space and time' if race.exact else 'of integration'} [m]")
    axes.legend()
    axes.set_title(race.title)
    return style.finished(figure)
