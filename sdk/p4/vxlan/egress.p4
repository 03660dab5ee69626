// A tunnel's end (VXLAN, RFC 7348) on the way out: the longest prefix of a message's address says which network
// it goes through, and to which end of a tunnel; its frame goes there inside a datagram.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "vxlan.p4"

// Packets come from inside, so there is nothing to parse.
parser MyParser(packet_in packet,
                out tunnel_headers hdr,
                inout full_egress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        transition accept;
    }
}

control MyProcessing(inout tunnel_headers hdr,
                     inout full_egress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    action tunnel(IPv4Addr_t end, bit<24> vni) {
        hdr.tunnel_ip.dst = end;
        hdr.vxlan.vni = vni;
    }

    // Where nothing is known of an address the frame goes to the node itself, through network 0.
    table tunnels {
        key = { meta.meta.dst_ip : lpm; }
        actions = { tunnel; NoAction; }
        size = 256;
    }

    apply {
        hdr.tunnel_eth.setValid();
        hdr.tunnel_eth.dst = meta.params.switch_mac_addr;
        hdr.tunnel_eth.src = meta.params.nic_mac_addr;
        hdr.tunnel_eth.type = IPV4_TYPE;

        hdr.udp.setValid();
        // The port spreads flows over paths (RFC 7348, §5): one for each pair of contexts.
        hdr.udp.src_port = 0xc000 | ((meta.meta.src_context ^ meta.meta.dst_context) & 0x3fff);
        hdr.udp.dst_port = VXLAN_PORT;
        hdr.udp.length = TUNNEL_UDP_BYTES + meta.meta.payload_len;
        hdr.udp.checksum = 0;

        hdr.vxlan.setValid();
        hdr.vxlan.flags = VXLAN_HAS_VNI;
        hdr.vxlan.reserved = 0;
        hdr.vxlan.vni = 0;
        hdr.vxlan.reserved_2 = 0;

        hdr.tunnel_ip.setValid();
        hdr.tunnel_ip.version = 4;
        hdr.tunnel_ip.ihl = 5;
        hdr.tunnel_ip.tos = 0;
        hdr.tunnel_ip.total_len = TUNNEL_IP_BYTES + meta.meta.payload_len;
        hdr.tunnel_ip.identification = 0;
        hdr.tunnel_ip.fragment_flags = 2;
        hdr.tunnel_ip.fragment_offset = 0;
        hdr.tunnel_ip.ttl = 64;
        hdr.tunnel_ip.protocol = UDP_PROTO;
        hdr.tunnel_ip.src = meta.params.nic_ip_addr;
        hdr.tunnel_ip.dst = meta.meta.dst_ip;
        tunnels.apply();

        // The header's words are added up, carries are added until none is left (RFC 791).
        bit<32> sum = 0x4500 + 0x4000 + ((64 << 8) + UDP_PROTO) + (bit<32>) hdr.tunnel_ip.total_len
                      + (bit<32>) hdr.tunnel_ip.src[31:16] + (bit<32>) hdr.tunnel_ip.src[15:0]
                      + (bit<32>) hdr.tunnel_ip.dst[31:16] + (bit<32>) hdr.tunnel_ip.dst[15:0];
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        hdr.tunnel_ip.checksum = ~sum[15:0];

        hdr.eth.setValid();
        hdr.eth.dst = meta.params.switch_mac_addr;
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.type = IPV4_TYPE;

        hdr.ipv4.setValid();
        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.tos = 0;
        hdr.ipv4.total_len = IP_HEADER_BYTES + meta.meta.payload_len;
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
    }
}

control MyDeparser(packet_out packet,
                   in tunnel_headers hdr,
                   inout full_egress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.tunnel_eth);
        packet.emit(hdr.tunnel_ip);
        packet.emit(hdr.udp);
        packet.emit(hdr.vxlan);
        packet.emit(hdr.eth);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ndp);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
