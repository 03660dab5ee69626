// NDP's headers: Ethernet, IPv4 and 30 bytes of its own, together the 64 bytes of one word of the NIC's
// datapath.
#ifndef NDP_P4
#define NDP_P4

#include "ip.p4"

#define NDP_PROTO 0x99

#define DATA_MASK 1
#define ACK_MASK 2
#define NACK_MASK 4
#define PULL_MASK 8
#define CHOP_MASK 16

// Bytes of all headers, and of those from IPv4 on.
#define HEADER_BYTES 64
#define IP_HEADER_BYTES 50

header ndp_t {
    bit<8> flags;
    ContextID_t src_context;
    ContextID_t dst_context;
    bit<16> msg_len;
    bit<8> pkt_offset;
    bit<16> pull_offset;        // of data: which use of its number the message has
    MsgID_t tx_msg_id;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    bit<104> padding;
    bit<16> answers;            // of control packets: the use that the answered message has
}

struct headers {
    eth_t eth;
    ipv4_t ipv4;
    ndp_t ndp;
}

#endif
