"""Export of an arm and its sampled law as one SSP file: two FMUs and their connections."""

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

from flexarm import escape
from flexarm.checks import Fault, refused
from flexarm.exports.fmu.arm import usual_sensors
from flexarm.exports.fmu.export import Fmu, export_fmu, export_law_fmu, zipped
from flexarm.exports.fmu.law import readers
from flexarm.exports.fmu.system import TOLERANCE
from flexarm.files import check_ending, check_writable, write_whole
from flexarm.model import Model, ModelLike, Sensor, as_model
from flexarm.sensors import Encoder, MotorCurrent, Tachometer
from flexarm.simulation.sampled import Sampled

SPACES = {
    "xmlns:ssc": "http://ssp-standard.org/SSP1/SystemStructureCommon",
    "xmlns:ssd": "http://ssp-standard.org/SSP1/SystemStructureDescription",
}
ENDING = ".ssp"
"""Ending of the file name, by which importing programs recognize it."""

ARM, LAW = "arm", "law"
"""Names of the two components in the system."""


def export_ssp(
    loop: Sampled,
    model: ModelLike,
    path: str | PathLike[str],
    sensors: Sequence[Sensor] | None = None,
    q0: Any = None,
    qd0: Any = None,
    s0: Any = None,
    step: float | None = None,
    tolerance: float = TOLERANCE,
) -> Path:
    """Write an arm and its sampled law as one connected SSP file, and return its path.

    Any program that reads SSP can then simulate the closed loop. The file contains the FMUs of `export_fmu` and
    `export_law_fmu`, in FMI 2.0, with the names "arm" and "law". System Structure and Parameterization:
    ssp-standard.org, version 1.0.

    Parameters
    ----------
    loop : control.Sampled
        The controller with its period.
    model : Model, Arm, str or path
        Model of the arm.
    path : str or path
        File to write, `.ssp`. An existing file is replaced when the new one is complete.
    sensors, q0, qd0, s0, step, tolerance
        As in `export_fmu`. The measurements of the law are added in any case.

    Raises
    ------
    DescriptionError
        As in `export_fmu` and `export_law_fmu`, and if the law depends on states of drives other than motor currents.
    FlexarmError
        As in `export_fmu`.
    """
    with refused("export_ssp"):
        model = as_model(model)
        check_writable(path)
        check_ending(path, ENDING)
    seen = list(usual_sensors(model) if sensors is None else sensors)
    with TemporaryDirectory(prefix="flexarm-ssp-") as folder:
        law = export_law_fmu(loop, model, Path(folder, "law.fmu"))
        seen = with_measured(model, seen, law.inputs)
        read, known = read_by(model), model.output_names(seen)
        sources = {name: read[name].names(model.arm)[0] if name in read else name for name in law.inputs}
        if odd := next((name for name, source in sources.items() if source not in known), None):
            with refused("export_ssp"):
                raise Fault("loop", f"depends on {odd}, the state of a drive, which no sensor measures")
        begins = {"q0": q0, "qd0": qd0, "s0": s0}
        arm = export_fmu(model, Path(folder, "arm.fmu"), sensors=seen, **begins, step=step, tolerance=tolerance)
        parts = {f"resources/{each.path.name}": each.path.read_bytes() for each in (arm, law)}
    parts["SystemStructure.ssd"] = structure(model.arm.name, arm, law, sources).encode()
    return write_whole(path, zipped(parts))


def read_by(model: Model) -> dict[str, Encoder | Tachometer | MotorCurrent]:
    """Return sensors of coordinates, rates and currents that are states, by their names as inputs of a law."""
    links = {f"s.{link.name}.motor.current": link.name for link in model.arm.links}
    currents = {name: MotorCurrent(link=link) for name, link in links.items() if name[2:] in model.states}
    return {each.names(model.arm)[0]: each for each in readers(model)} | currents


def with_measured(model: Model, seen: Sequence[Sensor], inputs: Sequence[str]) -> list[Sensor]:
    """Return the sensors, with those of the law's inputs added. Other states of drives have no sensor."""
    known, read = set(model.output_names(seen)), read_by(model)
    more = [read[name] for name in inputs if name in read]
    return [*seen, *(each for each in more if each.names(model.arm)[0] not in known)]


def structure(name: str, arm: Fmu, law: Fmu, sources: Mapping[str, str]) -> str:
    """Return the text of SystemStructure.ssd. `sources` maps the law's inputs to the arm's outputs."""
    about = {**SPACES, "name": escape.line(name), "version": "1.0"}
    root = ElementTree.Element("ssd:SystemStructureDescription", about)
    system = ElementTree.SubElement(root, "ssd:System", {"name": re.sub(r"\W", "_", name, flags=re.ASCII)})
    elements = ElementTree.SubElement(system, "ssd:Elements")
    for own, fmu in ((ARM, arm), (LAW, law)):
        about = {"name": own, "type": "application/x-fmu-sharedlibrary", "source": f"resources/{fmu.path.name}"}
        connectors = ElementTree.SubElement(ElementTree.SubElement(elements, "ssd:Component", about), "ssd:Connectors")
        for kind, signals in (("input", fmu.inputs), ("output", fmu.outputs)):
            for signal in signals:
                each = ElementTree.SubElement(connectors, "ssd:Connector", {"name": signal, "kind": kind})
                ElementTree.SubElement(each, "ssc:Real")
    connections = ElementTree.SubElement(system, "ssd:Connections")
    forth, back = [sources[signal] for signal in law.inputs], law.outputs
    for start, froms, end, tos in ((ARM, forth, LAW, law.inputs), (LAW, back, ARM, back)):
        for signal, to in zip(froms, tos, strict=True):
            ends = {"startElement": start, "startConnector": signal, "endElement": end, "endConnector": to}
            ElementTree.SubElement(connections, "ssd:Connection", ends)
    ElementTree.SubElement(root, "ssd:DefaultExperiment", {"startTime": "0.0", "stopTime": "1.0"})
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
