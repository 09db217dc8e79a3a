"""Arms, scenarios and studies that come with the package, and templates for a first start, as .toml files."""

PLACES = {"arm": "arms", "scenario": "scenarios", "study": "studies"}
"""Folders of the arms, scenarios and studies."""
