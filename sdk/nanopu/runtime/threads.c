/* Threads: a save area, a stack and a context (port) each. What switches them is in trap.S. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"
#include "lnic.h"

/* Row: hart. Column 0 belongs to the nanoKernel (context 0xffff), column c + 1 to context c. The
 * first word, which no switch uses, is the array's address: sources that take `threads` for a
 * pointer get what they expect. */
struct thread_t threads[PINION_HARTS][AREAS_PER_HART] __attribute__((aligned(256))) = {
    [0][0].regs[0] = (uintptr_t)threads,
};

/* FP registers of the threads, each as far from pinion_fp_areas as its save area from `threads`. */
double pinion_fp_areas[PINION_HARTS][AREAS_PER_HART][32] __attribute__((aligned(256)));
_Static_assert(sizeof(pinion_fp_areas) == sizeof(threads), "trap.S counts on it");

/* Of all harts. */
uint64_t num_threads;

static struct thread_t *own_areas(void)
{
    return threads[control(CONTROL_HART)];
}

void scheduler_init(void)
{
    uint64_t before = hold();
    struct thread_t *areas = own_areas();

    csr_clear(mie, LNIC_INT_ENABLE | TIMER_INT_ENABLE);
    *(volatile uint64_t *)control(CONTROL_MTIMECMP) = UINT64_MAX;
    memset(areas + 1, 0, (AREAS_PER_HART - 1) * sizeof(*areas));
    control(CONTROL_FP_OWNER) = 0;
    control(CONTROL_THREADS) = 0;
    csr_write(mscratch, areas);
    release(before);
}

typedef int thread_main_t(int argc, char **argv, int cid, int nc, uint64_t id, uint64_t priority);

/* What a thread runs first; its return address leads nowhere. A context cannot be given back, so a
 * thread that has returned stays and throws away what still comes for it. A code other than 0 of
 * context 0's thread ends the program; that of another waits until all threads have returned. */
static void app_wrapper(int argc, char **argv, int cid, int nc, uint64_t id, uint64_t priority,
                        thread_main_t *fn)
{
    int status = fn(argc, argv, cid, nc, id, priority);

    hold();
    if (status != 0 && id != 0) {
        printf("nanoKernel: hart %d: the thread of context %lu returned %d\n", cid, id, status);
        pinion_keep_status(status);
        status = 0;
    }
    if (--control(CONTROL_THREADS) == 0 || status != 0)
        pinion_finish(status);
    release(MSTATUS_MIE);
    for (;;) {
        lnic_wait();
        for (uint64_t words = lnic_words(lnic_header_bytes(lnic_read())); words; words--)
            (void)lnic_read();
        lnic_msg_done();
    }
}

int start_thread(int (*fn)(), uint64_t id, uint64_t priority)
{
    char **argv;
    uint64_t hart = control(CONTROL_HART);
    int argc = pinion_arguments(&argv);
    uintptr_t own, gp_value;

    if (id >= MAX_THREADS) {
        printf("nanoKernel: hart %lu: no thread %lu, ids are 0 to %d\n", hart, id, MAX_THREADS - 1);
        exit(ERR_THREADS_EXHAUSTED);
    }
    __asm__("mv %0, tp" : "=r"(own));
    __asm__("mv %0, gp" : "=r"(gp_value));
    /* The lower half of the hart's block: what is above belongs to main. */
    uintptr_t stack = own + HART_BLOCK_BYTES / 2 - id * STACK_SIZE_BYTES;
    struct thread_t *area = &own_areas()[id + 1];
    memset(area, 0, sizeof(*area));
    area->regs[REG_SP] = stack & ~(uintptr_t)15;
    area->regs[REG_GP] = gp_value;
    area->regs[REG_TP] = own;
    area->regs[REG_A0] = (uintptr_t)argc;
    area->regs[REG_A1] = (uintptr_t)argv;
    area->regs[REG_A2] = hart;
    area->regs[REG_A3] = PINION_HARTS;
    area->regs[REG_A4] = id;
    area->regs[REG_A5] = priority;
    area->regs[REG_A6] = (uintptr_t)fn;
    area->epc = (uintptr_t)app_wrapper;
    control(CONTROL_THREADS)++;
    __atomic_fetch_add(&num_threads, 1, __ATOMIC_RELAXED);
    lnic_add_context(id, priority);
    return 0;
}

/* Begins with the thread of the lowest priority value (then the lowest id), whether it has messages or
 * not: it may have to announce itself, and a pulse for a message that came earlier is lost. */
static void __attribute__((noreturn)) run(uint64_t source)
{
    struct thread_t *areas = own_areas();
    struct thread_t *first = NULL;

    hold();
    csr_clear(mie, LNIC_INT_ENABLE | TIMER_INT_ENABLE);
    for (uint64_t id = 0; id < MAX_THREADS; id++) {
        struct thread_t *area = &areas[id + 1];
        if (area->epc && (!first || area->regs[REG_A5] < first->regs[REG_A5]))
            first = area;
    }
    if (!first) {
        printf("nanoKernel: hart %lu has no thread to run\n", control(CONTROL_HART));
        exit(ERR_NO_THREAD_SELECTED);
    }
    csr_clear(mstatus, FS_BITS);
    csr_set(mie, source);
    pinion_dispatch(first, first->regs[REG_A4], first->regs[REG_A5]);
}

void scheduler_run(void)
{
    run(LNIC_INT_ENABLE);
}

void scheduler_run_timer(void)
{
    volatile uint64_t *next = (volatile uint64_t *)control(CONTROL_MTIMECMP);

    *next = *(volatile uint64_t *)CLINT_MTIME + TIME_SLICE_RTC_TICKS;
    run(TIMER_INT_ENABLE);
}
