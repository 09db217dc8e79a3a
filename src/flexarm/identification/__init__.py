"""Numbers of an arm from measured data."""
