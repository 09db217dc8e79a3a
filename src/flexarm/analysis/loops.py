"""Closed loops as linear systems: an arm under a law, near where it stands or a state it passes.

Everything is a `control.StateSpace` with named signals: in continuous time for a law that works all the time, with its
period for a sampled one, u being held between samples exactly and delays being states. Python-control does the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.balance import eigenvalues
from flexarm.analysis.equilibrium import configuration, equilibrium
from flexarm.attitude import configuration as posed
from flexarm.cached import cached_property
from flexarm.checks import checked_array, checked_instance, checked_number, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.linear import input_signals, signals, state_names
from flexarm.model.outputs import Sensor
from flexarm.simulation.closed_loop import ClosedLoop, Deviations, chained, closed_matrix, continuous
from flexarm.simulation.law import Law, law_of
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Reference, Still
from flexarm.trajectory.reference import rest

if TYPE_CHECKING:
    import control

Array = np.ndarray

ORDERS = ("", "_rate", "_acceleration")
"""What a reference gives of each joint."""


def closed_loop(
    model: Model,
    controller: Any,
    q: ArrayLike | None = None,
    outputs: Sequence[Sensor] | None = None,
    *,
    t: float | None = None,
    qd: ArrayLike | None = None,
    s: ArrayLike | None = None,
    z: ArrayLike | None = None,
    w: ArrayLike | None = None,
    p: Any = None,
) -> "control.StateSpace":
    """An arm under a controller as a linear system, deviations from where both stand still, or from a motion.

    Inputs are disturbances at the drives, `u_...`, added to what the law gives, and for controllers with a reference
    its place, rate and acceleration at each joint, `r_upper_joint`, `r_upper_joint_rate`,
    `r_upper_joint_acceleration`: a reference that moves is all three, and a motion known with its torques none. Outputs
    are those of the sensors, then what the law gives. States are the arm's, as `Model.linearize` has them, then the
    law's memory, `law_1` and so on: estimates, integrals, what a delay holds back. The matrices are exact derivatives;
    what rounds is taken at its mean, and limits of `Sampled` do not act on small deviations. A sampled loop is a system
    of its period, inputs being held; one of several rates, `Every`, of the time after which it does the same again.

    Parameters
    ----------
    model : Model
    controller : Controller, Sampled or Law
        It is designed for the model.
    q : (nq,) or (m,), optional
        Near which the loop stands still: a configuration, or the joints alone, which then are in equilibrium. Default
        where the controller's reference comes to rest.
    outputs : list of Sensor, optional
        Default all coordinates and rates, and states of drives.
    t : float, optional
        Time at which the reference is frozen [s]; default when it comes to rest.
    qd, s, z : (nv,), (states,), (memory,), optional
        With qd the loop is taken at the state as it is, as on a motion; z is then the law's memory, default that of the
        start.
    w : (exogenous,), optional
        Exogenous inputs, which stay what they are.
    p : (k,) or dict, optional
        Parameters of the arm, of which the controller does not know.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    DescriptionError
        Also of a Python function, which cannot be differentiated.
    FlexarmError
        Where the loop stands still nowhere near.
    """
    with refused("closed_loop"):
        checked_instance(model, Model, "model")
    followed = _Shifted.in_place_of(controller, model)
    near = looped("closed_loop", model, controller if followed is None else followed[0], w, p)
    found = linear_loop("closed_loop", near, q, t, qd, s, z)
    if followed is not None:
        times = [found.t + i * (found.period or 0.0) for i in range(len(found.phases))]
        found = replace(found, from_r=tuple(followed[1].slopes(near, time, found.x) for time in times))
    return found.closed(outputs)


def loop(
    model: Model,
    controller: Any,
    q: ArrayLike | None = None,
    input: str | int | None = None,
    *,
    t: float | None = None,
    qd: ArrayLike | None = None,
    s: ArrayLike | None = None,
    z: ArrayLike | None = None,
    w: ArrayLike | None = None,
    p: Any = None,
) -> "control.StateSpace":
    """The loop transfer L at the actuators, from what enters the arm to the negative of what the law then gives.

    Negative feedback closes it, `control.feedback(L, 1)` is T, and 1 + L must not be singular: the convention of
    `control.margin` and of Nyquist plots.

    Parameters
    ----------
    input : str or int, optional
        An actuator, by the name or number of its input: the loop there, all others being closed. Default all together,
        (m, m).

    The other parameters, and what is raised, are those of `closed_loop`; a controller of several rates, `Every`, has no
    such system.
    """
    return linear_loop("loop", looped("loop", model, controller, w, p), q, t, qd, s, z).broken(input)


@final
@dataclass(frozen=True, eq=False)
class LinearLoop:
    """A closed loop near a state.

    Attributes
    ----------
    model, period, w : the arm, the law's period, exogenous inputs
    t, x : time [s], and (q, qd, s, z) there, q in local coordinates
    phases : what small deviations do, at each sample of the law's cycle
    from_r : of each, (m + memory, 3 joints), slopes of u and of what follows for the memory to the reference, its rate
        and its acceleration; none where the law follows none
    """

    model: Model
    period: float | None
    w: Array | None
    t: float
    x: Array
    phases: tuple[Deviations, ...]
    from_r: tuple[Array, ...] = ()

    @classmethod
    def of(cls, loop: ClosedLoop, t: float, x: Array) -> "LinearLoop":
        """That of a closed loop near x at t."""
        return cls(loop.model, loop.period, loop.w, t, x, loop.cycle(t, x))

    @property
    def at(self) -> Deviations:
        """The first of the cycle."""
        return self.phases[0]

    @property
    def span(self) -> float | None:
        """How long a cycle takes [s]; None of a law that works all the time."""
        return None if self.period is None else len(self.phases) * self.period

    @cached_property
    def poles(self) -> Array:
        """Of the closed loop [1/s], those farthest to the right first; see `ClosedLoop.poles`."""
        return self._solved[0]

    @property
    def pole_errors(self) -> Array:
        """Bounds of how far rounding may have moved each pole [1/s], see `eigenvalues`."""
        return self._solved[1]

    @cached_property
    def _solved(self) -> tuple[Array, Array]:
        s, error = eigenvalues(closed_matrix(self.model, self.phases, self.period))
        if self.span is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                error = np.where(s != 0.0, error / (np.abs(s) * self.span), 0.0)
            s = continuous(s, self.span)
        order = np.lexsort((s.imag, -s.real))
        return s[order], error[order]

    def closed(self, outputs: Sequence[Sensor] | None = None) -> "control.StateSpace":
        """See `closed_loop`."""
        import control

        model, at, period = self.model, self.at, self.period
        n, k, m = model.nv, len(at.A), len(model.inputs)
        q, qd, s = posed(model.arm, self.x[:n]), self.x[n : 2 * n], self.x[2 * n : k]
        arm = model.linearize(q, qd, at.u, outputs, s=s if len(s) else None, w=self.w)
        systems = [each.closed(period) for each in self.phases]
        seen, through = np.asarray(arm.C), np.asarray(arm.D)[:, :m]
        C = np.vstack([np.hstack([seen, np.zeros((len(seen), len(at.to_z)))]) + through @ at.to_u, at.to_u])
        D = np.vstack([through, np.zeros((m, m))])
        inputs = input_signals(model)
        for i, slopes in enumerate(self.from_r):
            (F, G), to_u, to_z = systems[i], slopes[:m], slopes[m:]
            systems[i] = F, np.hstack([G, np.vstack([self.phases[i].plant(period)[1] @ to_u, to_z])])
        if self.from_r:
            to_u = self.from_r[0][:m]
            D = np.hstack([D, np.vstack([through @ to_u, to_u])])
            joints = signals([model.velocities[i] for i in model.arm.joints])
            inputs = inputs + [f"r_{joint}{order}" for order in ORDERS for joint in joints]
        names = {"states": self._states(), "inputs": inputs, "outputs": [*arm.output_labels, *input_signals(model)]}
        return control.StateSpace(*chained(systems), C, D, dt=self.span or 0, **names)

    def broken(self, input: str | int | None = None) -> "control.StateSpace":
        """See `loop`."""
        import control

        if len(self.phases) > 1:
            why = "it has no linear system where it is cut open at one of them; give it one (leave Every out)"
            raise DescriptionError(f"loop: the controller has several rates, so {why}")
        at, period, m = self.at, self.period, len(self.model.inputs)
        chosen = range(m) if input is None else [self._place(input)]
        others = [i for i in range(m) if i not in chosen]
        F, G = at.plant(period)
        memory = len(at.to_z)
        remembered = at.to_z - at.felt[:, chosen] @ at.to_u[chosen]  # of the loop that is cut, what is put in is felt
        A = np.vstack([np.hstack([F, np.zeros((len(F), memory))]) + G[:, others] @ at.to_u[others], remembered])
        B = np.vstack([G, at.felt])[:, chosen]
        names = [input_signals(self.model)[i] for i in chosen]
        D = np.zeros((len(names), len(names)))
        signals = {"states": self._states(), "inputs": names, "outputs": names}
        return control.StateSpace(A, B, -at.to_u[chosen], D, dt=period or 0, **signals)

    def _states(self) -> list[str]:
        return state_names(self.model) + [f"law_{i + 1}" for i in range(len(self.at.to_z))]

    def _place(self, input: str | int) -> int:
        names = list(self.model.inputs)
        if isinstance(input, str) and input in names:
            return names.index(input)
        if isinstance(input, str) and input in (own := input_signals(self.model)):
            return own.index(input)
        if isinstance(input, int | np.integer) and not isinstance(input, bool) and 0 <= input < len(names):
            return int(input)
        raise DescriptionError(f"loop: input is {shown(input)}; the arm has {', '.join(names)}")


def linear_loop(
    where: str, loop: ClosedLoop, q: Any = None, t: Any = None, qd: Any = None, s: Any = None, z: Any = None
) -> LinearLoop:
    """A closed loop about a state, see `closed_loop`."""
    model, law = loop.model, loop.law
    end = rest(law.reference) if law.reference is not None else None
    with refused(where):
        time = (end[0] if end else 0.0) if t is None else checked_number(t, "s", part="t")
    if s is not None and not model.states:
        raise DescriptionError(f"{where}: s is given; the drives of arm {model.arm.name!r} have no states")
    states = None if s is None else model.single(where, "s", s)
    memory = None if z is None else _memory(where, z, len(loop.memory))
    if qd is None:
        time, x = loop.begins(time), loop.start(_standing(where, model, q, end), None, states, memory)
        return LinearLoop.of(loop, time, loop.standing(time, x))
    if q is None:
        raise DescriptionError(f"{where}: qd is given without q")
    x = loop.start(model.single(where, "q", q), model.single(where, "qd", qd), states, memory)
    return LinearLoop.of(loop, time, x)


def looped(where: str, model: Model, controller: Any, w: Any = None, p: Any = None) -> ClosedLoop:
    """An arm under a controller that is designed for the model, p being the arm's."""
    with refused(where):
        checked_instance(model, Model, "model")
    law, period = designed(where, controller, model)
    plant = model if p is None else model.at(p)
    return ClosedLoop(plant, law, period, None if w is None else plant.single(where, "w", w))


def designed(where: str, controller: Any, model: Model) -> tuple[Law, float | None]:
    """The law of a controller for a model, and its period; limits of `Sampled` are left out."""
    if isinstance(controller, Law):
        return controller, None
    if not isinstance(controller, Sampled):
        law = law_of(f"{where}: controller", controller, model)
        if law.drives:
            raise DescriptionError(
                f"{where}: the controller measures currents and must be sampled; put Sampled around it"
            )
        return law, None
    given = replace(controller, limit=None, rate_limit=None).feedback(model)
    if given.function is not None:
        raise DescriptionError(f"{where}: the controller is a Python function, which cannot be differentiated")
    return given.law, float(given.period)


def _memory(where: str, z: Any, count: int) -> Array:
    with refused(where):
        found = checked_array(z, "z")
    if found.shape != (count,):
        raise DescriptionError(f"{where}: z has shape {found.shape}; the law's memory has {count} numbers")
    return found


def _standing(where: str, model: Model, q: Any, end: tuple[float, Array] | None) -> Array:
    """A configuration as given; of joints alone, or of the end of the law's reference, the equilibrium with them."""
    if q is None and end is None:
        raise DescriptionError(f"{where}: q is missing; the controller has no reference that comes to rest")
    q = end[1] if q is None and end is not None else q
    x = configuration(model, q)
    return x if np.shape(q) == x.shape else equilibrium(model, q, held="joints")[0]


@dataclass(eq=False)
class _Shifted:
    """A reference that can be shifted, by symbols, once the law that follows it has been designed."""

    reference: Reference
    joints: int
    shift: Any = None
    now: Any = None

    @classmethod
    def in_place_of(cls, controller: Any, model: Model) -> "tuple[Any, _Shifted] | None":
        """A controller with such a reference, at any depth; None where it has none, or one that it knows with its
        torques: such a motion is what it is."""
        found: list[_Shifted] = []

        def changed(thing: Any) -> Any:
            if not is_dataclass(thing) or isinstance(thing, type) or not hasattr(thing, "__dataclass_params__"):
                return thing
            given = {each.name: getattr(thing, each.name) for each in fields(thing) if each.init}
            new = {}
            for name, value in given.items():
                if name == "reference" and value is not None and not getattr(thing, "knows_torques", False):
                    if not found:
                        found.append(cls(_reference(value, model), len(model.arm.joints)))
                    new[name] = found[0]
                elif name == "controller":
                    new[name] = changed(value)
            return replace(thing, **new) if new else thing

        whole = changed(controller)
        return (whole, found[0]) if found else None

    def expression(self, t: Any) -> list[Any]:
        """Of the reference, shifted."""
        given = self.reference.expression(t)
        if self.shift is None:
            return given
        import casadi as ca

        r, rate, acceleration = ca.vertsplit(self.shift, self.joints)
        later = t - self.now
        return ca.vertsplit(ca.vertcat(*given) + r + later * rate + later**2 / 2 * acceleration)

    def jumps(self) -> Array:
        """Of the reference."""
        from flexarm.trajectory import jumps_of

        return jumps_of(self.reference)

    def described(self) -> str:
        """As the reference."""
        return self.reference.described()

    def slopes(self, near: ClosedLoop, t: float, x: Array) -> Array:
        """Of u and what follows for the memory, to r, its rate and its acceleration, (m + memory, 3 joints)."""
        import casadi as ca

        law, n, k = near.law, near.model.nv, len(near.model.states)
        x = np.concatenate([x[: 2 * n + k + len(law.memory)], near.felt(x)])
        now, state = ca.SX.sym("t"), ca.SX.sym("x", len(x))
        q, qd, s, z, qdd = ca.vertsplit(state, [0, n, 2 * n, 2 * n + k, 2 * n + k + len(law.memory), len(x)])
        self.shift, self.now = ca.SX.sym("shift", 3 * self.joints), now
        try:
            u, after = law(now, q, qd, z, ca.DM.zeros(len(law.noise)), *([s] if law.drives else []), qdd)
            found = ca.jacobian(ca.vertcat(u, after(u), *([u] if law.accelerates else [])), self.shift)
        finally:
            shift, self.shift = self.shift, None
        given = ca.Function("slopes", [now, state, shift], [ca.densify(found)])
        return np.array(given(t, x, np.zeros(3 * self.joints)))


def _reference(value: Any, model: Model) -> Reference:
    """A reference, or standing where numbers say."""
    if hasattr(value, "expression"):
        return value  # type: ignore[no-any-return]
    return Still(tuple(np.broadcast_to(np.asarray(value, dtype=float), (len(model.arm.joints),)).tolist()))
