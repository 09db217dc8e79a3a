"""Linear systems by name, from the arguments of figures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.analysis import equilibrium
from flexarm.checks import Fault, checked_list, counted, shown, unknown_name
from flexarm.model import Model

if TYPE_CHECKING:
    from control.lti import LTI

MOST = 6
"""Largest number of systems that can be told apart in one figure."""


def named_systems(systems: Any, sensors: Any = None, q: Any = None) -> dict[str, "LTI"]:
    """Return linear systems by name. Raises `Fault`.

    Parameters
    ----------
    systems : StateSpace, TransferFunction, Model, list of them or dict of them by name
        Systems to name.
    sensors : list of Sensor, optional
        Measurements of a model. Default: all of its coordinates and rates.
    q : (n,), optional
        Configuration near which a model's equilibrium is sought. Default: at rest.
    """
    if isinstance(systems, Mapping):
        given = dict(systems)
        if not all(isinstance(name, str) for name in given):
            raise Fault("systems", f"is {shown(systems)}; the names of systems must be texts")
    elif isinstance(systems, list | tuple):
        given = {_name(each, f"system {i + 1}"): each for i, each in enumerate(systems)}
        if len(given) < len(systems):
            given = {f"system {i + 1}": each for i, each in enumerate(systems)}
    else:
        given = {_name(systems, "model"): systems}
    if not 0 < len(given) <= MOST:
        raise Fault("systems", f"has {counted(len(given), 'system')}; it must have 1 to {MOST}")
    return {name: _linear(each, sensors, q) for name, each in given.items()}


def _name(system: Any, otherwise: str) -> str:
    return system.arm.name if isinstance(system, Model) else otherwise


def _linear(system: Any, sensors: Any, q: Any) -> "LTI":
    import control

    if isinstance(system, Model):
        x, u = equilibrium(system, np.array(system.arm.rest) if q is None else q)
        listed = None if sensors is None else checked_list(sensors, "a list of sensors", "sensors")
        return system.linearize(x, np.zeros(system.nv), u, listed)
    if isinstance(system, control.TransferFunction):
        coefficients = [c for each in (system.num_array, system.den_array) for c in np.ravel(each)]
        numbers = np.concatenate([np.atleast_1d(np.asarray(c, dtype=float)) for c in coefficients])
    elif isinstance(system, control.StateSpace):
        numbers = np.concatenate([np.ravel(each) for each in (system.A, system.B, system.C, system.D)])
    else:
        must = "a StateSpace or a TransferFunction of python-control, or a Model; or a list or dict of these"
        raise Fault("systems", f"has {shown(system)}; it must be {must}")
    if not np.isfinite(numbers).all():
        raise Fault("systems", "has a system with NaN or infinity in its matrices or coefficients")
    return system


def channel(labels: list[str], wanted: Any, part: str, whose: str) -> int:
    """Return the index of an output or input by its name or number. It is 0 if there is only one. Raises `Fault`."""
    if len(labels) == 1:
        return 0
    if isinstance(wanted, str) and wanted in labels:
        return labels.index(wanted)
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool) and 0 <= wanted < len(labels):
        return int(wanted)
    raise Fault(part, unknown_name("is", wanted, labels, f"{whose} has", f"{', '.join(labels)}; name one of them"))
