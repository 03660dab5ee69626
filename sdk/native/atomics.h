/* Atomics, waiting and time for the native engine: the computer's own, with the meaning that
 * RISC-V's have. */
#ifndef PINION_NATIVE_ATOMICS_H
#define PINION_NATIVE_ATOMICS_H

#include "worker.h"

/* Returns the word at `addr` and notes it for store_conditional. */
static inline uint32_t load_reserved(volatile const uint32_t *const addr)
{
    pinion_worker_t *self = pinion_self();

    self->reserved_word = (uint32_t)(uintptr_t)addr;
    self->reserved_value = __atomic_load_n(addr, __ATOMIC_SEQ_CST);
    return self->reserved_value;
}

/* Stores `value` if the word still has the value that was noted; returns 0 if it did. */
static inline unsigned store_conditional(volatile uint32_t *const addr, const uint32_t value)
{
    pinion_worker_t *self = pinion_self();
    uint32_t expected = self->reserved_value;

    if (self->reserved_word != (uint32_t)(uintptr_t)addr)
        return 1;
    self->reserved_word = 0;
    return !__atomic_compare_exchange_n(addr, &expected, value, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
}

/* Defines NAME(addr, value): applies BUILTIN atomically, returns what was there before. */
#define PINION_AMO(name, type, builtin)                                  \
    static inline type name(volatile type *const addr, const type value) \
    {                                                                    \
        return builtin(addr, value, __ATOMIC_SEQ_CST);                   \
    }

PINION_AMO(amo_swap, uint32_t, __atomic_exchange_n)
PINION_AMO(amo_add, int32_t, __atomic_fetch_add)
PINION_AMO(amo_and, uint32_t, __atomic_fetch_and)
PINION_AMO(amo_or, uint32_t, __atomic_fetch_or)
PINION_AMO(amo_xor, uint32_t, __atomic_fetch_xor)

/* Defines NAME(addr, value): the same for who does not ask what was there before. */
#define PINION_AMO_ONLY(name, type, builtin)                             \
    static inline void name(volatile type *const addr, const type value) \
    {                                                                    \
        (void)builtin(addr, value, __ATOMIC_SEQ_CST);                    \
    }

PINION_AMO_ONLY(amo_add_only, int32_t, __atomic_fetch_add)
PINION_AMO_ONLY(amo_and_only, uint32_t, __atomic_fetch_and)
PINION_AMO_ONLY(amo_or_only, uint32_t, __atomic_fetch_or)

/* Defines NAME(addr, value): keeps VALUE if it is BETTER than what is there. */
#define PINION_AMO_CHOICE(name, type, better)                                            \
    static inline type name(volatile type *const addr, const type value)                 \
    {                                                                                    \
        type before = __atomic_load_n(addr, __ATOMIC_SEQ_CST);                           \
        while (value better before &&                                                    \
               !__atomic_compare_exchange_n(addr, &before, value, true, __ATOMIC_SEQ_CST, \
                                            __ATOMIC_SEQ_CST)) {                         \
        }                                                                                \
        return before;                                                                   \
    }

PINION_AMO_CHOICE(amo_max, int32_t, >)
PINION_AMO_CHOICE(amo_maxu, uint32_t, >)
PINION_AMO_CHOICE(amo_min, int32_t, <)
PINION_AMO_CHOICE(amo_minu, uint32_t, <)

/* Waits a little; now and then lets another thread have the processor, which may be the one that
 * holds the lock this one waits for. */
static inline void rt_time_wait_cycles(const unsigned count)
{
    pinion_worker_t *self = pinion_self();

    for (unsigned round = 0; round < count; round += 32)
        __builtin_ia32_pause();
    if ((++self->polls & 63) == 0)
        pinion_native_yield(self);
}

/* Returns the time in cycles of the NIC's clock. */
static inline uint32_t cycles(void)
{
    return pinion_native_cycles(pinion_self());
}

#endif
