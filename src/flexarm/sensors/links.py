"""What is measured on links: strain, deflection, the force of a contact."""

from typing import Annotated, Any, Literal, final

from flexarm import checks
from flexarm.checks import NOT_ZERO, SHARE, checked_instance, number, optional_number, refused, shown
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.model import signal
from flexarm.sensors.places import place
from flexarm.sensors.sampling import Sampling


@final
class StrainGauge(Sampling):
    """Bending of a beam at a place: the moment EI kappa [N m], or the strain of a fibre [1].

    Parameters
    ----------
    link : str
    at : float
        Place on the (free) length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection: kappa = d2 u / dx2, positive where the beam is hollow towards +y (or +z).
    distance : float, optional
        Of the gauge from the neutral axis, towards +y (or +z) [m]. With it the reading is the strain of bending there,
        -distance kappa: positive where the fibre is drawn out.

    The moment is EI times the curvature of the assumed shapes: that of a shape that carries no moment at its end, as
    clamped-free, is zero there whatever the load.
    """

    type: Literal["strain-gauge"] = "strain-gauge"
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 0.0
    plane: Literal["y", "z"] = "y"
    distance: Annotated[float | None, optional_number("m", NOT_ZERO)] = None

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_moment_y_0`, `upper_strain_z_0_25`."""
        at = place(self, self.link, arm)
        link = arm.links[at]
        if not (isinstance(link.body, Beam) and link.body.counts[self.plane]):
            raise DescriptionError(f"StrainGauge: link {link.name!r} does not bend along {self.plane}")
        kind = "moment" if self.distance is None else "strain"
        return (self.name or signal(f"{self.link}_{kind}_{self.plane}_{self.at:g}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [1]."""
        return ("N m" if self.distance is None else "1",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """EI kappa, or -distance kappa."""
        from flexarm.mechanics import links

        i, axis = place(self, self.link, arm), "yz".index(self.plane)
        if self.distance is None:
            return [links.bending_moment(chain, i, self.at, q)[axis]]
        return [-self.distance * links.curvature(chain, i, self.at, q)[axis]]


@final
class TipDeflection(Sampling):
    """How far a link's tip is from where it would be without deformation, in the link's own frame [m or rad].

    Parameters
    ----------
    link : str
    axis : "x", "y", "z", "slope_y", "slope_z" or "torsion"
        A displacement [m], a slope of the neutral axis in the plane of y or z, or the twist [rad].
    """

    type: Literal["tip-deflection"] = "tip-deflection"
    link: Annotated[str, checks.text]
    axis: Literal["x", "y", "z", "slope_y", "slope_z", "torsion"] = "y"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_deflection_y`."""
        at = place(self, self.link, arm)
        link = arm.links[at]
        if not any(link.body.counts.values()):
            raise DescriptionError(f"TipDeflection: link {link.name!r} does not deform")
        return (self.name or signal(f"{self.link}_deflection_{self.axis}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m] or [rad]."""
        return ("m" if len(self.axis) == 1 else "rad",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """A tip function, less its value without deformation."""
        from flexarm.mechanics import links

        i = place(self, self.link, arm)
        k = ("x", "y", "z", "slope_y", "slope_z", "torsion").index(self.axis)
        return [links.tip(chain, i, q)[k] - links.section(chain, i, 1.0, q, deformed=False)[k]]


@final
class ContactForce(Sampling):
    """The normal force of a contact [N]: of spring and damper, zero where it is open.

    Parameters
    ----------
    contact : str
        Its name.
    """

    type: Literal["contact-force"] = "contact-force"
    contact: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `floor_force`."""
        self._place(arm)
        return (self.name or signal(f"{self.contact}_force"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N]"""
        return ("N",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """As the contact's own."""
        from flexarm.mechanics.outside import normal_force, pressed, velocity

        contact = arm.contacts[self._place(arm)]
        link = arm.number(contact.link)
        v = velocity(chain, link, contact.at)(q, qd)[:3]
        return [normal_force(contact, pressed(chain, contact, link, q), v)]

    def _place(self, arm: Arm) -> int:
        with refused("ContactForce"):
            checked_instance(arm, Arm, "arm")
        known = [each.name for each in arm.contacts]
        if self.contact not in known:
            there = f"the arm has {', '.join(known)}" if known else "the arm has none"
            raise DescriptionError(f"ContactForce: unknown contact {shown(self.contact)}; {there}")
        return known.index(self.contact)
