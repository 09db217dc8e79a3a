"""Models as FMU systems: the rates that a simulation integrates, sensor signals, and the derivatives of both."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arrays import Array
from flexarm.closed_forms.formats.program import Program
from flexarm.description import numbers
from flexarm.exports.fmu.system import Signal, System, depends, named_signals
from flexarm.exports.programs import measured, parameters
from flexarm.model import Model, Sensor, closures, linear
from flexarm.model.attitudes import unit_pose
from flexarm.model.evaluation import begun_at
from flexarm.sensors import Encoder, Tachometer, TipPosition, outputs
from flexarm.simulation.crossings import crossings

if TYPE_CHECKING:
    import casadi as ca

SHARE, LONGEST = 0.2, 0.01
"""Length of a step, as a share of the time in which the fastest mode turns by a radian, and its upper limit [s]."""


def usual_sensors(model: Model) -> list[Sensor]:
    """Return sensors of joint and motor angles and rates, of free bases and ball joints, and of the tip position."""
    arm = model.arm
    moving = [arm.velocities[i] for i in sorted({*arm.joints, *arm.motors})]
    angles: list[Any] = [Encoder(coordinate=name) for name in (*arm.coordinates[: arm.poses], *moving)]
    rates: list[Any] = [Tachometer(coordinate=name) for name in (*arm.velocities[: arm.twists], *moving)]
    usual = [name for each in (*angles, *rates) for name in each.names(arm)]
    alone = linear.signals(usual)  # names of links may differ only in their punctuation
    named = [x if a == b else x.replace(name=b) for x, a, b in zip((*angles, *rates), usual, alone, strict=True)]
    return [*named, TipPosition()]


def start(model: Model, q0: Any, qd0: Any, s0: Any) -> Array:
    """Return the initial state (q, qd, s). Parts that are not given are those of the arm at rest."""
    q = begun_at("q0", q0, np.array(model.arm.rest), model.coordinates)
    qd = begun_at("qd0", qd0, np.zeros(model.nv), model.velocities)
    s = begun_at("s0", s0, np.zeros(len(model.states)), model.states)
    q, qd = closures.started("export_fmu", model, unit_pose("q0", q, model.arm), qd, (q0 is not None, qd0 is not None))
    return np.concatenate([q, qd, s])


def system(
    model: Model, sensors: Sequence[Sensor], start: Array, step: float, tolerance: float, near: bool = False
) -> System:
    """Return the model as a system with this initial state (q, qd, s) and its present parameters.

    If `near`, rates and outputs are those of the nearest state that satisfies the closures.
    """
    import casadi as ca

    arm = model.arm
    seen = outputs(model, sensors)
    kinds = [type(each).__name__ for each in sensors for _ in each.names(arm)]
    states = (
        *named_signals("q", arm.coordinates, arm.units, "coordinate"),
        *named_signals("qd", arm.velocities, arm.rate_units, "rate of a coordinate"),
        *named_signals("s", arm.states, arm.state_units, "state of a drive"),
    )
    inputs = (
        *named_signals("u", arm.inputs, arm.input_units, "input"),
        *named_signals("w", arm.exogenous, arm.exogenous_units, "exogenous input"),
    )
    varied = []
    for each, value in zip(model.varied, model.p.tolist(), strict=True):
        _, allowed = numbers.rule(arm, each.name)
        least = None if allowed(-1.0) else 0.0
        varied.append(Signal(f"p.{each.name}", each.unit, each.meaning, value, least))
    signals = tuple(
        Signal(name, unit, f"{kind}") for name, unit, kind in zip(seen.names, seen.units, kinds, strict=True)
    )
    sizes = {"x": len(states), "u": len(inputs), "p": len(varied)}
    symbols = {name: ca.SX.sym(name, size) for name, size in sizes.items() if size}
    closed = near and bool(arm.closures)
    at = symbols | {"x": _corrected(model, symbols)[:-1]} if closed else symbols
    rates, y = _traced(model, sensors, at)
    both = ca.vertcat(rates, y)
    known = ca.vertcat(*symbols.values())
    place = np.arange(known.numel()) - len(states)
    moving = (place < 0) | (place >= len(inputs))  # states and parameters
    touched = _crossings(model, symbols)
    given = parameters(model)
    order = ("x", "u", "vx", "vu", "vp", "weights", "p")
    entries = {
        name: tuple(each.name for each in signals) for name, signals in {"x": states, "u": inputs}.items() if signals
    }

    def program(name: str, title: str, arguments: dict[str, ca.SX], result: ca.SX) -> Program:
        x = {each: arguments[each] for each in order if each in arguments}
        function = ca.Function(name, list(x.values()), [ca.densify(ca.cse(result))], list(x), ["result"])
        return Program(name, title, function, given, {each: names for each, names in entries.items() if each in x})

    programs = [
        program("rates", "Rates of the states.", symbols, rates),
        program("outputs", "What is measured.", symbols, y),
    ]
    known_alone = {name: symbols[name] for name in "xp" if name in symbols}
    if arm.closures:
        programs.append(
            program(
                "correction",
                "A state, corrected; the sum of squares of gaps before.",
                known_alone,
                _corrected(model, symbols),
            )
        )
    else:
        directions = {f"v{name}": ca.SX.sym(f"v{name}", size) for name, size in sizes.items() if size}
        slopes = ca.jtimes(both, known, ca.vertcat(*directions.values()))
        weights = ca.SX.sym("weights", both.numel())
        adjoints = ca.jtimes(both, known, weights, True)
        programs += [
            program("slopes", "Derivatives of rates and outputs along a direction.", symbols | directions, slopes),
            program(
                "adjoints", "Slope of a weighted sum of rates and outputs.", symbols | {"weights": weights}, adjoints
            ),
        ]
    if touched.numel():
        programs.append(program("indicators", "What changes its sign at a contact.", known_alone, touched))
    return System(
        arm.name,
        arm.description or arm.name,
        tuple(each._replace(start=float(value)) for each, value in zip(states, start, strict=True)),
        inputs,
        tuple(varied),
        signals,
        tuple(programs),
        depends(rates, known) | (moving & bool(arm.closures)),  # through the correction
        depends(y, known) | (moving & bool(arm.closures)),
        step,
        tolerance,
        indicators=tuple(
            Signal(f"contact_{i + 1}", "", "changes its sign where something makes contact")
            for i in range(touched.numel())
        ),
    )


def _crossings(model: Model, symbols: "dict[str, ca.SX]") -> "ca.SX":
    """Return the contact indicators over the symbols x and p, which change sign at contact. Without sharp contacts it
    is empty."""
    import casadi as ca

    if not model.arm.sharp:
        return ca.SX(0, 1)
    x, more = symbols["x"], [symbols["p"]] if "p" in symbols else []
    return crossings(model)(x[: model.nq], x[model.nq : model.nq + model.nv], *more)


def _corrected(model: Model, symbols: "dict[str, ca.SX]") -> "ca.SX":
    """Return the states x after one correction towards the closures, and the sum of squares of the gaps before."""
    import casadi as ca

    x, end = symbols["x"], model.nq + model.nv
    more = [symbols["p"]] if "p" in symbols else []
    found = closures.function(model, "correction")(x[: model.nq], x[model.nq : end], *more)
    return ca.vertcat(found[:end], x[end:], found[end])


def _traced(model: Model, sensors: Sequence[Sensor], symbols: "dict[str, ca.SX]") -> "tuple[ca.SX, ca.SX]":
    """Return the rates of (q, qd, s), and the measured signals, over the symbols x, u and p."""
    import casadi as ca

    none = ca.SX(0, 1)
    x, u, p = (symbols.get(name, none) for name in "xup")
    m, nq, nv = len(model.inputs), model.nq, model.nv
    at = {"q": x[:nq], "qd": x[nq : nq + nv], "s": x[nq + nv :], "u": u[:m], "w": u[m:], "p": p}

    def value(function: ca.Function) -> ca.SX:
        return function(*(at[name] for name in function.name_in()))

    return value(model.function("state_rate"))[: x.numel()], value(measured(model, sensors).program.function)


def _slopes(model: Model, q: Array, qd: Array, s: Array) -> Array:
    """Return the state matrix of the arm at this state, without inputs; with closures, of independent coordinates."""
    none = np.zeros(len(model.inputs))
    if model.arm.closures:
        return linear.linearize(model, q, qd, none, None).A
    return linear.slopes(model, q, qd, none, s=s)[0]


def usual_step(model: Model, start: Array) -> float:
    """Return a length for fixed steps from this state [s]: 1, 2 or 5 times a power of ten."""
    q, qd, s = np.split(start, np.cumsum([model.nq, model.nv]))
    A = _slopes(model, q, qd, s)
    fastest = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)) if np.isfinite(A).all() else 0.0
    longest = min(LONGEST, SHARE / fastest) if fastest else LONGEST
    power = 10.0 ** math.floor(math.log10(longest))
    return next(float(f"{k * power:.1g}") for k in (5, 2, 1) if k * power <= longest * (1 + 1e-9))
