/* FPsPIN mode: the handler exchanges the addresses and sends the packet back from L1. */
#include <handler.h>
#include <packets.h>

#include "reply.h"

__handler__ void udp_echo_ph(handler_args_t *args)
{
    task_t *task = args->task;
    void *packet = task->pkt_mem;
    size_t bytes = make_echo_reply(packet, task->pkt_mem_size);
    spin_cmd_t send;

    if (bytes == 0)
        return;
    spin_send_packet(packet, bytes, &send);
    spin_cmd_wait(send);
}
