/* Core identity, machine CSR numbers and environment calls. */
#ifndef PINION_PSPIN_RT_H
#define PINION_PSPIN_RT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "pinion_map.h"

#define PAGE_SIZE 4096

/* CSR numbers, for machine-mode code; a handler that touches one is stopped. */
#define PULP_CSR_MSTATUS 0x300
#define PULP_CSR_MTVEC 0x305
#define PULP_CSR_MCOUNTINHIBIT 0x320
#define PULP_CSR_MEPC 0x341
#define PULP_CSR_MCAUSE 0x342
#define PULP_CSR_MTVAL 0x343
#define PULP_CSR_MHARTID 0xf14
#define PULP_CSR_PRIVLV 0xc10
#define PULP_CSR_PMPCFG0 0x3a0
#define PULP_CSR_PMPCFG1 0x3a1
#define PULP_CSR_PMPCFG2 0x3a2
#define PULP_CSR_PMPCFG3 0x3a3
#define PULP_CSR_PMPADDR0 0x3b0
#define PULP_CSR_PMPADDR1 0x3b1
#define PULP_CSR_PMPADDR2 0x3b2
#define PULP_CSR_PMPADDR3 0x3b3
#define PULP_CSR_PMPADDR4 0x3b4
#define PULP_CSR_PMPADDR5 0x3b5
#define PULP_CSR_PMPADDR6 0x3b6
#define PULP_CSR_PMPADDR7 0x3b7
#define PULP_CSR_PMPADDR8 0x3b8
#define PULP_CSR_PMPADDR9 0x3b9
#define PULP_CSR_PMPADDR10 0x3ba
#define PULP_CSR_PMPADDR11 0x3bb
#define PULP_CSR_PMPADDR12 0x3bc
#define PULP_CSR_PMPADDR13 0x3bd
#define PULP_CSR_PMPADDR14 0x3be
#define PULP_CSR_PMPADDR15 0x3bf

#ifdef PINION_NATIVE
#include "../native/worker.h"
#else

/* Environment call: up to seven arguments in a0 to a6, the number in a7, the result in a0. The
 * runtime's trap handler uses t0 and t1. */
static inline uint32_t pinion_ecall(uint32_t number, uint32_t arg0, uint32_t arg1, uint32_t arg2,
                                    uint32_t arg3, uint32_t arg4, uint32_t arg5, uint32_t arg6)
{
    register uint32_t a0 __asm__("a0") = arg0;
    register uint32_t a1 __asm__("a1") = arg1;
    register uint32_t a2 __asm__("a2") = arg2;
    register uint32_t a3 __asm__("a3") = arg3;
    register uint32_t a4 __asm__("a4") = arg4;
    register uint32_t a5 __asm__("a5") = arg5;
    register uint32_t a6 __asm__("a6") = arg6;
    register uint32_t a7 __asm__("a7") = number;

    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a6), "r"(a7)
                     : "t0", "t1", "memory");
    return a0;
}

/* Returns the hart id, which the runtime keeps in tp: user mode may not read the CSR. */
static inline uint32_t pinion_hart_id(void)
{
    uint32_t id;

    __asm__("mv %0, tp" : "=r"(id));
    return id;
}

#endif

#define ecall(number, a0, a1, a2, a3, a4, a5, a6, result) \
    ((result) = pinion_ecall(number, a0, a1, a2, a3, a4, a5, a6))
#define ecall_1(number, a0, result) ecall(number, a0, 0, 0, 0, 0, 0, 0, result)
#define ecall_0(number, result) ecall_1(number, 0, result)

/* Returns this core's number within its cluster. */
static inline uint32_t rt_core_id(void)
{
    return pinion_hart_id() & 0x1f;
}

/* Returns this core's cluster. */
static inline uint32_t rt_cluster_id(void)
{
    return pinion_hart_id() >> 5 & 0x3f;
}

#endif
