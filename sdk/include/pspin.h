/* Atomics, locks, waiting, time and counters.
 * Atomics work in every cluster's L1 and in L2 handler memory, not in the L2 packet buffer. */
#ifndef PINION_PSPIN_H
#define PINION_PSPIN_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "pspin_rt.h"
#include "spin_conf.h"

#define MEM_ALIGNMENT 4
#define ALIGN_UP(number, alignment) \
    ((((uint32_t)(number)) + ((alignment) - 1)) & ~((alignment) - 1))
#define DMA_MAX_XFER_SIZE 32768
#define DMA_NULL 0

typedef uint32_t dma_t;
typedef volatile uint32_t futex_t;

/* Keeps the compiler from moving memory accesses across. The cores issue theirs in order. */
static inline void asm_mem_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

#ifdef PINION_NATIVE
#include "../native/atomics.h"
#else

/* Returns the word at `addr` and reserves it for store_conditional. */
static inline uint32_t load_reserved(volatile const uint32_t *const addr)
{
    uint32_t value;

    __asm__ volatile("lr.w %0, (%1)" : "=r"(value) : "r"(addr) : "memory");
    return value;
}

/* Stores `value` if the reservation still holds; returns 0 if it did. */
static inline unsigned store_conditional(volatile uint32_t *const addr, const uint32_t value)
{
    unsigned failed;

    __asm__ volatile("sc.w %0, %1, (%2)" : "=r"(failed) : "r"(value), "r"(addr) : "memory");
    return failed;
}

/* Defines NAME(addr, value): applies INSTRUCTION atomically, returns what was there before. */
#define PINION_AMO(name, type, instruction)                              \
    static inline type name(volatile type *const addr, const type value) \
    {                                                                    \
        type before;                                                     \
        __asm__ volatile(instruction " %0, %1, (%2)"                     \
                         : "=r"(before)                                  \
                         : "r"(value), "r"(addr)                         \
                         : "memory");                                    \
        return before;                                                   \
    }

PINION_AMO(amo_swap, uint32_t, "amoswap.w")
PINION_AMO(amo_add, int32_t, "amoadd.w")
PINION_AMO(amo_and, uint32_t, "amoand.w")
PINION_AMO(amo_or, uint32_t, "amoor.w")
PINION_AMO(amo_xor, uint32_t, "amoxor.w")
PINION_AMO(amo_max, int32_t, "amomax.w")
PINION_AMO(amo_maxu, uint32_t, "amomaxu.w")
PINION_AMO(amo_min, int32_t, "amomin.w")
PINION_AMO(amo_minu, uint32_t, "amominu.w")

/* Defines NAME(addr, value): the same for who does not ask what was there before. */
#define PINION_AMO_ONLY(name, type, instruction)                         \
    static inline void name(volatile type *const addr, const type value) \
    {                                                                    \
        __asm__ volatile(instruction " zero, %0, (%1)"                   \
                         :                                               \
                         : "r"(value), "r"(addr)                         \
                         : "memory");                                    \
    }

PINION_AMO_ONLY(amo_add_only, int32_t, "amoadd.w")
PINION_AMO_ONLY(amo_and_only, uint32_t, "amoand.w")
PINION_AMO_ONLY(amo_or_only, uint32_t, "amoor.w")

/* Waits about this many cycles: a subtraction and a taken branch are four on RI5CY. */
static inline void rt_time_wait_cycles(const unsigned count)
{
    unsigned rounds = count >> 2;

    if (rounds == 0)
        return;
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(rounds));
}

/* Returns this core's cycle counter. */
static inline uint32_t cycles(void)
{
    register uint32_t a0 __asm__("a0");
    register uint32_t a7 __asm__("a7") = PSPIN_ECALL_CYCLES;

    __asm__ volatile("ecall" : "=r"(a0) : "r"(a7) : "t0", "t1", "memory");
    return a0;
}

#endif

/* Replaces `expected` by `replacement`. Returns 0 if done, -1 if another value was there, above 0
 * if somebody came in between. */
static inline int compare_and_swap(volatile uint32_t *const addr, const uint32_t expected,
                                   const uint32_t replacement)
{
    return load_reserved(addr) == expected ? (int)store_conditional(addr, replacement) : -1;
}

/* Stores atomically, in order with the other atomics on that word. */
static inline void amo_store(volatile uint32_t *const addr, const uint32_t value)
{
    (void)amo_swap(addr, value);
}

/* Makes a lock free. */
static inline void futex_init(futex_t *futex)
{
    amo_store(futex, 0);
}

/* Takes the lock if it is free; returns whether it did. */
static inline int futex_try_lock(futex_t *futex)
{
    return amo_or(futex, 1) == 0;
}

/* Takes the lock, asking all the time. */
static inline int futex_lock(futex_t *futex)
{
    while (!futex_try_lock(futex)) {
    }
    return 1;
}

/* Takes the lock, asking now and then: leaves its bank to the owner. */
static inline int futex_lock_s(futex_t *futex)
{
    while (!futex_try_lock(futex))
        rt_time_wait_cycles(32);
    return 1;
}

/* Gives the lock back. */
static inline void futex_unlock(futex_t *futex)
{
    amo_store(futex, 0);
}

/* What a host program and handlers share in NIC memory: a flag per HPU, and performance counters.
 */
#define MAX_COUNTERS 16

struct perf_counter {
    uint32_t sum;
    uint32_t count;
};

struct host_data {
    uint64_t flag[CORE_COUNT];
    struct perf_counter counters[MAX_COUNTERS];
};

extern volatile struct host_data __host_data;

/* Adds one value to a counter; any HPU may. */
static inline void push_counter(volatile struct perf_counter *counter, uint32_t value)
{
    (void)amo_add((volatile int32_t *)&counter->count, 1);
    (void)amo_add((volatile int32_t *)&counter->sum, (int32_t)value);
}

#endif
