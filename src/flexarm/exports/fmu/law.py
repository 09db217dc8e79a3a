"""Sampled control laws as FMU systems: the inputs are measurements of the arm, the outputs are the arm's inputs."""

import numpy as np

from flexarm.checks import Fault, checked_instance, refused
from flexarm.exports.fmu.system import Signal, System, named_signals
from flexarm.exports.needs import needed, of_needed, program, silent
from flexarm.model import Model
from flexarm.sensors import Encoder, Tachometer
from flexarm.simulation.sampled import Sampled


def system(loop: Sampled, model: Model) -> System:
    """Return the law that a sampled controller designs for a model, without noise.

    Raises `DescriptionError` if the law is a Python function, or if it measures accelerations.
    """
    with refused("export_law_fmu"):
        checked_instance(loop, Sampled, "loop")
        found = loop.feedback(model)
        if found.function is not None:
            raise Fault(
                "controller", "is a Python function; an FMU needs a controller that is an expression, see control"
            )
        if found.law.accelerates:
            raise Fault("controller", "measures accelerations, which an FMU of a controller does not support")
    law, arm = found.law, model.arm
    whole = silent(found, model)
    signals = _signals(model)
    inputs = tuple(signals[i] for i in needed(whole))
    reduced = of_needed(whole)
    outputs = tuple(named_signals("u", model.inputs, arm.input_units, "input of the arm"))
    return System(
        f"{arm.name}-{found.name}",
        f"{found.described()}, for {arm.name}",
        (),
        inputs,
        (),
        outputs,
        (program(reduced, "law", "The law at a sample.", [each.name for each in inputs], model.inputs),),
        np.zeros((0, len(inputs)), dtype=bool),
        np.array(reduced.jac_sparsity(0, 1), dtype=bool),
        found.period,
        memory=tuple(law.memory),
        period=found.period,
    )


def readers(model: Model) -> list[Encoder | Tachometer]:
    """Return sensors of a state (q, qd), one for each of its entries."""
    angles, rates = model.coordinates, model.velocities
    return [*(Encoder(coordinate=name) for name in angles), *(Tachometer(coordinate=name) for name in rates)]


def _signals(model: Model) -> list[Signal]:
    """Return the signals that a law may measure, with the names of the arm's sensors."""
    arm = model.arm
    start = [*arm.rest, *(0.0 for _ in arm.velocities)]
    found = [
        Signal(sensor.names(arm)[0], sensor.units(arm)[0], "measured", float(value))
        for sensor, value in zip(readers(model), start, strict=True)
    ]
    return [*found, *named_signals("s", arm.states, arm.state_units, "state of a drive")]
