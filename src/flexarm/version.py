"""The version, kept once."""

__version__ = "0.1.0"
