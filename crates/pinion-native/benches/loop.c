/* What the native engine is measured against: a loop over packets in memory that calls the handler's
 * body directly, without matching, messages, copies or protection. It runs as a handler itself, on
 * packets that an earlier one has fetched. HANDLER, COUNT, BYTES and ROUNDS come from the bench. */
#include <handler.h>

void HANDLER(handler_args_t *args);

static uint8_t *packets_of(handler_args_t *args)
{
    return args->task->scratchpad[0];
}

/* Fetches the packets from host memory. */
__handler__ void fetch_ph(handler_args_t *args)
{
    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
    spin_cmd_t command;

    spin_dma_from_host(host, (uint32_t)packets_of(args), COUNT * BYTES, 0, &command);
    spin_cmd_wait(command);
}

__handler__ void loop_ph(handler_args_t *args)
{
    handler_args_t own = *args;
    task_t task;

    __builtin_memcpy((void *)&task, (void *)args->task, sizeof(task));
    own.task = &task;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            task.pkt_mem = packets_of(args) + i * BYTES;
            task.pkt_mem_size = BYTES;
            task.l2_pkt_mem = task.pkt_mem;
            HANDLER(&own);
        }
    }
}
