"""modelDescription.xml for both FMI versions, and the list of sources that FMI 3.0 has in a separate file."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal
from xml.etree import ElementTree

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.exports.fmu.system import Signal, System
from flexarm.exports.fmu.units import DISPLAYED, per_second, powers
from flexarm.version import __version__

Version = Literal["2.0", "3.0"]
Element = ElementTree.Element

PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
"""Pattern of names that are valid without quotes in structured naming, where dots separate parts."""

FIRST = 3
"""Number of variables before the states: time, step, tolerance. The value references in core.h count in the same
way."""


def model_description(system: System, version: Version, identifier: str, token: str, sources: Sequence[str]) -> str:
    """Return the text of modelDescription.xml."""
    three = version == "3.0"
    variables = _variables(system)
    plain = all(PLAIN.fullmatch(signal.name) for signal in _signals(system))
    root = Element(
        "fmiModelDescription",
        {
            "fmiVersion": version,
            "modelName": escape.line(system.name),
            "instantiationToken" if three else "guid": token,
            "description": escape.line(system.title),
            "generationTool": f"flexarm {__version__}",
            "variableNamingConvention": "structured" if plain else "flat",
        },
    )
    if not three:
        root.set("numberOfEventIndicators", str(len(system.indicators)))
    _interfaces(root, system, three, identifier, sources)
    _units(root, variables)
    categories = ElementTree.SubElement(root, "LogCategories")
    for category in ("logStatusError", "logStatusWarning"):
        ElementTree.SubElement(categories, "Category", {"name": category})
    ElementTree.SubElement(root, "DefaultExperiment", _experiment(system))
    listed = ElementTree.SubElement(root, "ModelVariables")
    for reference, variable in enumerate(variables):
        if three or reference:  # FMI 2.0 allows no time variable; without it an index is a value reference
            _variable(listed, reference, variable, three)
    _structure(ElementTree.SubElement(root, "ModelStructure"), system, three)
    return _text(root)


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """Return the text of buildDescription.xml."""
    root = Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    build = ElementTree.SubElement(root, "BuildConfiguration", {"modelIdentifier": identifier})
    files = ElementTree.SubElement(build, "SourceFileSet", {"language": "C99"})
    for name in sources:
        ElementTree.SubElement(files, "SourceFile", {"name": name})
    return _text(root)


def _text(root: Element) -> str:
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _signals(system: System) -> Iterable[Signal]:
    return (*system.states, *system.inputs, *system.parameters, *system.outputs, *system.indicators)


def _interfaces(root: Element, system: System, three: bool, identifier: str, sources: Sequence[str]) -> None:
    slopes = str(any(program.name == "slopes" for program in system.programs)).lower()
    common = {"modelIdentifier": identifier, "canBeInstantiatedOnlyOncePerProcess": "false"}
    if three:
        common |= {"canGetAndSetFMUState": "true", "canSerializeFMUState": "true"}
        common |= {"providesDirectionalDerivatives": slopes, "providesAdjointDerivatives": slopes}
    else:
        common |= {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
        common |= {"providesDirectionalDerivative": slopes, "canNotUseMemoryManagementFunctions": "true"}
    stepped = {"needsCompletedIntegratorStep": "false"} if three else {"completedIntegratorStepNotNeeded": "true"}
    exchange = ElementTree.SubElement(root, "ModelExchange", common | stepped)
    more = {"hasEventMode": "false"} if three else {"canInterpolateInputs": "false", "maxOutputDerivativeOrder": "0"}
    together = ElementTree.SubElement(
        root, "CoSimulation", common | {"canHandleVariableCommunicationStepSize": "true"} | more
    )
    for each in () if three else (exchange, together):
        files = ElementTree.SubElement(each, "SourceFiles")
        for name in sources:
            ElementTree.SubElement(files, "File", {"name": name})


def _experiment(system: System) -> dict[str, str]:
    """Return the attributes of the default experiment."""
    return {"startTime": "0.0", "stopTime": "1.0", "stepSize": repr(system.period or 10 * system.step)}


def _units(root: Element, variables: Sequence[dict[str, str]]) -> None:
    names = dict.fromkeys(variable["unit"] for variable in variables if "unit" in variable)
    defined = ElementTree.SubElement(root, "UnitDefinitions")
    for name in names:
        unit = ElementTree.SubElement(defined, "Unit", {"name": name})
        if (found := powers(name)) is not None:
            ElementTree.SubElement(unit, "BaseUnit", {base: str(power) for base, power in found.items()})
        if name in DISPLAYED:
            shown, factor = DISPLAYED[name]
            ElementTree.SubElement(unit, "DisplayUnit", {"name": shown, "factor": repr(factor)})


def _variables(system: System) -> list[dict[str, str]]:
    """Return the attributes of every variable, in the order of the value references."""
    first, behind = FIRST, FIRST + len(system.states)
    parameter = {"causality": "parameter", "variability": "fixed", "initial": "exact"}
    found = [
        {"name": "time", "causality": "independent", "variability": "continuous", "unit": "s"},
        {"name": "step", **parameter, "unit": "s", "start": repr(system.step), "min": "0.0"}
        | {"description": "co-simulation: first step with error control; with tolerance = 0 the longest fixed step"},
        {"name": "tolerance", **parameter, "start": repr(system.tolerance), "min": "0.0"}
        | {"description": "co-simulation: relative tolerance of each step; 0 for fixed steps without error control"},
    ]
    state = {"causality": "local", "variability": "continuous"}
    found += [_of(x, {**state, "initial": "exact", "start": repr(x.start)}) for x in system.states]
    for i, x in enumerate(system.states):
        more = {**state, "initial": "calculated", "derivative": str(first + i)}
        found.append(_of(Signal(f"der({x.name})", per_second(x.unit), "rate of a state"), more))
    assert len(found) == behind + len(system.states)
    found += [
        _of(x, {"causality": "input", "variability": "continuous", "start": repr(x.start)}) for x in system.inputs
    ]
    tunable = {"causality": "parameter", "variability": "tunable", "initial": "exact"}
    for x in system.parameters:
        least = {} if x.least is None else {"min": repr(x.least)}
        found.append(_of(x, {**tunable, "start": repr(x.start), **least}))
    kind = "continuous" if system.period is None else "discrete"
    found += [_of(x, {"causality": "output", "variability": kind, "initial": "calculated"}) for x in system.outputs]
    found += [_of(x, {**state, "initial": "calculated"}) for x in system.indicators]
    return found


def _of(signal: Signal, more: dict[str, str]) -> dict[str, str]:
    texts = {"unit": escape.line(signal.unit), "description": escape.line(signal.meaning)}
    return {"name": escape.line(signal.name), **more, **{key: text for key, text in texts.items() if text}}


def _variable(listed: Element, reference: int, variable: dict[str, str], three: bool) -> None:
    own = ("unit", "start", "min", "derivative")
    if three:
        given = {"name": variable["name"], "valueReference": str(reference)} | variable
        if variable["causality"] == "input":
            given.pop("initial", None)
        ElementTree.SubElement(listed, "Float64", given)
        return
    head = {"name": variable["name"], "valueReference": str(reference)}
    outer = ElementTree.SubElement(listed, "ScalarVariable", head | {k: x for k, x in variable.items() if k not in own})
    inner = {key: variable[key] for key in own if key in variable}
    ElementTree.SubElement(outer, "Real", inner)


# -- dependencies ------------------------------------------------------------------------------------------------------


def _knowns(system: System) -> tuple[Array, Array]:
    """Return the value references of states, inputs and parameters, and True for those that are not parameters."""
    nx, nu, np_ = len(system.states), len(system.inputs), len(system.parameters)
    references = np.concatenate([FIRST + np.arange(nx), FIRST + 2 * nx + np.arange(nu + np_)]).astype(int)
    return references, np.arange(nx + nu + np_) < nx + nu


def _unknowns(system: System) -> tuple[Array, Array]:
    """Return the value references of the rates and of the outputs."""
    nx, nu, np_ = len(system.states), len(system.inputs), len(system.parameters)
    return FIRST + nx + np.arange(nx), FIRST + 2 * nx + nu + np_ + np.arange(len(system.outputs))


def _dependencies(system: System, start: bool) -> tuple[list[tuple[int, list[int]]], list[tuple[int, list[int]]]]:
    """Return dependencies: for each output, and for each rate, its reference and those of the variables it depends on.

    With `start`, parameters are included.
    """
    references, moving = _knowns(system)
    counted = moving | start
    rates, outputs = _unknowns(system)

    def listed(unknowns: Array, on: Array) -> list[tuple[int, list[int]]]:
        return [
            (int(each), references[row & counted].tolist()) for each, row in zip(unknowns, on.astype(bool), strict=True)
        ]

    return listed(outputs, system.outputs_on), listed(rates, system.rates_on)


def _structure(structure: Element, system: System, three: bool) -> None:
    outputs, rates = _dependencies(system, start=False)
    start = sorted([each for part in _dependencies(system, start=True) for each in part])
    two = ("Outputs", "Derivatives", "InitialUnknowns")
    names = ("Output", "ContinuousStateDerivative", "InitialUnknown") if three else two
    for name, unknowns in zip(names, (outputs, rates, start), strict=True):
        listed = structure if three or not unknowns else ElementTree.SubElement(structure, name)
        for reference, on in unknowns:
            given = {"valueReference" if three else "index": str(reference), "dependencies": " ".join(map(str, on))}
            ElementTree.SubElement(listed, name if three else "Unknown", given)
    behind = FIRST + sum(map(len, (system.states, system.states, system.inputs, system.parameters, system.outputs)))
    for i in range(len(system.indicators) if three else 0):
        ElementTree.SubElement(structure, "EventIndicator", {"valueReference": str(behind + i)})
