/* SHA-256 (FIPS 180-4); of "abc" it is known. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t constants[64], state[8];

static uint32_t turn(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

/* The first 32 bits behind the point of a prime's root: of bits, the greatest whose power is not
 * above it. `degree` is 2 or 3. */
static uint32_t fraction(uint32_t prime, int degree)
{
    uint64_t root = 0; /* in units of 2^-32 */
    for (int bit = 35; bit >= 0; bit--) {
        uint64_t tried = root | 1ull << bit;
        /* tried^degree <= prime * 2^(32 degree), in parts of 32 bits from the lowest */
        uint32_t product[6] = {(uint32_t)tried, (uint32_t)(tried >> 32)};
        for (int more = 1; more < degree; more++) {
            uint32_t next[6] = {0};
            for (int i = 0; i < 4; i++) {
                uint64_t carry = 0;
                for (int j = 0; j < 2; j++) {
                    carry += next[i + j] + (uint64_t)product[i] * (uint32_t)(tried >> 32 * j);
                    next[i + j] = (uint32_t)carry;
                    carry >>= 32;
                }
                next[i + 2 < 6 ? i + 2 : 5] += (uint32_t)carry;
            }
            memcpy(product, next, sizeof next);
        }
        int above = product[degree + 1] != 0 || product[degree] >= prime;
        if (!above)
            root = tried;
    }
    return (uint32_t)root;
}

static void block(const uint8_t *data)
{
    uint32_t w[64], h[8];
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)data[4 * t] << 24 | (uint32_t)data[4 * t + 1] << 16
               | (uint32_t)data[4 * t + 2] << 8 | data[4 * t + 3];
    for (int t = 16; t < 64; t++)
        w[t] = (turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10) + w[t - 7]
               + (turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3) + w[t - 16];
    memcpy(h, state, sizeof h);
    for (int t = 0; t < 64; t++) {
        uint32_t one = h[7] + (turn(h[4], 6) ^ turn(h[4], 11) ^ turn(h[4], 25))
                       + ((h[4] & h[5]) ^ (~h[4] & h[6])) + constants[t] + w[t];
        uint32_t two = (turn(h[0], 2) ^ turn(h[0], 13) ^ turn(h[0], 22))
                       + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        for (int i = 7; i > 0; i--)
            h[i] = h[i - 1];
        h[4] += one;
        h[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += h[i];
}

int main(void)
{
    static const uint32_t known[8] = {0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223,
                                      0xb00361a3, 0x96177a9c, 0xb410ff61, 0xf20015ad};
    static uint8_t data[64] = "abc\x80";
    for (uint32_t prime = 2, count = 0; count < 64; prime++) {
        uint32_t divisor = 2;
        while (prime % divisor)
            divisor++;
        if (divisor != prime)
            continue;
        constants[count] = fraction(prime, 3);
        if (count < 8)
            state[count] = fraction(prime, 2);
        count++;
    }
    data[63] = 24; /* bits */
    block(data);
    for (int i = 0; i < 8; i++)
        printf("%08x", (unsigned)state[i]);
    printf("\n");
    return memcmp(state, known, sizeof known) != 0;
}
