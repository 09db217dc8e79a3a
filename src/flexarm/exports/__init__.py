"""Exports of a model to other programs: C sources, S-functions, FMUs, lumped equivalents."""
