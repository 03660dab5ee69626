#include "seeded.h"

// case behind: udp,size=128,count=4
__handler__ void behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint8_t *packet = task->pkt_mem;
#ifdef FIXED
    USE(packet[task->pkt_mem_size - 1]);
#else
    USE(packet[task->pkt_mem_size]); // finds beyond_packet
#endif
}

// case trusted: udp,size=128,count=4
__handler__ void trusted_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *packet = task->pkt_mem;
    uint32_t said = 1400, sum = 0;
#ifdef FIXED
    said = MIN(said, task->pkt_mem_size);
#endif
    for (uint32_t i = 0; i < said / 4; i++)
        sum += packet[i]; // finds beyond_packet
    USE(sum);
}

// case written_behind: udp,size=128,count=4; unfixed
__handler__ void written_behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *packet = task->pkt_mem;

    packet[(task->pkt_mem_size + 3) / 4] = 0; // finds beyond_packet
}

// case in_front: udp,size=128,count=4; unfixed
__handler__ void in_front_ph(handler_args_t *args)
{
    volatile uint32_t *packet = args->task->l2_pkt_mem;

    USE(packet[-1]); // finds beyond_packet
}

// case not_in_l1: udp,size=256,count=4; l1_bytes = "64B"
__handler__ void not_in_l1_ph(handler_args_t *args)
{
    task_t *task = args->task;
#ifdef FIXED
    volatile uint8_t *packet = task->l2_pkt_mem;
#else
    volatile uint8_t *packet = task->pkt_mem;
#endif
    USE(packet[100]); // finds beyond_packet
}

// case sent_behind: udp,size=128,count=4
__handler__ void sent_behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t more = 16;
    spin_cmd_t command;
#ifdef FIXED
    more = 0;
#endif
    spin_send_packet(task->pkt_mem, task->pkt_mem_size + more, &command); // finds beyond_packet
}

// case copied_behind: udp,size=128,count=4
__handler__ void copied_behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint8_t *own = (uint8_t *)task->scratchpad[args->cluster_id] + 256 * args->hpu_id;
    uint32_t more = 64;
    spin_dma_t copy;
#ifdef FIXED
    more = 0;
#endif
    spin_dma(task->pkt_mem, own, task->pkt_mem_size + more, SPIN_DMA_LOC2EXT, 0, &copy); // finds beyond_packet
    spin_dma_wait(copy);
}

// case kept: udp,size=128,count=200,rate=1g
__handler__ void kept_ph(handler_args_t *args)
{
    task_t *task = args->task;
    void *volatile *last = (void *volatile *)task->scratchpad[args->cluster_id] + args->hpu_id;
    volatile uint32_t *before = *last;
#ifdef FIXED
    before = NULL;
#endif
    if (before)
        USE(before[3]); // finds freed_packet
    *last = task->l2_pkt_mem;
}

// case silently_behind: udp,size=128,count=4; rtl
__handler__ void silently_behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint8_t *packet = task->pkt_mem;
#ifdef FIXED
    USE(packet[task->pkt_mem_size - 2]);
#else
    USE(packet[task->pkt_mem_size + 1]); // finds beyond_packet
#endif
}

// case silently_kept: udp,size=128,count=200,rate=1g; rtl
__handler__ void silently_kept_ph(handler_args_t *args)
{
    task_t *task = args->task;
    void *volatile *last = (void *volatile *)task->scratchpad[args->cluster_id] + args->hpu_id;
    volatile uint32_t *before = *last;

#ifndef FIXED
    if (before)
        USE(before[5]); // finds freed_packet
#endif
    (void)before;
    *last = task->l2_pkt_mem;
}

// case left: udp,size=128,messages=2,packets=32,order=interleaved; tenants
__handler__ void left_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint8_t *packet = task->l2_pkt_mem;

#ifdef FIXED
    USE(packet[0]);
#else
    USE(packet[task->pkt_mem_size + 40]); // finds stale_data beyond_packet
#endif
}

// case left_sent: udp,size=128,messages=2,packets=32,order=interleaved; tenants
__handler__ void left_sent_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t more = 64;
    spin_cmd_t command;
#ifdef FIXED
    more = 0;
#endif
    spin_send_packet(task->l2_pkt_mem, task->pkt_mem_size + more, &command); // finds stale_data beyond_packet
    spin_cmd_wait(command);
}

// case unit_behind: udp,size=128,messages=8,packets=4; units
__handler__ void unit_behind_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint8_t *packet = task->pkt_mem;
    uint32_t at = task->pkt_mem_size + 3;

#ifdef FIXED
    at -= 4;
#endif
    USE(packet[at]); // finds beyond_packet
}

// case other_context: udp,size=128,count=4; handler_memory = "4KiB"; unfixed; other
__handler__ void other_context_ph(handler_args_t *args)
{
    volatile uint32_t *theirs = (uint32_t *)((uint8_t *)args->task->handler_mem + 4096);

    USE(*theirs); // finds foreign_memory
}

// case other_context_silent: udp,size=128,count=4; handler_memory = "4KiB"; unfixed; other; rtl
__handler__ void other_context_silent_ph(handler_args_t *args)
{
    volatile uint32_t *theirs = (uint32_t *)((uint8_t *)args->task->handler_mem + 4096);

    *theirs = 1; // finds foreign_memory
}

// case other_stack: udp,size=128,count=64; unfixed
__handler__ void other_stack_ph(handler_args_t *args)
{
    volatile uint32_t *own = (uint32_t *)args;

    if (args->hpu_id > 0)
        USE(own[-256]); // finds foreign_memory
}

// case large_local: udp,size=128,count=4
__handler__ void large_local_ph(handler_args_t *args)
{
#ifdef FIXED
    volatile uint8_t table[64];
#else
    volatile uint8_t table[1500];
#endif
    table[0] = (uint8_t)args->hpu_id; // finds stack_overflow
    USE(table[0]);
}

// case recursion: udp,size=128,count=4; unfixed
static __attribute__((noinline)) uint32_t depth(uint32_t left)
{
    volatile uint32_t word[8];

    word[left % 8] = left; // finds stack_overflow
    if (left == 0)
        return 0;
    return depth(left - 1) + word[left % 8];
}

__handler__ void recursion_ph(handler_args_t *args)
{
    USE(depth(100 + args->hpu_id));
}
