/* How often cores try until each has had a lock once (SHMAC thesis, 4.6): LL issued, and SC failed.
 *
 *     cyclebound shmac run contend --grid PPP/PLP/PPP
 */
#include <shmac.h>
#include <stdio.h>

#define LOCK ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 0))
#define TOTAL ((volatile unsigned *)SHMAC_ADDRESS(1, 1, 4))

int main(void)
{
    unsigned issued = 0, failed = 0, begun = shmac_clock(), taken;
    for (;;) {
        do
            issued++;
        while (shmac_load_linked(LOCK));
        if (shmac_store_conditional(LOCK, 1))
            break;
        failed++;
    }
    taken = shmac_clock() - begun;
    shmac_unlock(LOCK);
    unsigned before = shmac_fetch_add(TOTAL, issued + failed);
    printf("%u LL, %u SC failed, %u cycles; %u by now\n", issued, failed, taken,
           before + issued + failed);
    return issued < failed + 1;
}
