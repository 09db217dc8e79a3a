"""Sampled control laws as C, so that the controller's board runs what was simulated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from os import PathLike
from pathlib import Path
from string import Template
from textwrap import indent

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_instance, refused
from flexarm.closed_forms.exports import identifier
from flexarm.closed_forms.formats.c import comparison_program, listed
from flexarm.errors import DescriptionError
from flexarm.exports.library import CLOSE, CMAKE, array, write_project
from flexarm.exports.needs import needed, of_needed, program, silent
from flexarm.exports.programs import checked_sensors
from flexarm.exports.source import Real, Written, c_sources, check_real, literal
from flexarm.files import checked_path
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.sensors import coordinate_unit, outputs
from flexarm.simulation.feedback import named
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import Sampled, SampledFeedback
from flexarm.simulation.sampled_calls import SampledCalls

SAMPLES = 5
"""Number of samples that the test program compares."""

LINEAR = 1e-9
"""Tolerance for the dependence on states that sensors cannot distinguish, relative to the law's largest number."""

PROBES = 1e-6, 1e-3, 0.1
"""Sizes of deviations from rest for this test. There are several, since a law in saturation shows no dependence."""

HEADER = Template("""// What the law keeps from sample to sample.
typedef struct {
    unsigned long long sample;  // how many there have been; the time is $period s times this
$memory} ${name}_state;

// As it is at t = 0.
void ${name}_init(${name}_state *state);

// One sample: u from y, every $period s. The actuators hold it until the next.
$head;""")

CODE = Template("""void ${name}_init(${name}_state *state)
{
    state->sample = 0ULL;
$start}

$head
{
$body
    state->sample += 1ULL;
}""")


@dataclass(frozen=True)
class Measured:
    """Control law over its measured inputs.

    Attributes
    ----------
    names : (k,)
        Names of the measured inputs, with units.
    function : casadi.Function
        The law: t, y, z -> u, next z.
    of : casadi.Function
        The measurement: q, qd, s, qdd -> y.
    """

    names: tuple[str, ...]
    function: ca.Function
    of: ca.Function

    @property
    def accelerates(self) -> bool:
        """True if the measurement depends on accelerations."""
        q, qd, s, qdd = self.of.sx_in()
        return bool(ca.depends_on(self.of(q, qd, s, qdd), qdd))


def export_law(
    controller: Sampled,
    model: ModelLike,
    path: str | PathLike[str],
    real: Real = "double",
    sensors: Sequence[Sensor] = (),
) -> list[Path]:
    """Write a sampled control law as C into a folder and return its files.

    NAME_law.h and NAME_law.c contain `NAME_law_init(&state)` and `NAME_law_step(&state, y, u)`. Call the second once
    per period. NAME_law_test.c compares some samples with the law as flexarm runs it. CMakeLists.txt builds both. Delay
    and limits between the law and the arm are included. Noise is not, since real instruments have their own.

    Parameters
    ----------
    controller : Sampled
        Sampled controller with a law that is an expression, not a function in Python.
    model : Model, Arm, str or path
        Arm for which the law is designed, with the parameters of this model.
    path : path
        Folder of the files, which is created if it does not exist.
    real : "double" or "float"
        Type of all numbers. Time is counted in whole periods.
    sensors : list of sensors, optional
        Sensors whose signals are y. The law must be a function of these signals, and they must be linear in q and qd.
        Without sensors, y has the entries of q, qd, states of drives and qdd on which the law depends. The header lists
        their names.

    Raises
    ------
    DescriptionError
        If the controller is not sampled or is a Python function, if the sensors do not determine what the law needs, or
        if the folder has the CMakeLists.txt of another project.
    """
    return write_project("export_law", Path(checked_path(path)), c_law(controller, model, real, sensors))


def c_law(
    controller: Sampled, model: ModelLike, real: Real = "double", sensors: Sequence[Sensor] = ()
) -> dict[str, str]:
    """Return the texts of `export_law` by file name."""
    with refused("export_law"):
        checked_instance(controller, Sampled, "controller")
        model = as_model(model)
    check_real("export_law", real)
    sensors = checked_sensors("export_law", sensors)
    feedback = controller.feedback(model)
    if feedback.function is not None:
        raise DescriptionError(
            f"export_law: controller {feedback.name} runs in Python; C code needs a controller that is an expression"
        )
    name, measured = f"{identifier(model.arm)}_law", seen(feedback, model, sensors)
    title = f"{model.arm.name}: the law {named(controller.controller)}, sampled every {controller.period:g} s"
    update = program(measured.function, "update", f"{title}: without what it keeps", measured.names, model.inputs)
    counts = {"ny": len(measured.names), "nu": len(model.inputs), "nz": len(feedback.law.memory)}
    sources = c_sources(name, [update], real, title, counts, [_step(name, feedback, measured, model, real)])
    return {
        **sources,
        f"{name}_test.c": _test(name, feedback, measured, model, real),
        "CMakeLists.txt": CMAKE.substitute(name=name, sources=f"{name}.c"),
    }


def seen(feedback: SampledFeedback, model: Model, sensors: Sequence[Sensor]) -> Measured:
    """Return the law over its measured inputs. Raises `DescriptionError` if sensors do not determine what the law
    needs."""
    named_entries, everything, state = state_of(feedback.law, model)
    names = [name + more for name, more in named_entries]
    function = silent(feedback, model)
    used = needed(function)
    if not sensors:
        return Measured(tuple(names[i] for i in used), of_needed(function), ca.Function("y", everything, [state[used]]))
    return by_sensors("export_law", function, model, sensors, everything, state, [names[i] for i in used])


def state_of(law: Law, model: Model) -> tuple[list[tuple[str, str]], list[ca.SX], ca.SX]:
    """Return the entries of the state that a law may measure.

    They are the names with units or kinds, the symbols q, qd, s and qdd, and the state, which contains qdd if the law
    measures accelerations.
    """
    names = [(name, f" [{coordinate_unit(model.arm, name)}]") for name in model.coordinates]
    names += [(name, ", rate") for name in model.velocities] + [(name, ", state of a drive") for name in model.states]
    names += [(name, ", acceleration") for name in model.velocities] * law.accelerates
    sizes = {"q": model.nq, "qd": model.nv, "s": len(model.states), "qdd": model.nv}
    everything = [ca.SX.sym(name, size) for name, size in sizes.items()]
    return names, everything, ca.vertcat(*everything[: 4 if law.accelerates else 3])


def by_sensors(
    where: str,
    function: ca.Function,
    model: Model,
    sensors: Sequence[Sensor],
    everything: list[ca.SX],
    state: ca.SX,
    needs: list[str],
) -> Measured:
    """Return the law as a function of signals y = y0 + C (x - x0).

    It is evaluated at x0 + C+ (y - y0), where it has the same value as at x.
    """
    q, qd, _, qdd = everything
    y = ca.SX(model.with_numbers(model.output_function(sensors))(q, qd, qdd))
    of = ca.Function("y", everything, [y])
    if ca.depends_on(y, qdd) and not ca.depends_on(state, qdd):
        raise DescriptionError(
            f"{where}: sensors: a signal depends on accelerations, which the controller does not measure; leave it out"
        )
    read = ca.Function("y", [state], [y])
    slope = ca.Function("C", [state], [ca.jacobian(y, state)])
    x0 = np.concatenate([np.array(model.arm.rest), np.zeros(state.numel() - model.nq)])
    C, y0 = np.array(slope(x0)), np.array(read(x0)).ravel()
    P = np.linalg.pinv(C)
    rng = np.random.default_rng(1)
    t, _, z = function.sx_in()
    far = PROBES[-1] * rng.normal(size=len(x0))
    if not np.allclose(np.array(read(x0 + far)).ravel(), y0 + C @ far, rtol=LINEAR, atol=LINEAR):
        raise DescriptionError(f"{where}: sensors: a signal is not linear in q and qd; leave them out")
    for size, at in product(PROBES, (0.0, *rng.uniform(0.0, 1.0, 2).tolist())):
        dx, memory = size * rng.normal(size=len(x0)), size * rng.normal(size=z.numel())
        there, told = (
            np.concatenate([np.array(v).ravel() for v in function(at, x0 + d, memory)]) for d in (dx, P @ C @ dx)
        )
        if not np.abs(there - told).max() <= LINEAR * np.abs(there).max():
            message = f"they do not determine what the controller needs: {'; '.join(needs)}"
            raise DescriptionError(f"{where}: sensors: {message}")
    given = ca.SX.sym("y", len(y0))
    x = x0 + ca.mtimes(ca.sparsify(ca.DM(np.where(np.abs(P) > 1e-14 * np.abs(P).max(), P, 0.0))), given - y0)
    made = ca.Function("law", [t, given, z], [*function(t, x, z)], ["t", "y", "z"], ["u", "z_next"])
    told_by = outputs(model, sensors)
    signals = (f"{name} [{unit}]" if unit else name for name, unit in zip(told_by.names, told_by.units, strict=True))
    return Measured(tuple(signals), made, of)


def _step(name: str, feedback: SampledFeedback, measured: Measured, model: Model, real: Real) -> Written:
    """Return the C code of the law's memory and of one sample."""
    memory, period = feedback.law.memory, feedback.period
    y = len(measured.names)
    given = [f"{name}_state *state", *([f"const {real} y[{y}]"] if y else []), f"{real} u[{len(model.inputs)}]"]
    head = f"void {name}_step({', '.join(given)})"
    kind = "(float)" if real == "float" else ""
    body = [f"const {real} t[1] = {{{kind}((double)state->sample * {period!r})}};"]
    arguments = ["t", *(["y"] if y else []), *(["state->z"] if memory else []), "u", *(["z_next"] if memory else [])]
    body += [f"{real} z_next[{len(memory)}];"] * bool(memory) + [f"{name}_update({', '.join(arguments)});"]
    loop = [f"for (int i = 0; i < {len(memory)}; i++) {{", "    state->z[i] = z_next[i];", "}"]
    start = "".join(f"    state->z[{i}] = {literal(value, real)};\n" for i, value in enumerate(memory))
    common = {"name": name, "head": head}
    declared = HEADER.substitute(
        common,
        period=f"{period:g}",
        memory=f"    {real} z[{len(memory)}];\n" if memory else "",
    )
    body += loop if memory else []
    defined = CODE.substitute(common, start=start, body=indent("\n".join(body), "    "))
    return Written(declared, defined)


def samples(
    feedback: SampledFeedback, measured: Measured, model: Model, real: Real, count: int = SAMPLES
) -> Iterator[tuple[Array, Array]]:
    """Yield measurements near rest, and the u of the law as a simulation calls it without noise, sample by sample."""
    rng = np.random.default_rng(1)
    silent = replace(feedback.law, noise=(0.0,) * len(feedback.law.noise))
    sampling = SampledCalls(replace(feedback, law=silent), model)
    kind = np.float32 if real == "float" else np.float64
    for k in range(count):
        x = np.concatenate([np.array(model.arm.rest), np.zeros(model.nv + len(model.states))])
        x = (x + 0.01 * rng.normal(size=len(x))).astype(kind).astype(float)
        qdd = 0.01 * rng.normal(size=model.nv)
        q, qd, s, _ = np.split(x, np.cumsum([model.nq, model.nv, len(model.states)]))
        yield np.array(measured.of(q, qd, s, qdd)).ravel(), sampling(k * feedback.period, x, qdd)


def _test(name: str, feedback: SampledFeedback, measured: Measured, model: Model, real: Real) -> str:
    """Return the program that compares some samples with the law as a simulation calls it."""
    checks = [f"{name}_state state;", f"{name}_init(&state);"]
    for k, (y, u) in enumerate(samples(feedback, measured, model, real)):
        call = f"{name}_step(&state, {'y, ' if len(y) else ''}u);"
        lines = [array(real, "y", y)] if len(y) else []
        lines += [f"{real} u[{len(u)}];", f"static const double u_expected[{len(u)}] = {listed(u)};", call]
        lines.append(f'failed |= differs("{name}_step {k}", u, u_expected, {len(u)});')
        checks += ["{", indent("\n".join(lines), "    "), "}"]
    return comparison_program(name, "numbers of flexarm, sample by sample", checks, real, CLOSE[real])
