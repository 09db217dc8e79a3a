"""Checked fields of descriptions, and their one-line error messages.

The checks are flexarm's own functions instead of pydantic's. A message then contains the unit of its field, and no
value is converted silently (a quoted number or a `true` is not a mass).
"""

import glob
import inspect
import math
import re
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from flexarm.cached import cached_property
from flexarm.errors import DescriptionError
from flexarm.forks import hold_at_forks

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)

Thing = TypeVar("Thing")
Vector = tuple[float, float, float]
Rule = tuple[str, Callable[[float], bool]]

FINITE: Rule = ("finite", lambda x: True)
POSITIVE: Rule = ("positive", lambda x: x > 0)
NOT_NEGATIVE: Rule = ("zero or positive", lambda x: x >= 0)
NOT_ZERO: Rule = ("different from zero", lambda x: x != 0)
SHARE: Rule = ("from 0 to 1", lambda x: 0 <= x <= 1)

SIZES = {"m": (1e-15, 1e15), "kg m^2": (1e-40, 1e70)}
ANY_SIZE = (1e-40, 1e40)
"""Smallest and largest size of a number, by its unit. The range exceeds every arm, from nanotubes to planets, and keeps
the products of the mechanics finite (a section's fourth power, two loads over two beams, N m^2 over m^3). The smallest
size applies only where zero is not allowed. Otherwise a tiny number has the same effect as zero."""

ROUNDING = 4 * np.finfo(float).eps
"""Rounding error of the length of a normalized vector."""

LONGEST = 200
"""Largest number of characters of a name."""

WILD = "*?["
"""Characters that make a name a pattern."""

CLOSE = 0.7
"""Similarity of two names, from 0 to 1, above which one is suggested for the other: one wrong letter in four."""


class Fault(ValueError):
    """An error in a `part` (`"y"`, `"[2]"`) of the value under validation, or in the complete value (`""`).

    `message` continues the part's name: "is -1.0 kg; it must be positive". A message that is a complete sentence has
    `sentence=True`. `where` names the owner of the part, if that is not where the error was found.
    """

    def __init__(self, part: str, message: str, sentence: bool = False, where: str = ""):
        super().__init__(message)
        self.part, self.message, self.sentence, self.where = part, message, sentence, where

    def inside(self, part: str) -> "Fault":
        """Return the fault of a value that contains this one as its `part`: "mass" of "links[0]" is "links[0].mass"."""
        dot = "." if part and self.part and not self.part.startswith("[") else ""
        return Fault(f"{part}{dot}{self.part}", self.message, self.sentence, self.where)


@contextmanager
def refused(where: str = "") -> Iterator[None]:
    """Convert a fault of an argument or a field to a DescriptionError with one line."""
    try:
        yield
    except Fault as fault:
        before = f"{where}: " if where else ""
        raise DescriptionError(f"{before}{fault.part}{' ' if fault.part else ''}{fault.message}") from None


@contextmanager
def within(part: str) -> Iterator[None]:
    """Add the part of a larger value to the faults in it."""
    try:
        yield
    except Fault as fault:
        raise fault.inside(part) from None


def shown(value: object) -> str:
    """Return a value for a message: its repr on one line, shortened."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an integer of thousands of digits, a deeply nested list, an object's own code
        text = f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else text[:57] + "..."


def called(name: object) -> str:
    """Return a user's name for a part for a message: unchanged, or as `shown` if it is not a short printable text."""
    return name if isinstance(name, str) and name.isprintable() and len(name) <= 60 else shown(name)


def choices(*names: str) -> str:
    """Return names for a message: a, b or c."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def counted(count: int, noun: str) -> str:
    """Return a number of things with their noun: "1 input", "2 inputs", "2 bodies"."""
    many = f"{noun[:-1]}ies" if noun.endswith(("dy", "py", "ry", "cy")) else f"{noun}s"
    return f"{count} {noun if count == 1 else many}"


def unknown_name(problem: str, given: object, names: Iterable[str], allowed: str = "", listed: str = "") -> str:
    """Return the message about a name that does not exist: the problem, a similar name if any, then what is allowed.

    `unknown_name("unknown arm", "canadrm", bundled, "bundled arms are")` returns
    "unknown arm 'canadrm'; did you mean 'canadarm'? Bundled arms are acrobot, canadarm, ...".

    Parameters
    ----------
    problem : str
        Text before the name.
    given : object
        The wrong name.
    names : iterable of str
        Names among which a similar one is searched.
    allowed : str, optional
        Text before the list of names. The message has no list without it.
    listed : str, optional
        List of names. Default: all `names`.
    """
    names = list(names)
    advice = f"{allowed} {listed or ', '.join(names) or 'none'}" if allowed else ""
    return advised(f"{problem} {shown(given)}", did_you_mean(given, names), advice)


def advised(problem: str, hint: str, advice: str = "") -> str:
    """Return a message in the order problem, hint (a sentence, or ""), advice. The advice may be a long list."""
    if hint and advice:
        advice = f"{advice[0].upper()}{advice[1:]}"
    rest = " ".join(filter(None, (hint, advice)))
    return f"{problem}; {rest}" if rest else problem


def did_you_mean(given: object, names: Iterable[str]) -> str:
    """Return a suggestion for a wrong name: "did you mean 'canadarm'?", or "" if no name is similar.

    For an owner its names are suggested: "upper.joint" for "upper". If no name is similar, those of the same owner
    are, if there are at most three: "upper.motor" for "upper.joint".
    """
    from difflib import SequenceMatcher  # here, since only error messages need it

    if not isinstance(given, str) or len(given) > LONGEST:
        return ""
    names = list(dict.fromkeys(names))
    likeness = {name: SequenceMatcher(None, given.casefold(), name.casefold()).ratio() for name in names}
    least = max(CLOSE, max(likeness.values(), default=0.0) - 0.1)
    found = [name for name in names if name.startswith(f"{given}.")]
    found = found or sorted((name for name in names if likeness[name] >= least), key=lambda name: -likeness[name])
    owner = re.sub(r"[^.]*$", "", given)  # with its dot, or empty
    others = [name for name in names if owner and name.startswith(owner)]
    found = found or (others if len(others) <= 3 else [])
    return f"did you mean {choices(*map(repr, found[:3]))}?" if found else ""


def named_or_fitting(pattern: str, things: Iterable[Thing], names: Callable[[Thing], Iterable[str]]) -> list[Thing]:
    """Return the things that a name or a pattern stands for.

    An existing name stands for itself, also `a[1].mass` or `a*.mass`. So does the name of an owner before a dot:
    `a[1].*` stands for everything of a link that is called `a[1]`. Only a text that is not a name is a pattern.
    """
    known = [(thing, tuple(names(thing))) for thing in things]
    if found := [thing for thing, each in known if pattern in each]:
        return found
    owners = {name[:at] for _, each in known for name in each for at in _dots(name)}
    spelled = [pattern[:at] for at in _dots(pattern) if pattern[:at] in owners and any(c in pattern[:at] for c in WILD)]
    if spelled:
        owner = max(spelled, key=len)
        pattern = f"{glob.escape(owner)}{pattern[len(owner) :]}"
    return [thing for thing, each in known if any(fnmatchcase(name, pattern) for name in each)]


def _dots(name: str) -> list[int]:
    """Return the positions of the dots in a name."""
    return [at for at, letter in enumerate(name) if letter == "."]


def with_unit(value: object, unit: str) -> str:
    return f"{value} {unit}".rstrip()


def size(bound: float, unit: str) -> str:
    """Return a bound for a message."""
    return f"{bound:g} {unit}".rstrip() + " in size"


# -- values ------------------------------------------------------------------------------------------------------------


def checked_number(value: object, unit: str = "", rule: Rule = FINITE, part: str = "") -> float:
    """Return the value as a finite float that satisfies the rule. Raises `Fault`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Fault(part, f"is {shown(value)}; it must be " + (f"a number in {unit}" if unit else "a number"))
    try:
        x = float(value)
    except OverflowError:
        x = math.inf
    if not math.isfinite(x):
        raise Fault(part, f"is {with_unit(x, unit)}; it must be finite")
    if not rule[1](x):
        raise Fault(part, f"is {with_unit(x, unit)}; it must be {rule[0]}")
    least, most = SIZES.get(unit, ANY_SIZE)
    if abs(x) > most:
        raise Fault(part, f"is {with_unit(x, unit)}; it must be at most {size(most, unit)}")
    if abs(x) < least and not rule[1](0.0):
        raise Fault(part, f"is {with_unit(x, unit)}; it must be at least {size(least, unit)}")
    return x


def a_kind(value: object) -> str:
    """Return the type of a value for messages: "an int", "a Dataset", "None"."""
    return "None" if value is None else with_article(type(value).__name__)


def with_article(name: str) -> str:
    """Return the name of a type with its article: "an Arm", "a Model", "a UKF"."""
    return f"{'an' if name.startswith((*'aeioAEIO', 'Un')) else 'a'} {name}"


def checked_instance(value: object, kind: type, part: str = "") -> Any:
    """Return the value, which must be of this kind. Raises `Fault`."""
    if not isinstance(value, kind):
        name = "a dict" if issubclass(dict, kind) else with_article(kind.__name__)
        raise Fault(part, f"is {shown(value)}; it must be {name}")
    return value


def checked_result(
    value: Any, variables: tuple[str, ...] = (), attributes: tuple[str, ...] = (), part: str = "result"
) -> Any:
    """Return the value, which must be a result of `simulate` with these parts. Raises `Fault`, which names `part`."""
    from xarray import Dataset

    if not isinstance(value, Dataset):
        raise Fault(part, f"is {a_kind(value)}; it must be a Dataset from simulate")
    for names, known in ((("time", "coordinate", *variables), value.variables), (attributes, value.attrs)):
        if missing := [name for name in names if name not in known]:
            kept = "kept" in value.attrs and missing[0] not in ("time", "coordinate", "kept")
            keep = f"simulate with {missing[0]!r} in keep, or without keep"
            must = keep if kept else "it must be a Dataset from simulate"
            raise Fault(part, f"has no {missing[0]!r}; {must}")
    return value


def takes(function: Any, *given: object) -> bool:
    """Return True if a function can be called with these arguments. One without a signature, a built-in, may be."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def checked_flag(value: object, part: str = "") -> bool:
    """Return the value as true or false. Raises `Fault`."""
    if not isinstance(value, bool | np.bool_):
        raise Fault(part, f"is {shown(value)}; it must be true or false")
    return bool(value)


def checked_whole(value: object, least: int, part: str = "") -> int:
    """Return the value as a whole number, `least` or more, which may be written as a float. Raises `Fault`."""
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if not whole or isinstance(value, bool | np.bool_) or value < least:  # type: ignore[operator]
        allowed = f"at least {least}" if least else "zero or positive"
        raise Fault(part, f"is {shown(value)}; it must be a whole number, {allowed}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def checked_array(value: object, part: str = "", finite: bool = True) -> np.ndarray:
    """Return the value as an array of floats of any shape, finite by default. Raises `Fault`."""
    try:
        given = np.asarray(value)
    except (TypeError, ValueError):  # rows of different lengths, or an object that is not an array
        given = np.asarray("")
    if given.dtype.kind not in "iufO":
        raise Fault(part, "is not an array of numbers")
    if given.dtype.kind == "O":  # integers too large for 64 bits, or other objects
        given = np.array([checked_number(x, part=part) for x in given.flat]).reshape(given.shape)
    if finite and not np.isfinite(given).all():
        raise Fault(part, "contains NaN or infinity")
    return given.astype(float)


def checked_list(value: object, what: str, part: str = "") -> list:
    """Return the items of a list, a tuple, an array or a column of a table. Raises `Fault`."""
    if hasattr(type(value), "__array__"):
        with suppress(Exception):  # symbols of CasADi, an object's own code
            value = np.asarray(value).tolist()
    if not isinstance(value, list | tuple):
        raise Fault(part, f"is {shown(value)}; it must be {what}")
    return list(value)


def three_numbers(unit: str) -> BeforeValidator:
    """Return the check of three numbers that are not negative; one number stands for all three."""

    def check(value: object) -> Any:
        if not isinstance(value, list | tuple | np.ndarray):
            return (checked_number(value, unit, NOT_NEGATIVE),) * 3
        if len(value) != 3:
            raise Fault("", f"has {counted(len(value), 'number')}; give one number, or three")
        return tuple(checked_number(x, unit, NOT_NEGATIVE, f"[{i}]") for i, x in enumerate(value))

    return BeforeValidator(check)


def list_of(things: str) -> BeforeValidator:
    """Return the check of a field that is a list."""
    return BeforeValidator(lambda value: checked_list(value, f"a list of {things}"))


def checked_names(value: Any, what: str, part: str = "") -> list:
    """Return the items of any iterable except a text, whose letters are not a list. Raises `Fault`."""
    try:
        if not isinstance(value, str | bytes):
            return [*value]
    except TypeError:
        pass
    raise Fault(part, f"is {shown(value)}; it must be {what}")


def known_names(
    value: Any, known: Iterable[str], what: str, part: str, allowed: str, problem: str = "has"
) -> list[str]:
    """Return the items of `checked_names` if all of them are among the known names. Raises `Fault`.

    `problem` and `allowed` are those of `unknown_name`.
    """
    known, names = list(known), checked_names(value, what, part)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise Fault(part, unknown_name(problem, name, known, allowed))
    return names


def checked_keys(value: Mapping, allowed: tuple[str, ...]) -> None:
    """Raise `Fault` if a table has a key that is not allowed."""
    for key in value:
        if key not in allowed:
            raise Fault("", unknown_name("has the unknown key", key, allowed, "allowed keys are"))


@dataclass(frozen=True)
class OneNumber:
    """The check of a field that is one finite number, or None if that is allowed."""

    unit: str
    rule: Rule
    optional: bool = False

    def __call__(self, value: object) -> float | None:
        """Return the number. Raises `Fault`."""
        return None if self.optional and value is None else checked_number(value, self.unit, self.rule)


def number(unit: str, rule: Rule = FINITE) -> BeforeValidator:
    """Return the check of a field that is one finite number."""
    return BeforeValidator(OneNumber(unit, rule))


def optional_number(unit: str, rule: Rule = FINITE) -> BeforeValidator:
    """Return the check of a field that is one finite number, or None."""
    return BeforeValidator(OneNumber(unit, rule, optional=True))


def rule_of(cls: type[BaseModel], field: str) -> Rule:
    """Return the rule of a field that is one number. Any other field may have any finite value."""
    checks = [getattr(each, "func", None) for each in cls.model_fields[field].metadata]
    return next((check.rule for check in checks if isinstance(check, OneNumber)), FINITE)


def unit_of(cls: type[BaseModel], field: str) -> str:
    """Return the unit of a field that is one number, as in messages, or "" for any other field."""
    checks = [getattr(each, "func", None) for each in cls.model_fields[field].metadata]
    return next((check.unit for check in checks if isinstance(check, OneNumber)), "")


def checked_vector(value: object, unit: str) -> tuple[float, ...]:
    items = checked_list(value, "a list of three numbers")
    if len(items) != 3:
        raise Fault("", f"has {counted(len(items), 'entry')}; it must have three")
    return tuple(checked_number(item, unit, part=f"[{i}]") for i, item in enumerate(items))


def vector(unit: str) -> BeforeValidator:
    """Return the check of a field that is three finite numbers."""
    return BeforeValidator(lambda value: checked_vector(value, unit))


def optional_vector(unit: str) -> BeforeValidator:
    """Return the check of a field that is three finite numbers, or None."""
    return BeforeValidator(lambda value: None if value is None else checked_vector(value, unit))


def checked_numbers(value: object, unit: str = "", rule: Rule = FINITE, part: str = "") -> tuple[float, ...]:
    """Return the value as a tuple of one or more finite numbers that satisfy the rule. Raises `Fault`."""
    items = checked_list(value, "a list of numbers", part)
    if not items:
        raise Fault(part, "is empty; it must have at least one number")
    return tuple(checked_number(item, unit, rule, f"{part}[{i}]") for i, item in enumerate(items))


def numbers(unit: str = "", rule: Rule = FINITE) -> BeforeValidator:
    """Return the check of a field that is a list of finite numbers."""
    return BeforeValidator(lambda value: checked_numbers(value, unit, rule))


def _unit_vector(value: object) -> tuple[float, ...]:
    axis = checked_vector(value, "")
    norm = math.hypot(*axis)
    if abs(norm - 1.0) > 1e-6:
        raise Fault("", f"is {shown(axis)}, of length {norm:.6g}; it must be a unit vector")
    if abs(norm - 1.0) < ROUNDING:  # otherwise it would change each time that it is written and read
        return tuple(axis)
    return tuple(a / norm for a in axis)


unit_vector = BeforeValidator(_unit_vector)
optional_unit_vector = BeforeValidator(lambda value: None if value is None else _unit_vector(value))


def checked_integer(value: object, most: int, part: str = "", least: int = 0) -> int:
    """Return the value as an integer from `least` to `most`. Raises `Fault`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise Fault(part, f"is {shown(value)}; it must be an integer from {least} to {most}")
    return int(value)


def tensor(inertia: Any) -> np.ndarray:
    """Return the inertia tensor from any of its three forms: a number, three principal values, three rows.

    Parameters
    ----------
    inertia : float, (3,) or (3, 3)
        [kg m^2]

    Returns
    -------
    ndarray, (3, 3)
        [kg m^2]
    """
    given = np.asarray(inertia, dtype=float)
    return given.copy() if given.ndim == 2 else np.diag(np.broadcast_to(given, 3))


Inertia = float | tuple[float, float, float] | tuple[tuple[float, float, float], ...]


def checked_inertia(value: object) -> Any:
    """Return the value as a number, a tuple of three, or three such tuples; symmetric and positive semidefinite."""
    unit, allowed = "kg m^2", "one number, three principal values or a 3 x 3 tensor"
    if isinstance(value, Real):
        return checked_number(value, unit, NOT_NEGATIVE)
    rows = checked_list(value, allowed)
    if len(rows) != 3:
        raise Fault("", f"has {counted(len(rows), 'entry')}; it must be {allowed}")
    if not any(isinstance(row, list | tuple | np.ndarray) for row in rows):
        return tuple(checked_number(row, unit, NOT_NEGATIVE, f"[{i}]") for i, row in enumerate(rows))
    full = []
    for i, given in enumerate(rows):
        row = checked_list(given, "a row of three numbers", f"[{i}]")
        if len(row) != 3:
            raise Fault(f"[{i}]", f"has {counted(len(row), 'entry')}; it must be a row of three numbers")
        full.append(tuple(checked_number(entry, unit, part=f"[{i}][{j}]") for j, entry in enumerate(row)))
    array = np.array(full)
    scale = abs(array).max()
    if abs(array - array.T).max() > 1e-12 * scale:
        raise Fault("", f"is {full}; it must be symmetric")
    smallest = np.linalg.eigvalsh(array).min()
    if smallest < -1e-12 * scale:
        raise Fault("", f"has the principal value {with_unit(float(smallest), unit)}; none may be negative")
    return tuple(full)


inertia = BeforeValidator(checked_inertia)
optional_inertia = BeforeValidator(lambda value: None if value is None else checked_inertia(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Fault("", f"is {shown(value)}; it must be a text")
    if any(0xD800 <= ord(c) < 0xE000 for c in value):
        raise Fault("", f"is {shown(value)}; it must be a text that can be written to a file, without lone surrogates")
    return value


def _title(value: object) -> str:
    line = _text(value)
    if not line.strip() or not line.isprintable():
        raise Fault("", f"is {shown(value)}; it must be one line and not empty")
    if len(line) > LONGEST:
        raise Fault("", f"is {shown(value)}; it must have at most {LONGEST} characters, not {len(line)}")
    return line


def checked_label(value: object) -> str:
    """Return the value as a name without dots and spaces. Raises `Fault`."""
    name = _title(value)
    if "." in name or any(c.isspace() for c in name):
        raise Fault("", f"is {shown(value)}; it must have no dots and no spaces")
    return name


text, title, label = BeforeValidator(_text), BeforeValidator(_title), BeforeValidator(checked_label)
optional_text = BeforeValidator(lambda value: None if value is None else _text(value))
flag = BeforeValidator(lambda value: checked_flag(value))


def kind(base: Any, optional: bool = False) -> BeforeValidator:
    """Return the check of a field with a kind of a base class: an object, a table with a key `type`, or None.

    Kinds are the classes below the base with a `type` of their own, wherever they are defined.
    """

    def check(value: object) -> object:
        if optional and value is None:
            return None
        kinds = _kinds(base)
        if isinstance(value, Mapping):
            tag = _tag(value, kinds)
            try:
                return _built(kinds[tag]).model_validate(dict(value))
            except ValidationError as error:  # the tag becomes a part of the location, as with pydantic's own unions
                details = [
                    {name: each[name] for name in ("type", "input", "ctx") if name in each}
                    | {"loc": (tag, *each["loc"])}
                    for each in error.errors(include_url=False)
                ]
                raise ValidationError.from_exception_data(error.title, details) from None  # type: ignore[arg-type]
        if not (isinstance(value, base) and _states_its_type(type(value))):
            raise Fault("", f"is {shown(value)}; it must be a {choices(*(cls.__name__ for cls in kinds.values()))}")
        return value

    return BeforeValidator(check)


def by_type(union: Any) -> dict[str, Any]:
    """Return the classes of a union by their `type`."""
    return {cls.model_fields["type"].default: cls for cls in get_args(union)}


def one_of(union: Any) -> BeforeValidator:
    """Return the check of a field with one of the classes of a union, which the key `type` selects."""
    tags = by_type(union)

    def check(value: object) -> object:
        if isinstance(value, Mapping):
            _tag(value, tags)
        elif not isinstance(value, union):
            raise Fault("", f"is {shown(value)}; it must be a {choices(*(cls.__name__ for cls in tags.values()))}")
        return value

    return BeforeValidator(check)


def _tag(table: Mapping, kinds: Mapping) -> str:
    """Return the table's `type`, which must be one of the kinds."""
    allowed = choices(*map(repr, kinds))
    if "type" not in table:
        raise Fault("type", f"is missing; it must be {allowed}")
    if not isinstance(table["type"], str) or table["type"] not in kinds:
        raise Fault("type", unknown_name("is", table["type"], kinds, "it must be", allowed))
    return table["type"]


def _kinds(base: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the classes below a base that state a `type`, by their type.

    If a class was defined again, the last one counts.
    """
    found: dict[str, type[BaseModel]] = {}
    for cls in filter(_states_its_type, _below(base)):
        tag = cls.model_fields["type"].default
        if tag not in found or _place_of(found[tag]) == _place_of(cls):
            found[tag] = cls
    return found


def _states_its_type(cls: type[BaseModel]) -> bool:
    return "type" in cls.__annotations__ and isinstance(cls.model_fields["type"].default, str)


def _below(base: type[BaseModel]) -> list[type[BaseModel]]:
    """Return all classes below a base, in the order of their definition."""
    return [each for cls in base.__subclasses__() for each in (cls, *_below(cls))]


def _place_of(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def own_type(cls: type[BaseModel], base: type[BaseModel]) -> None:
    """Raise an error for a class with the `type` of another kind of the base, as a file could not distinguish them.

    Raises `DescriptionError`. A new definition of the same class, as in an interactive session, is allowed.
    """
    tag = cls.model_fields["type"].default
    other = _kinds(base).get(tag) if isinstance(tag, str) else None
    if other is not None and _place_of(other) != _place_of(cls):
        raise DescriptionError(
            f"{cls.__name__}: type is {tag!r}, which {other.__name__} already uses; give the class a different type"
        )


# -- models ------------------------------------------------------------------------------------------------------------


def _built(cls: Any) -> Any:
    """Return the class, ready to check values. It is completed on first use, since most runs need few of many classes.

    One thread completes it while the others wait: pydantic before 2.14 lets them check by a base class meanwhile.
    """
    if not cls.__pydantic_complete__:
        with _BUILDING:
            if not cls.__pydantic_complete__:
                cls.model_rebuild()
    return cls


_BUILDING = threading.RLock()  # reentrant: the default of a field may be of another class
hold_at_forks(_BUILDING)


class _Signature:
    """Signature of a class that is not complete yet: `help` and editors ask for it before the first use.

    Pydantic replaces it when it completes the class.
    """

    def __get__(self, instance: object, cls: type[BaseModel]) -> Any:
        if instance is not None:  # an object has none
            raise AttributeError("__signature__")
        return _built(cls).__signature__


class _OneLine(ModelMetaclass):
    """Converts pydantic's report to one line.

    The conversion is in the call of the class instead of `__init__`: pydantic calls a custom `__init__` for nested
    tables too, and an error raised there would not contain the link in which it happened.
    """

    def __init__(cls, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if not cls.__pydantic_complete__:  # type: ignore[attr-defined]
            cls.__signature__ = _Signature()

    def __call__(cls, /, *args: object, **data: Any) -> Any:  # a file may have a key `cls`
        if args:
            raise DescriptionError(f"{cls.__name__}: give its fields by name, as in {cls.__name__}(field=value)")
        _built(cls)
        try:
            return super().__call__(**data)
        except ValidationError as error:
            found = _described(cls.__name__, data, error)
        raise found


class Described(BaseModel, metaclass=_OneLine):
    """A frozen part of a description. It rejects unknown keys, and every error is one line."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True, ignored_types=(cached_property,)
    )

    @model_validator(mode="before")
    @classmethod
    def _keys_are_known(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    own = [name for name in cls.model_fields if name in cls.__annotations__]
                    names = ", ".join(name for name in dict.fromkeys([*own, *cls.model_fields]) if name != "type")
                    allowed = "allowed keys are" if names else "the only allowed key is"
                    said = unknown_name("unknown key", key, cls.model_fields, allowed, names or "type")
                    raise Fault("", said, sentence=True)
        return data

    def __setattr__(self, name: str, value: Any) -> None:
        # Pydantic's own error is a report of several lines.
        raise DescriptionError(f"{type(self).__name__}: {name} cannot be changed; use replace({name}=...) for a copy")

    def __iter__(self) -> Generator[tuple[str, Any], None, None]:  # type: ignore[override]
        """Yield the fields, without cached values that follow from them."""
        return ((name, getattr(self, name)) for name in type(self).model_fields)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Yield the fields that a user would write: those without a default, and those that differ from it."""
        for name, field in type(self).model_fields.items():
            value, default = getattr(self, name), field.get_default(call_default_factory=True)
            if field.is_required() or not (type(value) is type(default) and value == default):
                yield name, value

    def __dir__(self) -> list[str]:
        """Return the names for completion: fields, properties and methods, without those of pydantic."""
        return [name for name in super().__dir__() if name.startswith("__") or not hasattr(BaseModel, name)]

    def replace(self, /, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated like a new object."""
        return type(self)(**{**dict(self), **changes})


def plain(value: Any) -> Any:
    """Return a value as nested dicts and lists of texts and numbers, without fields that are None."""
    if isinstance(value, Described | Mapping):
        return {str(name): plain(item) for name, item in dict(value).items() if item is not None}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def faulted(cls: type[BaseModel], table: Mapping) -> Any:
    """Return an object of the class from a table in a field. Raise `Fault` for the part that is wrong."""
    try:
        return _built(cls).model_validate(dict(table))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    raise _fault(first).inside(_joined(first["loc"]))


def _described(root: str, data: Mapping, error: ValidationError) -> DescriptionError:
    """Return the first error of a report in the form "where: field is value; it must be ..."."""
    errors = error.errors(include_url=False)
    where, field = _place(root, data, errors[0]["loc"])
    fault = _fault(errors[0]).inside(field)
    field = fault.part
    # "link 'a': mass is ...", "link 'a': joint: unknown key ...", "link 1 is ...", "Beam: unknown key ..."
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return DescriptionError(fault.message + more, (field and fault.where) or where, field, fault.sentence)


def _place(root: str, data: Mapping, loc: tuple[int | str, ...]) -> tuple[str, str]:
    """Return the owner of a field and the field's name for the user: ("link 'forearm'", "joint.axis")."""
    where = root
    if root == "Link":
        where = _link(data, "Link")
    elif len(loc) > 1 and loc[0] == "links":
        number = int(loc[1])
        where, loc = _link(data["links"][number], f"link {number + 1}"), loc[2:]
    elif len(loc) > 1 and loc[0] in _LISTED:
        kind, number = _LISTED[str(loc[0])], int(loc[1])
        where, loc = _link(data[str(loc[0])][number], f"{kind} {number + 1}", kind), loc[2:]
    # A union adds the tag of the chosen class after the field's name.
    names = [name for before, name in zip((None, *loc), loc, strict=False) if before not in _TAGGED]
    return where, _joined([name for name in names if name != "body" or loc == ("body",)])


def _joined(names: Sequence[int | str]) -> str:
    """Return a text such as "lumps[0].at"."""
    return "".join(f".{name}" if isinstance(name, str) else f"[{name}]" for name in names).lstrip(".")


_TAGGED = ("joint", "body", "section", "section_tip", "input", "reference", "base")
_LISTED = {"forces": "force", "contacts": "contact"}


def _link(data: Any, otherwise: str, kind: str = "link") -> str:
    name = data.get("name") if isinstance(data, Mapping) else None
    return f"{kind} {shown(name)}" if isinstance(name, str) and name else otherwise


def _fault(error: Any) -> Fault:
    context = error.get("ctx", {})
    if isinstance(context.get("error"), Fault):
        return context["error"]
    if error["type"] == "missing":
        return Fault("", "is missing")
    if "expected" in context or "class_name" in context:
        wanted = context.get("expected") or f"a {context['class_name']}"
        return Fault("", f"is {shown(error['input'])}; it must be {wanted}")
    said = error["msg"].removeprefix("Value error, ")  # pydantic's own words, about a field of a user-defined class
    return Fault("", f"is {shown(error['input'])}; {said[:1].lower()}{said[1:]}")
