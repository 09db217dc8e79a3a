/* In the place of Simulink: reads counts, parameters, inputs; prints sizes, outputs and rates. */
#include <stdio.h>

static double values[2][256];

static int numbers(double *into)
{
    int count = 0;
    if (scanf("%d", &count) != 1) {
        count = 0;
    }
    for (int i = 0; i < count; i++) {
        (void)!scanf("%lf", &into[i]);
    }
    return count;
}

int main(void)
{
    static SimStruct S;
    static mxArray arrays[2];
    (void)!scanf("%d", &S.params);
    for (int i = 0; i < S.params; i++) {
        arrays[i].values = values[i];
        arrays[i].count = (size_t)numbers(values[i]);
        S.given[i] = &arrays[i];
    }
    mdlInitializeSizes(&S);
    if (S.error) {
        printf("%s\n", S.error);
        return 1;
    }
    if (S.params != S.expected) {
        return 2;
    }
    mdlInitializeSampleTimes(&S);
    mdlInitializeConditions(&S);
    for (int i = 0; i < S.inputs; i++) {
        (void)numbers(S.in[i]);
    }
    mdlOutputs(&S, 0);
    if (S.error) {
        printf("%s\n", S.error);
        return 1;
    }
    mdlDerivatives(&S);
    printf("%d %d %d\n", S.states, S.inputs ? S.widths_in[0] : 0, S.feedthrough[0]);
    for (int i = 0; i < S.outputs; i++) {
        for (int k = 0; k < S.widths_out[i]; k++) {
            printf("%.17g ", S.out[i][k]);
        }
        printf("\n");
    }
    for (int i = 0; i < S.states; i++) {
        printf("%.17g ", S.dx[i]);
    }
    printf("\n");
    mdlTerminate(&S);
    return 0;
}
