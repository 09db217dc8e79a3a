"""The quantities of a model."""

from flexarm.model import QUANTITIES


def taken(name):
    """The arguments of a quantity, of an arm whose drives have no states and that nothing from outside acts on."""
    return tuple(a for a in QUANTITIES[name][0] if a not in ("s", "w"))
