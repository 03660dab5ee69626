/* Handlers that go wrong, each in its own way, and one that counts and answers: what the native
 * engine must survive. The fault each is to be reported with stands in ../run.py. */
#include <assert.h>
#include <handler.h>
#include <packets.h>
#include <string.h>

static volatile uint32_t started;
static volatile int32_t nothing;

/* Counts in handler memory, prints, and sends the packet back. */
__handler__ void good_ph(handler_args_t *args)
{
    spin_cmd_t command;
    uint32_t number = (uint32_t)amo_add(args->task->handler_mem, 1);

    if (started == 1 && number % 16 == 0)
        printf("good %u\n", (unsigned)number);
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &command);
}

__handler__ void null_load_ph(handler_args_t *args)
{
    (void)args;
    printf("not reached %u\n", (unsigned)*(volatile uint32_t *)(uintptr_t)(nothing * 4));
}

__handler__ void wild_store_ph(handler_args_t *args)
{
    (void)args;
    *(volatile uint32_t *)0x40000000 = 1;
    printf("not reached\n");
}

__handler__ void wild_copy_ph(handler_args_t *args)
{
    memcpy((void *)0x40000000, args->task->pkt_mem, args->task->pkt_mem_size);
    printf("not reached\n");
}

__handler__ void wild_jump_ph(handler_args_t *args)
{
    ((handler_fn)(uintptr_t)0x40000000)(args);
    printf("not reached\n");
}

__handler__ void division_ph(handler_args_t *args)
{
    (void)args;
    printf("not reached %d\n", (int)(7 / nothing));
}

__handler__ void illegal_ph(handler_args_t *args)
{
    uint32_t id;

    (void)args;
    read_csr(mhartid, id);
    printf("not reached %u\n", (unsigned)id);
}

__handler__ void assertion_ph(handler_args_t *args)
{
    assert(args == NULL);
    printf("not reached\n");
}

static __attribute__((noinline)) uint32_t recurse(uint32_t depth)
{
    volatile uint32_t frame[64];

    frame[depth % 64] = depth;
    return nothing ? 0 : recurse(depth + 1) + frame[depth % 64];
}

__handler__ void overrun_ph(handler_args_t *args)
{
    (void)args;
    printf("not reached %u\n", (unsigned)recurse(0));
}

__handler__ void endless_ph(handler_args_t *args)
{
    (void)args;
    for (;;)
        asm_mem_fence();
}

/* The same, but nearly always within the engine. */
__handler__ void endless_printing_ph(handler_args_t *args)
{
    (void)args;
    for (;;)
        (void)cycles();
}

/* Refused commands: the handler goes on. */
__handler__ void bad_command_ph(handler_args_t *args)
{
    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
    spin_cmd_t command;

    spin_dma_to_host(host + args->task->host_mem_size - 4, (uint32_t)args->task->pkt_mem, 8, 0,
                     &command);
    spin_send_packet((void *)0x40000000, 64, &command);
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size + 1, &command);
    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &command);
}

void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr)
{
    (void)hh;
    (void)ph;
    (void)th;
    (void)handler_mem_ptr;
    started++;
    printf("initialised\n");
}
