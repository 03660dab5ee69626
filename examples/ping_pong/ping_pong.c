/* Sends each UDP packet back to where it came from. Swapping addresses and ports leaves both
 * checksums valid. */
#include <handler.h>
#include <packets.h>

/* Writes the headers of `from`, with source and destination exchanged, to `to`, which may be the
 * same. */
static inline void turn_around(const pkt_hdr_t *from, pkt_hdr_t *to)
{
    mac_addr_t mac = from->eth_hdr.src;
    uint32_t address = from->ip_hdr.source_id;
    uint16_t port = from->udp_hdr.src_port;

    to->eth_hdr.src = from->eth_hdr.dest;
    to->eth_hdr.dest = mac;
    to->ip_hdr.source_id = from->ip_hdr.dest_id;
    to->ip_hdr.dest_id = address;
    to->udp_hdr.src_port = from->udp_hdr.dst_port;
    to->udp_hdr.dst_port = port;
}

__handler__ void pingpong_l1_ph(handler_args_t *args)
{
    task_t *task = args->task;
    pkt_hdr_t *packet = task->pkt_mem;
    spin_cmd_t send;

    turn_around(packet, packet);
    spin_send_packet(packet, task->pkt_mem_size, &send);
}

/* Reads the copy of the headers in L1, which is near, and writes the packet in L2, from where it
 * leaves. */
__handler__ void pingpong_l2_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const pkt_hdr_t *headers = task->pkt_mem;
    spin_cmd_t send;

    turn_around(headers, task->l2_pkt_mem);
    spin_send_packet(task->l2_pkt_mem, sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length), &send);
}
