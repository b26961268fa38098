/* Bytes, halves and words that lie across each other, signed and not, aligned and not. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct packed {
    uint8_t first;
    uint32_t word;
    int16_t half;
    int8_t last;
} __attribute__((packed));

int main(void)
{
    static struct packed record[3];
    static uint8_t bytes[32];
    int wrong = 0;
    for (int i = 0; i < 3; i++) {
        record[i].first = (uint8_t)(200 + i);
        record[i].word = 0x01020304u * (unsigned)(i + 1);
        record[i].half = (int16_t)(-1000 - i);
        record[i].last = (int8_t)(-5 + i);
    }
    for (int i = 0; i < 3; i++)
        wrong += record[i].first != 200 + i || record[i].word != 0x01020304u * (unsigned)(i + 1)
                 || record[i].half != -1000 - i || record[i].last != -5 + i;
    for (int at = 0; at < 8; at++) { /* unaligned words beside marks */
        uint32_t word = 0xA1B2C3D4, back;
        memset(bytes, 0x55, sizeof bytes);
        memcpy(bytes + 8 + at, &word, 4);
        memcpy(&back, bytes + 8 + at, 4);
        wrong += back != word || bytes[7 + at] != 0x55 || bytes[12 + at] != 0x55;
        memmove(bytes + 9 + at, bytes + 8 + at, 4);
        memcpy(&back, bytes + 9 + at, 4);
        wrong += back != word;
    }
    int8_t small = -128;
    uint16_t half = 0xFFFE;
    wrong += small >> 3 != -16 || (uint16_t)(half + 3) != 1 || (int16_t)half != -2;
    printf("%u bytes a record, %d wrong\n", (unsigned)sizeof *record, wrong);
    return wrong;
}
