/* The functions of FMI 2.0, for model exchange and co-simulation. */
#include "model.h"
#include "core.h"
#include "fmi2Functions.h"

static void message(const Instance *s, fmi2Status status, const char *category, const char *format, va_list arguments)
{
    char text[512];
    if (!s->log) return;
    vsnprintf(text, sizeof text, format, arguments);
    ((fmi2CallbackLogger)s->log)(s->environment, s->name, status, category, "%s", text);
}

static void complain(const Instance *s, const char *format, ...)
{
    va_list arguments;
    if (!s->logging) return;
    va_start(arguments, format);
    message(s, fmi2Error, "logStatusError", format, arguments);
    va_end(arguments);
}

static void report(const Instance *s, int failed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message(s, failed ? fmi2Error : fmi2Warning, failed ? "logStatusError" : "logStatusWarning", format, arguments);
    va_end(arguments);
}

static fmi2Status status(int outcome)
{
    return outcome == FAILED ? fmi2Error : outcome == DOUBTFUL ? fmi2Warning : fmi2OK;
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

const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t count, const fmi2String categories[])
{
    Instance *s = c;
    (void)count, (void)categories;
    if (!s) return fmi2Error;
    s->logging = loggingOn;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String token, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean loggingOn)
{
    (void)resources, (void)visible;
    Instance *s = new_instance(name, token, functions ? functions->componentEnvironment : NULL,
                               functions ? (void (*)(void))functions->logger : NULL, loggingOn);
    if (s) s->exchange = type == fmi2ModelExchange;
    return s;
}

void fmi2FreeInstance(fmi2Component c)
{
    free_instance(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    Instance *s = c;
    (void)toleranceDefined, (void)tolerance, (void)stopTimeDefined, (void)stopTime;
    if (!may(s, "fmi2SetupExperiment", s && s->now.mode == INSTANTIATED)) return fmi2Error;
    return status(set_start(s, startTime));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    Instance *s = c;
    if (!may(s, "fmi2EnterInitializationMode", s && s->now.mode == INSTANTIATED)) return fmi2Error;
    s->now.mode = INITIALIZING;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Instance *s = c;
    if (!may(s, "fmi2ExitInitializationMode", s && s->now.mode == INITIALIZING)) return fmi2Error;
    if (!start_fits(s)) return fmi2Error;
    s->now.mode = s->exchange ? EVENT : STEPPING;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    Instance *s = c;
    if (!may(s, "fmi2Terminate", is_running(s))) return fmi2Error;
    s->now.mode = TERMINATED;
    return status(warn_of_fixed_steps(s, 1) ? DOUBTFUL : DONE);
}

fmi2Status fmi2Reset(fmi2Component c)
{
    if (!c) return fmi2Error;
    begin(c);
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real values[])
{
    for (size_t i = 0; i < nvr; i++) {
        if (!c || !value(c, vr[i], &values[i])) return fmi2Error;
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real values[])
{
    for (size_t i = 0; i < nvr; i++) {
        if (!c || !give(c, vr[i], values[i])) return fmi2Error;
    }
    return fmi2OK;
}

/* There are no variables of other types. */
#define NONE(name, type) \
    fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, type values[]) \
    { \
        (void)vr, (void)values; \
        return may(c, #name, nvr == 0) ? fmi2OK : fmi2Error; \
    }
NONE(fmi2GetInteger, fmi2Integer)
NONE(fmi2GetBoolean, fmi2Boolean)
NONE(fmi2GetString, fmi2String)
NONE(fmi2SetInteger, const fmi2Integer)
NONE(fmi2SetBoolean, const fmi2Boolean)
NONE(fmi2SetString, const fmi2String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (!c || !state) return fmi2Error;
    if (!*state) *state = malloc(sizeof(Saved));
    if (!*state) return fmi2Error;
    memcpy(*state, &((Instance *)c)->now, sizeof(Saved));
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    if (!c || !state) return fmi2Error;
    memcpy(&((Instance *)c)->now, state, sizeof(Saved));
    forget(c);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (!c || !state) return fmi2Error;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    if (!c || !state || !size) return fmi2Error;
    *size = sizeof(Saved);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    if (!may(c, "fmi2SerializeFMUstate", state && size >= sizeof(Saved))) return fmi2Error;
    memcpy(bytes, state, sizeof(Saved));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    if (!may(c, "fmi2DeSerializeFMUstate", state && size == sizeof(Saved))) return fmi2Error;
    if (!*state) *state = malloc(sizeof(Saved));
    if (!*state) return fmi2Error;
    memcpy(*state, bytes, sizeof(Saved));
    return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknowns[], size_t many,
                                        const fmi2ValueReference knowns[], size_t few, const fmi2Real seed[],
                                        fmi2Real found[])
{
    return status(c && along(c, unknowns, many, knowns, few, seed, found));
}

/* -- model exchange ------------------------------------------------------------------------------------------------ */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    Instance *s = c;
    if (!may(s, "fmi2EnterEventMode", s && s->exchange && is_running(s))) return fmi2Error;
    s->now.mode = EVENT;
    forget(s);
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    Instance *s = c;
    int defined;
    if (!may(s, "fmi2NewDiscreteStates", s && s->now.mode == EVENT)) return fmi2Error;
    meet_event(s, &defined, &info->nextEventTime);
    info->nextEventTimeDefined = defined;
    info->newDiscreteStatesNeeded = fmi2False;
    info->terminateSimulation = fmi2False;
    info->nominalsOfContinuousStatesChanged = fmi2False;
    info->valuesOfContinuousStatesChanged = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    Instance *s = c;
    if (!may(s, "fmi2EnterContinuousTimeMode", s && s->now.mode == EVENT)) return fmi2Error;
    s->now.mode = CONTINUOUS;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean nothingBefore, fmi2Boolean *enterEventMode,
                                       fmi2Boolean *terminateSimulation)
{
    (void)nothingBefore;
    if (!c) return fmi2Error;
    *enterEventMode = fmi2False;
    *terminateSimulation = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    Instance *s = c;
    return status(may(s, "fmi2SetTime", s && s->exchange && is_running(s)) && set_time(s, time));
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi2SetContinuousStates", s && nx == NX && s->now.mode == CONTINUOUS)) return fmi2Error;
    if (nx) memcpy(s->now.x, x, nx * sizeof *x);
    forget(s);
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi2GetDerivatives", nx == NX) || !know_dx(s)) return fmi2Error;
    if (nx) memcpy(derivatives, s->dx, nx * sizeof *derivatives);
    return fmi2OK;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real found[], size_t count)
{
    return status(may(c, "fmi2GetEventIndicators", count == NI) && indicators(c, found));
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    Instance *s = c;
    if (!may(s, "fmi2GetContinuousStates", nx == NX)) return fmi2Error;
    if (nx) memcpy(x, s->now.x, nx * sizeof *x);
    return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t nx)
{
    if (!may(c, "fmi2GetNominalsOfContinuousStates", nx == NX)) return fmi2Error;
    for (size_t i = 0; i < nx; i++) nominals[i] = 1.0;
    return fmi2OK;
}

/* -- co-simulation ------------------------------------------------------------------------------------------------- */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real values[])
{
    (void)vr, (void)order, (void)values;
    return status(may(c, "fmi2SetRealInputDerivatives", nvr == 0));
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real values[])
{
    (void)vr, (void)order, (void)values;
    return status(may(c, "fmi2GetRealOutputDerivatives", nvr == 0));
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real from, fmi2Real duration, fmi2Boolean nothingBefore)
{
    Instance *s = c;
    (void)nothingBefore;
    if (!may(s, "fmi2DoStep", s && s->now.mode == STEPPING)) return fmi2Error;
    return status(advance(s, from, duration));
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    return status(may(c, "fmi2CancelStep", 0));
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *found)
{
    (void)kind, (void)found;
    return may(c, "fmi2GetStatus", 0) ? fmi2OK : fmi2Discard;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *found)
{
    Instance *s = c;
    if (!s || kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *found = s->now.time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *found)
{
    (void)kind, (void)found;
    return may(c, "fmi2GetIntegerStatus", 0) ? fmi2OK : fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *found)
{
    if (!c || kind != fmi2Terminated) return fmi2Discard;
    *found = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *found)
{
    (void)kind, (void)found;
    return may(c, "fmi2GetStringStatus", 0) ? fmi2OK : fmi2Discard;
}
