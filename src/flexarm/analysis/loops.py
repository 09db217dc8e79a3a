"""Closed loops as linear systems: an arm under a controller, near an equilibrium or a state of a motion.

Every result is a `control.StateSpace` with named signals. It is continuous for a continuous controller, and has the
controller's period for a sampled one. In a sampled loop u is constant between samples, which is exact, and delays are
states.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.analysis.balance import eigenvalues
from flexarm.analysis.equilibrium import configuration, equilibrium
from flexarm.arrays import Array
from flexarm.attitude import configuration as posed
from flexarm.cached import cached_property
from flexarm.checks import checked_array, checked_number, counted, refused, unknown_name
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.model.linear import input_signals, signals, state_names
from flexarm.model.outputs import Sensor
from flexarm.simulation.closed_loop import ClosedLoop, Deviations, chained, closed_matrix, continuous
from flexarm.simulation.law import Law, law_of
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Reference, Still
from flexarm.trajectory.reference import rest

if TYPE_CHECKING:
    import control

ORDERS = ("", "_rate", "_acceleration")
"""Suffixes of the signals of a reference at each joint."""


def closed_loop(
    model: ModelLike,
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
    """Return an arm under a controller as a linear system of deviations from an equilibrium, or from a motion.

    - Inputs: disturbances at the drives, `u_...`, added to the controller's output. For controllers with a reference
      also its position, rate and acceleration at each joint, `r_upper_joint`, `r_upper_joint_rate`,
      `r_upper_joint_acceleration`. A moving reference has all three, and a motion with known torques has none.
    - Outputs: those of the sensors, then the controller's outputs.
    - States: those of the arm, as in `Model.linearize`, then the controller's memory, `law_1` and so on: estimates,
      integrals, delayed values.

    The matrices are exact derivatives. Rounding is replaced by its mean, and limits of `Sampled` do not act on small
    deviations. A sampled loop is a system with its period, with inputs constant over it. With several rates, `Every`,
    the period is the time after which the loop repeats itself.

    Parameters
    ----------
    model : Model, Arm, str or path
    controller : Controller, Sampled or Law
        The controller is designed for the model.
    q : (nq,) or (m,), optional
        A configuration near which the loop is at rest, or the joints alone, which are then in equilibrium. Default:
        where the controller's reference comes to rest.
    outputs : list of Sensor, optional
        Default: all coordinates and rates, and states of drives.
    t : float, optional
        Time at which the reference is frozen [s]; default when it comes to rest.
    qd, s, z : (nv,), (states,), (memory,), optional
        With qd the system is that at the given state, as on a motion; z is then the controller's memory, default that
        of the start.
    w : (exogenous,), optional
        Exogenous inputs, which are constant.
    p : (k,) or dict, optional
        Parameters of the arm that the controller does not know.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    DescriptionError
        If an argument does not fit, or if the controller is a Python function, which has no derivatives.
    FlexarmError
        If the loop has no equilibrium nearby.
    """
    with refused("closed_loop"):
        model = as_model(model)
    followed = _Shifted.in_place_of(controller, model)
    near = looped("closed_loop", model, controller if followed is None else followed[0], w, p)
    found = linear_loop("closed_loop", near, q, t, qd, s, z)
    if followed is not None:
        times = [found.t + i * (found.period or 0.0) for i in range(len(found.phases))]
        found = replace(found, from_r=tuple(followed[1].slopes(near, time, found.x) for time in times))
    return found.closed(outputs)


def loop(
    model: ModelLike,
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
    """Loop transfer function L at the actuators, from the arm's inputs to the negative of the controller's outputs.

    Negative feedback closes the loop: `control.feedback(L, 1)` is T, and 1 + L must not be singular. This is the
    convention of `control.margin` and of Nyquist plots.

    Parameters
    ----------
    input : str or int, optional
        An actuator, by the name or index of its input: the loop there, with all others closed. Default all together,
        (m, m).

    The other parameters and the errors are those of `closed_loop`. A controller of several rates, `Every`, has no such
    system.
    """
    return linear_loop("loop", looped("loop", model, controller, w, p), q, t, qd, s, z).broken(input)


@final
@dataclass(frozen=True, eq=False)
class LinearLoop:
    """A closed loop near a state.

    Attributes
    ----------
    model, period, w : the arm, the controller's period, exogenous inputs
    t, x : time [s], and (q, qd, s, z) there, q in local coordinates
    phases : linear models of small deviations, at each sample of the controller's cycle
    from_r : for each, slopes (m + memory, 3 joints) of u and of the next memory in the reference, its rate and its
        acceleration; none if the controller has no reference
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
        """Return the linear model of a closed loop near x at t."""
        return cls(loop.model, loop.period, loop.w, t, x, loop.cycle(t, x))

    @property
    def at(self) -> Deviations:
        """The first sample of the cycle."""
        return self.phases[0]

    @property
    def span(self) -> float | None:
        """Duration of a cycle [s]; None for a continuous controller."""
        return None if self.period is None else len(self.phases) * self.period

    @cached_property
    def poles(self) -> Array:
        """Poles of the closed loop [1/s], those farthest to the right first; see `ClosedLoop.poles`."""
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
                error = np.where(s != 0.0, np.log1p(error / np.abs(s)) / self.span, 0.0)
            s = continuous(s, self.span)
        order = np.lexsort((s.imag, -s.real))
        return s[order], error[order]

    def closed(self, outputs: Sequence[Sensor] | None = None) -> "control.StateSpace":
        """Return the closed loop as a system, see `closed_loop`."""
        import control

        model, at, period = self.model, self.at, self.period
        n, k, m = model.nv, len(at.all_of), len(model.inputs)
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
            joints = signals([model.velocities[i] for i in model.arm.driven])
            inputs = inputs + [f"r_{joint}{order}" for order in ORDERS for joint in joints]
        names = {"states": self._states(), "inputs": inputs, "outputs": [*arm.output_labels, *input_signals(model)]}
        return control.StateSpace(*chained(systems), C, D, dt=self.span or 0, **names)

    def broken(self, input: str | int | None = None) -> "control.StateSpace":
        """Return the loop that is open at one or all inputs, see `loop`."""
        import control

        if len(self.phases) > 1:
            why = "the open loop is not time-invariant; leave Every out"
            raise DescriptionError(f"loop: the controller has several sampling periods, so {why}")
        at, period, m = self.at, self.period, len(self.model.inputs)
        chosen = range(m) if input is None else [self._place(input)]
        others = [i for i in range(m) if i not in chosen]
        F, G = at.plant(period)
        memory = len(at.to_z)
        remembered = at.to_z - at.felt[:, chosen] @ at.to_u[chosen]  # the cut loop's memory sees the external input
        A = np.vstack([np.hstack([F, np.zeros((len(F), memory))]) + G[:, others] @ at.to_u[others], remembered])
        B = np.vstack([G, at.felt])[:, chosen]
        names = [input_signals(self.model)[i] for i in chosen]
        D = np.zeros((len(names), len(names)))
        signals = {"states": self._states(), "inputs": names, "outputs": names}
        return control.StateSpace(A, B, -at.to_u[chosen], D, dt=period or 0, **signals)

    def _states(self) -> list[str]:
        names = state_names(self.model)
        return [names[i] for i in self.at.chosen] + [f"law_{i + 1}" for i in range(len(self.at.to_z))]

    def _place(self, input: str | int) -> int:
        names = list(self.model.inputs)
        if isinstance(input, str) and input in names:
            return names.index(input)
        if isinstance(input, str) and input in (own := input_signals(self.model)):
            return own.index(input)
        if isinstance(input, int | np.integer) and not isinstance(input, bool) and 0 <= input < len(names):
            return int(input)
        raise DescriptionError(unknown_name("loop: input is", input, names, "the inputs of the arm are"))


def linear_loop(
    where: str, loop: ClosedLoop, q: Any = None, t: Any = None, qd: Any = None, s: Any = None, z: Any = None
) -> LinearLoop:
    """Return the linear model of a closed loop about a state, see `closed_loop`."""
    model, law = loop.model, loop.law
    end = rest(law.reference) if law.reference is not None else None
    with refused(where):
        time = (end[0] if end else 0.0) if t is None else checked_number(t, "s", part="t")
    if s is not None and not model.states:
        raise DescriptionError(
            f"{where}: s does not apply to arm {model.arm.name!r}, whose drives have no states; leave it out"
        )
    states = None if s is None else model.single(where, "s", s)
    memory = None if z is None else _memory(where, z, len(loop.memory))
    if qd is None:
        time, x = loop.begins(time), loop.start(_standing(where, model, q, end), None, states, memory)
        return LinearLoop.of(loop, time, loop.standing(time, x))
    if q is None:
        raise DescriptionError(f"{where}: qd needs q too; give both")
    x = loop.start(model.single(where, "q", q), model.single(where, "qd", qd), states, memory)
    return LinearLoop.of(loop, time, x)


def looped(where: str, model: ModelLike, controller: Any, w: Any = None, p: Any = None) -> ClosedLoop:
    """Return an arm with parameters p under a controller that is designed for the model."""
    with refused(where):
        model = as_model(model)
    law, period = designed(where, controller, model)
    plant = model if p is None else model.at(p)
    return ClosedLoop(plant, law, period, None if w is None else plant.single(where, "w", w))


def designed(where: str, controller: Any, model: Model) -> tuple[Law, float | None]:
    """Return the control law of a controller for a model, and its period; limits of `Sampled` are left out."""
    if isinstance(controller, Law):
        return controller, None
    if not isinstance(controller, Sampled):
        law = law_of(f"{where}: controller", controller, model)
        if law.drives:
            raise DescriptionError(f"{where}: the controller measures currents and must be sampled: use Sampled(...)")
        return law, None
    given = replace(controller, limit=None, rate_limit=None).feedback(model)
    if given.function is not None:
        raise DescriptionError(f"{where}: the controller is a Python function, which cannot be differentiated")
    return given.law, float(given.period)


def _memory(where: str, z: Any, count: int) -> Array:
    with refused(where):
        found = checked_array(z, "z")
    if found.shape != (count,):
        raise DescriptionError(
            f"{where}: z has shape {found.shape}; the controller's memory has {counted(count, 'number')}"
        )
    return found


def _standing(where: str, model: Model, q: Any, end: tuple[float, Array] | None) -> Array:
    """Return a configuration as given, or the equilibrium at joint coordinates or at the end of the reference."""
    if q is None and end is None:
        raise DescriptionError(
            f"{where}: q is missing; give it, because the controller has no reference that comes to rest"
        )
    q = end[1] if q is None and end is not None else q
    x = configuration(model, q)
    return x if np.shape(q) == x.shape else equilibrium(model, q, held="joints")[0]


@dataclass(eq=False)
class _Shifted:
    """A reference with a symbolic shift that is set after the design of the controller that follows it."""

    reference: Reference
    joints: int
    shift: Any = None
    now: Any = None

    @classmethod
    def in_place_of(cls, controller: Any, model: Model) -> "tuple[Any, _Shifted] | None":
        """Return a controller with such a reference, at any depth, or None.

        The result is None if the controller has no reference, or one that is a motion with known torques, which has no
        shift.
        """
        found: list[_Shifted] = []

        def changed(thing: Any) -> Any:
            if not is_dataclass(thing) or isinstance(thing, type) or not hasattr(thing, "__dataclass_params__"):
                return thing
            given = {each.name: getattr(thing, each.name) for each in fields(thing) if each.init}
            new = {}
            for name, value in given.items():
                if name == "reference" and value is not None and not getattr(thing, "knows_torques", False):
                    if not found:
                        found.append(cls(_reference(value, model), len(model.arm.driven)))
                    new[name] = found[0]
                elif name == "controller":
                    new[name] = changed(value)
            return replace(thing, **new) if new else thing

        whole = changed(controller)
        return (whole, found[0]) if found else None

    def expression(self, t: Any) -> list[Any]:
        """Joint coordinates of the shifted reference at the symbolic time t."""
        given = self.reference.expression(t)
        if self.shift is None:
            return given
        import casadi as ca

        r, rate, acceleration = ca.vertsplit(self.shift, self.joints)
        later = t - self.now
        return ca.vertsplit(ca.vertcat(*given) + r + later * rate + later**2 / 2 * acceleration)

    def jumps(self) -> Array:
        """Times at which the reference jumps."""
        from flexarm.trajectory import jumps_of

        return jumps_of(self.reference)

    def described(self) -> str:
        """Text of the reference."""
        return self.reference.described()

    def slopes(self, near: ClosedLoop, t: float, x: Array) -> Array:
        """Slopes (m + memory, 3 joints) of u and of the next memory in r, its rate and its acceleration."""
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
    """Return a reference, or one that is constant at the given numbers."""
    if hasattr(value, "expression"):
        return value  # type: ignore[no-any-return]
    return Still(tuple(np.broadcast_to(np.asarray(value, dtype=float), (len(model.arm.driven),)).tolist()))
