"""The arms, scenarios and studies that come with the package, and files to start from, as .toml files."""

PLACES = {"arm": "arms", "scenario": "scenarios", "study": "studies"}
"""Folders of what has a name."""
