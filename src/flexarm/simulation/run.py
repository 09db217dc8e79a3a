"""Simulation: an arm's motion under inputs, with an account of its energy."""

import signal
import threading
import time as clock
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from flexarm.checks import POSITIVE, Fault, checked_number
from flexarm.errors import DescriptionError, FlexarmError, SimulationError
from flexarm.model import Model
from flexarm.model.linear import without_inertia
from flexarm.native.kernel import Code
from flexarm.simulation import solvers
from flexarm.simulation.dataset import dataset
from flexarm.simulation.feedback import Feedback, SampledFeedback, closed_loop_rate
from flexarm.simulation.inputs import Drive, Input, as_input
from flexarm.simulation.rhs import DIVERGED, Plan, loops
from flexarm.simulation.watch import Bar
from flexarm.trajectory import Reference, reference_values

Array = np.ndarray
Progress = Callable[[float], None]
"""Called now and then with the time reached [s]."""

QUASI_STATIC = 0.1
"""Share of the group velocity above which a telescope's shapes, those of a beam at rest, are poor."""

RADIANS = 0.2
"""Of the fastest mode, in one fixed step between two samples."""

GROWN = 1e6
"""A run that failed from a coordinate or a rate beyond this, in SI units, has diverged."""

Solve = Callable[[float, Array, Array], solvers.Stretch]
"""From a time and a state there to the times given."""


@dataclass
class _Run:
    """What has been computed so far."""

    t: list[Array] = field(default_factory=list)
    x: list[Array] = field(default_factory=list)
    held: list[tuple[float, Array]] = field(default_factory=list)
    """When a sampled controller was called, and what the arm then got."""
    steps: int = 0
    failure: str = ""
    interrupted: bool = False
    completed: bool = False


def simulate(
    model: Model,
    until: float,
    u: Any = None,
    q0: Any = None,
    qd0: Any = None,
    method: str = "dop853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    samples: int = 1001,
    step: float | None = None,
    reference: Reference | None = None,
    progress: Progress | bool = True,
    name: str = "",
) -> Any:
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
        Coordinates and rates at t = 0; default `arm.rest`: zero, but a telescope's nominal length.
    method : str
        "dop853" (default), "rk45", "tsit5", "vern7", "vern8" (explicit); "radau", "bdf", "lsoda" (stiff); all
        compiled. "scipy-dop853", "scipy-radau", ...: SciPy's, slower, the implicit ones with the exact Jacobian. "rk4":
        fixed steps no longer than `step`. "auto": chosen by the spectrum of the arm linearised at the start; the result
        says which, and why.
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

    Returns
    -------
    xarray.Dataset
        q, qd (time, coordinate); u (time, input); tip (time, axis) [m]; deflection (time, link, axis) [m] and tip_angle
        (time, link, angle) [rad] of each link's tip in its own frame; kinetic, potential, work, dissipated [J], power
        [W] (time). energy_error = kinetic + potential - work + dissipated, less its value at the start: the
        integrator's error. Its largest relative size is the attribute `energy_drift`. The arm, the method and the
        statistics are attributes too.

    Raises
    ------
    DescriptionError
        Something asked for is not possible.
    SimulationError
        The run diverged, could not meet its tolerance or met a NaN. The message says when and which coordinate; the
        part before is in its `result`. Ctrl-C instead ends the run with a warning and returns what there is. What a
        Python function raises comes out as it is.
    """
    n = len(model.coordinates)
    _check(until, method, rtol, atol, samples, step)
    drive = as_input(u, model)
    start = drive.initial(model) if hasattr(drive, "initial") else (np.array(model.arm.rest), np.zeros(n))
    memory = np.array(drive.law.memory) if isinstance(drive, Feedback) else np.empty(0)
    starts = (_initial("q0", q0, start[0], model), _initial("qd0", qd0, start[1], model), memory, np.zeros(2))
    x0 = np.concatenate(starts)
    if isinstance(drive, Feedback | SampledFeedback):
        reference = reference or getattr(u, "reference", None)
    if reference is not None:
        _check_reference(reference, model)
    times = np.linspace(0.0, float(until), int(samples))
    if method == "auto" and isinstance(drive, SampledFeedback):
        chosen, step, why = between_samples(model, x0, drive.period)
    else:
        chosen, why = choose_method(model, x0, until, rtol) if method == "auto" else (method, "as asked")
    chosen, missing = solvers.available(chosen)
    why = missing or why

    began = clock.perf_counter()
    quantity = _quantity(drive)
    rate = _rate(model, quantity, x0[:n], len(memory))
    compiled = clock.perf_counter()
    plan = Plan(rate.addresses["evaluate"], 2 * n + len(memory), len(model.inputs) + len(memory), powers=2)
    # the energies ride along without steering the step: their tolerance is infinite
    atols = np.concatenate([np.full(plan.states, float(atol)), np.full(2, 1e300)])

    def solve(t0: float, start: Array, ends: Array) -> solvers.Stretch:
        if chosen in solvers.FIXED:
            return solvers.rk4(plan, t0, start, ends, float(step or 0.0))
        if chosen in solvers.SCIPY:
            jacobian = None if isinstance(drive, Feedback) else _jacobian(model, plan, quantity)
            return solvers.scipy(chosen, plan, t0, start, ends, rtol, atols, jacobian)
        return solvers.cyrk(chosen, plan, t0, start, ends, rtol, atols)

    bar = Bar(float(until), model.arm.name)
    run = _Run(t=[times[:1]], x=[x0[None, :]])
    with _ctrl_c(run, plan):
        try:
            shown = bar if progress is True else progress or None
            if isinstance(drive, SampledFeedback):
                _integrate_sampled(model, plan, drive, times, solve, run, shown)
            else:
                _integrate(model, plan, drive, times, solve, run, shown)
        finally:
            bar.close()
        finished = clock.perf_counter()
        if plan.failure is not None and not isinstance(plan.failure, FlexarmError | KeyboardInterrupt):
            raise plan.failure
        statistics = {
            "name": name or model.arm.name,
            "method": chosen,
            "method_reason": why,
            "rtol": float(rtol),
            "atol": float(atol),
            "step": float(step or 0.0),
            "steps": run.steps,
            "evaluations": plan.evaluations,
            "compile_seconds": compiled - began,
            "solve_seconds": finished - compiled,
            "status": run.failure or ("completed" if run.completed else "interrupted"),
        }
        t, x = np.concatenate(run.t), np.concatenate(run.x)
        z, x = x[:, 2 * n : -2], np.delete(x, np.s_[2 * n : x.shape[1] - 2], axis=1)
        result = dataset(model, drive, reference, t, x, _inputs(model, drive, run, t, x, z), statistics)
    if run.failure:
        raise SimulationError(run.failure, result)
    if (ratio := result.attrs["group_velocity_ratio"]) > QUASI_STATIC:
        warnings.warn(f"a telescope moves at {ratio:.2g} of its group velocity: its shapes are poor", stacklevel=2)
    if not run.completed:
        warnings.warn(f"interrupted at t = {float(result.time[-1]):.6g} s of {until:g} s", stacklevel=2)
    return result


# -- before ------------------------------------------------------------------------------------------------------------


def _initial(name: str, value: Any, otherwise: Array, model: Model) -> Array:
    n = len(otherwise)
    if value is None:
        return otherwise
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(f"{name} is not an array of numbers") from None
    if x.shape != (n,):
        raise DescriptionError(f"{name} has shape {x.shape}; it must have {n} numbers: {', '.join(model.coordinates)}")
    if not np.isfinite(x).all():
        raise DescriptionError(f"{name} contains NaN or infinity")
    return x


def _check(until: Any, method: Any, rtol: Any, atol: Any, samples: Any, step: Any) -> None:
    try:
        end = checked_number(until, "s", POSITIVE, "until")
        for name, value in (("rtol", rtol), ("atol", atol)):
            checked_number(value, "", POSITIVE, name)
        count = checked_number(samples, part="samples")
        if step is not None:
            step = checked_number(step, "s", POSITIVE, "step")
    except Fault as fault:
        raise DescriptionError(f"{fault.part} {fault.message}") from None
    if method not in (*solvers.METHODS, "auto"):
        raise DescriptionError(f"unknown method {method!r}; allowed are auto, {', '.join(solvers.METHODS)}")
    if count != int(count) or count < 2:
        raise DescriptionError(f"samples is {samples}; it must be a whole number, at least 2")
    if method in solvers.FIXED and (step is None or step > end):
        raise DescriptionError(f"step is {step}; {method} needs a positive step [s], no longer than the run")
    if method not in solvers.FIXED and step is not None:
        raise DescriptionError(f"step is {step}; {method} chooses its own steps: leave it out, or use method 'rk4'")


def _check_reference(reference: Reference, model: Model) -> None:
    joints = [model.coordinates[i] for i in model.arm.joints]
    given = reference_values(reference, np.zeros(1)).shape[1]
    if given != len(joints):
        raise DescriptionError(f"reference moves {given} joints; the arm has {len(joints)}: {', '.join(joints)}")


def _quantity(drive: Drive) -> str:
    """What of the model is integrated under this input."""
    return getattr(drive, "quantity", "state_rate")


def _rate(model: Model, quantity: str, q: Array, memory: int) -> Code:
    try:
        return model.kernel(quantity).code if not memory else closed_loop_rate(model, memory).code
    except ZeroDivisionError:  # the tracer has met a constant inertia of zero
        raise DescriptionError(f"arm {model.arm.name!r}: {without_inertia(model, q)}") from None


def choose_method(model: Model, x0: Array, until: float, rtol: float) -> tuple[str, str]:
    """A method and the reason: explicit unless the fastest mode would force far more steps than the motion needs."""
    fastest = _fastest(model, x0)
    evaluations = 12 * until * fastest / 4  # DOP853 is stable to about |h lambda| = 4 to 6
    reason = f"fastest eigenvalue {fastest:.3g} rad/s, about {evaluations:.1g} evaluations if explicit"
    if evaluations < 3e6:
        return "dop853", reason
    return ("radau" if rtol < 1e-6 else "lsoda"), reason


def _fastest(model: Model, x0: Array) -> float:
    """Size of the largest eigenvalue of the arm about the start, without inputs [rad/s]."""
    n = len(model.coordinates)
    q = x0[:n]
    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")
    M = model.mass_matrix(q)
    K = np.array(model.slope("restoring_force", 0)(q))
    D = np.array(model.slope("damping_force", 1)(q, np.zeros(n)))
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return float(np.abs(np.linalg.eigvals(A)).max())


def between_samples(model: Model, x0: Array, period: float) -> tuple[str, float, str]:
    """Method, step and reason for the stretches between samples: too short for a method that chooses its steps."""
    fastest = _fastest(model, x0)
    step = period / np.ceil(period * fastest / RADIANS)
    return "rk4", float(step), f"short stretches between samples; fastest eigenvalue {fastest:.3g} rad/s"


# -- during ------------------------------------------------------------------------------------------------------------


@contextmanager
def _ctrl_c(run: _Run, plan: Plan) -> Iterator[None]:
    """Ctrl-C stops the run and lets its result be made; a second one is as always. Another's handler is left alone."""

    def stop(number: int, frame: Any) -> None:
        if run.interrupted:
            raise KeyboardInterrupt
        run.interrupted = True
        plan.stop()

    in_main = threading.current_thread() is threading.main_thread()
    ours = in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _integrate(
    model: Model, plan: Plan, drive: Input | Feedback, times: Array, solve: Solve, run: _Run, progress: Progress | None
) -> None:
    """Stretch after stretch, from each jump of the input to the next."""
    until = float(times[-1])
    jumps = drive.jumps()
    corners = [0.0, *np.unique(jumps[(jumps > 0) & (jumps < until)]).tolist(), until]
    x = run.x[0][0]
    for a, b in pairwise(corners):
        drive.feed(plan, model, a)
        inside = times[(times > a) & (times < b)]
        ends = np.append(inside, b)
        stretch = _watched(plan, partial(solve, a, x, ends), run, progress)
        run.steps += stretch.steps
        wanted = np.isin(ends[: len(stretch.x)], times)
        run.t.append(ends[: len(stretch.x)][wanted])
        run.x.append(stretch.x[wanted])
        if len(stretch.x) < len(ends):
            _fall_short(model, drive, plan, solve, run, stretch, np.append(a, ends), x)
            return
        x = stretch.x[-1]
    run.completed = True


def _integrate_sampled(
    model: Model, plan: Plan, drive: SampledFeedback, times: Array, solve: Solve, run: _Run, progress: Progress | None
) -> None:
    """Stretch after stretch, from each sample of the controller to the next; in between its output is held."""
    until, period = float(times[-1]), drive.period
    count = int(np.ceil(until / period - 1e-9))
    corners = np.append(period * np.arange(count), until)
    first = np.searchsorted(times, corners, side="right")
    plan.feed(loops().addresses["nothing"])
    sampled, x, shown = drive.started(), run.x[0][0], clock.perf_counter()
    for k in range(count):
        a, b = float(corners[k]), corners[k + 1]
        try:
            plan.u[:] = sampled(a, x)
        except FlexarmError as error:
            run.failure = str(error)
            return
        run.held.append((a, plan.u.copy()))
        wanted = times[first[k] : first[k + 1]]
        on_time = len(wanted) > 0 and wanted[-1] == b
        ends = wanted if on_time else np.append(wanted, b)
        stretch = solve(a, x, ends)
        run.steps += stretch.steps
        rows = stretch.x[: len(wanted)]
        run.t.append(wanted[: len(rows)])
        run.x.append(rows)
        if len(stretch.x) < len(ends):
            _fall_short(model, drive, plan, solve, run, stretch, np.append(a, ends), x)
            return
        x = stretch.x[-1]
        if progress is not None and clock.perf_counter() - shown > 0.1:
            shown = clock.perf_counter()
            progress(float(b))
    run.completed = True


def _fall_short(
    model: Model, drive: Drive, plan: Plan, solve: Solve, run: _Run, stretch: solvers.Stretch, times: Array, x: Array
) -> None:
    """Note why a stretch from x at the first of the times did not reach the last, unless it was interrupted."""
    if not run.interrupted:
        reached = len(stretch.x)
        last = stretch.x[-1] if reached else x
        run.failure = _diagnosis(model, drive, plan, solve, run, stretch, float(times[reached]), last)


def _inputs(model: Model, drive: Drive, run: _Run, t: Array, x: Array, z: Array) -> Array:
    """u at the times of the result; from the right where it jumps."""
    n = len(model.coordinates)
    if isinstance(drive, Feedback):
        return drive.values(model, t, x[:, :n], x[:, n : 2 * n], z)
    if isinstance(drive, SampledFeedback):
        if not run.held:
            return np.full((len(t), len(model.inputs)), np.nan)
        held_times, held = (np.array(part) for part in zip(*run.held, strict=True))
        return held[np.searchsorted(held_times, t + 1e-9 * drive.period, side="right") - 1]
    return drive.values(model, t, x[:, :n], x[:, n : 2 * n])


def _watched(
    plan: Plan, solve: Callable[[], solvers.Stretch], run: _Run, progress: Progress | None = None
) -> solvers.Stretch:
    """Run a solver in a thread, so that this one can show progress, catch Ctrl-C and see a motion that has diverged."""
    done: list[solvers.Stretch] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            done.append(solve())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    strange = 0
    try:
        while thread.is_alive():
            try:
                thread.join(0.1)
                if progress is not None and thread.is_alive():
                    progress(plan.time)
                # a solver may try a wild state and reject it: believe it when it is there again and again
                strange = 0 if np.abs(plan.buffer[: 1 + plan.states]).max() < DIVERGED else strange + 1
                if strange > 2:
                    plan.stop()
            except KeyboardInterrupt:
                if run.interrupted:
                    raise
                run.interrupted = True
                plan.stop()
    finally:
        if thread.is_alive():  # what happened is no business of the solver's: let it end
            plan.stop()
    if failed:
        raise failed[0]
    run.interrupted = run.interrupted or isinstance(plan.failure, KeyboardInterrupt)
    return done[0]


def _diagnosis(
    model: Model, drive: Drive, plan: Plan, solve: Solve, run: _Run, stretch: solvers.Stretch, t: float, x: Array
) -> str:
    """When and where a run failed that was last well at t in the state x."""
    if isinstance(plan.failure, FlexarmError):
        return str(plan.failure)
    reason = f" ({stretch.message})" if stretch.message else ""
    n, end, diverged = len(model.coordinates), plan.time, stretch.diverged
    if diverged is not None and not np.isfinite(diverged[1]).all():
        end, diverged = diverged[0], None
    if diverged is None and end > t:  # a closer look at the way there
        plan.resume()
        closer = np.linspace(t, end, 65)[1:]
        look = _watched(plan, partial(solve, t, x, closer), run)
        t, x = (float(closer[len(look.x) - 1]), look.x[-1]) if len(look.x) else (t, x)
    elif diverged is not None:
        t, x = diverged
    size = np.abs(x[: 2 * n])
    if size.max() > GROWN:
        names = [*model.coordinates, *(f"the rate of {name}" for name in model.coordinates)]
        largest = int(np.argmax(size))
        return f"diverged by t = {t:.6g} s: {names[largest]} had grown to {x[largest]:.3g}{reason}"
    for name, (low, total) in telescope_ranges(model).items():
        i = model.coordinates.index(name)
        length = x[i] + x[n + i] * max(end - t, 0.0)
        if min(length - low, total - length) < 1e-4 * total:
            allowed = f"its range from {low:g} to {total:g} m"
            return f"stopped at t = {end:.6g} s: {name}, a free length, would leave {allowed}"
    u = plan.u[: len(model.inputs)]
    if isinstance(drive, Feedback) and (fault := _fault(drive, plan, t, x)):
        return f"stopped at t = {end:.6g} s: controller {drive.name} gave {fault}"
    rate = model.kernel(_quantity(drive)).one(np.concatenate([x[: 2 * n], u]))[n : 2 * n]
    bad = np.flatnonzero(~np.isfinite(rate))
    if len(bad):
        why = without_inertia(model, x[:n]) or f"the acceleration of {model.coordinates[bad[0]]} is not a number"
        return f"stopped at t = {end:.6g} s: {why}{reason}"
    fastest = int(np.argmax(np.abs(rate)))
    name = model.coordinates[fastest]
    return f"could not meet the tolerance at t = {end:.6g} s: {name} accelerates at {rate[fastest]:.3g}{reason}"


def _fault(drive: Feedback, plan: Plan, t: float, x: Array) -> str:
    """What of a law is not finite at t in the state x, or a little beyond where its motion leads; "" if all is."""
    n, m = len(drive.model.coordinates), len(drive.model.inputs)
    ahead = np.append(0.0, 10.0 ** np.arange(-12, -2))
    ahead *= max(plan.time - t, 1e-9) / ahead[-1]
    for dt in ahead:
        given = np.concatenate([[t + dt], x[:n] + dt * x[n : 2 * n], x[n : plan.states]])
        bad = np.flatnonzero(~np.isfinite(value := drive.kernel.one(given)))
        if len(bad):
            return f"{value[bad[0]]} " + (f"for {drive.model.inputs[bad[0]]}" if bad[0] < m else "in its memory")
    return ""


def _jacobian(model: Model, plan: Plan, quantity: str) -> Callable[[float, Array], Array]:
    """The exact Jacobian of the right-hand side at constant u, for SciPy's implicit solvers."""
    n = len(model.coordinates)

    def jacobian(t: float, x: Array) -> Array:
        J = np.zeros((2 * n + 2, 2 * n + 2))
        for i in (0, 1):
            J[:, i * n : (i + 1) * n] = model.slope(quantity, i)(x[:n], x[n : 2 * n], plan.u)
        return J

    return jacobian


def telescope_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """The range of every telescope's free length."""
    from flexarm.mechanics.chain import positions

    names = model.coordinates
    return {
        names[positions(own[1:])[position]]: (low, high)
        for body, own in zip(model.chain.bodies, model.chain.own, strict=True)
        for position, low, high in body.limits
    }
