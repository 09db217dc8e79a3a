"""C code of a controller: its memory in one struct, and one sample with its watchdog."""

from string import Template
from textwrap import indent

from flexarm.closed_forms.formats.c import listed
from flexarm.exports.controller.inputs import Inputs
from flexarm.exports.controller.settings import Settings
from flexarm.exports.controller.stages import StageCode
from flexarm.exports.source import Real, Written, in_reals, literal, signature
from flexarm.simulation.sampled import SampledFeedback

HEADER = Template("""// Status of a sample: 0, or a sum of these numbers.
#define ${NAME}_MISSING 1u  // there were no new readings
#define ${NAME}_INVALID 2u  // a reading was not finite
#define ${NAME}_LATE 4u     // the time since the last sample was not one period
#define ${NAME}_FAULT 8u    // the law gave a number that is not finite
#define ${NAME}_SAFE 16u    // the outputs are the safe ones

// Raw readings of one sample, and their names above. `fresh` is 0 if they are not new.
typedef struct {
$raw    uint32_t fresh;
} ${name}_inputs;

// Outputs of one sample: $actuators.
typedef struct {
    $real u[$nu];
    uint32_t status;
} ${name}_outputs;

// Complete memory of the controller. Only the functions below change it.
typedef struct {
    uint64_t sample;     // samples of the law; its time is $period s times this number
    double time;         // time of the last call [s]
    uint32_t missed;     // consecutive faulty samples
    uint32_t stopped;    // 1 after a failure, until a reset
    uint32_t count[4];   // samples that were missing, invalid, late, or had a fault of the law, since init
    $real u[$nu];        // last outputs
$memory} ${name};

// Makes the controller ready for its first sample.
void ${name}_init(${name} *self);

// Begins the law again at its start after a failure. The counts stay.
void ${name}_reset(${name} *self);

// One sample. `inputs` may be NULL if there are no readings. `time` is that of the board's clock [s], from any zero.
// Call it every $period s. Until the first sample without a fault the outputs are the safe ones. After more than
// $misses consecutive faulty samples, or after a fault of the law, they are the safe ones until a reset.
$head;""")

CODE = Template("""#if defined(__FAST_MATH__)
#error "The watchdog needs NaN: compile without -ffast-math."
#endif

void ${name}_reset(${name} *self)
{
    self->sample = 0u;
    self->time = 0.0;
    self->missed = 0u;
    self->stopped = 0u;
$start}

void ${name}_init(${name} *self)
{
    static const $real safe[$nu] = $safe;
    for (int i = 0; i < 4; i++) {
        self->count[i] = 0u;
    }
    for (int i = 0; i < $nu; i++) {
        self->u[i] = safe[i];
    }
    ${name}_reset(self);
}

$head
{
    static const ${name}_inputs none = {$none};
    static const $real safe[$nu] = $safe;
$tables    const ${name}_inputs *const given = (inputs != NULL) ? inputs : &none;
    const double since = time - self->time;
    const $real t[1] = {$kind((double)self->sample * $exact)};
    $real u[$nu];
$locals    uint32_t status = (given->fresh != 0u) ? 0u : ${NAME}_MISSING;

$read    if ((!isfinite(time)) || ((self->sample > 0u) && (!(fabs(since - $exact) <= $jitter)))) {
        status |= ${NAME}_LATE;
    }
    const bool started = (self->sample > 0u) || (status == 0u);
    self->missed = (status == 0u) ? 0u : (self->missed + ((self->missed < UINT32_MAX) ? 1u : 0u));

    // The law runs in every sample, so that all samples take the same path.
$before    ${name}_update($arguments);
    bool finite = true;
    for (int i = 0; i < $nu; i++) {
        finite = finite && isfinite(u[i]);
    }
$check    if (!finite) {
        status |= ${NAME}_FAULT;
    }
    if (started && ((!finite) || (self->missed > ${misses}u))) {
        self->stopped = 1u;
    }
    const bool running = started && (self->stopped == 0u);
    for (int i = 0; i < $nu; i++) {
$safely        self->u[i] = running ? u[i] : back;
        outputs->u[i] = self->u[i];
    }
$keep$again    for (uint32_t i = 0u; i < 4u; i++) {
        const bool seen = ((status >> i) & 1u) != 0u;
        self->count[i] += (seen && (self->count[i] < UINT32_MAX)) ? 1u : 0u;
    }
    self->sample += running ? 1u : 0u;
    self->time = isfinite(time) ? time : (self->time + $exact);
    outputs->status = running ? status : (status | ${NAME}_SAFE);
}""")

READ = Template("""    bool valid = true;
    for (int i = 0; i < $ny; i++) {
        y[i] = $scaled;
        valid = valid && isfinite(y[i]);
    }
    if ((!valid) && (status == 0u)) {
        status |= ${NAME}_INVALID;
    }
    for (int i = 0; i < $ny; i++) {
        self->y[i] = (status == 0u) ? y[i] : self->y[i];
        y[i] = self->y[i];
    }
""")
"""Readings of this sample, or the last ones."""


def step_code(
    name: str,
    feedback: SampledFeedback,
    inputs: Inputs,
    settings: Settings,
    actuators: tuple[str, ...],
    real: Real,
    stage: StageCode | None = None,
) -> Written:
    """Return the C code of a controller's memory and of its functions, after its `NAME_update`."""
    memory, ny, nu = feedback.law.memory, len(inputs.names), len(actuators)
    nz, NAME, exact = len(memory), name.upper(), repr(float(feedback.period))
    arguments = [f"{name} *self", f"const {name}_inputs *inputs", "double time", f"{name}_outputs *outputs"]
    head = signature(f"{name}_step", arguments)
    common = {"name": name, "NAME": NAME, "real": real, "ny": ny, "nu": nu, "head": head}
    declared = HEADER.substitute(
        common,
        raw=f"    {real} y[{ny}];\n" if ny else "",
        actuators=", ".join(actuators),
        period=f"{feedback.period:g}",
        misses=settings.misses,
        memory=_lines(
            f"{real} y[{ny}];        // last valid readings" * bool(ny),
            f"{real} z[{nz}];        // memory of the law" * bool(nz),
            stage.member if stage else "",
        ),
    )
    zero, given = literal(0.0, real), ["y"] * bool(ny)
    if stage is not None:
        given = ["x"] * bool(stage.count)
    tables = _table(real, "gain", settings.gains) + _table(real, "offset", settings.offsets) if settings.scaled else ""
    tables += _table(real, "slew", settings.slew) if settings.slew is not None else ""
    back = "safe[i]"
    if settings.slew is not None:
        back = in_reals("self->u[i] + fmin(fmax(safe[i] - self->u[i], -slew[i]), slew[i])", real)
    defined = CODE.substitute(
        common,
        start=_lines(
            *(f"self->y[{i}] = {zero};" for i in range(ny)),
            *(f"self->z[{i}] = {literal(value, real)};" for i, value in enumerate(memory)),
            stage.begin if stage else "",
        ),
        safe=in_reals(listed(settings.safe), real),
        none=f"{{{', '.join([zero] * ny)}}}, 0u" if ny else "0u",
        tables=tables,
        kind="(float)" if real == "float" else "",
        exact=exact,
        jitter=repr(settings.jitter),
        misses=settings.misses,
        locals=_lines(
            f"{real} y[{ny}];" * bool(ny),
            f"{real} x[{stage.count}];" if stage and stage.count else "",
            f"{real} z[{nz}];" * bool(nz),
        ),
        read=READ.substitute(common, scaled="(gain[i] * given->y[i]) + offset[i]" if settings.scaled else "given->y[i]")
        if ny
        else "",
        before=_lines(*stage.call) if stage else "",
        again=_lines("if (!running) {", indent(stage.begin, "    "), "}") if stage else "",
        arguments=", ".join(["t", *given, *["self->z"] * bool(nz), "u", *["z"] * bool(nz)]),
        check=_lines(f"for (int i = 0; i < {nz}; i++) {{", "    finite = finite && isfinite(z[i]);", "}") if nz else "",
        safely=f"        const {real} back = {back};\n",
        keep=_lines(f"for (int i = 0; i < {nz}; i++) {{", "    self->z[i] = running ? z[i] : self->z[i];", "}")
        if nz
        else "",
    )
    return Written(declared, defined)


def _lines(*lines: str) -> str:
    return "".join(indent(f"{line}\n", "    ") for line in lines if line)


def _table(real: Real, name: str, values: object) -> str:
    return _lines(f"static const {real} {name}[{len(values)}] = {in_reals(listed(values), real)};")  # type: ignore[arg-type]
