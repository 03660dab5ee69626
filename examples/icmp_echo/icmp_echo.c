/* Turns each ICMP echo request into its reply, in place, and sends it back from L1. */
#include <handler.h>
#include <icmp.h>
#include <packets.h>

#define TTL 64

__handler__ void icmp_echo_ph(handler_args_t *args)
{
    task_t *task = args->task;
    icmp_pkt_hdr_t *packet = task->pkt_mem;
    uint32_t frame_bytes = task->pkt_mem_size;
    uint32_t ip_bytes = ntohs(packet->ip_hdr.length);
    spin_cmd_t send;

    /* Short frames carry padding behind the IP packet; a frame with less than its IP header
     * promises is no ping. */
    if (ip_bytes < sizeof(ip_hdr_t) + sizeof(icmp_hdr_t) ||
        sizeof(eth_hdr_t) + ip_bytes > frame_bytes)
        return;

    mac_addr_t mac = packet->eth_hdr.src;
    packet->eth_hdr.src = packet->eth_hdr.dest;
    packet->eth_hdr.dest = mac;

    uint32_t address = packet->ip_hdr.source_id;
    packet->ip_hdr.source_id = packet->ip_hdr.dest_id;
    packet->ip_hdr.dest_id = address;
    packet->ip_hdr.ttl = TTL;
    packet->ip_hdr.checksum = 0;
    packet->ip_hdr.checksum = ip_checksum(&packet->ip_hdr, sizeof(ip_hdr_t));

    packet->icmp_hdr.type = ICMP_ECHO_REPLY;
    packet->icmp_hdr.checksum = 0;
    packet->icmp_hdr.checksum = ip_checksum(&packet->icmp_hdr, ip_bytes - sizeof(ip_hdr_t));

    spin_send_packet(packet, frame_bytes, &send);
}
