"""The arms and scenarios that come with the package, as .toml files."""
