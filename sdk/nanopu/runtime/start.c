/* From boot to the program's main functions, and how a program ends. */
#include <stdio.h>
#include <stdlib.h>
#include "encoding.h"
#include "kernel.h"

extern volatile uint64_t tohost;

/* A program defines main, which runs on hart 0 alone, or core_main, which every hart runs, together
 * with an is_single_core that says no. */
int core_main(int argc, char **argv, int cid, int nc);
int main(int argc, char **argv);
bool is_single_core(void);

__attribute__((weak)) bool is_single_core(void)
{
    return true;
}

__attribute__((weak)) int main(int argc, char **argv)
{
    return core_main(argc, argv, 0, PINION_HARTS);
}

__attribute__((weak)) int core_main(int argc, char **argv, int cid, int nc)
{
    (void)argc;
    (void)argv;
    (void)nc;
    if (cid == 0)
        printf("nanoKernel: the program defines neither main nor core_main\n");
    return EXIT_FAILURE;
}

/* Harts that have a part in the program, and those that are done with it. */
static uint64_t harts_working = PINION_HARTS, harts_done;

/* A hart's end: with a code other than 0 the program's, else the program ends when all harts have. */
void pinion_finish(int status)
{
    if (status != 0 || __atomic_add_fetch(&harts_done, 1, __ATOMIC_ACQ_REL) == harts_working)
        exit(status);
    pinion_park();
}

/* A program may define this too, to have every hart from the beginning; it returns to main. */
__attribute__((weak)) void thread_entry(int cid, int nc)
{
    char **argv;

    if (is_single_core())
        return;
    int argc = pinion_arguments(&argv);
    pinion_finish(core_main(argc, argv, cid, nc));
}

/* One hart, on its own stack. */
void pinion_start(int cid, int nc)
{
    char **argv;

    thread_entry(cid, nc);
    if (cid != 0)
        pinion_park();
    harts_working = 1;
    int argc = pinion_arguments(&argv);
    exit(main(argc, argv));
}

/* Leaves through tohost: the code shifted left, with bit 0 set. */
void exit(int status)
{
    hold();
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (;;)
        tohost = (uint64_t)(uint32_t)status << 1 | 1;
}

void abort(void)
{
    exit(134);
}

void __assert_fail(const char *condition, const char *file, int line)
{
    printf("%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

void __assert(const char *condition, const char *file, int line)
{
    __assert_fail(condition, file, line);
}

/* Where trap.S goes with what no program should have done. */
void pinion_unexpected(uint64_t cause, uint64_t pc, uint64_t value, uint64_t context)
{
    printf("nanoKernel: hart %lu, context %#lx: trap with cause %#lx at %#lx, value %#lx\n",
           control(CONTROL_HART), context, cause, pc, value);
    exit(ERR_UNKNOWN_EXCEPTION);
}
