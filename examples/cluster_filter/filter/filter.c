/* A filter between nanoPUs, packet by packet and without memory of messages.
 *
 * A request's first packet shows its key. If the rules let it through, its destination becomes the
 * server: that acknowledges and answers to the client itself, past the filter. Else the client gets a
 * refusal, a message with the request's own id. The request is not acknowledged before the refusal has
 * arrived: the client's acknowledgement of the refusal is sent back as that of the request. If either
 * is lost, the client's NIC sends the request again and gets the same refusal, which it knows to be the
 * same.
 *
 * A request without its payload (a switch cut it off) is asked for again. Further packets of a message
 * are acknowledged and forgotten: requests have one.
 */
#include <handler.h>

#include "rules.h"

/* The server's address: 10.0.0.3, the node behind this one. */
#define SERVER 0x0a000003u

#define DATA 1u
#define ACK 2u
#define NACK 4u
#define PULL 8u
#define CHOP 16u

/* Ethernet, IPv4 and transport header between nanoPUs; numbers are big-endian. */
typedef struct __attribute__((packed)) {
    uint8_t dst_mac[6], src_mac[6];
    uint16_t type;
    uint8_t version, service;
    uint16_t ip_bytes, ip_id, fragment;
    uint8_t hops, protocol;
    uint16_t checksum;
    uint32_t src, dst;
    uint8_t flags;
    uint16_t src_context, dst_context, message_bytes;
    uint8_t packet;
    uint16_t pull, message, buffer;
    uint8_t buffer_class;
    uint8_t zeros[15];
    uint32_t key[2], word[2]; /* the payload's beginning */
} packet_t;

#define HEADER_BYTES 64u
#define ETHERNET_BYTES 14u
#define REFUSAL_BYTES 16u

/* The first rule whose bits match decides; a key that none matches goes through. */
static const struct {
    uint32_t bits, value; /* of the key's upper half */
    bool lets_through;
} RULES[] = {
    {0xffffff00u, 0xbad0c000u, true}, /* an exception from the next rule */
    {0xfff00000u, 0xbad00000u, false},
    {0xffffffffu, 0xdeadbeefu, false},
};

/* How often what happened: forwarded, refused, asked again, acknowledged; in handler memory. */
enum { FORWARDED, REFUSALS, ASKED_AGAIN, ACKNOWLEDGED };

static inline uint16_t swap16(uint16_t value)
{
    return (uint16_t)(value << 8 | value >> 8);
}

static inline uint32_t swap32(uint32_t value)
{
    return __builtin_bswap32(value);
}

static inline bool is_let_through(uint32_t upper)
{
    for (uint32_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
        if ((upper & RULES[i].bits) == RULES[i].value)
            return RULES[i].lets_through;
    }
    return true;
}

/* Sums the IP header if it has a sum; the nanoPU's have none. */
static inline void sum_header(packet_t *packet)
{
    const uint16_t *half = (const uint16_t *)&packet->version;
    uint32_t sum = 0;

    if (packet->checksum == 0)
        return;
    packet->checksum = 0;
    for (int i = 0; i < 10; i++)
        sum += half[i];
    sum = (sum & 0xffff) + (sum >> 16);
    packet->checksum = (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

/* Makes it go back where it came from. */
static inline void turn_round(packet_t *packet)
{
    uint32_t address = packet->src;
    uint16_t context = packet->src_context;

    packet->src = packet->dst;
    packet->dst = address;
    packet->src_context = packet->dst_context;
    packet->dst_context = context;
}

__handler__ void filter_ph(handler_args_t *args)
{
    task_t *task = args->task;
    packet_t *packet = task->pkt_mem;
    uint32_t bytes = task->pkt_mem_size, did;
    volatile uint32_t *counts = task->handler_mem;
    spin_cmd_t send;

    if (bytes <= HEADER_BYTES)
        return;
    if (!(packet->flags & DATA)) {
        if (!(packet->flags & ACK))
            return; /* what asks for a refusal again: the request itself will come again */
        turn_round(packet);
        packet->flags = ACK;
        did = ACKNOWLEDGED;
    } else if (packet->packet != 0) {
        turn_round(packet);
        packet->flags = ACK;
        did = ACKNOWLEDGED;
    } else if (packet->flags & CHOP) {
        turn_round(packet);
        packet->flags = NACK | PULL;
        packet->pull = swap16(2);
        did = ASKED_AGAIN;
    } else if (bytes >= HEADER_BYTES + REFUSAL_BYTES && is_let_through(swap32(packet->key[0]))) {
        packet->dst = swap32(SERVER);
        did = FORWARDED;
    } else {
        turn_round(packet);
        packet->word[0] = packet->word[1] = (uint32_t)REFUSED;
        packet->message_bytes = swap16(REFUSAL_BYTES);
        bytes = HEADER_BYTES + REFUSAL_BYTES;
        packet->ip_bytes = swap16((uint16_t)(bytes - ETHERNET_BYTES));
        did = REFUSALS;
    }
    sum_header(packet);
    amo_add(&counts[did], 1);
    spin_send_packet(packet, bytes, &send);
    spin_cmd_wait(send);
}
