"""States of a closed loop along a run, including its law's memory, which a result does not contain."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.feedback import kernel
from flexarm.simulation.law import Law

if TYPE_CHECKING:
    import xarray


NEEDED = ("q", "qd")


@final
@dataclass(frozen=True, eq=False)
class Passed:
    """States at times t (times,): q (times, nq), qd (times, nv), drives' states s, the law's memory z, inputs w.

    w is None without exogenous inputs.
    """

    t: Array
    q: Array
    qd: Array
    s: Array
    z: Array
    w: Array | None = None


def passed(model: Model, law: Law, period: float | None, motion: "xarray.Dataset") -> Passed:
    """Return the states of a run of this model under this law. The memory follows from the motion, without noise.

    Raises `DescriptionError` if the run is of another arm, or lacks a variable.
    """
    names = [*NEEDED, *(["drive_state"] if model.states else [])]
    for name in names:
        if name not in getattr(motion, "variables", ()):
            raise DescriptionError(f"motion: the value must be a result of simulate with {', '.join(names)}")
    coordinates = tuple(motion.coordinate.values.tolist())
    if coordinates != tuple(model.coordinates):
        raise DescriptionError(f"motion: its coordinates are {', '.join(coordinates)}, which differ from the model's")
    t, q, qd = (np.array(motion[name].values, dtype=float) for name in ("time", "q", "qd"))
    s = np.array(motion.drive_state.values) if model.states else np.zeros((len(t), 0))
    z = np.tile(np.array(law.memory), (len(t), 1))
    w = np.array(motion.w.values) if "w" in motion.variables else None
    if len(law.memory) or law.accelerates:
        z = _sampled(model, law, period, t, q, qd, s, w) if period else _continuous(model, law, t, q, qd)
    return Passed(t, q, qd, s, z, w)


def _between(t: Array, *parts: Array) -> Any:
    """Return an interpolation of the parts, side by side, as a function of time."""
    from scipy.interpolate import CubicSpline

    return CubicSpline(t, np.hstack(parts))


def _sampled(model: Model, law: Law, period: float, t: Array, q: Array, qd: Array, s: Array, w: Array | None) -> Array:
    """Return the memory at the last sample before or at each time.

    With measured accelerations it includes the previous u.

    See `ClosedLoop`.
    """
    code = kernel(law, model, own=len(model.states))
    m, z = len(model.inputs), np.array(law.memory)
    last = np.floor(t / period + 1e-9).astype(int)
    times = period * np.arange(last[-1] + 1)
    at, noise = _between(t, q, qd, s)(times), np.zeros(len(law.noise))
    acting = None if w is None else w[np.searchsorted(t, times, side="right") - 1]
    u, felt = np.zeros(m), np.empty(0)
    kept = np.empty((len(times), len(z) + m * law.accelerates))
    for k, time in enumerate(times):
        kept[k] = np.concatenate([z, u]) if law.accelerates else z
        if law.accelerates:
            given = {"s": at[k, model.nq + model.nv :] if model.states else None}
            given["w"] = None if acting is None else acting[k]
            felt = model.forward_dynamics(at[k, : model.nq], at[k, model.nq : model.nq + model.nv], u, **given)
        found = code.one(np.concatenate([[time], at[k], z, noise, felt]))
        u, z = found[:m], found[m:]
    return kept[last]


def _continuous(model: Model, law: Law, t: Array, q: Array, qd: Array) -> Array:
    from scipy.integrate import solve_ivp

    code, m, at = kernel(law, model), len(model.inputs), _between(t, q, qd)

    def rate(time: float, z: Array) -> Array:
        return code.one(np.concatenate([[time], at(time), z]))[m:]

    found = solve_ivp(rate, (t[0], t[-1]), np.array(law.memory), "LSODA", t, rtol=1e-7, atol=1e-9)
    return np.asarray(found.y.T)
