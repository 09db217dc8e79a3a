"""C sources of an FMU: the system's programs, the definitions for core.h, and the files that every FMU has."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from flexarm.closed_forms.formats.c import C
from flexarm.closed_forms.formats.program import Program
from flexarm.exports.fmu.description import Version
from flexarm.exports.fmu.system import System
from flexarm.exports.source import c_sources
from flexarm.model import closures
from flexarm.simulation.butcher import RK4, RK4_ERROR, RK45, ButcherTableau

OWN = {
    "2.0": ("fmi2.c", "core.h", "fmi2Functions.h", "fmi2FunctionTypes.h", "fmi2TypesPlatform.h"),
    "3.0": ("fmi3.c", "core.h", "fmi3Functions.h", "fmi3FunctionTypes.h", "fmi3PlatformTypes.h"),
}
"""Files of the package, beginning with the one to compile. The headers are part of the standard and state their
licence."""

CALLS = {
    "rates": ("x u p", "dx"),
    "outputs": ("x u p", "y"),
    "slopes": ("x u vx vu vp p", "slope"),
    "adjoints": ("x u weights p", "adjoint"),
    "indicators": ("x p", "indicator"),
    "correction": ("x p", "corrected"),
    "law": ("t y z p", "u z_next"),
}
"""Arguments of the programs in the order of core.h. Arguments without entries are left out of the programs."""

MODEL = Template("""/* What core.h must know of this model. */
#include "$name.h"

#define TOKEN "$token"
#define NX $nx
#define NU $nu
#define NP $np
#define NY $ny
#define NZ $nz
#define NI $ni
#define START_STEP $step
#define START_TOLERANCE $tolerance
#define START_X $x
#define START_U $u
#define START_P $p
#define START_Z $z

/* Sums of squares of the closures' gaps and their rates: one that ends a correction, and the largest of a start. */
#define CORRECTIONS $corrections
#define CLOSED $closed
#define FITS $fits

/* Explicit methods: with fixed steps, and with steps that follow from the estimated error. WEIGHTS are of the error. */
#define FIXED_STAGES $fixed_stages
#define FIXED_TABLEAU $fixed_tableau
#define FIXED_WEIGHTS $fixed_weights
#define ADAPTIVE_STAGES $adaptive_stages
#define ADAPTIVE_ORDER $adaptive_order
#define ADAPTIVE_TABLEAU $adaptive_tableau
#define ADAPTIVE_WEIGHTS $adaptive_weights

$calls
""")


TAKEN = {"model", *(Path(file).stem.lower() for names in OWN.values() for file in names)}
"""File names that an arm's files must not have. They are compared without case, as on some file systems."""


def identifier(name: str) -> str:
    """Return a name as a C identifier, for the FMU's binary and its sources."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_")[:40]
    fits = re.match("[A-Za-z]", found) and found not in C.reserved and found.lower() not in TAKEN
    return found if fits else f"fmu_{found}".rstrip("_")


def sources(system: System, version: Version, name: str, token: str) -> dict[str, str]:
    """Return texts by file name. The files to compile are NAME.c and the first of `OWN`."""
    programs = [each for each in system.programs if version == "3.0" or each.name != "adjoints"]  # version 2.0 has none
    texts = c_sources(name, programs, title=system.name)
    texts["model.h"] = _model(system, programs, name, token)
    home = files("flexarm.exports.fmu") / "c"
    return texts | {file: (home / file).read_text(encoding="utf-8") for file in OWN[version]}


def compiled(version: Version, name: str) -> tuple[str, str]:
    """Return the names of the files to compile."""
    return OWN[version][0], f"{name}.c"


def _model(system: System, programs: Sequence[Program], name: str, token: str) -> str:
    there = {program.name: program for program in programs}
    calls = [] if "rates" in there else ["#define MODEL_RATES(x, u, p, dx) (void)0"]
    for kind in there:
        arguments, results = (text.split() for text in CALLS[kind])
        given = [x for x in arguments if x in there[kind].sizes] + results[: len(there[kind].outputs)]
        calls.append(
            f"#define MODEL_{kind.upper()}({', '.join([*arguments, *results])}) {name}_{kind}({', '.join(given)})"
        )
    if system.period is not None:
        calls.insert(0, f"#define PERIOD {system.period!r}")
    return MODEL.substitute(
        name=name,
        token=token,
        nx=len(system.states),
        nu=len(system.inputs),
        np=len(system.parameters),
        ny=len(system.outputs),
        nz=len(system.memory),
        ni=len(system.indicators),
        step=repr(system.step),
        tolerance=repr(system.tolerance),
        x=_list([each.start for each in system.states]),
        u=_list([each.start for each in system.inputs]),
        p=_list([each.start for each in system.parameters]),
        z=_list(list(system.memory)),
        corrections=closures.CORRECTIONS,
        closed=repr(closures.MET**2),
        fits=repr(closures.FITS**2),
        calls="\n".join(calls),
        **_tableau("fixed", RK4, RK4_ERROR),
        **_tableau("adaptive", RK45, RK45.errors[0]),
        adaptive_order=RK45.order,
    )


def _tableau(name: str, tableau: ButcherTableau, error: Any) -> dict[str, Any]:
    """Return the numbers of a method for the template."""
    stages = tableau.stages
    weights = [float(error.get(i, 0.0)) for i in range(stages + 1)]
    rows = tableau.matrix.ravel().tolist()
    return {f"{name}_stages": stages, f"{name}_tableau": _list(rows), f"{name}_weights": _list(weights)}


def _list(values: list[float]) -> str:
    return "{" + ", ".join(map(repr, values or [0.0])) + "}"
