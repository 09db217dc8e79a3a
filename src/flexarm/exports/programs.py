"""Programs of a model's library, and the same quantities computed by the native model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from flexarm.analysis.floating import tip_jacobian
from flexarm.arrays import Array
from flexarm.attitude import configuration, local
from flexarm.checks import Fault, refused, shown
from flexarm.closed_forms.formats.program import Program
from flexarm.errors import DescriptionError
from flexarm.model import Model, Sensor, closures
from flexarm.model.tracing import QUANTITIES
from flexarm.sensors import Outputs, outputs
from flexarm.sensors.joints import OfMotor


class Result(NamedTuple):
    """A quantity of a model in C: its array name and a note."""

    letter: str
    note: str


RESULTS = {
    "forward_dynamics": Result("qdd", "accelerations"),
    "inverse_dynamics": Result("tau", "generalized force that gives the accelerations"),
    "mass_matrix": Result("M", "mass matrix, NV x NV, row by row"),
    "bias": Result("h", "Coriolis and centrifugal force"),
    "gravity_force": Result("g", "dV/dq of gravity"),
    "stiffness_force": Result("f", "dV/dq of strain and springs"),
    "damping_force": Result("d", "force of bearings, springs, links' damping and friction at steady rates"),
    "input_matrix": Result("B", "generalized force = B u, NV x NU, row by row"),
    "energy": Result("E", "kinetic and potential energy [J]"),
    "power": Result("P", "power of the inputs [W]"),
    "momentum": Result("L", "momentum [kg m/s], moment of momentum about the world's origin [N m s]"),
    "tip": Result("T", "pose of the tip, 4 x 4, row by row"),
    "frames": Result("T", "poses of the links' base frames, then of the tip, 4 x 4 each, row by row"),
    "state_rate": Result("xd", "rates of q, qd, s, work of the inputs [J], energy dissipated [J]"),
}
"""Quantities by their names in `Model.function`, with their array names in C."""


@dataclass(frozen=True)
class Exported:
    """A program, and the native computation of the same result.

    Attributes
    ----------
    program : Program
        Program whose outputs are columns.
    native : Callable
        Function from a state, by the names of arguments, to outputs by name, with the model's own parameters.
    """

    program: Program
    native: Callable[[dict[str, Array]], dict[str, Array]]


def checked_sensors(where: str, sensors: object) -> list[Sensor]:
    """Return the sensors as a list. Raises `DescriptionError` for anything but a list or a tuple."""
    with refused(where):
        if not isinstance(sensors, list | tuple):
            raise Fault("sensors", f"is {shown(sensors)}; it must be a list of sensors")
    return list(sensors)


def library(model: Model, sensors: Sequence[Sensor] = ()) -> list[Exported]:
    """Return all programs of a model's library. Sensors are read without sampling and noise."""
    few = [name for name in RESULTS if name != "input_matrix" or model.inputs]
    found = [quantity(model, name) for name in few] + [jacobian(model)]
    # off the closures the accelerations have no meaning, so derivatives in all directions would mislead
    found += [correction(model)] if model.arm.closures else [slopes(model)]
    return found + ([measured(model, sensors)] if sensors else [])


def quantity(model: Model, name: str) -> Exported:
    """Return a quantity of the module `quantities`, with its value in a row."""
    letter, note = RESULTS[name]
    function = model.laid_out(name)

    def native(state: dict[str, Array]) -> dict[str, Array]:
        few = [a for a in model.arguments(name) if a not in ("s", "w")]
        more = {a: state[a] for a in ("s", "w") if a in model.arguments(name)}
        return {letter: model.evaluate(name, *(state[a] for a in few), **more)}

    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    return Exported(program(model, name, x, {letter: function(*x.values())}, {letter: note}), native)


def jacobian(model: Model) -> Exported:
    """Return the Jacobian of the tip, as in `analysis.tip_jacobian`."""
    function, slope = model.function("tip"), model.slope_function("tip", "q")
    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    R, rows = function(*x.values())[:3, :3], slope(*x.values())  # the columns of a pose are stored one after the other
    turning = [ca.mtimes(ca.reshape(column, 4, 4)[:3, :3], R.T) for column in ca.horzsplit(rows)]
    w = [ca.vertcat(W[2, 1], W[0, 2], W[1, 0]) for W in turning]
    J = ca.vertcat(rows[12:15, :], ca.horzcat(*w))
    note = "velocity [m/s] and angular velocity [rad/s] of the tip by the rates, 6 x NV, row by row"
    return Exported(
        program(model, "tip_jacobian", x, {"J": ca.vec(J.T)}, {"J": note}),
        lambda state: {"J": tip_jacobian(model, state["q"])},
    )


def correction(model: Model) -> Exported:
    """Return one correction of a state towards the closures, and the sum of squares of gaps and rates before it."""
    function = closures.function(model, "correction")
    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    note = "q and qd, corrected; then the sum of squares of the gaps [m or 1] and their rates before"
    return Exported(
        program(model, "correction", x, {"c": function(*x.values())}, {"c": note}),
        lambda state: {"c": np.array(model.with_numbers(function)(state["q"], state["qd"])).ravel()},
    )


def at_nearest(model: Model, exported: Exported) -> Exported:
    """Return a program of one result at the nearest state on the closures, for solvers that do not keep them.

    Such a solver leaves them by its tolerance. The gaps after the correction are about the squares of those before.
    """
    function = exported.program.function
    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    more = (x["p"],) if "p" in x else ()
    found = closures.function(model, "correction")(x["q"], x["qd"], *more)
    near = x | {"q": found[: model.nq], "qd": found[model.nq : -1]}
    result = ca.densify(ca.cse(function(*near.values())))
    moved = ca.Function(function.name(), [*x.values()], [result], [*x], function.name_out())
    return replace(exported, program=replace(exported.program, function=moved))


def slopes(model: Model) -> Exported:
    """Return the derivatives of forward dynamics with respect to q (local coordinates of a free base), qd and u."""
    function = model.function("forward_dynamics")
    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    to = [a for a in ("q", "qd", "u") if x[a].numel()]
    found = {a: model.slope_function("forward_dynamics", a)(*x.values()) for a in to}
    notes = {f"qdd_{a}": f"dqdd/d{a}, NV x {'NU' if a == 'u' else 'NV'}, row by row" for a in to}
    if model.arm.free:
        notes["qdd_q"] += ", to a shift and a turn of the base along its axes in the place of its pose"
    if model.arm.balls:
        notes["qdd_q"] += ", to turns of ball joints about the axes of their links in the place of their quaternions"
    arguments = model.arguments("forward_dynamics")
    return Exported(
        program(model, "forward_dynamics_slopes", x, {f"qdd_{a}": ca.vec(y.T) for a, y in found.items()}, notes),
        lambda state: {
            f"qdd_{a}": np.array(model.slope("forward_dynamics", a)(*(state[b] for b in arguments))) for a in to
        },
    )


def measured(model: Model, sensors: Sequence[Sensor]) -> Exported:
    """Return the sensor signals at a state, with inputs and exogenous inputs."""
    seen = outputs(model, sensors)
    function = model.function("forward_dynamics")
    x = dict(zip(function.name_in(), function.sx_in(), strict=True))
    signals = tuple(f"{name} [{unit}]" if unit else name for name, unit in zip(seen.names, seen.units, strict=True))

    def native(state: dict[str, Array]) -> dict[str, Array]:
        more = {a: state[a] for a in ("s", "w") if a in x}
        return {"y": seen.values(state["q"], state["qd"], state["u"], **more)}

    made = program(model, "outputs", x, {"y": _read(model, seen, x)}, {"y": "what sensors read"})
    return Exported(replace(made, entries={**made.entries, "y": signals}), native)


def _read(model: Model, seen: Outputs, x: dict[str, ca.SX]) -> ca.SX:
    """Return the signals in order, as expressions of the state."""
    given, p = list(x.values()), [x["p"]] if "p" in x else []
    motors = model.function("motors") if any(isinstance(each, OfMotor) for each in seen.sensors) else None
    qdd = model.function("forward_dynamics")(*given) if seen.driven else ca.SX.zeros(model.nv)
    found = []
    for each in seen.sensors:
        if isinstance(each, OfMotor):
            assert motors is not None
            found.append(motors(*given)[each.input(model.arm), each.column])
        else:
            found.append(model.output_function([each])(x["q"], x["qd"], qdd, *p))
    return ca.vertcat(*found)


def program(model: Model, name: str, x: dict[str, ca.SX], results: dict[str, ca.SX], notes: dict[str, str]) -> Program:
    """Return a program of a model's arguments, without empty ones. Each result is a column."""
    inputs = {a: symbol for a, symbol in x.items() if symbol.numel()}
    columns = [ca.densify(ca.cse(y)) for y in results.values()]
    signals = {
        "q": model.coordinates, "qd": model.velocities, "qdd": model.velocities, "s": model.states,
        "u": model.inputs, "w": model.exogenous,
    }  # fmt: skip
    return Program(
        name=name,
        title=f"{name} of {model.arm.name}",
        function=ca.Function(name, list(inputs.values()), columns, list(inputs), list(results)),
        parameters=parameters(model) if "p" in inputs else (),
        entries={a: signals[a] for a in inputs if a in signals},
        notes=notes,
        shapes={y: (column.numel(),) for y, column in zip(results, columns, strict=True)},
    )


def parameters(model: Model) -> tuple[Any, ...]:
    """Return the varied parameters with the values of this model."""
    return tuple(replace(x, value=float(value)) for x, value in zip(model.varied, model.p, strict=True))


def sizes(model: Model, sensors: Sequence[Sensor] = ()) -> dict[str, int]:
    """Return the numbers of coordinates, rates, inputs, states of drives, exogenous inputs, run states and signals."""
    nx = model.nq + model.nv + len(model.states) + 2
    counted = {"nq": model.nq, "nv": model.nv, "nu": len(model.inputs), "ns": len(model.states)}
    counted |= {"nw": len(model.exogenous), "nx": nx}
    return counted | ({"ny": len(model.output_names(sensors))} if sensors else {})


def state(model: Model, rng: np.random.Generator) -> dict[str, Array]:
    """Return a state near rest with finite rates, and all inputs.

    Raises `DescriptionError` if there is none.
    """
    arm = model.arm
    sizes = {"qd": model.nv, "qdd": model.nv, "u": len(model.inputs), "s": len(model.states), "w": len(model.exogenous)}
    for amplitude in 0.1 * 0.5 ** np.arange(20):
        found = {a: amplitude * rng.normal(size=size) for a, size in sizes.items()}
        found["q"] = configuration(arm, local(arm, closures.rest(model)) + amplitude * rng.normal(size=model.nv))
        if arm.closures:
            found["q"], found["qd"] = closures.closed(model, closures.assembled(model, found["q"])[0], found["qd"])
        given = [found[a] for a in model.arguments("state_rate")]
        few = [value for a, value in zip(model.arguments("state_rate"), given, strict=True) if a not in ("s", "w")]
        more = {a: found[a] for a in ("s", "w") if a in model.arguments("state_rate")}
        if np.isfinite(model.evaluate("state_rate", *few, **more)).all():
            return found
    raise DescriptionError(f"arm {arm.name!r}: its equations are not finite near rest, so the C code cannot be tested")


assert set(RESULTS) <= set(QUANTITIES)
