"""Simulation: an arm's motion under inputs, with an account of its energy."""

import time as clock
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.checks import Fault, checked_array, checked_instance, refused, shown
from flexarm.errors import (
    DescriptionError,
    EnergyDrift,
    FlexarmError,
    Implausible,
    InterruptedRun,
    LargeDeflection,
    MissedInput,
    SimulationError,
    UnstableStart,
)
from flexarm.floating import usual_errors
from flexarm.interrupts import heard_by
from flexarm.model import Model
from flexarm.model.attitudes import unit_pose
from flexarm.simulation import balance, contacts, divergence, memory, methods, restarts
from flexarm.simulation.breakpoints import NEAR
from flexarm.simulation.dataset import bent_far, checked_keep, checked_record, dataset, faulty, kept_of, numbers
from flexarm.simulation.diagnosis import diagnosis
from flexarm.simulation.disturbance import disturbed
from flexarm.simulation.inputs import as_input
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.outside import Outside
from flexarm.simulation.plausible import implausible
from flexarm.simulation.protocol import Input
from flexarm.simulation.race import Race
from flexarm.simulation.rhs import Plan
from flexarm.simulation.solvers import Stretch
from flexarm.simulation.unstable import unstable_start
from flexarm.simulation.watch import Bar, Interruption, Progress, watched
from flexarm.trajectory import Reference, reference_values
from flexarm.trajectory.reference import checked_reference

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

Solving = Solve | Race | contacts.Stopped

QUASI_STATIC = 0.1
"""Ratio U / U_g, U_g = sqrt(EI / m) / l, above which a telescope's shapes, those of a beam at rest, are poor."""


MOST_AHEAD = 10_000
"""Stretches looked at together."""

SMALL = 1e7
"""Bytes that a result may always take: what a system says to be free is a guess."""


def simulate(
    model: Model,
    until: float,
    u: Any = None,
    q0: Any = None,
    qd0: Any = None,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    samples: int = 1001,
    step: float | None = None,
    spectral_radius: float | None = None,
    reference: Reference | None = None,
    progress: Progress | bool = True,
    name: str = "",
    p: Any = None,
    keep: Any = None,
    s0: Any = None,
    w: Any = None,
    disturbance: Any = None,
    record: Any = None,
) -> "Dataset":
    """The motion of an arm from t = 0, as an `xarray.Dataset` on a uniform grid of times.

    Parameters
    ----------
    model : Model
    until : float
        End [s].
    u : numbers, function or input
        (m,) constant; `Piecewise`, `bang_bang`, `Table`, `RigidInverseDynamics`; or a Python function u(t) or
        u(t, q, qd).
    q0, qd0 : (n,)
        Coordinates and rates at t = 0; default `arm.rest`: zero, but a telescope's nominal length. Of an arm on a free
        base (nq,), its pose first, and (nv,): `model.coordinates` and `model.velocities` say what they are.
    method : str
        "auto" (default): chosen by what the run would cost; the result says which, and why. "dop853", "rk45", "tsit5",
        "vern7", "vern8" (explicit), "radau5", "radau9" (stiff arms; damp what is faster than the step), "gauss4",
        "gauss8", "generalized-alpha" (stiff arms; keep the energy), "radau", "bdf", "lsoda" (CyRK's for stiff systems);
        all compiled. "scipy-dop853", "scipy-radau", ...: SciPy's, slower. "rk4": fixed steps.
    step : float, optional
        For "rk4", and for our own implicit methods if they are not to choose their steps: none is longer [s].
    spectral_radius : float, optional
        Of "generalized-alpha", for modes much faster than its step: 1 (default, the trapezoidal rule) keeps their
        energy, 0 takes it out in a step.
    rtol, atol : float
        Tolerances of every coordinate and rate.
    samples : int
        Number of times in the result, both ends included.
    reference : Reference, optional
        A desired motion of the joints, kept beside the result as `q_ref`.
    progress : bool or callable
        True: a bar in the terminal if the run lasts longer than a second. A function is called with the time reached
        [s], about ten times a second.
    name : str
        What the result is called in its attributes; default the arm's name.
    p : (k,) or dict, optional
        Parameters of the arm that moves, where the model varies, see `Model`; default the model's own. A controller is
        designed for the model as it is given: for one that knows the parameters, give `model.at(p)`.
    keep : list of str, optional
        The variables of the result that are wanted, as ["q", "tip"]; default all. Nothing else is computed, or
        compiled for it; `energy_drift` is there with kinetic, potential or energy_error.
    s0 : (states,), optional
        States of drives at t = 0, see `Model.states`; default zero.
    w : numbers, function, input or dict, optional
        Exogenous inputs, see `Model.exogenous`; default zero. (exogenous,) constant; `Piecewise`, `Table`; a Python
        function w(t) or w(t, q, qd); an object with a law; or a dict of such by names: {"push.fx": 2.0, "base": ...},
        a `BaseMotion` among them.
    disturbance : numbers, function, input or dict, optional
        What acts on the arm beside all this, wherever it need not be declared: (m,) at the drives, added to what u
        gives behind its limits [N m or N]; or a dict by names, {"upper.drive": 0.2, "tip.fy": fa.Piecewise(...)}:
        "tip", a link (its tip) or a free "base" with fx to mz, f or m [N, N m], along the base's axes; or a `Force`.
        Values are as those of w. It acts in continuous time, under a sampled controller too, which does not know it.
        The result is that of the arm with these forces added; `w` has them.
    record : list of str, optional
        What the result shows of the controller at its times, held from sample to sample: "command", u before limits and
        delay; "memory", where it has one; and what the controller shows beside, as "measured" and "estimate" of an
        `Observed`. A variable `measured (time, measured_signal)` each.

    Returns
    -------
    xarray.Dataset
        q, qd (time, coordinate), of an arm on a free base qd (time, velocity); u (time, input); tip (time, axis) [m];
        deflection (time, link, axis) [m] and tip_angle (time, link, angle) [rad] of each link's tip in its own frame;
        kinetic, potential, work, dissipated [J], power [W] (time). energy_error = kinetic + potential - work +
        dissipated, less its value at the start: the integrator's error. Its largest relative size is the attribute
        `energy_drift`. The arm, the method and the statistics are attributes too. Where the arm has states of drives,
        or exogenous inputs, also drive_state (time, state) and w (time, exogenous).

        Of an arm on a free base also momentum [kg m/s] and angular_momentum [N m s] (time, axis), along the world's
        axes and about its origin. Where nothing acts from outside, the attributes `momentum_drift` and
        `angular_momentum_drift` say how far they have drifted, as a share of what all rates bring to them without
        regard to sign (`momentum_scale`, `angular_momentum_scale`); else `momentum_changed_by` says what acts.
        `quaternion_drift` is how far the length of the quaternion has been from 1.

    Raises
    ------
    DescriptionError
        Something asked for is not possible, or the result would not fit into memory.
    SimulationError
        The run diverged, could not meet its tolerance or met a NaN. The message says when and which coordinate; the
        part before is in its `result`. A result whose status is "completed" has finite numbers alone. Ctrl-C instead
        ends the run with a warning and returns what there is. What a Python function raises comes out as it is.
    """
    with refused("simulate"):
        checked_instance(model, Model, "model")
        checked_instance(name, str, "name")
        keep, recorded = checked_keep(keep), checked_record(record)
        if not (progress is None or isinstance(progress, bool | np.bool_) or callable(progress)):
            raise Fault("progress", f"is {shown(progress)}; it must be true, false or a function of the time")
    methods.check(until, method, rtol, atol, samples, step, spectral_radius)
    drive = as_input(u, model)  # what is designed for a model is designed for this one
    drive = drive.recording(recorded, model) if recorded else drive
    if p is not None:
        model = model.at(p)
    model, outside = disturbed(model, w, disturbance)
    layout = Layout.of(model, len(drive.memory))
    rest = drive.initial(model)
    q, qd = begun_at("q0", q0, rest[0], model.coordinates), begun_at("qd0", qd0, rest[1], model.velocities)
    q = unit_pose("q0", q, model.arm)
    s = begun_at("s0", s0, np.zeros(len(model.states)), model.states)
    reference = drive.wanted if reference is None else reference
    if reference is not None:
        checked_wanted(reference, model)
    given = None if q0 is None else q
    if strange := implausible(model, given, [reference], float(until)):
        warnings.warn(strange, Implausible, stacklevel=2)
    with refused("simulate"):
        kept = kept_of(keep, reference, layout.own, layout.exogenous, model.arm.free)
    _check_size(int(samples), numbers(model, layout, kept, sum(len(each.signals) for each in drive.records)))
    times = np.linspace(0.0, float(until), int(samples))
    drive = drive.begun(model, times)
    chosen, step, why = methods.chosen(method, step, model, drive, q, rtol)

    began = clock.perf_counter()
    plan, rate = methods.planned(model, drive, layout, chosen)
    compiled = clock.perf_counter()
    acting = outside.values(model, times[:1], q[None], qd[None])[0] if outside.of_time else None
    if acting is not None and (said := unstable_start(model, drive, q, s, float(until), acting)):
        warnings.warn(said, UnstableStart, stacklevel=2)
    solve = contacts.solving(chosen, plan, rate, model, drive, layout, rtol, atol, step, why, spectral_radius)

    interruption = Interruption(plan)
    bar = Bar(float(until), model.arm.name)
    seen = bar if progress is True else progress or None
    with usual_errors():
        breakpoints = restarts.breakpoints(model, drive, outside, times, chosen)
    run = Run(times, layout.start(q, qd, np.array(drive.memory), s), breakpoints)
    with usual_errors(), heard_by(interruption):
        try:
            watched(plan, lambda: run.integrate(model, drive, outside, plan, solve, layout), interruption, seen)
            if run.short is not None and not interruption.came:
                look = partial(watched, plan, interruption=interruption)
                run.failure = diagnosis(model, drive, layout, plan, solve, look, *run.short)
        finally:
            bar.close()
        finished = clock.perf_counter()
        if plan.failure is not None and not isinstance(plan.failure, FlexarmError | KeyboardInterrupt):
            raise plan.failure
        statistics = {
            "name": name or model.arm.name,
            "method": solve.method,
            "method_reason": solve.reason,
            "rtol": float(rtol),
            "atol": float(atol),
            "step": step,
            "steps": run.steps,
            "evaluations": plan.evaluations,
            "compile_seconds": compiled - began,
            "solve_seconds": finished - compiled,
            "status": run.failure or ("completed" if run.completed else "interrupted"),
            **drive.report(),
        }
        t, x = times[: run.reached], run.x[: run.reached]
        if outside.parts:
            statistics["outside_description"] = outside.described()
        result = dataset(model, drive, reference, layout, t, x, statistics, keep, outside)
        if run.completed and (fault := faulty(result)):
            run.failure = result.attrs["status"] = f"the motion is known to its end, but {fault}"
    if run.failure:
        raise SimulationError(run.failure, result)
    if (ratio := result.attrs["group_velocity_ratio"]) > QUASI_STATIC:
        warnings.warn(f"a telescope moves at {ratio:.2g} of U_g = sqrt(EI / m) / l: its shapes are poor", stacklevel=2)
    if bent := bent_far(model, result, x):
        warnings.warn(bent, LargeDeflection, stacklevel=2)
    if run.missed is not None:
        warnings.warn(missed_input(run.missed), MissedInput, stacklevel=2)
    advised = balance.advice(step, float(rtol), drive.computed or outside.computed)
    damps = spectral_radius is not None and spectral_radius < 1.0  # as it was asked to
    if run.completed and not damps and (off := balance.unbalanced(result, x[:, layout.qd], advised)):
        warnings.warn(off, EnergyDrift, stacklevel=2)
    if not run.completed or interruption.came:  # after the end it came too late for this run, but not for what follows
        message = f"interrupted at t = {float(result.time[-1]):.6g} s of {until:g} s"
        warnings.warn(message, InterruptedRun, stacklevel=2)
    return result


def begun_at(name: str, value: Any, otherwise: Array, signals: tuple[str, ...]) -> Array:
    """Numbers of a state at the start, one for each signal; raises `DescriptionError`."""
    n = len(otherwise)
    if value is None:
        return otherwise
    with refused():
        x = checked_array(value, name)
    if x.shape != (n,):
        raise DescriptionError(f"{name} has shape {x.shape}; it must have {n} numbers: {', '.join(signals) or 'none'}")
    return x


def _check_size(samples: int, columns: int) -> None:
    """Refuse a result that does not fit into memory, before any of it is there."""
    needed = 8.0 * samples * columns
    if needed > SMALL and needed > (there := max(memory.room(), SMALL)):
        free = f"{there / 1e9:.3g} GB are free"
        size = f"a result of {samples:.4g} samples takes {needed / 1e9:.3g} GB and {free}"
        advice = f"ask for fewer samples ({int(there / (8 * columns) / 2)} take half of that), or run in parts"
        raise DescriptionError(f"{size}; {advice}, each from where the last ended (q0, qd0)")


def checked_wanted(reference: Reference, model: Model) -> None:
    """Refuse what is no reference, or one of other joints than the model's."""
    joints = [model.velocities[i] for i in model.arm.joints]
    with refused("simulate"):
        checked_reference(reference)
    given = reference_values(reference, np.zeros(1)).shape[1]
    if given != len(joints):
        raise DescriptionError(f"reference moves {given} joints; the arm has {len(joints)}: {', '.join(joints)}")


def missed_input(t: float) -> str:
    """Return a line about a function of time that a run has not followed."""
    does = "a function of time changes there between two steps of the solver"
    return f"the run has not seen all of its input near t = {t:.4g} s: {does}; give it as fa.Piecewise or fa.Table"


@final
@dataclass
class Run:
    """A run over a grid of times from a state, and what has been computed of it so far.

    Attributes
    ----------
    x : (times, layout.size)
        Of which `reached` are known.
    reached : int
    steps : int
    completed : bool
    short : (stretch, t, x), optional
        Where a stretch ended early, and the last time and state before.
    failure : str
        Why the run could not go on; what an input said of itself, or the diagnosis.
    breakpoints : (k,)
        Times at which the solver starts anew, beside the jumps of the input [s].
    missed : float, optional
        Time at which a function of time changed unseen [s].
    """

    times: Array
    start: Array
    breakpoints: Array = field(default_factory=lambda: np.empty(0))
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
        self, model: Model, drive: Input, outside: Outside, plan: Plan, solve: Solving, layout: Layout
    ) -> None:
        """Compute the run, and repeat it if it has missed a change of a function of time."""
        plan.span = float(self.times[-1])
        divergence.judged(model, drive, layout, plan, plan.span)
        rounds = restarts.ROUNDS if drive.period is None else 1  # a sampled controller has a memory of its own
        for left in reversed(range(rounds)):
            self._once(model, drive, outside, plan, solve)
            ended = self.completed and not plan.stopped
            found = restarts.missed(plan, layout, self.times, self.x) if ended else np.empty(0)
            self.missed = float(found[0]) if len(found) else None
            if self.missed is None or not left:
                return
            self.breakpoints = np.union1d(self.breakpoints, found)
            plan.seen.clear()
            self.reached, self.completed = 1, False

    def _once(self, model: Model, drive: Input, outside: Outside, plan: Plan, solve: Solving) -> None:
        """Stretch after stretch, from each corner of the input to the next; in native code where there is some.

        Where what comes from outside jumps a stretch has parts.
        """
        end = float(self.times[-1])
        x, corners = self.start, map(float, drive.corners(end))
        outside.feed(plan, model, 0.0, x)
        whole = len(self._parts(outside, 0.0, end)) == 2
        ahead = drive.ahead(plan, solve.advance(), self.times, self.x) if solve.advance and whole else None
        last = next(corners)
        while following := list(islice(corners, MOST_AHEAD)):
            edges, done = np.array([last, *following]), 0
            if ahead is not None:
                done, x, self.reached, steps = ahead(edges, x)
                self.steps += steps
            for a, b in pairwise(map(float, edges[done:])):
                if not self._fed(lambda: drive.feed(plan, model, a, x)):  # noqa: B023  (called at once)
                    return
                for c, d in pairwise([a, b] if whole else self._parts(outside, a, b)):
                    if not whole and not self._fed(lambda: outside.feed(plan, model, c, x)):  # noqa: B023
                        return
                    found = self._stretch(plan, solve, c, d, x)
                    if found is None:
                        return
                    x = found
            last = following[-1]
        self.completed = True

    def _parts(self, outside: Outside, a: float, b: float) -> list[float]:
        """Return the ends of the parts of an interval."""
        edges, more = outside.between(a, b), self.breakpoints
        near = NEAR * (b - a)
        more = more[(more > a + near) & (more < b - near)]
        return sorted({*edges, *more.tolist()}) if len(more) else edges

    def _fed(self, feed: Callable[[], None]) -> bool:
        """Whether an input could be fed; where it fails at its time, the failure is kept."""
        try:
            feed()
        except DescriptionError:  # it does not fit the arm
            raise
        except FlexarmError as error:
            self.failure = str(error)
            return False
        return True

    def _stretch(self, plan: Plan, solve: Solving, a: float, b: float, x: Array) -> Array | None:
        """The state at b from x at a; None where it is not reached."""
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
