/* A worker thread of the native engine, as handlers see it: what an HPU is on the NIC.
 *
 * Each worker has a block of memory of PINION_WORKER_SPAN bytes, aligned to its size: at its start
 * the words below, at its end the stack that its handlers run on. So a handler finds its worker by
 * its stack pointer. The layout is also written in crates/pinion-native/src/block.rs.
 */
#ifndef PINION_NATIVE_WORKER_H
#define PINION_NATIVE_WORKER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../include/pinion_map.h"

#define PINION_WORKER_SPAN 0x80000u

typedef struct pinion_worker {
    uint32_t driver[128]; /* the HPU driver's registers, at their offsets */
    uint32_t args[4];     /* handler_args_t */
    uint32_t hart;        /* bits 10:5 cluster, 4:0 core */
    uint32_t reserved_word, reserved_value;
    uint32_t polls;
} pinion_worker_t;

static_assert(sizeof(void *) == 4, "handlers are compiled for 32-bit addresses (-mx32)");
static_assert(offsetof(pinion_worker_t, hart) == 0x210, "as the engine has it");
static_assert(sizeof(pinion_worker_t) == 0x220, "as the engine has it");

static inline pinion_worker_t *pinion_self(void)
{
    uint32_t stack;

    __asm__("movl %%esp, %0" : "=r"(stack));
    return (pinion_worker_t *)(uintptr_t)(stack & ~(PINION_WORKER_SPAN - 1));
}

/* ---- Services of the engine (services.S) ---- */

/* Issues the command in the worker's registers; it is done when this returns. */
uint32_t pinion_native_issue(pinion_worker_t *self);
/* Prints text. */
void pinion_native_print(pinion_worker_t *self, const char *text, uint32_t bytes);
/* Returns the time in cycles of the NIC's clock. */
uint32_t pinion_native_cycles(pinion_worker_t *self);
/* Lets another thread have this processor. */
void pinion_native_yield(pinion_worker_t *self);

/* Returns the hart id that this worker stands for. */
static inline uint32_t pinion_hart_id(void)
{
    return pinion_self()->hart;
}

/* The one environment call that the runtime serves; any other ends the handler. */
static inline uint32_t pinion_ecall(uint32_t number, uint32_t arg0, uint32_t arg1, uint32_t arg2,
                                    uint32_t arg3, uint32_t arg4, uint32_t arg5, uint32_t arg6)
{
    (void)arg0, (void)arg1, (void)arg2, (void)arg3, (void)arg4, (void)arg5, (void)arg6;
    if (number != PSPIN_ECALL_CYCLES)
        __builtin_trap();
    return pinion_native_cycles(pinion_self());
}

#endif
