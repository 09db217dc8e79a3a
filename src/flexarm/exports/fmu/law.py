"""A sampled control law as a system: what it asks of the arm goes in, the arm's inputs come out."""

import numpy as np

from flexarm.checks import Fault, checked_instance, refused
from flexarm.closed_forms.formats.program import Program
from flexarm.errors import DescriptionError
from flexarm.exports.fmu.system import Signal, System, depends
from flexarm.model import Model
from flexarm.model.local import localized
from flexarm.sensors import Encoder, Tachometer
from flexarm.simulation.sampled import Sampled


def system(loop: Sampled, model: Model) -> System:
    """The law that a sampled controller designs for a model, without noise.

    Raises `DescriptionError` where the law is a Python function, or measures accelerations.
    """
    import casadi as ca

    with refused("export_law_fmu"):
        checked_instance(loop, Sampled, "loop")
        found = loop.feedback(model)
        if found.function is not None:
            raise Fault("controller", "is a Python function; an FMU holds laws that are expressions, see control")
        if found.law.accelerates:
            raise Fault("controller", "measures accelerations; an FMU has no law that does")
    law, arm = found.law, model.arm
    signals = _signals(model)
    sizes = (1, model.nq, model.nv, len(model.states), len(law.memory))
    t, q, qd, s, z = (ca.SX.sym(name, size) for name, size in zip(("t", "q", "qd", "s", "z"), sizes, strict=True))
    noise = ca.SX.zeros(len(law.noise))
    u, after = law(t, localized(arm, q), qd, z, noise, *([s] if law.drives else []))
    following = after(u)
    if following.numel() != len(law.memory) or u.numel() != len(model.inputs):
        raise DescriptionError(f"controller {found.name}: its law gives {u.numel()} inputs, {following.numel()} memory")
    everything, both = ca.vertcat(q, qd, s), ca.vertcat(u, following)
    used = np.flatnonzero(depends(both, everything).any(axis=0))
    measured = ca.SX.sym("u", len(used))
    rest = ca.SX.zeros(everything.numel())
    for place, i in enumerate(used.tolist()):
        rest[i] = measured[place]
    u, following = ca.substitute([u, following], [everything], [rest])
    results = {"y": u} | ({"following": following} if law.memory else {})
    arguments = {"t": t} | ({"u": measured} if len(used) else {}) | ({"z": z} if law.memory else {})
    columns = [ca.densify(each) for each in ca.cse([*results.values()])]
    function = ca.Function("law", list(arguments.values()), columns, list(arguments), list(results))
    units = zip(model.inputs, arm.input_units, strict=True)
    outputs = tuple(Signal(f"u.{name}", unit, "input of the arm") for name, unit in units)
    inputs = tuple(signals[i] for i in used.tolist())
    return System(
        f"{arm.name}-{found.name}",
        f"{found.described()}, for {arm.name}",
        (),
        inputs,
        (),
        outputs,
        (
            Program(
                "law",
                "The law at a sample.",
                function,
                (),
                {"u": tuple(each.name for each in inputs)} if used.size else {},
            ),
        ),
        np.zeros((0, len(used)), dtype=bool),
        depends(u, measured),
        found.period,
        memory=tuple(law.memory),
        period=found.period,
    )


def _signals(model: Model) -> list[Signal]:
    """What a law may measure, called as the arm's sensors call it."""
    arm = model.arm
    sensors: list[Encoder | Tachometer] = [
        *(Encoder(coordinate=name) for name in arm.coordinates),
        *(Tachometer(coordinate=name) for name in arm.velocities),
    ]
    start = [*arm.rest, *(0.0 for _ in arm.velocities)]
    found = [
        Signal(sensor.names(arm)[0], sensor.units(arm)[0], "measured", float(value))
        for sensor, value in zip(sensors, start, strict=True)
    ]
    states = zip(arm.states, arm.state_units, strict=True)
    return [*found, *(Signal(f"s.{name}", unit, "state of a drive") for name, unit in states)]
