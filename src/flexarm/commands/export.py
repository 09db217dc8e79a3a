"""Command that exports an arm to other programs: export."""

from collections.abc import Callable
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flexarm.checks import checked_integer, choices, refused, shown
from flexarm.commands.completion import bundled_or_file
from flexarm.commands.terminal import check_file, check_folder, check_unread, say
from flexarm.errors import DescriptionError
from flexarm.files import check_ending

if TYPE_CHECKING:
    from flexarm.model import Model
    from flexarm.scenario import Scenario
    from flexarm.simulation.sampled import Sampled

VERSIONS = ("2.0", "3.0")
"""Versions of FMI."""

FOLDERS = {"--c", "--law", "--simulink"}
"""Options whose value is a folder."""

LAWS = ("--law", "--law-fmu", "--ssp")
"""Options that need a scenario."""

USED_BY = {
    "--period": LAWS,
    "--float": ("--c", "--law"),
    "--fmi": ("--fmu", "--law-fmu"),
    "--segments": ("--mjcf", "--exudyn"),
    "--vary": ("--c", "--fmu", "--simulink", "--modelica", "--ssp"),
}
"""Options with settings, and the output options to which they apply."""

Check = Callable[[Path, str], None]


def export(
    arm: Annotated[
        str,
        typer.Argument(
            metavar="ARM_OR_SCENARIO",
            help="A bundled arm, or path of a .toml, .urdf or .xml file; a scenario with --law, --law-fmu or --ssp.",
            autocompletion=bundled_or_file("arm", "scenario", files=("toml", "urdf", "xml")),
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

    These are Simulink, Modelica, MuJoCo and Exudyn. A scenario's control law can be written as C and FMI. Its arm then
    starts in the initial state of the scenario, and the arm's FMU has the measurements of the law as outputs.
    """
    import time

    from flexarm.description.finite import FiniteElement
    from flexarm.description.load import load
    from flexarm.exports import exudyn as exudyn_export
    from flexarm.exports import mjcf as mjcf_export
    from flexarm.exports import ssp as ssp_export
    from flexarm.exports.exudyn import export_exudyn
    from flexarm.exports.fmu import export as fmu_export
    from flexarm.exports.fmu.arm import usual_sensors
    from flexarm.exports.fmu.export import export_fmu, export_law_fmu
    from flexarm.exports.fmu.law import system
    from flexarm.exports.law import export_law
    from flexarm.exports.library import export_c
    from flexarm.exports.lumped import MOST_SEGMENTS, SEGMENTS
    from flexarm.exports.mjcf import export_mjcf
    from flexarm.exports.modelica import checked_file, export_modelica
    from flexarm.exports.sfunction import export_simulink
    from flexarm.exports.ssp import export_ssp, with_measured
    from flexarm.model import Model
    from flexarm.scenario import load_scenario

    began = time.perf_counter()
    if fmi not in (None, *VERSIONS):
        raise DescriptionError(f"--fmi is {shown(fmi)}; it must be {choices(*VERSIONS)}")
    version: Any = fmi or VERSIONS[0]
    with refused(f"export {arm}"):
        hinges = SEGMENTS if segments is None else checked_integer(segments, MOST_SEGMENTS, "--segments", least=1)
    real: Any = "float" if single else "double"
    kinds: dict[str, tuple[Path | None, Check, Callable[[Model, Path], list[Any]]]] = {
        "--c": (c, check_folder, lambda model, path: list(export_c(model, path, real))),
        "--fmu": (fmu, check_file, lambda model, path: [export_fmu(model, path, version, seen, **begins)]),
        "--simulink": (simulink, check_folder, lambda model, path: list(export_simulink(model, path))),
        "--modelica": (modelica, check_file, lambda model, path: [export_modelica(model, path, **begins)]),
        "--law": (law, check_folder, lambda model, path: list(export_law(loop, model, path, real))),
        "--law-fmu": (law_fmu, check_file, lambda model, path: [export_law_fmu(loop, model, path, version)]),
        "--ssp": (ssp, check_file, lambda model, path: [export_ssp(loop, model, path, **begins)]),
        "--mjcf": (mjcf, check_file, lambda model, path: [export_mjcf(model, path, hinges)]),
        "--exudyn": (exudyn, check_file, lambda model, path: [export_exudyn(model, path, hinges)]),
    }
    endings = {
        "--fmu": fmu_export.ENDING,
        "--law-fmu": fmu_export.ENDING,
        "--ssp": ssp_export.ENDING,
        "--mjcf": mjcf_export.ENDING,
        "--exudyn": exudyn_export.ENDING,
    }
    asked = {option: path for option, (path, _, _) in kinds.items() if path is not None}
    if not asked:
        raise DescriptionError(f"export {arm}: no format is given; give at least one of {', '.join(kinds)}")
    how = {"--period": period, "--float": single or None, "--fmi": fmi, "--segments": segments, "--vary": vary or None}
    for option, heard in USED_BY.items():
        if how[option] is not None and not {*heard} & {*asked}:
            raise DescriptionError(
                f"{option} applies only to {choices(*heard)}; add one of them, or leave {option} out"
            )
    _check_apart(asked)
    check_unread([arm], asked)
    for option, path in asked.items():
        kinds[option][1](path, option)
    if modelica is not None:
        checked_file(modelica)
    scenario = load_scenario(arm) if {*LAWS} & {*asked} else None
    described = scenario.loaded_arm() if scenario else load(arm)
    if scenario and isinstance(scenario.arm, str):
        check_unread([scenario.arm], asked)
    check_unread([link.body.file for link in described.links if isinstance(link.body, FiniteElement)], asked)
    for option, ending in endings.items():
        if option in asked:
            check_ending(asked[option], ending, where=f"{option} {asked[option]}")
    model = Model(described, vary or [])
    loop: Any
    loop, begins = _loop(scenario, model, period) if scenario else (None, {})
    measured = [each.name for each in system(loop, model).inputs] if {"--fmu", "--law-fmu"} <= {*asked} else []
    seen = with_measured(model, usual_sensors(model), measured)
    files = [file for option, path in asked.items() for file in kinds[option][2](model, path)]
    say(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")


def _check_apart(asked: dict[str, Path]) -> None:
    """Raise `DescriptionError` if two options would write to the same place.

    A folder may contain the output of several options, but only one CMakeLists.txt.
    """
    taken: dict[str, str] = {}
    for option, path in asked.items():
        other = taken.setdefault(realpath(path), option)
        if {option, other} == {"--c", "--law"}:
            raise DescriptionError(
                f"{option} {path}: {other} writes to this folder too, both with a CMakeLists.txt; give another"
            )
        if option != other and not {option, other} <= FOLDERS:
            raise DescriptionError(f"{option} {path}: {other} writes to this file too; give another file")


def _loop(scenario: "Scenario", model: "Model", period: float | None) -> "tuple[Sampled, dict[str, Any]]":
    """Return the sampled law of a scenario, and its initial state."""
    from flexarm.simulation.sampled import Sampled

    where = f"scenario {scenario.name!r}"
    if scenario.controller is None:
        raise DescriptionError(f"{where}: the scenario has no controller, which {choices(*LAWS)} would export")
    given = scenario.arguments(model)
    loop = given["u"]
    if isinstance(loop, Sampled):
        if period is not None:
            raise DescriptionError(f"--period: {where} has a period already, {loop.period:g} s; change it there")
    elif period is None:
        raise DescriptionError(f"{where}: the controller is continuous; give a sampling period, such as --period 0.001")
    else:
        loop = Sampled(loop, period)
    q0, qd0 = loop.feedback(model).initial(model)
    begins = {"q0": q0, "qd0": qd0}
    return loop, {name: value if given[name] is None else given[name] for name, value in begins.items()}
