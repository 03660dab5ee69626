/* Threads of the nanoKernel: each is bound to one context (port) and scheduled by the hardware, or by
 * a timer for comparison. Names as in the nanoPU's own header. */
#ifndef PINION_LNIC_SCHEDULER_H
#define PINION_LNIC_SCHEDULER_H

#ifndef __ASSEMBLER__
#include <stdint.h>
#include "encoding.h"
#endif

#define MAX_THREADS 10 /* per hart; their ids, which are their contexts, are 0 to 9 */
#define TIME_SLICE_RTC_TICKS 5 /* of the timer-driven scheduler: 5 us of the 1 MHz time base */
#define NANOKERNEL_CONTEXT 0xffff /* the context of a hart that runs no thread */

/* Bits of mie, causes, the interruptor's registers. */
#define TIMER_INT_ENABLE 0x80
#define TIMER_INT_CAUSE 0x8000000000000007
#define LNIC_INT_ENABLE 0x10000
#define LNIC_INT_CAUSE 0x8000000000000010
#define MTIME_PTR_LO 0x200bff8
#define MTIMECMP_PTR_LO 0x2004000 /* hart 0's; 8 bytes each */

/* Exit codes of the nanoKernel. */
#define ERR_NO_THREAD_SELECTED 9
#define ERR_THREADS_EXHAUSTED 22
#define ERR_UNKNOWN_EXCEPTION 99

/* A saved thread: registers x0 to x29, then the program counter, then a word of the nanoKernel's. */
#define NUM_REGS 30
#define REG_SP 2
#define REG_GP 3
#define REG_TP 4
#define REG_A0 10
#define REG_A1 11
#define REG_A2 12
#define REG_A3 13
#define REG_A4 14
#define REG_A5 15
#define REG_A6 16

/* Bytes of a thread's stack. Not a multiple of 4 KiB: the threads' stacks share the cache. */
#define STACK_SIZE_BYTES 4352

#ifndef __ASSEMBLER__

#define csr_read(csr)                                                                  \
    __extension__({                                                                    \
        unsigned long csr_value_;                                                      \
        __asm__ volatile("csrr %0, " PINION_TEXT(csr) : "=r"(csr_value_) : : "memory"); \
        csr_value_;                                                                    \
    })
#define PINION_CSR_DO_(instruction, csr, value)               \
    __extension__({                                           \
        __asm__ volatile(instruction " " PINION_TEXT(csr) ", %0" \
                         : : "rK"((unsigned long)(value)) : "memory"); \
    })
#define csr_write(csr, value) PINION_CSR_DO_("csrw", csr, value)
#define csr_set(csr, bits) PINION_CSR_DO_("csrs", csr, bits)
#define csr_clear(csr, bits) PINION_CSR_DO_("csrc", csr, bits)

#ifdef __cplusplus
extern "C" {
#endif

/* Prepares this hart for threads: forgets those it may have had. */
void scheduler_init(void);

/* Makes a thread of this hart for context `id`: binds the context, and calls
 * fn(argc, argv, cid, nc, id, priority) once the scheduler runs; `fn` may take fewer of these. A hart
 * whose threads have all returned is done. A thread of context 0 that returns another code than 0 ends
 * the program with it; another thread's is printed, and is the program's once all threads of all harts
 * have returned. Returns 0; ids beyond MAX_THREADS end the program. */
#ifdef __cplusplus
int pinion_start_thread(int (*fn)(), uint64_t id, uint64_t priority) __asm__("start_thread");
#else
int start_thread(int (*fn)(), uint64_t id, uint64_t priority);
#endif

/* Gives this hart to its threads: switched by the NIC's interrupt, or every TIME_SLICE_RTC_TICKS by
 * the timer. The thread with the lowest priority value starts. Do not return. */
void scheduler_run(void) __attribute__((noreturn));
void scheduler_run_timer(void) __attribute__((noreturn));

#ifdef __cplusplus
}

template <typename... Parameters>
inline int start_thread(int (*fn)(Parameters...), uint64_t id, uint64_t priority)
{
    return pinion_start_thread(reinterpret_cast<int (*)()>(fn), id, priority);
}
#endif

#endif /* __ASSEMBLER__ */
#endif
