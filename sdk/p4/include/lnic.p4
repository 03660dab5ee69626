// What a transport and the NIC say to each other: metadata of packets, requests to the NIC's units and
// their answers. Fields with @optional are Pinion's own: a program that does not know them leaves them
// zero, and works.
#ifndef LNIC_P4
#define LNIC_P4

#define MAX_SEG_LEN_BYTES 1024
#define MAX_SEGS_PER_MSG 38

typedef bit<48> EthAddr_t;
typedef bit<32> IPv4Addr_t;
typedef bit<16> ContextID_t;
typedef bit<16> MsgID_t;
typedef bit<MAX_SEGS_PER_MSG> PktBitmap_t;

// Numbers of the NIC.
struct parameters_t {
    EthAddr_t switch_mac_addr;          // where frames go
    EthAddr_t nic_mac_addr;
    IPv4Addr_t nic_ip_addr;
    bit<16> rtt_pkts;                   // packets that may be under way before any answer
    @optional bool answer_duplicates;   // a packet that comes again is acknowledged again
    @optional bit<16> port_base;        // UDP: the port of context 0
    @optional bit<8> overcommitment;    // Homa: messages that may have grants at the same time
}

// Why a packet is dropped: smeta.reason. Each is counted under its name.
#define REASON_MALFORMED 1              // shorter than its headers
#define REASON_NOT_IP 2
#define REASON_OTHER_PROTOCOL 3
#define REASON_NO_PAYLOAD 4
#define REASON_HEADER_LIES 5            // lengths or sums contradict each other or the frame
#define REASON_ZERO_LENGTH 6            // a message of no bytes
#define REASON_OVERSIZE 7
#define REASON_DUPLICATE 8
#define REASON_DELIVERED_BEFORE 9
#define REASON_NO_BUFFER 10
#define REASON_QUOTA 11
#define REASON_CONTEXT_OUT_OF_RANGE 12
#define REASON_CONTEXT_UNBOUND 13

// What the ingress pipeline says of a packet whose payload goes into its message's buffer.
struct ingress_metadata_t {
    IPv4Addr_t src_ip;
    ContextID_t src_context;
    bit<16> msg_len;                    // bytes
    bit<8> pkt_offset;                  // number of the packet in its message
    ContextID_t dst_context;
    MsgID_t rx_msg_id;                  // our number of the message
    MsgID_t tx_msg_id;                  // its sender's number
    bool is_last_pkt;                   // now all packets are there
    @optional bit<16> payload_len;      // of whole messages: bytes that are no padding
}

// What the egress pipeline is told of a packet that is to go: by packetization of data, by the packet
// generator of what an ingress program asked for.
struct egress_metadata_t {
    IPv4Addr_t dst_ip;
    ContextID_t dst_context;
    bit<16> msg_len;
    bit<8> pkt_offset;
    ContextID_t src_context;
    MsgID_t tx_msg_id;
    bit<16> buf_ptr;                    // the sender's buffer, for its own use when answers come
    bit<8> buf_size_class;
    bit<16> credit;                     // packets that the peer may send
    bit<8> rank;
    bit<8> flags;
    bool is_new_msg;                    // the first packet of a message, for the first time
    bool is_rtx;                        // sent before
    @optional bit<16> generation;       // which use of its number the message has
    @optional bit<16> payload_len;      // bytes behind the headers
    @optional bit<16> payload_sum;      // these added up, as frameSum does
    @optional bit<16> window;           // set it: packets of a message that may go before any answer
}

// Reassembly: which message does a packet belong to? It may get a buffer by that.
struct get_rx_msg_info_req_t {
    bool mark_received;                 // false for a packet that came without its payload
    IPv4Addr_t src_ip;
    ContextID_t src_context;
    MsgID_t tx_msg_id;
    bit<16> msg_len;
    bit<8> pkt_offset;
    @optional ContextID_t dst_context;  // reassembly refuses messages that nobody would take
    @optional bit<16> generation;
}

struct get_rx_msg_info_resp_t {
    bool fail;                          // not taken: no buffer, or it came before
    MsgID_t rx_msg_id;
    bool is_new_msg;
    bool is_new_pkt;                    // it did not come before
    bool is_last_pkt;
    bit<9> ackNo;                       // packets that came without a gap from the first on
    @optional bool is_finished_msg;     // its message was delivered before
    @optional bool has_no_buffer;       // fail: for want of a buffer, so it may be sent again
}

// Packetization: these packets of a message of ours have arrived.
struct delivered_meta_t {
    MsgID_t tx_msg_id;
    PktBitmap_t delivered_pkts;
    bit<16> msg_len;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    @optional bit<16> generation;
}

// Packetization: a packet of ours is to go again, a message of ours may send up to so many.
struct creditToBtx_meta_t {
    MsgID_t tx_msg_id;
    bool rtx;
    bit<8> rtx_pkt_offset;
    bool update_credit;
    bit<16> new_credit;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    IPv4Addr_t dst_ip;
    ContextID_t dst_context;
    bit<16> msg_len;
    ContextID_t src_context;
}

// An answer that says nothing.
struct dummy_t {
    bit<1> unused;
}

// A register for each message. It does one thing or the other, and answers the new value.
#define REG_READ 0
#define REG_WRITE 1
#define REG_ADD 2
#define REG_RAISE 3                     // adds, up to the largest value
#define REG_LOWER 4                     // subtracts, down to 0

struct ifElseRaw_req_t {
    MsgID_t index;
    bool predicate;                     // chooses 1 if true, 0 if false
    bit<16> data_1;
    bit<8> opCode_1;
    bit<16> data_0;
    bit<8> opCode_0;
}

struct ifElseRaw_resp_t {
    bit<16> new_val;
}

// The sum of bytes of the frame, in words of 16 bits with the carries added (RFC 1071). What is behind
// the frame's end counts as zero.
struct frameSum_req_t {
    bit<16> from;                       // the first byte; the frame begins with byte 0
    bit<16> length;
}

struct frameSum_resp_t {
    bit<16> sum;
}

struct full_ingress_metadata_t {
    parameters_t params;
    ingress_metadata_t meta;
}

struct full_egress_metadata_t {
    parameters_t params;
    egress_metadata_t meta;
}

#endif
