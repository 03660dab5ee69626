/* Host+FPsPIN mode: the handler takes the packet to its page of host memory, asks the host program
 * for the reply, fetches it and sends it. */
#include <handler.h>
#include <packets.h>
#include <spin_host.h>
#include <stdio.h>

__handler__ void udp_echo_host_ph(handler_args_t *args)
{
    task_t *task = args->task;
    void *packet = task->pkt_mem;
    size_t bytes = task->pkt_mem_size;
    fpspin_flag_t answer;
    spin_cmd_t command;

    if (!fpspin_check_host_mem(args)) {
        printf("no page of host memory for every HPU: the context needs %u bytes\n",
               (unsigned)(CORE_COUNT * PAGE_SIZE));
        return;
    }
    spin_dma_to_host(HOST_PLD_ADDR(args), (uint32_t)packet, bytes, 1, &command);
    spin_cmd_wait(command);

    /* A length of 0 says that the host has no reply; more than was sent would not fit in L1. */
    answer = fpspin_host_req(args, bytes);
    if (answer.len == 0 || answer.len > bytes)
        return;

    spin_dma_from_host(HOST_PLD_ADDR(args), (uint32_t)packet, answer.len, 1, &command);
    spin_cmd_wait(command);
    spin_send_packet(packet, answer.len, &command);
    spin_cmd_wait(command);
}
