/* SHMAC: what a program can ask of its tile, and of others. docs/shmac.md, "Programs". */
#ifndef SHMAC_H
#define SHMAC_H

/* The address of a byte in another tile's memory: SHMAC_ADDRESS(1, 2, 0x100). */
#define SHMAC_ADDRESS(row, column, offset) \
    ((unsigned)(row) << 28 | (unsigned)(column) << 24 | (unsigned)(offset))
#define SHMAC_WORD(address) (*(volatile unsigned *)(address))
#define SHMAC_REMOTE(row, column, offset) SHMAC_WORD(SHMAC_ADDRESS(row, column, offset))

/* System registers: golden/shmac/address_map.py. */
#define SHMAC_CLOCK SHMAC_WORD(0xFFFFFDFC)   /* read: cycles since reset */
#define SHMAC_TILE SHMAC_WORD(0xFFFFFE00)    /* read: 16 row + column */
#define SHMAC_EXIT SHMAC_WORD(0xFFFFFE04)    /* write: the end, with this status */
#define SHMAC_CONSOLE SHMAC_WORD(0xFFFFFE08) /* write: a character */
#define SHMAC_FAILED SHMAC_WORD(0xFFFFFE0C)  /* read: stores that failed; write: clear */
#define SHMAC_RAISE SHMAC_WORD(0xFFFFFE10)   /* write: interrupt the core of tile 16 row + column */
#define SHMAC_RAISED SHMAC_WORD(0xFFFFFE14)  /* read: whether one has; write: clear */

static inline unsigned shmac_clock(void) { return SHMAC_CLOCK; }
static inline unsigned shmac_row(void) { return SHMAC_TILE >> 4; }
static inline unsigned shmac_column(void) { return SHMAC_TILE & 15; }

/* Stores are posted: the core goes on before they have arrived. Reading from the tile that they
 * went to waits for them. */
static inline void shmac_fence(const volatile void *stored)
{
    (void)*(const volatile unsigned *)((unsigned)stored & ~3u);
    __asm__ volatile("" : : : "memory");
}

/* Load linked and store conditional; words of tiles with an LL/SC unit only. */
static inline unsigned shmac_load_linked(volatile unsigned *word)
{
    unsigned value;
    __asm__ volatile(".set push\n.set mips2\nll %0, 0(%1)\n.set pop"
                     : "=r"(value) : "r"(word) : "memory");
    return value;
}

static inline int shmac_store_conditional(volatile unsigned *word, unsigned value)
{
    __asm__ volatile(".set push\n.set mips2\nsc %0, 0(%1)\n.set pop"
                     : "+r"(value) : "r"(word) : "memory");
    return (int)value;
}

/* Adds to a word; returns what was in it before. */
static inline unsigned shmac_fetch_add(volatile unsigned *word, unsigned amount)
{
    unsigned before;
    do
        before = shmac_load_linked(word);
    while (!shmac_store_conditional(word, before + amount));
    return before;
}

/* A lock is a word, 0 while it is free. */
static inline void shmac_lock(volatile unsigned *lock)
{
    do
        while (shmac_load_linked(lock))
            ;
    while (!shmac_store_conditional(lock, 1));
}

/* Whatever was stored into other tiles meanwhile needs a shmac_fence before. */
static inline void shmac_unlock(volatile unsigned *lock)
{
    __asm__ volatile("" : : : "memory");
    *lock = 0;
}

/* Waits until `count` cores are here. A barrier is two words, both 0 at first, and can be used
 * again. */
static inline void shmac_barrier(volatile unsigned *barrier, unsigned count)
{
    unsigned turn = barrier[1];
    if (shmac_fetch_add(barrier, 1) == count - 1) {
        barrier[0] = 0;
        shmac_fence(barrier);
        barrier[1] = turn + 1;
    } else {
        while (barrier[1] == turn)
            ;
    }
    __asm__ volatile("" : : : "memory");
}

/* Interrupt lines. */
#define SHMAC_LINE_RAISED 1u /* another core has written this tile into SHMAC_RAISE */
#define SHMAC_LINE_FAILED 2u /* SHMAC_FAILED is not 0 */

/* From now on only these lines interrupt the program; 0: none does. */
static inline void shmac_interrupts(unsigned lines)
{
    __asm__ volatile(".set push\n.set noreorder\nmtc0 %0, $12\n.set pop"
                     : : "r"(lines << 10 | (lines != 0)) : "memory");
}

static inline void shmac_raise(unsigned row, unsigned column)
{
    SHMAC_RAISE = row << 4 | column;
}

/* Called for an interrupt, with the lines that are raised and enabled; it must see to it that they
 * are lowered, and the program then goes on. The library's ends the program with status 128. */
void shmac_interrupt(unsigned lines);

/* Called for any other exception; it must not return. The library's says what happened, and ends the
 * program with status 128 + code. */
void shmac_exception(unsigned cause, unsigned epc, unsigned address);

#endif
