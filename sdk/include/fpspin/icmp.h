/* ICMP echo messages; not part of packets.h because sources define their own icmp_hdr_t. */
#ifndef PINION_ICMP_H
#define PINION_ICMP_H

#include "packets.h"

#define ICMP_ECHO_REPLY 0
#define ICMP_ECHO_REQUEST 8

typedef struct icmp_hdr {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint16_t identifier;
    uint16_t sequence;
} __attribute__((__packed__)) icmp_hdr_t;

typedef struct icmp_pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    icmp_hdr_t icmp_hdr;
} __attribute__((__packed__)) icmp_pkt_hdr_t;

#endif
