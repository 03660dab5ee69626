/* What the runtime's own C files share. */
#ifndef PINION_RT_H
#define PINION_RT_H

#include <stdint.h>

#ifdef PINION_NATIVE
#include "../native/worker.h"
#endif

/* This core's hart id, which boot.S keeps in tp: bits 10:5 cluster, 4:0 core. */
static inline uint32_t hart_id(void)
{
#if defined(PINION_NATIVE)
    return pinion_hart_id();
#elif defined(__riscv)
    uint32_t id;
    __asm__("mv %0, tp" : "=r"(id));
    return id;
#else
    return 0;
#endif
}

/* Words at any address: RI5CY splits a misaligned access into two. */
typedef uint32_t __attribute__((aligned(1), may_alias)) any_word_t;

#endif
