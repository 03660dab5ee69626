/* Functions of math.h on the bits of numbers: the cores have no floating-point unit. */
#include "../include/libc/limits.h"
#include "../include/libc/math.h"
#include "../include/libc/stdint.h"

#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define EXPONENT_MASK 0x7ff
#define SIGN ((uint64_t)1 << 63)
#define HIDDEN ((uint64_t)1 << FRACTION_BITS)
#define INFINITE ((uint64_t)EXPONENT_MASK << FRACTION_BITS)

static inline uint64_t bits_of(double x)
{
    union {
        double number;
        uint64_t bits;
    } both = { .number = x };

    return both.bits;
}

static inline double of_bits(uint64_t bits)
{
    union {
        uint64_t bits;
        double number;
    } both = { .bits = bits };

    return both.number;
}

static inline int exponent_of(uint64_t bits)
{
    return (int)(bits >> FRACTION_BITS & EXPONENT_MASK);
}

/* The significand of a finite number that is not zero, with its hidden bit; gives the exponent of its
 * lowest bit through `exponent`. */
static uint64_t take_apart(uint64_t bits, int *exponent)
{
    uint64_t fraction = bits & (HIDDEN - 1);
    int biased = exponent_of(bits);

    if (biased) {
        *exponent = biased - EXPONENT_BIAS - FRACTION_BITS;
        return fraction | HIDDEN;
    }
    *exponent = 1 - EXPONENT_BIAS - FRACTION_BITS;
    while (!(fraction & HIDDEN)) {
        fraction <<= 1;
        --*exponent;
    }
    return fraction;
}

/* significand * 2^exponent, the significand having 53 bits: rounded to even where it is subnormal. */
static double put_together(uint64_t sign, uint64_t significand, int exponent)
{
    int biased = exponent + EXPONENT_BIAS + FRACTION_BITS;
    int lost;
    uint64_t half, rest;

    if (biased >= EXPONENT_MASK)
        return of_bits(sign | INFINITE);
    if (biased > 0)
        return of_bits(sign | (uint64_t)biased << FRACTION_BITS | (significand & (HIDDEN - 1)));
    lost = 1 - biased;
    if (lost > FRACTION_BITS + 1)
        return of_bits(sign);
    half = (uint64_t)1 << (lost - 1);
    rest = significand & (2 * half - 1);
    significand >>= lost;
    if (rest > half || (rest == half && (significand & 1)))
        significand++;
    return of_bits(sign | significand);
}

double fabs(double x)
{
    return of_bits(bits_of(x) & ~SIGN);
}

double copysign(double x, double y)
{
    return of_bits((bits_of(x) & ~SIGN) | (bits_of(y) & SIGN));
}

double fmin(double x, double y)
{
    if (isnan(x) || (x == y && signbit(y)))
        return y;
    return isnan(y) || x <= y ? x : y;
}

double fmax(double x, double y)
{
    if (isnan(x) || (x == y && signbit(x)))
        return y;
    return isnan(y) || x >= y ? x : y;
}

static double trunc_of(double x)
{
    uint64_t bits = bits_of(x);
    int whole = exponent_of(bits) - EXPONENT_BIAS;

    if (whole >= FRACTION_BITS)
        return x;
    if (whole < 0)
        return of_bits(bits & SIGN);
    return of_bits(bits & ~(((uint64_t)1 << (FRACTION_BITS - whole)) - 1));
}

static double floor_of(double x)
{
    double whole = trunc_of(x);

    return whole > x ? copysign(whole - 1, x) : whole;
}

static double ceil_of(double x)
{
    double whole = trunc_of(x);

    return whole < x ? copysign(whole + 1, x) : whole;
}

static double round_of(double x)
{
    double whole = trunc_of(x);

    if (fabs(x - whole) >= 0.5)
        whole += signbit(x) ? -1 : 1;
    return copysign(whole, x);
}

double ldexp(double x, int exponent)
{
    uint64_t bits = bits_of(x), significand;
    int own;

    if (exponent_of(bits) == EXPONENT_MASK || !(bits & ~SIGN))
        return x;
    significand = take_apart(bits, &own);
    if (exponent > 4 * EXPONENT_BIAS)
        exponent = 4 * EXPONENT_BIAS;
    if (exponent < -4 * EXPONENT_BIAS)
        exponent = -4 * EXPONENT_BIAS;
    return put_together(bits & SIGN, significand, own + exponent);
}

double frexp(double x, int *exponent)
{
    uint64_t bits = bits_of(x), significand;

    *exponent = 0;
    if (exponent_of(bits) == EXPONENT_MASK || !(bits & ~SIGN))
        return x;
    significand = take_apart(bits, exponent);
    *exponent += FRACTION_BITS + 1;
    return put_together(bits & SIGN, significand, -FRACTION_BITS - 1);
}

static double fmod_of(double x, double y)
{
    uint64_t sign = bits_of(x) & SIGN, a, b;
    int a_exponent, b_exponent;

    if (isnan(x) || isnan(y) || isinf(x) || y == 0)
        return NAN;
    if (isinf(y) || fabs(x) < fabs(y))
        return x;
    a = take_apart(bits_of(x), &a_exponent);
    b = take_apart(bits_of(y), &b_exponent);
    for (; a_exponent > b_exponent; a_exponent--) {
        if (a >= b)
            a -= b;
        a <<= 1;
    }
    if (a >= b)
        a -= b;
    if (!a)
        return of_bits(sign);
    while (!(a & HIDDEN)) {
        a <<= 1;
        a_exponent--;
    }
    return put_together(sign, a, a_exponent);
}

static double sqrt_of(double x)
{
    uint64_t bits = bits_of(x), rest, root = 0, trial;
    int exponent;

    if (!(bits & ~SIGN) || isnan(x))
        return x;
    if (bits & SIGN)
        return NAN;
    if (isinf(x))
        return x;
    rest = take_apart(bits, &exponent);
    if (exponent & 1) {
        rest <<= 1;
        exponent--;
    }
    /* Digit by digit: 54 bits of the root of rest * 2^54, of which the last is for rounding. */
    exponent = (exponent - 54) / 2;
    uint64_t high = rest, remainder = 0;

    for (int pair = 53; pair >= 0; pair--) {
        /* The two bits of rest * 2^54 that come next. */
        int at = 2 * pair - 54;
        uint64_t two = at >= 0 ? high >> at & 3 : 0;

        remainder = remainder << 2 | two;
        trial = root << 2 | 1;
        root <<= 1;
        if (remainder >= trial) {
            remainder -= trial;
            root |= 1;
        }
    }
    root += root & 1; /* never a tie: a root that ends with the last bit is not exact */
    root >>= 1;
    exponent++;
    if (root >> 53) {
        root >>= 1;
        exponent++;
    }
    return put_together(0, root, exponent);
}

/* What compilers know by name they may narrow: (float)floor(x) is floorf(x) to them, and would call
 * itself. They do not know the functions above. */
double trunc(double x)
{
    return trunc_of(x);
}

double floor(double x)
{
    return floor_of(x);
}

double ceil(double x)
{
    return ceil_of(x);
}

double round(double x)
{
    return round_of(x);
}

double fmod(double x, double y)
{
    return fmod_of(x, y);
}

double sqrt(double x)
{
    return sqrt_of(x);
}

/* A float's operations are exact in double precision, and rounding twice to half the digits or fewer
 * rounds right. */
float fabsf(float x)
{
    return (float)fabs(x);
}

float copysignf(float x, float y)
{
    return (float)copysign(x, y);
}

float fminf(float x, float y)
{
    return (float)fmin(x, y);
}

float fmaxf(float x, float y)
{
    return (float)fmax(x, y);
}

float floorf(float x)
{
    return (float)floor_of(x);
}

float ceilf(float x)
{
    return (float)ceil_of(x);
}

float truncf(float x)
{
    return (float)trunc_of(x);
}

float roundf(float x)
{
    return (float)round_of(x);
}

float fmodf(float x, float y)
{
    return (float)fmod_of(x, y);
}

float sqrtf(float x)
{
    return (float)sqrt_of(x);
}
