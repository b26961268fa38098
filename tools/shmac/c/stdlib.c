#include <assert.h>
#include <shmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void);

__attribute__((noreturn, used)) void __shmac_main(void)
{
    exit(main());
}

_Noreturn void exit(int status)
{
    SHMAC_EXIT = (unsigned)status;
    for (;;)
        ;
}

_Noreturn void abort(void)
{
    exit(134);
}

_Noreturn void __shmac_assert(const char *condition, const char *file, int line)
{
    printf("%s:%d: not so: %s\n", file, line, condition);
    abort();
}

/* Without printf, which would be in every program. */
static void say(const char *text)
{
    while (*text)
        putchar(*text++);
}

static void say_word(unsigned word)
{
    for (int at = 28; at >= 0; at -= 4)
        putchar("0123456789abcdef"[word >> at & 15]);
}

__attribute__((weak, used)) void shmac_exception(unsigned cause, unsigned epc, unsigned address)
{
    unsigned code = cause >> 2 & 31;
    say("exception ");
    say(code == 4 ? "unaligned address (load or fetch)"
        : code == 5 ? "unaligned address (store)" : code == 6 ? "bus error (fetch)"
        : code == 7 ? "bus error (load)" : code == 8 ? "syscall" : code == 9 ? "break"
        : code == 10 ? "reserved instruction" : code == 11 ? "coprocessor missing"
        : code == 12 ? "overflow" : "unknown");
    say(" at 0x");
    say_word(epc);
    if (code == 4 || code == 5) {
        say(", address 0x");
        say_word(address);
    }
    say("\n");
    exit(128 + (int)code);
}

__attribute__((weak, used)) void shmac_interrupt(unsigned lines)
{
    say("interrupt, lines 0x");
    say_word(lines);
    say("\n");
    exit(128);
}

/* Blocks in the order of their addresses, each with its size before it; the lowest bit is set while
 * it is in use. The first one that is large enough is taken. */
extern char __heap[], __heap_end[];
static unsigned *heap;

static unsigned *after(unsigned *block)
{
    return block + (*block & ~7u) / 4;
}

static void prepare(void)
{
    unsigned *end = (unsigned *)((unsigned)__heap_end & ~7u) - 1;
    heap = (unsigned *)(((unsigned)__heap + 7 & ~7u) + 4);
    if (end <= heap) {
        static unsigned none[1] = {1};
        heap = none;
        return;
    }
    *heap = (unsigned)((char *)end - (char *)heap);
    *end = 1; /* of size 0: the end */
}

void *malloc(size_t size)
{
    unsigned wanted = (unsigned)(size + 4 + 7) & ~7u;
    if (!heap)
        prepare();
    if (size > 1u << 24)
        return 0;
    for (unsigned *block = heap; *block & ~7u; block = after(block)) {
        if (*block & 1)
            continue;
        for (unsigned *next; !(*(next = after(block)) & 1);)
            *block += *next; /* two free ones become one */
        if (*block < wanted)
            continue;
        if (*block > wanted) {
            block[wanted / 4] = *block - wanted;
            *block = wanted;
        }
        *block |= 1;
        return block + 1;
    }
    return 0;
}

void free(void *block)
{
    if (block)
        ((unsigned *)block)[-1] &= ~1u;
}

void *calloc(size_t count, size_t size)
{
    if (size && count > (size_t)-1 / size)
        return 0;
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : 0;
}

void *realloc(void *block, size_t size)
{
    void *other = malloc(size);
    if (block && other) {
        size_t old = (((unsigned *)block)[-1] & ~7u) - 4;
        memcpy(other, block, old < size ? old : size);
        free(block);
    }
    return other;
}

int abs(int value)
{
    return value < 0 ? -value : value;
}

int atoi(const char *text)
{
    int value = 0, negative = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    if (*text == '-' || *text == '+')
        negative = *text++ == '-';
    while (*text >= '0' && *text <= '9')
        value = 10 * value + *text++ - '0';
    return negative ? -value : value;
}

static unsigned state = 1;

int rand(void)
{
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 16 & RAND_MAX);
}

void srand(unsigned seed)
{
    state = seed;
}
