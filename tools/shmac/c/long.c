/* What compilers call for 64-bit numbers. No part of it may divide, or shift by a number of bits
 * that is not known, 64-bit numbers: it would call itself. */

typedef unsigned long long u64;
typedef long long s64;
union halves {
    u64 whole;
    struct {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        unsigned high, low;
#else
        unsigned low, high;
#endif
    };
};

s64 __ashldi3(s64 value, int bits)
{
    union halves v = {(u64)value};
    if (bits >= 32)
        v.high = v.low << (bits - 32), v.low = 0;
    else if (bits)
        v.high = v.high << bits | v.low >> (32 - bits), v.low <<= bits;
    return (s64)v.whole;
}

u64 __lshrdi3(u64 value, int bits)
{
    union halves v = {value};
    if (bits >= 32)
        v.low = v.high >> (bits - 32), v.high = 0;
    else if (bits)
        v.low = v.low >> bits | v.high << (32 - bits), v.high >>= bits;
    return v.whole;
}

s64 __ashrdi3(s64 value, int bits)
{
    union halves v = {(u64)value};
    if (bits >= 32)
        v.low = (unsigned)((int)v.high >> (bits - 32)), v.high = (unsigned)((int)v.high >> 31);
    else if (bits)
        v.low = v.low >> bits | v.high << (32 - bits), v.high = (unsigned)((int)v.high >> bits);
    return (s64)v.whole;
}

s64 __muldi3(s64 one, s64 two)
{
    union halves a = {(u64)one}, b = {(u64)two}, sum;
    sum.whole = (u64)a.low * b.low;
    sum.high += a.low * b.high + a.high * b.low;
    return (s64)sum.whole;
}

/* A bit of the quotient in each of 64 rounds. */
u64 __udivmoddi4(u64 dividend, u64 divisor, u64 *remainder)
{
    union halves left = {dividend}, rest = {0}, by = {divisor};
    for (int round = 0; round < 64; round++) {
        unsigned over = rest.high >> 31;
        rest.high = rest.high << 1 | rest.low >> 31;
        rest.low = rest.low << 1 | left.high >> 31;
        left.high = left.high << 1 | left.low >> 31;
        left.low <<= 1;
        if (over || rest.high > by.high || (rest.high == by.high && rest.low >= by.low)) {
            rest.whole -= by.whole;
            left.low |= 1;
        }
    }
    if (remainder)
        *remainder = rest.whole;
    return left.whole;
}

u64 __udivdi3(u64 dividend, u64 divisor)
{
    return __udivmoddi4(dividend, divisor, 0);
}

u64 __umoddi3(u64 dividend, u64 divisor)
{
    u64 remainder;
    __udivmoddi4(dividend, divisor, &remainder);
    return remainder;
}

static u64 magnitude(s64 value)
{
    return value < 0 ? -(u64)value : (u64)value;
}

s64 __divdi3(s64 dividend, s64 divisor)
{
    u64 quotient = __udivmoddi4(magnitude(dividend), magnitude(divisor), 0);
    return (s64)((dividend < 0) != (divisor < 0) ? -quotient : quotient);
}

s64 __moddi3(s64 dividend, s64 divisor)
{
    u64 remainder;
    __udivmoddi4(magnitude(dividend), magnitude(divisor), &remainder);
    return (s64)(dividend < 0 ? -remainder : remainder);
}

int __clzsi2(unsigned value)
{
    int count = 0;
    for (int bits = 16; bits; bits >>= 1)
        if (!(value >> (32 - bits)))
            count += bits, value <<= bits;
    return value ? count : 32;
}

int __clzdi2(u64 value)
{
    union halves v = {value};
    return v.high ? __clzsi2(v.high) : 32 + __clzsi2(v.low);
}

int __ctzsi2(unsigned value)
{
    return 31 - __clzsi2(value & -value);
}

int __ctzdi2(u64 value)
{
    union halves v = {value};
    return v.low ? __ctzsi2(v.low) : 32 + __ctzsi2(v.high);
}

int __popcountsi2(unsigned value)
{
    int count = 0;
    for (; value; value &= value - 1)
        count++;
    return count;
}

int __popcountdi2(u64 value)
{
    union halves v = {value};
    return __popcountsi2(v.low) + __popcountsi2(v.high);
}
