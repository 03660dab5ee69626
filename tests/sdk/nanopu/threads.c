/* The older way to threads: the program does itself what scheduler_run does today. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "lnic.h"
#include "lnic-scheduler.h"

int first_main(void)
{
    while (1) {
        lnic_wait();
        uint64_t app_hdr = lnic_read();
        lnic_write_r(app_hdr);
        uint64_t stall_duration = lnic_read();
        for (int i = 0; i < stall_duration; i++) {
            asm volatile("nop");
        }
        lnic_write_r(stall_duration);
        lnic_msg_done();
    }
    return 0;
}

int second_main(void)
{
    while (1) {
        lnic_wait();
        lnic_copy();
        lnic_copy();
        lnic_msg_done();
    }
    return 0;
}

extern uint64_t num_threads;
struct thread_t {
    uintptr_t regs[NUM_REGS];
    uintptr_t epc;
    uintptr_t padding;
} __attribute__((packed));
extern struct thread_t* threads;

int main(uint64_t argc, char** argv)
{
    uint64_t* mtime_ptr_lo = MTIME_PTR_LO;
    uint64_t* mtimecmp_ptr_lo = MTIMECMP_PTR_LO;
    *mtimecmp_ptr_lo = *mtime_ptr_lo + TIME_SLICE_RTC_TICKS;
    csr_write(mscratch, &threads[0]);
    start_thread(first_main, 0, 0);
    start_thread(second_main, 1, 0);
    csr_write(0x53, NANOKERNEL_CONTEXT);
    csr_write(0x55, num_threads - 1);
    csr_set(mie, LNIC_INT_ENABLE);
    csr_clear(mie, TIMER_INT_ENABLE);
    printf("%d %d %d %lx\n", MAX_THREADS, ERR_THREADS_EXHAUSTED, REG_A6, csr_read(mie));
    asm volatile ("wfi");
    while (1);
    return 0;
}
