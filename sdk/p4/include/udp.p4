// UDP's headers (RFC 768): Ethernet, IPv4 with or without options, and eight bytes.
#ifndef UDP_P4
#define UDP_P4

#include "ip.p4"

#define UDP_PROTO 17

#define ETHERNET_HEADER_BYTES 14
#define IPV4_HEADER_BYTES 20
#define UDP_HEADER_BYTES 8

// Options of an IPv4 header, up to 40 bytes, in parts.
header options_32_t {
    bit<128> one;
    bit<128> other;
}

header options_16_t {
    bit<128> all;
}

header options_8_t {
    bit<64> all;
}

header options_4_t {
    bit<32> all;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length;
    bit<16> checksum;
}

struct headers {
    eth_t eth;
    ipv4_t ipv4;
    options_32_t options_32;
    options_16_t options_16;
    options_8_t options_8;
    options_4_t options_4;
    udp_t udp;
}

#endif
