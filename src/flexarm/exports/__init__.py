"""What other programs take of a model: C sources, S-functions, FMUs, lumped equivalents."""
