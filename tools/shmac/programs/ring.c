/* A number that goes from core to core, through their memories, in a row of at least two.
 *
 *     cyclebound shmac run ring --grid PPPP -D COLUMNS=4
 */
#include <shmac.h>
#include <stdio.h>

#ifndef COLUMNS
#define COLUMNS 4
#endif
#define ROUNDS 3

static volatile unsigned mailbox; /* at the same place of each tile's memory */

int main(void)
{
    unsigned me = shmac_column(), next = (me + 1) % COLUMNS;
    unsigned offset = (unsigned)&mailbox & 0xFFFFFF;
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (me == 0)
            SHMAC_REMOTE(0, next, offset) = COLUMNS * round + 1;
        while (mailbox != COLUMNS * round + (me ? me : COLUMNS))
            ;
        if (me != 0)
            SHMAC_REMOTE(0, next, offset) = COLUMNS * round + me + 1;
    }
    printf("core %u: %u\n", me, mailbox);
    return mailbox != COLUMNS * (ROUNDS - 1) + (me ? me : COLUMNS);
}
