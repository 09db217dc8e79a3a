"""A plant that advances by one period per call: for a user's own loop, real hardware, or reinforcement learning."""

import ctypes  # noqa: TID251  (calls code that this package compiled)
import warnings
from collections.abc import Callable
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import POSITIVE, Fault, checked_array, checked_number, choices, counted, refused, shown
from flexarm.errors import DescriptionError, EnergyDrift, FlexarmError, SimulationError
from flexarm.model import Model, ModelLike, as_model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.native.code import Code
from flexarm.native.language import Placed
from flexarm.simulation import advance, methods, solvers, touches
from flexarm.simulation.advance import Stretch
from flexarm.simulation.balance import WORST
from flexarm.simulation.diagnosis import diagnosis
from flexarm.simulation.disturbance import disturbed_plants
from flexarm.simulation.exogenous import as_exogenous
from flexarm.simulation.explicit import MOST_EVALUATIONS, Explicit
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.inputs import constant
from flexarm.simulation.lanes_closures import BatchClosing
from flexarm.simulation.lanes_plan import Abreast, BatchSettings, Course
from flexarm.simulation.lanes_touches import BatchTouching
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.methods import Solve
from flexarm.simulation.parameters import parameter_rows
from flexarm.simulation.plants import CODE, ENDLESS, FAILED, REFUSED, WELL, Plants
from flexarm.simulation.rhs import Plan, loops

STIFF = "radau5"
"""Method of "auto" where the fastest mode would force far more steps than the motion needs."""

FAR = 50.0
"""Rotation of the fastest mode in a period [rad] above which the implicit method is faster, however long the period."""

LOOK = 64
"""Calls of `step` between two checks of the energy balance; a check costs as much as one or two periods."""

STEPS = 1000
"""Number of steps with errors as large as the absolute tolerance that an energy balance may contain."""

MOST_STEPS = 1e6
"""Largest number of fixed steps, and of an implicit method's evaluations, in a period: seconds without Ctrl-C."""

NUMBER = np.dtype(float)
CALL = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@final
class Stepper:
    """An arm, or many of one kind, that advances by one period per call with constant u.

    Parameters
    ----------
    model : Model, Arm, str or path
        The model, or what `Model` takes: an arm, the name of a bundled arm, or a file.
    period : float
        [s]
    q0, qd0 : (n,) or (N, n)
        Initial state, which `reset` restores; default `arm.rest`, at rest. Two axes make N independent plants: one call
        advances all of them. An arm on a free base has nq coordinates and nv = nq - 1 rates.
    method : str
        As in `simulate`. "auto" is "rk45" if one step of it is enough for a period, else "dop853", or "radau5" if the
        fastest mode turns by more than 50 rad in a period.
    step : float, optional
        The longest step in a period [s]. Methods with fixed steps, such as "rk4", need it.
    rtol, atol : float
        Tolerances of every coordinate and rate in a step. Methods without fixed steps choose theirs by these.
    disturbance : disturbance of `simulate`, a list of N of them, or numbers (N, m)
        Forces at the drives or anywhere in addition to u and w, in continuous time: at the time of each plant, which
        `reset` sets to zero. A constant disturbance has no cost. Otherwise Python advances the plants one by one.
    p : (k,) or (N, k), or a dict of some by name, each one number or N of them
        Parameters of the plants, where the model varies; default the model's own.

    Attributes
    ----------
    method, reason : str
        The chosen method, and the reason.
    period : float
        [s]
    longest, guess : float
        Longest step, and first adaptive step of a period [s].
    p : (k,) or (N, k)
        Parameters of each plant; empty if the model does not vary.

    Raises
    ------
    DescriptionError
        An argument is not valid.

    Warns
    -----
    EnergyDrift
        The energy balance is wrong: see `energy_drift`, which is checked every 64 periods.

    Notes
    -----
    Several threads may use one stepper each. A copy, also a pickled one, continues from the stepper's current
    state. With an explicit method a period depends only on the state at its start, on u and on w, so that the motion
    after a `reset` is reproducible to the last bit. An implicit method keeps Newton's matrix, and the length of its
    steps, from period to period until `reset`: earlier periods then have an effect of a few hundredths of a tolerance.
    """

    def __init__(
        self,
        model: ModelLike,
        period: float,
        q0: Any = None,
        qd0: Any = None,
        method: str = "auto",
        rtol: float = 1e-6,
        atol: float = 1e-9,
        step: float | None = None,
        disturbance: Any = None,
        p: Any = None,
    ):
        with refused("Stepper"):
            model = as_model(model)
            self.period = checked_number(period, "s", POSITIVE, "period")
            rtol, atol = (checked_number(x, "", POSITIVE, name) for x, name in ((rtol, "rtol"), (atol, "atol")))
            if not isinstance(method, str) or method not in ("auto", *solvers.names()):
                raise Fault("method", f"is {shown(method)}; it must be {choices('auto', *solvers.names())}")
            if step is not None and self.period / checked_number(step, "s", POSITIVE, "step") > MOST_STEPS:
                raise Fault("step", f"is {step} s; a period of {period} s may have at most {MOST_STEPS:.0e} steps")
        given = [
            unit_pose("q0", _beginning("q0", q0, model.arm.rest, model.coordinates), model.arm),
            _beginning("qd0", qd0, np.zeros(model.nv), model.velocities),
        ]
        rows = model.p if p is None else parameter_rows(model, p)
        self._many = max(x.ndim for x in (*given, rows)) > 1
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in (*given, rows)))
            motion = np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in given], axis=-1)
            self._start = np.concatenate([motion, np.zeros((*motion.shape[:-1], len(model.states)))], axis=-1)
        except ValueError:
            self._start = np.empty(0)
        if self._start.ndim not in (1, 2) or not self._start.size:
            shapes = f"q0 has shape {given[0].shape} and qd0 {given[1].shape}"
            shapes += "" if p is None else f", p {rows.shape}"
            sizes = dict.fromkeys((model.nq, model.nv, *(() if p is None else rows.shape[-1:])))
            one, many = (" and ".join(each.format(k) for k in sizes) for each in ("({},)", "(N, {})"))
            raise DescriptionError(f"Stepper: {shapes}; they must be {one}, or {many} for N plants")
        rows = np.broadcast_to(rows, (*batch, rows.shape[-1]))
        self._start = _closed(model, self._start, (q0 is not None, qd0 is not None), rows)
        self._options: dict[str, Any] = {"method": method, "rtol": rtol, "atol": atol, "step": step}
        self._options["disturbance"] = disturbance
        self._acting = disturbed_plants(model, disturbance, np.atleast_2d(self._start).shape[0])
        self._given, self._model = model, self._acting.model
        self._layout = Layout.of(self._model)

        first = np.atleast_2d(self._start)[0, self._layout.q]
        self.method, self._length, self.guess, self.reason = _chosen(model, first, self.period, method, rtol, step)
        self.longest = self._length or self.period
        self._implicit = self.method in solvers.IMPLICIT
        self._prepare(self._length)
        self._vary(slice(None), rows)
        self.reset()

    def _prepare(self, length: float) -> None:
        """Allocate the data of native code."""
        model, m, layout = self._model, len(self._model.inputs), self._layout
        count, states, size = np.atleast_2d(self._start).shape[0], layout.states, layout.size
        plan, rate = self._plan(model)
        w = plan.fixed
        plan.feed(loops().addresses["nothing"])
        self._shared = plan
        self._steppings: list[Implicit] = []
        if self._implicit:
            self._steppings = [self._stepping(plan) for _ in range(count)]
            found = [advance.newton(stepping, length) for stepping in self._steppings]
        else:
            self._own = self._explicit(plan)
            found = [self._own.advance] * count
        lanes = not self._implicit and count > 1
        closing, touching = (np.tile(each, (count, 1)) for each in (plan.loops, plan.contacts))
        abreast = self._abreast(count, m, len(w), closing, touching) if lanes else None
        self._plants = Placed(
            Plants(
                shared=np.array([plan.address]),  # type: ignore[arg-type]  # an address a word
                advance=found[0].code,
                solvers=np.array([each.record for each in found]),
                runs=np.array([abreast.record.address if abreast else 0]),  # type: ignore[arg-type]
                count=count,
                states=states,
                inputs=m,
                exogenous=layout.exogenous,
                fixed=len(w),
                size=size,
                most=MOST_EVALUATIONS,
                end=np.array([self.period]),
                place=1 + states + m + layout.exogenous,
                constants=np.tile(w, (count, 1)),
                closing=plan.loops,
                looped=len(plan.loops),
                loops=closing,
                touching=plan.contacts,
                touched=len(plan.contacts),
                contacts=touching,
                u=np.zeros((count, m)),
                w=np.zeros((count, layout.exogenous)),
                x=np.zeros((count, states)),
                out=np.zeros((count, states)),
                periods=np.zeros(count, dtype=np.int64),
                failed=np.zeros(count, dtype=np.int64),
                energy=np.zeros((count, size - states)),
                gained=np.zeros((count, size - states)),
                y=np.zeros(size),
                row=np.zeros(size),
                reached=np.zeros(2, dtype=np.int64),
            )
        )
        code = CODE()
        self._held = code, found, abreast, rate
        self._call = CALL(code.addresses["many_at_once" if lanes else "one_by_one"])
        self._address = self._plants.address
        rows = slice(None) if self._many else 0
        self._x, self._u = self._plants.x[rows], self._plants.u[rows]
        self._p = np.tile(model.p, (count, 1))
        self._changing, self._held_outside = self._acting.changing, self._acting.held
        self._origin, self._calls, self._warned = self._plants.x.copy(), 0, False
        self._balance = np.zeros((2, count))

    # -- the plant

    def step(self, u: Any, w: Any = None) -> Array:
        """Advance by a period with constant u and w.

        Return the state (q, qd): (2n,), or (N, 2n) of N plants, a new array.

        On a free base the state has nq + nv numbers. States of drives, if the arm has some, follow qd. They begin at
        zero.

        Parameters
        ----------
        u : (m,) or (N, m)
            [N m] at a revolute joint, [N] at a prismatic one; (m,) goes to all plants.
        w : (k,) or (N, k), or a dict of numbers by name, optional
            Exogenous inputs of an arm that has some, see `Model.exogenous`; default zero.

        Raises
        ------
        DescriptionError
            u or w has another shape, or is not finite.
        SimulationError
            The motion diverged or met a NaN. The message contains the time and the coordinate. All plants keep their
            states before the call, and `failed` marks those that could not advance: reset them, or try another u.
        """
        if type(u) is not np.ndarray or u.dtype is not NUMBER or u.shape != self._u.shape:
            u = self._checked(u)
        self._u[...] = u
        self._plants.w[...] = self._held_outside
        if w is not None:
            self._plants.w[:, self._acting.own] = self._outside(w)
        if bad := self._moved() if self._changing else self._call(self._address):
            raise self._failure(bad)
        self._calls += 1
        if self._calls % LOOK == 0 and not self._warned:
            self._look()
        return self._x.copy()

    def reset(self, q: Any = None, qd: Any = None, where: Any = None, p: Any = None) -> Array:
        """Restart from an initial state, and return it in the form of `step`.

        Parameters
        ----------
        q, qd : (n,), or (k, n) for k plants
            Coordinates and rates; default those given to the constructor.
        where : (N,) of bool, or (k,) of int, optional
            Plants that restart, among many; default all. The time of the others continues.
        p : (k,), or (K, k) for K plants, or a dict of some by name, optional
            New parameters of these plants, where the model varies; default those that each has.

        Raises
        ------
        DescriptionError
            An argument has another shape, or is not finite.
        """
        chosen = self._places(where)
        x = np.atleast_2d(self._start)[chosen].copy()
        for name, value, part in (("q", q, self._layout.q), ("qd", qd, self._layout.qd)):
            if value is not None:
                x[:, part] = self._rows(name, value, self._model.argument(name, value), len(x))
        if q is not None:
            x[:, self._layout.q] = unit_pose("q", x[:, self._layout.q], self._model.arm)
        own = self._p[chosen].copy()
        if p is not None:
            own[:] = self._rows("p", p, parameter_rows(self._given, p), len(x))
        if self._model.arm.closures and (q is not None or qd is not None or p is not None):
            x = _closed(self._model, x, (q is not None or p is None, qd is not None or p is None), own)
        if p is not None:
            self._vary(chosen, own)
        self._plants.x[chosen], self._origin[chosen] = x, x
        self._plants.energy[chosen], self._balance[:, chosen] = 0.0, 0.0
        self._plants.periods[chosen] = 0
        self._plants.failed[chosen] = 0
        for i in np.arange(self._plants.count)[chosen] if self._implicit else ():
            self._steppings[i].forget(self.period)
        return self._x.copy()

    @property
    def state(self) -> Array:
        """Current state (q, qd), and states of drives: (2n,), or (N, 2n) of N plants, in the form of `step`."""
        return self._x.copy()

    @property
    def q(self) -> Array:
        """Current coordinates, (n,) or (N, n)."""
        return self._x[..., self._layout.q].copy()

    @property
    def qd(self) -> Array:
        """Current rates, (n,) or (N, n)."""
        return self._x[..., self._layout.qd].copy()

    @property
    def p(self) -> Array:
        """Parameters, (k,) or (N, k); empty if the model does not vary."""
        return (self._p if self._many else self._p[0]).copy()

    @property
    def time(self) -> Any:
        """Time since the beginning, or the last reset [s]; of many plants (N,)."""
        times = self.period * self._plants.periods
        return times if self._many else float(times[0])

    @property
    def failed(self) -> Any:
        """True if the last period could not be computed; of many plants (N,)."""
        failed = self._plants.failed != 0
        return failed if self._many else bool(failed[0])

    @property
    def energy_drift(self) -> Any:
        """Largest error of the energy balance since the last reset, relative to the exchanged energy.

        Kinetic and potential energy, minus the work of the inputs, plus the dissipated energy, is constant. Its change
        is the integrator's error, as `energy_drift` of a result of `simulate`. A float, or (N,) for N plants. The
        balance is checked at every 64th call of `step`, and in the present state.
        """
        drift = self._drift()
        return drift if self._many else float(drift[0])

    def __repr__(self) -> str:
        plants = f", {counted(self._plants.count, 'plant')}" if self._many else ""
        return f"Stepper({self._model.arm.name!r}: period {self.period:g} s, {self.method}{plants})"

    def __reduce__(self) -> tuple[type["Stepper"], tuple, tuple[Array, ...]]:
        q0, qd0 = self._start[..., self._layout.q], self._start[..., self._layout.qd]
        plants = self._plants
        made = self._given, self.period, q0, qd0, *self._options.values()
        moved = plants.x, plants.periods, plants.failed, plants.energy, self._origin, self._balance, self._p
        return Stepper, made, tuple(each.copy() for each in moved)

    def __setstate__(self, state: tuple[Array, ...]) -> None:
        *moved, p = state
        plants = self._plants
        places = plants.x, plants.periods, plants.failed, plants.energy, self._origin, self._balance
        for place, value in zip(places, moved, strict=True):
            place[...] = value
        self._vary(slice(None), p)

    def __copy__(self) -> "Stepper":
        made, given, state = self.__reduce__()
        copied = made(*given)
        copied.__setstate__(state)
        return copied

    def __deepcopy__(self, _: Any) -> "Stepper":
        return self.__copy__()  # the copy shares the model, which is immutable

    # -- energy balance

    def _drift(self) -> Array:
        """Return errors of the energy balance since the last reset (N,), including the present state."""
        plants, (error, scale) = self._plants, self._balance
        begin, now = (self._energies(x) for x in (self._origin, plants.x))
        work, dissipated = plants.energy.T
        potential = now[1] - begin[1]
        np.maximum(error, np.abs(now[0] - begin[0] + potential - work + dissipated), out=error)
        np.maximum(scale, np.maximum(begin[0], now[0] + np.abs(potential) + np.abs(work) + dissipated), out=scale)
        return np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)

    def _energies(self, x: Array) -> tuple[Array, Array]:
        """Return kinetic and potential energy of states (N, states)."""
        layout, more = self._layout, {"p": self._p} if self._p.size else {}
        if layout.own:
            more["s"] = x[:, layout.s]
        return self._model.energy(x[:, layout.q], x[:, layout.qd], **more)

    def _tolerated(self) -> Array:
        """Error of the balance that the absolute tolerance explains (N,) [J].

        It is the change of the energy if every number changes by that tolerance, times `STEPS`, since errors of many
        steps add up.
        """
        x = self._plants.x
        apart = x.copy()
        apart[:, self._layout.motion] += self._options["atol"]
        resting = np.zeros_like(x)
        resting[:, self._layout.q], resting[:, self._layout.qd] = x[:, self._layout.q], self._options["atol"]
        kinetic = self._energies(resting)[0]
        return STEPS * (
            kinetic + sum(np.abs(a - b) for a, b in zip(self._energies(apart), self._energies(x), strict=True))
        )

    def _look(self) -> None:
        """Warn once if the energy balance is wrong."""
        drift = self._drift()
        if drift.max() > WORST:  # the energy of an arm at rest is nearly zero, so its drift is no error
            drift[self._balance[0] <= self._tolerated()] = 0.0
        worst = int(np.argmax(drift))
        if drift[worst] > WORST:
            self._warned = True
            who = f" of plant {worst}" if self._many else ""
            t, mend = self.period * int(self._plants.periods[worst]), "a smaller rtol"
            mend = "a smaller step, or method='auto'" if solvers.fixed(self.method) else mend
            message = (
                f"the energy balance{who} has an error of {drift[worst]:.2g} of the energy exchanged by t = {t:.6g} s"
            )
            warnings.warn(f"Stepper: {message}; the motion is not reliable: use {mend}", EnergyDrift, stacklevel=3)

    # -- exogenous inputs that change within a period

    def _moved(self) -> int:
        """Advance all plants by a period from Python. Native code does this when exogenous inputs are constant."""
        plants = self._plants
        if not (np.isfinite(plants.u).all() and np.isfinite(plants.w).all()):
            return REFUSED
        for i in range(plants.count):
            plants.failed[i] = self._across(i)
        if bad := int(np.count_nonzero(plants.failed)):
            return bad
        plants.energy[:] += plants.gained
        plants.x[:] = plants.out
        plants.periods[:] += 1
        return 0

    def _across(self, i: int) -> int:
        """Advance one plant by a period, from jump to jump of its disturbance, and return its status."""
        plants, plan, t = self._plants, self._shared, self.period * int(self._plants.periods[i])
        x = self._begun(plants.x[i])
        solve = self._solve(plan, self._steppings[i] if self._implicit else None)
        plan.u[:], plan.fixed[:], plan.loops[:] = plants.u[i], plants.constants[i], plants.loops[i]
        plan.contacts[:] = plants.contacts[i]
        plan.shared.evaluations = 0
        for a, b in self._acting.stretches(i, t, t + self.period):
            self._acting.feed(plan, i, a, b, x, plants.w[i])
            found = solve(a, x, np.array([b])).x
            if plan.stopped:
                return self._stopped(plan)
            if not len(found):
                return ENDLESS if plan.evaluations >= plants.most else FAILED
            x = found[-1]
        plants.out[i], plants.gained[i] = np.split(x, [self._layout.states])
        return WELL

    def _begun(self, x: Array) -> Array:
        """Return a state with quadrature states of zero."""
        return np.concatenate([x, np.zeros(self._layout.size - len(x))])

    def _stopped(self, plan: Plan) -> int:
        """Return the status of a plant after a user's function has failed, or raise the function's exception."""
        failure, plan.failure = plan.failure, None
        plan.resume()
        if failure is not None and not isinstance(failure, FlexarmError):
            raise failure
        return FAILED

    # -- checks and diagnosis

    def _checked(self, u: Any) -> Array:
        given = self._model.argument("u", u)
        return self._rows("u", u, given, self._plants.count)

    def _outside(self, w: Any) -> Array:
        """Return the exogenous inputs: (k,) or (N, k)."""
        model = self._given
        if model.exogenous and isinstance(w, np.ndarray | list | tuple):
            return self._rows("w", w, model.argument("w", w), self._plants.count)
        found = as_exogenous(w, model)
        if not found.constant:
            raise DescriptionError("Stepper: w must be numbers, which are constant in a period")
        return found.output(model, np.zeros(1), np.empty((1, 0)), np.empty((1, 0)))[0]

    def _rows(self, name: str, value: Any, given: Array, count: int) -> Array:
        """Return an argument of one plant, or of each of so many, after a check of its shape."""
        size = given.shape[-1]
        if given.ndim == 1 or (self._many and given.shape == (count, size)):
            return given
        must = f"({size},)" + (f" or ({count}, {size})" if self._many else "")
        raise DescriptionError(f"{name} has shape {given.shape}; it must be {must}")

    def _places(self, where: Any) -> Any:
        count = self._plants.count
        if where is None:
            return slice(None)
        with refused("Stepper.reset"):
            if not self._many:
                raise Fault("where", f"is {shown(where)}; there is only one plant: leave where out")
            try:
                found = np.asarray(where)
            except ValueError:  # rows of different lengths
                found = np.empty(0, dtype=object)
            if found.dtype == bool and found.shape == (count,):
                return found
            if found.dtype.kind in "iu" and found.ndim == 1 and ((found >= 0) & (found < count)).all():
                return found
            must = f"it must be {counted(count, 'boolean')}, or indices of plants from 0 to {count - 1}"
            raise Fault("where", f"is {shown(where)}; {must}")

    def _failure(self, bad: int) -> FlexarmError:
        """Return the exception for u that is not finite, or for plants that could not advance."""
        if bad == REFUSED:
            return DescriptionError(f"{'u' if np.isfinite(self._plants.w).all() else 'w'} contains NaN or infinity")
        plants, model = self._plants, self._model
        i = int(np.flatnonzero(plants.failed)[0])
        t = self.period * int(plants.periods[i])
        if plants.failed[i] == ENDLESS:
            message = f"more than {plants.most:.0e} evaluations from t = {t:.6g} s on; take a shorter period"
        else:
            message = self._diagnosis(i, t)
        who = f", plant {i} of {plants.count} ({bad} could not be moved)" if self._many else ""
        return SimulationError(f"arm {model.arm.name!r}{who}: {message}")

    def _diagnosis(self, i: int, t: float) -> str:
        """Return why a plant could not advance from its state at t. The period is repeated to find the reason."""
        model, plants, end = self._model, self._plants, self._begun(self._plants.x[i])
        model = model.at(self._p[i]) if self._p.size else model
        plan, _ = self._plan(model)
        drive = constant(plants.u[i])
        drive.feed(plan, model, t, end)
        solve = Solve(self._solve(plan, self._stepping(plan) if self._implicit else None), self.method, self.reason)
        stretches = self._acting.stretches(i, t, t + self.period)
        for a, b in stretches:  # pragma: no branch  (one of them fails again)
            start = end
            self._acting.feed(plan, i, a, b, start, plants.w[i])
            seen = solve(a, start, np.array([b]))
            if not len(seen.x):
                break
            end = seen.x[-1]
        return diagnosis(model, drive, self._layout, plan, solve, seen, a, start, self._origin[i, self._layout.q])

    def _solve(self, plan: Plan, stepping: Implicit | None) -> Callable[[float, Array, Array], Stretch]:
        """Return the method on a plan."""
        if stepping is None:
            return self._own if plan is self._shared else self._explicit(plan)
        return lambda t, x, times: solvers.integrate_implicit(stepping, plan, t, x, times, MOST_EVALUATIONS)

    def _stepping(self, plan: Plan) -> Implicit:
        """Return the implicit method on a plan."""
        atol = self._layout.tolerances(self._options["atol"])
        found = Implicit(solvers.IMPLICIT[self.method], plan, self._layout, self._options["rtol"], atol, self._length)
        found.record.limit = MOST_EVALUATIONS
        return found

    def _explicit(self, plan: Plan) -> Explicit:
        """Return the explicit method on a plan."""
        tableau, atol = solvers.EXPLICIT[self.method], self._layout.tolerances(self._options["atol"])
        return Explicit(tableau, plan, self._options["rtol"], atol, self.longest, self.guess, MOST_EVALUATIONS)

    def _abreast(self, count: int, m: int, fixed: int, loops: Array, contacts: Array) -> Abreast:
        """Return a run over a period for each plant, in SIMD batches."""
        model = self._model
        known = model.nq + model.nv
        closing = BatchClosing(closures.kernel(model), known, loops) if model.arm.closures else None
        kernel, layout, ends = touches.kernel(model), self._layout, np.array([0.0, self.period])
        touching = None if kernel is None else BatchTouching(kernel, layout, contacts)
        rate, rtol, atol = self._model.kernel("state_rate").vector_code, self._options["rtol"], self._options["atol"]
        times = ends[:1]
        most, limits = np.full(layout.states, np.inf), (self.guess, MOST_EVALUATIONS)
        common = BatchSettings(rate, layout, m, self.method, rtol, atol, self._length, most, times, *limits)
        courses = [Course(ends, np.zeros((1, m)))] * count
        start, own = np.zeros((count, layout.size)), np.zeros((count, layout.exogenous + fixed))
        return Abreast(common, start, own, courses, np.arange(count), start, closing=closing, touching=touching)

    def _plan(self, model: Model) -> tuple[Plan, Code]:
        """Return a plan of the arm for the method, and the code of its rates."""
        tried = self._layout.nv if self._implicit else 0
        kernel = model.kernel(self._quantity)
        rate, m = kernel.code, len(model.inputs)
        exogenous = self._layout.exogenous
        plan = Plan(
            rate.addresses["evaluate"], self._layout.states, m, len(RIDING), rate, tried, kernel.constants, exogenous
        )
        methods.closing(model, plan)
        touches.touching(model, plan, self._layout)
        return plan, rate

    @property
    def _quantity(self) -> str:
        """Quantity that the method integrates or solves."""
        return "state_residual" if self._implicit else "state_rate"

    def _vary(self, chosen: Any, p: Array) -> None:
        """Set the parameters of the chosen plants, (k,) or a row each."""
        if not self._p.size:
            return
        rows = self._p[chosen].copy()
        rows[:] = p
        if not len(rows):
            return
        w = self._model.kernel(self._quantity).constants_of(rows)
        if not np.isfinite(w).all():
            raise DescriptionError("Stepper: with these p the equations are not finite; check p")
        self._p[chosen], self._plants.constants[chosen] = rows, w
        if self._model.arm.closures:
            self._plants.loops[chosen] = closures.kernel(self._model).constants_of(rows)
        kernel = touches.kernel(self._model)
        if kernel is not None:
            self._plants.contacts[chosen] = kernel.constants_of(rows)


def _closed(model: Model, start: Array, given: tuple[bool, bool], p: Array) -> Array:
    """Return the initial states of plants on the closures of their arm, with the parameters of each.

    Coordinates, or rates, that are not `given` are assembled.
    """
    q, qd, s = np.split(start, [model.nq, model.nq + model.nv], axis=-1)
    return np.concatenate([*closures.started("Stepper", model, q, qd, given, p), s], axis=-1)


def _beginning(name: str, value: Any, otherwise: Any, signals: tuple[str, ...]) -> Array:
    """Return initial coordinates or rates (n,) or (N, n)."""
    with refused("Stepper"):
        x = checked_array(otherwise if value is None else value, name)
        if x.ndim == 0 or x.shape[-1] != len(signals):
            must = f"its last axis must have {counted(len(signals), 'number')}: {', '.join(signals)}"
            raise Fault(name, f"has shape {x.shape}; {must}")
    return x


def _chosen(
    model: Model, q: Array, period: float, method: str, rtol: float, step: float | None
) -> tuple[str, float, float, str]:
    """Return the method, the longest step in the period [s] (0 for no limit), the first step, and the reason."""
    longest = period / np.ceil(period / step - 1e-9) if step is not None else 0.0
    if solvers.fixed(method) and step is None:
        must = "its steps are fixed: give their length, as step=1e-3"
        raise DescriptionError(f"Stepper: method is {method!r}; {must}")
    if method in solvers.IMPLICIT or solvers.fixed(method):
        return method, longest, period, "as asked"
    fastest = methods.fastest_of(model, q)
    turn = period * fastest
    reason = f"fastest eigenvalue {fastest:.3g} rad/s, {turn:.3g} rad in a period"
    guess = methods.first_step(longest or period, fastest)
    if method != "auto":
        return method, longest, guess, f"as asked; {reason}"
    if turn > FAR:
        return STIFF, longest, guess, reason
    return methods.short(period, fastest, rtol), longest, guess, reason
