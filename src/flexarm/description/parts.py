"""Common base of the parts of a drive. Units are given for a revolute joint and for a prismatic one."""

from collections.abc import Mapping
from typing import Any

from flexarm.checks import FINITE, Described, Rule, rule_of

EFFORT, PLACE, RATE = "N m or N", "rad or m", "rad/s or m/s"
STIFFNESS, DAMPING = "N m/rad or N/m", "N m s/rad or N s/m"


class Part(Described):
    """Base class of the parts of a drive: their states and their exogenous inputs.

    Attributes
    ----------
    states : (name, unit) each
        States of the part. Each is zero by default.
    exogenous : (name, unit) each
        Inputs other than the actuator's, which no controller sets. Each is zero by default.
    """

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each state."""
        return ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each exogenous input."""
        return ()

    def rule(self, field: str) -> Rule:
        """Return the validation rule of a parameter that may vary, by its name as in `rule_at`."""
        outer, _, rest = field.partition(".")
        return rule_at(_inside(self, outer), rest) if rest else rule_of(type(self), field)


def rule_at(thing: Any, name: str) -> Rule:
    """Return the validation rule of a parameter inside a part, by its name: "friction.coulomb", "spring.table.3"."""
    if isinstance(thing, Part):
        return thing.rule(name)
    field, _, rest = name.partition(".")
    if rest:
        return rule_at(_inside(thing, field), rest)
    return rule_of(type(thing), field) if isinstance(thing, Described) else FINITE


def changed_at(thing: Any, values: Mapping[str, float]) -> Any:
    """Return a copy with other parameter values, by names as in `rule_at`. The copy is validated like any
    description."""
    if "" in values:
        return values[""]
    fields = dict.fromkeys(name.partition(".")[0] for name in values)
    inner = {
        field: changed_at(
            _inside(thing, field),
            {name.partition(".")[2]: x for name, x in values.items() if name.partition(".")[0] == field},
        )
        for field in fields
    }
    if isinstance(thing, Described):
        return thing.replace(**inner)
    if isinstance(thing, Mapping):
        return {**thing, **inner}
    return tuple(inner.get(str(i), x) for i, x in enumerate(thing))


def _inside(thing: Any, field: str) -> Any:
    """Return a field of a description, an entry of a mapping, or the item of a list at an index from 0."""
    if isinstance(thing, Described):
        return getattr(thing, field)
    return thing[field] if isinstance(thing, Mapping) else thing[int(field)]
