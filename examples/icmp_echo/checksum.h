/* The Internet checksum (RFC 1071) in portable C. The handler on the NIC and the host program are
 * compiled from this one text, so that a comparison of the two compares the processors; the SDK's
 * own ip_checksum is tuned for the NIC's cores. */
#ifndef ECHO_CHECKSUM_H
#define ECHO_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads 16 bits in the machine's byte order. */
static inline uint16_t half_at(const uint8_t *at)
{
    uint16_t half;

    memcpy(&half, at, sizeof(half));
    return half;
}

/* Reads 32 bits in the machine's byte order. */
static inline uint32_t word_at(const uint8_t *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof(word));
    return word;
}

/* Returns the checksum of `bytes` bytes as it is stored in a header. A one's complement sum does
 * not depend on the byte order, and 32-bit words may be added instead of 16-bit ones: the carries
 * are kept in the sum's upper half and come back in at the end. */
static inline uint16_t internet_checksum(const void *data, size_t bytes)
{
    const uint8_t *at = (const uint8_t *)data;
    uint64_t sum = 0;

    /* Behind Ethernet's 14 bytes words are not aligned; reading such words is slow or worse. */
    if (((uintptr_t)at & 2) && bytes >= 2) {
        sum += half_at(at);
        at += 2;
        bytes -= 2;
    }
    /* Two words a turn: what a turn costs counts as much as a sum on a core without hardware loops. */
    for (; bytes >= 8; bytes -= 8, at += 8) {
        sum += word_at(at);
        sum += word_at(at + 4);
    }
    if (bytes >= 4) {
        sum += word_at(at);
        at += 4;
        bytes -= 4;
    }
    if (bytes >= 2) {
        sum += half_at(at);
        at += 2;
        bytes -= 2;
    }
    if (bytes > 0) {
        const uint8_t last[2] = { *at, 0 };
        sum += half_at(last);
    }
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

#endif
