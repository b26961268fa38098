/* Cores that interrupt the one in tile (0, 0), which counts how often each has, and
 * goes on with what it computes.
 *
 *     cyclebound shmac run signal --grid PPPP
 *
 * A line is either raised or not: who raises it again before it was lowered is not noticed, so that
 * each writes into the memory of tile (0, 0), and waits until it has been seen there. */
#include <shmac.h>
#include <stdio.h>

#ifndef COLUMNS
#define COLUMNS 4
#endif
#define TIMES 5

static volatile unsigned asked[COLUMNS], seen[COLUMNS]; /* in tile (0, 0) */
static volatile unsigned product;

void shmac_interrupt(unsigned lines)
{
    SHMAC_RAISED = 0; /* first: what is asked from now on raises it again */
    for (unsigned core = 1; core < COLUMNS; core++)
        if (asked[core] != seen[core])
            seen[core]++;
    product = lines * 2654435761u / 7; /* what the program has in HI and LO is not to be lost */
}

static volatile unsigned *there(volatile unsigned *word)
{
    return (volatile unsigned *)SHMAC_ADDRESS(0, 0, (unsigned)word & 0xFFFFFF);
}

int main(void)
{
    unsigned me = shmac_column(), one = 1, two = 1;
    if (me == 0) {
        shmac_interrupts(SHMAC_LINE_RAISED);
        for (unsigned done = 0; done != TIMES * (COLUMNS - 1);) {
            one = one * 1664525u % 1000003u;
            done = 0;
            for (unsigned core = 1; core < COLUMNS; core++)
                done += seen[core];
            two = two * 1664525u % 1000003u;
        }
        shmac_interrupts(0);
        printf("interrupted by %d cores, %d times each\n", COLUMNS - 1, TIMES);
        return one != two;
    }
    for (unsigned time = 1; time <= TIMES; time++) {
        *there(&asked[me]) = time;
        shmac_fence(there(&asked[me]));
        shmac_raise(0, 0);
        while (*there(&seen[me]) != time)
            ;
    }
    return 0;
}
