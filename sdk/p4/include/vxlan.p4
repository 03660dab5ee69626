// Raw messages inside VXLAN (RFC 7348): Ethernet, IPv4, UDP and VXLAN of the tunnel, and behind them the frame
// of the message.
#ifndef VXLAN_P4
#define VXLAN_P4

#include "raw.p4"

#define UDP_PROTO 17
#define VXLAN_PORT 4789
#define VXLAN_HAS_VNI 0x08

// Bytes of headers from the tunnel's IPv4 and UDP on.
#define TUNNEL_IP_BYTES 100             // 20 + 8 + 8, and the 64 of the message's own
#define TUNNEL_UDP_BYTES 80

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

header vxlan_t {
    bit<8> flags;
    bit<24> reserved;
    bit<24> vni;
    bit<8> reserved_2;
}

struct tunnel_headers {
    eth_t tunnel_eth;
    ipv4_t tunnel_ip;
    udp_t udp;
    vxlan_t vxlan;
    eth_t eth;
    ipv4_t ipv4;
    ndp_t ndp;
}

#endif
