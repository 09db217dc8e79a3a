"""C library of a controller, with its test program and its CMake file."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from textwrap import indent

from flexarm import escape
from flexarm.checks import checked_instance, refused
from flexarm.closed_forms.exports import identifier
from flexarm.closed_forms.formats.c import comparison_program, listed
from flexarm.errors import DescriptionError
from flexarm.exports.controller.code import step_code
from flexarm.exports.controller.inputs import WHERE, Inputs, inputs_of
from flexarm.exports.controller.settings import Settings, settings_of
from flexarm.exports.controller.stages import Stage, stage_of
from flexarm.exports.law import SAMPLES, samples
from flexarm.exports.library import CLOSE, CMAKE
from flexarm.exports.needs import program
from flexarm.exports.programs import checked_sensors
from flexarm.exports.source import Real, c_sources, check_real, literal
from flexarm.model import Model
from flexarm.simulation.feedback import named
from flexarm.simulation.sampled import Sampled, SampledFeedback


@dataclass(frozen=True)
class Board:
    """A controller for a board: its law, its signals and its settings.

    Attributes
    ----------
    name : str
        Identifier with which the C names begin.
    stage : Stage or None
        A filter or a predictive controller before the law. `feedback` is then the law after it.
    """

    name: str
    loop: Sampled
    model: Model
    feedback: SampledFeedback
    inputs: Inputs
    settings: Settings
    real: Real
    stage: Stage | None = None


def board(
    loop: Sampled,
    model: Model,
    *,
    sensors: object = (),
    scale: object = None,
    safe: object = 0.0,
    misses: int = 0,
    jitter: float | None = None,
    real: Real = "double",
    where: str = WHERE,
    place: AbstractContextManager[None] | None = None,
) -> Board:
    """Return a controller for a board. See `export_controller` for the arguments and the errors, which name `where`.

    The controller is started in the context `place`, which adds its file to errors.
    """
    with refused(where):
        checked_instance(loop, Sampled, "controller")
        checked_instance(model, Model, "model")
    check_real(where, real)
    with place or nullcontext():
        feedback = loop.feedback(model)
    sensors = checked_sensors(where, sensors)
    name = f"{identifier(model.arm)}_controller"
    stage = stage_of(where, loop, model, sensors, real)
    if stage is not None:
        feedback, inputs = stage.feedback, stage.inputs
    elif feedback.function is not None:
        raise DescriptionError(
            f"{where}: controller {feedback.name} runs in Python; C code needs a controller that is an expression"
        )
    else:
        inputs = inputs_of(feedback, model, sensors)
    planned = stage.planned if stage is not None else None
    settings = settings_of(where, loop, planned, inputs.names, len(model.inputs), scale, safe, misses, jitter)  # type: ignore[arg-type]
    return Board(name, loop, model, feedback, inputs, settings, real, stage)


def c_controller(board: Board) -> dict[str, str]:
    """Return the texts of the C library by file name."""
    name, model, feedback = board.name, board.model, board.feedback
    measured = board.stage.law if board.stage else board.inputs.measured
    title = f"{model.arm.name}: the controller {named(board.loop.controller)}, sampled every {feedback.period:g} s"
    update = program(measured.function, "update", f"{title}: its law", measured.names, model.inputs)
    stage = board.stage.code(name, board.real) if board.stage else None
    if stage is not None:  # the header lists the readings
        update = replace(update, entries={}, notes=update.notes | {"y": ", ".join(measured.names)})
    counts = {"ny": len(board.inputs.names), "nu": len(model.inputs), "nz": len(feedback.law.memory)}
    step = step_code(name, feedback, board.inputs, board.settings, model.inputs, board.real, stage)
    programs, before = [update], []
    if stage is not None:
        read = "\n".join(f"// y[{i}]  {escape.comment(x)}" for i, x in enumerate(board.inputs.measured.names))
        declared = f"// Raw readings:\n{read}\n\n{stage.written.declared}"
        programs, before = [*stage.programs, update], [replace(stage.written, declared=declared)]
    sources = c_sources(name, programs, board.real, title, counts, [*before, step], ("stdbool", "stddef", "stdint"))
    return {
        **sources,
        f"{name}_test.c": _test(board),
        "CMakeLists.txt": CMAKE.substitute(name=name, sources=f"{name}.c"),
    }


def _test(board: Board) -> str:
    """Return the program that compares some samples with the law, twice, with a failure and a reset in between."""
    name, real, settings = board.name, board.real, board.settings
    if board.stage is not None:
        found, close = list(board.stage.samples(real, SAMPLES)), board.stage.close(real)
    else:
        close = CLOSE[real]
        found = list(samples(board.feedback, board.inputs.measured, board.model, real, SAMPLES))
    checks = [f"{name} controller;", f"{name}_inputs in = {{{'{0.0f}, ' if real == 'float' else '{0.0}, '}1u}};"]
    if not board.inputs.names:
        checks[1] = f"{name}_inputs in = {{1u}};"
    checks += [f"{name}_outputs out;", f"{name}_init(&controller);"]
    for turn in range(2):
        for k, (y, u) in enumerate(found):
            raw = (y - settings.offsets) / settings.gains
            lines = [f"in.y[{i}] = {literal(value, real)};" for i, value in enumerate(raw)]
            lines.append(f"{name}_step(&controller, &in, {k * board.feedback.period!r}, &out);")
            lines.append(f"static const double u_expected[{len(u)}] = {listed(u)};")
            lines.append(f'failed |= differs("{name}_step {k}", out.u, u_expected, {len(u)}) || (out.status != 0u);')
            checks += ["{", indent("\n".join(lines), "    "), "}"]
        if turn == 0:
            checks += [
                f"for (int i = 0; i <= {settings.misses}; i++) {{",
                f"    {name}_step(&controller, NULL, {SAMPLES * board.feedback.period!r}, &out);",
                "}",
                f"failed |= (out.status & {name.upper()}_SAFE) == 0u;",
                f"{name}_reset(&controller);",
            ]
    return comparison_program(name, "numbers of flexarm, sample by sample", checks, real, close)
