"""Gradients of a scalar of a run, by the discrete adjoint of its steps."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    Fault,
    checked_array,
    counted,
    refused,
    shown,
    unknown_name,
)
from flexarm.errors import DescriptionError, SimulationError
from flexarm.floating import usual_errors
from flexarm.interrupts import heard_by
from flexarm.model import Model, as_model
from flexarm.model.attitudes import unit_pose
from flexarm.model.evaluation import begun_at
from flexarm.native.adjoint import adjoint
from flexarm.native.kernel import Kernel
from flexarm.native.language import Placed
from flexarm.simulation import crossings, methods, restarts, solvers
from flexarm.simulation.adjoint import MOST_STEPS, Recorded, trail
from flexarm.simulation.block import Block
from flexarm.simulation.closed_loop import rounds
from flexarm.simulation.designs import STENCIL, Design, designs, numbers_of
from flexarm.simulation.disturbance import disturbed
from flexarm.simulation.exogenous import ExogenousInputs
from flexarm.simulation.explicit import Explicit
from flexarm.simulation.feedback import LawBlock, initial, integrand
from flexarm.simulation.inputs import Piecewise, Table, as_input
from flexarm.simulation.layout import Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.objective import Scalar
from flexarm.simulation.options import check_end, options
from flexarm.simulation.run import Run
from flexarm.simulation.sampled import SampledFeedback
from flexarm.simulation.varying import over_time
from flexarm.simulation.watch import Interruption, attended, running

ARGUMENTS = (
    *("model", "until", "u", "q0", "qd0", "method", "rtol", "samples", "solver", "save"),
    *("reference", "progress", "name", "p", "s0", "w", "disturbance", "changes"),
)
"""Arguments of `simulate`, which define a run."""

TURN = 1.0
"""Turn of the fastest mode in the longest adaptive step [rad].

Step control keeps the error of the motion small, and not that of its derivatives. Where a mode does not move, it would
allow steps in which the mode's derivatives grow without bound."""

UNIT_TABLES = 256
"""Number of values of a table whose effects on its cubics are computed together."""

AUTO = "dop853"
"""Method of a run with method="auto"."""


@final
@dataclass(frozen=True, eq=False)
class Gradient:
    """A scalar of a run and its gradient; `gradient["q0"]` is the derivative with respect to q0.

    Attributes
    ----------
    value : float
        The scalar.
    slopes : dict of arrays
        Derivatives by name, each in the shape of what it belongs to.
    method : str
        Method of the run.
    times : (steps + 1,)
        Ends of its steps [s].
    """

    value: float
    slopes: Mapping[str, Array]
    method: str
    times: Array

    def __getitem__(self, name: str) -> Array:
        """Return the derivative with respect to one of the names."""
        try:
            return self.slopes[name]
        except KeyError:
            raise KeyError(unknown_name("the gradient has no", name, self.slopes, "it has")) from None

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in self.slopes.items())
        return f"Gradient(value {self.value:.6g}; {shapes}; {self.method}, {counted(len(self.times) - 1, 'step')})"


def gradient(
    run: Mapping[str, Any],
    with_respect_to: str | Iterable[str],
    of: Any = None,
    integral: Any = None,
    times: Any = None,
    data: Any = None,
) -> Gradient:
    """Return a scalar of a run, and its derivatives with respect to many numbers at once.

    The scalar is `of` at the end of the run (or its sum over `times`) plus the integral of `integral` over the run. The
    derivatives are exact for the steps that the method takes, up to rounding. One backward sweep over these steps costs
    about as much as four runs in native code, whatever the number of inputs and parameters is.

    Parameters
    ----------
    run : dict
        Arguments of `fa.simulate` by name: `run = dict(model=..., until=..., u=..., q0=...)` is also the run of
        `fa.simulate(**run)`. The method must be explicit; "auto" is "dop853". u must be numbers, a `Piecewise`, a
        `Table`, or a controller that is evaluated at every time.
    with_respect_to : list of str
        Some of "q0", "qd0", "s0", "p" and "u". The derivative with respect to "u" has the shape of the numbers in u:
        (m,), or (k, m) for the values of a `Piecewise` or a `Table`. Numbers of a controller have names such as "u.Kp"
        or "u.reference.periods". With a free base or ball joints, that with respect
        to "q0" is in local coordinates (nv,): a shift and rotations along the moving axes.
    of : function or str
        A scalar function of the state at the end. It takes quantities by the names of its arguments, such as `lambda q,
        tip: ...`, and gets CasADi expressions: t; q, qd, s; tip (3,) [m]; kinetic, potential, work, dissipated [J]; p;
        data. Or the name of a scalar quantity, as "dissipated".
    integral : function or str
        A scalar function in the same form, which is integrated over time by the weights of the method: t; q, qd, s;
        tip; kinetic, potential; p; u; w.
    times : (k,), optional
        Times at which `of` is evaluated and summed [s]; default the end. The steps end at these times.
    data : (k, d), optional
        Numbers for each of the times, such as measurements, which `of` gets as `data`.

    Returns
    -------
    Gradient

    Raises
    ------
    DescriptionError
        An argument is not valid, or the run has a part without a gradient: an implicit method, a sampled controller, a
        Python function of time, closures, sharp end stops or backlash, or changes of parameters.
    SimulationError
        The run does not reach its end.

    Notes
    -----
    The lengths of adaptive steps count as constants. A contact, friction or a saturation has a gradient except at the
    state where it switches; there the one-sided derivative of the branch that was computed is returned.
    """
    with refused("gradient"):
        given, names = _arguments(run), _names(with_respect_to)
        if of is None and integral is None:
            raise Fault("of", "is missing; give of, a function of the end, or integral, a function over the run")
    began = _Begun.of(given)
    marks = _marks(times, data, float(given["until"]), of)
    with refused("gradient"):
        _check(names, began)
    recorded = began.recorded(marks.times)
    scalars = {}
    if of is not None:
        scalars["of"] = Scalar("of", of, began.model, began.layout, marks.data.shape[1])
    if integral is not None:
        scalars["integral"] = Scalar("integral", integral, began.model, began.layout)
    return _swept(began, recorded, names, scalars, marks)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(run: Any) -> dict[str, Any]:
    """Return all arguments of a run. Raises `Fault`."""
    if not isinstance(run, Mapping) or hasattr(run, "data_vars"):
        what = "it must be a dict of the arguments of simulate, as dict(model=model, until=1.0, u=u)"
        raise Fault("run", f"is a {type(run).__name__}; {what}")
    for name in run:
        if name not in ARGUMENTS:
            raise Fault("", unknown_name("run has the unknown argument", name, ARGUMENTS, "the arguments are"))
    for name in ("model", "until"):
        if name not in run:
            raise Fault("run", f"has no {name}; it must have model and until, as dict(model=model, until=1.0, u=u)")
    if run.get("changes"):
        raise Fault("run", "has changes of parameters, which have no gradient; leave changes out")
    return dict.fromkeys(ARGUMENTS) | dict(run)


OF = ("q0", "qd0", "s0", "p", "u")
"""Names with respect to which there are derivatives."""

OF_CONTROLLER = "u."
"""Beginning of the names of a controller's numbers, as "u.Kp"."""


def _names(given: Any) -> list[str]:
    """Return the names with respect to which to differentiate. Raises `Fault`."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not names:
        raise Fault("with_respect_to", f"is {shown(given)}; it must be a list of some of {', '.join(OF)}")
    for name in names:
        if name not in OF and not (isinstance(name, str) and name.startswith(OF_CONTROLLER)):
            names_ = "the names are", f"{', '.join(OF)}, and numbers of a controller, as u.Kp"
            raise Fault("", unknown_name("with_respect_to has the unknown name", name, OF, *names_))
    return list(names)


class _Marks(NamedTuple):
    """Times at which the objective is evaluated, (k,), and numbers for each, (k, d)."""

    times: Array
    data: Array


def _marks(times: Any, data: Any, until: float, of: Any) -> _Marks:
    """Return the times of the objective and their data."""
    with refused("gradient"):
        if of is None and not (times is None and data is None):
            raise Fault("of", "is missing; times and data are for the function of")
        t = np.array([until]) if times is None else np.atleast_1d(checked_array(times, "times"))
        if t.ndim != 1 or not len(t) or not ((t >= 0.0) & (t <= until)).all() or not (np.diff(t) > 0.0).all():
            raise Fault("times", f"is {shown(times)}; it must increase, from 0 to {until:g} s")
        rows = np.empty((len(t), 0)) if data is None else checked_array(data, "data")
        if rows.ndim == 1:
            rows = rows[:, None]
        if rows.ndim != 2 or len(rows) != len(t):
            raise Fault("data", f"has shape {rows.shape}; it must have {counted(len(t), 'row')}, one for each time")
    return _Marks(t, rows)


@dataclass(frozen=True, eq=False)
class _Begun:
    """A run before its first step."""

    given: Mapping[str, Any]
    model: Model
    drive: Block
    exogenous: ExogenousInputs
    layout: Layout
    method: str
    step: float
    rtol: float
    atol: float
    times: Array
    start: Array

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "_Begun":
        """Return a run from all arguments of `simulate`. Raises `DescriptionError` if it has no gradient."""
        with refused("gradient"):
            model = as_model(given["model"])
        common = {name: given[name] for name in ("method", "rtol", "samples")}
        with refused():
            solver, save = options("gradient", given["solver"], given["save"], common, {})
        check_end(given["until"], solver)
        drive = as_input(given["u"], model)
        p, functions = over_time(given["p"])
        if p is not None:
            model = model.at(p)
        model, exogenous = disturbed(model, given["w"], given["disturbance"])
        method = AUTO if solver.method == "auto" else solver.method
        with refused("gradient"):
            _check_smooth(model, drive, exogenous, method, bool(functions))
        layout = Layout.of(model, len(drive.memory))
        rest = initial(model, drive.begins)
        q, qd = (
            begun_at("q0", given["q0"], rest[0], model.coordinates),
            begun_at("qd0", given["qd0"], rest[1], model.velocities),
        )
        q = unit_pose("q0", q, model.arm)
        s = begun_at("s0", given["s0"], np.zeros(len(model.states)), model.states)
        times = np.linspace(0.0, float(given["until"]), save.samples)
        start = layout.start(q, qd, np.array(drive.memory), s)
        step = float(solver.step or 0.0)
        return cls(
            given,
            model,
            drive.begun(model, times),
            exogenous,
            layout,
            method,
            step,
            solver.rtol,
            solver.atol,
            times,
            start,
        )

    def _longest(self) -> float:
        """Return the longest adaptive step, from the fastest eigenvalue at the start."""
        states, x, t = self.layout.states, self.start[: self.layout.states], self.times[:1]
        q, qd, z = (x[None, part] for part in (self.layout.q, self.layout.qd, self.layout.z))
        rates, law = integrand(self.model, self.drive.quantity, self.layout.memory), self.drive.kernel_for(self.model)
        fed = np.zeros(self.layout.fed)
        if self.drive.period is None:
            fed[: self.layout.inputs] = self.drive.output(self.model, t, q, qd, z)[0]
        fed[self.layout.inputs + self.layout.memory :] = self.exogenous.output(self.model, t, q, qd)[0]
        weights = np.eye(states, self.layout.size)
        slopes = adjoint(rates).few(np.hstack([np.tile(np.concatenate([x, fed]), (states, 1)), weights]))
        A = slopes[:, :states]
        if law is not None and self.drive.of_state and self.drive.period is None:
            count = self.layout.inputs + self.layout.memory
            given = np.tile(np.concatenate([t, x[: self.layout.z.stop]]), (count, 1))
            to_x = adjoint(law).few(np.hstack([given, np.eye(count)]))[:, 1:]
            A[:, : to_x.shape[1]] += slopes[:, states : states + count] @ to_x
        fastest = np.abs(np.linalg.eigvals(A)).max() if np.isfinite(A).all() else 0.0
        return float(TURN / fastest) if fastest > 0.0 else 0.0

    def recorded(self, marks: Array) -> Recorded:
        """Integrate the run, and return its steps."""
        model, drive, layout = self.model, self.drive, self.layout
        tableau, size = solvers.EXPLICIT[self.method], layout.size
        plan, rate = methods.planned(model, drive, layout, self.method, weights=size)
        steps, longest = trail(size, tableau.stages), self.step or self._longest()
        guess = drive.period or 0.0
        explicit = Explicit(tableau, plan, self.rtol, layout.tolerances(self.atol), longest, guess, trail=steps)
        calls = drive.running if isinstance(drive, SampledFeedback) else None
        found = Recorded(plan, rate, explicit, steps, calls)
        breakpoints = restarts.breakpoints(model, drive, self.exogenous, self.times, self.method)
        run = Run(self.times, self.start, np.union1d(breakpoints, marks))
        interruption = Interruption(plan)
        attended(plan, False, None)
        with usual_errors(), heard_by(interruption), running(plan):
            run.integrate(model, drive, self.exogenous, plan, Solve(found.stretch, self.method, ""), layout)
        if interruption.came:
            raise KeyboardInterrupt
        if plan.failure is not None:
            raise plan.failure
        if not run.completed:
            why = run.failure or "fa.simulate with the same arguments names the reason"
            raise SimulationError(f"gradient: the run ends at t = {plan.time:.6g} s; {why}")
        if steps.count > steps.room:
            count = f"the run takes {steps.count} steps; at most {MOST_STEPS} have a gradient"
            raise DescriptionError(f"gradient: {count}: use a longer step or a larger rtol")
        found.end(float(self.times[-1]), run.x[-1])
        return found


def _check_smooth(model: Model, drive: Block, exogenous: ExogenousInputs, method: str, functions: bool) -> None:
    """Raise `Fault` for a run without a gradient."""
    name = model.arm.name
    if method in solvers.IMPLICIT:
        raise Fault("method", f"is {method!r}; gradients need an explicit method, such as 'dop853', 'tsit5' or 'rk4'")
    if isinstance(drive, SampledFeedback) and (drive.function or drive.law.accelerates):
        what = "measures accelerations" if drive.law.accelerates else "is a Python function"
        raise Fault("u", f"is a sampled controller that {what}; give a controller with a law of t, q and qd")
    law = drive.kernel_for(model) if isinstance(drive, LawBlock) else None
    if law is not None and rounds(law.trace()):
        raise Fault("u", "is a controller that rounds a signal, which has no derivative; leave its resolution out")
    if drive.computed:
        raise Fault("u", f"is the Python function {drive.described()}; give a Piecewise, a Table or a controller")
    if drive.quantity != "state_rate":
        raise Fault("u", "prescribes a motion, which has no gradient yet; give torques or a controller")
    if exogenous.computed or not exogenous.of_time:
        raise Fault("w", "must consist of numbers, Piecewise and Table; other exogenous inputs have no gradient yet")
    if functions:
        raise Fault("p", "changes over time, which has no gradient yet; give numbers")
    if model.arm.closures:
        raise Fault("", f"arm {name!r} has closures, which have no gradient yet")
    if crossings.stops(model, drive, method):
        must = "use springs with a transition, or a method with fixed steps"
        raise Fault(
            "", f"arm {name!r} has sharp end stops or backlash, at which adaptive steps depend on the state; {must}"
        )


def _check(names: list[str], began: "_Begun") -> None:
    """Raise `Fault` for a name with respect to which the run has no derivative."""
    if "p" in names and not began.model.varied:
        raise Fault("with_respect_to", "has p, but the model has no parameters; choose them by Model(arm, vary=[...])")
    if "s0" in names and not began.layout.own:
        raise Fault("with_respect_to", f"has s0, but arm {began.model.arm.name!r} has no drive with states")
    own = [name for name in names if name.startswith(OF_CONTROLLER)]
    if own and not isinstance(began.drive, LawBlock):
        raise Fault("with_respect_to", f"has {own[0]}, but u is no controller: it is {began.drive.described()}")
    for name in own:
        numbers_of(began.given["u"], name.removeprefix(OF_CONTROLLER))
    if "u" in names and not isinstance(began.drive, Piecewise | Table):
        u = began.drive.described()
        raise Fault("with_respect_to", f"has u, but u is {u}; it must be numbers, a Piecewise or a Table")


# -- the derivatives ---------------------------------------------------------------------------------------------------


def _swept(
    began: _Begun, recorded: Recorded, names: list[str], scalars: Mapping[str, Scalar], marks: _Marks
) -> Gradient:
    """Return the gradient of a recorded run."""
    model, drive, layout = began.model, began.drive, began.layout
    rates = integrand(model, drive.quantity, layout.memory)
    others = _others(began, names)
    value, pulls, of_p, steps = _pulled(began, recorded, scalars.get("of"), marks)
    sweep = recorded.swept(
        layout,
        rates,
        "p" in names,
        drive.kernel_for(model),
        [each.kernel_for(model) for _, each in others],
        scalars.get("integral"),
        model.p,
        drive.cubics if "u" in names else None,
        steps,
        pulls,
    )
    slopes: dict[str, Callable[[], Array]] = {
        "q0": lambda: sweep.v[layout.q] @ _tangent(model, began.start[layout.q]),
        "qd0": lambda: sweep.v[layout.qd].copy(),
        "s0": lambda: sweep.v[layout.s].copy(),
        "p": lambda: of_p + sweep.of_cost + _through_prologue(rates, model.p, sweep.of_constants),
        "u": lambda: _of_inputs(began, recorded, sweep),
    }
    own = _of_controllers(began, sweep, names, others)
    found = {name: own[name] if name in own else slopes[name]() for name in names}
    return Gradient(value + sweep.value, found, began.method, recorded.times)


def _pulled(
    began: _Begun, recorded: Recorded, scalar: Scalar | None, marks: _Marks
) -> tuple[float, Array, Array, Array]:
    """Return the sum of `of`, its slopes in the states and in p, and the steps before which its times are."""
    size = began.layout.size
    if scalar is None:
        return 0.0, np.empty((0, size)), np.zeros(len(began.model.p)), np.empty(0, dtype=np.int64)
    edges = np.array(recorded.edges)
    nearest = np.abs(edges[:, None] - marks.times).argmin(axis=0)
    x, p = np.array(recorded.states)[nearest], np.tile(began.model.p, (len(nearest), 1))
    values, slopes = scalar(np.hstack([edges[nearest, None], x, p, marks.data]))
    of_p = slopes[:, scalar.parts["p"]].sum(axis=0)
    return float(values.sum()), slopes[:, scalar.parts["x"]], of_p, np.array(recorded.first)[nearest]


def _tangent(model: Model, q: Array) -> Array:
    """Return dq / d(local coordinates), (nq, nv)."""
    if not model.arm.quaternions:
        return np.eye(model.nv)
    import casadi as ca

    x = ca.SX.sym("q", model.nq)
    found = ca.Function("tangent", [x], [model.to_tangent(ca.SX.eye(model.nq), [x], "q")])
    return np.array(found(q))


def _through_prologue(rates: Kernel, p: Array, of_constants: Array) -> Array:
    """Return the product of the constants' weights with their slopes in the parameters."""
    if rates.prologue is None:
        return np.zeros(len(p))
    return adjoint(rates.prologue).one(np.concatenate([p, of_constants]))


def _others(began: _Begun, names: list[str]) -> list[tuple[Design, LawBlock]]:
    """Return the controllers with other numbers, whose differences are the derivatives by their names."""
    model, found = as_model(began.given["model"]), []
    for name in names:
        if name.startswith(OF_CONTROLLER):
            for each in designs(began.given["u"], name.removeprefix(OF_CONTROLLER)):
                drive = as_input(each.controller, model)
                assert isinstance(drive, LawBlock)
                found.append((each, drive))
    return found


def _of_controllers(
    began: _Begun, sweep: Placed, names: list[str], others: list[tuple[Design, LawBlock]]
) -> dict[str, Array]:
    """Return the derivatives with respect to numbers of the controller: by the law, its memory and the start."""
    layout, given = began.layout, began.given
    z = sweep.held[layout.inputs :] if sweep.sampled else sweep.v[layout.z]
    q, qd = (sweep.v[part] * (given[name] is None) for part, name in ((layout.q, "q0"), (layout.qd, "qd0")))
    left, found = iter(zip(others, sweep.sums, strict=True)), {}
    for name in names:
        if name.startswith(OF_CONTROLLER):
            slopes = np.zeros_like(numbers_of(given["u"], name.removeprefix(OF_CONTROLLER)))
            for (each, drive), total in islice(left, 2 * len(STENCIL) * slopes.size):
                at_q, at_qd = initial(began.model, drive.begins)
                total += z @ np.array(drive.law.memory) + q @ at_q + qd @ at_qd
                slopes.flat[each.number] += each.weight * total
            found[name] = slopes
    return found


def _of_inputs(began: _Begun, recorded: Recorded, sweep: Placed) -> Array:
    """Return the derivative with respect to the values of the inputs."""
    drive, m = began.drive, began.layout.inputs
    if isinstance(drive, Table):
        return _of_table(drive, sweep.of_table.reshape(-1, m, 4))
    assert isinstance(drive, Piecewise)
    found = np.zeros_like(drive.values_)
    current = np.searchsorted(drive.times, recorded.edges[:-1], side="right") - 1
    np.add.at(found, current[current >= 0], sweep.of_inputs[current >= 0, :m])
    return found if isinstance(began.given["u"], Block) else found[0]


def _of_table(table: Table, of_cubics: Array) -> Array:
    """Return the derivative with respect to the values of a table from that with respect to its cubics, in parts."""
    count, found = len(table.times), []
    for first in range(0, count, UNIT_TABLES):
        units = np.eye(count, min(UNIT_TABLES, count - first), -first)
        found.append(np.einsum("jkp,jmp->km", Table(table.times, units, table.kind).cubics[1], of_cubics))
    return np.concatenate(found)
