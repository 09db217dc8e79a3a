"""An arm for other programs: export."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from flexarm.commands.terminal import ArmName, check_file, check_folder, say
from flexarm.errors import DescriptionError

FILES = ("--mjcf", "--exudyn")
"""Options whose path is a file's; of the others it is a folder's."""


def export(
    arm: ArmName,
    c: Annotated[Path | None, typer.Option(help="Folder for a C library: header, source, test, CMake file.")] = None,
    mjcf: Annotated[Path | None, typer.Option(help="MuJoCo file: links as rigid segments with springs.")] = None,
    exudyn: Annotated[
        Path | None, typer.Option(help="Script for Exudyn: links as rigid segments with springs.")
    ] = None,
    segments: Annotated[int, typer.Option(help="Hinges a flexible link, for --mjcf and --exudyn.")] = 8,
    simulink: Annotated[
        Path | None, typer.Option(help="Folder for a Simulink S-function in C, a build script and an M function.")
    ] = None,
    single: Annotated[bool, typer.Option("--float", help="C that computes with float in place of double.")] = False,
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="NAME", help="A number that stays an input; patterns; repeatable."),
    ] = None,
) -> None:
    """Write an arm for other programs: as a C library, for Simulink, for MuJoCo, for Exudyn."""
    import time

    from flexarm.description.load import load
    from flexarm.exports.exudyn import export_exudyn
    from flexarm.exports.library import export_c
    from flexarm.exports.mjcf import export_mjcf
    from flexarm.exports.sfunction import export_simulink
    from flexarm.model import Model

    began = time.perf_counter()
    real: Any = "float" if single else "double"
    folders: dict[str, tuple[Path | None, Callable[[Model, Path], list[Path]]]] = {
        "--c": (c, lambda model, path: export_c(model, path, real)),
        "--mjcf": (mjcf, lambda model, path: [export_mjcf(model, path, segments)]),
        "--exudyn": (exudyn, lambda model, path: [export_exudyn(model, path, segments)]),
        "--simulink": (simulink, export_simulink),
    }
    asked = {option: path for option, (path, _) in folders.items() if path is not None}
    if not asked:
        raise DescriptionError(f"export {arm}: into what? give {', '.join(folders)}")
    for option, path in asked.items():
        (check_file if option in FILES else check_folder)(path, option)
    model = Model(load(arm), vary or [])
    files = [file for option, path in asked.items() for file in folders[option][1](model, path)]
    say(f"written: {', '.join(map(str, files))}; {time.perf_counter() - began:.2f} s")
