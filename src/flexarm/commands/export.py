"""An arm for other programs: export."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm.checks import choices, shown
from flexarm.commands.terminal import ArmName, check_file, check_folder, say
from flexarm.errors import DescriptionError

VERSIONS = ("2.0", "3.0")
"""Of FMUs."""

Check = Callable[[Path, str], None]


def export(
    arm: ArmName,
    c: Annotated[Path | None, typer.Option(help="Folder for a C library: header, source, test, CMake file.")] = None,
    fmu: Annotated[Path | None, typer.Option(help="File for an FMU, with sources and a binary.")] = None,
    simulink: Annotated[
        Path | None, typer.Option(help="Folder for a Simulink S-function in C, a build script and an M function.")
    ] = None,
    mjcf: Annotated[Path | None, typer.Option(help="MuJoCo file: links as rigid segments with springs.")] = None,
    exudyn: Annotated[
        Path | None, typer.Option(help="Script for Exudyn: links as rigid segments with springs.")
    ] = None,
    single: Annotated[bool, typer.Option("--float", help="C that computes with float in place of double.")] = False,
    fmi: Annotated[str, typer.Option(help="Version of the FMU: 2.0 or 3.0.")] = "2.0",
    segments: Annotated[int, typer.Option(help="Hinges a flexible link, for --mjcf and --exudyn.")] = 8,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="NAME", help="A number that stays an input; patterns; repeatable."),
    ] = None,
) -> None:
    """Write an arm for C, FMI, Simulink, MuJoCo or Exudyn."""
    import time

    from flexarm.description.load import load
    from flexarm.exports.exudyn import export_exudyn
    from flexarm.exports.fmu.export import export_fmu
    from flexarm.exports.library import export_c
    from flexarm.exports.mjcf import export_mjcf
    from flexarm.exports.sfunction import export_simulink
    from flexarm.model import Model

    began = time.perf_counter()
    if fmi not in VERSIONS:
        raise DescriptionError(f"--fmi is {shown(fmi)}; it must be {choices(*VERSIONS)}")
    version: Any = fmi
    real: Any = "float" if single else "double"
    kinds: dict[str, tuple[Path | None, Check, Callable[[Model, Path], list[Any]]]] = {
        "--c": (c, check_folder, lambda model, path: list(export_c(model, path, real))),
        "--fmu": (fmu, check_file, lambda model, path: [export_fmu(model, path, version)]),
        "--simulink": (simulink, check_folder, lambda model, path: list(export_simulink(model, path))),
        "--mjcf": (mjcf, check_file, lambda model, path: [export_mjcf(model, path, segments)]),
        "--exudyn": (exudyn, check_file, lambda model, path: [export_exudyn(model, path, segments)]),
    }
    asked = {option: path for option, (path, _, _) in kinds.items() if path is not None}
    if not asked:
        raise DescriptionError(f"export {arm}: into what? give {', '.join(kinds)}")
    for option, path in asked.items():
        kinds[option][1](path, option)
    model = Model(load(arm), vary or [])
    files = [file for option, path in asked.items() for file in kinds[option][2](model, path)]
    say(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")
