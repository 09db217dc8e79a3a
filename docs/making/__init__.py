"""What the site makes of the package when it is built. Each module is an extension of Sphinx."""
