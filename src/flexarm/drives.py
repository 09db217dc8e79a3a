"""Drives by name: values of a joint's `preset`, and the sources of their numbers.

fa.drives.preset("harmonic-drive-25-100").source
fa.Revolute(preset="harmonic-drive-25-100", rotor_inertia=2e-4)
"""

from flexarm.checks import unknown_name
from flexarm.description.presets import PRESETS, Preset
from flexarm.errors import DescriptionError

__all__ = ["Preset", "preset", "presets"]


def presets() -> tuple[str, ...]:
    """Return the names of the drives."""
    return tuple(PRESETS)


def preset(name: str) -> Preset:
    """Return a drive by its name: a description, its source, and its fields of a joint. Raises `DescriptionError`."""
    if not isinstance(name, str) or name not in PRESETS:
        raise DescriptionError(unknown_name("unknown preset", name, PRESETS, "known presets are"))
    return PRESETS[name]
