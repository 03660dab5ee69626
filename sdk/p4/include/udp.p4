// UDP's headers (RFC 768): Ethernet, IPv4 with or without options, and eight bytes.
#ifndef UDP_P4
#define UDP_P4

#define IPV4_TYPE 0x0800
#define UDP_PROTO 17

#define ETHERNET_HEADER_BYTES 14
#define IPV4_HEADER_BYTES 20
#define UDP_HEADER_BYTES 8

header eth_t {
    EthAddr_t dst;
    EthAddr_t src;
    bit<16> type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3> fragment_flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    IPv4Addr_t src;
    IPv4Addr_t dst;
}

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
