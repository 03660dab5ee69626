/* Turns a UDP datagram round, in place: the same text for the handler and for the host program.
 * Include behind packets.h (a handler) or fpspin/fpspin.h (a host program), which define the
 * headers. */
#ifndef ECHO_REPLY_H
#define ECHO_REPLY_H

#include <stddef.h>
#include <stdint.h>

#define UDP_ECHO_PORT 9500
#define IP_FRAGMENT 0x3fff /* more fragments follow, or an offset: no UDP header here */

/* Says whether a frame has a UDP header where the NIC's rules look for one, and is as long as its
 * headers say. */
static inline int is_datagram(const pkt_hdr_t *frame, size_t frame_bytes)
{
    size_t ip_bytes, udp_bytes;

    if (frame_bytes < sizeof(*frame))
        return 0;
    ip_bytes = ntohs(frame->ip_hdr.length);
    udp_bytes = ntohs(frame->udp_hdr.length);
    return frame->ip_hdr.version == 4 && frame->ip_hdr.ihl == 5 &&
           !(ntohs(frame->ip_hdr.offset) & IP_FRAGMENT) &&
           sizeof(eth_hdr_t) + ip_bytes <= frame_bytes && udp_bytes >= sizeof(udp_hdr_t) &&
           sizeof(ip_hdr_t) + udp_bytes <= ip_bytes;
}

/* Makes the reply; returns the bytes to send, 0 if there is no reply. Exchanged addresses leave the
 * IP checksum as it is, and UDP over IPv4 needs none: 0 says so. */
static inline size_t make_echo_reply(void *packet, size_t frame_bytes)
{
    pkt_hdr_t *frame = (pkt_hdr_t *)packet;
    mac_addr_t mac;
    uint32_t address;
    uint16_t port;

    if (!is_datagram(frame, frame_bytes))
        return 0;
    mac = frame->eth_hdr.src;
    frame->eth_hdr.src = frame->eth_hdr.dest;
    frame->eth_hdr.dest = mac;

    address = frame->ip_hdr.source_id;
    frame->ip_hdr.source_id = frame->ip_hdr.dest_id;
    frame->ip_hdr.dest_id = address;

    port = frame->udp_hdr.src_port;
    frame->udp_hdr.src_port = frame->udp_hdr.dst_port;
    frame->udp_hdr.dst_port = port;
    frame->udp_hdr.checksum = 0;
    return frame_bytes;
}

#endif
