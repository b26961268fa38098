/* Numbers of 64 bits: powers modulo a prime, a greatest common divisor, a square root. */
#include <stdint.h>
#include <stdio.h>

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t modulus)
{
    uint64_t result = 1;
    for (base %= modulus; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * base % modulus;
        base = base * base % modulus;
    }
    return result;
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static uint32_t root(uint64_t square)
{
    uint64_t low = 0, high = 1ull << 32;
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        if (middle * middle <= square)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

int main(void)
{
    const uint64_t prime = 4294967291u; /* the greatest below 2^32 */
    uint64_t fermat = power(3, prime - 1, prime);
    int64_t common = divisor(-600851475143LL * 84, 600851475143LL * 36);
    uint32_t side = root(0xFFFFFFFE00000001ull);
    printf("%llu %lld %u\n", (unsigned long long)fermat, (long long)common, (unsigned)side);
    return !(fermat == 1 && common == 600851475143LL * 12 && side == 0xFFFFFFFF);
}
