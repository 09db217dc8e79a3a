/* In the place of Simulink for a block without states: reads count, period, readings; prints the outputs. */
#include <stdio.h>

int main(void)
{
    static SimStruct S;
    int count = 0;
    double period = 0.0;
    mdlInitializeSizes(&S);
    if (S.error) {
        printf("%s\n", S.error);
        return 1;
    }
    mdlInitializeSampleTimes(&S);
    mdlInitializeConditions(&S);
    (void)!scanf("%d %lf", &count, &period);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < S.widths_in[0]; i++) {
            (void)!scanf("%lf", &S.in[0][i]);
        }
        S.t = k * period;
        mdlOutputs(&S, 0);
        for (int i = 0; i < S.outputs; i++) {
            for (int j = 0; j < S.widths_out[i]; j++) {
                printf("%.17g ", S.out[i][j]);
            }
        }
        printf("\n");
    }
    mdlTerminate(&S);
    return 0;
}
