/* Frames that start at the Ethernet header, as FPsPIN gives them: fields are big-endian as on the
 * wire. */
#ifndef PACKETS_H
#define PACKETS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct mac_addr {
    uint8_t data[6];
} __attribute__((__packed__)) mac_addr_t;

typedef struct eth_hdr {
    mac_addr_t dest;
    mac_addr_t src;
    uint16_t length; /* or ether type */
} __attribute__((__packed__)) eth_hdr_t;

typedef struct ip_hdr {
    uint8_t ihl : 4;
    uint8_t version : 4;
    uint8_t tos;
    uint16_t length;
    uint16_t identification;
    uint16_t offset;
    uint8_t ttl;
    uint8_t protocol;
    uint16_t checksum;
    uint32_t source_id;
    uint32_t dest_id;
} __attribute__((__packed__)) ip_hdr_t;

typedef struct udp_hdr {
    uint16_t src_port;
    uint16_t dst_port;
    uint16_t length;
    uint16_t checksum;
} __attribute__((__packed__)) udp_hdr_t;

/* sPIN's lightweight message protocol, inside UDP. */
typedef struct slmp_hdr {
    uint16_t flags;
    uint32_t msg_id;
    uint32_t pkt_off; /* byte offset of this packet's payload in the message */
} __attribute__((__packed__)) slmp_hdr_t;

typedef struct pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
} __attribute__((__packed__)) pkt_hdr_t;

typedef struct slmp_pkt_hdr {
    eth_hdr_t eth_hdr;
    ip_hdr_t ip_hdr;
    udp_hdr_t udp_hdr;
    slmp_hdr_t slmp_hdr;
} __attribute__((__packed__)) slmp_pkt_hdr_t;

#define MKEOM 0x8000
#define MKSYN 0x4000
#define MKACK 0x2000
#define EOM(flags) ((flags) & MKEOM)
#define SYN(flags) ((flags) & MKSYN)
#define ACK(flags) ((flags) & MKACK)
#define SLMP_PORT 9330
#define SLMP_PAYLOAD_SIZE 1462

static inline uint16_t bswap_16(uint16_t value)
{
    return (uint16_t)(value << 8 | value >> 8);
}

static inline uint32_t bswap_32(uint32_t value)
{
    return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

#define htons(value) bswap_16(value)
#define ntohs(value) bswap_16(value)
#define htonl(value) bswap_32(value)
#define ntohl(value) bswap_32(value)

/* Bytes of payload behind the SLMP header of the packet at `hdrs`. */
#define SLMP_PAYLOAD_LEN(hdrs) \
    (ntohs((hdrs)->udp_hdr.length) - sizeof(udp_hdr_t) - sizeof(slmp_hdr_t))

/* One's complement sum of two words: the carry comes back in at the bottom. */
static inline uint32_t pinion_sum(uint32_t a, uint32_t b)
{
    uint32_t sum = a + b;

    return sum + (sum < b);
}

/* Returns the Internet checksum (RFC 1071) of `length` bytes, ready to be stored in a header. The
 * sum of 16-bit words may be taken in 32-bit words and in the machine's byte order, and folded at
 * the end. */
static inline uint16_t ip_checksum(void *data, size_t length)
{
    typedef uint32_t __attribute__((aligned(1), may_alias)) word_t;
    typedef uint16_t __attribute__((aligned(1), may_alias)) half_t;
    const uint8_t *at = (const uint8_t *)data;
    uint32_t sum = 0xffff;

    /* Behind Ethernet's 14 bytes: aligned words are faster. */
    if (((uintptr_t)at & 3) == 2 && length >= 2) {
        sum += *(const half_t *)at;
        at += 2;
        length -= 2;
    }
    for (; length >= 16; length -= 16, at += 16) {
        const word_t *w = (const word_t *)at;
        uint32_t a = w[0], b = w[1], c = w[2], d = w[3];
        sum = pinion_sum(pinion_sum(pinion_sum(pinion_sum(sum, a), b), c), d);
    }
    for (; length >= 4; length -= 4, at += 4)
        sum = pinion_sum(sum, *(const word_t *)at);
    sum = (sum & 0xffff) + (sum >> 16);
    if (length & 2) {
        sum += *(const half_t *)at;
        at += 2;
    }
    if (length & 1)
        sum += *at;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

#endif
