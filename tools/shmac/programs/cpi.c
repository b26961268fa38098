/* Cycles of an instruction (SHMAC thesis, 4.4.1, Table 4.3): 2000 in a row that use no memory, that
 * read a neighbour's memory, that write into a neighbour's.
 *
 *     cyclebound shmac run cpi --grid JCP/PRR/RPR
 *
 * The tiles are the thesis'. The clock is the core's own register; -D CLOCK_TILE takes the clock tile's,
 * which is read through the network. */
#include <shmac.h>
#include <stdio.h>

#define TIMES 2000
#ifdef CLOCK_TILE
#define CLOCK SHMAC_REMOTE(0, 1, 0)
#else
#define CLOCK SHMAC_CLOCK
#endif
#define REPEATED(instruction)                                                                     \
    __asm__ volatile(".set push\n.set noreorder\n.rept 2000\n" instruction "\n.endr\n.set pop"    \
                     : "+r"(value) : "r"(there) : "memory")

int main(void)
{
    unsigned tile = SHMAC_TILE, value = 0, begun = 0, cycles;
    volatile unsigned *there = 0;
    const char *what = "fetch";
    switch (tile) {
    case 0x02:
        begun = CLOCK;
        REPEATED("addiu %0, %0, 1");
        break;
    case 0x10:
        what = "read";
        there = (volatile unsigned *)SHMAC_ADDRESS(1, 1, 0);
        begun = CLOCK;
        REPEATED("lw %0, 0(%1)");
        break;
    case 0x21:
        what = "write";
        there = (volatile unsigned *)SHMAC_ADDRESS(2, 0, 0);
        begun = CLOCK;
        REPEATED("sw %0, 0(%1)");
        break;
    default:
        return 0;
    }
    cycles = CLOCK - begun;
    printf("%s: %d instructions, %u cycles\n", what, TIMES, cycles);
    return tile == 0x02 && value != TIMES;
}
