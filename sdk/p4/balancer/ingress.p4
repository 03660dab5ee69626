// A load balancer in the NIC: requests to the service's context go on to one of its servers, by the sender's
// address and context, so that what belongs together meets one server; the core sees none of them. Servers
// answer the sender themselves. What is for another context is the node's own.
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
    // The part of the senders that a packet's belongs to.
    bit<4> part;

    action forward(IPv4Addr_t server, EthAddr_t mac) {
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.dst = mac;
        hdr.ipv4.dst = server;
        smeta.send = SEND_PACKET;
    }

    action refuse() {
        smeta.drop = 1;
        smeta.reason = REASON_NO_BUFFER;
    }

    // A server for each part of the senders. An entry may change while requests come.
    table servers {
        key = { hdr.ndp.dst_context : exact; part : exact; }
        actions = { forward; refuse; NoAction; }
        size = 256;
        default_action = NoAction();
    }

    apply {
        // Sixteen parts, by a hash of the sender: bits folded, so that neighbours part.
        bit<16> folded = hdr.ipv4.src[31:16] ^ hdr.ipv4.src[15:0] ^ hdr.ndp.src_context;
        bit<8> shorter = folded[15:8] ^ folded[7:0];
        part = shorter[7:4] ^ shorter[3:0];
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        } else {
            servers.apply();
        }
    }
}

// What is forwarded goes out with its headers; what is the node's own is the payload alone.
control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        if (smeta.send == SEND_PACKET) {
            packet.emit(hdr);
        }
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
