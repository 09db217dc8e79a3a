"""The version, kept once."""

__version__ = "0.2.0"
