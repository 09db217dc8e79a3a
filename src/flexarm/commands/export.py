"""Command that exports an arm to other programs: export."""

from collections.abc import Callable
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from flexarm.checks import checked_integer, choices, refused, shown
from flexarm.commands.completion import bundled_or_file
from flexarm.commands.terminal import check_file, check_folder, check_unread, say
from flexarm.errors import DescriptionError
from flexarm.files import check_ending

if TYPE_CHECKING:
    from flexarm.description.arm import Arm
    from flexarm.model import Model
    from flexarm.scenario import Scenario
    from flexarm.simulation.sampled import Sampled

VERSIONS = ("2.0", "3.0")
"""Versions of FMI."""

LAWS = ("--law", "--controller", "--law-fmu", "--ssp")
"""Options that need a scenario."""

USED_BY = {
    "--period": LAWS,
    "--float": ("--c", "--law", "--controller"),
    "--fmi": ("--fmu", "--law-fmu"),
    "--segments": ("--mjcf", "--exudyn"),
    "--vary": ("--c", "--fmu", "--simulink", "--modelica", "--ssp"),
}
"""Options with settings, and the output options to which they apply."""


@dataclass(frozen=True)
class Job:
    """An arm to export, or a scenario's arm and control law, with the settings of all formats.

    Attributes
    ----------
    loop : Sampled, optional
        The control law of a scenario.
    begins : dict
        Initial state q0, qd0 of a scenario.
    seen : sequence of Sensor
        Outputs of the arm's FMU.
    real : "double" or "float"
        Type of numbers in C.
    version : str
        Version of FMI.
    hinges : int
        Hinges of each flexible link.
    """

    model: "Model"
    loop: Any
    begins: dict[str, Any]
    seen: Any
    real: Any
    version: Any
    hinges: int


def export(
    arm: Annotated[
        str,
        typer.Argument(
            metavar="ARM_OR_SCENARIO",
            help="A bundled arm, or a .toml, .urdf, .xml or .sdf file; a scenario for its control law.",
            autocompletion=bundled_or_file("arm", "scenario", files=("toml", "urdf", "xml", "sdf")),
        ),
    ],
    c: Annotated[Path | None, typer.Option(help="Folder for a C library: header, source, test, CMake file.")] = None,
    fmu: Annotated[Path | None, typer.Option(help="File for an FMU, with sources and a binary.")] = None,
    simulink: Annotated[
        Path | None, typer.Option(help="Folder for a Simulink S-function in C, a build script and an M function.")
    ] = None,
    modelica: Annotated[Path | None, typer.Option(help="File .mo for a Modelica class of the same name.")] = None,
    law: Annotated[
        Path | None, typer.Option(help="Folder for the scenario's control law in C: header, source, test, CMake file.")
    ] = None,
    controller: Annotated[
        Path | None, typer.Option(help="Folder for the scenario's controller with a watchdog in C, for its board.")
    ] = None,
    law_fmu: Annotated[
        Path | None, typer.Option(help="File for an FMU of the scenario's control law, beside that of its arm.")
    ] = None,
    ssp: Annotated[
        Path | None, typer.Option(help="SSP file with the connected FMUs of the scenario's arm and of its control law.")
    ] = None,
    period: Annotated[
        float | None, typer.Option(help="Sampling period of the control law, if the scenario has none [s].")
    ] = None,
    mjcf: Annotated[Path | None, typer.Option(help="MuJoCo file: links as rigid segments with springs.")] = None,
    exudyn: Annotated[
        Path | None, typer.Option(help="Script for Exudyn: links as rigid segments with springs.")
    ] = None,
    single: Annotated[bool, typer.Option("--float", help="Write C code with float instead of double.")] = False,
    fmi: Annotated[str | None, typer.Option(help="FMI version of the FMU: 2.0 (default) or 3.0.")] = None,
    segments: Annotated[
        int | None, typer.Option(help="Hinges per flexible link, for --mjcf and --exudyn; default 8.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="NAME", help="A parameter that stays an input; may be a pattern; repeatable."),
    ] = None,
) -> None:
    """Write an arm for C, FMI and other simulators.

    These are Simulink, Modelica, MuJoCo and Exudyn. A scenario's control law can be written as C and FMI, and its
    controller with a watchdog as C for a board. Its arm then starts in the initial state of the scenario, and the arm's
    FMU has the measurements of the law as outputs.
    """
    import time

    from flexarm.model import Model

    began = time.perf_counter()
    if fmi not in (None, *VERSIONS):
        raise DescriptionError(f"--fmi is {shown(fmi)}; it must be {choices(*VERSIONS)}")
    hinges = _hinges(arm, segments)
    paths = {"--c": c, "--fmu": fmu, "--simulink": simulink, "--modelica": modelica}
    paths |= {
        "--law": law,
        "--controller": controller,
        "--law-fmu": law_fmu,
        "--ssp": ssp,
        "--mjcf": mjcf,
        "--exudyn": exudyn,
    }
    asked = {option: path for option, path in paths.items() if path is not None}
    if not asked:
        raise DescriptionError(f"export {arm}: no format is given; give at least one of {', '.join(FORMATS)}")
    given = {"--period": period, "--float": single or None, "--fmi": fmi, "--segments": segments}
    _check_used(given | {"--vary": vary or None}, asked)
    _check_places(arm, asked)
    scenario, described = _read(arm, asked)
    _check_endings(asked)
    model = Model(described, vary or [])
    loop, begins = _loop(scenario, model, period) if scenario else (None, {})
    seen = _seen(loop, model, asked)
    job = Job(model, loop, begins, seen, "float" if single else "double", fmi or VERSIONS[0], hinges)
    files = [file for option, path in asked.items() for file in FORMATS[option].write(job, path)]
    say(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")


# -- checks ------------------------------------------------------------------------------------------------------------


def _hinges(arm: str, segments: int | None) -> int:
    """Return the number of hinges of each flexible link."""
    from flexarm.exports.lumped import MOST_SEGMENTS, SEGMENTS

    with refused(f"export {arm}"):
        return SEGMENTS if segments is None else checked_integer(segments, MOST_SEGMENTS, "--segments", least=1)


def _check_used(given: dict[str, Any], asked: dict[str, Path]) -> None:
    """Raise `DescriptionError` if an option applies to none of the formats."""
    for option, heard in USED_BY.items():
        if given[option] is not None and not {*heard} & {*asked}:
            raise DescriptionError(
                f"{option} applies only to {choices(*heard)}; add one of them, or leave {option} out"
            )


def _check_places(arm: str, asked: dict[str, Path]) -> None:
    """Raise `DescriptionError` if a file or folder cannot be written, or if the arm itself would be overwritten."""
    from flexarm.exports.modelica import checked_file

    _check_apart(asked)
    check_unread([arm], asked)
    for option, path in asked.items():
        FORMATS[option].check(path, option)
    if "--modelica" in asked:
        checked_file(asked["--modelica"])


def _check_apart(asked: dict[str, Path]) -> None:
    """Raise `DescriptionError` if two options would write to the same place.

    A folder may contain the output of several options, but only one CMakeLists.txt.
    """
    folders = {option for option, each in FORMATS.items() if each.check is check_folder}
    taken: dict[str, str] = {}
    for option, path in asked.items():
        other = taken.setdefault(realpath(path), option)
        if option != other and {option, other} <= {"--c", "--law", "--controller"}:
            raise DescriptionError(
                f"{option} {path}: {other} writes to this folder too, both with a CMakeLists.txt; give another"
            )
        if option != other and not {option, other} <= folders:
            raise DescriptionError(f"{option} {path}: {other} writes to this file too; give another file")


def _check_endings(asked: dict[str, Path]) -> None:
    """Raise `DescriptionError` if a file's name does not end as its format requires."""
    from flexarm.exports import exudyn, mjcf, ssp
    from flexarm.exports.fmu import export as fmu

    endings = {"--fmu": fmu, "--law-fmu": fmu, "--ssp": ssp, "--mjcf": mjcf, "--exudyn": exudyn}
    for option, module in endings.items():
        if option in asked:
            check_ending(asked[option], module.ENDING, where=f"{option} {asked[option]}")


# -- the arm and the control law ---------------------------------------------------------------------------------------


def _read(arm: str, asked: dict[str, Path]) -> "tuple[Scenario | None, Arm]":
    """Return the scenario, if a format needs one, and the arm. No file that they read may be overwritten."""
    from flexarm.description.finite import FiniteElement
    from flexarm.description.load import load
    from flexarm.scenario import load_scenario

    scenario = load_scenario(arm) if {*LAWS} & {*asked} else None
    described = scenario.loaded_arm() if scenario else load(arm)
    if scenario and isinstance(scenario.arm, str):
        check_unread([scenario.arm], asked)
    check_unread([link.body.file for link in described.links if isinstance(link.body, FiniteElement)], asked)
    return scenario, described


def _seen(loop: Any, model: "Model", asked: dict[str, Path]) -> Any:
    """Return the outputs of the arm's FMU. If the law's FMU is written too, they have its measurements."""
    from flexarm.exports.fmu.arm import usual_sensors
    from flexarm.exports.fmu.law import system
    from flexarm.exports.ssp import with_measured

    measured = [each.name for each in system(loop, model).inputs] if {"--fmu", "--law-fmu"} <= {*asked} else []
    return with_measured(model, usual_sensors(model), measured)


def _loop(scenario: "Scenario", model: "Model", period: float | None) -> "tuple[Sampled, dict[str, Any]]":
    """Return the sampled law of a scenario, and its initial state."""
    from flexarm.simulation.feedback import initial
    from flexarm.simulation.sampled import Sampled

    where = f"scenario {scenario.name!r}"
    if scenario.controller is None:
        problem = f"the scenario has no controller, which {choices(*LAWS)} would export"
        raise DescriptionError(f"{where}: {problem}; add one to it, or give another scenario")
    scenario.refuse_changes("export")
    given = scenario.arguments(model)
    loop = given["u"]
    if isinstance(loop, Sampled):
        if period is not None:
            raise DescriptionError(f"--period: {where} has a period already, {loop.period:g} s; change it there")
    elif period is None:
        raise DescriptionError(f"{where}: the controller is continuous; give a sampling period, such as --period 0.001")
    else:
        loop = Sampled(loop, period)
    with scenario.errors_named():
        q0, qd0 = initial(model, loop.feedback(model).begins)
    begins = {"q0": q0, "qd0": qd0}
    return loop, {name: value if given[name] is None else given[name] for name, value in begins.items()}


# -- formats -----------------------------------------------------------------------------------------------------------


def _write_c(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.library import export_c

    return list(export_c(job.model, path, job.real))


def _write_fmu(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.fmu.export import export_fmu

    return [export_fmu(job.model, path, job.version, job.seen, **job.begins)]


def _write_simulink(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.sfunction import export_simulink

    return list(export_simulink(job.model, path))


def _write_modelica(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.modelica import export_modelica

    return [export_modelica(job.model, path, **job.begins)]


def _write_law(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.law import export_law

    return list(export_law(job.loop, job.model, path, job.real))


def _write_controller(job: Job, path: Path) -> list[Any]:
    from flexarm.hardware.controller import export_controller

    return list(export_controller(job.loop, path, job.model, real=job.real))


def _write_law_fmu(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.fmu.export import export_law_fmu

    return [export_law_fmu(job.loop, job.model, path, job.version)]


def _write_ssp(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.ssp import export_ssp

    return [export_ssp(job.loop, job.model, path, **job.begins)]


def _write_mjcf(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.mjcf import export_mjcf

    return [export_mjcf(job.model, path, job.hinges)]


def _write_exudyn(job: Job, path: Path) -> list[Any]:
    from flexarm.exports.exudyn import export_exudyn

    return [export_exudyn(job.model, path, job.hinges)]


class Format(NamedTuple):
    """A format: the check of its file or folder, and the function that writes it and returns the files."""

    check: Callable[[Path, str], None]
    write: Callable[[Job, Path], list[Any]]


FORMATS = {
    "--c": Format(check_folder, _write_c),
    "--fmu": Format(check_file, _write_fmu),
    "--simulink": Format(check_folder, _write_simulink),
    "--modelica": Format(check_file, _write_modelica),
    "--law": Format(check_folder, _write_law),
    "--controller": Format(check_folder, _write_controller),
    "--law-fmu": Format(check_file, _write_law_fmu),
    "--ssp": Format(check_file, _write_ssp),
    "--mjcf": Format(check_file, _write_mjcf),
    "--exudyn": Format(check_file, _write_exudyn),
}
"""All formats by their options, in the order in which they are written."""
