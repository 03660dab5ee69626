// Messages of one packet, without acknowledgements: the prototype of the nanoPU's earlier draft, which has
// no transport (draft, §4) and assumes that nothing is lost. Frames are laid out as NDP's.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "raw.p4"

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

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.protocol) {
            (4, 5, RAW_PROTO): parse_message;
            default: reject;
        }
    }

    state parse_message {
        packet.extract(hdr.ndp);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    // Nothing is asked of the NIC. Five stages do nothing, so that the pipeline is as long as NDP's, and
    // both can be compared.
    UserExtern<dummy_t, dummy_t>(5) as_ndp_delay;

    apply {
        dummy_t nothing;
        nothing.unused = 0;
        dummy_t later;
        as_ndp_delay.apply(nothing, later);
        // A whole message, or nothing of use.
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        }
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
