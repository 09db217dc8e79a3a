"""An arm as x' = f(x, u, p), y = g(x, u, p), with torque-driven joints and joints with a given motion.

A joint with a given motion is no part of the state: its angle, rate and acceleration are inputs, in place of its
torque. Let f(q, qd, u) = f0 + B u be the forward dynamics and g the given coordinates. Their torques follow from the
given accelerations a, B_g u_g = a - f0_g, and are eliminated. If all drives are given, this is `prescribed_rate`.

With closures, f and g are those at the nearest state that satisfies them. On a free base and with ball joints q has
quaternions, and its rates follow from qd. States of drives follow q and qd, and exogenous inputs follow the others.
"""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from flexarm.cached import cached_property
from flexarm.errors import DescriptionError
from flexarm.identification.motion import Motion
from flexarm.model import Model, closures
from flexarm.model.outputs import key as output_key

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.description.arm import Arm


def special(arm: "Arm") -> str:
    """Return the part of an arm that limits its states to those on a manifold, or ""."""
    if arm.closures:
        return "closures"
    return "a free base" if arm.free else "ball joints" if arm.balls else ""


@final
@dataclass(frozen=True, eq=False)
class Plant:
    """An arm with sensors.

    Attributes
    ----------
    model : Model
        Model with variable parameters.
    sensors : list of sensors
    given : tuple of int
        Indices of the inputs whose coordinates have a given motion.
    measured : tuple of int
        Indices of the inputs that are currents. Each is multiplied by a constant, which follows the parameters in p.
    """

    model: Model
    sensors: tuple[Any, ...]
    given: tuple[int, ...] = ()
    measured: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        arm = self.model.arm
        if self.given and (kind := special(arm)):
            raise DescriptionError(
                f"identify: given is not supported yet for arms with {kind}, as {arm.name!r}; use inputs"
            )

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.model.output_names(self.sensors)

    @property
    def driven(self) -> tuple[int, ...]:
        """Indices of the inputs that are torques."""
        return tuple(i for i in range(len(self.model.inputs)) if i not in self.given)

    @property
    def free(self) -> tuple[int, ...]:
        """Indices of the coordinates in the state: x is their q, then the rates `moving`."""
        return self._without_given(self.model.nq)

    @property
    def moving(self) -> tuple[int, ...]:
        """Indices of the rates in the state."""
        return self._without_given(self.model.nv)

    def _without_given(self, count: int) -> tuple[int, ...]:
        held = {self.model.arm.actuated[i] for i in self.given}
        return tuple(i for i in range(count) if i not in held)

    @cached_property
    def motion(self) -> Motion:
        """Compiled motion. Its u: torques or currents, then angle, rate and acceleration of each given coordinate."""
        return Motion(self.key, self.traced)

    @property
    def key(self) -> str:
        """Text that identifies f and g."""
        known = [self.model.fingerprint, output_key(self.model, self.sensors)]
        return json.dumps(["identification", *known, self.given, self.measured])

    def traced(self) -> "tuple[ca.Function, ca.Function]":
        """Return the functions f(x, u, p) and g(x, u, p)."""
        import casadi as ca

        model, free, moving = self.model, self.free, self.moving
        n, m, k = model.nv, len(model.inputs), len(model.p)
        count = len(free) + len(moving)
        inputs = len(self.driven) + 3 * len(self.given)
        x, u = ca.SX.sym("x", count + len(model.states)), ca.SX.sym("u", inputs + len(model.exogenous))
        p = ca.SX.sym("p", k + len(self.measured))
        q, qd, a, torque = ca.SX.zeros(model.nq), ca.SX.zeros(n), ca.SX.zeros(n), ca.SX.zeros(m)
        q[list(free)], qd[list(moving)] = x[: len(free)], x[len(free) : count]
        for i, number in enumerate(self.driven):
            torque[number] = u[i]
        for i, number in enumerate(self.measured):
            torque[number] *= p[k + i]
        for i, number in enumerate(self.given):
            place = model.arm.actuated[number]
            q[place], qd[place], a[place] = ca.vertsplit(u[len(self.driven) + 3 * i : len(self.driven) + 3 * i + 3])
        of_p = [p[:k]] if k else []
        more = [*([u[inputs:]] if model.exogenous else []), *of_p]
        if model.arm.closures:  # steps leave the closures a little
            near = closures.function(model, "correction")(q, qd, *of_p)
            q, qd = near[: model.nq], near[model.nq : model.nq + n]
        if model.states:
            whole = model.function("state_rate")(q, qd, x[count:], torque, *more)
            qdd, rate = whole[model.nq : model.nq + n], whole[: count + len(model.states)]
        else:
            qdd = self._acceleration(q, qd, a, torque, *more)
            moved = model.function("state_rate")(q, qd, torque, *more) if model.arm.quaternions else qd
            rate = ca.vertcat(moved[list(free)], qdd[list(moving)])
        y = model.output_function(self.sensors)(q, qd, qdd, *of_p)
        return tuple(ca.Function(name, [x, u, p], [ca.cse(ca.densify(e))]) for name, e in (("f", rate), ("g", y)))  # type: ignore[return-value]

    def _acceleration(self, q: "ca.SX", qd: "ca.SX", a: "ca.SX", torque: "ca.SX", *more: "ca.SX") -> "ca.SX":
        import casadi as ca

        model, places = self.model, [self.model.arm.actuated[i] for i in self.given]
        if not places:
            return model.function("forward_dynamics")(q, qd, torque, *more)
        n = len(model.coordinates)
        if not self.driven:
            return model.function("prescribed_rate")(q, qd, a[places], *more)[n : 2 * n]
        rows = list(self.given)
        unknown = ca.SX.sym("u", len(rows))
        torque[rows] = unknown
        qdd = model.function("forward_dynamics")(q, qd, torque, *more)
        B = ca.jacobian(qdd, unknown)
        (none,) = ca.substitute([qdd], [unknown], [ca.SX.zeros(len(rows))])
        found = ca.solve(B[places, :], a[places] - none[places])
        return none + B @ found
