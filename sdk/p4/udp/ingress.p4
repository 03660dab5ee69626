// UDP on the way in: a datagram is a message, and a context is a port: datagrams to port_base + n are
// messages for context n. Datagrams in fragments, and those whose sums are wrong, are dropped.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "udp.p4"

parser MyParser(packet_in packet,
                out headers hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {
            IPV4_TYPE: parse_ipv4;
            default: reject;
        }
    }

    // Up to ten words of options follow, taken in parts: the header's length says which there are.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4, 5): parse_udp;
            (4, 6): parse_4;
            (4, 7..8): parse_8;
            (4, 9..12): parse_16;
            (4, 13..15): parse_32;
            default: reject;
        }
    }

    state parse_32 {
        packet.extract(hdr.options_32);
        transition select(hdr.ipv4.ihl) {
            14: parse_4;
            15: parse_8;
            default: parse_udp;
        }
    }

    state parse_16 {
        packet.extract(hdr.options_16);
        transition select(hdr.ipv4.ihl) {
            9: parse_udp;
            10: parse_4;
            default: parse_8;
        }
    }

    state parse_8 {
        packet.extract(hdr.options_8);
        transition select(hdr.ipv4.ihl) {
            8: parse_4;
            12: parse_4;
            default: parse_udp;
        }
    }

    state parse_4 {
        packet.extract(hdr.options_4);
        transition parse_udp;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    // The parser takes two cycles for headers with options; the sums take the pipeline's other four.
    UserExtern<frameSum_req_t, frameSum_resp_t>(4) ipv4_frameSum;
    UserExtern<frameSum_req_t, frameSum_resp_t>(4) udp_frameSum;

    apply {
        bit<16> ip_bytes = (bit<16>) hdr.ipv4.ihl << 2;
        bit<16> headers_bytes = ip_bytes + UDP_HEADER_BYTES;

        frameSum_req_t ip_range;
        ip_range.from = ETHERNET_HEADER_BYTES;
        ip_range.length = ip_bytes;
        frameSum_resp_t ip;
        ipv4_frameSum.apply(ip_range, ip);

        frameSum_req_t udp_range;
        udp_range.from = ETHERNET_HEADER_BYTES + ip_bytes;
        udp_range.length = hdr.udp.length;
        frameSum_resp_t udp;
        udp_frameSum.apply(udp_range, udp);

        // A datagram's sum covers its addresses, too; carries are added until none is left.
        bit<32> sum = (bit<32>) udp.sum
                      + (bit<32>) hdr.ipv4.src[31:16] + (bit<32>) hdr.ipv4.src[15:0]
                      + (bit<32>) hdr.ipv4.dst[31:16] + (bit<32>) hdr.ipv4.dst[15:0]
                      + UDP_PROTO + (bit<32>) hdr.udp.length;
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        bool is_sum_wrong = hdr.udp.checksum != 0 && sum != 0xffff;

        bool is_cut = hdr.ipv4.total_len > smeta.packet_length - ETHERNET_HEADER_BYTES
                      || hdr.ipv4.total_len < headers_bytes
                      || hdr.udp.length > hdr.ipv4.total_len - ip_bytes
                      || hdr.udp.length < UDP_HEADER_BYTES;
        bool is_fragment = (hdr.ipv4.fragment_flags & 1) != 0 || hdr.ipv4.fragment_offset != 0;

        if (hdr.ipv4.protocol != UDP_PROTO) {
            smeta.drop = 1;
            smeta.reason = REASON_OTHER_PROTOCOL;
        } else if (is_cut || is_fragment || ip.sum != 0xffff || is_sum_wrong) {
            smeta.drop = 1;
            smeta.reason = REASON_HEADER_LIES;
        } else if (hdr.udp.dst_port < meta.params.port_base) {
            smeta.drop = 1;
            smeta.reason = REASON_CONTEXT_OUT_OF_RANGE;
        } else if (hdr.udp.length == UDP_HEADER_BYTES) {
            smeta.drop = 1;
            smeta.reason = REASON_ZERO_LENGTH;
        }

        // What the application reads first; it answers to the port that the datagram came from.
        meta.meta.src_context = hdr.udp.src_port;
        meta.meta.dst_context = hdr.udp.dst_port - meta.params.port_base;
        meta.meta.msg_len = hdr.udp.length - UDP_HEADER_BYTES;
        meta.meta.payload_len = hdr.udp.length - UDP_HEADER_BYTES;
    }
}

// The payload goes on alone.
control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply { }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
