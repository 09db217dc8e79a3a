"""Catalogue of the drives that a revolute joint takes by name, with the sources of their numbers.

fa.presets.names()
fa.presets.preset("harmonic-drive-25-100").source
fa.Revolute(preset="harmonic-drive-25-100", rotor_inertia=2e-4)
"""

from typing import Any

from flexarm.checks import unknown_name
from flexarm.description.presets import PRESETS, Preset
from flexarm.errors import DescriptionError
from flexarm.renamed import renamed

__all__ = ["Preset", "names", "preset"]


def names() -> tuple[str, ...]:
    """Return the names of all presets, as `Revolute(preset=...)` takes them."""
    return tuple(PRESETS)


def preset(name: str) -> Preset:
    """Return the preset of this name: a description, its source, and the fields that it gives a joint [SI units].

    Raises `DescriptionError` for an unknown name; the message lists the known ones.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise DescriptionError(unknown_name("unknown preset", name, PRESETS, "known presets are"))
    return PRESETS[name]


def __getattr__(name: str) -> Any:
    return renamed(__name__, {"presets": "names"}, name)
