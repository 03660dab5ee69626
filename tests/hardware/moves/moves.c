// Launches transfers of the cluster's DMA engine, some at a time, between the packet in L1 and in L2, handler memory and
// the scratchpad, from and to any places of lines.
#include <handler.h>

#define SPACE 4096
#define TRANSFERS 4

__handler__ void moves_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t by = 0, bytes = task->pkt_mem_size;
    uint8_t *scratchpad = (uint8_t *)task->scratchpad[args->cluster_id];
    uint8_t *places[4] = {task->pkt_mem, task->l2_pkt_mem, task->handler_mem, scratchpad};
    spin_dma_t transfers[TRANSFERS];

    // What tells packets apart: addresses, ports, the payload's beginning.
    for (const uint32_t *at = task->pkt_mem, *end = at + 12; at != end; at++)
        by = (by ^ *at) * 2654435761u;
    for (int number = 0; number != TRANSFERS; number++) {
        uint32_t size = 1 + (by >> 7) % bytes;
        uint32_t source = by >> 30, target = by >> 28 & 3;
        uint8_t *from = places[source] + (by >> 9) % (source < 2 ? bytes - size + 1 : SPACE);
        uint8_t *to = places[target] + (by >> 11) % (target < 2 ? bytes - size + 1 : SPACE);

        // One within a memory does not write what it reads.
        if (source == target && (source < 2 || (from < to + size && to < from + size)))
            from = places[source ^ 2] + (source < 2 ? (by >> 9) % SPACE : 0), size = source < 2 ? size : 1;
        spin_dma(from, to, size, 0, 0, &transfers[number]);
        by = by * 2654435761u + number;
    }
    for (int number = 0; number != TRANSFERS; number++)
        spin_dma_wait(transfers[number]);
}
