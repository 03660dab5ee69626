#include "seeded.h"

// case branch: udp,size=128,count=4
__handler__ void branch_ph(handler_args_t *args)
{
    volatile uint32_t word[4];
#ifdef FIXED
    word[0] = args->hpu_id;
#endif
    USE(word[0]); // finds uninitialised
}

// case partial: udp,size=128,count=4
__handler__ void partial_ph(handler_args_t *args)
{
    volatile uint16_t table[8];
    uint32_t sum = 0;
#ifdef FIXED
    for (int i = 0; i < 8; i++)
#else
    for (int i = 0; i < 7; i++)
#endif
        table[i] = (uint16_t)args->hpu_id;
    for (int i = 0; i < 8; i++)
        sum += table[i];
    USE(sum); // finds uninitialised
}

// case address: udp,size=128,count=4
__handler__ void address_ph(handler_args_t *args)
{
    volatile uint32_t *table = args->task->scratchpad[args->cluster_id];
    volatile uint32_t index[2];
#ifdef FIXED
    index[1] = args->hpu_id;
#endif
    table[index[1] & 15] = 0; // finds uninitialised
}

// case parameter: udp,size=128,count=4
__handler__ void parameter_ph(handler_args_t *args)
{
    volatile uint32_t word[1];
#ifdef FIXED
    word[0] = args->hpu_id;
#endif
    spin_cmd_t command;
    spin_write_to_host(HOST(args->task), word[0], &command); // finds uninitialised
}

// case to_host: udp,size=128,count=4
__handler__ void to_host_ph(handler_args_t *args)
{
    uint32_t result[4];
    spin_cmd_t command;

    result[0] = args->hpu_id;
    result[1] = args->cluster_id;
    result[2] = 0;
#ifdef FIXED
    result[3] = 0;
#endif
    spin_dma_to_host(HOST(args->task), (uint32_t)HIDDEN(&result[0]), sizeof(result), 0, &command); // finds uninitialised
    spin_cmd_wait(command);
}

// case sent: udp,size=128,count=4
__handler__ void sent_ph(handler_args_t *args)
{
    uint8_t reply[64];
    spin_cmd_t command;

#ifdef FIXED
    memset(reply, 0, sizeof(reply));
#endif
    memcpy(reply, args->task->pkt_mem, 42);
    spin_send_packet(HIDDEN(&reply[0]), sizeof(reply), &command); // finds uninitialised
    spin_cmd_wait(command);
}

typedef struct {
    uint32_t there;
    uint32_t value;
} entry_t;

// case handed_on: slmp,size=256,bytes=1024; slmp, header, completion
__handler__ void handed_on_hh(handler_args_t *args)
{
    volatile entry_t entry;
    volatile entry_t *shared = args->task->handler_mem;

    entry.there = 1;
#ifdef FIXED
    entry.value = 2;
#endif
    shared->there = entry.there;
    shared->value = entry.value;
}
__handler__ void handed_on_ph(handler_args_t *args)
{
    (void)args;
}
__handler__ void handed_on_th(handler_args_t *args)
{
    volatile entry_t *shared = args->task->handler_mem;

    USE(shared->value); // finds uninitialised
}

// case printed: udp,size=128,count=2
__handler__ void printed_ph(handler_args_t *args)
{
    volatile char text[2];

    text[0] = (char)('a' + args->hpu_id % 8);
#ifdef FIXED
    text[1] = '\n';
#endif
    putchar(text[0]);
    putchar(text[1]); // finds uninitialised
}

// case copied: udp,size=128,count=4
__handler__ void copied_ph(handler_args_t *args)
{
    uint32_t from[6], to[6];

#ifdef FIXED
    memset(from, 0, sizeof(from));
#endif
    from[0] = args->hpu_id;
    memcpy(HIDDEN(&to[0]), HIDDEN(&from[0]), sizeof(to));
    USE(*(volatile uint32_t *)&to[3]); // finds uninitialised
}

// case by_dma: udp,size=128,count=1
__handler__ void by_dma_ph(handler_args_t *args)
{
    uint32_t from[8];
    volatile uint32_t *to = args->task->scratchpad[args->cluster_id];
    spin_dma_t copy;

#ifdef FIXED
    memset(from, 0, sizeof(from));
#endif
    spin_dma(HIDDEN(&from[0]), (void *)to, sizeof(from), SPIN_DMA_LOC2EXT, 0, &copy);
    spin_dma_wait(copy);
    USE(to[5]); // finds uninitialised
}

// case dead_frame: udp,size=128,count=4; unfixed
static __attribute__((noinline)) uint32_t *made_by_function(uint32_t value)
{
    uint32_t local[4] = { value, value, value, value };

    return HIDDEN(&local[0]);
}

__handler__ void dead_frame_ph(handler_args_t *args)
{
    uint32_t *made = made_by_function(args->hpu_id);

    USE(*(volatile uint32_t *)made); // finds uninitialised
}

// case handle: udp,size=128,count=4
__handler__ void handle_ph(handler_args_t *args)
{
    volatile spin_cmd_t command;

#ifdef FIXED
    spin_cmd_t issued;
    spin_send_packet(args->task->pkt_mem, 64, &issued);
    command = issued;
#endif
    (void)args;
    spin_cmd_wait(command); // finds uninitialised
}

// case one_bit: udp,size=128,count=4
__handler__ void one_bit_ph(handler_args_t *args)
{
    volatile struct {
        uint32_t known : 4, unknown : 4, rest : 24;
    } fields;

    *(volatile uint8_t *)&fields = (uint8_t)args->hpu_id;
    fields.known = 3;
#ifdef FIXED
    *(volatile uint32_t *)&fields = 0;
#endif
    if (fields.known == 2 || fields.unknown == 9)
        __asm__ volatile("nop");
    if (fields.rest == 5) // finds uninitialised
        __asm__ volatile("nop");
}
