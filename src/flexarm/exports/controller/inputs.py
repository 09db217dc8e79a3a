"""Signals that a controller reads on its board, and its law as a function of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from flexarm.checks import unknown_name
from flexarm.errors import DescriptionError
from flexarm.exports.law import Measured, by_sensors, state_of
from flexarm.exports.needs import needed, silent
from flexarm.model import Model, Sensor
from flexarm.sensors import outputs
from flexarm.simulation.sampled import SampledFeedback
from flexarm.simulation.shown import Reading, readings_apart

WHERE = "export_controller"
"""Name of the public function in messages."""


ENDS = {", rate": ".rate", ", acceleration": ".acceleration"}
"""Ends of the names of signals that are derivatives of a coordinate."""


@dataclass(frozen=True)
class Inputs:
    """Signals of a controller.

    Attributes
    ----------
    names : (k,)
        Names of the signals, without units.
    measured : Measured
        The law over these signals.
    """

    names: tuple[str, ...]
    measured: Measured


def inputs_of(feedback: SampledFeedback, model: Model, sensors: Sequence[Sensor] = ()) -> Inputs:
    """Return the signals that a controller reads, and its law over them.

    A controller that has sensors, such as `Observed`, reads these sensors. In addition it reads the entries of q, qd,
    states of drives and qdd on which it depends directly. With `sensors`, these entries follow from the sensors, which
    are then all that the controller reads. Raises `DescriptionError` if the sensors do not determine them, or lack a
    signal of the controller.
    """
    with readings_apart() as readings:
        whole = silent(feedback, model)
    return (
        _by_sensors(whole, readings, feedback, model, sensors)
        if sensors
        else _by_state(whole, readings, feedback, model)
    )


def _by_state(whole: ca.Function, readings: dict[str, Reading], feedback: SampledFeedback, model: Model) -> Inputs:
    names, everything, state = state_of(feedback.law, model)
    t, x, z, y = whole.sx_in()
    law = ca.Function("law", [t, x, ca.vertcat(z, y)], [*whole(t, x, z, y)][:2])
    used = needed(law)
    measured, few = ca.SX.sym("measured", len(used)), ca.SX.zeros(x.numel())
    few[used] = measured
    both = ca.vertcat(y, measured)
    results = [*whole(t, few, z, y)][:2]
    read = ca.Function("read", [x], [whole(0, x, ca.DM.zeros(z.numel()), ca.DM.zeros(y.numel()))[2]])
    found = Measured(
        (*_described(readings), *(names[i][0] + names[i][1] for i in used)),
        ca.Function("law", [t, both, z], results, ["t", "y", "z"], ["u", "z_next"]),
        ca.Function("y", everything, [ca.vertcat(read(state), state[used])]),
    )
    return Inputs((*readings, *(names[i][0] + ENDS.get(names[i][1], "") for i in used)), found)


def _by_sensors(
    whole: ca.Function,
    readings: dict[str, Reading],
    feedback: SampledFeedback,
    model: Model,
    sensors: Sequence[Sensor],
) -> Inputs:
    signals = outputs(model, sensors)
    if missing := next((name for name in readings if name not in signals.names), None):
        problem = f"{WHERE}: sensors lack"
        raise DescriptionError(unknown_name(problem, missing, signals.names, "the controller reads it; they have"))
    names, everything, state = state_of(feedback.law, model)
    t, x, z, y = whole.sx_in()
    law = ca.Function("law", [t, x, ca.vertcat(z, y)], [*whole(t, x, z, y)][:2], ["t", "x", "z"], ["u", "z_next"])
    needs = [names[i][0] + names[i][1] for i in needed(law)]
    measured = ca.SX.sym("y", len(signals.names))
    if needs:
        found = by_sensors(WHERE, law, model, sensors, everything, state, needs)
        law, of, described = found.function, found.of, found.names
    else:
        output = model.with_numbers(model.output_function(sensors))
        of = ca.Function("y", everything, [output(everything[0], everything[1], everything[3])])
        described = tuple(f"{a} [{b}]" if b else a for a, b in zip(signals.names, signals.units, strict=True))
        law = ca.Function("law", [t, measured, ca.vertcat(z, y)], [*law(t, ca.DM.zeros(x.numel()), ca.vertcat(z, y))])
    own = ca.vertcat(*(measured[signals.names.index(name)] for name in readings), ca.SX(0, 1))
    results = [*law(t, measured, ca.vertcat(z, own))]
    exact = ca.vertcat(*(rounded(measured[i], each) for i, each in enumerate(_resolutions(readings, signals.names))))
    return Inputs(
        tuple(signals.names),
        Measured(
            described,
            ca.Function("law", [t, measured, z], results, ["t", "y", "z"], ["u", "z_next"]),
            ca.Function("y", everything, [ca.Function("rounded", [measured], [exact])(of(*everything))]),
        ),
    )


def _described(readings: dict[str, Reading]) -> list[str]:
    return [f"{name} [{each.unit}]" if each.unit else name for name, each in readings.items()]


def _resolutions(readings: dict[str, Reading], names: Sequence[str]) -> list[float]:
    """Return the resolutions with which the controller reads these signals, 0 for exact readings."""
    return [readings[name].resolution if name in readings else 0.0 for name in names]


def rounded(y: ca.SX, step: float) -> ca.SX:
    """Return a reading rounded to a resolution, which may be 0."""
    return step * ca.floor(y / step + 0.5) if step else y
