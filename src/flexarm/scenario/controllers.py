"""Controllers in the file of a scenario: their type, their gains by the names in Python, and their sampling."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module  # noqa: TID251  (names of the package's own)
from typing import Annotated, Any, final

from pydantic import BeforeValidator

from flexarm.checks import Fault, advised, called, checked_list, did_you_mean, shown, within
from flexarm.description.load import load
from flexarm.errors import errors_in
from flexarm.model import Model
from flexarm.scenario.terms import INPUTS, described, estimator_of, sensors_of, system_of, wrong_type
from flexarm.trajectory import Reference

SAMPLING = ("period", "delay", "limit", "rate_limit", "seed")
ADDED = {"integral": "Integral", "strain_rate": "StrainRate", "disturbance_observer": "DisturbanceObserver"}
"""Tables in a controller's table, with the classes that they add around the controller."""
OBSERVED = "observed"
"""Type of the controller that gives another one, perhaps a predictive one, its period and an estimate."""
FOLLOWING = ("rigid-inverse-dynamics", "optimal-torques")
"""Inputs that follow the reference."""


@final
class ControllerFields(dict[str, Any]):
    """Fields of a controller.

    Attributes
    ----------
    file : str
        Name of the file that they come from, for messages; "" without a file.
    """

    file: str = ""

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Add the name of the file, if there is one, to errors of the description that arise within the block."""
        with errors_in(self.file) if self.file else nullcontext():
            yield


def _control() -> Any:
    return import_module("flexarm.control")  # imported late: it needs CasADi and SciPy


def _kebab(name: str) -> str:
    words = "".join(f"-{c}" if c.isupper() and not name[i - 1 : i].isupper() else c for i, c in enumerate(name))
    return words.strip("-").lower()


def kinds() -> dict[str, Any]:
    """Return the controllers of scenarios, by their type in a file: "joint-pd".

    They follow a reference, hold an attitude, or estimate the state.
    """
    control = _control()
    classes: list[Any] = [getattr(control, name) for name in control.__all__]
    told = {"reference", "attitude", "periods", "estimator"}
    own: list[Any] = [c for c in classes if hasattr(c, "law") or hasattr(c, "stepper")]
    found: list[Any] = [c for c in own if dataclasses.is_dataclass(c) and told & {*_fields(c)}]
    return dict(sorted((_kebab(c.__name__), c) for c in found))


def follower(table: Mapping[str, Any]) -> str:
    """Return the type of the controller, or of an inner one, that needs a reference, or "" if none does."""
    if table["type"] in INPUTS:
        return table["type"] if table["type"] in FOLLOWING else ""
    fields = _fields(kinds()[table["type"]])
    if "reference" not in fields or "terms" in fields:
        return next(filter(None, map(follower, _parts(table))), "")
    free = fields["reference"].default is not dataclasses.MISSING
    return "" if free and ("joints" in table or "joints" not in fields) else table["type"]


def _parts(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables of the controllers and inputs within a controller."""
    return [*table.get("terms", ()), *([table["controller"]] if "controller" in table else ())]


def _fields(kind: Any) -> dict[str, dataclasses.Field]:
    return {field.name: field for field in dataclasses.fields(kind)}


def _checked(value: object) -> Any:
    """Return the table of a controller unchanged after a check of its keys."""
    return _in_loop(value, "")


def _in_loop(value: object, outer: str) -> Any:
    """Return the table of a controller, or of one within another of the type `outer`, after a check of its keys."""
    if not isinstance(value, Mapping):
        raise Fault("", f'is {shown(value)}; it must be a table such as {{type = "joint-pd", Kp = 10.0, Kd = 2.0}}')
    known = kinds()
    name = value.get("type")
    if not isinstance(name, str) or name not in known:
        raise Fault("type", wrong_type(name, known))
    if hasattr(known[name], "stepper") and "period" not in value and outer != OBSERVED:
        raise Fault("period", f"is missing; a {name} controller needs its sampling period")
    if "estimator" in value and "period" not in value:
        raise Fault("period", "is missing; a controller with an estimator needs its sampling period")
    sampling = SAMPLING if "period" in value else ("period",)
    _check_keys(value, known[name], ("reference",), ("type", "nominal", *sampling, *ADDED))
    for part, check, given in _inside(value):
        with within(part):
            check(given)
    for key, made_of in PARTS.items():
        if key in value:
            made_of(value[key])
    for key, kind in ADDED.items():
        if key in value:
            if not isinstance(value[key], Mapping):
                raise Fault(key, f"is {shown(value[key])}; it must be a table")
            _check_keys(value[key], getattr(_control(), kind), ("controller",), (), f"{key}.")
    checked = ControllerFields(value)
    if isinstance(value, ControllerFields):
        checked.file = value.file
    return checked


def _inside(value: Mapping) -> Iterator[tuple[str, Callable[[Any], Any], Any]]:
    """Yield the inner controllers: the place, the validator and the table of each."""
    if "controller" in value:
        yield "controller", partial(_in_loop, outer=value["type"]), value["controller"]
    if "terms" in value:
        for i, term in enumerate(checked_list(value["terms"], "a list of tables", "terms")):
            known = isinstance(term, Mapping) and isinstance(term.get("type"), str) and term["type"] in INPUTS
            yield f"terms[{i}]", (lambda table: described(table, INPUTS, "")) if known else _checked, term


def _check_keys(given: Mapping, kind: Any, own: tuple[str, ...], more: tuple[str, ...], part: str = "") -> None:
    fields = {name: field for name, field in _fields(kind).items() if name not in own}
    allowed = (*fields, *more)
    for key in given:
        if key not in allowed:
            advice = f"allowed keys are {', '.join(allowed)}"
            raise Fault(f"{part}{called(key)}", advised("is unknown", did_you_mean(key, allowed), advice))
    for name, field in fields.items():
        missing = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if missing and name not in given:
            raise Fault(f"{part}{name}", "is missing")


def _term(table: Mapping[str, Any], reference: Reference | None) -> Any:
    """Return a term of a sum: an input, or a controller."""
    if table["type"] in INPUTS:
        return described(table, INPUTS, "").made(reference)
    return made(table, reference)


PARTS: dict[str, Callable[[Any], Any]] = {
    "system": system_of,
    "sensors": sensors_of,
    "estimator": estimator_of,
    "outputs": partial(sensors_of, part="outputs"),
}
"""Keys whose values are created from tables."""

ControllerTable = Annotated[Any, BeforeValidator(_checked)]


def made(table: Mapping[str, Any], reference: Reference | None) -> Any:
    """Return the controller itself.

    Raises
    ------
    DescriptionError
        If a value is not possible, with a message that begins with "controller".
    """
    control = _control()
    own = {k: v for k, v in table.items() if k not in ("type", "nominal", *SAMPLING, *ADDED)}
    kind = kinds()[table["type"]]
    with errors_in("controller"):
        if hasattr(kind, "stepper"):  # it plans within the limits that Sampled enforces, and knows its nominal arm
            own |= {k: table[k] for k in ("limit", "rate_limit") if k in table}
            own |= {"nominal": Model(load(table["nominal"]))} if "nominal" in table else {}
        if "controller" in own:
            own["controller"] = made(own["controller"], reference)
        for key in own.keys() & PARTS.keys():
            own[key] = PARTS[key](own[key])
        terms = [_term(each, reference) for each in own.pop("terms", ())]
        if reference is not None and "reference" in _fields(kind):
            own["reference"] = reference
        controller = kind(*terms, **own)
        for key, kind in ADDED.items():
            if key in table:
                controller = getattr(control, kind)(controller=controller, **table[key])
        if "nominal" in table and "nominal" not in own:
            controller = control.DesignedFor(controller, Model(load(table["nominal"])))
        sampling = {k: table[k] for k in SAMPLING if k in table}
        return control.Sampled(controller, **sampling) if "period" in table else controller


def tried(table: Mapping[str, Any], reference: Reference) -> None:
    """Raise `DescriptionError` if a controller cannot be created for any motion.

    Inputs are left out, with the controllers that contain them, because an input may use the torques of the motion.
    """
    if not _has_input(table):
        made(table, reference)
        return
    for part in _parts(table):
        if part["type"] not in INPUTS:
            tried(part, reference)


def _has_input(table: Mapping[str, Any]) -> bool:
    return table["type"] in INPUTS or any(map(_has_input, _parts(table)))
