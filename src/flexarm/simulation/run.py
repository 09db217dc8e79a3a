"""Simulation of an arm's motion under inputs, with its energy balance."""

import json
import logging
import time as clock
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import escape
from flexarm.checks import Fault, checked_instance, counted, refused, shown
from flexarm.errors import (
    DescriptionError,
    EnergyDrift,
    FastTelescope,
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
from flexarm.model import Model, ModelLike, as_model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.model.evaluation import begun_at
from flexarm.progress import LOG
from flexarm.simulation import balance, crossings, memory, methods, restarts
from flexarm.simulation.dataset import bent_far, dataset, faulty, kept_of, numbers
from flexarm.simulation.diagnosis import diagnosis
from flexarm.simulation.disturbance import disturbed
from flexarm.simulation.feedback import initial
from flexarm.simulation.inputs import as_input
from flexarm.simulation.integration import Run
from flexarm.simulation.layout import Layout
from flexarm.simulation.options import SaveAt, Solver, check_end, options
from flexarm.simulation.plausible import implausible
from flexarm.simulation.unstable import unstable_start
from flexarm.simulation.varying import ChangingParameters, over_time, varying
from flexarm.simulation.watch import Bar, Interruption, Progress, attended, running
from flexarm.trajectory import Reference, reference_values
from flexarm.trajectory.reference import checked_reference

if TYPE_CHECKING:
    from xarray import Dataset


QUASI_STATIC = 0.1
"""Ratio U / U_g, U_g = sqrt(EI / m) / l, above which a telescope's shapes, those of a beam at rest, are poor."""


def simulate(
    model: ModelLike,
    until: float,
    u: Any = None,
    q0: Any = None,
    qd0: Any = None,
    method: str | None = None,
    rtol: float | None = None,
    *,
    samples: int | None = None,
    solver: Solver | None = None,
    save: SaveAt | None = None,
    reference: Reference | None = None,
    progress: Progress | bool = True,
    name: str = "",
    p: Any = None,
    s0: Any = None,
    w: Any = None,
    disturbance: Any = None,
    changes: Any = None,
    sensitivities: Any = None,
    **former: Any,
) -> "Dataset":
    """Simulate the motion of an arm from t = 0. Return an `xarray.Dataset` on a uniform grid of times.

    Parameters
    ----------
    model : Model, Arm, str or path
        The model, or what `Model` takes: an arm, the name of a bundled arm, or a file.
    until : float
        End [s].
    u : numbers, function or input
        (m,) constant; `Piecewise`, `bang_bang`, `Table`, `RigidInverseDynamics`; or a Python function u(t) or
        u(t, q, qd).
    q0, qd0 : (n,)
        Coordinates and rates at t = 0; default `arm.rest`: zero, except a telescope's nominal length. For an arm on a
        free base (nq,), its pose first, and (nv,), in the order of `model.coordinates` and `model.velocities`.
    method : str
        "auto" (default) chooses by the cost of the run; the result contains the choice and its reason. "dop853",
        "rk45", "tsit5", "vern7", "vern8" (explicit), "radau5", "radau9" (stiff arms; damp modes faster than the step),
        "gauss4", "gauss8", "generalized-alpha" (stiff arms; conserve energy). "rk4", "rk3", "midpoint" and "euler" take
        fixed steps, whose length is in `solver`.
    rtol : float
        Relative tolerance of every coordinate and rate, default 1e-8.
    samples : int
        Number of times in the result, both ends included, default 1001.
    solver : Solver, optional
        All settings of the integration, as `fa.Solver(method="rk4", step=1e-3)`: also `atol`, `step` and
        `spectral_radius`. A `method` or `rtol` that is given beside it replaces its own.
    save : SaveAt, optional
        What the result contains, as `fa.SaveAt(keep=["q", "tip"], record=["command"])`; default all variables, without
        signals of the controller. A number of `samples` that is given beside it replaces its own.
    reference : Reference, optional
        A desired motion of the joints, stored in the result as `q_ref`.
    progress : bool or callable
        True: a bar in the terminal if the run lasts longer than a second. A function is called with the time reached
        [s], about ten times a second.
    name : str
        Name of the result in its attributes; default the arm's name.
    p : (k,) or dict, optional
        Parameters of the arm that moves, where the model varies, see `Model`; default the model's own. A controller is
        designed for the model as it is given: to design it for the parameters, pass `model.at(p)`. In a dict, a value
        may also be a `Table`, a `Piecewise` or a Python function of t, as the mass of a tank that drains. Mass then
        arrives and leaves with the velocity of its place.
    s0 : (states,), optional
        States of drives at t = 0, see `Model.states`; default zero.
    w : numbers, function, input or dict, optional
        Exogenous inputs, see `Model.exogenous`; default zero. (exogenous,) constant; `Piecewise`, `Table`; a Python
        function w(t) or w(t, q, qd); an object with a law; or a dict of these by names: {"push.fx": 2.0, "base": ...},
        including a `BaseMotion`.
    disturbance : numbers, function, input or dict, optional
        Further forces, which the arm need not declare: (m,) at the drives, added to u after its limits [N m or N]; or a
        dict by names, {"upper.drive": 0.2, "tip.fy": fa.Piecewise(...)}: "tip", a link (its tip) or a free "base" with
        fx to mz, f or m [N, N m], along the base's axes; or a `Force`. Values are as those of w. A disturbance acts in
        continuous time, and a sampled controller does not know it. The result is that of the arm with these forces
        added, which are in `w`.
    changes : list of Change, optional
        Sudden changes of parameters, as `fa.Change(at=2.0, values={"payload.mass": 3.0})`: the arm picks up a body, or
        releases it. The energy that arrives with a body is part of `work`, and the loss by the impact is part of
        `dissipated`. The attribute `changes` lists both.
    sensitivities : list of str, optional
        Numbers of the run with respect to which the result has derivatives: "q0", "qd0", "s0", "p", "u", "w", numbers
        of a controller such as "u.Kp", as in `fa.gradient`, or single parameters of the model, such as "payload.mass".
        The method "auto" is "dop853". Adaptive steps are limited as in `fa.gradient`.
    former
        The former arguments atol, step, spectral_radius, keep and record, each with a `DeprecationWarning`.

    Returns
    -------
    xarray.Dataset
        q, qd (time, coordinate), on a free base qd (time, velocity); u (time, input); tip (time, axis) [m]; deflection
        (time, link, axis) [m] and tip_angle (time, link, angle) [rad] of each link's tip in its own frame; kinetic,
        potential, work, dissipated [J], power [W] (time). energy_error = kinetic + potential - work + dissipated, minus
        its value at the start, is the integrator's error. Its largest relative size is the attribute `energy_drift`.
        The arm, the method and the statistics are further attributes. If the arm has states of drives or exogenous
        inputs, the result has drive_state (time, state) or w (time, exogenous). With cables it has tension (time,
        cable) [N]. On a free base it also has base_turn [rad] (time, axis), the rotation vector of the base since the
        start, and momentum [kg m/s] and angular_momentum [N m s] (time, axis), along the world's axes and about its
        origin. With sensitivities it has q_sensitivity (time, coordinate, with_respect_to), qd_sensitivity and
        tip_sensitivity (time, axis, with_respect_to): the derivatives of the variables of the result, as far as these
        are kept, with respect to each number, exact for the steps of the run. The coordinate with_respect_to names the
        numbers ("q0[upper.joint]", "payload.mass", "u[2, upper.drive]"), and with_respect_to_unit has their units;
        those of the derivatives are rad, m, rad/s or m/s over them. Without external loads, the attributes
        `momentum_drift` and `angular_momentum_drift` are the drifts relative to the sum of all rates' contributions
        regardless of sign (`momentum_scale`, `angular_momentum_scale`). Otherwise `momentum_changed_by` names the
        loads. `quaternion_drift` is the largest deviation of the quaternion's length from 1.

    Raises
    ------
    DescriptionError
        An argument is not valid, or the result would not fit into memory.
    SimulationError
        The run diverged, did not reach its tolerance or met a NaN. The message contains the time and the coordinate,
        and `result` contains the part before. A result with the status "completed" has only finite numbers. Ctrl-C ends
        the run with a warning and returns the part that is complete. Exceptions of a Python function pass through.
    """
    with refused("simulate"):
        model = given_model = as_model(model)
        checked_instance(name, str, "name")
        if not (progress is None or isinstance(progress, bool | np.bool_) or callable(progress)):
            raise Fault("progress", f"is {shown(progress)}; it must be true, false or a function of the time")
    common = {"method": method, "rtol": rtol, "samples": samples}
    with refused():
        solver, save = options("simulate", solver, save, common, former)
    check_end(until, solver)
    rtol, atol, radius = solver.rtol, solver.atol, solver.spectral_radius
    drive = as_input(u, model)  # before `at` and `disturbed`, so that controllers are designed for the given model
    drive = drive.recording(save.record, model) if save.record else drive
    p, functions = over_time(p)
    if p is not None:
        model = model.at(p)
    model, exogenous = disturbed(model, w, disturbance)
    variation = varying(model, functions, changes, [drive], float(until))
    model = model if variation is None else variation.now(model, 0.0)
    layout = Layout.of(model, len(drive.memory), variation is not None and variation.flows)
    rest = initial(model, drive.begins)
    q, qd = begun_at("q0", q0, rest[0], model.coordinates), begun_at("qd0", qd0, rest[1], model.velocities)
    q = unit_pose("q0", q, model.arm)
    is_given = q0 is not None, qd0 is not None
    q, qd = closures.started("simulate", model, q, qd, is_given, led=drive.begins is not None)
    s = begun_at("s0", s0, np.zeros(len(model.states)), model.states)
    reference = drive.wanted if reference is None else reference
    if reference is not None:
        checked_wanted(reference, model)
    given = None if q0 is None else q
    if strange := implausible(model, given, [reference], float(until)):
        warnings.warn(strange, Implausible, stacklevel=2)
    with refused("simulate"):
        kept = kept_of(save.keep, reference, layout.own, layout.exogenous, model.arm.free, len(model.arm.cables))
    columns = numbers(model, layout, kept, sum(len(each.signals) for each in drive.records))
    _check_size(save.samples, columns)
    times = np.linspace(0.0, float(until), save.samples)
    drive = drive.begun(model, times)
    x0, sensitive = layout.start(q, qd, np.array(drive.memory), s), None
    if sensitivities is None:
        chosen, step, why = methods.chosen(solver.method, solver.step, model, drive, q, rtol)
    else:
        from flexarm.simulation.gradient_start import Start  # here, since few runs need them
        from flexarm.simulation.sensitivities import Sensitivities, method_of

        chosen, step, why = method_of(solver)
        arguments = {"model": given_model, "u": u, "q0": q0, "qd0": qd0, "w": w, "disturbance": disturbance}
        start = Start(arguments, model, drive, exogenous, layout, chosen, step, rtol, atol, times, x0)
        with refused("simulate"):
            sensitive = Sensitivities.of(sensitivities, start, variation is not None)
        _check_size(save.samples, columns + sensitive.columns(kept))

    began = clock.perf_counter()
    plan, rate = methods.planned(model, drive, layout, chosen)
    recording = None if sensitive is None else sensitive.solve(plan, rate, why)
    compiled = clock.perf_counter()
    acting = exogenous.output(model, times[:1], q[None], qd[None])[0] if exogenous.of_time else None
    if acting is not None and (said := unstable_start(model, drive, q, s, float(until), acting)):
        warnings.warn(said, UnstableStart, stacklevel=2)
    solve = recording or crossings.solving(chosen, plan, rate, model, drive, layout, rtol, atol, step, why, radius)

    interruption = Interruption(plan)
    bar = Bar(float(until), model.arm.name)
    seen = bar if progress is True else progress or None
    with usual_errors():
        more = None if variation is None else variation.inputs
        breakpoints = restarts.breakpoints(model, drive, exogenous, times, chosen, more)
    changing = None if variation is None else ChangingParameters(variation, model, plan, layout, float(until))
    run = Run(times, x0, breakpoints, changing)
    attended(plan, drive.computed or exogenous.computed or drive.period is not None, seen)
    with usual_errors(), heard_by(interruption):
        try:
            with running(plan):
                run.integrate(model, drive, exogenous, plan, solve, layout)
                interruption.came = interruption.came or isinstance(plan.failure, KeyboardInterrupt)
                ended_itself = plan.failure is None or isinstance(plan.failure, FlexarmError)
                if run.short is not None and ended_itself and not interruption.came:
                    run.failure = diagnosis(run.present(model, run.short[1]), drive, layout, plan, solve, *run.short, q)
        finally:
            bar.close()
        finished = clock.perf_counter()
        if interruption.again:
            raise KeyboardInterrupt
        if plan.failure is not None and not isinstance(plan.failure, FlexarmError | KeyboardInterrupt):
            raise plan.failure
        statistics = {
            "name": name or model.arm.name,
            "method": solve.method,
            "method_reason": solve.reason,
            "rtol": rtol,
            "atol": atol,
            "step": step,
            "steps": run.steps,
            "evaluations": plan.evaluations,
            "compile_seconds": compiled - began,
            "solve_seconds": finished - compiled,
            "status": run.failure or ("completed" if run.completed else "interrupted"),
            **drive.report(),
        }
        _log(statistics, float(until))
        t, x = times[: run.reached], run.x[: run.reached]
        if exogenous.parts:
            statistics["outside_description"] = exogenous.described()
        rows = None
        if changing is not None:
            rows, statistics["changes"] = changing.values(t), json.dumps(changing.done)
        beside = ({}, {}) if sensitive is None else sensitive.variables(t, x, kept)
        result = dataset(model, drive, reference, layout, t, x, statistics, save.keep, exogenous, rows, beside)
        if run.completed and (fault := faulty(result)):
            run.failure = result.attrs["status"] = f"the motion is complete, but {fault}"
    if run.failure:
        raise SimulationError(run.failure, result)
    if (ratio := result.attrs["group_velocity_ratio"]) > QUASI_STATIC:
        warnings.warn(
            f"a telescope moves at {ratio:.2g} of U_g = sqrt(EI / m) / l: its mode shapes are inaccurate",
            FastTelescope,
            stacklevel=2,
        )
    if bent := bent_far(model, result, x):
        warnings.warn(bent, LargeDeflection, stacklevel=2)
    if run.missed is not None:
        warnings.warn(missed_input(run.missed), MissedInput, stacklevel=2)
    advised = balance.advice(step, rtol, drive.computed or exogenous.computed)
    damps = radius is not None and radius < 1.0  # as requested by the user
    if run.completed and not damps and (off := balance.unbalanced(result, x[:, layout.qd], advised)):
        warnings.warn(off, EnergyDrift, stacklevel=2)
    # after the end, Ctrl-C came too late for this run, but not for the code that follows
    if not run.completed or interruption.came:
        message = f"interrupted at t = {float(result.time[-1]):.6g} s of {until:g} s"
        warnings.warn(message, InterruptedRun, stacklevel=2)
    return result


def _log(a: dict[str, Any], until: float) -> None:
    """Write a line about a run to the log."""
    if LOG.isEnabledFor(logging.DEBUG):
        effort = f"{counted(a['steps'], 'step')}, {counted(a['evaluations'], 'evaluation')}, {a['solve_seconds']:.3g} s"
        LOG.debug("%s", escape.line(f"simulate: {a['name']}, {until:g} s, {a['method']}: {effort}, {a['status']}"))


def _check_size(samples: int, columns: int) -> None:
    """Raise an error for a result that does not fit into memory, before memory is allocated."""
    needed = 8.0 * samples * columns
    if needed > memory.SMALL and needed > (there := memory.usable()):
        free = f"{there / 1e9:.3g} GB are free"
        size = f"a result of {samples:.4g} samples takes {needed / 1e9:.3g} GB and {free}"
        advice = f"use fewer samples ({int(there / (8 * columns) / 2)} need half of that), or run in parts"
        raise DescriptionError(f"{size}; {advice}, each from the end of the previous one (q0, qd0)")


def checked_wanted(reference: Reference, model: Model) -> None:
    """Raise an error for a value that is not a reference, or for a reference of other joints than the model's."""
    joints = [model.velocities[i] for i in model.arm.driven]
    with refused("simulate"):
        checked_reference(reference)
    given = reference_values(reference, np.zeros(1)).shape[1]
    if given != len(joints):
        raise DescriptionError(
            f"reference moves {counted(given, 'joint')}; the arm has {len(joints)}: {', '.join(joints)}"
        )


def missed_input(t: float) -> str:
    """Return a line about a function of time that a run has not followed."""
    does = "a function of time changes between two steps of the solver"
    return f"the solver has missed a part of the input near t = {t:.4g} s: {does}; use fa.Piecewise or fa.Table"
