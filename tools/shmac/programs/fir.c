/* A filter of 16 taps in fixed point: its answer to an impulse is its taps, to a step their sums, and
 * to two signals at once the sum of its answers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define TAPS 16
#define LENGTH 64

static const int16_t taps[TAPS] = {-12, -40, -51, 20, 250, 640, 1020, 1250,
                                   1250, 1020, 640, 250, 20, -51, -40, -12};

static void filter(const int16_t *x, int32_t *y)
{
    for (int n = 0; n < LENGTH; n++) {
        int32_t sum = 0;
        for (int k = 0; k < TAPS && k <= n; k++)
            sum += taps[k] * x[n - k];
        y[n] = sum;
    }
}

int main(void)
{
    static int16_t impulse[LENGTH], step[LENGTH], noise[LENGTH], both[LENGTH];
    static int32_t of_impulse[LENGTH], of_step[LENGTH], of_noise[LENGTH], of_both[LENGTH];
    int wrong = 0, sum = 0;
    impulse[0] = 1;
    for (int n = 0; n < LENGTH; n++) {
        step[n] = 1;
        noise[n] = (int16_t)(rand() % 2000 - 1000);
        both[n] = (int16_t)(noise[n] + step[n]);
    }
    filter(impulse, of_impulse);
    filter(step, of_step);
    filter(noise, of_noise);
    filter(both, of_both);
    for (int n = 0; n < LENGTH; n++) {
        sum += n < TAPS ? taps[n] : 0;
        wrong += of_impulse[n] != (n < TAPS ? taps[n] : 0);
        wrong += of_step[n] != sum;
        wrong += of_both[n] != of_noise[n] + of_step[n];
    }
    printf("gain %d, %d wrong\n", sum, wrong);
    return wrong != 0;
}
