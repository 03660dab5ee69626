/* Small things that test programs use: barrier, checks of results, counters around a piece of code.
 * Names as in the RISC-V project's header of the same name. */
#ifndef PINION_UTIL_H
#define PINION_UTIL_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "encoding.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Waits until this many harts have come here. */
void barrier(int harts);
/* Starts (1) and ends (0) counting cycles and instructions; ends by printing them. */
void setStats(int enable);
void printstr(const char *text);
void printhex(uint64_t value);

#ifdef __cplusplus
}
#endif

/* 0 when the first `n` of two arrays are equal, else 1 + the place of the first difference. */
static inline int verify(int n, const volatile int *found, const int *wanted)
{
    for (int i = 0; i < n; i++)
        if (found[i] != wanted[i])
            return i + 1;
    return 0;
}

static inline int verifyDouble(int n, const volatile double *found, const double *wanted)
{
    for (int i = 0; i < n; i++)
        if (found[i] != wanted[i])
            return i + 1;
    return 0;
}

/* The next state of a 64-bit shift register with feedback. */
static inline uint64_t lfsr(uint64_t x)
{
    uint64_t bit = (x ^ x >> 1) & 1;

    return x >> 1 | bit << 62;
}

/* Runs `code` and prints its cycles and instructions per iteration. */
#define stringify_1(text) #text
#define stringify(text) stringify_1(text)
#define stats(code, iterations)                                                           \
    do {                                                                                  \
        unsigned long stats_cycles_ = read_csr(mcycle), stats_count_ = read_csr(minstret); \
        code;                                                                             \
        stats_cycles_ = read_csr(mcycle) - stats_cycles_;                                 \
        stats_count_ = read_csr(minstret) - stats_count_;                                 \
        printf("%s: %lu cycles, %lu instructions, %lu iterations\n", stringify(code),     \
               stats_cycles_, stats_count_, (unsigned long)(iterations));                 \
    } while (0)

#endif
