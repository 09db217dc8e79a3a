"""Attitude control of a free base by reaction wheels and thrusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, known_names, refused, shown
from flexarm.control.gains import actuators, gain, inner_law, torques
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import configured, multiplying
from flexarm.quaternions import conjugate
from flexarm.simulation.law import Column, Controller, Law

CANNOT = 1e-9
"""Error of a unit torque above which the actuators cannot apply the torque."""


@final
@brief
@dataclass(frozen=True)
class AttitudePD:
    """Attitude control of a free base: a torque, added to another controller, that turns the base to an attitude.

        T = -2 sgn(e_w) Kp (e_x, e_y, e_z) - Kd w

    The torque is along the base's axes. e is the quaternion from the wanted attitude to the base's, and w is the base's
    angular velocity (Wie & Barba 1985). The sign selects the shorter rotation, so that a base turned by more than half
    a turn does not unwind. With scalar gains the base comes to rest from any attitude, for any inertia. The same holds
    with an arm and panels on the base if the control laws of their joints are passive.

    Wheels and thrusters share the torque with the least sum of squares. The forces of the thrusters add up to zero if
    the thrusters allow it. The term w x (angular momentum of the wheels) is not compensated, because it does no work.

    Parameters
    ----------
    Kp, Kd : float, (3,) or (3, 3)
        [N m/rad], [N m s/rad], about the base's axes.
    actuators : list of str, optional
        Inputs that turn the base: "wheel-x.joint" of a wheel on the base, "base.roll" of a thruster. Default: all
        thrusters. If they reach fewer than three axes, the torque about the others is left out.
    attitude : (4,)
        The wanted unit quaternion (w, x, y, z), from the base's axes to the world's.
    controller : Controller, optional
        Controller of the joints. Its reference must not include the wheels: see `OnLinks`. Default: no other torques.
    """

    Kp: ArrayLike
    Kd: ArrayLike
    actuators: Sequence[str] | None = None
    attitude: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    controller: Controller | None = None

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model.

        The law's facts are those of the inner controller, and the `allocation` (inputs, 3) of a torque. Raises
        `DescriptionError` if the base is not free, or if an actuator does not exist or turns nothing.
        """
        actuators("AttitudePD", model, period)
        Kp, Kd = gain("AttitudePD: Kp", self.Kp, 3), gain("AttitudePD: Kd", self.Kd, 3)
        wanted = checked_attitude(self.attitude)
        if not model.arm.free:
            raise DescriptionError(
                f"AttitudePD: the base of arm {model.arm.name!r} is fixed; AttitudePD needs an arm with base = "
                "FreeBase(...)"
            )
        share = allocation(model, self.actuators)
        inner = Law(_nothing(model))
        if self.controller is not None:
            inner = inner_law("AttitudePD", self.controller, model, period)
        back = multiplying(conjugate(wanted / np.linalg.norm(wanted)))

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            import casadi as ca

            u, after = inner(t, q, qd, z, *noise)
            e = ca.mtimes(back, configured(model.arm, q)[3:7])
            error = ca.if_else(e[0] < 0.0, -2.0, 2.0) * e[1:]
            return u + share @ (-(Kp @ error) - Kd @ qd[3:6]), after

        return replace(inner, expression=expression, facts={**inner.facts, "allocation": share})


def checked_attitude(given: ArrayLike) -> Array:
    """Return the wanted attitude as a unit quaternion (4,); raises `DescriptionError`."""
    with refused("AttitudePD"):
        wanted = checked_array(given, "attitude")
        if wanted.shape != (4,) or not abs(np.linalg.norm(wanted) - 1.0) <= 1e-3:
            raise Fault("attitude", f"is {shown(given)}; it must be a unit quaternion (w, x, y, z)")
    return wanted


def axis_on_base(model: Model, number: int) -> Array:
    """Axis (3,) of the joint of a link on the base, along the base's axes."""
    R = model.frames(np.array(model.arm.rest))[number, :3, :3]
    return np.asarray(R @ np.array(model.arm.links[number].joint.direction))


def _nothing(model: Model) -> Any:
    """Return the expression of a control law whose inputs are all zero."""
    m = len(model.inputs)
    return lambda t, q, qd, z: ([0.0] * m, [])


def allocation(model: Model, names: Sequence[str] | None) -> Array:
    """Inputs (m, 3) that turn a free base with a unit torque about each of its axes, with the least sum of squares.

    A wheel's torque turns the base in the opposite direction about the wheel's axis. Raises `DescriptionError`; see
    `AttitudePD`.
    """
    arm, m = model.arm, len(model.inputs)
    thrusters = model.inputs[len(arm.driven) :]
    with refused("AttitudePD"):
        given = known_names(
            thrusters if names is None else names,
            model.inputs,
            "names of inputs",
            "actuators",
            "the inputs of the arm are",
            "has the unknown name",
        )
        for name in given:
            if given.count(name) > 1:
                raise Fault("actuators", f"has {name!r} twice; give each actuator once")
        if not given:
            raise Fault("actuators", "is missing, and the arm has no thruster; give the inputs of its wheels")
    torques("AttitudePD", model)
    wrenches = np.zeros((6, m))
    wrenches[:, len(arm.driven) :] = model.input_matrix(np.array(arm.rest))[:6, len(arm.driven) :]
    for i, place in enumerate(arm.driven):
        number = arm.layout[place].link
        link = arm.links[number]
        if model.inputs[i] not in given:
            continue
        if arm.parents[number] >= 0 or not link.joint.turns:
            must = "a reaction wheel is on a joint that turns about an axis of the base"
            raise DescriptionError(f"AttitudePD: actuators has {model.inputs[i]!r}, which is not a wheel; {must}")
        wrenches[3:, i] = -axis_on_base(model, number)
    own = [model.inputs.index(name) for name in given]
    share = np.zeros((m, 3))
    wanted = np.vstack([np.zeros((3, 3)), np.eye(3)])
    together: Array = np.linalg.pinv(wrenches[:, own]) @ wanted
    if np.abs(wrenches[:, own] @ together - wanted).max() > CANNOT:  # not all axes, or not without a force
        together = np.linalg.pinv(wrenches[3:, own], rcond=CANNOT)
    if not np.abs(together).max(initial=0.0) > CANNOT:
        raise DescriptionError(f"AttitudePD: none of the actuators {', '.join(given)} turns the base")
    share[own] = together
    return share
