// In-band telemetry: raw messages with a stamp of when they were sent, and postcards, datagrams of 20 bytes that
// tell a collector what has happened to them.
#ifndef TELEMETRY_P4
#define TELEMETRY_P4

#include "raw.p4"

#define UDP_PROTO 17
#define STAMP_BYTES 8
#define COLLECTOR_PORT 5555
#define POSTCARD_UDP_BYTES 28           // 8 and the postcard's 20
#define POSTCARD_IP_BYTES 48

// Kinds of postcards, and what their value is.
#define CARD_PACKET 1                   // a packet has come: cycles since it was sent
#define CARD_DROP 2                     // a packet was dropped; why stands in `reason`
#define CARD_QUEUE 3                    // a queue has passed its threshold: words in it
#define CARD_SILENCE 4                  // no message has come for a while: those delivered so far

header stamp_t {
    bit<48> sent;                       // the sender's cycle
    bit<16> unused;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header postcard_t {
    bit<8> kind;
    bit<8> reason;
    ContextID_t context;
    IPv4Addr_t src_ip;                  // who sent the packet
    bit<48> at;                         // cycle of the event
    bit<48> value;
}

struct headers_of_telemetry {
    eth_t eth;
    ipv4_t ipv4;
    ndp_t ndp;
    stamp_t stamp;
    eth_t card_eth;
    ipv4_t card_ip;
    udp_t card_udp;
    postcard_t card;
}

#endif
