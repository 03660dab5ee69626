// Copies a packet's parts to the host and others from it, between any places of lines, and writes a word.
#include <handler.h>

__handler__ void copies_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t bytes = task->pkt_mem_size, by = 0;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t out, far, in, word;

    // What tells packets apart: addresses, ports, the payload's beginning.
    for (const uint32_t *at = task->pkt_mem, *end = at + 12; at != end; at++)
        by = (by ^ *at) * 2654435761u;
    by >>= 8;
    uint32_t cut = by % (bytes - 1), rest = bytes - cut;
    uint8_t *near = (uint8_t *)task->pkt_mem + cut, *there = (uint8_t *)task->l2_pkt_mem + cut;

    spin_dma_to_host(host + 64 * (by >> 3 & 63), (uint32_t)near, rest - (by >> 5) % rest, 1, &out);
    spin_dma_to_host(host + 64 * (by >> 4 & 63), (uint32_t)there, rest - (by >> 7) % rest, 1, &far);
    spin_dma_from_host(host + 8192 + (by >> 6) % 4096, (uint32_t)near, rest - (by >> 9) % rest, 1, &in);
    spin_host_write(host + 16384 + 8 * (by % 512), by, &word);
    spin_cmd_wait(out);
    spin_cmd_wait(far);
    spin_cmd_wait(in);
    spin_cmd_wait(word);
}
