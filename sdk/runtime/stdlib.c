/* The few general functions handlers use. */
#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "pinion_rt.h"

int errno;

int abs(int value)
{
    return value < 0 ? -value : value;
}

long labs(long value)
{
    return value < 0 ? -value : value;
}

long long llabs(long long value)
{
    return value < 0 ? -value : value;
}

/* A number in text. */
typedef struct {
    unsigned long long magnitude;
    int is_negative, is_too_large; /* for 64 bits */
} number_t;

static number_t scan(const char *text, char **end, int base)
{
    const char *start = text;
    number_t number = { 0, 0, 0 };
    int any = 0;

    while (isspace((unsigned char)*text))
        text++;
    number.is_negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    if ((base == 0 || base == 16) && text[0] == '0' && (text[1] | 32) == 'x' &&
        isxdigit((unsigned char)text[2])) {
        base = 16;
        text += 2;
    }
    if (base == 0)
        base = *text == '0' ? 8 : 10;
    for (;; text++) {
        int c = (unsigned char)*text;
        int digit = isdigit(c) ? c - '0' : isalpha(c) ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base)
            break;
        number.is_too_large |=
            __builtin_mul_overflow(number.magnitude, (unsigned)base, &number.magnitude);
        number.is_too_large |=
            __builtin_add_overflow(number.magnitude, (unsigned)digit, &number.magnitude);
        any = 1;
    }
    if (end)
        *end = (char *)(any ? text : start);
    return number;
}

/* The number, negated behind a minus sign; `most` when its magnitude is larger. */
static unsigned long long to_unsigned(number_t number, unsigned long long most)
{
    if (number.is_too_large || number.magnitude > most)
        return most;
    return number.is_negative ? 0 - number.magnitude : number.magnitude;
}

/* The number, or the nearest from -most - 1 to most. */
static long long to_signed(number_t number, long long most)
{
    unsigned long long limit = (unsigned long long)most;

    if (number.is_negative)
        return number.is_too_large || number.magnitude > limit ? -most - 1
                                                               : -(long long)number.magnitude;
    return number.is_too_large || number.magnitude > limit ? most : (long long)number.magnitude;
}

unsigned long strtoul(const char *text, char **end, int base)
{
    return (unsigned long)to_unsigned(scan(text, end, base), ULONG_MAX);
}

unsigned long long strtoull(const char *text, char **end, int base)
{
    return to_unsigned(scan(text, end, base), ULLONG_MAX);
}

long strtol(const char *text, char **end, int base)
{
    return (long)to_signed(scan(text, end, base), LONG_MAX);
}

long long strtoll(const char *text, char **end, int base)
{
    return to_signed(scan(text, end, base), LLONG_MAX);
}

int atoi(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

long atol(const char *text)
{
    return strtol(text, NULL, 10);
}

long long atoll(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* What a nanoPU has of its own stands in nanopu/runtime. */
#ifndef PINION_NANOPU
#include "pinion_map.h"

/* One xorshift32 state per HPU, so that no run depends on which HPU draws first. */
static uint32_t random_state[NB_CLUSTERS * NB_CORES];

static uint32_t *own_random_state(void)
{
    uint32_t hart = hart_id();

    return &random_state[(hart >> 5) * NB_CORES + (hart & 0x1f)];
}

void srand(unsigned seed)
{
    *own_random_state() = seed;
}

int rand(void)
{
    uint32_t *state = own_random_state(), x = *state;

    if (!x)
        x = 0x2545f491u + hart_id();
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return (int)(x & RAND_MAX);
}

void abort(void)
{
    for (;;) {
#if defined(__riscv)
        __asm__ volatile("ebreak");
#elif defined(PINION_NATIVE)
        __asm__ volatile("int3");
#endif
    }
}

void exit(int status)
{
    (void)status;
    abort();
}

void __assert_fail(const char *condition, const char *file, int line)
{
    printf("%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

void __assert(const char *condition, const char *file, int line)
{
    __assert_fail(condition, file, line);
}

#endif
