/* From boot to the program's main functions, and how a program ends. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
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
/* The first code other than 0 of a thread that did not end the program. */
static int kept_status;

void pinion_keep_status(int status)
{
    int none = 0;

    __atomic_compare_exchange_n(&kept_status, &none, status, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

/* A hart's end: with a code other than 0 the program's, else the program ends when all harts have. */
void pinion_finish(int status)
{
    if (status != 0)
        exit(status);
    if (__atomic_add_fetch(&harts_done, 1, __ATOMIC_ACQ_REL) == harts_working)
        exit(__atomic_load_n(&kept_status, __ATOMIC_ACQUIRE));
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

/* Lets hart 0 construct what the program has before its main functions, and the others wait for it.
 * Programs that have nothing of the kind lose no time. */
static void construct(int cid)
{
    static volatile bool is_done;

    if (!pinion_has_constructors())
        return;
    if (cid == 0) {
        __libc_init_array();
        __atomic_store_n(&is_done, true, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE))
        ;
}

/* One hart, on its own stack. */
void pinion_start(int cid, int nc)
{
    char **argv;

    construct(cid);
    thread_entry(cid, nc);
    if (cid != 0)
        pinion_park();
    harts_working = 1;
    int argc = pinion_arguments(&argv);
    exit(main(argc, argv));
}

/* The first hart that comes here ends the program, also from within what it calls. */
void exit(int status)
{
    static uint64_t leaving;
    uint64_t nobody = 0, own = control(CONTROL_HART) + 1;

    hold();
    if (!__atomic_compare_exchange_n(&leaving, &nobody, own, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE) &&
        nobody != own)
        pinion_park();
    pinion_at_exit();
    _exit(status);
}

/* Leaves through tohost: the code shifted left, with bit 0 set. */
void _exit(int status)
{
    hold();
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (;;)
        tohost = (uint64_t)(uint32_t)status << 1 | 1;
}

void _Exit(int status)
{
    _exit(status);
}

void abort(void)
{
    _exit(134);
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
    _exit(ERR_UNKNOWN_EXCEPTION);
}
