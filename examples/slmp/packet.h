/* A packet of SLMP as a receiver sees it: reading it, refusing it, acknowledging it. */
#ifndef SLMP_PACKET_H
#define SLMP_PACKET_H

#include <handler.h>
#include <packets.h>

#include "slmp_receiver.h"

#define PRINTED_PER_COUNTER 16

/* What a packet says. */
typedef struct {
    uint32_t flags, id, offset, bytes;
    uint32_t source, first;
    uint32_t options; /* of slmp_config_t */
} packet_t;

static const char *const REFUSALS[SLMP_COUNTERS] = {
    [SLMP_BEYOND] = "offset beyond the message's region",
    [SLMP_ORPHANS] = "no first packet",
    [SLMP_OTHER_ENDS] = "another end of message",
    [SLMP_REUSED] = "message id in use",
    [SLMP_BUSY] = "slot in use",
    [SLMP_LENGTHS] = "lengths contradict",
    [SLMP_SHORT] = "shorter than its message's packets",
    [SLMP_STRAY_ACKS] = "ACK sent to a receiver",
    [SLMP_CHECKSUMS] = "wrong checksum",
};

/* Counts a refused packet and says why; not for ever, since printing takes long. */
static __attribute__((noinline)) void refuse(uint32_t why, const packet_t *packet)
{
    volatile struct perf_counter *counter = &__host_data.counters[why];

    push_counter(counter, packet->offset);
    if (counter->count <= PRINTED_PER_COUNTER)
        printf("refused: message %u offset %u: %s\n", (unsigned)packet->id,
               (unsigned)packet->offset, REFUSALS[why]);
}

/* Sum of the UDP datagram and its pseudo header, in 16 bits; with the right checksum 0xffff. */
static inline uint32_t udp_sum(slmp_pkt_hdr_t *headers)
{
    uint32_t sum = (uint16_t)~ip_checksum(&headers->udp_hdr, ntohs(headers->udp_hdr.length));

    sum += (headers->ip_hdr.source_id & 0xffff) + (headers->ip_hdr.source_id >> 16);
    sum += (headers->ip_hdr.dest_id & 0xffff) + (headers->ip_hdr.dest_id >> 16);
    sum += htons(17) + headers->udp_hdr.length;
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16);
}

/* Says whether the checksums are right; a UDP checksum of zero is none. */
static inline bool is_intact(slmp_pkt_hdr_t *headers)
{
    return ip_checksum(&headers->ip_hdr, sizeof(ip_hdr_t)) == 0 &&
           (headers->udp_hdr.checksum == 0 || udp_sum(headers) == 0xffff);
}

/* Reads the packet; returns why it is none that this receiver takes, or SLMP_COUNTERS. What is
 * behind the end of a short one is not to be read. */
static inline uint32_t read_packet(task_t *task, packet_t *packet)
{
    const slmp_config_t *config = task->handler_mem;
    slmp_pkt_hdr_t *headers = task->pkt_mem;
    uint32_t frame_bytes = task->pkt_mem_size, ip_bytes, udp_bytes;
    const uint32_t least = sizeof(udp_hdr_t) + sizeof(slmp_hdr_t);

    if (frame_bytes < sizeof(*headers)) {
        *packet = (packet_t){ 0 };
        return SLMP_LENGTHS;
    }
    ip_bytes = ntohs(headers->ip_hdr.length);
    udp_bytes = ntohs(headers->udp_hdr.length);
    packet->flags = ntohs(headers->slmp_hdr.flags);
    packet->id = ntohl(headers->slmp_hdr.msg_id);
    packet->offset = ntohl(headers->slmp_hdr.pkt_off);
    packet->source = headers->ip_hdr.source_id;
    packet->bytes = udp_bytes - least;
    packet->first = (uint32_t)headers->udp_hdr.src_port << 16 | packet->bytes;
    if (sizeof(eth_hdr_t) + ip_bytes > frame_bytes || udp_bytes < least ||
        sizeof(ip_hdr_t) + udp_bytes != ip_bytes)
        return SLMP_LENGTHS;
    packet->options = config->options;
    if (packet->options & SLMP_VERIFY && !is_intact(headers))
        return SLMP_CHECKSUMS;
    return ACK(packet->flags) ? SLMP_STRAY_ACKS : SLMP_COUNTERS;
}

/* Answers with the packet's own header, ends swapped. The payload stays as it is: it may be on its
 * way to the host. */
static inline void acknowledge(task_t *task, uint32_t options)
{
    slmp_pkt_hdr_t *headers = task->pkt_mem;
    const uint32_t udp_bytes = sizeof(udp_hdr_t) + sizeof(slmp_hdr_t);
    mac_addr_t mac = headers->eth_hdr.src;
    uint32_t address = headers->ip_hdr.source_id;
    uint16_t port = headers->udp_hdr.src_port;
    spin_cmd_t send;

    headers->eth_hdr.src = headers->eth_hdr.dest;
    headers->eth_hdr.dest = mac;
    headers->ip_hdr.source_id = headers->ip_hdr.dest_id;
    headers->ip_hdr.dest_id = address;
    headers->ip_hdr.length = htons(sizeof(ip_hdr_t) + udp_bytes);
    headers->ip_hdr.ttl = 64;
    headers->ip_hdr.checksum = 0;
    headers->ip_hdr.checksum = ip_checksum(&headers->ip_hdr, sizeof(ip_hdr_t));
    headers->udp_hdr.src_port = headers->udp_hdr.dst_port;
    headers->udp_hdr.dst_port = port;
    headers->udp_hdr.length = htons(udp_bytes);
    headers->udp_hdr.checksum = 0;
    headers->slmp_hdr.flags = htons(MKACK);
    if (options & SLMP_VERIFY) {
        uint16_t checksum = (uint16_t)~udp_sum(headers);

        headers->udp_hdr.checksum = checksum == 0 ? 0xffff : checksum;
    }
    spin_send_packet(headers, sizeof(*headers), &send);
}

#endif
