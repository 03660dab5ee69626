/* Small macros handler sources use. */
#ifndef PINION_UTIL_H
#define PINION_UTIL_H

#include <stdbool.h>
#include <stdio.h>

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define DIV_CEIL(a, b) (((a) + (b) - 1) / (b))
#define FAST_DIV(a, log2_b) ((a) >> (log2_b)) /* by powers of two */
#define FAST_MOD(a, b) ((a) & ((b) - 1))      /* b a power of two */
#define AND(a, b) ((a) & (b))

#define STRINGIFY(x) #x
#ifdef PINION_NATIVE
#include "../native/csr.h"
#else
#define read_csr(csr, value) __asm__ volatile("csrr %0, " STRINGIFY(csr) : "=r"(value))
#define write_csr(csr, value) \
    __asm__ volatile("csrw " STRINGIFY(csr) ", %0" ::"rK"(value) : "memory")
#define clear_csr(csr, mask) __asm__ volatile("csrc " STRINGIFY(csr) ", %0" ::"rK"(mask) : "memory")
#define read_register(name, value) __asm__ volatile("mv %0, " STRINGIFY(name) : "=r"(value))
#define write_register(name, value) \
    __asm__ volatile("mv " STRINGIFY(name) ", %0" ::"r"(value) : "memory")
#endif

/* Puts a label into the assembly, to find a place in a trace. */
#define LABEL(name) __asm__ volatile(#name ":" ::: "memory")

/* Ends the program: the whole machine's run. */
#define TERMINATE                                 \
    {                                             \
        *(volatile unsigned int *)0x1b200000 = 1; \
    }

#ifdef CHECK_ASSERTS
#define ASSERT(condition)                                                        \
    if (!(condition)) {                                                          \
        printf("%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
        for (;;)                                                                 \
            TERMINATE                                                            \
    }
#else
#define ASSERT(condition)
#endif

#define SPIN_PRINTF(format, ...) \
    printf("%s:%s:%d: " format, __FILE__, __FUNCTION__, __LINE__, ##__VA_ARGS__)

#ifdef LOG
#define DEBUG_PRINT(format, ...) SPIN_PRINTF(format, ##__VA_ARGS__)
#else
#define DEBUG_PRINT(...)
#endif

#ifdef ENABLE_TRACING
#define TRACING_DUMMY_INSTR() __asm__ volatile("nop")
#else
#define TRACING_DUMMY_INSTR()
#endif

#ifdef PINION_NATIVE
#include "../native/worker.h"

#define user_core_id() (pinion_hart_id() & 0x1f)
#define user_cluster_id() (pinion_hart_id() >> 5 & 0x3f)
#else

/* The core's number in its cluster and its cluster, from tp. */
static inline unsigned int user_core_id(void)
{
    unsigned int id;

    read_register(tp, id);
    return id & 0x1f;
}

static inline unsigned int user_cluster_id(void)
{
    unsigned int id;

    read_register(tp, id);
    return id >> 5 & 0x3f;
}

#endif

#endif
