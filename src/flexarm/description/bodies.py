"""The bodies of links: a beam that deforms, a rigid one that does not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm import checks
from flexarm.checks import (
    ANY_SIZE,
    NOT_NEGATIVE,
    POSITIVE,
    Described,
    Fault,
    Inertia,
    Vector,
    checked_integer,
    checked_keys,
    checked_list,
    checked_number,
    number,
    optional_number,
    optional_vector,
    shown,
    tensor,
    with_unit,
)
from flexarm.description.sections import Material, Section, between
from flexarm.errors import DescriptionError
from flexarm.shapes import BENDING, DEFAULTS, DIRECTIONS, FAMILIES, checked, family

KNOWN_SHAPES = tuple(FAMILIES)
MOST_MODES = 40
MOST_SHORTENING = 12
"""Modes of a plane with foreshortening: the work goes with their fourth power, 10 s of it with so many in both."""
THINNEST_BASE = 100.0
"""How many times as thick as its base a beam may be at its tip; with 500 times, fine models lose their last digit."""


def _bending_stiffness(value: object) -> Any:
    unit = "N m^2"
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return checked_number(value, unit, POSITIVE)
    checked_keys(value, ("y", "z"))
    return {plane: checked_number(EI, unit, POSITIVE, plane) for plane, EI in value.items()}


def _modes(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        raise Fault("", f"is {shown(value)}; it must be a table such as {{y = 2, z = 2}}")
    checked_keys(value, DIRECTIONS)
    return {direction: checked_integer(count, MOST_MODES, direction) for direction, count in value.items()}


def _shapes(value: object) -> Any:
    """A family for both bending planes, or a table of families by direction."""
    if not isinstance(value, Mapping) or "family" in value or not _by_direction(value):
        return checked(value)
    checked_keys(value, DIRECTIONS)
    found = {}
    for direction, given in value.items():
        try:
            found[direction] = checked(given, direction)
        except Fault as fault:
            raise Fault(".".join(filter(None, (direction, fault.part))), fault.message, fault.sentence) from None
    return found


def _by_direction(table: Mapping) -> bool:
    """Whether a table without `family` is one of directions, be they spelled wrong: it has one, or families in it."""
    return any(
        key in DIRECTIONS or isinstance(value, str | Mapping) or hasattr(value, "basis") for key, value in table.items()
    )


def _ratios(value: object, part: str = "") -> Any:
    """One damping ratio, or a tuple of them."""
    if not isinstance(value, list | tuple | np.ndarray):
        return checked_number(value, "", NOT_NEGATIVE, part)
    return tuple(checked_number(x, "", NOT_NEGATIVE, f"{part}[{i}]") for i, x in enumerate(checked_list(value, "")))


def _damping(value: object) -> Any:
    if not isinstance(value, Mapping):
        return _ratios(value)
    checked_keys(value, DIRECTIONS)
    return {direction: _ratios(given, direction) for direction, given in value.items()}


def _check_size(part: str, field: str, value: float, unit: str) -> None:
    least, most = ANY_SIZE
    if not least <= value <= most:
        raise Fault(part, f"makes {field} {with_unit(value, unit)}; it must be from {least:g} to {most:g} {unit}")


@final
@dataclass(frozen=True)
class Profile:
    """A beam's properties at points along it, each an array (N,); a stiffness that is not known is zero.

    Attributes
    ----------
    m : mass per length [kg/m]
    EI_y, EI_z : bending stiffness against deflection along y and z [N m^2]
    GJ : torsional stiffness [N m^2]
    EA : axial stiffness [N]
    rho_Ip : mass moment of inertia about the beam's axis, per length [kg m]
    """

    m: np.ndarray
    EI_y: np.ndarray
    EI_z: np.ndarray
    GJ: np.ndarray
    EA: np.ndarray
    rho_Ip: np.ndarray


class Body(Described):
    """What every kind of body says of itself; its origin is the joint's, its tip lies along local x.

    Attributes
    ----------
    length : float
        From the origin to the tip [m].
    """

    type: str
    length: Annotated[float, number("m", NOT_NEGATIVE)]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        checks.own_type(cls, Body)

    @property
    def total_mass(self) -> float:
        """[kg]"""
        raise NotImplementedError

    @property
    def counts(self) -> dict[str, int]:
        """Number of flexible coordinates in each direction, in their order; torsion's are angles, others lengths."""
        return {}

    def rigid(self) -> "Body":
        """What stands for it where nothing bends."""
        return self


@final
class Beam(Body):
    """A slender link that bends, twists and stretches; its neutral axis is local x.

    It is uniform, or tapered where there is a `section_tip`; then `m`, `rho_Ip` and `stiffness` are those at its base,
    `profile` has them everywhere.

    Parameters
    ----------
    length : float
        [m]
    mass, mass_per_length : float
        [kg], [kg/m]: one of them, or a material and a section.
    EI : float or {"y": float, "z": float}
        Bending stiffness [N m^2]; `EI["y"]` resists deflection along y. Needed in every plane that has modes.
    GJ, EA : float
        Torsional [N m^2] and axial stiffness [N]; needed where there are torsion or axial modes.
    polar_inertia : float
        Mass moment of inertia about the beam's axis, per length [kg m]. Default: the section's, else 0.
    modes : dict
        Number of modes in "y", "z", "torsion", "axial"; a missing direction has none.
    shapes : str, family object, or a dict of them by direction
        Family of mode shapes in both bending planes: one of `KNOWN_SHAPES`, a table such as
        {"family": "clamped-mass", "mass": 0.1}, or an object with a method `basis`. A table becomes the family's
        object. By direction, {"y": "polynomial", "torsion": "fixed-loaded"} (Lin & Lewis eq. 1); a direction that is
        missing has its default, `flexarm.shapes.DEFAULTS`. `families` has all four.
    damping : float, dict or list
        Ratio of critical damping of every mode; or by direction, one number or one per mode; or a list in the order of
        the coordinates.
    material, section : Material, and Rod, Tube or Box
        From which mass, EI, GJ, EA and polar_inertia follow; a stiffness or polar_inertia given beside them wins.
    section_tip : the same kind as section
        Section at the tip: its dimensions vary linearly from `section` at the base.
    foreshortening : bool
        Whether the tip draws near as the beam bends, u_x = -1/2 int (u_y'^2 + u_z'^2) (Mohan & Saha eq. 1b, its sign
        corrected): what stiffens an arm that spins fast.
    next_joint : "slope" or "chord"
        Where the angle of the next link is measured from: u'(L), or u(L) / L (Lin & Lewis, section 2, case 2).
    """

    type: Literal["beam"] = "beam"
    length: Annotated[float, number("m", POSITIVE)]
    mass: Annotated[float | None, optional_number("kg", POSITIVE)] = None
    mass_per_length: Annotated[float | None, optional_number("kg/m", POSITIVE)] = None
    EI: Annotated[float | dict[str, float] | None, BeforeValidator(_bending_stiffness)] = None
    GJ: Annotated[float | None, optional_number("N m^2", POSITIVE)] = None
    EA: Annotated[float | None, optional_number("N", POSITIVE)] = None
    polar_inertia: Annotated[float | None, optional_number("kg m", NOT_NEGATIVE)] = None
    modes: Annotated[dict[str, int], BeforeValidator(_modes)] = {"y": 2, "z": 2}  # noqa: RUF012
    shapes: Annotated[Any, BeforeValidator(_shapes)] = DEFAULTS["y"]
    damping: Annotated[Any, BeforeValidator(_damping)] = 0.0
    material: Material | None = None
    section: Section | None = None
    section_tip: Section | None = None
    foreshortening: Annotated[bool, checks.flag] = False
    next_joint: Literal["slope", "chord"] = "slope"

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if (self.material is None) != (self.section is None):
            lone, missing = ("section", "material") if self.material is None else ("material", "section")
            raise Fault(missing, f"is missing; a {lone} needs a {missing} beside it")
        given = [name for name in ("mass", "mass_per_length", "material") if getattr(self, name) is not None]
        if not given:
            raise Fault("mass", "is missing; give mass, mass_per_length, or material and section")
        if len(given) > 1:
            raise Fault(given[0], f"is given beside {given[1]}; give mass, mass_per_length, or material and section")
        for direction, (field, unit) in _STIFFNESS.items():
            if self.counts[direction] and direction not in self.stiffness:
                modes = f"modes.{direction} is {self.counts[direction]}"
                if self.material is not None:
                    field, unit = "material.G", "N/m^2, or material.poisson"
                raise Fault(field, f"is missing; {modes}, so it must be given [{unit}]")
        self._check_shapes()
        self._check_taper()
        self._check_sizes()
        self._check_damping()
        return self

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

    def _check_taper(self) -> None:
        base, tip = self.section, self.section_tip
        if tip is None:
            return
        if base is None:
            raise Fault("section", "is missing; a section_tip needs a section beside it")
        if tip.type != base.type:
            raise Fault("section_tip.type", f"is {tip.type!r}; it must be that of section, {base.type!r}")
        for name, value in base:
            if (value is None) != (getattr(tip, name) is None):
                raise Fault(f"section_tip.{name}", "must be given where section has it, and only there")
            if isinstance(value, float) and getattr(tip, name) > THINNEST_BASE * value:
                most = f"at most {THINNEST_BASE:g} times that of section, {value} m"
                raise Fault(f"section_tip.{name}", f"is {getattr(tip, name)} m; it must be {most}")

    def _check_sizes(self) -> None:
        """What follows from the numbers given keeps to the sizes that it would have to keep to if it were given."""
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
                raise Fault(part, f"has {len(ratios)} ratios; it must be one number or have {count}, one per mode")

    @property
    def counts(self) -> dict[str, int]:
        """Number of modes in each of the four directions, in the order of the coordinates."""
        return {direction: self.modes.get(direction, 0) for direction in DIRECTIONS}

    @property
    def families(self) -> dict[str, Any]:
        """The family of mode shapes in each of the four directions, its name or object, as given or by default."""
        given = self.shapes if isinstance(self.shapes, dict) else {"y": self.shapes, "z": self.shapes}
        return {direction: given.get(direction, DEFAULTS[direction]) for direction in DIRECTIONS}

    @property
    def m(self) -> float:
        """Mass per length [kg/m]; of a tapered beam, at its base."""
        return self._m(self.section)

    def _m(self, section: Any) -> float:
        if self.mass_per_length is not None:
            return self.mass_per_length
        if self.mass is not None:
            return self.mass / self.length
        return self.material.density * section.area  # type: ignore[union-attr]

    @property
    def total_mass(self) -> float:
        """[kg]"""
        if self.section_tip is not None:
            x, weights = _SIMPSON  # exact: an area is quadratic in x
            return float(weights @ self.profile(x).m) * self.length
        return self.mass if self.mass is not None else self.m * self.length

    @property
    def rho_Ip(self) -> float:
        """Mass moment of inertia about the beam's axis, per length [kg m]; of a tapered beam, at its base."""
        return self._rho_Ip(self.section)

    def _rho_Ip(self, section: Any) -> float:
        if self.polar_inertia is not None:
            return self.polar_inertia
        return 0.0 if self.material is None else self.material.density * section.polar

    @property
    def stiffness(self) -> dict[str, float]:
        """EI along y and z [N m^2], GJ [N m^2] and EA [N] by direction, as far as they are known.

        Of a tapered beam, at its base.
        """
        return self._stiffness(self.section)

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
        """Mass and stiffness at the points x in [0, 1], (N,), 0 being the base; raises `DescriptionError`."""
        try:
            x = np.atleast_1d(checks.checked_array(x, "x"))
        except Fault as fault:
            raise DescriptionError(f"Beam: {fault.part} {fault.message}") from None
        if x.ndim > 1 or np.any((x < 0) | (x > 1)):
            raise DescriptionError("Beam: x must be a list of points from 0 to 1")
        if self.section is None or self.section_tip is None:
            rows = [self._at(self.section)] * x.size
        else:
            rows = [self._at(between(self.section, self.section_tip, t)) for t in x]
        return Profile(*np.array(rows, dtype=float).reshape(x.size, 6).T)

    def _at(self, section: Any) -> tuple[float, ...]:
        """The six properties of `Profile` where the section is this one."""
        stiffness = self._stiffness(section)
        return (self._m(section), *(stiffness.get(direction, 0.0) for direction in DIRECTIONS), self._rho_Ip(section))

    def rigid(self) -> "Rigid":
        """The rigid rod of the same mass and sections."""
        if self.section_tip is None:
            rod = self.total_mass * self.length**2 / 12
            principal = (self.rho_Ip * self.length, rod, rod)
            return Rigid(length=self.length, mass=self.total_mass, inertia=principal)
        t, weights = np.polynomial.legendre.leggauss(4)  # exact to x^7; the integrands are of fourth degree
        x, local = (1 + t) / 2, self.profile((1 + t) / 2)
        dx = weights / 2 * self.length
        mass, s = float(dx @ local.m), x * self.length
        center = float(dx @ (local.m * s)) / mass
        rod = float(dx @ (local.m * (s - center) ** 2))
        principal = (float(dx @ local.rho_Ip), rod, rod)
        return Rigid(length=self.length, mass=mass, com=(center, 0.0, 0.0), inertia=principal)

    @property
    def damping_ratios(self) -> tuple[float, ...]:
        """Ratio of critical damping, one per mode in the order of the coordinates."""
        if isinstance(self.damping, tuple):
            return self.damping
        ratios: list[float] = []
        for direction, count in self.counts.items():
            given = self.damping.get(direction, 0.0) if isinstance(self.damping, Mapping) else self.damping
            ratios += given if isinstance(given, tuple) else [given] * count
        return tuple(ratios)


_SIMPSON = (np.array([0.0, 0.5, 1.0]), np.array([1.0, 4.0, 1.0]) / 6)
_STIFFNESS = {"y": ("EI.y", "N m^2"), "z": ("EI.z", "N m^2"), "torsion": ("GJ", "N m^2"), "axial": ("EA", "N")}


@final
class Rigid(Body):
    """A link that does not deform, from its origin to its tip along local x.

    Parameters
    ----------
    length : float
        From the origin to the tip [m]; 0 is allowed.
    mass : float
        [kg]
    com : (3,), optional
        Centre of mass [m]; default (length/2, 0, 0).
    inertia : float, (3,) or (3, 3), optional
        About the centre of mass [kg m^2]; default a slender uniform rod along x.
    """

    type: Literal["rigid"] = "rigid"
    length: Annotated[float, number("m", NOT_NEGATIVE)]
    mass: Annotated[float, number("kg", POSITIVE)]
    com: Annotated[Vector | None, optional_vector("m")] = None
    inertia: Annotated[Inertia | None, checks.optional_inertia] = None

    @property
    def total_mass(self) -> float:
        """[kg]"""
        return self.mass

    @property
    def center(self) -> Vector:
        """Centre of mass, given or by default [m]."""
        return (self.length / 2, 0.0, 0.0) if self.com is None else self.com

    @property
    def inertia_tensor(self) -> np.ndarray:
        """About the centre of mass, (3, 3), given or by default [kg m^2]."""
        if self.inertia is not None:
            return tensor(self.inertia)
        rod = self.mass * self.length**2 / 12
        return tensor((0.0, rod, rod))
