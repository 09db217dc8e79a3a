"""Inner tables of a controller in the file of a scenario: linear systems, sensors, estimators, feedforward inputs."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from flexarm import sensors
from flexarm.checks import Fault, advised, called, checked_list, did_you_mean, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.scenario import forces

SENSORS = {
    kind.model_fields["type"].default: kind
    for kind in vars(sensors).values()
    if isinstance(kind, type) and issubclass(kind, sensors.Sampling) and "type" in kind.model_fields
}
INPUTS = {
    kind.model_fields["type"].default: kind
    for kind in (
        forces.ConstantInput,
        forces.BangBangInput,
        forces.PiecewiseInput,
        forces.TableInput,
        forces.RigidInverseDynamicsInput,
        forces.OptimalTorquesInput,
    )
}
ESTIMATORS = {"ekf": "EKF", "ukf": "UKF", "moving-horizon": "MovingHorizon"}
"""Classes of `flexarm.estimation` by their types in a file."""

FORMS = (("num", "den"), ("A", "B", "C", "D"))
"""Keys of a transfer function, and of a state space. An optional key `dt` is the period of a discrete system."""


def described(table: Any, kinds: Mapping[str, Any], part: str) -> Any:
    """Return the object that a table with a `type` describes. Raises `Fault`."""
    if not isinstance(table, Mapping):
        raise Fault(part, f"is {shown(table)}; it must be a table with a type")
    name = table.get("type")
    if not isinstance(name, str) or name not in kinds:
        raise Fault(f"{part}.type" if part else "type", wrong_type(name, kinds))
    try:
        return kinds[name](**{called(key): value for key, value in table.items()})
    except DescriptionError as error:
        raise Fault(part, f"is not a valid {name}: {error}") from None


def estimator_of(value: Any) -> Any:
    """Return the estimator that a table with a `type` describes. Raises `Fault`."""
    if not isinstance(value, Mapping):
        raise Fault("estimator", f"is {shown(value)}; it must be a table with a type")
    name, given = value.get("type"), {key: each for key, each in value.items() if key != "type"}
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise Fault("estimator.type", wrong_type(name, ESTIMATORS))
    from flexarm import estimation  # it needs SciPy

    kind = getattr(estimation, ESTIMATORS[name])
    known = [each.name for each in fields(kind)]
    if odd := next((key for key in given if key not in known), None):
        advice = f"allowed keys are type, {', '.join(known)}"
        raise Fault(f"estimator.{called(odd)}", advised("is unknown", did_you_mean(odd, known), advice))
    try:
        return kind(**given)
    except DescriptionError as error:
        raise Fault("estimator", f"is not a valid {name}: {error}") from None


def wrong_type(name: object, kinds: Iterable[str]) -> str:
    """Return the message about the `type` of a table that is missing (None) or unknown."""
    known = [*kinds]
    allowed = "known types are"
    return f"is missing; {allowed} {', '.join(known)}" if name is None else unknown_name("is", name, known, allowed)


def sensors_of(value: Any, part: str = "sensors") -> list[Any]:
    """Return the sensors in a list of tables. Raises `Fault`."""
    tables = checked_list(value, "a list of tables of sensors", part)
    return [described(table, SENSORS, f"{part}[{i}]") for i, table in enumerate(tables)]


def system_of(value: Any) -> Any:
    """Return a python-control system, or gains, from a value in a file. Raises `Fault`."""
    if not isinstance(value, Mapping):
        return value
    keys = {*value} - {"dt"}
    form = next((form for form in FORMS if keys == {*form}), None)
    if form is None:
        must = "it must have num and den, or A, B, C and D (and dt [s] if the system is discrete)"
        has = f"has the keys {', '.join(map(called, value))}" if value else "is empty"
        raise Fault("system", f"{has}; {must}")
    import control

    made = control.tf if form[0] == "num" else control.ss
    try:
        return made(*(value[key] for key in form), value.get("dt", 0))
    except Exception as error:
        raise Fault("system", f"is not valid: {' '.join(str(error).split())}") from None
