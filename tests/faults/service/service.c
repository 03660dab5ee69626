/* A program that goes wrong in the way its first argument says. The line that a report must name
 * ends in a comment "at: NAME"; what else it must say stands in ../run.py. */
#include <assert.h>
#include <lnic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Zero, without the compiler knowing. */
static volatile uint64_t nothing;

static inline uint64_t load(uint64_t address)
{
    return *(volatile uint64_t *)address; /* at: null */
}

static __attribute__((noinline)) uint64_t depth_of(uint64_t node) /* near: stack */
{
    volatile uint64_t path[1024];

    path[node % 1024] = node;                                    /* near: stack */
    return nothing ? 0 : depth_of(node + 1) + path[node % 1024]; /* near: stack */
}

/* Takes a message for the address of a number. */
static uint64_t follow(void)
{
    lnic_add_context(0, 0);
    lnic_wait();
    lnic_read();
    return load(lnic_read());
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "null") == 0)
        printf("%lu\n", load(nothing));
    if (strcmp(how, "call") == 0)
        ((void (*)(void))(uintptr_t)nothing)(); /* at: call */
    if (strcmp(how, "stack") == 0)
        printf("%lu\n", depth_of(1));
    if (strcmp(how, "misaligned") == 0)
        __atomic_fetch_add((uint64_t *)((uintptr_t)argv + 1), 1, __ATOMIC_RELAXED); /* at: misaligned */
    if (strcmp(how, "nowhere") == 0)
        memset((void *)(uintptr_t)0x40000000, 1, 64); /* at: nowhere */
    if (strcmp(how, "illegal") == 0)
        __asm__ volatile(".4byte 0"); /* near: illegal */
    if (strcmp(how, "message") == 0)
        printf("%lu\n", follow());
    if (strcmp(how, "code") == 0)
        return 99;
    return 0;
}
