// Sends parts of a packet that begin and end anywhere in a line: two from L1, one from L2.
#include <handler.h>

static void send_part(const uint8_t *packet, uint32_t bytes, uint32_t by, spin_cmd_t *command)
{
    uint32_t cut = by % (bytes - 1);
    uint32_t rest = bytes - cut;

    spin_send_packet((void *)(packet + cut), rest - (by >> 3) % rest, command);
}

__handler__ void sends_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    uint32_t bytes = task->pkt_mem_size, by = 0;
    spin_cmd_t first, second, third;

    // What tells packets apart: addresses, ports, the payload's beginning.
    for (const uint32_t *word = task->pkt_mem, *end = word + 12; word != end; word++)
        by = (by ^ *word) * 2654435761u;
    by >>= 12;
    send_part(task->pkt_mem, bytes, by, &first);
    send_part(task->l2_pkt_mem, bytes, by >> 3, &second);
    send_part(task->pkt_mem, bytes, by >> 5, &third);
    spin_cmd_wait(first);
    spin_cmd_wait(second);
    spin_cmd_wait(third);
}
