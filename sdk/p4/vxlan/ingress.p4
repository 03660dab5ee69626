// A tunnel's end (VXLAN, RFC 7348) on the way in: the tunnel's headers are taken off a frame of a network that
// the NIC belongs to, and the message goes to its core as if there were no tunnel.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "vxlan.p4"

parser MyParser(packet_in packet,
                out tunnel_headers hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        packet.extract(hdr.tunnel_eth);
        transition select(hdr.tunnel_eth.type) {
            IPV4_TYPE: parse_tunnel_ip;
            default: reject;
        }
    }

    state parse_tunnel_ip {
        packet.extract(hdr.tunnel_ip);
        transition select(hdr.tunnel_ip.version, hdr.tunnel_ip.ihl, hdr.tunnel_ip.protocol) {
            (4, 5, UDP_PROTO): parse_udp;
            default: reject;
        }
    }

    state parse_udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.dst_port) {
            VXLAN_PORT: parse_vxlan;
            default: reject;
        }
    }

    state parse_vxlan {
        packet.extract(hdr.vxlan);
        packet.extract(hdr.eth);
        transition select(hdr.vxlan.flags, hdr.eth.type) {
            (VXLAN_HAS_VNI &&& VXLAN_HAS_VNI, IPV4_TYPE): parse_ipv4;
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

control MyProcessing(inout tunnel_headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    action allow() { }

    action refuse() {
        smeta.drop = 1;
        smeta.reason = REASON_OTHER_PROTOCOL;
    }

    // The networks that the NIC belongs to.
    table networks {
        key = { hdr.vxlan.vni : exact; }
        actions = { allow; refuse; }
        size = 64;
        default_action = refuse();
    }

    apply {
        networks.apply();
        // An answer goes to who sent, not to the end of the tunnel.
        meta.meta.src_ip = hdr.ipv4.src;
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        }
    }
}

// The payload goes on alone.
control MyDeparser(packet_out packet,
                   in tunnel_headers hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply { }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
