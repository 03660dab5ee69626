/* What else programs call: addresses, barrier, counters, random numbers, sorting, mathematics. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"
#include "util.h"

uint32_t swap32(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

/* "10.0.0.2", from text to end, to four bytes in that order; 1 when it is an address. */
int inet_pton4(const char *text, const char *end, unsigned char *to)
{
    unsigned char bytes[4];

    for (int i = 0; i < 4; i++) {
        unsigned value = 0, digits = 0;
        if (i && (text == end || *text++ != '.'))
            return 0;
        for (; text < end && *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
            value = value * 10 + (unsigned)(*text - '0');
        if (!digits || value > 255)
            return 0;
        bytes[i] = (unsigned char)value;
    }
    if (text != end)
        return 0;
    memcpy(to, bytes, 4);
    return 1;
}

/* Phases: a hart's own number of barriers so far says which release it waits for. */
void barrier(int harts)
{
    static uint64_t arrived;
    static volatile uint64_t released;
    uint64_t phase = ++control(CONTROL_BARRIER);

    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == phase * (uint64_t)harts)
        __atomic_store_n(&released, phase, __ATOMIC_RELEASE);
    while (__atomic_load_n(&released, __ATOMIC_ACQUIRE) < phase)
        ;
}

void setStats(int enable)
{
    static __thread uint64_t cycles, instructions;

    if (enable) {
        instructions = read_csr(minstret);
        cycles = read_csr(mcycle);
        return;
    }
    uint64_t end = read_csr(mcycle), count = read_csr(minstret);
    printf("mcycle = %lu\nminstret = %lu\n", end - cycles, count - instructions);
}

void printstr(const char *text)
{
    pinion_write(text, strlen(text));
}

void printhex(uint64_t value)
{
    printf("%016lx", value);
}

void srand(unsigned seed)
{
    control(CONTROL_RANDOM) = seed;
}

/* xorshift64*, a state per hart. */
int rand(void)
{
    uint64_t x = control(CONTROL_RANDOM);

    if (!x)
        x = 0x2545f4914f6cdd1d;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    control(CONTROL_RANDOM) = x;
    return (int)(x * 0x2545f4914f6cdd1d >> 33);
}

static void swap(char *a, char *b, size_t bytes)
{
    while (bytes--) {
        char c = *a;
        *a++ = *b;
        *b++ = c;
    }
}

static void sift(char *base, size_t root, size_t count, size_t bytes,
                 int (*compare)(const void *, const void *))
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count &&
            compare(base + child * bytes, base + (child + 1) * bytes) < 0)
            child++;
        if (compare(base + root * bytes, base + child * bytes) >= 0)
            return;
        swap(base + root * bytes, base + child * bytes, bytes);
    }
}

/* A heap sort: no stack, no bad case. */
void qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
    for (size_t root = count / 2; root--;)
        sift(base, root, count, bytes, compare);
    for (size_t end = count; end > 1;) {
        swap(base, (char *)base + --end * bytes, bytes);
        sift(base, 0, end, bytes, compare);
    }
}

/* Weak, so that a program may bring its own. */
#define WEAK __attribute__((weak))

WEAK double sqrt(double x)
{
    double root;

    __asm__("fsqrt.d %0, %1" : "=f"(root) : "f"(x));
    return root;
}

WEAK float sqrtf(float x)
{
    float root;

    __asm__("fsqrt.s %0, %1" : "=f"(root) : "f"(x));
    return root;
}

WEAK double fabs(double x)
{
    return __builtin_fabs(x);
}

WEAK float fabsf(float x)
{
    return __builtin_fabsf(x);
}

WEAK double copysign(double x, double y)
{
    return __builtin_copysign(x, y);
}

WEAK double fma(double x, double y, double z)
{
    __asm__("fmadd.d %0, %0, %1, %2" : "+f"(x) : "f"(y), "f"(z));
    return x;
}

WEAK float fmaf(float x, float y, float z)
{
    __asm__("fmadd.s %0, %0, %1, %2" : "+f"(x) : "f"(y), "f"(z));
    return x;
}

WEAK double fmin(double x, double y)
{
    __asm__("fmin.d %0, %0, %1" : "+f"(x) : "f"(y));
    return x;
}

WEAK double fmax(double x, double y)
{
    __asm__("fmax.d %0, %0, %1" : "+f"(x) : "f"(y));
    return x;
}

/* To an integer and back; beyond 2^52 there is nothing behind the point. */
#define ROUNDED(name, mode)                                                                    \
    WEAK double name(double x)                                                                 \
    {                                                                                          \
        long whole;                                                                            \
        if (!(__builtin_fabs(x) < 4503599627370496.0))                                         \
            return x;                                                                          \
        __asm__("fcvt.l.d %0, %1, " mode : "=r"(whole) : "f"(x));                              \
        return __builtin_copysign((double)whole, x);                                           \
    }

ROUNDED(floor, "rdn")
ROUNDED(ceil, "rup")
ROUNDED(trunc, "rtz")
ROUNDED(round, "rmm")
