"""Model and motion of a recorded result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_instance, checked_result, counted, shown
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.drawing import LARGEST

if TYPE_CHECKING:
    from xarray import Dataset

SHORTEST = 0.5
"""Shortest quaternion that is drawn. Those of a run have length 1 up to its tolerances."""


@final
@dataclass(frozen=True)
class Motion:
    """Motion of a result, as drawn.

    Attributes
    ----------
    name : str
        Name of the result.
    model : Model
        Model of the arm.
    t : (N,)
        Times [s], ascending.
    q : (N, n)
        Configurations.
    wanted : (N, n) or None
        Reference of the joints and their motors, without deflection.
    """

    name: str
    model: Model
    t: Array
    q: Array
    wanted: Array | None

    def at(self, t: float) -> Array:
        """Return q at a time, (n,), interpolated linearly, and constant outside the samples."""
        return self._between(self.q, t)

    def wanted_at(self, t: float) -> Array:
        """Return the reference at a time, (n,)."""
        assert self.wanted is not None
        return self._between(self.wanted, t)

    def _between(self, values: Array, t: float) -> Array:
        return np.array([np.interp(t, self.t, column) for column in values.T])


def motions(results: Any, names: Any = None, model: Any = None) -> list[Motion]:
    """Return the motions of a result, a list of results, or a dict of results by name. Raises `Fault`.

    `model` is the model of all results. It is needed if their arm cannot be rebuilt from their attributes.
    """
    from xarray import Dataset

    if isinstance(results, Dataset):
        results = [results]
    if isinstance(results, Mapping):
        if names is not None:
            raise Fault("names", "does not apply to a dict of results, which has names; leave it out")
        names, results = list(results), list(results.values())
    if not isinstance(results, list | tuple) or not results:
        raise Fault("results", f"is {shown(results)}; it must be a result, or a list or dict of them")
    for result in results:
        checked_result(result, ("q",), ("arm", "name"))
    if names is None:
        names = [str(result.attrs["name"]) for result in results]
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise Fault("names", f"is {shown(names)}; it must be a list of texts")
    if len(names) != len(results):
        raise Fault("names", f"has {counted(len(names), 'name')} for {counted(len(results), 'result')}")
    if model is not None:
        checked_instance(model, Model, "model")
    return [_motion(result, name, model) for result, name in zip(results, names, strict=True)]


def model_of(result: "Dataset") -> Model:
    """Return the model of a result's arm with the parameters of the run. Raises `Fault`."""
    try:
        arm = Arm.from_json(str(result.attrs["arm"]))
        if "p" in result.variables and "parameter" in result.coords:  # one run of an ensemble
            values = dict(zip(result.parameter.values.tolist(), result.p.values.tolist(), strict=True))
        elif "parameters" in result.attrs:
            values = json.loads(result.attrs["parameters"])
        else:
            return Model(arm)
        if not isinstance(values, dict):
            raise DescriptionError(f"its parameters are {shown(values)}")
        return Model(arm, vary=list(values)).at(values)
    except (DescriptionError, ValueError) as error:
        raise Fault("result", f"has an arm that cannot be rebuilt ({error}); give its model, model=...") from None


def _motion(result: "Dataset", name: str, model: Model | None) -> Motion:
    if result.q.dims != ("time", "coordinate") or not result.sizes["time"]:
        must = "it must be one run; of several runs choose one: result.isel(run=0)"
        raise Fault("result", f"has q over {', '.join(map(str, result.q.dims))}; {must}")
    model = model_of(result) if model is None else model
    t, q = (np.asarray(result[part].values, dtype=float) for part in ("time", "q"))
    known = list(map(str, result.coordinate.values))
    if known != list(model.coordinates):
        raise Fault("result", f"has coordinates {', '.join(known)}; its arm has {', '.join(model.coordinates)}")
    if not (np.isfinite(t).all() and np.isfinite(q).all() and (np.diff(t) >= 0).all()):
        raise Fault("result", "has a time or a coordinate that is not finite, or times that do not increase")
    if np.abs(q).max(initial=0.0) > LARGEST:
        raise Fault("result", f"has q of {np.abs(q).max():g}; it must be at most {LARGEST:g} in size to be drawn")
    for place, _ in model.arm.quaternions:
        q = _continuous(q, place)
    return Motion(name, model, t, q, _wanted(result, model, q))


def _wanted(result: "Dataset", model: Model, q: Array) -> Array | None:
    """Return the reference. A free base, which has none, keeps its recorded pose."""
    if "q_ref" not in result:
        return None
    arm = model.arm
    behind = len(arm.coordinates) - len(arm.layout)
    wanted = np.tile(np.array(arm.rest), (result.sizes["time"], 1))
    wanted[:, : arm.poses] = q[:, : arm.poses]
    wanted[:, np.array(arm.driven, dtype=int) + behind] = result.q_ref.values
    for joint, motor in arm.springs:
        wanted[:, motor + behind] = wanted[:, joint + behind]
    return wanted if np.isfinite(wanted).all() else None


def _continuous(q: Array, place: slice) -> Array:
    """Return q with signs of a quaternion that keep it continuous. Opposite quaternions are the same attitude.

    Raises `Fault` for a quaternion that is too short.
    """
    e = q[:, place]
    if not (shortest := float(np.linalg.norm(e, axis=1).min())) > SHORTEST:
        raise Fault("result", f"has a quaternion of length {shortest:.3g}; it must be 1")
    sign = np.cumprod(np.append(1.0, np.where(np.sum(e[1:] * e[:-1], axis=1) < 0.0, -1.0, 1.0)))
    q = q.copy()
    q[:, place] = e * sign[:, None]
    return q
