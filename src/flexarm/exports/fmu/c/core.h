/* What an FMU of either version is made of: variables by value reference, lazy evaluation, integration, saved states.
   model.h, which is written for each model, comes first: sizes, start values, the functions of the model.
   All that changes stands in an instance, so that any number of them may live at once. */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM(n) ((n) > 0 ? (n) : 1)
#define MOST 9007199254740992.0 /* of steps or samples in one call: a double counts no further */

/* Value references: they count the variables as modelDescription.xml lists them. */
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

/* All that a saved state holds. */
typedef struct {
    double time, step, tolerance;
    double tried; /* length of the next adaptive step, 0 where none was taken yet */
    double start; /* time at which samples begin */
    double samples; /* how many have been taken */
    double x[ROOM(NX)], u[ROOM(NU)], p[ROOM(NP)], z[ROOM(NZ)], held[ROOM(NY)];
    int mode;
} Saved;

typedef struct {
    Saved now;
    double dx[ROOM(NX)], y[ROOM(NY)];
    int known_dx, known_y;
    int exchange; /* whether somebody else integrates */
    int logging;
    char *name;
    void *environment;
    void (*log)(void);
} Instance;

static void complain(const Instance *s, const char *format, ...); /* said by fmi2.c and fmi3.c in their own ways */

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

/* -- a sampled law: its outputs change at samples alone, and follow its inputs there ------------------------------- */

#ifdef PERIOD
static double next_sample(const Instance *s)
{
    return s->now.start + s->now.samples * PERIOD;
}

/* How much before a sample a time counts as that sample: masters add up their steps, and late times are rounded. */
static double early(double time)
{
    return 1e-4 * PERIOD + 4.0 * DBL_EPSILON * fabs(time);
}

static int is_due(const Instance *s)
{
    return s->now.time >= next_sample(s) - early(s->now.time);
}

/* The law at the sample that is due: what it gives, and the memory that follows. */
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
        if (!rates(s->now.x, s->now.u, s->now.p, s->dx)) {
            complain(s, "the derivatives are not finite at t = %g s", s->now.time);
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
        if (s->now.mode != CONTINUOUS && is_due(s)) law(s, s->y, z); /* whoever integrates sees it in the event */
        else memcpy(s->y, s->now.held, sizeof s->y);
#else
        MODEL_OUTPUTS(s->now.x, s->now.u, s->now.p, s->y);
#endif
        if (!all_finite(s->y, NY)) {
            complain(s, "the outputs are not finite at t = %g s", s->now.time);
            return 0;
        }
        s->known_y = 1;
    }
    return 1;
}

/* What changes its sign where something makes contact, or a force that presses there ends. */
static int indicators(const Instance *s, double *found)
{
#if NI > 0
    MODEL_INDICATORS(s->now.x, s->now.p, found);
    if (!all_finite(found, NI)) {
        complain(s, "the event indicators are not finite at t = %g s", s->now.time);
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

/* Derivatives of unknowns (rates and outputs) along a direction in the knowns (states, inputs, parameters). */
static int along(Instance *s, const unsigned *unknowns, size_t many, const unsigned *knowns, size_t few,
                 const double *seed, double *found)
{
#ifdef PERIOD
    (void)unknowns, (void)many, (void)knowns, (void)few, (void)seed, (void)found;
    complain(s, "a sampled law has no directional derivatives");
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
/* Derivatives of a weighted sum of unknowns (rates and outputs) to knowns (states, inputs, parameters). */
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

/* -- integration, with inputs that stand still --------------------------------------------------------------------- */

/* The classical Runge-Kutta method. */
static int fixed_steps(Instance *s, double duration)
{
    const double count = fmax(1.0, ceil(duration / s->now.step * (1.0 - 1e-9))), h = duration / count;
    if (!(count < MOST)) return 0;
    double k[4][ROOM(NX)], trial[ROOM(NX)], *x = s->now.x;
    const double *u = s->now.u, *p = s->now.p;
    for (double i = 0.0; i < count; i += 1.0) {
        if (!rates(x, u, p, k[0])) return 0;
        for (int j = 0; j < NX; j++) trial[j] = x[j] + 0.5 * h * k[0][j];
        if (!rates(trial, u, p, k[1])) return 0;
        for (int j = 0; j < NX; j++) trial[j] = x[j] + 0.5 * h * k[1][j];
        if (!rates(trial, u, p, k[2])) return 0;
        for (int j = 0; j < NX; j++) trial[j] = x[j] + h * k[2][j];
        if (!rates(trial, u, p, k[3])) return 0;
        for (int j = 0; j < NX; j++) x[j] += h * (k[0][j] + 2.0 * (k[1][j] + k[2][j]) + k[3][j]) / 6.0;
    }
    return 1;
}

/* The pair of orders 5 and 4 of Dormand and Prince (1980), with the error of each step within the tolerance. */
static int adaptive_steps(Instance *s, double duration)
{
    static const double a[6][6] = {
        {1.0 / 5.0},
        {3.0 / 40.0, 9.0 / 40.0},
        {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
        {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
        {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
        {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0},
    };
    static const double e[7] = {71.0 / 57600.0,      0.0,          -71.0 / 16695.0, 71.0 / 1920.0,
                                -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0};
    double k[7][ROOM(NX)], trial[ROOM(NX)], *x = s->now.x, done = 0.0;
    const double *u = s->now.u, *p = s->now.p, rtol = fmax(s->now.tolerance, 1e-13), atol = 1e-3 * rtol;
    double wanted = s->now.tried > 0.0 ? s->now.tried : s->now.step;
    if (!rates(x, u, p, k[0])) return 0;
    while (done < duration) {
        const int last = wanted >= (duration - done) * (1.0 - 1e-9);
        const double h = last ? duration - done : wanted;
        int fine = 1;
        for (int i = 0; i < 6 && fine; i++) {
            for (int j = 0; j < NX; j++) {
                double sum = 0.0;
                for (int l = 0; l <= i; l++) sum += a[i][l] * k[l][j];
                trial[j] = x[j] + h * sum;
            }
            fine = rates(trial, u, p, k[i + 1]);
        }
        double error = fine ? 0.0 : HUGE_VAL;
        for (int j = 0; j < NX && fine; j++) {
            double sum = 0.0;
            for (int l = 0; l < 7; l++) sum += e[l] * k[l][j];
            const double part = h * sum / (atol + rtol * fmax(fabs(x[j]), fabs(trial[j])));
            error += part * part / ROOM(NX);
        }
        error = sqrt(error);
        const double factor = fmin(5.0, fmax(0.2, 0.9 * pow(fmax(error, 1e-10), -0.2)));
        if (error <= 1.0) {
            done = last ? duration : done + h;
            memcpy(x, trial, sizeof trial);
            memcpy(k[0], k[6], sizeof k[0]);
            if (!last || factor * h > wanted || factor < 1.0) wanted = factor * h;
        } else {
            wanted = factor * h;
            if (wanted < 1e-12 * (1.0 + fabs(s->now.time))) return 0;
        }
    }
    s->now.tried = wanted;
    return 1;
}

/* To a later time; where that fails the instance stays where it was. The time that is given counts, as a sum of many
   steps of our own would drift away from it. */
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
    if (NX > 0) {
        const Saved before = s->now;
        if (!(s->now.tolerance > 0.0 ? adaptive_steps(s, duration) : fixed_steps(s, duration))) {
            s->now = before;
            complain(s, "no step of %g s from %g s by steps of %g s: rates that are not finite (a smaller `step` may help), "
                     "or too many steps", duration, from, s->now.step);
            return 0;
        }
    }
    s->now.time = until;
    forget(s);
    return 1;
}

/* When samples begin, and where whoever integrates is. */
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

/* -- life ---------------------------------------------------------------------------------------------------------- */

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

/* An event: a sample is taken where one is due. */
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
