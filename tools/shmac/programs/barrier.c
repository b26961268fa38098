/* Cores that meet at a barrier after each of their steps, and look at what the others wrote before it.
 *
 *     cyclebound shmac run barrier --grid PPP/PLP/PPP
 */
#include <shmac.h>
#include <stdio.h>

#ifndef CORES
#define CORES 8
#endif
#define STEPS 5

#define BARRIER ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 0))
#define PLACES ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 16)) /* who is where */
#define NEXT ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 8))

int main(void)
{
    int wrong = 0;
    unsigned place = shmac_fetch_add(NEXT, 1);
    for (unsigned step = 1; step <= STEPS; step++) {
        PLACES[place] = 100 * place + step;
        shmac_fence(PLACES);
        shmac_barrier(BARRIER, CORES);
        for (unsigned other = 0; other < CORES; other++)
            wrong += PLACES[other] != 100 * other + step;
        shmac_barrier(BARRIER, CORES);
    }
    printf("place %u: %d steps, %d wrong\n", place, STEPS, wrong);
    return wrong;
}
