"""Damping of a link by the rate of its bending moment."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from flexarm.attitude import local
from flexarm.brief import brief
from flexarm.control.gains import actuators, gain, inner_law
from flexarm.description.arm import Link
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.local import configured
from flexarm.sensors import StrainGauge
from flexarm.simulation.law import Column, Controller, Law

if TYPE_CHECKING:
    import casadi as ca


@final
@brief
@dataclass(frozen=True)
class StrainRate:
    """A controller's output plus K dM/dt on the actuator of a link, where M is a bending moment in the link.

    M counts as the torque with which the beam turns its hub about the joint's axis. At a sliding joint its sign is that
    of the force that would bend the beam in this direction. A mode's amplitude obeys m (eta_dd + omega^2 eta) = -b
    theta_dd, so an acceleration of the hub in proportion to eta_d damps the mode. If the rotor's inertia J dominates
    the hub, K > 0 damps every mode. If the spring Kp of a PD controller dominates, below sqrt(Kp / J), K < 0 damps it.
    For several links, put one `StrainRate` into another.

    Parameters
    ----------
    controller : Controller
    K : float
        [s]
    link : str
    at : float
        Position of the gauge as a share of the link's length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection; the link's joint must move the link in this plane.
    """

    controller: Controller
    K: float
    link: str
    at: float = 0.0
    plane: Literal["y", "z"] = "y"

    def law(self, model: Model, period: float | None = None) -> Law:
        """Return the control law for a model.

        Raises `DescriptionError` if the link does not bend in this plane, or if its joint cannot act there.
        """
        actuators("StrainRate", model, period)
        K = float(gain("StrainRate: K", self.K, 1)[0, 0])
        inner = inner_law("StrainRate", self.controller, model, period)
        gauge = StrainGauge(link=self.link, at=self.at, plane=self.plane)
        rate = self._rate(model, gauge)
        arm = model.arm
        place = [link.name for link in arm.links].index(self.link)
        if not arm.links[place].joint.actuated:
            raise DescriptionError(f"StrainRate: the joint of link {self.link!r} has no actuator")
        K *= self._sense(arm.links[place])
        actuator = [arm.layout[i].link for i in arm.driven].index(place)

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            u, after = inner(t, q, qd, z, *noise)
            u[actuator] += K * rate(q, qd)
            return u, after

        return replace(inner, expression=expression)

    def _rate(self, model: Model, gauge: StrainGauge) -> "ca.Function":
        """dM/dt as a CasADi Function of q and qd, in symbols of its own because q and qd may be estimates."""
        import casadi as ca

        n = model.nv
        q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
        M = model.output_function([gauge])(configured(model.arm, q), 0, 0)
        rate = ca.Function("rate", [q, qd], [ca.densify(ca.jtimes(M, q, qd))])
        slope = ca.Function("slope", [q], [ca.densify(ca.jacobian(M, q))])
        if not np.array(slope(local(model.arm, np.array(model.arm.rest)))).any():
            raise DescriptionError(
                f"StrainRate: the mode shapes of link {self.link!r} have no bending moment at {self.at:g}; choose "
                "another place"
            )
        return rate

    def _sense(self, link: Link) -> float:
        """Sign of the joint's motion of the link along the deflection in the plane, 1 or -1."""
        joint = link.joint
        _, y, z = joint.direction if joint.moves and joint.carries else (0.0, 0.0, 0.0)
        along = ({"y": z, "z": -y} if joint.turns else {"y": y, "z": z})[self.plane]
        if along == 0.0:
            where = f"the {joint.type} joint of link {link.name!r}"
            raise DescriptionError(
                f"StrainRate: {where} does not move the link along {self.plane}; choose the other plane"
            )
        return float(np.sign(along))
