// The headers of a transport with windows: NDP's, with what switches say of a packet in them, and the
// second protocol number for experiments (RFC 3692).
#ifndef DCTCP_P4
#define DCTCP_P4

#include "ip.p4"

#define DCTCP_PROTO 0xfe

#define DATA_MASK 1
#define ACK_MASK 2

// Bytes from IPv4 on.
#define IP_HEADER_BYTES 50

// Packets of a message that go before the first acknowledgement; from then on its receiver's window counts.
#define FIRST_PKTS 4

// The two low bits of tos (RFC 3168): a packet that may be marked, and one that was.
#define ECN_CAPABLE 2
#define ECN_MARKED 3

header dctcp_t {
    bit<8> flags;
    ContextID_t src_context;
    ContextID_t dst_context;
    bit<16> msg_len;
    bit<8> pkt_offset;
    bit<16> pull_offset;        // of data: which use of its number the message has
    MsgID_t tx_msg_id;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    bit<8> marked;              // of acknowledgements: a switch has marked the packet
    bit<96> padding;
    bit<16> answers;            // of acknowledgements: the use that the answered message has
}

struct headers {
    eth_t eth;
    ipv4_t ipv4;
    dctcp_t dctcp;
}

#endif
