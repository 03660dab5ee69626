/* The 64-bit helpers a compiler may call on RV32IM, so that neither libgcc nor compiler-rt is
 * needed for integers. They must not use the operators that call them: everything works on 32-bit
 * halves. */
#include "pinion_rt.h"

typedef union {
    uint64_t whole;
    int64_t integer;
    struct {
        uint32_t low, high;
    };
} halves_t;

static uint64_t join(uint32_t high, uint32_t low)
{
    halves_t value = { .low = low, .high = high };

    return value.whole;
}

uint64_t __muldi3(uint64_t a, uint64_t b)
{
    halves_t x = { a }, y = { b };
    uint32_t low = x.low * y.low, high;

#ifdef __riscv
    __asm__("mulhu %0, %1, %2" : "=r"(high) : "r"(x.low), "r"(y.low));
#else
    high = (uint32_t)((unsigned __int128)x.low * y.low >> 32);
#endif
    return join(high + x.low * y.high + x.high * y.low, low);
}

uint64_t __ashldi3(uint64_t value, int by)
{
    halves_t v = { value };

    if (by & 32)
        return join(v.low << (by & 31), 0);
    if (by == 0)
        return value;
    return join(v.high << by | v.low >> (32 - by), v.low << by);
}

uint64_t __lshrdi3(uint64_t value, int by)
{
    halves_t v = { value };

    if (by & 32)
        return join(0, v.high >> (by & 31));
    if (by == 0)
        return value;
    return join(v.high >> by, v.low >> by | v.high << (32 - by));
}

int64_t __ashrdi3(int64_t value, int by)
{
    halves_t v = { .integer = value };

    if (by & 32)
        v = (halves_t){ .low = (uint32_t)((int32_t)v.high >> (by & 31)),
                        .high = (uint32_t)((int32_t)v.high >> 31) };
    else if (by != 0)
        v = (halves_t){ .low = v.low >> by | v.high << (32 - by),
                        .high = (uint32_t)((int32_t)v.high >> by) };
    return v.integer;
}

int __clzsi2(uint32_t value)
{
    int count = 0;

    if (!value)
        return 32;
    for (int step = 16; step; step >>= 1) {
        if (!(value >> (32 - step))) {
            count += step;
            value <<= step;
        }
    }
    return count;
}

int __clzdi2(uint64_t value)
{
    halves_t v = { value };

    return v.high ? __clzsi2(v.high) : 32 + __clzsi2(v.low);
}

int __ctzsi2(uint32_t value)
{
    return 31 - __clzsi2(value & (0 - value));
}

int __ctzdi2(uint64_t value)
{
    halves_t v = { value };

    return v.low ? __ctzsi2(v.low) : 32 + __ctzsi2(v.high);
}

int __popcountsi2(uint32_t value)
{
    value -= value >> 1 & 0x55555555u;
    value = (value & 0x33333333u) + (value >> 2 & 0x33333333u);
    value = (value + (value >> 4)) & 0x0f0f0f0fu;
    return (int)(value * 0x01010101u >> 24);
}

int __popcountdi2(uint64_t value)
{
    halves_t v = { value };

    return __popcountsi2(v.low) + __popcountsi2(v.high);
}

uint32_t __bswapsi2(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

uint64_t __bswapdi2(uint64_t value)
{
    halves_t v = { value };

    return join(__bswapsi2(v.low), __bswapsi2(v.high));
}

/* The upper word by the core's own divide, the lower by shift and subtract, a bit at a time. */
uint64_t __udivmoddi4(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    halves_t n = { dividend }, d = { divisor };
    uint32_t rest_high = 0, rest_low = n.high, quotient_high = 0, quotient_low = 0;

    if (!d.high) {
        quotient_high = n.high / d.low;
        rest_low = n.high % d.low;
        if (!rest_low) {
            if (remainder)
                *remainder = join(0, n.low % d.low);
            return join(quotient_high, n.low / d.low);
        }
    }
    for (int bit = 0; bit < 32; bit++) {
        rest_high = rest_high << 1 | rest_low >> 31;
        rest_low = rest_low << 1 | n.low >> 31;
        n.low <<= 1;
        quotient_low <<= 1;
        if (rest_high > d.high || (rest_high == d.high && rest_low >= d.low)) {
            rest_high -= d.high + (rest_low < d.low);
            rest_low -= d.low;
            quotient_low |= 1;
        }
    }
    if (remainder)
        *remainder = join(rest_high, rest_low);
    return join(quotient_high, quotient_low);
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
    return __udivmoddi4(dividend, divisor, 0);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t remainder;

    __udivmoddi4(dividend, divisor, &remainder);
    return remainder;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    uint64_t quotient = __udivmoddi4(magnitude(dividend), magnitude(divisor), 0);

    return (int64_t)((dividend < 0) != (divisor < 0) ? 0 - quotient : quotient);
}

int64_t __moddi3(int64_t dividend, int64_t divisor)
{
    uint64_t remainder;

    __udivmoddi4(magnitude(dividend), magnitude(divisor), &remainder);
    return (int64_t)(dividend < 0 ? 0 - remainder : remainder);
}
