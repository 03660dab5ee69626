// Homa's headers: those of NDP, with the priority that a grant gives behind the grant's offset.
#ifndef HOMA_P4
#define HOMA_P4

#include "ip.p4"

#define HOMA_PROTO 0x9a

#define DATA_MASK 1
#define ACK_MASK 2
#define NACK_MASK 4
#define GRANT_MASK 8
#define CHOP_MASK 16

// Bytes of the headers from IPv4 on.
#define IP_HEADER_BYTES 50

// Priorities: 0 is the highest, of packets that go without a grant; those behind are a grant's to give.
#define UNSCHEDULED_PRIO 0
#define FIRST_SCHEDULED_PRIO 1

header homa_t {
    bit<8> flags;
    ContextID_t src_context;
    ContextID_t dst_context;
    bit<16> msg_len;
    bit<8> pkt_offset;
    bit<16> grant_offset;       // of data: which use of its number the message has
    bit<8> grant_prio;
    MsgID_t tx_msg_id;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    bit<96> padding;
    bit<16> answers;            // of control packets: the use that the answered message has
}

struct headers {
    eth_t eth;
    ipv4_t ipv4;
    homa_t homa;
}

#endif
