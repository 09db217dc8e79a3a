"""Materials and cross-sections, from which EI, GJ, EA and mass follow.

The beam's axis is local x. `I_y` is the area moment that resists deflection along y, the integral of y^2 over the
section, so that EI["y"] = E I_y. Handbooks that name the axis of rotation call it I_zz.
"""

from collections.abc import Mapping
from math import pi, tanh
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self, final

from pydantic import BeforeValidator, Field, model_validator

from flexarm.checks import (
    POSITIVE,
    Described,
    Fault,
    Rule,
    number,
    one_of,
    optional_number,
    unknown_name,
    with_unit,
)

POISSON: Rule = ("above -1 and at most 0.5", lambda x: -1 < x <= 0.5)


@final
class Material(Described):
    """An isotropic elastic material.

    Parameters
    ----------
    E : float
        Young's modulus [N/m^2].
    density : float
        Mass per volume [kg/m^3].
    G : float, optional
        Shear modulus [N/m^2], needed only for torsion and shear. Default: `E / (2 (1 + poisson))`.
    poisson : float, optional
        Poisson's ratio, in place of `G`.
    """

    E: Annotated[float, number("N/m^2", POSITIVE)]
    density: Annotated[float, number("kg/m^3", POSITIVE)]
    G: Annotated[float | None, optional_number("N/m^2", POSITIVE)] = None
    poisson: Annotated[float | None, optional_number("", POISSON)] = None

    @model_validator(mode="after")
    def _shear_is_given_once(self) -> Self:
        if self.G is not None and self.poisson is not None:
            raise Fault("G", "is given together with poisson; give only one")
        return self

    @property
    def shear_modulus(self) -> float | None:
        """Shear modulus G, as given or from Poisson's ratio [N/m^2]. None if neither is known."""
        if self.G is None and self.poisson is not None:
            return self.E / (2 * (1 + self.poisson))
        return self.G


MATERIALS: Final[Mapping[str, Material]] = MappingProxyType(
    {
        "steel": Material(E=210e9, density=7850.0, poisson=0.3),
        "stainless-steel": Material(E=193e9, density=8000.0, poisson=0.29),
        "aluminium": Material(E=68.9e9, density=2700.0, poisson=0.33),
        "titanium": Material(E=113.8e9, density=4430.0, poisson=0.342),
        "carbon-fibre": Material(E=147e9, density=1600.0, G=7.0e9),
    }
)
"""Materials that a beam may name, at room temperature.

Sources: "steel" is structural steel after EN 1993-1-1, section 3.2.6. "stainless-steel" is 304, "aluminium" is 6061-T6
and "titanium" is Ti-6Al-4V, by the usual data sheets (MatWeb, ASM). "carbon-fibre" is the unidirectional laminate
AS4/3501-6 along its fibres (Daniel & Ishai, Engineering Mechanics of Composite Materials, 2nd edition, table A.4). A
tube with fibres in other directions is softer in bending and stiffer in torsion.
"""


def material(value: Any) -> Any:
    """Return the material with this name, or the value itself if it is not a name."""
    if not isinstance(value, str):
        return value
    if value not in MATERIALS:
        raise Fault("", unknown_name("is", value, MATERIALS, "give E and density, or one of the materials"))
    return MATERIALS[value]


AnyMaterial = Annotated[Material | None, BeforeValidator(material)]


@final
class Rod(Described):
    """A solid round section with a given diameter [m]."""

    type: Literal["rod"] = "rod"
    diameter: Annotated[float, number("m", POSITIVE)]

    @property
    def area(self) -> float:
        """Area of the section [m^2]."""
        return pi / 4 * self.diameter**2

    @property
    def I_y(self) -> float:
        """Area moment that resists deflection along y [m^4]."""
        return pi / 64 * self.diameter**4

    @property
    def I_z(self) -> float:
        """Area moment that resists deflection along z [m^4]."""
        return self.I_y

    @property
    def J(self) -> float:
        """Torsion constant [m^4]."""
        return self.polar

    @property
    def polar(self) -> float:
        """Polar area moment I_y + I_z [m^4]. Times density, it is the moment of inertia about the axis per length."""
        return self.I_y + self.I_z


@final
class Tube(Described):
    """A round tube with a given outer diameter and wall thickness [m]."""

    type: Literal["tube"] = "tube"
    outer_diameter: Annotated[float, number("m", POSITIVE)]
    thickness: Annotated[float, number("m", POSITIVE)]

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        if self.thickness > self.outer_diameter / 2:
            most = with_unit(self.outer_diameter / 2, "m")
            raise Fault("thickness", f"is {self.thickness} m; it must be at most half the outer diameter, {most}")
        return self

    @property
    def inner_diameter(self) -> float:
        """Inner diameter [m]."""
        return self.outer_diameter - 2 * self.thickness

    @property
    def area(self) -> float:
        """Area of the section [m^2]."""
        return pi / 4 * (self.outer_diameter**2 - self.inner_diameter**2)

    @property
    def I_y(self) -> float:
        """Area moment that resists deflection along y [m^4]."""
        return pi / 64 * (self.outer_diameter**4 - self.inner_diameter**4)

    @property
    def I_z(self) -> float:
        """Area moment that resists deflection along z [m^4]."""
        return self.I_y

    @property
    def J(self) -> float:
        """Torsion constant [m^4]."""
        return self.polar

    @property
    def polar(self) -> float:
        """Polar area moment I_y + I_z [m^4]. Times density, it is the moment of inertia about the axis per length."""
        return self.I_y + self.I_z


@final
class Box(Described):
    """A rectangular section, solid or hollow.

    Parameters
    ----------
    width, height : float
        Outer dimensions along y and along z [m].
    thickness : float, optional
        Thickness of the wall, equal on all four sides [m]. Without it the section is solid.
    """

    type: Literal["box"] = "box"
    width: Annotated[float, number("m", POSITIVE)]
    height: Annotated[float, number("m", POSITIVE)]
    thickness: Annotated[float | None, optional_number("m", POSITIVE)] = None

    @model_validator(mode="after")
    def _wall_fits(self) -> Self:
        smaller = min(self.width, self.height)
        if self.thickness is not None and self.thickness >= smaller / 2:
            raise Fault("thickness", f"is {self.thickness} m; it must be less than half the smaller side, {smaller} m")
        return self

    @property
    def _hole(self) -> tuple[float, float]:
        if self.thickness is None:
            return 0.0, 0.0
        return self.width - 2 * self.thickness, self.height - 2 * self.thickness

    @property
    def area(self) -> float:
        """Area of the section [m^2]."""
        w, h = self._hole
        return self.width * self.height - w * h

    @property
    def I_y(self) -> float:
        """Area moment that resists deflection along y [m^4]."""
        w, h = self._hole
        return (self.height * self.width**3 - h * w**3) / 12

    @property
    def I_z(self) -> float:
        """Area moment that resists deflection along z [m^4]."""
        w, h = self._hole
        return (self.width * self.height**3 - w * h**3) / 12

    @property
    def J(self) -> float:
        """Torsion constant [m^4]: Saint-Venant's series for a solid section, Bredt's thin-wall formula for a hollow
        one.

        Source: Timoshenko & Goodier, Theory of Elasticity, sections 109 and 115. Bredt's formula loses accuracy for
        thick walls. In this case give a better value as the beam's `GJ`.
        """
        if self.thickness is not None:
            w, h = self.width - self.thickness, self.height - self.thickness
            return 2 * self.thickness * (w * h) ** 2 / (w + h)
        a, b = max(self.width, self.height), min(self.width, self.height)
        series = sum(tanh(n * pi * a / (2 * b)) / n**5 for n in range(1, 60, 2))
        return a * b**3 / 3 * (1 - 192 / pi**5 * b / a * series)

    @property
    def polar(self) -> float:
        """Polar area moment I_y + I_z [m^4]. Times density, it is the moment of inertia about the axis per length."""
        return self.I_y + self.I_z


AnySection = Rod | Tube | Box
Section = Annotated[AnySection, Field(discriminator="type"), one_of(AnySection)]


def between(base: AnySection, tip: AnySection, x: float) -> AnySection:
    """Return the section at x in [0, 1], with every dimension interpolated linearly from `base` to `tip`."""
    dimensions = {name: value for name, value in base if name != "type" and value is not None}
    return base.replace(**{name: (1 - x) * value + x * getattr(tip, name) for name, value in dimensions.items()})
