"""What the parts of a drive have in common. Units are those of a joint that turns, and of one that slides."""

from collections.abc import Mapping
from typing import Any

from flexarm.checks import FINITE, Described, Rule, rule_of

EFFORT, PLACE, RATE = "N m or N", "rad or m", "rad/s or m/s"
STIFFNESS, DAMPING = "N m/rad or N/m", "N m s/rad or N s/m"


class Part(Described):
    """A part of a drive: what it keeps from moment to moment, and what may be done to it from outside.

    Attributes
    ----------
    states : (name, unit) each
        What it remembers; each is zero where nothing else is said.
    exogenous : (name, unit) each
        Inputs beside the actuator's, which nobody controls: zero where nothing else is said.
    """

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each."""
        return ()

    @property
    def exogenous(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each."""
        return ()

    def rule(self, field: str) -> Rule:
        """What is allowed of a number while it varies, by its name as below."""
        outer, _, rest = field.partition(".")
        return rule_at(_inside(self, outer), rest) if rest else rule_of(type(self), field)


def rule_at(thing: Any, name: str) -> Rule:
    """What is allowed of a number somewhere in a part: "friction.coulomb", "spring.table.3"."""
    if isinstance(thing, Part):
        return thing.rule(name)
    field, _, rest = name.partition(".")
    if rest:
        return rule_at(_inside(thing, field), rest)
    return rule_of(type(thing), field) if isinstance(thing, Described) else FINITE


def changed_at(thing: Any, values: Mapping[str, float]) -> Any:
    """The same with other numbers, by names as above; validated as any description is."""
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
    """A field of a description, an entry of a table, or one of a list by its place from 0."""
    if isinstance(thing, Described):
        return getattr(thing, field)
    return thing[field] if isinstance(thing, Mapping) else thing[int(field)]
