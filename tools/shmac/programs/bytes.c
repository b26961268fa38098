/* Bytes, halves and words that lie across each other, signed and not, aligned and not. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A compiler that sees a store and its load together would do the work itself. */
#define APART __attribute__((noinline))

struct packed {
    uint8_t first;
    uint32_t word;
    int16_t half;
    int8_t last;
} __attribute__((packed));

static struct packed record[3];
static uint8_t bytes[32];

static APART void write_record(struct packed *to, int number)
{
    to->first = (uint8_t)(200 + number);
    to->word = 0x01020304u * (unsigned)(number + 1);
    to->half = (int16_t)(-1000 - number);
    to->last = (int8_t)(-5 + number);
}

static APART int wrong_record(const struct packed *from, int number)
{
    return from->first != 200 + number || from->word != 0x01020304u * (unsigned)(number + 1)
           || from->half != -1000 - number || from->last != -5 + number;
}

static APART void write_word(uint8_t *to, uint32_t word)
{
    memcpy(to, &word, 4);
}

static APART uint32_t read_word(const uint8_t *from)
{
    uint32_t word;
    memcpy(&word, from, 4);
    return word;
}

static APART int halves(const int16_t *from)
{
    return from[0] + from[1];
}

int main(void)
{
    static int16_t pair[2] = {-32768, 32767};
    int wrong = 0;
    for (int number = 0; number < 3; number++)
        write_record(record + number, number);
    for (int number = 0; number < 3; number++)
        wrong += wrong_record(record + number, number);
    for (int at = 0; at < 8; at++) { /* unaligned words beside marks */
        memset(bytes, 0x55, sizeof bytes);
        write_word(bytes + 8 + at, 0xA1B2C3D4);
        wrong += read_word(bytes + 8 + at) != 0xA1B2C3D4 || bytes[7 + at] != 0x55
                 || bytes[12 + at] != 0x55;
        memmove(bytes + 9 + at, bytes + 8 + at, 4);
        wrong += read_word(bytes + 9 + at) != 0xA1B2C3D4;
    }
    wrong += halves(pair) != -1;
    printf("%u bytes a record, %d wrong\n", (unsigned)sizeof *record, wrong);
    return wrong;
}
