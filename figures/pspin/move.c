/* Handlers that move their packet out: back to the network, or to host memory; from L1 or from the
 * L2 packet buffer. */
#include <handler.h>
#include <packets.h>

/* Exchanges source and destination. */
static inline void turn_around(pkt_hdr_t *packet)
{
    uint32_t address = packet->ip_hdr.source_id;
    uint16_t port = packet->udp_hdr.src_port;

    packet->ip_hdr.source_id = packet->ip_hdr.dest_id;
    packet->ip_hdr.dest_id = address;
    packet->udp_hdr.src_port = packet->udp_hdr.dst_port;
    packet->udp_hdr.dst_port = port;
}

__handler__ void ping_pong_l1(handler_args_t *args)
{
    task_t *task = args->task;
    pkt_hdr_t *packet = task->pkt_mem;

    turn_around(packet);
    spin_send_packet(packet, task->pkt_mem_size, NULL);
}

/* Exchanges in the copy in L1, as the published calibration does, and sends what lies in L2: what
 * is measured is where the data come from, not the 20 cycles of each store to L2. */
__handler__ void ping_pong_l2(handler_args_t *args)
{
    task_t *task = args->task;

    turn_around(task->pkt_mem);
    spin_send_packet(task->l2_pkt_mem, task->pkt_mem_size, NULL);
}

static inline uint64_t host_memory(task_t *task)
{
    return (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
}

__handler__ void to_host_l1(handler_args_t *args)
{
    task_t *task = args->task;

    spin_dma_to_host(host_memory(task), (uint32_t)task->pkt_mem, task->pkt_mem_size, false, NULL);
}

__handler__ void to_host_l2(handler_args_t *args)
{
    task_t *task = args->task;

    spin_dma_to_host(host_memory(task), (uint32_t)task->l2_pkt_mem, task->pkt_mem_size, false,
                     NULL);
}
