/* As much of MATLAB's simstruc.h as an S-function of flexarm uses, to compile and run one without MATLAB. */
#ifndef SIMSTRUC_H
#define SIMSTRUC_H

#include <stddef.h>

typedef double real_T;
typedef int int_T;

typedef struct {
    size_t count;
    double *values;
} mxArray;

#define PORTS 4
#define WIDEST 64

typedef struct {
    int_T params, expected, states, inputs, outputs, widths_in[PORTS], widths_out[PORTS], feedthrough[PORTS];
    const char *error;
    const mxArray *given[2];
    real_T t, work[4 * WIDEST], x[WIDEST], dx[WIDEST], in[PORTS][WIDEST], out[PORTS][WIDEST];
} SimStruct;

#define CONTINUOUS_SAMPLE_TIME (0.0)
#define SS_OPTION_EXCEPTION_FREE_CODE (1)
#define ssSetNumSFcnParams(S, n) ((S)->expected = (n))
#define ssGetNumSFcnParams(S) ((S)->expected)
#define ssGetSFcnParamsCount(S) ((S)->params)
#define ssGetSFcnParam(S, i) ((S)->given[i])
#define ssSetErrorStatus(S, text) ((S)->error = (text))
#define ssSetNumContStates(S, n) ((S)->states = (n))
#define ssSetNumDiscStates(S, n) ((void)(S), (void)(n))
#define ssSetNumInputPorts(S, n) ((S)->inputs = (n))
#define ssSetNumOutputPorts(S, n) ((S)->outputs = (n))
#define ssSetInputPortWidth(S, i, n) ((S)->widths_in[i] = (n))
#define ssSetOutputPortWidth(S, i, n) ((S)->widths_out[i] = (n))
#define ssSetInputPortRequiredContiguous(S, i, yes) ((void)(S), (void)(i), (void)(yes))
#define ssSetInputPortDirectFeedThrough(S, i, yes) ((S)->feedthrough[i] = (yes))
#define ssSetNumSampleTimes(S, n) ((void)(S), (void)(n))
#define ssSetSampleTime(S, i, t) ((void)(S), (void)(i), (void)(t))
#define ssSetOffsetTime(S, i, t) ((void)(S), (void)(i), (void)(t))
#define ssSetOptions(S, options) ((void)(S), (void)(options))
#define SS_DOUBLE (0)
#define ssSetNumDWork(S, n) ((void)(S), (n))
#define ssSetDWorkWidth(S, i, n) ((S)->error = ((n) > 4 * WIDEST) ? "DWork is too wide" : (S)->error)
#define ssSetDWorkDataType(S, i, kind) ((void)(S), (void)(i), (void)(kind))
#define ssGetDWork(S, i) ((void *)(S)->work)
#define ssGetT(S) ((S)->t)
#define ssGetContStates(S) ((S)->x)
#define ssGetdX(S) ((S)->dx)
#define ssGetInputPortSignal(S, i) ((const void *)(S)->in[i])
#define ssGetOutputPortRealSignal(S, i) ((S)->out[i])

static inline size_t mxGetNumberOfElements(const mxArray *array) { return array->count; }
static inline double *mxGetPr(const mxArray *array) { return array->values; }

#endif
