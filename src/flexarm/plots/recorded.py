"""The model whose motion a result is, again, and the motion."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.checks import Fault, checked_instance, checked_result, shown
from flexarm.description.arm import Arm
from flexarm.description.free import POSE
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.model.drawing import LARGEST

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

QUATERNION = slice(3, 7)
"""Of a free base, in q."""

SHORTEST = 0.5
"""Of a quaternion that is drawn: what a run gives is of length 1, but for its tolerances."""


@final
@dataclass(frozen=True)
class Motion:
    """What of a result is drawn.

    Attributes
    ----------
    name : str
    model : Model
    t : (N,)
        [s], ascending.
    q : (N, n)
    wanted : (N, n) or None
        The reference of the joints and their motors, nothing bent.
    """

    name: str
    model: Model
    t: Array
    q: Array
    wanted: Array | None

    def at(self, t: float) -> Array:
        """q at a time, (n,), straight between samples; before the first and after the last it stands still."""
        return self._between(self.q, t)

    def wanted_at(self, t: float) -> Array:
        """The reference at a time, (n,)."""
        assert self.wanted is not None
        return self._between(self.wanted, t)

    def _between(self, values: Array, t: float) -> Array:
        return np.array([np.interp(t, self.t, column) for column in values.T])


def motions(results: Any, names: Any = None, model: Any = None) -> list[Motion]:
    """One or more, of a result, a list of results, or a dict of results by name; raises `Fault`.

    The model is that of all of them, where their arm cannot be built again from what they say of it.
    """
    from xarray import Dataset

    if isinstance(results, Dataset):
        results = [results]
    if isinstance(results, Mapping):
        if names is not None:
            raise Fault("names", "is given beside a dict of results, which has the names")
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
        raise Fault("names", f"has {len(names)} names for {len(results)} results")
    if model is not None:
        checked_instance(model, Model, "model")
    return [_motion(result, name, model) for result, name in zip(results, names, strict=True)]


def model_of(result: "Dataset") -> Model:
    """The model of a result's arm, its parameters as in the run; raises `Fault`."""
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
        raise Fault("result", f"has an arm that cannot be built again ({error}); give its model, model=...") from None


def _motion(result: "Dataset", name: str, model: Model | None) -> Motion:
    if result.q.dims != ("time", "coordinate") or not result.sizes["time"]:
        must = "it must be one run's, at least one time long; of several runs choose one: result.isel(run=0)"
        raise Fault("result", f"has q over {', '.join(map(str, result.q.dims))}; {must}")
    model = model_of(result) if model is None else model
    t, q = (np.asarray(result[part].values, dtype=float) for part in ("time", "q"))
    known = list(map(str, result.coordinate.values))
    if known != list(model.coordinates):
        raise Fault("result", f"has coordinates {', '.join(known)}; its arm has {', '.join(model.coordinates)}")
    if not (np.isfinite(t).all() and np.isfinite(q).all() and (np.diff(t) >= 0).all()):
        raise Fault("result", "has a time or a coordinate that is no finite number, or times that do not ascend")
    if np.abs(q).max(initial=0.0) > LARGEST:
        raise Fault("result", f"has q of {np.abs(q).max():g}; it must be at most {LARGEST:g} in size to be drawn")
    if model.arm.free:
        q = _continuous(q)
    return Motion(name, model, t, q, _wanted(result, model, q))


def _wanted(result: "Dataset", model: Model, q: Array) -> Array | None:
    """The reference; a free base, for which there is none, stands where it was."""
    if "q_ref" not in result:
        return None
    arm = model.arm
    behind = len(arm.coordinates) - len(arm.layout)
    wanted = np.tile(np.array(arm.rest), (result.sizes["time"], 1))
    wanted[:, : len(POSE) * arm.free] = q[:, : len(POSE) * arm.free]
    wanted[:, np.array(arm.joints, dtype=int) + behind] = result.q_ref.values
    for joint, motor in arm.springs:
        wanted[:, motor + behind] = wanted[:, joint + behind]
    return wanted if np.isfinite(wanted).all() else None


def _continuous(q: Array) -> Array:
    """q, each quaternion nearer to the one before than its opposite, which is the same attitude, is; else `Fault`."""
    e = q[:, QUATERNION]
    if not (shortest := float(np.linalg.norm(e, axis=1).min())) > SHORTEST:
        raise Fault("result", f"has a quaternion of length {shortest:.3g}; those of a base must be of length 1")
    sign = np.cumprod(np.append(1.0, np.where(np.sum(e[1:] * e[:-1], axis=1) < 0.0, -1.0, 1.0)))
    q = q.copy()
    q[:, QUATERNION] = e * sign[:, None]
    return q
