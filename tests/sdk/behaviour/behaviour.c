/* What the runtime promises: init_handlers runs once, before any packet; .data, .bss and
 * .data_tiny_l1 have their first values, in every cluster; cycles() returns and goes forward;
 * 64-bit and floating-point arithmetic work; a fault ends the handler and nothing else, so that
 * promises_ph still prints "good 0" on the same HPU. The cause each faulting handler is to be
 * reported with stands in its comment. */
#include <assert.h>
#include <handler.h>
#include <packets.h>
#include <spin_host.h>
#include <string.h>

static volatile uint32_t initialised = 0x600d;
static volatile uint32_t zeroed[8];
static volatile uint32_t per_cluster __attribute__((section(".data_tiny_l1"))) = 0x71;
static volatile uint32_t times_initialised;
static volatile uint64_t large = 0x0123456789abcdefull, divisor = 1000003;

/* Prints "good N" with N the number of the first promise that is broken, 0 for none. */
__handler__ void promises_ph(handler_args_t *args)
{
    uint32_t before = cycles(), broken = 0, id;
    char text[32];

    read_register(tp, id);
    if (times_initialised != 1)
        broken = 1;
    else if (initialised != 0x600d || zeroed[3] != 0 || per_cluster < 0x71)
        broken = 2;
    else if (cycles() - before - 1 > 10000)
        broken = 3;
    else if (args->hpu_gid != args->cluster_id * NB_CORES + args->hpu_id ||
             rt_core_id() != args->hpu_id || rt_cluster_id() != args->cluster_id)
        broken = 4;
    else if (snprintf(text, sizeof(text), "%s-%03d-%#x", "ab", 7, 255) != 11 ||
             strcmp(text, "ab-007-0xff"))
        broken = 5;
    else if (large / divisor != 81985283260u || large % divisor != 637115u ||
             large * divisor != 0x7530eca8640f838dull)
        broken = 6;
    else if ((int)((float)args->hpu_gid * 1.5f * 2.0f) != (int)args->hpu_gid * 3)
        broken = 7;
    per_cluster++;
    push_counter(&__host_data.counters[0], 1);
    printf("good %u\n", (unsigned)broken);
}

/* Cause 2: user mode may not read machine CSRs. */
__handler__ void illegal_ph(handler_args_t *args)
{
    uint32_t id;

    (void)args;
    read_csr(mhartid, id);
    printf("not reached %u\n", (unsigned)id);
}

/* Cause 5. */
__handler__ void wild_load_ph(handler_args_t *args)
{
    (void)args;
    printf("not reached %u\n", (unsigned)*(volatile uint32_t *)0x40000000);
}

/* Cause 7. */
__handler__ void wild_store_ph(handler_args_t *args)
{
    (void)args;
    *(volatile uint32_t *)0x40000000 = 1;
    printf("not reached\n");
}

/* Cause 8: not a call the runtime knows. */
__handler__ void environment_call_ph(handler_args_t *args)
{
    (void)args;
    printf("not reached %u\n", (unsigned)pinion_ecall(77, 0, 0, 0, 0, 0, 0, 0));
}

/* Cause 3, after the assertion's text. */
__handler__ void assertion_ph(handler_args_t *args)
{
    assert(args == NULL);
    printf("not reached\n");
}

/* Cause 7, with every register the runtime holds something in overwritten. */
__handler__ void disorder_ph(handler_args_t *args)
{
    (void)args;
    __asm__ volatile(
        "li s0, -1\n\tli s1, -1\n\tli tp, 0\n\tli gp, 3\n\tli sp, 0\n\tsw zero, 0(sp)");
}

/* Overruns its stack of 1 KiB by some 300 bytes. Cause 7 where the PMP guards stacks; cause 24 with
 * PINION_STACK_CHECK; else unnoticed, in the stack of the core below. */
static __attribute__((noinline)) uint32_t recurse(uint32_t depth)
{
    volatile uint32_t frame[16];

    for (uint32_t i = 0; i < 16; i++)
        frame[i] = depth | 1;
    return depth == 0 ? frame[1] : recurse(depth - 1) + frame[2];
}

__handler__ void overrun_ph(handler_args_t *args)
{
    (void)args;
    zeroed[7] = recurse(14);
    zeroed[7] = 0;
}

/* The watchdog's. */
__handler__ void endless_ph(handler_args_t *args)
{
    (void)args;
    for (;;)
        asm_mem_fence();
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    *hh = NULL;
    *ph = promises_ph;
    *th = NULL;
    *handler_mem_ptr = (void *)&initialised;
    times_initialised++;
}
