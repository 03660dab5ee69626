/* FPsPIN mode: the handler answers. Both checksums are the portable code that the host program of
 * the mode Host+FPsPIN runs too. */
#include <handler.h>
#include <packets.h>

#include "reply.h"

__handler__ void icmp_echo_ph(handler_args_t *args)
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
