/* The helpers a compiler may call on RV64, so that neither libgcc nor compiler-rt is linked: theirs
 * use x30 and x31, which would pop and push words of messages. */
#include <stdint.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

typedef union {
    u128 whole;
    struct {
        uint64_t low, high;
    };
} halves_t;

static u128 join(uint64_t high, uint64_t low)
{
    halves_t value = { .low = low, .high = high };

    return value.whole;
}

u128 __ashlti3(u128 value, int by)
{
    halves_t v = { value };

    if (by & 64)
        return join(v.low << (by & 63), 0);
    if (by == 0)
        return value;
    return join(v.high << by | v.low >> (64 - by), v.low << by);
}

u128 __lshrti3(u128 value, int by)
{
    halves_t v = { value };

    if (by & 64)
        return join(0, v.high >> (by & 63));
    if (by == 0)
        return value;
    return join(v.high >> by, v.low >> by | v.high << (64 - by));
}

s128 __ashrti3(s128 value, int by)
{
    halves_t v = { (u128)value };
    int64_t high = (int64_t)v.high;

    if (by & 64)
        return (s128)join((uint64_t)(high >> 63), (uint64_t)(high >> (by & 63)));
    if (by == 0)
        return value;
    return (s128)join((uint64_t)(high >> by), v.low >> by | v.high << (64 - by));
}

u128 __multi3(u128 a, u128 b)
{
    halves_t x = { a }, y = { b };
    uint64_t high;

#ifdef __riscv
    __asm__("mulhu %0, %1, %2" : "=r"(high) : "r"(x.low), "r"(y.low));
#else
    high = (uint64_t)((u128)x.low * y.low >> 64);
#endif
    return join(high + x.low * y.high + x.high * y.low, x.low * y.low);
}

int __clzdi2(uint64_t value)
{
    int count = 0;

    if (!value)
        return 64;
    for (int step = 32; step; step >>= 1) {
        if (!(value >> (64 - step))) {
            count += step;
            value <<= step;
        }
    }
    return count;
}

int __clzsi2(uint32_t value)
{
    return __clzdi2(value) - 32;
}

int __ctzdi2(uint64_t value)
{
    return 63 - __clzdi2(value & (0 - value));
}

int __ctzsi2(uint32_t value)
{
    return __ctzdi2(value);
}

int __clzti2(u128 value)
{
    halves_t v = { value };

    return v.high ? __clzdi2(v.high) : 64 + __clzdi2(v.low);
}

int __ctzti2(u128 value)
{
    halves_t v = { value };

    return v.low ? __ctzdi2(v.low) : 64 + __ctzdi2(v.high);
}

int __ffsdi2(uint64_t value)
{
    return value ? __ctzdi2(value) + 1 : 0;
}

int __clrsbdi2(int64_t value)
{
    return __clzdi2((uint64_t)(value ^ value >> 63)) - 1;
}

int __popcountdi2(uint64_t value)
{
    value -= value >> 1 & 0x5555555555555555u;
    value = (value & 0x3333333333333333u) + (value >> 2 & 0x3333333333333333u);
    value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)(value * 0x0101010101010101u >> 56);
}

int __popcountsi2(uint32_t value)
{
    return __popcountdi2(value);
}

int __popcountti2(u128 value)
{
    halves_t v = { value };

    return __popcountdi2(v.low) + __popcountdi2(v.high);
}

int __paritydi2(uint64_t value)
{
    return __popcountdi2(value) & 1;
}

int __paritysi2(uint32_t value)
{
    return __popcountdi2(value) & 1;
}

uint32_t __bswapsi2(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

uint64_t __bswapdi2(uint64_t value)
{
    return (uint64_t)__bswapsi2((uint32_t)value) << 32 | __bswapsi2((uint32_t)(value >> 32));
}

/* The upper word by the core's own divide, the lower by shift and subtract, a bit at a time. */
u128 __udivmodti4(u128 dividend, u128 divisor, u128 *remainder)
{
    halves_t n = { dividend }, d = { divisor };
    uint64_t rest_high = 0, rest_low = n.high, quotient_high = 0, quotient_low = 0;

    if (!d.high) {
        quotient_high = n.high / d.low;
        rest_low = n.high % d.low;
        if (!rest_low) {
            if (remainder)
                *remainder = join(0, n.low % d.low);
            return join(quotient_high, n.low / d.low);
        }
    }
    for (int bit = 0; bit < 64; bit++) {
        uint64_t carry = rest_high >> 63;
        rest_high = rest_high << 1 | rest_low >> 63;
        rest_low = rest_low << 1 | n.low >> 63;
        n.low <<= 1;
        quotient_low <<= 1;
        if (carry || rest_high > d.high || (rest_high == d.high && rest_low >= d.low)) {
            rest_high -= d.high + (rest_low < d.low);
            rest_low -= d.low;
            quotient_low |= 1;
        }
    }
    if (remainder)
        *remainder = join(rest_high, rest_low);
    return join(quotient_high, quotient_low);
}

u128 __udivti3(u128 dividend, u128 divisor)
{
    return __udivmodti4(dividend, divisor, 0);
}

u128 __umodti3(u128 dividend, u128 divisor)
{
    u128 remainder;

    __udivmodti4(dividend, divisor, &remainder);
    return remainder;
}

static u128 magnitude(s128 value)
{
    return value < 0 ? 0 - (u128)value : (u128)value;
}

s128 __divti3(s128 dividend, s128 divisor)
{
    u128 quotient = __udivmodti4(magnitude(dividend), magnitude(divisor), 0);

    return (s128)((dividend < 0) != (divisor < 0) ? 0 - quotient : quotient);
}

s128 __modti3(s128 dividend, s128 divisor)
{
    u128 remainder;

    __udivmodti4(magnitude(dividend), magnitude(divisor), &remainder);
    return (s128)(dividend < 0 ? 0 - remainder : remainder);
}

/* Product and whether it fits. */
s128 __muloti4(s128 a, s128 b, int *overflow)
{
    u128 x = magnitude(a), y = magnitude(b), product = __multi3(x, y);
    int is_negative = (a < 0) != (b < 0);
    u128 limit = ((u128)1 << 127) - !is_negative;

    *overflow = x && (__udivmodti4(product, x, 0) != y || product > limit);
    return (s128)(is_negative ? 0 - product : product);
}

/* 128 bits to and from double: rounded once, to nearest even. */
double __floatuntidf(u128 value)
{
    halves_t v = { value };
    int zeros;

    if (!v.high)
        return (double)v.low;
    zeros = __clzdi2(v.high);
    u128 shifted = __ashlti3(value, zeros);
    halves_t top = { shifted };
    double scaled = (double)(top.high | (top.low != 0)); /* a sticky bit below those that count */
    uint64_t bits;
    __builtin_memcpy(&bits, &scaled, 8);
    bits += (uint64_t)(64 - zeros) << 52;
    __builtin_memcpy(&scaled, &bits, 8);
    return scaled;
}

double __floattidf(s128 value)
{
    double result = __floatuntidf(magnitude(value));

    return value < 0 ? -result : result;
}

u128 __fixunsdfti(double value)
{
    uint64_t bits;
    int exponent;

    __builtin_memcpy(&bits, &value, 8);
    exponent = (int)(bits >> 52 & 0x7ff) - 1075;
    if (bits >> 63 || exponent < -63)
        return 0;
    u128 mantissa = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    if (exponent < 0)
        return mantissa >> -exponent;
    return exponent > 75 ? ~(u128)0 : __ashlti3(mantissa, exponent);
}

s128 __fixdfti(double value)
{
    u128 size = __fixunsdfti(value < 0 ? -value : value), limit = (u128)1 << 127;

    if (value < 0)
        return (s128)(size >= limit ? limit : 0 - size);
    return (s128)(size >= limit ? limit - 1 : size);
}
