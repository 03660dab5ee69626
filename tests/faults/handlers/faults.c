/* Handlers that go wrong, each in its own way. The line that a report must name ends in a comment
 * "at: NAME"; what else it must say stands in ../run.py. */
#include <assert.h>
#include <handler.h>
#include <packets.h>
#include <spin_dma.h>
#include <string.h>

/* Zero, without the compiler knowing. */
static volatile uint32_t nothing;

/* ---- Null pointers ---- */

struct entry {
    uint32_t key, value;
    struct entry *next;
};

static inline uint32_t value_of(const struct entry *entry)
{
    return *(volatile const uint32_t *)&entry->value; /* at: null */
}

__handler__ void null_ph(handler_args_t *args)
{
    const struct entry *found = (const struct entry *)(uintptr_t)nothing;

    args->task->handler_mem == NULL ? (void)0 : (void)printf("value %u\n", (unsigned)value_of(found));
}

__handler__ void null_call_ph(handler_args_t *args)
{
    handler_fn callback = (handler_fn)(uintptr_t)nothing;

    callback(args); /* at: null_call */
    printf("not reached\n");
}

/* ---- Other people's memory ---- */

__handler__ void tenant_ph(handler_args_t *args)
{
    volatile uint8_t *memory = args->task->handler_mem;

    memory[args->task->handler_mem_size + 1024 + nothing] = 1; /* at: tenant */
}

__handler__ void overshoot_ph(handler_args_t *args)
{
    volatile uint8_t *memory = args->task->handler_mem;

    for (uint32_t i = 0; i <= args->task->handler_mem_size; i++)
        memory[i] = 0; /* at: overshoot */
}

__handler__ void packet_end_ph(handler_args_t *args)
{
    volatile uint8_t *packet = args->task->pkt_mem;
    uint32_t sum = 0;

    for (uint32_t i = 0; i < args->task->pkt_mem_size + 1; i++)
        sum += packet[i]; /* at: packet_end */
    printf("not reached %u\n", (unsigned)sum);
}

__handler__ void program_ph(handler_args_t *args)
{
    *(volatile uint32_t *)(uintptr_t)((uintptr_t)&program_ph & ~3u) = nothing; /* at: program */
    (void)args;
}

__handler__ void nowhere_ph(handler_args_t *args)
{
    memcpy((void *)0x40000000, args->task->pkt_mem, args->task->pkt_mem_size); /* at: nowhere */
    printf("not reached\n");
}

/* ---- Registers ---- */

__handler__ void register_ph(handler_args_t *args)
{
    (void)args;
    *(volatile uint32_t *)0x1b200000 = 1; /* at: register */
}

/* ---- Commands ---- */

__handler__ void window_ph(handler_args_t *args)
{
    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
    spin_cmd_t command;

    spin_dma_to_host(host + args->task->host_mem_size, (uint32_t)args->task->pkt_mem, 64, 0,
                     &command); /* near: window */
    nothing = 0; /* so that the call above is not the last thing done */
}

/* ---- Instructions ---- */

__handler__ void misaligned_ph(handler_args_t *args)
{
    amo_add((volatile int32_t *)((uint8_t *)args->task->handler_mem + 2), 1); /* near: misaligned */
}

__handler__ void illegal_ph(handler_args_t *args)
{
    (void)args;
    __asm__ volatile(".4byte 0"); /* near: illegal */
}

__handler__ void assertion_ph(handler_args_t *args)
{
    assert(args == NULL); /* at: assertion */
}

__handler__ void division_ph(handler_args_t *args)
{
    (void)args;
    printf("%d\n", (int)(7 / (int32_t)nothing)); /* at: division */
}

/* ---- Without an end ---- */

static __attribute__((noinline)) uint32_t depth_of(uint32_t node) /* near: stack */
{
    volatile uint32_t path[16];

    path[node % 16] = node;                                    /* near: stack */
    return nothing ? 0 : depth_of(node + 1) + path[node % 16]; /* near: stack */
}

__handler__ void stack_ph(handler_args_t *args)
{
    printf("not reached %u\n", (unsigned)depth_of(args->task->pkt_mem_size));
}

static __attribute__((noinline)) uint32_t look(const volatile uint32_t *flag) /* near: loop */
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < 8; i++)
        all |= flag[i]; /* near: loop */
    return all;
}

__handler__ void loop_ph(handler_args_t *args)
{
    const volatile uint32_t *flags = args->task->handler_mem;

    while (look(flags) == 0)
        ; /* near: loop */
    printf("not reached\n");
}
