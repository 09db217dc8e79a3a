"""Mode shapes: bending, torsion and stretch of a link, in the normalised coordinate x in [0, 1].

A family is a frozen object with a `name` and `basis(count)`, which returns its first `count` shapes as a `Basis`. Three
members are optional:

- `fitted(beam, direction, load)` returns the family for one case, if it depends on the beam or on its load.
- `refusal(count)` returns why the family does not have this number of shapes.
- `directions` are the directions that the family suits, if these are not all.

A new family is one class and one entry in FAMILIES, or ROD_FAMILIES. A link of length L has phi(s / L), so each d/ds
contributes a factor 1 / L.
"""

from collections.abc import Mapping
from typing import Any

from flexarm.checks import Described, Fault, a_kind, advised, choices, did_you_mean, faulted, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.shapes.basis import BENDING, DIRECTIONS, RODS, Basis, quadrature, scaled
from flexarm.shapes.closed import ClosedForm, Constant, closed_form, constants, rational
from flexarm.shapes.craig import CraigBampton
from flexarm.shapes.freeform import FreeForm
from flexarm.shapes.loaded import (
    NO_LOAD,
    ClampedLoaded,
    ClampedMass,
    TipLoad,
    checked_case,
    f1,
    f2,
    frequency_equation,
    loaded_roots,
)
from flexarm.shapes.pieces import Hermite, HermiteModes, ModesOf, Polynomial
from flexarm.shapes.rods import FixedFree, FixedLoaded, LinearElements, RodPolynomial, rod_roots
from flexarm.shapes.uniform import ClampedFree, ClampedPinned, PinnedFree, PinnedPinned, pinned_roots, roots

__all__ = [
    "BENDING",
    "DEFAULTS",
    "DIRECTIONS",
    "FAMILIES",
    "NO_LOAD",
    "OF_THE_BEAM",
    "RODS",
    "ROD_FAMILIES",
    "Basis",
    "ClampedFree",
    "ClampedLoaded",
    "ClampedMass",
    "ClampedPinned",
    "ClosedForm",
    "Constant",
    "CraigBampton",
    "FixedFree",
    "FixedLoaded",
    "FreeForm",
    "Hermite",
    "HermiteModes",
    "LinearElements",
    "ModesOf",
    "PinnedFree",
    "PinnedPinned",
    "Polynomial",
    "RodPolynomial",
    "TipLoad",
    "checked",
    "closed_form",
    "constants",
    "f1",
    "f2",
    "family",
    "fitted",
    "follows_the_beam",
    "frequency_equation",
    "loaded_roots",
    "pinned_roots",
    "quadrature",
    "rational",
    "rod_roots",
    "roots",
    "scaled",
]

_CLASSES = (
    ClampedFree, ClampedMass, ClampedLoaded, PinnedPinned, PinnedFree, ClampedPinned, Polynomial, CraigBampton, Hermite,
    HermiteModes, FreeForm,
)  # fmt: skip
FAMILIES: dict[str, type[Described]] = {kind.name: kind for kind in _CLASSES}
"""Families for bending, by name."""

_ROD_CLASSES = (FixedFree, FixedLoaded, RodPolynomial, LinearElements, FreeForm)
ROD_FAMILIES: dict[str, type[Described]] = {kind.name: kind for kind in _ROD_CLASSES}
"""Families for torsion and stretch, by name."""

DEFAULTS = dict.fromkeys(BENDING, "clamped-mass") | dict.fromkeys(RODS, "fixed-loaded")
"""The default family of each direction, which is the most accurate one with few modes (`benchmarks/families.py`)."""


def known(direction: str) -> dict[str, type[Described]]:
    """Return the families for a direction, by name. Raise `DescriptionError` for an unknown direction."""
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise DescriptionError(f"direction is {shown(direction)}; it must be {choices(*map(repr, DIRECTIONS))}")
    return ROD_FAMILIES if direction in RODS else FAMILIES


def family(shapes: Any, direction: str = "y") -> Any:
    """Return the family of mode shapes with this name, or of this table. An object that has `basis` is returned as is.

    Names and tables are those for `direction`. "y" and "z" have the same ones, and so have "torsion" and "axial".

    Raises
    ------
    DescriptionError
        The value is neither, or does not suit the direction, or the table is wrong. The message lists what is allowed.
    """
    try:
        made = checked(shapes, direction)
    except Fault as fault:
        free = isinstance(shapes, str) and shapes == FreeForm.name
        if not (fault.part or free or isinstance(shapes, Mapping | Described)):
            given = repr(shapes) if isinstance(shapes, str) else f"of type {type(shapes).__name__}"
            names = ", ".join(map(repr, known(direction)))
            advice = f"known families are {names}; or give a table, or an object with basis(count)"
            hint = did_you_mean(shapes, known(direction))
            raise DescriptionError(advised(f"unknown shapes {given}", hint, advice)) from None
        raise DescriptionError(f"{'.'.join(filter(None, ('shapes', fault.part)))} {fault.message}") from None
    return known(direction)[made]() if isinstance(made, str) else made


def checked(shapes: Any, direction: str = "y") -> Any:
    """Return the name of a family for a direction, or a family object, into which a table is converted.

    Raises `Fault`.
    """
    families = known(direction)
    known_are = f"known families{'' if direction in BENDING else f' for {direction}'} are"
    names = ", ".join(map(repr, families))
    allowed = f"{known_are} {names}"
    if isinstance(shapes, str):
        if shapes not in families:
            elsewhere = shapes in FAMILIES or shapes in ROD_FAMILIES
            unfit = f", which is not for {direction}" if elsewhere else ""
            hint = "" if elsewhere else did_you_mean(shapes, families)
            raise Fault("", advised(f"is {shown(shapes)}{unfit}", hint, f"{allowed}, or a family object"))
        if shapes == FreeForm.name:
            table = '{family = "free-form", x = [...], values = [[...], ...]}'
            raise Fault("", f"is 'free-form'; it must be a table {table}")
        return shapes
    if isinstance(shapes, Mapping):
        if "family" not in shapes:
            raise Fault("family", f"is missing; {allowed}")
        name = shapes["family"]
        if not isinstance(name, str) or name not in families:
            raise Fault("family", unknown_name("is", name, families, known_are, names))
        if name == FreeForm.name and direction in RODS:
            shapes = {"pinned": True, **shapes}
        return faulted(families[name], shapes)
    if isinstance(shapes, type) or not callable(getattr(shapes, "basis", None)):
        raise Fault("", f"is {shown(shapes)}; it must be the name of a family or an object with a method 'basis'")
    suited = getattr(shapes, "directions", DIRECTIONS)
    if direction not in suited:
        raise Fault("", f"is {a_kind(shapes)}, which is for {choices(*suited)}; {allowed}, or a family object")
    return shapes


OF_THE_BEAM = ("clamped-free", "clamped-mass", "hermite-modes", "craig-bampton")
"""Families for bending whose shapes are those of the actual beam, including its lumps, shear and rotary inertia."""


def follows_the_beam(made: Any) -> bool:
    """Return True if a family's shapes can be those of the actual beam."""
    return isinstance(made, ClampedFree | HermiteModes | CraigBampton) or (
        isinstance(made, ClampedMass) and not made.in_ratios
    )


def fitted(shapes: Any, beam: Any, direction: str, load: TipLoad = NO_LOAD) -> Any:
    """Return the family for a beam that deforms in `direction`, "y", "z", "torsion" or "axial", with `load` at its tip.

    Names, tables and objects are as in `family`. A family without `fitted` is returned as it is. If the beam is not
    uniform, carries lumps, shears or has rotary inertia, "clamped-free" and "clamped-mass" (not in ratios) become the
    modes of the actual beam. Raises `DescriptionError`.
    """
    checked_case("fitted", beam, load)
    made = family(shapes, direction)
    if isinstance(made, ClampedFree) and not beam.classical:
        made = HermiteModes(mass=0.0)
    elif isinstance(made, ClampedMass) and not made.in_ratios and not beam.classical:
        made = HermiteModes(**{name: getattr(made, name) for name in ("mass", "inertia", "first_moment", "tip")})
    fit = getattr(made, "fitted", None)
    return made if fit is None else fit(beam, direction, load)


def may_follow_load(shapes: Any, direction: str) -> bool:
    """Return False if the shapes that `fitted` gives for a beam are the same whatever the load at its tip is.

    "clamped-free" is among these families: the modes of the actual beam are then those without a load.
    """
    return hasattr(family(shapes, direction), "fitted")
