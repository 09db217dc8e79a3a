"""Beams that bend, twist and stretch: uniform, tapered or with a section table, in one piece or in segments."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm import checks
from flexarm.cached import cached_property
from flexarm.checks import (
    ANY_SIZE,
    NOT_NEGATIVE,
    POSITIVE,
    SHARE,
    Described,
    Fault,
    Rule,
    checked_integer,
    checked_keys,
    checked_number,
    choices,
    counted,
    number,
    optional_number,
    refused,
    shown,
    with_unit,
)
from flexarm.description.bodies import MOST_MODES, Amplitude, Body, Rigid, checked_ratios
from flexarm.description.lumps import Lumps
from flexarm.description.sections import AnyMaterial, Section, between
from flexarm.description.stations import SectionTable
from flexarm.errors import DescriptionError
from flexarm.shapes import (
    BENDING,
    DEFAULTS,
    DIRECTIONS,
    FAMILIES,
    OF_THE_BEAM,
    RODS,
    Polynomial,
    RodPolynomial,
    checked,
    family,
    follows_the_beam,
    quadrature,
)

KNOWN_SHAPES = tuple(FAMILIES)
MOST_SHORTENING = 12
"""Largest number of modes in a plane with foreshortening.

The work is proportional to their fourth power: 10 s with this number in both planes.
"""
MOST_PRODUCTS = 250
"""Largest number of pairs of modes that move points of a beam with foreshortening. With so many, the work takes
20 s."""
BENT_AT_REST = ("y", "z", "torsion")
"""Directions in which an unloaded beam may be bent or twisted."""
MOST_TURNED = 1.0
"""Largest angle of an unloaded segment, all directions together [rad]. Its last section then stays in front of the
first one, so that the angles of sections are unique."""
LEAST_SHEARED = 2
"""Smallest number of modes of a segment with shear, whose shear force follows from the slope of the curvature."""
MOST_SEGMENTS, MOST_SEGMENT_MODES = 100, 6
"""Largest number of segments of a beam, and of modes per direction of a segment.

The work of a segment is proportional to the cube of its modes.
"""
THINNEST_BASE = 100.0
"""Largest ratio of the thickness at the tip to that at the base. At 500, fine models lose their last digit."""


def _planes(unit: str, rule: Rule = POSITIVE) -> BeforeValidator:
    """Return a validator of a number for both planes, or of a table with one for each plane."""

    def check(value: object) -> Any:
        if value is None:
            return None
        return _by_plane(value, unit, rule) if isinstance(value, Mapping) else checked_number(value, unit, rule)

    return BeforeValidator(check)


def _by_plane(value: Mapping, unit: str, rule: Rule) -> dict[str, float]:
    checked_keys(value, BENDING)
    return {plane: checked_number(x, unit, rule, plane) for plane, x in value.items()}


def _rotary(value: object) -> Any:
    """Return True or False for rotary inertia of the sections, or its values."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return _by_plane(value, "kg m", NOT_NEGATIVE)
    return checked_number(value, "kg m", NOT_NEGATIVE)


def _modes(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{y = 2, z = 2}}")
    checked_keys(value, DIRECTIONS)
    return {direction: checked_integer(count, MOST_MODES, direction) for direction, count in value.items()}


def _shapes(value: object) -> Any:
    """Return a family for both bending planes, or a table of families by direction."""
    if not isinstance(value, Mapping) or "family" in value or not _by_direction(value):
        return checked(value)
    checked_keys(value, DIRECTIONS)
    found = {}
    for direction, given in value.items():
        with checks.within(direction):
            found[direction] = checked(given, direction)
    return found


def _by_direction(table: Mapping) -> bool:
    """Return True if a table without `family` is one of directions, even misspelled: it has a direction or a family."""
    return any(
        key in DIRECTIONS or isinstance(value, str | Mapping) or hasattr(value, "basis") for key, value in table.items()
    )


def _damping(value: object) -> Any:
    if not isinstance(value, Mapping):
        return checked_ratios(value)
    checked_keys(value, DIRECTIONS)
    return {direction: checked_ratios(given, direction) for direction, given in value.items()}


def _check_size(part: str, field: str, value: float, unit: str) -> None:
    least, most = ANY_SIZE
    if not least <= value <= most:
        raise Fault(
            part, f"leads to {field} = {with_unit(value, unit)}; {field} must be from {least:g} to {most:g} {unit}"
        )


def _angles(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{y = 0.3, torsion = 1.2}}")
    checked_keys(value, BENT_AT_REST)
    return {direction: checked_number(x, "rad", part=direction) for direction, x in value.items()}


def _segments(value: object) -> int | None:
    return None if value is None else checked_integer(value, MOST_SEGMENTS, least=1)


@final
@dataclass(frozen=True)
class Profile:
    """Properties of a beam at points along it, each an array (N,). An unknown stiffness is zero.

    Attributes
    ----------
    m : mass per length [kg/m]
    EI_y, EI_z : bending stiffness against deflection along y and z [N m^2]
    GJ : torsional stiffness [N m^2]
    EA : axial stiffness [N]
    rho_Ip : mass moment of inertia about the beam's axis, per length [kg m]
    kGA_y, kGA_z : shear stiffness along y and z [N], zero without shear
    rho_I_y, rho_I_z : mass moment of inertia of a section that turns as the beam bends along y and z, per length
        [kg m], zero without rotary inertia
    """

    m: np.ndarray
    EI_y: np.ndarray
    EI_z: np.ndarray
    GJ: np.ndarray
    EA: np.ndarray
    rho_Ip: np.ndarray
    kGA_y: np.ndarray
    kGA_z: np.ndarray
    rho_I_y: np.ndarray
    rho_I_z: np.ndarray


@final
class Rayleigh(Described):
    """Damping proportional to a link's mass and stiffness, D = mass M + stiffness K.

    M and K are the matrices of the link alone, over its flexible coordinates. Rigid-body motion has no loss.

    Parameters
    ----------
    mass : float
        Coefficient of the mass matrix [1/s].
    stiffness : float
        Coefficient of the stiffness matrix [s].
    """

    mass: Annotated[float, number("1/s", NOT_NEGATIVE)] = 0.0
    stiffness: Annotated[float, number("s", NOT_NEGATIVE)] = 0.0


@final
class Beam(Body):
    """A slender link that bends, twists and stretches. Its neutral axis is local x.

    The beam is uniform, tapered (with `section_tip`), or given by a table (`sections`). For the last two, `m`, `rho_Ip`
    and `stiffness` are the values at the base, and `profile` has the values everywhere.

    Parameters
    ----------
    length : float
        Length [m].
    mass, mass_per_length : float
        Mass [kg], or mass per length [kg/m]. Give one of them, or a material and a section.
    EI : float or {"y": float, "z": float}
        Bending stiffness [N m^2]. `EI["y"]` resists deflection along y. Required in every plane that has modes.
    GJ, EA : float
        Torsional [N m^2] and axial stiffness [N]. Required if there are torsion or axial modes.
    polar_inertia : float
        Mass moment of inertia about the beam's axis, per length [kg m]. Default: that of the section, else 0.
    modes : dict
        Number of modes in "y", "z", "torsion", "axial". A direction that is not given has none.
    shapes : str, family object, or a dict of them by direction
        Family of mode shapes in both bending planes: one of `KNOWN_SHAPES`, a table such as {"family": "clamped-mass",
        "mass": 0.1}, or an object with a method `basis`. A table becomes an object of the family. A dict sets families
        by direction, {"y": "polynomial", "torsion": "fixed-loaded"} (Lin & Lewis eq. 1). Other directions have their
        default, `flexarm.shapes.DEFAULTS`. Torsion and stretch have polynomials instead if the beam is not uniform,
        carries lumps or has segments. `families` has all four.
    damping : float, dict or list
        Ratio of critical damping of every mode of the link alone: its base is clamped, and it carries its lumps but
        neither the payload nor the links beyond. In the arm the ratios of the natural modes differ (see
        `control.vibrations`). A dict has, for each direction, one number or one per mode. A list follows the order of
        the coordinates.
    material, section : Material or str, and Rod, Tube or Box
        Material, or the name of one in `fa.MATERIALS` such as "aluminium", and section. Mass, EI, GJ, EA and
        polar_inertia follow from both. A stiffness or polar_inertia that is also given takes precedence. Fields that
        are not given remain None, so that they follow another section in `replace(section=...)`. The properties
        `stiffness`, `total_mass`, `m` and `rho_Ip` have the numbers that result.
    section_tip : the same kind as section
        Section at the tip. Its dimensions vary linearly from those of `section` at the base.
    segments : int, optional
        Number of beams in a chain that replaces the beam, for large deflections. The result converges with this number.
        Each segment has the `modes` with polynomial shapes, and foreshortening. `shapes` is "polynomial", which also
        replaces the default of a beam in one piece, "clamped-mass". `foreshortening` is true. `damping` is one number,
        the ratio of every mode of the complete beam.
    initial_angles : {"y": float, "z": float, "torsion": float}
        Angles by which the unloaded beam bends along y and z and twists about x, from its root to its tip [rad]. Its
        curvature and its twist in the axes of its sections are constant: the angle over the length. Needs `segments`.
    foreshortening : bool
        True if the tip moves inward as the beam bends, u_x = -1/2 int (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, with the
        sign corrected). This effect stiffens an arm that spins fast. In space the positions of points and sections then
        follow the strains to second order: a beam bent in two planes twists by -int u_y'' u_z'.
    next_joint : "slope" or "chord"
        Direction from which the angle of the next link is measured: u'(L), or u(L) / L (Lin & Lewis, section 2, case
        2). For a beam with shear the slope is the rotation angle of its last section.
    sections : SectionTable
        Table of mass and stiffness over x, in place of mass, mass_per_length, material and section. Properties that the
        table does not have, such as GJ, may be given as constants.
    tau : float
        Time constant of the material after Kelvin and Voigt [s]: the moment is EI (kappa + tau d kappa/dt), and
        likewise for the other stiffnesses.
    loss_factor : float
        Loss factor of the material. In a cycle at its own frequency, each mode of the link alone loses 2 pi times this
        share of its largest strain energy. Its ratio of critical damping is half the factor.
    rayleigh : Rayleigh
        Rayleigh damping {mass = a, stiffness = b}: D = a M + b K. All kinds of damping add.
    lumps : list of Lump
        Rigid bodies on the beam.
    shear : float or {"y": float, "z": float}
        Shear stiffness, kappa G A [N], for a Timoshenko beam. A beam of segments must be uniform or tapered, with two
        modes or more in each plane that shears.
    shear_coefficient : float or {"y": float, "z": float}
        Shear coefficient kappa in place of `shear`. G and A follow from material and section.
    rotary_inertia : bool, float or {"y": float, "z": float}
        Inertia of the sections against rotation as the beam bends. true takes it from material and section, or from the
        table. A number is its value per length [kg m].
    """

    type: Literal["beam"] = "beam"
    length: Annotated[float, number("m", POSITIVE)]
    mass: Annotated[float | None, optional_number("kg", POSITIVE)] = None
    mass_per_length: Annotated[float | None, optional_number("kg/m", POSITIVE)] = None
    EI: Annotated[float | dict[str, float] | None, _planes("N m^2")] = None
    GJ: Annotated[float | None, optional_number("N m^2", POSITIVE)] = None
    EA: Annotated[float | None, optional_number("N", POSITIVE)] = None
    polar_inertia: Annotated[float | None, optional_number("kg m", NOT_NEGATIVE)] = None
    modes: Annotated[dict[str, int], BeforeValidator(_modes)] = {"y": 2, "z": 2}  # noqa: RUF012
    shapes: Annotated[Any, BeforeValidator(_shapes)] = DEFAULTS["y"]
    damping: Annotated[Any, BeforeValidator(_damping)] = 0.0
    material: AnyMaterial = None
    section: Section | None = None
    section_tip: Section | None = None
    segments: Annotated[int | None, BeforeValidator(_segments)] = None
    initial_angles: Annotated[dict[str, float], BeforeValidator(_angles)] = {}  # noqa: RUF012
    foreshortening: Annotated[bool, checks.flag] = False
    next_joint: Literal["slope", "chord"] = "slope"
    sections: SectionTable | None = None
    tau: Annotated[float, number("s", NOT_NEGATIVE)] = 0.0
    loss_factor: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    rayleigh: Rayleigh | None = None
    lumps: Lumps = ()
    shear: Annotated[float | dict[str, float] | None, _planes("N")] = None
    shear_coefficient: Annotated[float | dict[str, float] | None, _planes("")] = None
    rotary_inertia: Annotated[bool | float | dict[str, float], BeforeValidator(_rotary)] = False

    @model_validator(mode="before")
    @classmethod
    def _segments_pass_moments(cls, data: Any) -> Any:
        """Set the default shapes and foreshortening of segments, which differ from those of a beam in one piece."""
        if not isinstance(data, Mapping) or data.get("segments") is None:
            return data
        given = data.get("shapes", DEFAULTS["y"])
        shapes = "polynomial" if isinstance(given, str) and given == DEFAULTS["y"] else given
        shortens = data.get("foreshortening", False)
        return {**data, "shapes": shapes, "foreshortening": True if shortens is False else shortens}

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.material is None) != (self.section is None):
            lone, missing = ("section", "material") if self.material is None else ("material", "section")
            raise Fault(missing, f"is missing; {lone} and {missing} must be given together")
        given = [
            name for name in ("mass", "mass_per_length", "material", "sections") if getattr(self, name) is not None
        ]
        ways = "mass, mass_per_length, sections, or material and section"
        if not given:
            raise Fault("mass", f"is missing; give one of {ways}")
        if len(given) > 1:
            raise Fault(given[0], f"is given together with {given[1]}; give only one of {ways}")
        self._check_table()
        for direction, (field, unit) in _STIFFNESS.items():
            if self.counts[direction] and direction not in self.stiffness:
                needed = f"{field} [{unit}]"
                if self.material is not None:
                    field, needed = "material.G", "material.G [N/m^2] or material.poisson"
                message = f"is missing; modes.{direction} is {self.counts[direction]}, which needs {needed}"
                raise Fault(field, message)
        self._check_shear_coefficient()
        if self.segments is not None:
            self._check_segments()
        elif self.curved:
            raise Fault("initial_angles", "is given; a beam that is bent at rest needs segments, such as segments = 4")
        self._check_shapes()
        self._check_taper()
        self._check_shear()
        self._check_sizes()
        self._check_damping()
        return self

    def _check_segments(self) -> None:
        for direction, shapes in self.families.items():
            if not isinstance(made := family(shapes, direction), Polynomial | RodPolynomial):
                name = getattr(made, "name", type(made).__name__)
                where = f"shapes.{direction}" if isinstance(self.shapes, dict) else "shapes"
                why = "a beam with segments needs 'polynomial' shapes, which transmit moments between segments"
                raise Fault(where, f"is {name!r}; {why}")
            if self.counts[direction] > MOST_SEGMENT_MODES:
                most = f"a segment can have at most {MOST_SEGMENT_MODES} modes: use more segments instead"
                raise Fault(f"modes.{direction}", f"is {self.counts[direction]}; {most}")
        turned = float(np.linalg.norm(list(self.initial_angles.values()))) / (self.segments or 1)
        if turned > MOST_TURNED:
            least = math.ceil(turned * (self.segments or 1) / MOST_TURNED)
            what = f"turns each segment by {turned:.3g} rad; use at least {counted(least, 'segment')}"
            raise Fault("initial_angles", f"{what}, or check that the angles are in radians")
        if self.next_joint != "slope":
            raise Fault("next_joint", f"is {self.next_joint!r}; with segments it must be 'slope'")
        for plane in self.sheared:
            if self.counts[plane] < LEAST_SHEARED:
                fewest = f"with shear a segment needs at least {LEAST_SHEARED}"
                raise Fault(f"modes.{plane}", f"is {self.counts[plane]}; {fewest}, whose curvature varies")
            if self.sections is not None:
                raise Fault("sections", "is given; with shear a beam of segments must be uniform or tapered")
        for i, lump in enumerate(self.lumps):
            for field, value in (("inertia", lump.inertia), ("offset", lump.offset)):
                if np.any(value):
                    message = "is given; with segments a lump is a point mass on the axis, so it must be 0"
                    raise Fault(f"lumps[{i}].{field}", message)
        if not isinstance(self.damping, float):
            what = "a list" if isinstance(self.damping, tuple) else "a table"
            raise Fault("damping", f"is {what}; with segments give one ratio for all modes of the beam")

    def _check_shapes(self) -> None:
        for direction, shapes in self.families.items():
            count, made = self.counts[direction], family(shapes, direction)
            refusal = getattr(made, "refusal", None)
            if refusal is not None and (why := refusal(count)):
                raise Fault(f"modes.{direction}", f"is {count}; {why}")
            if self.foreshortening and direction in BENDING and count > MOST_SHORTENING:
                raise Fault(
                    f"modes.{direction}", f"is {count}; with foreshortening it must be at most {MOST_SHORTENING}"
                )

        y, z, torsion, axial = self.counts.values()
        products = (y * (y + 1) + z * (z + 1)) // 2 + (torsion + axial) * (y + z)
        if self.foreshortening and products > MOST_PRODUCTS:
            pairs = f"give {counted(products, 'pair')} of modes for foreshortening"
            raise Fault("modes", f"{pairs}; at most {MOST_PRODUCTS} are allowed, so use fewer modes")

    def _check_table(self) -> None:
        """Raise `Fault` if a column of the section table is also given as a field."""
        for name in ("EI", "GJ", "EA", "polar_inertia", "shear", "rotary_inertia") if self.sections is not None else ():
            value, there = getattr(self, name), getattr(self.sections, name)
            if there is not None and not isinstance(value, bool | None):
                raise Fault(name, "is given both here and in sections; give only one")

    def _check_shear_coefficient(self) -> None:
        """Check that there is a material whose shear modulus the coefficient multiplies."""
        if self.shear_coefficient is not None:
            if self.shear is not None or (self.sections is not None and self.sections.shear is not None):
                raise Fault("shear_coefficient", "is given together with shear; give only one")
            if self.material is None:
                raise Fault(
                    "material", "is missing; shear_coefficient needs material and section (or give shear instead)"
                )
            if self.material.shear_modulus is None:
                raise Fault("material.G", "is missing; shear_coefficient needs material.G or material.poisson")

    def _check_shear(self) -> None:
        table = self.sections
        if self.rotary_inertia is True and self.material is None and (table is None or table.rotary_inertia is None):
            message = (
                "is true, but material and section are missing; give rotary_inertia as a number [kg m] or in sections"
            )
            raise Fault("rotary_inertia", message)
        for direction in BENDING:
            shapes = self.families[direction]
            if self.segments is None and direction in self.sheared and not follows_the_beam(family(shapes, direction)):
                given = shapes if isinstance(shapes, str) else getattr(shapes, "name", type(shapes).__name__)
                part = f"shapes.{direction}" if isinstance(self.shapes, dict) else "shapes"
                raise Fault(
                    part, f"is {given!r}, which has no shear deformation; it must be {choices(*map(repr, OF_THE_BEAM))}"
                )

    def _check_taper(self) -> None:
        base, tip = self.section, self.section_tip
        if tip is None:
            return
        if base is None:
            raise Fault("section", "is missing; section_tip needs section")
        if tip.type != base.type:
            raise Fault("section_tip.type", f"is {tip.type!r}; it must be the same type as section, {base.type!r}")
        for name, value in base:
            if (value is None) != (getattr(tip, name) is None):
                raise Fault(f"section_tip.{name}", f"must be given if section.{name} is given, and only then")
            if isinstance(value, float) and getattr(tip, name) > THINNEST_BASE * value:
                most = f"at most {THINNEST_BASE:g} times section.{name}, {value} m"
                raise Fault(f"section_tip.{name}", f"is {getattr(tip, name)} m; it must be {most}")

    def _check_sizes(self) -> None:
        """Check that derived properties have sizes that would be allowed if they were given."""
        for part, section in (("section", self.section), ("section_tip", self.section_tip)):
            for direction, value in self._stiffness(section).items() if section is not None else ():
                field, unit = _STIFFNESS[direction]
                _check_size(part, field, value, unit)
        _check_size("length", "mass", self.total_mass, "kg")

    def _check_damping(self) -> None:
        if isinstance(self.damping, Mapping):
            given = {
                f"damping.{direction}": (ratios, self.counts[direction]) for direction, ratios in self.damping.items()
            }
        else:
            given = {"damping": (self.damping, sum(self.counts.values()))}
        for part, (ratios, count) in given.items():
            if isinstance(ratios, tuple) and len(ratios) != count:
                raise Fault(
                    part,
                    f"has {counted(len(ratios), 'ratio')}; give one "
                    f"number, or {counted(count, 'number')}, one per mode",
                )

    @property
    def counts(self) -> dict[str, int]:
        """Number of modes in each of the four directions, in the order of the coordinates."""
        return {direction: self.modes.get(direction, 0) for direction in DIRECTIONS}

    @property
    def amplitudes(self) -> tuple[Amplitude, ...]:
        """Flexible coordinates in their order, segment by segment."""
        own = super().amplitudes
        if self.segments is None:
            return own
        return tuple(x._replace(name=f"s{i}.{x.name}", segment=i) for i in range(1, self.segments + 1) for x in own)

    @property
    def parts(self) -> tuple["Beam", ...]:
        """Segments of the beam as separate beams, or the beam itself if it is in one piece."""
        k = self.segments
        return (self,) if k is None else tuple(self.part(i / k, (i + 1) / k) for i in range(k))

    def part(self, a: float, b: float) -> "Beam":
        """Return the beam between two stations, fractions of the length, 0 <= a < b <= 1, as a beam in one piece.

        If the beam is bent at rest, or is of segments and shears, the piece has one segment.

        It has its share of the length, the mass, the taper or table and the lumps, in the order of their stations. A
        lump on the station b belongs to the next part. Modes, shapes and damping are the same. Raises
        `DescriptionError`.
        """
        with refused("part"):
            a, b = (checked_number(x, "", SHARE, part) for x, part in ((a, "a"), (b, "b")))
            if not a < b:
                raise Fault("b", f"is {b:g}; it must be larger than a, {a:g}")
        changes: dict[str, Any] = {"segments": None, "length": self.length * (b - a), "shapes": self.families}
        if self.curved:
            angles = {direction: angle * (b - a) for direction, angle in self.initial_angles.items()}
            changes |= {"segments": 1, "initial_angles": angles}
        if self.segments is not None and self.sheared:
            changes["segments"] = 1
        if self.mass is not None:
            changes["mass"] = self.mass * (b - a)
        if self.section is not None and self.section_tip is not None:
            ends = (between(self.section, self.section_tip, x) for x in (a, b))
            changes["section"], changes["section_tip"] = ends
        if self.sections is not None:
            changes["sections"] = self.sections.part(a, b)
        here = sorted((x for x in self.lumps if a <= x.at < b or x.at == b == 1.0), key=lambda lump: lump.at)
        changes["lumps"] = tuple(lump.replace(at=(lump.at - a) / (b - a)) for lump in here)
        return self.replace(**changes)

    @property
    def families(self) -> dict[str, Any]:
        """Family of mode shapes in each of the four directions, by name or as an object, as given or by default.

        A rod that is not uniform, carries lumps or has segments has polynomials in torsion and stretch by default.
        """
        given = self.shapes if isinstance(self.shapes, dict) else {"y": self.shapes, "z": self.shapes}
        plain = self.uniform and not self.lumps and self.segments is None
        defaults = DEFAULTS if plain else DEFAULTS | dict.fromkeys(RODS, RodPolynomial.name)
        return {direction: given.get(direction, defaults[direction]) for direction in DIRECTIONS}

    @property
    def curved(self) -> bool:
        """True if the unloaded beam is bent or twisted."""
        return any(self.initial_angles.values())

    @property
    def uniform(self) -> bool:
        """True if all sections are equal."""
        return self.section_tip is None and self.sections is None

    @property
    def classical(self) -> bool:
        """True for a uniform Euler-Bernoulli beam without lumps, whose modes are known in closed form."""
        return self.uniform and self.one_factor

    @cached_property
    def one_factor(self) -> bool:
        """True if all mode shapes are independent of the beam's mass and stiffness."""
        sheared = any(self.shears(direction) for direction in BENDING)
        return not (self.lumps or sheared or self.curved) and self.rotary_inertia is False

    def shears(self, direction: str) -> bool:
        """Return True if the beam has a shear stiffness along "y" or "z".

        Raises `DescriptionError` for another direction.
        """
        if not isinstance(direction, str) or direction not in BENDING:
            raise DescriptionError(f"Beam.shears: direction is {shown(direction)}; it must be {choices(*BENDING)}")
        along = self.profile(0.0)
        return bool((along.kGA_y if direction == "y" else along.kGA_z)[0])

    @property
    def sheared(self) -> tuple[str, ...]:
        """Directions "y" and "z" along which the beam bends and shears."""
        return tuple(direction for direction in BENDING if self.counts[direction] and self.shears(direction))

    @property
    def breaks(self) -> tuple[float, ...]:
        """Stations from 0 to 1 between which mass and stiffness are smooth."""
        return (0.0, 1.0) if self.sections is None else self.sections.breaks

    @property
    def m(self) -> float:
        """Mass per length [kg/m], at the base if it varies."""
        return self._m(self.section) if self.sections is None else self.sections.mass_per_length[0]

    def _m(self, section: Any) -> float:
        if self.mass_per_length is not None:
            return self.mass_per_length
        if self.mass is not None:
            return self.mass / self.length
        return self.material.density * section.area  # type: ignore[union-attr]

    @property
    def total_mass(self) -> float:
        """Mass without lumps [kg]."""
        if self.sections is not None:
            table = self.sections
            return float(np.trapezoid(table.mass_per_length, table.x)) * self.length
        if self.section_tip is not None:
            x, weights = _SIMPSON  # exact: an area is quadratic in x
            return float(weights @ self.profile(x).m) * self.length
        return self.mass if self.mass is not None else self.m * self.length

    @property
    def rho_Ip(self) -> float:
        """Mass moment of inertia about the beam's axis, per length [kg m], at the base if it varies."""
        return self._rho_Ip(self.section) if self.sections is None else float(self.profile(0.0).rho_Ip[0])

    def _rho_Ip(self, section: Any) -> float:
        if self.polar_inertia is not None:
            return self.polar_inertia
        return 0.0 if self.material is None else self.material.density * section.polar

    @property
    def stiffness(self) -> dict[str, float]:
        """EI along y and z [N m^2], GJ [N m^2] and EA [N] by direction, as far as they are known.

        Values that vary are those at the base.
        """
        known, table = self._stiffness(self.section), self.sections
        for direction, (column, _) in _STIFFNESS.items():
            if table is not None and (values := table.column(column)):
                known[direction] = values[0]
        return {direction: known[direction] for direction in DIRECTIONS if direction in known}

    def _stiffness(self, section: Any) -> dict[str, float]:
        known: dict[str, float | None] = {}
        if self.material is not None:
            E, G = self.material.E, self.material.shear_modulus
            known = {"y": E * section.I_y, "z": E * section.I_z, "axial": E * section.area}
            known["torsion"] = None if G is None else G * section.J
        EI = self.EI if isinstance(self.EI, dict) else {"y": self.EI, "z": self.EI}
        given = {**EI, "torsion": self.GJ, "axial": self.EA}
        known.update({direction: value for direction, value in given.items() if value is not None})
        return {direction: value for direction in DIRECTIONS if (value := known.get(direction)) is not None}

    def profile(self, x: Any) -> Profile:
        """Return mass and stiffness at the points x in [0, 1], (N,), with 0 at the base. Raises `DescriptionError`."""
        with refused("Beam"):
            x = np.atleast_1d(checks.checked_array(x, "x"))
        if x.ndim > 1 or np.any((x < 0) | (x > 1)):
            raise DescriptionError("Beam: x must be a list of points from 0 to 1")
        if self.section is None or self.section_tip is None:
            rows = [self._at(self.section)] * x.size
        else:
            rows = [self._at(between(self.section, self.section_tip, t)) for t in x]
        columns = list(np.array(rows, dtype=float).reshape(x.size, 10).T)
        table = self.sections
        for i, name in enumerate(_COLUMNS):
            if table is not None and table.column(name) and (self.rotary_inertia or not name.startswith("rotary")):
                columns[i] = table.at(name, x)
        return Profile(*columns)

    def _at(self, section: Any) -> tuple[float, ...]:
        """Return the properties of `Profile` for this section."""
        stiffness = self._stiffness(section)
        return (
            0.0 if self.sections is not None else self._m(section),
            *(stiffness.get(direction, 0.0) for direction in DIRECTIONS),
            self._rho_Ip(section),
            *(self._shear(section, direction) for direction in BENDING),
            *(self._rho_I(section, direction) for direction in BENDING),
        )

    def _shear(self, section: Any, direction: str) -> float:
        kappa = _of_plane(self.shear_coefficient, direction)
        if kappa is not None:
            return float(kappa * self.material.shear_modulus * section.area)  # type: ignore[union-attr, operator]
        return _of_plane(self.shear, direction) or 0.0

    def _rho_I(self, section: Any, direction: str) -> float:
        if self.rotary_inertia is not True:
            return _of_plane(self.rotary_inertia, direction) or 0.0
        if self.material is None:
            return 0.0
        return float(self.material.density * (section.I_y if direction == "y" else section.I_z))

    def rigid(self) -> Body:
        """Return the rigid body of the same mass and sections: a rod, or a beam without modes if it is bent at rest."""
        return self.replace(modes={}, damping=0.0) if self.curved else self.rod()

    def rod(self) -> Rigid:
        """Return the straight rigid rod of the same mass and sections, with the same lumps.

        Raises `DescriptionError` for a beam that is bent at rest.
        """
        if self.curved:
            raise DescriptionError("Beam: initial_angles is given, but a rigid rod is straight; use Beam.rigid()")
        if self.uniform:
            along, L = self.profile(0.0), self.length
            rod = self.total_mass * L**2 / 12
            principal = (self.rho_Ip * L, rod + float(along.rho_I_z[0]) * L, rod + float(along.rho_I_y[0]) * L)
            return Rigid(length=L, mass=self.total_mass, inertia=principal, lumps=self.lumps)
        x, weights = quadrature(breaks=self.breaks)
        local, s, dx = self.profile(x), x * self.length, weights * self.length
        mass = float(dx @ local.m)
        center = float(dx @ (local.m * s)) / mass
        rod = float(dx @ (local.m * (s - center) ** 2))
        principal = (float(dx @ local.rho_Ip), rod + float(dx @ local.rho_I_z), rod + float(dx @ local.rho_I_y))
        return Rigid(length=self.length, mass=mass, com=(center, 0.0, 0.0), inertia=principal, lumps=self.lumps)

    @property
    def damping_ratios(self) -> tuple[float, ...]:
        """Ratio of critical damping, one per mode in the order of the coordinates."""
        if isinstance(self.damping, tuple):
            return self.damping
        ratios: list[float] = []
        for direction, count in self.counts.items():
            given = self.damping.get(direction, 0.0) if isinstance(self.damping, Mapping) else self.damping
            ratios += given if isinstance(given, tuple) else [given] * count
        if self.segments is not None:
            ratios *= self.segments
        return tuple(ratios)


def _of_plane(value: Any, direction: str) -> float | None:
    """Return a number for both planes, or the number of one plane. None if there is none."""
    if isinstance(value, bool):
        return None
    return value.get(direction) if isinstance(value, Mapping) else value


_COLUMNS = (
    "mass_per_length", "EI.y", "EI.z", "GJ", "EA", "polar_inertia", "shear.y", "shear.z", "rotary_inertia.y",
    "rotary_inertia.z",
)  # fmt: skip
"""Columns of a section table, in the order of `Profile`."""
_SIMPSON = (np.array([0.0, 0.5, 1.0]), np.array([1.0, 4.0, 1.0]) / 6)
_STIFFNESS = {"y": ("EI.y", "N m^2"), "z": ("EI.z", "N m^2"), "torsion": ("GJ", "N m^2"), "axial": ("EA", "N")}
