// UDP on the way out: a message is a datagram, from the port of its context.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "udp.p4"

// Packets come from inside, so there is nothing to parse.
parser MyParser(packet_in packet,
                out headers hdr,
                inout full_egress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_egress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    apply {
        hdr.eth.setValid();
        hdr.eth.dst = meta.params.switch_mac_addr;
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.type = IPV4_TYPE;

        hdr.udp.setValid();
        hdr.udp.src_port = meta.params.port_base + meta.meta.src_context;
        hdr.udp.dst_port = meta.meta.dst_context;
        hdr.udp.length = UDP_HEADER_BYTES + meta.meta.payload_len;

        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.tos = 0;
        hdr.ipv4.total_len = IPV4_HEADER_BYTES + hdr.udp.length;
        hdr.ipv4.identification = 0;
        hdr.ipv4.fragment_flags = 2;    // do not fragment
        hdr.ipv4.fragment_offset = 0;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.protocol = UDP_PROTO;
        hdr.ipv4.src = meta.params.nic_ip_addr;
        hdr.ipv4.dst = meta.meta.dst_ip;

        // Both sums have the addresses in them (RFC 791, RFC 768). A field's words are added up, carries
        // are added until none is left, and the complement is sent.
        bit<32> addresses = (bit<32>) hdr.ipv4.src[31:16] + (bit<32>) hdr.ipv4.src[15:0]
                            + (bit<32>) hdr.ipv4.dst[31:16] + (bit<32>) hdr.ipv4.dst[15:0];

        bit<32> ip = addresses + (bit<32>) hdr.ipv4.total_len
                     + 0x4500 + 0x4000 + ((64 << 8) + UDP_PROTO);
        ip = (ip & 0xffff) + (ip >> 16);
        ip = (ip & 0xffff) + (ip >> 16);
        hdr.ipv4.checksum = ~ip[15:0];

        bit<32> udp = addresses + UDP_PROTO + (bit<32>) hdr.udp.length
                      + (bit<32>) hdr.udp.src_port + (bit<32>) hdr.udp.dst_port
                      + (bit<32>) hdr.udp.length + (bit<32>) meta.meta.payload_sum;
        udp = (udp & 0xffff) + (udp >> 16);
        udp = (udp & 0xffff) + (udp >> 16);
        // A sum of zero would mean that there is none.
        hdr.udp.checksum = udp[15:0] == 0xffff ? 16w0xffff : ~udp[15:0];
    }
}

control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_egress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.eth);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
