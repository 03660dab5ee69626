/* What the nanoKernel's assembly and C share: a hart's control block, save areas, devices. */
#ifndef PINION_KERNEL_H
#define PINION_KERNEL_H

#include "lnic-scheduler.h"

/* A hart's block of memory above _end: control block, thread-local data, stack. tp points behind the
 * control block, so its words have negative offsets that never change. */
#define HART_BLOCK_SHIFT 17
#define HART_BLOCK_BYTES (1 << HART_BLOCK_SHIFT)
#define CONTROL_BYTES 64
#define CONTROL_CONTEXTS -8 /* save area of context 0; that of context c is c * 256 behind it */
#define CONTROL_MTIMECMP -16 /* address of this hart's mtimecmp */
#define CONTROL_FP_OWNER -24 /* save area of the thread whose values the FP registers hold, or 0 */
#define CONTROL_HART -32
#define CONTROL_BARRIER -40 /* this hart's phase at the barrier */
#define CONTROL_RANDOM -48 /* state of rand() */
#define CONTROL_THREADS -56 /* threads of this hart that have not returned */

/* A save area, 256 bytes: register x<n> at 8 * n, then the pc; the first word, x0's, is fcsr. */
#define AREA_SHIFT 8
#define AREA_PC 240
#define AREA_OWNS_FP 248 /* 1 while the FP registers hold this thread's values */
#define AREAS_PER_HART (MAX_THREADS + 2) /* the nanoKernel's own, the contexts', one spare */

#define CLINT_MSIP 0x2000000
#define CLINT_MTIMECMP 0x2004000
#define CLINT_MTIME 0x200bff8

#define FS_BITS 0x6000 /* of mstatus: off, or on and changed */

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread_t {
    uintptr_t regs[NUM_REGS];
    uintptr_t epc;
    uintptr_t padding;
};
_Static_assert(sizeof(struct thread_t) == 1 << AREA_SHIFT, "the assembly counts on it");

extern struct thread_t threads[PINION_HARTS][AREAS_PER_HART];
extern uint64_t num_threads;

/* A word of this hart's control block. */
#define control(offset)                                                             \
    (*({                                                                            \
        uintptr_t tp_;                                                              \
        __asm__("mv %0, tp" : "=r"(tp_));                                           \
        (uint64_t *)(tp_ + (offset));                                               \
    }))

/* Keeps this hart's interrupts off; gives what `release` wants back. */
static inline uint64_t hold(void)
{
    uint64_t before;

    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(before) : : "memory");
    return before & MSTATUS_MIE;
}

static inline void release(uint64_t before)
{
    __asm__ volatile("csrs mstatus, %0" : : "r"(before) : "memory");
}

/* Between harts; the holder keeps its interrupts off, for the thread that would release the lock
 * might not run again before a message comes for it. */
typedef struct {
    volatile uint32_t taken;
} lock_t;

static inline uint64_t lock(lock_t *lock)
{
    uint64_t before = hold();

    while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
        while (lock->taken)
            ;
    return before;
}

static inline void unlock(lock_t *lock, uint64_t before)
{
    __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
    release(before);
}

/* Writes text to the host's standard output (or the UART). */
void pinion_write(const char *text, size_t bytes);
/* Fetches the command line. */
int pinion_arguments(char ***argv);
/* Keeps a code for the end of the program. */
void pinion_keep_status(int status);
/* Ends this hart's part in the program, or the program. */
void pinion_finish(int status) __attribute__((noreturn));
/* Constructs what C++ has before main; does what waits for the end of the program: construct.c. */
bool pinion_has_constructors(void);
void __libc_init_array(void);
void pinion_at_exit(void);
/* Lets this hart sleep for ever. */
void pinion_park(void) __attribute__((noreturn));
/* Leaves C for a thread: trap.S. */
void pinion_dispatch(struct thread_t *area, uint64_t context, uint64_t priority)
    __attribute__((noreturn));

#endif
#endif
