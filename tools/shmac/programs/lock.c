/* Cores that share a counter in another tile's memory, which only one at a time may change: with a
 * lock in the tile with an LL/SC unit.
 *
 *     cyclebound shmac run lock --grid PPP/PLR/PPP
 *
 * The counter is not in the lock's tile. A store goes on its way, and the core goes on; without the
 * fence another core could have the lock before the counter is written. */
#include <shmac.h>
#include <stdio.h>

#ifndef CORES
#define CORES 7
#endif
#define TIMES 10

#define LOCK ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 0))
#define DONE ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 4))
#define COUNTER ((volatile unsigned *)SHMAC_ADDRESS(1, 2, 0))

int main(void)
{
    for (int i = 0; i < TIMES; i++) {
        shmac_lock(LOCK);
        *COUNTER = *COUNTER + 1;
        shmac_fence(COUNTER);
        shmac_unlock(LOCK);
    }
    if (shmac_fetch_add(DONE, 1) == CORES - 1) {
        printf("the last of %d: %u increments\n", CORES, *COUNTER);
        return *COUNTER != CORES * TIMES;
    }
    return 0;
}
