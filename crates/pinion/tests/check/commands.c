#include "seeded.h"

// case sent_then_changed: udp,size=128,count=4
__handler__ void sent_then_changed_ph(handler_args_t *args)
{
    volatile uint8_t *packet = args->task->pkt_mem;
    spin_cmd_t command;

    spin_send_packet((void *)packet, args->task->pkt_mem_size, &command);
#ifdef FIXED
    spin_cmd_wait(command);
#endif
    packet[0] = 1; // finds reused_buffer
}

// case one_buffer: udp,size=128,count=4
__handler__ void one_buffer_ph(handler_args_t *args)
{
    volatile uint32_t buffer[4];
    spin_cmd_t command = 0;

    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t word = 0; word < 4; word++)
            buffer[word] = i; // finds reused_buffer
        spin_dma_to_host(HOST(args->task) + 16 * i, (uint32_t)&buffer[0], 16, 0, &command);
#ifdef FIXED
        spin_cmd_wait(command);
#endif
    }
    spin_cmd_wait(command);
}

// case from_host: udp,size=128,count=1
__handler__ void from_host_ph(handler_args_t *args)
{
    volatile uint32_t *to = args->task->scratchpad[args->cluster_id];
    spin_cmd_t command;

    spin_dma_from_host(HOST(args->task), (uint32_t)to, 64, 0, &command);
#ifdef FIXED
    spin_cmd_wait(command);
#endif
    USE(to[3]); // finds unfinished_transfer
}

// case by_dma: udp,size=128,count=1
__handler__ void by_dma_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *to = task->scratchpad[args->cluster_id];
    spin_dma_t copy;

    spin_dma(task->pkt_mem, (void *)to, 64, SPIN_DMA_LOC2EXT, 0, &copy);
#ifdef FIXED
    spin_dma_wait(copy);
#endif
    USE(to[3]); // finds unfinished_transfer
}

// case source_changed: udp,size=128,count=1
__handler__ void source_changed_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *packet = task->pkt_mem;
    void *to = task->scratchpad[args->cluster_id];
    spin_dma_t copy;

    spin_dma((void *)packet, to, 64, SPIN_DMA_LOC2EXT, 0, &copy);
#ifdef FIXED
    spin_dma_wait(copy);
#endif
    packet[2] = 0; // finds reused_buffer
    spin_dma_wait(copy);
}

// case forwarded: udp,size=128,count=4
__handler__ void forwarded_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint8_t *packet = task->pkt_mem;
    spin_cmd_t command;

    spin_dma_from_host(HOST(task), (uint32_t)(packet + 64), 32, 0, &command);
#ifdef FIXED
    spin_cmd_wait(command);
#endif
    spin_send_packet(packet, task->pkt_mem_size, &command); // finds unfinished_transfer
}

// case left: udp,size=128,count=1
__handler__ void left_ph(handler_args_t *args)
{
    volatile uint32_t result[2];
    spin_cmd_t command;

    result[0] = args->hpu_id;
    result[1] = args->cluster_id;
    spin_dma_to_host(HOST(args->task), (uint32_t)&result[0], sizeof(result), 0, &command); // finds never_awaited
#ifdef FIXED
    spin_cmd_wait(command);
#endif
}

// case function_left: udp,size=128,count=1
static __attribute__((noinline)) spin_cmd_t tell(task_t *task, uint32_t value)
{
    volatile uint32_t result[2];
    spin_cmd_t command;

    result[0] = value;
    result[1] = value + 1;
    spin_dma_to_host(HOST(task), (uint32_t)&result[0], sizeof(result), 0, &command); // finds never_awaited
#ifdef FIXED
    spin_cmd_wait(command);
#endif
    return command;
}

__handler__ void function_left_ph(handler_args_t *args)
{
    spin_cmd_wait(tell(args->task, args->hpu_id));
}

// case other_handle: udp,size=128,count=4
__handler__ void other_handle_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *buffer = (uint32_t *)task->scratchpad[args->cluster_id] + 512 * args->hpu_id;
    spin_cmd_t copied, sent;

    spin_dma_to_host(HOST(task), (uint32_t)buffer, 2048, 0, &copied);
    spin_send_packet(task->pkt_mem, task->pkt_mem_size, &sent);
#ifdef FIXED
    spin_cmd_wait(copied);
#else
    spin_cmd_wait(sent);
#endif
    buffer[0] = 5; // finds reused_buffer
    spin_cmd_wait(copied);
}

// case next_task: udp,size=128,count=400
__handler__ void next_task_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *own = (uint32_t *)task->scratchpad[args->cluster_id] + 16 * args->hpu_id;
    spin_cmd_t command;

    own[0] = task->pkt_mem_size; // finds reused_buffer
    spin_dma_to_host(HOST(task), (uint32_t)own, 64, 0, &command);
#ifdef FIXED
    spin_cmd_wait(command);
#endif
}

// case given_back_early: udp,size=128,count=400
__handler__ void given_back_early_ph(handler_args_t *args)
{
    task_t *task = args->task;
    volatile uint32_t *shared = task->scratchpad[args->cluster_id];
    spin_lock_t *lock = (spin_lock_t *)shared + 32;
    spin_cmd_t command;

    spin_lock_lock(lock);
    shared[0] += 1; // finds data_race reused_buffer
    spin_dma_to_host(HOST(task), (uint32_t)shared, 64, 0, &command);
#ifdef FIXED
    spin_cmd_wait(command);
#endif
    spin_lock_unlock(lock);
}

// case tested: udp,size=128,count=4
__handler__ void tested_ph(handler_args_t *args)
{
    volatile uint8_t *packet = args->task->pkt_mem;
    spin_cmd_t command;
    bool done = false;

    spin_send_packet((void *)packet, args->task->pkt_mem_size, &command);
#ifdef FIXED
    while (!done)
        spin_cmd_test(command, &done);
#else
    (void)done;
#endif
    packet[12] = 0; // finds reused_buffer
}
