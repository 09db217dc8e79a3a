"""Damping of a link by the rate of its bending moment."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from flexarm.attitude import local
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
@dataclass(frozen=True)
class StrainRate:
    """What a controller gives, and on the actuator of a link K dM/dt: M is a bending moment in the link.

    M is counted as the torque with which the beam turns its hub about the joint's axis (or, where the joint slides, in
    the sense of the force that would bend it so). A mode's amplitude obeys m (eta_dd + omega^2 eta) = -b theta_dd, so
    that a hub accelerated in proportion to eta_d damps it. Where the rotor's inertia J rules the hub, K > 0 does so, in
    every mode; where the spring Kp of a PD law does, below sqrt(Kp / J), K < 0 does. Several links: one `StrainRate` in
    another.

    Parameters
    ----------
    controller : Controller
    K : float
        [s]
    link : str
    at : float
        Station of the gauge on the link's length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection; the link's joint must move it there.
    """

    controller: Controller
    K: float
    link: str
    at: float = 0.0
    plane: Literal["y", "z"] = "y"

    def law(self, model: Model, period: float | None = None) -> Law:
        """The law for a model; raises `DescriptionError` where the link does not bend so, or its joint cannot act."""
        actuators("StrainRate", model, period)
        K = float(gain("StrainRate: K", self.K, 1)[0, 0])
        inner = inner_law("StrainRate", self.controller, model, period)
        gauge = StrainGauge(link=self.link, at=self.at, plane=self.plane)
        rate = self._rate(model, gauge)
        arm = model.arm
        place = [link.name for link in arm.links].index(self.link)
        K *= self._sense(arm.links[place])
        actuator = [arm.layout[i].link for i in arm.joints].index(place)

        def expression(t: Any, q: Column, qd: Column, z: Column, *noise: Column) -> tuple[Column, Any]:
            u, after = inner(t, q, qd, z, *noise)
            u[actuator] += K * rate(q, qd)
            return u, after

        return replace(inner, expression=expression)

    def _rate(self, model: Model, gauge: StrainGauge) -> "ca.Function":
        """dM/dt as a CasADi Function of q and qd: they may be estimates, so it is differentiated in its own symbols."""
        import casadi as ca

        n = model.nv
        q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
        M = model.output_function([gauge])(configured(model.arm, q), 0, 0)
        rate = ca.Function("rate", [q, qd], [ca.densify(ca.jtimes(M, q, qd))])
        slope = ca.Function("slope", [q], [ca.densify(ca.jacobian(M, q))])
        if not np.array(slope(local(model.arm, np.array(model.arm.rest)))).any():
            raise DescriptionError(f"StrainRate: the shapes of link {self.link!r} carry no moment at {self.at:g}")
        return rate

    def _sense(self, link: Link) -> float:
        """1 or -1, as the joint moves the link in the plane along the deflection or against it."""
        joint = link.joint
        _, y, z = joint.direction if joint.moves and joint.carries else (0.0, 0.0, 0.0)
        along = ({"y": z, "z": -y} if joint.turns else {"y": y, "z": z})[self.plane]
        if along == 0.0:
            where = f"the {joint.type} joint of link {link.name!r}"
            raise DescriptionError(f"StrainRate: {where} does not move it along {self.plane}")
        return float(np.sign(along))
