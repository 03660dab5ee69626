// In-band telemetry on the way out: each packet carries the cycle in which it was sent.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "telemetry.p4"

// Packets come from inside, so there is nothing to parse.
parser MyParser(packet_in packet,
                out headers_of_telemetry hdr,
                inout full_egress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        transition accept;
    }
}

control MyProcessing(inout headers_of_telemetry hdr,
                     inout full_egress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    apply {
        hdr.eth.setValid();
        hdr.eth.dst = meta.params.switch_mac_addr;
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.type = IPV4_TYPE;

        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.tos = 0;
        hdr.ipv4.total_len = IP_HEADER_BYTES + STAMP_BYTES + meta.meta.payload_len;
        hdr.ipv4.identification = 1;
        hdr.ipv4.fragment_flags = 0;
        hdr.ipv4.fragment_offset = 0;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.protocol = RAW_PROTO;
        hdr.ipv4.checksum = 0;
        hdr.ipv4.src = meta.params.nic_ip_addr;
        hdr.ipv4.dst = meta.meta.dst_ip;

        hdr.ndp.setValid();
        hdr.ndp.flags = meta.meta.flags;
        hdr.ndp.src_context = meta.meta.src_context;
        hdr.ndp.dst_context = meta.meta.dst_context;
        hdr.ndp.msg_len = meta.meta.msg_len;
        hdr.ndp.pkt_offset = meta.meta.pkt_offset;
        hdr.ndp.tx_msg_id = meta.meta.tx_msg_id;
        hdr.ndp.buf_ptr = meta.meta.buf_ptr;
        hdr.ndp.buf_size_class = meta.meta.buf_size_class;
        hdr.ndp.padding = 0;
        hdr.ndp.pull_offset = meta.meta.generation;
        hdr.ndp.answers = 0;

        hdr.stamp.setValid();
        hdr.stamp.sent = smeta.timestamp;
        hdr.stamp.unused = 0;
    }
}

control MyDeparser(packet_out packet,
                   in headers_of_telemetry hdr,
                   inout full_egress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.eth);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ndp);
        packet.emit(hdr.stamp);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
