"""Mode shapes: how a link may bend, twist and stretch, in the normalised coordinate x in [0, 1].

A family is a frozen object with a `name` and `basis(count)`, which gives its first `count` shapes as a `Basis`. One
that depends on the beam, or on what the beam carries, has besides `fitted(beam, direction, load)`, which gives the
family for one case; one that cannot give every count has `refusal(count)`, which says why. A new family is one class
and one entry in FAMILIES. A link of length L has phi(s / L), so each d/ds costs a factor 1 / L.
"""

from collections.abc import Mapping
from typing import Any

from flexarm.checks import Described, Fault, faulted, shown
from flexarm.errors import DescriptionError
from flexarm.shapes.basis import Basis, quadrature, scaled
from flexarm.shapes.closed import ClosedForm, Constant, closed_form, constants, rational
from flexarm.shapes.freeform import FreeForm
from flexarm.shapes.loaded import NO_LOAD, ClampedLoaded, ClampedMass, TipLoad, f1, f2, frequency_equation, loaded_roots
from flexarm.shapes.pieces import Hermite, HermiteModes, ModesOf, Polynomial
from flexarm.shapes.uniform import ClampedFree, ClampedPinned, FixedFree, PinnedFree, PinnedPinned, pinned_roots, roots

__all__ = [
    "FAMILIES",
    "NO_LOAD",
    "Basis",
    "ClampedFree",
    "ClampedLoaded",
    "ClampedMass",
    "ClampedPinned",
    "ClosedForm",
    "Constant",
    "FixedFree",
    "FreeForm",
    "Hermite",
    "HermiteModes",
    "ModesOf",
    "PinnedFree",
    "PinnedPinned",
    "Polynomial",
    "TipLoad",
    "checked",
    "closed_form",
    "constants",
    "f1",
    "f2",
    "family",
    "fitted",
    "frequency_equation",
    "loaded_roots",
    "pinned_roots",
    "quadrature",
    "rational",
    "roots",
    "scaled",
]

_CLASSES = (
    ClampedFree, ClampedMass, ClampedLoaded, PinnedPinned, PinnedFree, ClampedPinned, Polynomial, Hermite, HermiteModes,
    FreeForm,
)  # fmt: skip
FAMILIES: dict[str, type[Described]] = {kind.name: kind for kind in _CLASSES}
"""Families for bending, by name. Torsion and stretch have their own, FixedFree."""


def family(shapes: Any) -> Any:
    """The family of mode shapes with this name, or of this table; an object that has `basis` comes back as is.

    Raises
    ------
    DescriptionError
        If it is neither, or the table is wrong; the message says what is allowed.
    """
    try:
        made = checked(shapes)
    except Fault as fault:
        if not fault.part and shapes != FreeForm.name and not isinstance(shapes, Mapping):
            given = repr(shapes) if isinstance(shapes, str) else f"of type {type(shapes).__name__}"
            known = ", ".join(map(repr, FAMILIES))
            raise DescriptionError(
                f"shapes {given}: unknown; allowed are {known}, a table, or an object with basis(count)"
            ) from None
        raise DescriptionError(f"{'.'.join(filter(None, ('shapes', fault.part)))} {fault.message}") from None
    return FAMILIES[made]() if isinstance(made, str) else made


def checked(shapes: Any) -> Any:
    """The name of a family, or a family object, which a table becomes; raises `Fault`."""
    known = ", ".join(map(repr, FAMILIES))
    if isinstance(shapes, str):
        if shapes not in FAMILIES:
            raise Fault("", f"is {shown(shapes)}; known are {known}, or a family object")
        if shapes == FreeForm.name:
            table = '{family = "free-form", x = [...], values = [[...], ...]}'
            raise Fault("", f"is 'free-form'; it must be a table {table}")
        return shapes
    if isinstance(shapes, Mapping):
        if "family" not in shapes:
            raise Fault("family", f"is missing; known are {known}")
        name = shapes["family"]
        if not isinstance(name, str) or name not in FAMILIES:
            raise Fault("family", f"is {shown(name)}; known are {known}")
        return faulted(FAMILIES[name], shapes)
    if isinstance(shapes, type) or not callable(getattr(shapes, "basis", None)):
        raise Fault("", f"is {shown(shapes)}; it must be the name of a family or an object with a method 'basis'")
    return shapes


def fitted(shapes: Any, beam: Any, direction: str, load: TipLoad = NO_LOAD) -> Any:
    """The family for a beam that bends along `direction`, "y" or "z", and carries `load` at its tip.

    Names, tables and objects as in `family`; a family without `fitted` comes back as it is. Where the beam is tapered,
    "clamped-free" and "clamped-mass" (not in ratios) are the modes of the actual beam.
    """
    made = family(shapes)
    if beam.section_tip is not None and isinstance(made, ClampedFree):
        made = HermiteModes(mass=0.0)
    elif beam.section_tip is not None and isinstance(made, ClampedMass) and not made.in_ratios:
        made = HermiteModes(**{name: getattr(made, name) for name in ("mass", "inertia", "first_moment", "tip")})
    fit = getattr(made, "fitted", None)
    return made if fit is None else fit(beam, direction, load)
