"""Models for Simulink and MATLAB: a level-2 S-function in C, and an M function for ode45."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from string import Template
from textwrap import indent

from flexarm import escape
from flexarm.checks import refused
from flexarm.closed_forms.exports import identifier
from flexarm.closed_forms.formats.matlab import MATLAB, matlab
from flexarm.exports.programs import at_nearest, checked_sensors, correction, measured, quantity, sizes
from flexarm.exports.source import c_sources
from flexarm.files import checked_path, write_whole
from flexarm.model import Model, ModelLike, Sensor, as_model, closures
from flexarm.model.closures import APART
from flexarm.sensors import outputs

OCTAVE_TOO = replace(MATLAB, others={"nan": "NaN", "inf": "Inf"})
"""MATLAB with the names of numbers that are not finite."""

SFUNCTION = Template("""// $title, as a level-2 S-function of Simulink. Written by flexarm.
//
// Inputs: $inputs.
// Outputs: $outputs.
// Parameters: $parameters.
//
// A fixed-step solver of Simulink does not check its error: compare with a run of half the step.
#define S_FUNCTION_NAME $sfun
#define S_FUNCTION_LEVEL 2

#include "simstruc.h"

#include "$plant.h"

#define START(S) ssGetSFcnParam((S), 0)
$parameter_macro

static const real_T at_rest[$nx] = {$rest};

static void mdlInitializeSizes(SimStruct *S)
{
    ssSetNumSFcnParams(S, $count);
    if (ssGetNumSFcnParams(S) != ssGetSFcnParamsCount(S)) {
        return;
    }
    if ((mxGetNumberOfElements(START(S)) != 0) && (mxGetNumberOfElements(START(S)) != $start)) {
        ssSetErrorStatus(S, "$name: the state at the start must be [] or $start numbers: q, qd$and_s");
        return;
    }
$check
    ssSetNumContStates(S, $nx);
    ssSetNumDiscStates(S, 0);
    (void)ssSetNumInputPorts(S, $ports_in);
$ins
    (void)ssSetNumOutputPorts(S, $ports_out);
$outs
    ssSetNumSampleTimes(S, 1);
    ssSetOptions(S, SS_OPTION_EXCEPTION_FREE_CODE);
}

static void mdlInitializeSampleTimes(SimStruct *S)
{
    ssSetSampleTime(S, 0, CONTINUOUS_SAMPLE_TIME);
    ssSetOffsetTime(S, 0, 0.0);
}

#define MDL_INITIALIZE_CONDITIONS
static void mdlInitializeConditions(SimStruct *S)
{
    real_T *x = ssGetContStates(S);
    for (int i = 0; i < $nx; i++) {
        x[i] = at_rest[i];
    }
    if (mxGetNumberOfElements(START(S)) != 0) {
        const real_T *start = mxGetPr(START(S));
        for (int i = 0; i < $start; i++) {
            x[i] = start[i];
        }
    }
}

static void mdlOutputs(SimStruct *S, int_T tid)
{
    const real_T *x = ssGetContStates(S);
$write
    (void)tid;
}

#define MDL_DERIVATIVES
static void mdlDerivatives(SimStruct *S)
{
    const real_T *x = ssGetContStates(S);
$locals
    $rate
}

static void mdlTerminate(SimStruct *S)
{
    (void)S;
}

#ifdef MATLAB_MEX_FILE
#include "simulink.c"
#else
#include "cg_sfun.h"
#endif
""")

LONGEST = 63
"""Largest length of a function name that MATLAB distinguishes."""

BUILD = Template("""% Builds the S-function $sfun, with the compiler of `mex -setup C`.
here = fileparts(mfilename('fullpath'));
mex('-outdir', here, fullfile(here, '$sfun.c'), fullfile(here, '$plant.c'));
""")


def export_simulink(model: ModelLike, path: str | PathLike[str], sensors: Sequence[Sensor] = ()) -> list[Path]:
    """Write a model for Simulink and MATLAB into a folder and return its files.

    NAME_sfun.c is a level-2 S-function around NAME_plant.h and NAME_plant.c. NAME_build.m builds it by mex.
    NAME_state_rate.m has the rates of the complete state as a function for ode45, and also works in Octave. The inputs
    of the block are u, and exogenous inputs if the arm has them. Its outputs are q, qd, energies and sensor signals.
    Its parameters are the initial state, and p if the model has varied parameters.

    With closures, the solver of Simulink does not keep them. The rates and all outputs are those of the nearest state
    that satisfies the closures, and the block stops if a gap exceeds 1 mm.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export.
    path : path
        Folder of the files, which is created if it does not exist.
    sensors : list of sensors, optional
        Sensors of the last output, without sampling, noise and resolution.

    Raises
    ------
    DescriptionError
        If a sensor does not fit the arm, or the folder cannot be written.
    FlexarmError
        If an operation cannot be written in C or MATLAB.
    """
    folder = Path(checked_path(path))
    return [write_whole(folder / file, text.encode()) for file, text in simulink(model, sensors).items()]


def simulink(model: ModelLike, sensors: Sequence[Sensor] = ()) -> dict[str, str]:
    """Return the texts of `export_simulink` by file name."""
    with refused("export_simulink"):
        model = as_model(model)
    sensors = checked_sensors("export_simulink", sensors)
    name = identifier(model.arm)[: LONGEST - len("_state_rate")]
    plant = f"{name}_plant"
    found = [quantity(model, "energy"), quantity(model, "state_rate")] + ([measured(model, sensors)] if sensors else [])
    if model.arm.closures:
        found = [*(at_nearest(model, each) for each in found), correction(model)]
    title = f"{model.arm.name}: what its block of Simulink computes"
    program = replace(found[1].program, name=f"{name}_state_rate")
    return {
        **c_sources(plant, [each.program for each in found], "double", title, sizes(model, sensors)),
        f"{name}_sfun.c": _sfunction(model, name, plant, sensors),
        f"{name}_build.m": BUILD.substitute(plant=plant, sfun=f"{name}_sfun"),
        f"{name}_state_rate.m": matlab(program, OCTAVE_TOO),
    }


def _sfunction(model: Model, name: str, plant: str, sensors: Sequence[Sensor]) -> str:
    counts = sizes(model, sensors)
    nq, nv, nu, ns, nw, nx = (counts[a] for a in ("nq", "nv", "nu", "ns", "nw", "nx"))
    names = model.output_names(sensors) if sensors else ()
    driven = bool(sensors) and outputs(model, sensors).driven
    held = [(a, size) for a, size in (("u", nu), ("w", nw)) if size]
    state = [("x", nq), (f"&x[{nq}]", nv)] + ([(f"&x[{nq + nv}]", ns)] if ns else [])
    p = ["p"] if len(model.p) else []
    written = [("q", nq), ("qd", nv), ("energy", 2), *([("y", counts["ny"])] if sensors else [])]
    local = [f"const real_T *{a} = (const real_T *)ssGetInputPortSignal(S, {i});" for i, (a, _) in enumerate(held)]
    local += ["const real_T *p = PARAMETERS(S);"] if p else []
    arguments = [a for a, _ in state] + [a for a, _ in held] + p
    energy = [a for a, _ in state] + p
    read = arguments if driven else [a for a, _ in state] + ["none"] * len(held) + p  # the outputs do not read `none`
    where = "near" if model.arm.closures else "x"
    reading = local if driven else local[len(held) :]
    if sensors and held and not driven:
        reading = [f"static const real_T none[{max(nu, nw)}] = {{0.0}};", *reading]
    return SFUNCTION.substitute(
        title=escape.comment(model.arm.name),
        name=name,
        plant=plant,
        sfun=f"{name}_sfun",
        inputs="; ".join(
            ["u: " + ", ".join(map(escape.comment, model.inputs))] * bool(nu)
            + ["w: " + ", ".join(map(escape.comment, model.exogenous))] * bool(nw)
        )
        or "none",
        outputs="; ".join(
            ["q", "qd", "kinetic and potential energy [J]"]
            + ["y: " + ", ".join(map(escape.comment, names))] * bool(sensors)
        ),
        parameters="the state at the start, q and qd"
        + ", s" * bool(ns)
        + ", or [] for rest"
        + ("; p, or [] for the parameters' own values" if p else ""),
        parameter_macro=GIVEN.substitute(plant=plant) if p else "",
        nx=nx,
        rest=", ".join([repr(float(x)) for x in (*closures.rest(model), *[0.0] * (nx - nq))]),
        count=1 + len(p),
        start=nq + nv + ns,
        and_s=" and the states of drives" * bool(ns),
        check=indent(CHECK.substitute(name=name, np=len(model.p)), "    ") if p else "",
        ports_in=len(held),
        ins=_lines(
            line
            for i, (a, size) in enumerate(held)
            for line in (
                f"ssSetInputPortWidth(S, {i}, {size});",
                f"ssSetInputPortRequiredContiguous(S, {i}, 1);",
                f"ssSetInputPortDirectFeedThrough(S, {i}, {int(driven)});",
            )
        ),
        ports_out=len(written),
        outs=_lines(f"ssSetOutputPortWidth(S, {i}, {size});" for i, (_, size) in enumerate(written)),
        write=_lines(
            [
                *(f"real_T *{a}_out = ssGetOutputPortRealSignal(S, {i});" for i, (a, _) in enumerate(written)),
                *(reading if sensors else local[len(held) :]),
                *(_closing(name, plant, nq, nv, p) if model.arm.closures else []),
                *(
                    line
                    for a, size, at in (("q", nq, 0), ("qd", nv, nq))
                    for line in (
                        f"for (int i = 0; i < {size}; i++) {{",
                        f"    {a}_out[i] = {where}[{f'{at} + ' if at else ''}i];",
                        "}",
                    )
                ),
                f"{plant}_energy({', '.join([*energy, 'energy_out'])});",
                *([f"{plant}_outputs({', '.join([*read, 'y_out'])});"] if sensors else []),
            ]
        ),
        locals=_lines(local),
        rate=f"{plant}_state_rate({', '.join([*arguments, 'ssGetdX(S)'])});",
    )


def _closing(name: str, plant: str, nq: int, nv: int, p: list[str]) -> list[str]:
    """Return lines that find the nearest state on the closures, and stop if it is far away."""
    arguments = ", ".join(["x", f"&x[{nq}]", *p, "near"])
    return [
        f"real_T near[{nq + nv + 1}];",
        f"{plant}_correction({arguments});",
        f"if (!(near[{nq + nv}] < {APART**2!r})) {{",
        f'    ssSetErrorStatus(S, "{name}: the state does not satisfy the closures: give another start, or a smaller '
        'tolerance");',
        "    return;",
        "}",
    ]


GIVEN = Template("""#define P(S) ssGetSFcnParam((S), 1)
#define PARAMETERS(S) ((mxGetNumberOfElements(P(S)) != 0) ? mxGetPr(P(S)) : ${plant}_p_nominal)""")

CHECK = Template("""if ((mxGetNumberOfElements(P(S)) != 0) && (mxGetNumberOfElements(P(S)) != $np)) {
    ssSetErrorStatus(S, "$name: p must be [] or a vector of length $np");
    return;
}""")


def _lines(lines: Iterable[str]) -> str:
    return indent("\n".join(lines), "    ")
