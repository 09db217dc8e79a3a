"""Drives by name: what `preset` of a joint may be, and where the numbers come from.

fa.drives.preset("harmonic-drive-25-100").source
fa.Revolute(preset="harmonic-drive-25-100", rotor_inertia=2e-4)
"""

from flexarm.checks import meant, shown
from flexarm.description.presets import PRESETS, Preset
from flexarm.errors import DescriptionError

__all__ = ["Preset", "preset", "presets"]


def presets() -> tuple[str, ...]:
    """Their names."""
    return tuple(PRESETS)


def preset(name: str) -> Preset:
    """A drive by its name: what it is, its source, and the fields it gives a joint; raises `DescriptionError`."""
    if not isinstance(name, str) or name not in PRESETS:
        raise DescriptionError(f"preset is {shown(name)}; known are {', '.join(PRESETS)}{meant(name, PRESETS)}")
    return PRESETS[name]
