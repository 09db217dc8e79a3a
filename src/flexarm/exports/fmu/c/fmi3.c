/* The functions of FMI 3.0, for model exchange and co-simulation. */
#include "model.h"
#include "core.h"
#include "fmi3Functions.h"

static void message(const Instance *s, fmi3Status status, const char *category, const char *format, va_list arguments)
{
    char text[512];
    if (!s->log) return;
    vsnprintf(text, sizeof text, format, arguments);
    ((fmi3LogMessageCallback)s->log)(s->environment, status, category, text);
}

static void complain(const Instance *s, const char *format, ...)
{
    va_list arguments;
    if (!s->logging) return;
    va_start(arguments, format);
    message(s, fmi3Error, "logStatusError", format, arguments);
    va_end(arguments);
}

static void report(const Instance *s, int failed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(s, failed ? fmi3Error : fmi3Warning, failed ? "logStatusError" : "logStatusWarning", format, arguments);
    va_end(arguments);
}

static fmi3Status status(int outcome)
{
    return outcome == FAILED ? fmi3Error : outcome == DOUBTFUL ? fmi3Warning : fmi3OK;
}

/* Returns 1 if a function may be called in the present mode of the instance. */
static int may(const Instance *s, const char *what, int allowed)
{
    if (!s) return 0;
    if (!allowed) complain(s, "%s cannot be called now", what);
    return allowed;
}

static int is_running(const Instance *s)
{
    return s && (s->now.mode == EVENT || s->now.mode == CONTINUOUS || s->now.mode == STEPPING);
}

const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean loggingOn, size_t count, const fmi3String categories[])
{
    Instance *s = c;
    (void)count, (void)categories;
    if (!s) return fmi3Error;
    s->logging = loggingOn;
    return fmi3OK;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                          fmi3Boolean loggingOn, fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log)
{
    (void)resources, (void)visible;
    Instance *s = new_instance(name, token, environment, (void (*)(void))log, loggingOn);
    if (s) s->exchange = 1;
    return s;
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
                                         fmi3Boolean earlyReturnAllowed, const fmi3ValueReference between[],
                                         size_t count, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update)
{
    (void)resources, (void)visible, (void)eventModeUsed, (void)earlyReturnAllowed;
    (void)between, (void)count, (void)update;
    return new_instance(name, token, environment, (void (*)(void))log, loggingOn);
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
                                               fmi3Boolean visible, fmi3Boolean loggingOn,
                                               fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                               fmi3ClockUpdateCallback update, fmi3LockPreemptionCallback lock,
                                               fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)loggingOn;
    (void)environment, (void)log, (void)update, (void)lock, (void)unlock;
    return NULL;
}

void fmi3FreeInstance(fmi3Instance c)
{
    free_instance(c);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    Instance *s = c;
    (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
    if (!may(s, "fmi3EnterInitializationMode", s && s->now.mode == INSTANTIATED)) return fmi3Error;
    if (!set_start(s, startTime)) return fmi3Error;
    s->now.mode = INITIALIZING;
    forget(s);
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    Instance *s = c;
    if (!may(s, "fmi3ExitInitializationMode", s && s->now.mode == INITIALIZING)) return fmi3Error;
    if (!start_fits(s)) return fmi3Error;
    s->now.mode = s->exchange ? EVENT : STEPPING;
    return fmi3OK;
}

fmi3Status fmi3EnterEventMode(fmi3Instance c)
{
    Instance *s = c;
    if (!may(s, "fmi3EnterEventMode", s && s->exchange && is_running(s))) return fmi3Error;
    s->now.mode = EVENT;
    forget(s);
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance c)
{
    Instance *s = c;
    if (!may(s, "fmi3Terminate", is_running(s))) return fmi3Error;
    s->now.mode = TERMINATED;
    return status(warn_of_fixed_steps(s, 1) ? DOUBTFUL : DONE);
}

fmi3Status fmi3Reset(fmi3Instance c)
{
    if (!c) return fmi3Error;
    begin(c);
    return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3Float64 values[], size_t count)
{
    if (!may(c, "fmi3GetFloat64", nvr == count)) return fmi3Error;
    for (size_t i = 0; i < nvr; i++) {
        if (!value(c, vr[i], &values[i])) return fmi3Error;
    }
    return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const fmi3Float64 values[],
                          size_t count)
{
    if (!may(c, "fmi3SetFloat64", nvr == count)) return fmi3Error;
    for (size_t i = 0; i < nvr; i++) {
        if (!give(c, vr[i], values[i])) return fmi3Error;
    }
    return fmi3OK;
}

/* There are no variables of other types. */
#define NONE(name, type) \
    fmi3Status fmi3Get##name(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, type values[], size_t count) \
    { \
        (void)vr, (void)values, (void)count; \
        return status(may(c, "fmi3Get" #name, nvr == 0)); \
    } \
    fmi3Status fmi3Set##name(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const type values[], \
                             size_t count) \
    { \
        (void)vr, (void)values, (void)count; \
        return status(may(c, "fmi3Set" #name, nvr == 0)); \
    }
NONE(Float32, fmi3Float32)
NONE(Int8, fmi3Int8)
NONE(UInt8, fmi3UInt8)
NONE(Int16, fmi3Int16)
NONE(UInt16, fmi3UInt16)
NONE(Int32, fmi3Int32)
NONE(UInt32, fmi3UInt32)
NONE(Int64, fmi3Int64)
NONE(UInt64, fmi3UInt64)
NONE(Boolean, fmi3Boolean)
NONE(String, fmi3String)

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, size_t sizes[], fmi3Binary values[],
                         size_t count)
{
    (void)vr, (void)sizes, (void)values, (void)count;
    return status(may(c, "fmi3GetBinary", nvr == 0));
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const size_t sizes[],
                         const fmi3Binary values[], size_t count)
{
    (void)vr, (void)sizes, (void)values, (void)count;
    return status(may(c, "fmi3SetBinary", nvr == 0));
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3Clock values[])
{
    (void)vr, (void)values;
    return status(may(c, "fmi3GetClock", nvr == 0));
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const fmi3Clock values[])
{
    (void)vr, (void)values;
    return status(may(c, "fmi3SetClock", nvr == 0));
}

/* Dependencies are always those of modelDescription.xml. */
fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t *count)
{
    (void)vr, (void)count;
    return status(may(c, "fmi3GetNumberOfVariableDependencies", 0));
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference vr, size_t own[],
                                       fmi3ValueReference independents[], size_t others[], fmi3DependencyKind kinds[],
                                       size_t count)
{
    (void)vr, (void)own, (void)independents, (void)others, (void)kinds, (void)count;
    return status(may(c, "fmi3GetVariableDependencies", 0));
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (!c || !state) return fmi3Error;
    if (!*state) *state = malloc(sizeof(Saved));
    if (!*state) return fmi3Error;
    memcpy(*state, &((Instance *)c)->now, sizeof(Saved));
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState state)
{
    if (!c || !state) return fmi3Error;
    memcpy(&((Instance *)c)->now, state, sizeof(Saved));
    forget(c);
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *state)
{
    if (!c || !state) return fmi3Error;
    free(*state);
    *state = NULL;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    if (!c || !state || !size) return fmi3Error;
    *size = sizeof(Saved);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    if (!may(c, "fmi3SerializeFMUState", state && size >= sizeof(Saved))) return fmi3Error;
    memcpy(bytes, state, sizeof(Saved));
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    if (!may(c, "fmi3DeserializeFMUState", state && size == sizeof(Saved))) return fmi3Error;
    if (!*state) *state = malloc(sizeof(Saved));
    if (!*state) return fmi3Error;
    memcpy(*state, bytes, sizeof(Saved));
    return fmi3OK;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t many,
                                        const fmi3ValueReference knowns[], size_t few, const fmi3Float64 seed[],
                                        size_t seeds, fmi3Float64 found[], size_t count)
{
    if (!may(c, "fmi3GetDirectionalDerivative", few == seeds && many == count)) return fmi3Error;
    return status(along(c, unknowns, many, knowns, few, seed, found));
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[], size_t many,
                                    const fmi3ValueReference knowns[], size_t few, const fmi3Float64 seed[],
                                    size_t seeds, fmi3Float64 found[], size_t count)
{
#ifdef MODEL_ADJOINTS
    if (!may(c, "fmi3GetAdjointDerivative", many == seeds && few == count)) return fmi3Error;
    return status(adjoint(c, unknowns, many, knowns, few, seed, found));
#else
    (void)unknowns, (void)many, (void)knowns, (void)few, (void)seed, (void)seeds, (void)found, (void)count;
    return status(may(c, "fmi3GetAdjointDerivative", 0));
#endif
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c)
{
    return status(may(c, "fmi3EnterConfigurationMode", 0));
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c)
{
    return status(may(c, "fmi3ExitConfigurationMode", 0));
}

/* There are no clocks. */
fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3Float64 intervals[],
                                  fmi3IntervalQualifier qualifiers[])
{
    (void)vr, (void)intervals, (void)qualifiers;
    return status(may(c, "fmi3GetIntervalDecimal", nvr == 0));
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3UInt64 counters[],
                                   fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    (void)vr, (void)counters, (void)resolutions, (void)qualifiers;
    return status(may(c, "fmi3GetIntervalFraction", nvr == 0));
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3Float64 shifts[])
{
    (void)vr, (void)shifts;
    return status(may(c, "fmi3GetShiftDecimal", nvr == 0));
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, fmi3UInt64 counters[],
                                fmi3UInt64 resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return status(may(c, "fmi3GetShiftFraction", nvr == 0));
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr,
                                  const fmi3Float64 intervals[])
{
    (void)vr, (void)intervals;
    return status(may(c, "fmi3SetIntervalDecimal", nvr == 0));
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr,
                                   const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return status(may(c, "fmi3SetIntervalFraction", nvr == 0));
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const fmi3Float64 shifts[])
{
    (void)vr, (void)shifts;
    return status(may(c, "fmi3SetShiftDecimal", nvr == 0));
}

fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const fmi3UInt64 counters[],
                                const fmi3UInt64 resolutions[])
{
    (void)vr, (void)counters, (void)resolutions;
    return status(may(c, "fmi3SetShiftFraction", nvr == 0));
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c)
{
    Instance *s = c;
    return status(may(s, "fmi3EvaluateDiscreteStates", s && s->now.mode == EVENT));
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *again, fmi3Boolean *terminate, fmi3Boolean *nominals,
                                    fmi3Boolean *states, fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime)
{
    Instance *s = c;
    int defined;
    if (!may(s, "fmi3UpdateDiscreteStates", s && s->now.mode == EVENT)) return fmi3Error;
    meet_event(s, &defined, nextEventTime);
    *nextEventTimeDefined = defined != 0;
    *again = *terminate = *nominals = *states = fmi3False;
    return fmi3OK;
}

/* -- model exchange ------------------------------------------------------------------------------------------------ */

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c)
{
    Instance *s = c;
    if (!may(s, "fmi3EnterContinuousTimeMode", s && s->exchange && s->now.mode == EVENT)) return fmi3Error;
    s->now.mode = CONTINUOUS;
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean nothingBefore, fmi3Boolean *enterEventMode,
                                       fmi3Boolean *terminateSimulation)
{
    (void)nothingBefore;
    if (!c) return fmi3Error;
    *enterEventMode = *terminateSimulation = fmi3False;
    return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time)
{
    Instance *s = c;
    return status(may(s, "fmi3SetTime", s && s->exchange && is_running(s)) && set_time(s, time));
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 x[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi3SetContinuousStates", s && nx == NX && s->now.mode == CONTINUOUS)) return fmi3Error;
    if (nx) memcpy(s->now.x, x, nx * sizeof *x);
    forget(s);
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 derivatives[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi3GetContinuousStateDerivatives", nx == NX) || !know_dx(s)) return fmi3Error;
    if (nx) memcpy(derivatives, s->dx, nx * sizeof *derivatives);
    return fmi3OK;
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 found[], size_t count)
{
    return status(may(c, "fmi3GetEventIndicators", count == NI) && indicators(c, found));
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 x[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi3GetContinuousStates", nx == NX)) return fmi3Error;
    if (nx) memcpy(x, s->now.x, nx * sizeof *x);
    return fmi3OK;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 nominals[], size_t nx)
{
    if (!may(c, "fmi3GetNominalsOfContinuousStates", nx == NX)) return fmi3Error;
    for (size_t i = 0; i < nx; i++) nominals[i] = 1.0;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *count)
{
    if (!c) return fmi3Error;
    *count = NI;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *count)
{
    if (!c) return fmi3Error;
    *count = NX;
    return fmi3OK;
}

/* -- co-simulation ------------------------------------------------------------------------------------------------- */

fmi3Status fmi3EnterStepMode(fmi3Instance c)
{
    return status(may(c, "fmi3EnterStepMode", 0));
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference vr[], size_t nvr, const fmi3Int32 orders[],
                                    fmi3Float64 values[], size_t count)
{
    (void)vr, (void)orders, (void)values, (void)count;
    return status(may(c, "fmi3GetOutputDerivatives", nvr == 0));
}

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 from, fmi3Float64 duration, fmi3Boolean nothingBefore,
                      fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn,
                      fmi3Float64 *lastSuccessfulTime)
{
    Instance *s = c;
    (void)nothingBefore;
    if (!may(s, "fmi3DoStep", s && s->now.mode == STEPPING)) return fmi3Error;
    const int outcome = advance(s, from, duration);
    *eventHandlingNeeded = *terminateSimulation = *earlyReturn = fmi3False;
    *lastSuccessfulTime = s->now.time;
    return status(outcome);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clock, fmi3Float64 time)
{
    (void)clock, (void)time;
    return status(may(c, "fmi3ActivateModelPartition", 0));
}
