"""Sensors: what is measured of an arm, as outputs of the model, and what a real instrument would have read.

    outputs(model, [Encoder(coordinate="upper.drive"), StrainGauge(link="upper")]).values(q, qd, u)
    model.linearize(q, qd, u, outputs=[TipPosition(axes="xy")])
    sampled([Encoder(coordinate="upper.drive", sample_time=1e-3, resolution=1e-4)], model, result, seed=1)

A sensor is an expression in q, qd and qdd. Every one has four fields that say how it samples and do not change that
expression: `sample_time` [s], `resolution` and `noise` in the unit of its signals, and a `name` for its signals.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, final

import numpy as np
from pydantic import BeforeValidator

from flexarm import checks
from flexarm.checks import (
    NOT_NEGATIVE,
    NOT_ZERO,
    POSITIVE,
    Described,
    Fault,
    Rule,
    checked_instance,
    checked_result,
    checked_whole,
    number,
    optional_number,
    refused,
    shown,
)
from flexarm.description.arm import Arm, Beam, Link
from flexarm.errors import DescriptionError
from flexarm.model import Model, Sensor, signal
from flexarm.model.evaluation import Evaluation

if TYPE_CHECKING:
    import casadi as ca
    from xarray import Dataset

Array = np.ndarray

STATION: Rule = ("from 0 to 1", lambda x: 0 <= x <= 1)


def _axes(value: object) -> str:
    if not isinstance(value, str) or not value or set(value) - set("xyz") or len(set(value)) < len(value):
        raise Fault("", f"is {shown(value)}; it must be some of x, y, z, each once, as in 'xy'")
    return value


def _name(value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and value.isidentifier()):
        raise Fault("", f"is {shown(value)}; it must be letters, digits and underscores")
    return value


Axes = Annotated[str, BeforeValidator(_axes)]


class Sampling(Described):
    """How an instrument samples what it measures.

    Parameters
    ----------
    sample_time : float, optional
        From one reading to the next, the first at t = 0 [s]. Default: a reading at every time of a result.
    resolution : float
        Readings are rounded to whole multiples of this, in the unit of the signal; 0 for none.
    noise : float
        Standard deviation of white, normal noise, added before rounding, in the unit of the signal.
    name : str, optional
        What the signal is called, or what it begins with where there are several.
    """

    sample_time: Annotated[float | None, optional_number("s", POSITIVE)] = None
    resolution: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    noise: Annotated[float, number("", NOT_NEGATIVE)] = 0.0
    name: Annotated[str | None, BeforeValidator(_name)] = None

    def described(self) -> str:
        """What the expression depends on."""
        return json.dumps({key: value for key, value in self if key not in Sampling.model_fields})


# -- the kinds ---------------------------------------------------------------------------------------------------------


@final
class Encoder(Sampling):
    """The angle of a joint, or the length of a slide [rad or m].

    Parameters
    ----------
    coordinate : str
        `"upper.drive"`: what the actuator turns, whatever that is: the motor of an elastic joint, or the hub, which
        where shapes have a slope at the hub turns by joint + slope (Lin & Lewis: B' q). `"upper.hub"`: the same on the
        link's side of the spring. Or any coordinate of the arm by its name, as `"upper.joint"`, `"upper.motor"`.

    Notes
    -----
    Angles are those of the joint. One that counts on the motor's shaft sees them `gear_ratio` times: its resolution
    here is 2 pi / (counts gear_ratio).
    """

    type: Literal["encoder"] = "encoder"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal, called like the coordinate: `upper_drive`."""
        _check_coordinate(type(self).__name__, self.coordinate, arm)
        return (self.name or signal(self.coordinate),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad] or [m]."""
        return (coordinate_unit(arm, self.coordinate),)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate."""
        return [_measured(self.coordinate, arm, chain, q)]


@final
class Tachometer(Sampling):
    """The rate of a coordinate [rad/s or m/s].

    Parameters
    ----------
    coordinate : str
        As that of an `Encoder`.
    """

    type: Literal["tachometer"] = "tachometer"
    coordinate: Annotated[str, checks.text]

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_drive_rate`."""
        _check_coordinate(type(self).__name__, self.coordinate, arm)
        return (self.name or signal(self.coordinate) + "_rate",)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[rad/s] or [m/s]."""
        return (coordinate_unit(arm, self.coordinate) + "/s",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The coordinate is linear in q, and its rate the same of qd."""
        return [_measured(self.coordinate, arm, chain, qd)]


@final
class StrainGauge(Sampling):
    """Bending of a beam at a place: the moment EI kappa [N m], or the strain of a fibre [1].

    Parameters
    ----------
    link : str
    at : float
        Place on the (free) length, 0 at the hub, 1 at the tip.
    plane : "y" or "z"
        Direction of the deflection: kappa = d2 u / dx2, positive where the beam is hollow towards +y (or +z).
    distance : float, optional
        Of the gauge from the neutral axis, towards +y (or +z) [m]. With it the reading is the strain of bending there,
        -distance kappa: positive where the fibre is drawn out.

    The moment is EI times the curvature of the assumed shapes: that of a shape that carries no moment at its end, as
    clamped-free, is zero there whatever the load.
    """

    type: Literal["strain-gauge"] = "strain-gauge"
    link: Annotated[str, checks.text]
    at: Annotated[float, number("", STATION)] = 0.0
    plane: Literal["y", "z"] = "y"
    distance: Annotated[float | None, optional_number("m", NOT_ZERO)] = None

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_moment_y_0`, `upper_strain_z_0_25`."""
        at = _place(self, self.link, arm)
        link = arm.links[at]
        if not (isinstance(link.body, Beam) and link.body.counts[self.plane]):
            raise DescriptionError(f"StrainGauge: link {link.name!r} does not bend along {self.plane}")
        kind = "moment" if self.distance is None else "strain"
        return (self.name or signal(f"{self.link}_{kind}_{self.plane}_{self.at:g}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[N m] or [1]."""
        return ("N m" if self.distance is None else "1",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """EI kappa, or -distance kappa."""
        from flexarm.mechanics.chain import taken

        i = _place(self, self.link, arm)
        body, eta, axis = chain.bodies[i], taken(q, chain.own[i])[1:], "yz".index(self.plane)
        if self.distance is None:
            return [body.bending_moment(self.at, eta)[axis]]
        return [-self.distance * body.curvature(self.at, eta)[axis]]


@final
class TipPosition(Sampling):
    """Where the payload frame's origin is, in the base frame [m].

    Parameters
    ----------
    axes : str
        Of the base frame, e.g. "xy".
    """

    type: Literal["tip-position"] = "tip-position"
    axes: Axes = "xyz"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`tip_x`, `tip_y`, `tip_z`."""
        return tuple(f"{self.name or 'tip'}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m]"""
        return ("m",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """The chosen components."""
        from flexarm.mechanics.dynamics import frames

        p = frames(chain, q)[-1].p
        return [p["xyz".index(axis)] for axis in self.axes]


@final
class TipDeflection(Sampling):
    """How far a link's tip is from where it would be without deformation, in the link's own frame [m or rad].

    Parameters
    ----------
    link : str
    axis : "x", "y", "z", "slope_y", "slope_z" or "torsion"
        A displacement [m], a slope of the neutral axis in the plane of y or z, or the twist [rad].
    """

    type: Literal["tip-deflection"] = "tip-deflection"
    link: Annotated[str, checks.text]
    axis: Literal["x", "y", "z", "slope_y", "slope_z", "torsion"] = "y"

    def names(self, arm: Arm) -> tuple[str, ...]:
        """One signal: `upper_deflection_y`."""
        at = _place(self, self.link, arm)
        link = arm.links[at]
        if not (isinstance(link.body, Beam) and any(link.body.counts.values())):
            raise DescriptionError(f"TipDeflection: link {link.name!r} does not deform")
        return (self.name or signal(f"{self.link}_deflection_{self.axis}"),)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m] or [rad]."""
        return ("m" if len(self.axis) == 1 else "rad",)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """A tip function, less its value without deformation."""
        from flexarm.mechanics.body import undeformed
        from flexarm.mechanics.chain import taken

        i = _place(self, self.link, arm)
        body, eta = chain.bodies[i], taken(q, chain.own[i])[1:]
        k = ("x", "y", "z", "slope_y", "slope_z", "torsion").index(self.axis)
        return [body.tip(eta)[k] - body.tip(undeformed(body, eta))[k]]


@final
class Accelerometer(Sampling):
    """Acceleration of the payload frame's origin [m/s^2].

    Parameters
    ----------
    axes : str
        E.g. "xy".
    frame : "tip" or "base"
        Whose axes they are: those of the payload frame, which turn with it, or the base frame's.
    gravity : bool
        True (default): acceleration less gravity, which is what an accelerometer feels: one at rest reads what holds it
        up. False: acceleration alone.
    """

    type: Literal["accelerometer"] = "accelerometer"
    axes: Axes = "xyz"
    frame: Literal["tip", "base"] = "tip"
    gravity: Annotated[bool, checks.flag] = True

    def names(self, arm: Arm) -> tuple[str, ...]:
        """`tip_acceleration_x`, ..."""
        return tuple(f"{self.name or 'tip_acceleration'}_{axis}" for axis in self.axes)

    def units(self, arm: Arm) -> tuple[str, ...]:
        """[m/s^2]"""
        return ("m/s^2",) * len(self.axes)

    def expression(self, arm: Arm, chain: Any, q: list, qd: list, qdd: list) -> list:
        """d2p/dt2 - g, by differentiating the position twice; R' of it in the tip's axes."""
        import casadi as ca

        from flexarm.mechanics.dynamics import entries, frames
        from flexarm.mechanics.spatial import added, product, scaled, transposed

        tip = frames(chain, q)[-1]
        p, x, xd, xdd = (ca.vertcat(*v) for v in (tip.p, q, qd, qdd))
        v = ca.jtimes(p, x, xd)
        a = entries(ca.densify(ca.jtimes(v, x, xd) + ca.jtimes(p, x, xdd)))
        if self.gravity:
            a = added(a, scaled(-1.0, chain.gravity))
        if self.frame == "tip":
            a = product(transposed(tip.R), a)
        return [a["xyz".index(axis)] for axis in self.axes]


OF_THE_STATE = (Encoder, Tachometer, StrainGauge, TipPosition, TipDeflection)
"""Kinds that do not depend on qdd."""

# -- coordinates and links by name -------------------------------------------------------------------------------------


def coordinate_unit(arm: Arm, name: str) -> str:
    """[rad] or [m], of a coordinate, a drive or a hub; raises `DescriptionError` where the arm has none of the name."""
    _check_coordinate("coordinate_unit", name, arm)
    known = {coordinate.name: coordinate.unit for coordinate in arm.layout}
    return known[name] if name in known else _drives_and_hubs(arm)[name][0].joint.unit


def _drives_and_hubs(arm: Arm) -> dict[str, tuple[Link, int, str]]:
    """What has a name beside the coordinates: link, its position, and which of the two."""
    moving = [(i, link) for i, link in enumerate(arm.links) if link.joint.moves]
    return {f"{link.name}.{part}": (link, i, part) for i, link in moving for part in ("drive", "hub")}


def _check_coordinate(where: str, name: str, arm: Arm) -> None:
    with refused(where):
        checked_instance(arm, Arm, "arm")
    known = [*_drives_and_hubs(arm), *arm.coordinates]
    if not isinstance(name, str) or name not in known:
        raise DescriptionError(f"{where}: unknown coordinate {shown(name)}; known are {', '.join(known)}")


def _place(sensor: Described, name: str, arm: Arm) -> int:
    """The number of the link of this name."""
    with refused(type(sensor).__name__):
        checked_instance(arm, Arm, "arm")
    names = [link.name for link in arm.links]
    if name not in names:
        raise DescriptionError(f"{type(sensor).__name__}: unknown link {shown(name)}; the arm has {', '.join(names)}")
    return names.index(name)


def _measured(name: str, arm: Arm, chain: Any, q: list) -> Any:
    """A coordinate, or what a drive or a hub turns (or slides) by: linear in q."""
    from flexarm.mechanics.chain import taken
    from flexarm.mechanics.spatial import dot

    if name in arm.coordinates:
        return q[arm.coordinates.index(name)]
    link, i, part = _drives_and_hubs(arm)[name]
    body, share = chain.bodies[i], taken(q, chain.own[i])
    if part == "drive":
        return dot(body.drive, share)
    joint = next(n for n in arm.joints if arm.layout[n].link == i)
    return _hub(link, body, share, q[joint])


def _hub(link: Link, body: Any, share: list, joint: Any) -> Any:
    """The joint's coordinate, and the slopes at a hub that turns with the shapes, about the joint's axis."""
    if not link.joint.turns:
        return joint
    slope_y, slope_z = body.root(share[1:])
    _, y, z = link.joint.direction
    return joint + z * slope_y - y * slope_z


# -- outputs of a model ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Outputs:
    """What sensors measure of a model, without sampling: y(q, qd, u)."""

    model: Model
    sensors: tuple[Any, ...]
    names: tuple[str, ...]
    units: tuple[str, ...]

    def values(self, q: Array, qd: Array, u: Array | None = None, p: Any = None) -> Array:
        """y, one number a signal, by native code; axes before the last are many states, as everywhere.

        u is needed where acceleration is measured, and may be left out elsewhere; p are parameters of a model that
        varies. Raises `DescriptionError` for arguments that do not fit the arm.
        """
        if self._accelerates:
            if u is None:
                raise DescriptionError("outputs: u is missing; an acceleration is measured")
            qdd = self.model.forward_dynamics(q, qd, u, p)
        else:
            qdd = np.zeros(len(self.model.coordinates))
        return self._evaluation((q, qd, qdd), None if p is None else self.model.parameter_values(p))

    @cached_property
    def _evaluation(self) -> Evaluation:
        kernel = self.model.output_kernel(self.sensors)
        return self.model.evaluation("outputs", kernel, ("q", "qd", "qdd"), (len(self.names),))

    @property
    def _accelerates(self) -> bool:
        """Whether some sensor may depend on qdd; one that is not of this module may."""
        return not all(isinstance(each, OF_THE_STATE) for each in self.sensors)

    @cached_property
    def function(self) -> "ca.Function":
        """The CasADi Function y(q, qd, u), for optimisation and export."""
        import casadi as ca

        y = self.model.with_numbers(self.model.output_function(self.sensors))
        names, n = ["q", "qd", "u"], len(self.model.coordinates)
        x = [ca.SX.sym(a, size) for a, size in zip(names, (n, n, len(self.model.inputs)), strict=True)]
        qdd = self.model.fixed("forward_dynamics")(*x) if self._accelerates else ca.DM.zeros(n)
        return ca.Function("outputs", x, [ca.densify(ca.cse(y(x[0], x[1], qdd)))], names, ["y"])


def outputs(model: Model, sensors: Sequence[Sensor]) -> Outputs:
    """What the sensors measure of the model; raises `DescriptionError` where one does not fit the arm."""
    with refused("outputs"):
        checked_instance(model, Model, "model")
    names = model.output_names(sensors)
    units = [unit for each in sensors for unit in (each.units(model.arm) if hasattr(each, "units") else [""])]
    return Outputs(model, tuple(sensors), names, tuple(units))


# -- what instruments would have read ----------------------------------------------------------------------------------


def sampled(sensors: Sequence[Any], model: Model, result: "Dataset", seed: int) -> "Dataset":
    """What the sensors would have read of a simulated motion: sampled, with noise, rounded.

    Noise is drawn from the seed and the signal's name, so it is the same in every run and does not change when
    another sensor comes or goes. Readings are round(y + noise, resolution).

    Parameters
    ----------
    sensors : list of sensors
    model : Model
        The one that moved.
    result : xarray.Dataset
        Of `simulate`. Its times must include those of every sensor: between them nothing is known of vibrations that
        are faster, and of inputs that jump.
    seed : int
        Not negative.

    Returns
    -------
    xarray.Dataset
        A variable a signal, over `time` where its sensor has no sample time, over `time_0_001` where that is 0.001 s.

    Raises
    ------
    DescriptionError
        Also where a sample time does not fall on the times of the result.
    """
    import xarray as xr

    with refused():
        seed = checked_whole(seed, 0, "seed")
    with refused("sampled"):
        checked_instance(model, Model, "model")
        checked_result(result, ("q", "qd", "u"))
    if tuple(map(str, result.coordinate.values)) != model.coordinates:
        raise DescriptionError(f"sampled: the result is not of arm {model.arm.name!r}: its coordinates differ")
    model.output_names(sensors)
    t = result.time.values
    readings, coords = {}, {}
    for sensor in sensors:
        measured = outputs(model, [sensor])
        dimension = "time" if sensor.sample_time is None else signal(f"time_{sensor.sample_time:g}")
        rows = _rows(sensor, t)
        coords[dimension] = (dimension, t[rows], {"units": "s"})
        states = (result[name].values[rows] for name in ("q", "qd", "u"))
        y = measured.values(*states)
        for k, (name, unit) in enumerate(zip(measured.names, measured.units, strict=True)):
            rng = np.random.default_rng([int(seed), *name.encode()])
            value = y[:, k] + sensor.noise * rng.standard_normal(len(rows))
            if sensor.resolution:
                value = sensor.resolution * np.round(value / sensor.resolution)
            about = {"units": unit, "sensor": type(sensor).__name__, "noise": sensor.noise}
            readings[name] = (dimension, value, about | {"resolution": sensor.resolution})
    return xr.Dataset(readings, coords=coords, attrs={"title": f"{model.arm.name}: readings", "seed": int(seed)})


def _rows(sensor: Any, t: Array) -> Array:
    """Which of the times are those of the sensor."""
    if sensor.sample_time is None:
        return np.arange(len(t))
    dt = sensor.sample_time
    if (t[-1] - t[0]) / dt > len(t) - 0.5:
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, shorter than the steps of the result; choose more `samples` of the run")
    wanted = t[0] + dt * np.arange(int((t[-1] - t[0]) / dt + 1e-6) + 1)
    rows = np.clip(np.searchsorted(t, wanted - 1e-6 * dt), 0, len(t) - 1)
    off = np.abs(t[rows] - wanted)
    if (off > 1e-6 * dt).any():
        missing = f"{wanted[np.argmax(off > 1e-6 * dt)]:g} s is not among the times of the result"
        where = f"{type(sensor).__name__}: sample_time is {dt:g} s"
        raise DescriptionError(f"{where}, but {missing}; choose `samples` of the run so that it is")
    return rows
