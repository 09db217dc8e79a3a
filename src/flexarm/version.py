"""The version, defined in this place only."""

__version__ = "0.2.0"
