// Ethernet and IPv4.
#ifndef IP_P4
#define IP_P4

#define IPV4_TYPE 0x0800

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

#endif
