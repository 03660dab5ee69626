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

/* The magnitude of a number in text, `limit` when it does not fit. */
static unsigned long scan(const char *text, char **end, int base, int *negative)
{
    const char *start = text;
    unsigned long value = 0;
    int overflow = 0, any = 0;

    while (isspace((unsigned char)*text))
        text++;
    *negative = *text == '-';
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
        if (value > (ULONG_MAX - (unsigned long)digit) / (unsigned long)base)
            overflow = 1;
        value = value * (unsigned long)base + (unsigned long)digit;
        any = 1;
    }
    if (end)
        *end = (char *)(any ? text : start);
    return overflow ? ULONG_MAX : value;
}

unsigned long strtoul(const char *text, char **end, int base)
{
    int negative;
    unsigned long value = scan(text, end, base, &negative);

    return negative && value != ULONG_MAX ? 0 - value : value;
}

long strtol(const char *text, char **end, int base)
{
    int negative;
    unsigned long value = scan(text, end, base, &negative);

    if (negative)
        return value > LONG_MAX ? LONG_MIN : -(long)value;
    return value > LONG_MAX ? LONG_MAX : (long)value;
}

int atoi(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

long atol(const char *text)
{
    return strtol(text, NULL, 10);
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
