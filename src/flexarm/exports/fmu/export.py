"""`export_fmu` and `export_law_fmu`: their arguments, and the FMU files that they write."""

import hashlib
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, cast, final

from flexarm import escape, progress
from flexarm.checks import (
    NOT_NEGATIVE,
    POSITIVE,
    Fault,
    checked_flag,
    checked_number,
    choices,
    counted,
    refused,
    shown,
)
from flexarm.errors import FlexarmError
from flexarm.exports.fmu import arm, build, law
from flexarm.exports.fmu.description import Version, build_description, model_description
from flexarm.exports.fmu.sources import compiled, identifier, sources
from flexarm.exports.fmu.system import TOLERANCE, System
from flexarm.files import check_ending, check_writable, write_whole
from flexarm.model import ModelLike, Sensor, as_model
from flexarm.simulation.sampled import Sampled

VERSIONS = ("2.0", "3.0")


ENDING = ".fmu"
"""Ending of an FMU's file name, by which importing programs recognize it."""


@final
@dataclass(frozen=True)
class Fmu:
    """An FMU that has been written.

    Attributes
    ----------
    path : Path
        Path of the file.
    version : "2.0" or "3.0"
        Version of FMI.
    states, inputs, parameters, outputs : tuple of str
        Names of its variables.
    step : float
        First step with error control in a co-simulation, or length of the fixed steps [s].
    platform : str or None
        Platform of its binary, e.g. "x86_64-linux". None if it has only sources.
    why : str
        Reason why it has no binary, if one was to be built.
    """

    path: Path
    version: Version
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    outputs: tuple[str, ...]
    step: float
    platform: str | None
    why: str = ""

    def __str__(self) -> str:
        sizes = [
            (self.states, "state"),
            (self.inputs, "input"),
            (self.parameters, "parameter"),
            (self.outputs, "output"),
        ]
        counts = ", ".join(counted(len(names), what) for names, what in sizes)
        held = f"sources and a binary for {self.platform}" if self.platform else f"sources only{self.why}"
        return escape.line(f"{self.path}: FMI {self.version}, {counts}; {held}")


def export_fmu(
    model: ModelLike,
    path: str | PathLike[str],
    version: Version = "2.0",
    sensors: Sequence[Sensor] | None = None,
    q0: Any = None,
    qd0: Any = None,
    s0: Any = None,
    step: float | None = None,
    tolerance: float = TOLERANCE,
    binary: bool | None = None,
) -> Fmu:
    """Write a model as an FMU, for model exchange and for co-simulation, with its C sources and a binary.

    The variables of the FMU are:

    - states `q.NAME`, `qd.NAME` and `s.NAME`, whose start values may be set
    - inputs `u.NAME` in the order of `model.inputs`, and exogenous inputs `w.NAME`
    - parameters `p.NAME`, which are those that the model varies, with its values
    - the sensors' signals by their names

    In a co-simulation inputs are constant during a step. The integrator is Dormand and Prince's pair of orders 5 and 4
    with an error estimate. With `tolerance=0` it is the classical Runge-Kutta method in fixed steps, which logs a
    warning if its estimated error is large. Directional derivatives are exact. Sensors measure without noise and
    sampling.

    The FMU of an arm with closures evaluates rates and outputs on them, and moves the state there after each of its own
    steps. It has no directional derivatives.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export.
    path : str or path
        File to write, `.fmu`. An existing file is replaced when the new one is complete.
    version : "2.0" or "3.0"
        Version of the Functional Mock-up Interface.
    sensors : list of Sensor, optional
        Measured signals. Default: angles and rates of joints and motors, the pose and rates of a free base, and the
        position of the tip.
    q0, qd0, s0 : (nq,), (n,), (states,), optional
        Initial state. Default: the arm at rest.
    step : float, optional
        First step with error control, or longest of the fixed steps [s]. Default: a fifth of the time in which the
        fastest mode at the start turns by a radian, rounded down. It is the parameter `step` of the FMU.
    tolerance : float
        Error tolerance of each step, relative to the largest value that a state has had, or 0 for fixed steps. It is
        the parameter `tolerance` of the FMU.
    binary : bool, optional
        True if there must be a binary for this platform. Default: a binary if a C compiler is found (cc, gcc or clang).

    Returns
    -------
    Fmu
        Properties of the written FMU. Printed, it is one line.

    Raises
    ------
    DescriptionError
        If an argument does not fit the model, two variables have the same name, or the file cannot be written.
    FlexarmError
        If an operation cannot be written in C, or if a binary is required and the compiler is missing or fails.

    Notes
    -----
    The same model and the same compiler give the same bytes. The C code is generated from
    `Model.function("state_rate")` and its derivatives, and no equation of the arm is written by hand. FMI:
    fmi-standard.org, versions 2.0.4 and 3.0.
    """
    with refused("export_fmu"):
        model = as_model(model)
        version, binary = _checked(version, binary)
        if step is not None:
            step = checked_number(step, "s", POSITIVE, "step")
        tolerance = checked_number(tolerance, "", NOT_NEGATIVE, "tolerance")
    at = arm.start(model, q0, qd0, s0)
    seen = arm.usual_sensors(model) if sensors is None else sensors
    model.output_names(seen)
    check_writable(path)
    check_ending(path, ENDING)
    if step is None:
        step = arm.usual_step(model, at)
    with progress.said("tracing an FMU"):
        system = arm.system(model, seen, at, step, tolerance)
    return write(system, path, version, binary)


def export_law_fmu(
    loop: Sampled, model: ModelLike, path: str | PathLike[str], version: Version = "2.0", binary: bool | None = None
) -> Fmu:
    """Write a sampled control law as an FMU, whose variables have the same names as those of the arm's FMU.

    Its inputs are the measurements of the law, with the names of the arm's encoders and tachometers (`upper_joint`,
    `upper_joint_rate`). Its outputs are the arm's inputs, `u.NAME`. At each sample the outputs follow from the inputs
    at that time, and stay constant until the next sample. Delay and limits of the loop are included. Noise is zero.

    Parameters
    ----------
    loop : control.Sampled
        The controller with its period.
    model : Model, Arm, str or path
        Model for which the law is designed.
    path, version, binary
        As in `export_fmu`.

    Returns
    -------
    Fmu

    Raises
    ------
    DescriptionError
        If the controller is a Python function or measures accelerations, and as in `export_fmu`.
    FlexarmError
        As in `export_fmu`.
    """
    with refused("export_law_fmu"):
        model = as_model(model)
        version, binary = _checked(version, binary)
    return write(law.system(loop, model), path, version, binary)


def _checked(version: Any, binary: Any) -> tuple[Version, bool | None]:
    """Return the checked arguments of both export functions. Raises `Fault`."""
    if not isinstance(version, str) or version not in VERSIONS:
        raise Fault("version", f'is {shown(version)}; it must be "2.0" or "3.0"')
    return cast(Version, version), None if binary is None else checked_flag(binary, "binary")


def write(system: System, path: str | PathLike[str], version: Version, binary: bool | None) -> Fmu:
    """Write a system as an FMU, see `export_fmu`."""
    check_writable(path)
    check_ending(path, ENDING)
    found = build.compiler() if binary is not False else None
    if binary and found is None:
        raise FlexarmError(
            f"export_fmu: a binary needs a C compiler, and none is found of {', '.join(build.COMPILERS)}; install one"
        )
    name = identifier(system.name)
    files = compiled(version, name)
    token = _token(model_description(system, version, name, "", files), *sources(system, version, name, "").values())
    texts = sources(system, version, name, token)
    parts: dict[str, bytes] = {
        "modelDescription.xml": model_description(system, version, name, token, files).encode(),
        **{f"sources/{file}": text.encode() for file, text in texts.items()},
    }
    if version == "3.0":
        parts["sources/buildDescription.xml"] = build_description(name, files).encode()
    place = build.place(version, name)
    if found is not None:
        with progress.said("compiling an FMU"):
            parts[place] = build.library(found, texts, files, name)
    names = {
        name: tuple(each.name for each in getattr(system, name))
        for name in ("states", "inputs", "parameters", "outputs")
    }
    target = write_whole(path, zipped(parts))
    where = place.split("/")[1] if found is not None else None
    why = f": no C compiler is found ({choices(*build.COMPILERS)})" if binary is None and found is None else ""
    return Fmu(target, version, **names, step=system.step, platform=where, why=why)


def _token(*texts: str) -> str:
    """Return a token that connects modelDescription.xml with the code. It depends only on the contents."""
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return f"{{{'-'.join(digest[i:j] for i, j in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))}}}"


def zipped(parts: Mapping[str, bytes]) -> bytes:
    """Return a zip archive whose bytes depend only on the contents."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(parts):
            entry = zipfile.ZipInfo(name)  # dated 1980, the first date of zip files
            entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, parts[name])
    return held.getvalue()
