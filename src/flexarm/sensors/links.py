"""Sensors on links: strain, deflection, contact force."""

from typing import Annotated, Any, Literal, final

from flexarm import checks
from flexarm.checks import NOT_ZERO, SHARE, checked_instance, number, optional_number, refused, unknown_name
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.model import signal
from flexarm.sensors.places import place
from flexarm.sensors.sampling import Sampling


@final
class StrainGauge(Sampling):
    """Bending of a beam at a station: the moment EI kappa [N m], or the strain of a fibre [1].

    Parameters
    ----------
    link : str
    at : float
        Station on the (free) length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection: kappa = d2 u / dx2, positive where the beam is concave towards +y (or +z).
    distance : float, optional
        Distance of the gauge from the neutral axis, towards +y (or +z) [m]. With it the reading is the bending strain
        there, -distance kappa: positive where the fibre is stretched.

    The moment is EI times the curvature of the assumed shapes. If a shape has no moment at its end, as clamped-free,
    the reading there is zero under any load.
    """

    type: Literal["strain-gauge"] = "strain-gauge"
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", SHARE)] = 0.0
    plane: Literal["y", "z"] = "y"
    distance: Annotated[float | None, optional_number("m", NOT_ZERO)] = None

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `upper_moment_y_0`, `upper_strain_z_0_25`."""
        at = place(self, self.link, arm)
        link = arm.links[at]
        if not (isinstance(link.body, Beam) and link.body.counts[self.plane]):
            raise DescriptionError(
                f"StrainGauge: link {link.name!r} does not bend along {self.plane}; choose another plane or link"
            )
        kind = "moment" if self.distance is None else "strain"
        return (self.name or signal(f"{self.link}_{kind}_{self.plane}_{self.at:g}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [N m] or [1]."""
        return ("N m" if self.distance is None else "1",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return EI kappa, or -distance kappa."""
        from flexarm.mechanics import links

        i, axis = place(self, self.link, arm), "yz".index(self.plane)
        if self.distance is None:
            return [links.bending_moment(chain, i, self.at, q)[axis]]
        return [-self.distance * links.curvature(chain, i, self.at, q)[axis]]


@final
class TipDeflection(Sampling):
    """Displacement of a link's tip from its position without deformation, in the link's own frame [m or rad].

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
        """Return one signal: `upper_deflection_y`."""
        at = place(self, self.link, arm)
        link = arm.links[at]
        if not any(link.body.counts.values()):
            raise DescriptionError(f"TipDeflection: link {link.name!r} is rigid; choose a flexible link")
        return (self.name or signal(f"{self.link}_deflection_{self.axis}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [m] or [rad]."""
        return ("m" if len(self.axis) == 1 else "rad",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return a tip function minus its value without deformation."""
        from flexarm.mechanics import links

        i = place(self, self.link, arm)
        k = ("x", "y", "z", "slope_y", "slope_z", "torsion").index(self.axis)
        return [links.tip(chain, i, q)[k] - links.section(chain, i, 1.0, q, deformed=False)[k]]


@final
class ContactForce(Sampling):
    """The normal force of a contact [N], from its spring and damper; zero if the contact is open.

    Parameters
    ----------
    contact : str
        Name of the contact.
    """

    type: Literal["contact-force"] = "contact-force"
    contact: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `floor_force`."""
        self._place(arm)
        return (self.name or signal(f"{self.contact}_force"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [N]."""
        return ("N",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the normal force that the contact applies."""
        from flexarm.mechanics.outside import normal_force, pressed
        from flexarm.mechanics.stations import velocity

        contact = arm.contacts[self._place(arm)]
        link = arm.number(contact.link)
        v = velocity(chain, link, contact.at)(q, qd)[:3]
        return [normal_force(contact, pressed(chain, contact, link, q), v)]

    def _place(self, arm: Arm) -> int:
        with refused("ContactForce"):
            checked_instance(arm, Arm, "arm")
        known = [each.name for each in arm.contacts]
        if self.contact not in known:
            problem = "ContactForce: unknown contact"
            raise DescriptionError(unknown_name(problem, self.contact, known, "the contacts of the arm are"))
        return known.index(self.contact)


@final
class CableTension(Sampling):
    """The tension of a cable of constant length [N]; zero if the cable is slack.

    The tension of a cable with an input depends on this input and its state. The variable `tension` of a result and
    `model.evaluate("tension", q, qd, s=s, w=w)` have it.

    Parameters
    ----------
    cable : str
        Name of the cable.
    """

    type: Literal["cable-tension"] = "cable-tension"
    cable: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """Return one signal: `stay_tension`."""
        self._place(arm)
        return (self.name or signal(f"{self.cable}_tension"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """Return [N]."""
        return ("N",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """Return the tension. Raise `DescriptionError` for a cable with an input."""
        from flexarm.mechanics.elements import Seen
        from flexarm.mechanics.outside import cable

        given = arm.cables[self._place(arm)]
        if given.input != "none":
            must = (
                'its tension depends on its input: use the variable tension of a result, or model.evaluate("tension")'
            )
            raise DescriptionError(f"CableTension: cable {self.cable!r} has input = {given.input!r}; {must}")
        element = cable(chain, given, arm.number)
        assert element.tension is not None
        return [element.tension(Seen(q, element.along(q, qd), [], [], None))]

    def _place(self, arm: Arm) -> int:
        with refused("CableTension"):
            checked_instance(arm, Arm, "arm")
        known = [each.name for each in arm.cables]
        if self.cable not in known:
            problem = "CableTension: unknown cable"
            raise DescriptionError(unknown_name(problem, self.cable, known, "the cables of the arm are"))
        return known.index(self.cable)
