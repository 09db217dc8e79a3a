"""Former name of the module `flexarm.presets`, which works for one version."""

import warnings

from flexarm.presets import Preset, preset
from flexarm.presets import names as presets

__all__ = ["Preset", "preset", "presets"]

warnings.warn("flexarm.drives is deprecated; use flexarm.presets", DeprecationWarning, stacklevel=2)
