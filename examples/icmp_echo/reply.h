/* Turns an ICMP echo request into its reply, in place: the same text for the handler and for the
 * host program. Include behind packets.h (a handler) or fpspin/fpspin.h (a host program), which
 * define the headers. */
#ifndef ECHO_REPLY_H
#define ECHO_REPLY_H

#include "checksum.h"

#define ECHO_TTL 64
#define ECHO_REPLY_TYPE 0
#define ECHO_REQUEST_TYPE 8
#define IP_FRAGMENT 0x3fff /* more fragments follow, or an offset: no ICMP header here */

struct echo_icmp {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint16_t identifier;
    uint16_t sequence;
} __attribute__((__packed__));

struct echo_frame {
    eth_hdr_t eth;
    ip_hdr_t ip;
    struct echo_icmp icmp;
} __attribute__((__packed__));

/* Says how many bytes of IP header and ICMP message a frame has that is an echo request; 0 if it is
 * none: the NIC's rules see neither options, nor fragments, nor a length that is a lie. */
static inline size_t echo_ip_bytes(const struct echo_frame *frame, size_t frame_bytes)
{
    size_t ip_bytes;

    if (frame_bytes < sizeof(*frame))
        return 0;
    ip_bytes = ntohs(frame->ip.length);
    if (frame->ip.version != 4 || frame->ip.ihl != 5 || (ntohs(frame->ip.offset) & IP_FRAGMENT))
        return 0;
    if (ip_bytes < sizeof(ip_hdr_t) + sizeof(struct echo_icmp) ||
        sizeof(eth_hdr_t) + ip_bytes > frame_bytes)
        return 0;
    return frame->icmp.type == ECHO_REQUEST_TYPE ? ip_bytes : 0;
}

/* Makes the reply, both checksums included; returns the bytes to send, 0 if there is no reply. */
static inline size_t make_echo_reply(void *packet, size_t frame_bytes)
{
    struct echo_frame *frame = (struct echo_frame *)packet;
    size_t ip_bytes = echo_ip_bytes(frame, frame_bytes);
    mac_addr_t mac;
    uint32_t address;

    if (ip_bytes == 0)
        return 0;
    mac = frame->eth.src;
    frame->eth.src = frame->eth.dest;
    frame->eth.dest = mac;

    address = frame->ip.source_id;
    frame->ip.source_id = frame->ip.dest_id;
    frame->ip.dest_id = address;
    frame->ip.ttl = ECHO_TTL;
    frame->ip.checksum = 0;
    frame->ip.checksum = internet_checksum(&frame->ip, sizeof(ip_hdr_t));

    frame->icmp.type = ECHO_REPLY_TYPE;
    frame->icmp.checksum = 0;
    frame->icmp.checksum = internet_checksum(&frame->icmp, ip_bytes - sizeof(ip_hdr_t));
    return frame_bytes;
}

#endif
