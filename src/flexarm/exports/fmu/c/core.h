/* Common parts of FMUs of both versions: variables by value reference, lazy evaluation, integration, saved states.
   model.h is generated for each model and is included first: sizes, start values, the functions of the model.
   All variable data are in an instance, so that any number of instances may exist at once. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM(n) ((n) > 0 ? (n) : 1)
#define MOST 9007199254740992.0 /* most samples in one call: the largest integer of a double */

/* Largest number of evaluations of the rates in one communication step: seconds to a minute of computing. */
#define MOST_EVALUATIONS 1e7

/* Longest step with error control [s], unless `step` is longer. The stages of a step are at most half of it apart, so
   that it cannot skip a stop or a narrow backlash between two stages of a long step. */
#define LONGEST_STEP 0.01

/* Estimated error of one fixed step above which there is a warning, as a share of the state's largest value in the run.
   A mode that turns by 0.29 rad per step has this error, and loses 1 % of its amplitude in 2500 steps. */
#define FIXED_ERROR 1e-4

/* Number of successive fixed steps with a large error before a warning. At a start from rest an error is large relative
   to values that are still close to zero. */
#define STEPS_IN_DOUBT 10

/* Smallest value to which an error is relative, since many states are zero at the start [SI units]. */
#define SMALL 1e-3

/* Value references, in the order of the variables in modelDescription.xml. */
enum {
    AT_TIME = 0,
    AT_STEP = 1,
    AT_TOLERANCE = 2,
    AT_X = 3,
    AT_DX = AT_X + NX,
    AT_U = AT_DX + NX,
    AT_P = AT_U + NU,
    AT_Y = AT_P + NP,
    AT_I = AT_Y + NY,
    END = AT_I + NI
};

typedef enum { INSTANTIATED, INITIALIZING, EVENT, CONTINUOUS, STEPPING, TERMINATED } Mode;

/* Results of a communication step. Other functions return 0 or 1. */
enum { FAILED = 0, DONE = 1, DOUBTFUL = 2 };

/* Contents of a saved state. */
typedef struct {
    double time, step, tolerance;
    double tried; /* length of the next adaptive step, or 0 before the first */
    double start; /* time of the first sample */
    double samples; /* number of samples taken */
    double x[ROOM(NX)], u[ROOM(NU)], p[ROOM(NP)], z[ROOM(NZ)], held[ROOM(NY)];
    double peak[ROOM(NX)]; /* largest absolute value of each state up to now */
    double worst[ROOM(NX)]; /* largest estimated error of each state in a fixed step */
    double doubted; /* time of the first of the successive fixed steps with a large error */
    int in_doubt; /* number of these steps, at most STEPS_IN_DOUBT */
    int warned; /* 1 after the warning about fixed steps */
    int mode;
} Saved;

typedef struct {
    Saved now;
    double dx[ROOM(NX)], y[ROOM(NY)];
    int known_dx, known_y;
    int exchange; /* 1 if the importing program integrates */
    int logging;
    char *name;
    void *environment;
    void (*log)(void);
} Instance;

/* fmi2.c and fmi3.c define both. The first logs a rejected call, if debug logging is on. The second always logs a
   computation that has failed, or a warning about one. */
static void complain(const Instance *s, const char *format, ...);
static void report(const Instance *s, int failed, const char *format, ...);

static void forget(Instance *s)
{
    s->known_dx = s->known_y = 0;
}

static void begin(Instance *s)
{
    static const double x[ROOM(NX)] = START_X, u[ROOM(NU)] = START_U;
    static const double p[ROOM(NP)] = START_P, z[ROOM(NZ)] = START_Z;
    memset(&s->now, 0, sizeof s->now);
    s->now.step = START_STEP;
    s->now.tolerance = START_TOLERANCE;
    memcpy(s->now.x, x, sizeof x);
    memcpy(s->now.u, u, sizeof u);
    memcpy(s->now.p, p, sizeof p);
    memcpy(s->now.z, z, sizeof z);
    s->now.mode = INSTANTIATED;
    forget(s);
}

static int all_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) return 0;
    }
    return 1;
}

/* -- a sampled law: its outputs change only at samples, where they depend on its inputs ---------------------------- */

#ifdef PERIOD
static double next_sample(const Instance *s)
{
    return s->now.start + s->now.samples * PERIOD;
}

/* Tolerance by which a time before a sample counts as the sample, since importing programs add up rounded steps. */
static double early(double time)
{
    return 1e-4 * PERIOD + 4.0 * DBL_EPSILON * fabs(time);
}

static int is_due(const Instance *s)
{
    return s->now.time >= next_sample(s) - early(s->now.time);
}

/* Evaluates the law at the sample that is due: its outputs, and its next memory. */
static void law(const Instance *s, double *y, double *z)
{
    const double t[1] = {next_sample(s)};
    MODEL_LAW(t, s->now.u, s->now.z, s->now.p, y, z);
}

static void take_sample(Instance *s)
{
    double z[ROOM(NZ)];
    law(s, s->now.held, z);
    memcpy(s->now.z, z, sizeof z);
    s->now.samples += 1.0;
    forget(s);
}
#endif

/* -- closed loops: the correction of a state towards the closures of an arm ---------------------------------------- */

/* Moves a state onto the closures, from which an integrator drifts by its errors. */
static void put_on_closures(double *x, const double *p)
{
    (void)x, (void)p;
#ifdef MODEL_CORRECTION
    double found[NX + 1];
    for (int pass = 0; pass < CORRECTIONS; pass++) {
        MODEL_CORRECTION(x, p, found);
        memcpy(x, found, NX * sizeof x[0]);
        if (found[NX] < CLOSED) return;
    }
#endif
}

/* Copies the present state, on the closures. */
static void closed_state(const Instance *s, double *x)
{
    memcpy(x, s->now.x, sizeof s->now.x);
    put_on_closures(x, s->now.p);
}

/* Moves the start onto the closures; returns 0 if it does not fit them. */
static int start_fits(Instance *s)
{
#ifdef MODEL_CORRECTION
    double found[NX + 1];
    MODEL_CORRECTION(s->now.x, s->now.p, found);
    if (!(found[NX] < FITS)) {
        report(s, 1, "the start values of the states do not satisfy the closures: a gap or its rate is %.3g. Set the states "
               "that fa.assemble returns", sqrt(found[NX]));
        return 0;
    }
    put_on_closures(s->now.x, s->now.p);
    forget(s);
#else
    (void)s;
#endif
    return 1;
}

/* -- values -------------------------------------------------------------------------------------------------------- */

static int rates(const double *x, const double *u, const double *p, double *dx)
{
    (void)x, (void)u, (void)p, (void)dx;
    MODEL_RATES(x, u, p, dx);
    return all_finite(dx, NX);
}

static int know_dx(Instance *s)
{
    if (!s->known_dx) {
        double x[ROOM(NX)];
        closed_state(s, x);
        if (!rates(x, s->now.u, s->now.p, s->dx)) {
            report(s, 1, "the derivatives are not finite at t = %g s", s->now.time);
            return 0;
        }
        s->known_dx = 1;
    }
    return 1;
}

static int know_y(Instance *s)
{
    if (!s->known_y) {
#ifdef PERIOD
        double z[ROOM(NZ)];
        if (s->now.mode != CONTINUOUS && is_due(s)) law(s, s->y, z); /* the integrating program gets it in the event */
        else memcpy(s->y, s->now.held, sizeof s->y);
#else
        double x[ROOM(NX)];
        closed_state(s, x);
        MODEL_OUTPUTS(x, s->now.u, s->now.p, s->y);
#endif
        if (!all_finite(s->y, NY)) {
            report(s, 1, "the outputs are not finite at t = %g s", s->now.time);
            return 0;
        }
        s->known_y = 1;
    }
    return 1;
}

/* Evaluates the indicators, which change sign where a contact begins, or where its normal force ends. */
static int indicators(const Instance *s, double *found)
{
#if NI > 0
    MODEL_INDICATORS(s->now.x, s->now.p, found);
    if (!all_finite(found, NI)) {
        report(s, 1, "the event indicators are not finite at t = %g s", s->now.time);
        return 0;
    }
#else
    (void)s, (void)found;
#endif
    return 1;
}

static int value(Instance *s, unsigned reference, double *found)
{
    const int at = reference < (unsigned)END ? (int)reference : END;
    if (at == AT_TIME) *found = s->now.time;
    else if (at == AT_STEP) *found = s->now.step;
    else if (at == AT_TOLERANCE) *found = s->now.tolerance;
    else if (at < AT_DX) *found = s->now.x[at - AT_X];
    else if (at < AT_U) {
        if (!know_dx(s)) return 0;
        *found = s->dx[at - AT_DX];
    } else if (at < AT_P) *found = s->now.u[at - AT_U];
    else if (at < AT_Y) *found = s->now.p[at - AT_P];
    else if (at < AT_I) {
        if (!know_y(s)) return 0;
        *found = s->y[at - AT_Y];
    } else if (at < END) {
        double seen[ROOM(NI)];
        if (!indicators(s, seen)) return 0;
        *found = seen[at - AT_I];
    } else {
        complain(s, "no variable has the value reference %u", reference);
        return 0;
    }
    return 1;
}

static int give(Instance *s, unsigned reference, double given)
{
    const int at = reference < (unsigned)END ? (int)reference : END, early = s->now.mode <= INITIALIZING;
    if (!isfinite(given) || s->now.mode == TERMINATED) {
        complain(s, "the variable with value reference %u cannot be %g", reference, given);
        return 0;
    }
    if (at == AT_STEP && early && given > 0.0) s->now.step = given;
    else if (at == AT_TOLERANCE && early && given >= 0.0) s->now.tolerance = given;
    else if (at >= AT_X && at < AT_DX && early) s->now.x[at - AT_X] = given;
    else if (at >= AT_U && at < AT_P) s->now.u[at - AT_U] = given;
    else if (at >= AT_P && at < AT_Y) s->now.p[at - AT_P] = given;
    else {
        complain(s, "the variable with value reference %u cannot be set to %g now", reference, given);
        return 0;
    }
    forget(s);
    return 1;
}

/* Computes derivatives of unknowns (rates and outputs) along a direction in the knowns (states, inputs, parameters). */
static int along(Instance *s, const unsigned *unknowns, size_t many, const unsigned *knowns, size_t few,
                 const double *seed, double *found)
{
#ifndef MODEL_SLOPES
    (void)unknowns, (void)many, (void)knowns, (void)few, (void)seed, (void)found;
    complain(s, "a sampled law and an arm with closures have no directional derivatives");
    return 0;
#else
    double vx[ROOM(NX)] = {0}, vu[ROOM(NU)] = {0}, vp[ROOM(NP)] = {0}, slope[NX + NY];
    for (size_t i = 0; i < few; i++) {
        const int at = knowns[i] < (unsigned)END ? (int)knowns[i] : END;
        if (at >= AT_X && at < AT_DX) vx[at - AT_X] += seed[i];
        else if (at >= AT_U && at < AT_P) vu[at - AT_U] += seed[i];
        else if (at >= AT_P && at < AT_Y) vp[at - AT_P] += seed[i];
        else {
            complain(s, "no derivative to the variable with value reference %u", knowns[i]);
            return 0;
        }
    }
    MODEL_SLOPES(s->now.x, s->now.u, vx, vu, vp, s->now.p, slope);
    for (size_t i = 0; i < many; i++) {
        const int at = unknowns[i] < (unsigned)END ? (int)unknowns[i] : END;
        if (at >= AT_DX && at < AT_U) found[i] = slope[at - AT_DX];
        else if (at >= AT_Y && at < AT_I) found[i] = slope[NX + at - AT_Y];
        else {
            complain(s, "no derivative of the variable with value reference %u", unknowns[i]);
            return 0;
        }
    }
    return all_finite(found, (int)many);
#endif
}

#ifdef MODEL_ADJOINTS
/* Computes derivatives of a weighted sum of unknowns (rates and outputs) with respect to knowns (states, inputs,
   parameters). */
static int adjoint(Instance *s, const unsigned *unknowns, size_t many, const unsigned *knowns, size_t few,
                   const double *seed, double *found)
{
    double weights[NX + NY] = {0}, slope[NX + NU + NP];
    for (size_t i = 0; i < many; i++) {
        const int at = unknowns[i] < (unsigned)END ? (int)unknowns[i] : END;
        if (at >= AT_DX && at < AT_U) weights[at - AT_DX] += seed[i];
        else if (at >= AT_Y && at < AT_I) weights[NX + at - AT_Y] += seed[i];
        else {
            complain(s, "no derivative of the variable with value reference %u", unknowns[i]);
            return 0;
        }
    }
    MODEL_ADJOINTS(s->now.x, s->now.u, weights, s->now.p, slope);
    for (size_t i = 0; i < few; i++) {
        const int at = knowns[i] < (unsigned)END ? (int)knowns[i] : END;
        if (at >= AT_X && at < AT_DX) found[i] = slope[at - AT_X];
        else if (at >= AT_U && at < AT_Y) found[i] = slope[NX + at - AT_U];
        else {
            complain(s, "no derivative to the variable with value reference %u", knowns[i]);
            return 0;
        }
    }
    return all_finite(found, (int)few);
}
#endif

/* -- integration with constant inputs ------------------------------------------------------------------------------ */

static void update_peaks(Instance *s, const double *x)
{
    for (int j = 0; j < NX; j++) s->now.peak[j] = fmax(s->now.peak[j], fabs(x[j]));
}

/* Returns the index of a state whose error in fixed steps is above the bound, or -1. */
static int doubtful_state(const Instance *s)
{
    for (int j = 0; j < NX; j++) {
        if (s->now.worst[j] > FIXED_ERROR * (s->now.peak[j] + SMALL)) return j;
    }
    return -1;
}

/* Warns once in a run if the errors of fixed steps have been large for a number of steps. */
static int warn_of_fixed_steps(Instance *s, int steps)
{
    const int j = s->now.in_doubt >= steps && !s->now.warned ? doubtful_state(s) : -1;
    if (j < 0) return 0;
    s->now.warned = 1;
    report(s, 0, "fixed steps of %g s are too long at t = %g s: the estimated error of one step is %.1e for the state with "
           "value reference %d, whose largest value so far is %.1e. Set `tolerance` to 1e-8 (steps with error control), "
           "or a smaller `step`", s->now.step, s->now.doubted, s->now.worst[j], AT_X + j, s->now.peak[j]);
    return 1;
}

static void count_doubts(Instance *s, double time)
{
    if (doubtful_state(s) < 0) {
        s->now.in_doubt = 0;
        return;
    }
    if (s->now.in_doubt == 0) s->now.doubted = time;
    if (s->now.in_doubt < STEPS_IN_DOUBT) s->now.in_doubt += 1;
}

/* Makes an explicit step by a tableau from the rates k[0] to the state and the rates k[stages] at its end. The rows of
   the tableau are those of the stages after the first and of the end. */
static int explicit_step(const Instance *s, int stages, const double *tableau, double h, double k[][ROOM(NX)], double *end)
{
    for (int i = 0; i < stages; i++) {
        for (int j = 0; j < NX; j++) {
            double sum = 0.0;
            for (int l = 0; l <= i; l++) sum += tableau[i * stages + l] * k[l][j];
            end[j] = s->now.x[j] + h * sum;
        }
        put_on_closures(end, s->now.p);
        if (!rates(end, s->now.u, s->now.p, k[i + 1])) return 0;
    }
    return 1;
}

/* Returns one number of the estimated error of a step. */
static double estimated(int count, const double *weights, double h, double k[][ROOM(NX)], int j)
{
    double sum = 0.0;
    for (int l = 0; l < count; l++) sum += weights[l] * k[l][j];
    return h * sum;
}

/* Makes fixed steps. The rates at the end of a step begin the next step. */
static int fixed_steps(Instance *s, double duration)
{
    const double count = fmax(1.0, ceil(duration / s->now.step * (1.0 - 1e-9))), h = duration / count;
    if (!(FIXED_STAGES * count <= MOST_EVALUATIONS)) {
        report(s, 1, "a step of %g s from %g s needs %g fixed steps of %g s, more than %g evaluations of the rates. Use "
               "shorter communication steps, or a longer `step`", duration, s->now.time, count, s->now.step, MOST_EVALUATIONS);
        return FAILED;
    }
    static const double tableau[] = FIXED_TABLEAU, error[] = FIXED_WEIGHTS;
    double k[FIXED_STAGES + 1][ROOM(NX)], *last = k[FIXED_STAGES], end[ROOM(NX)];
    memcpy(last, s->dx, sizeof k[0]);
    for (double i = 0.0; i < count; i += 1.0) {
        memcpy(k[0], last, sizeof k[0]);
        update_peaks(s, s->now.x);
        if (!explicit_step(s, FIXED_STAGES, tableau, h, k, end)) {
            report(s, 1, "a step of %g s from %g s fails: the rates are not finite after t = %g s. The motion leaves the "
                   "model's range, or the fixed steps of %g s are too long: set `tolerance` to 1e-8, or a smaller `step`",
                   duration, s->now.time, s->now.time + i * h, s->now.step);
            return FAILED;
        }
        memcpy(s->now.x, end, sizeof end);
        update_peaks(s, s->now.x);
        for (int j = 0; j < NX; j++)
            s->now.worst[j] = fmax(s->now.worst[j], fabs(estimated(FIXED_STAGES + 1, error, h, k, j)));
        count_doubts(s, s->now.time + (i + 1.0) * h);
    }
    memcpy(s->dx, last, sizeof k[0]);
    return DONE;
}

/* Makes a step of a method that estimates its error, from the rates k[0]. Returns the estimated error over the
   tolerance. The tolerance is relative to the largest value that a state has had, so that a state may pass through
   zero. */
static double checked_step(const Instance *s, double h, double k[][ROOM(NX)], double *end)
{
    static const double tableau[] = ADAPTIVE_TABLEAU, error[] = ADAPTIVE_WEIGHTS;
    const double tolerance = fmax(s->now.tolerance, 1e-13);
    double squares = 0.0;
    if (!explicit_step(s, ADAPTIVE_STAGES, tableau, h, k, end)) return HUGE_VAL;
    for (int j = 0; j < NX; j++) {
        const double scale = tolerance * (fmax(s->now.peak[j], fabs(end[j])) + SMALL);
        const double part = estimated(ADAPTIVE_STAGES + 1, error, h, k, j) / scale;
        squares += part * part;
    }
    return sqrt(squares / ROOM(NX));
}

/* Makes steps whose length follows from their errors. */
static int adaptive_steps(Instance *s, double duration)
{
    const double longest = fmax(LONGEST_STEP, s->now.step), least = ADAPTIVE_STAGES * ceil(duration / longest);
    double k[ADAPTIVE_STAGES + 1][ROOM(NX)], end[ROOM(NX)], done = 0.0, evaluations = least > MOST_EVALUATIONS ? least : 0.0;
    double wanted = s->now.tried > 0.0 ? s->now.tried : s->now.step, growth = 5.0, error = 0.0;
    memcpy(k[0], s->dx, sizeof k[0]);
    update_peaks(s, s->now.x);
    while (done < duration) {
        const int last = wanted >= (duration - done) * (1.0 - 1e-9);
        const double h = last ? duration - done : wanted;
        evaluations += ADAPTIVE_STAGES;
        if (evaluations > MOST_EVALUATIONS || !(done + h > done)) {
            const int finite = error < HUGE_VAL;
            report(s, 1, "a step of %g s from %g s fails: %s at t = %g s, where its own steps are %g s long. %s", duration,
                   s->now.time, finite ? "it needs too many evaluations of the rates" : "the rates are not finite",
                   s->now.time + done, h, finite ? "The motion is stiff or jumps there. Use shorter communication steps, "
                   "a larger `tolerance`, or model exchange with an implicit solver" : "The motion leaves the model's range");
            return FAILED;
        }
        error = checked_step(s, h, k, end);
        const double factor = fmin(growth, fmax(0.2, 0.9 * pow(fmax(error, 1e-10), -1.0 / (ADAPTIVE_ORDER + 1))));
        if (error <= 1.0) {
            done = last ? duration : done + h;
            memcpy(s->now.x, end, sizeof end);
            memcpy(k[0], k[ADAPTIVE_STAGES], sizeof k[0]);
            update_peaks(s, s->now.x);
            if (!last || factor * h > wanted || factor < 1.0) wanted = fmin(factor * h, longest);
            growth = 5.0;
        } else {
            wanted = factor * h;
            growth = 1.0; /* the step after one that was too long is not increased */
        }
    }
    memcpy(s->dx, k[0], sizeof k[0]);
    s->now.tried = wanted;
    return DONE;
}

/* Advances to a later time. If this fails, the instance stays at its old time. The end is computed from the given
   times, since the sum of many steps would deviate from it. */
static int advance(Instance *s, double from, double duration)
{
    const double until = from + duration, apart = 1e-6 * fmax(duration, 1e-6) + 4.0 * DBL_EPSILON * fabs(from);
    if (!isfinite(until) || fabs(from - s->now.time) > apart || !(duration > 0.0)) {
        complain(s, "a step of %g s from %g s is wanted, at %g s", duration, from, s->now.time);
        return 0;
    }
#ifdef PERIOD
    if (!(duration / PERIOD < MOST)) {
        complain(s, "a step of %g s has too many samples", duration);
        return 0;
    }
    while (next_sample(s) < until - early(until)) take_sample(s);
#endif
    int outcome = DONE;
    if (NX > 0) {
        if (!know_dx(s)) return FAILED;
        const Saved before = s->now;
        outcome = s->now.tolerance > 0.0 ? adaptive_steps(s, duration) : fixed_steps(s, duration);
        if (outcome == FAILED) s->now = before;
        else if (warn_of_fixed_steps(s, STEPS_IN_DOUBT)) outcome = DOUBTFUL;
    }
    if (outcome != FAILED) s->now.time = until;
    s->known_y = 0;
    return outcome;
}

/* Sets the time of the first sample, which is the present time of the importing program. */
static int set_start(Instance *s, double time)
{
    if (!isfinite(time)) {
        complain(s, "the time cannot be %g s", time);
        return 0;
    }
    s->now.time = s->now.start = time;
    return 1;
}

static int set_time(Instance *s, double time)
{
    if (!isfinite(time)) {
        complain(s, "the time cannot be %g s", time);
        return 0;
    }
    s->now.time = time;
    forget(s);
    return 1;
}

/* -- instances ----------------------------------------------------------------------------------------------------- */

static Instance *new_instance(const char *name, const char *token, void *environment, void (*log)(void), int logging)
{
    const size_t length = name ? strlen(name) : 0;
    Instance *s = calloc(1, sizeof *s);
    char *own = malloc(length + 1);
    if (!s || !own) {
        free(s);
        free(own);
        return NULL;
    }
    if (length) memcpy(own, name, length);
    own[length] = '\0';
    s->name = own;
    s->environment = environment;
    s->log = log;
    s->logging = logging;
    begin(s);
    if (!token || strcmp(token, TOKEN) != 0) {
        complain(s, "modelDescription.xml belongs to another FMU: it must have the token %s", TOKEN);
        free(own);
        free(s);
        return NULL;
    }
    return s;
}

static void free_instance(Instance *s)
{
    if (s) free(s->name);
    free(s);
}

/* Handles an event: takes a sample if one is due. */
static void meet_event(Instance *s, int *next_defined, double *next)
{
#ifdef PERIOD
    while (is_due(s)) take_sample(s);
    *next_defined = 1;
    *next = next_sample(s);
#else
    (void)s;
    *next_defined = 0;
    *next = 0.0;
#endif
}
