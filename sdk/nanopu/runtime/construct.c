/* What C++ expects of the machine it runs on, by the names of the C++ ABI: objects that exist before
 * main and end with the program, local ones that are made when they are first met. */
#include <stdio.h>
#include <stdlib.h>
#include "kernel.h"

typedef void constructor_t(void);
extern constructor_t *__init_array_start[], *__init_array_end[];
extern constructor_t *__fini_array_start[], *__fini_array_end[];

/* Where a table begins; it may be empty, which compilers do not believe of two arrays. */
static inline constructor_t **table(constructor_t **start)
{
    __asm__("" : "+r"(start));
    return start;
}

bool pinion_has_constructors(void)
{
    return table(__init_array_start) != __init_array_end;
}

/* Constructs, once: hart 0 calls this before any hart begins with the program. Programs that were
 * written to call it themselves find it done. */
void __libc_init_array(void)
{
    static bool is_done;

    if (is_done)
        return;
    is_done = true;
    for (constructor_t **next = table(__init_array_start); next != __init_array_end; next++)
        (*next)();
}

void __libc_fini_array(void)
{
    static bool is_done;

    if (is_done)
        return;
    is_done = true;
    for (constructor_t **next = table(__fini_array_end); next != __fini_array_start;)
        (*--next)();
}

/* What is called at the end of the program, the last first. */
typedef struct at_exit {
    struct at_exit *next;
    void (*function)(void *);
    void *argument;
} at_exit_t;

static lock_t at_exit_lock;
static at_exit_t *at_exit_list;

/* The program is one piece: there are no objects that come and go with a library. */
void *__dso_handle;

int __cxa_atexit(void (*function)(void *), void *argument, void *dso)
{
    at_exit_t *entry = malloc(sizeof(*entry));

    (void)dso;
    if (!entry)
        return -1;
    uint64_t before = lock(&at_exit_lock);
    *entry = (at_exit_t){ at_exit_list, function, argument };
    at_exit_list = entry;
    unlock(&at_exit_lock, before);
    return 0;
}

/* The argument is one that a function without parameters does not see. */
int atexit(void (*function)(void))
{
    return __cxa_atexit((void (*)(void *))(uintptr_t)function, NULL, NULL);
}

/* Destructors and what else waits for the end. What they register comes first; one that calls exit
 * itself goes on here with the next. */
void pinion_at_exit(void)
{
    at_exit_t *entry;

    do {
        uint64_t before = lock(&at_exit_lock);
        entry = at_exit_list;
        if (entry)
            at_exit_list = entry->next;
        unlock(&at_exit_lock, before);
        if (entry)
            entry->function(entry->argument);
    } while (entry);
    __libc_fini_array();
}

/* A function's static object, made by whoever comes first. Byte 0 of its guard, which the compiler
 * reads itself, says that it is there; the others are ours. Who makes it keeps this hart's interrupts
 * off: another thread of it could not wait for the end, for nobody might go on with this one. */
typedef struct {
    volatile uint8_t is_there, interrupts;
    volatile uint32_t hart; /* that makes it, + 1 */
} guard_t;
_Static_assert(sizeof(guard_t) == sizeof(uint64_t), "the ABI's guards have 64 bits");

int __cxa_guard_acquire(guard_t *guard)
{
    uint32_t own = (uint32_t)control(CONTROL_HART) + 1;

    if (__atomic_load_n(&guard->is_there, __ATOMIC_ACQUIRE))
        return 0;
    uint64_t before = hold();
    for (;;) {
        uint32_t maker = 0;
        if (__atomic_compare_exchange_n(&guard->hart, &maker, own, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            guard->interrupts = before != 0;
            return 1;
        }
        if (__atomic_load_n(&guard->is_there, __ATOMIC_ACQUIRE)) {
            release(before);
            return 0;
        }
        if (maker == own) {
            printf("nanoKernel: hart %u: a static object needs itself to be made\n", own - 1);
            abort();
        }
    }
}

void __cxa_guard_release(guard_t *guard)
{
    uint64_t before = guard->interrupts ? MSTATUS_MIE : 0;

    /* `hart` stays taken: nobody makes it again. */
    __atomic_store_n(&guard->is_there, 1, __ATOMIC_RELEASE);
    release(before);
}

/* Where calls of functions lead that no class has defined. */
void __cxa_pure_virtual(void)
{
    printf("nanoKernel: hart %lu: a pure virtual function was called: an object is used before its "
           "constructor is done, or after its destructor\n", control(CONTROL_HART));
    abort();
}

void __cxa_deleted_virtual(void)
{
    printf("nanoKernel: hart %lu: a deleted virtual function was called\n", control(CONTROL_HART));
    abort();
}
