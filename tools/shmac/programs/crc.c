/* CRC-32, bit by bit and by table; of "123456789" it is known. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t table[256];

static uint32_t by_bits(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    while (size--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static uint32_t by_table(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;
    while (size--)
        crc = crc >> 8 ^ table[(crc ^ *data++) & 255];
    return ~crc;
}

int main(void)
{
    static const char text[] = "123456789";
    static uint8_t data[200];
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
        table[byte] = crc;
    }
    for (int i = 0; i < 200; i++)
        data[i] = (uint8_t)(i * i + 3);
    uint32_t known = by_bits((const uint8_t *)text, strlen(text));
    printf("%08x %08x\n", (unsigned)known, (unsigned)by_table(data, sizeof data));
    return !(known == 0xCBF43926 && by_table((const uint8_t *)text, strlen(text)) == known
             && by_bits(data, sizeof data) == by_table(data, sizeof data));
}
