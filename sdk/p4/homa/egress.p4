// Homa on the way out (Montazeri et al., SIGCOMM 2018): headers in front of each packet, and the priority by
// which switches are to send it. What a message may send unasked goes before all else, but not a second
// time; the rest has the priority of the message's last grant.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "homa.p4"

struct txMsgPrioReg_req_t {
    MsgID_t index;
    bool update;                // a new message: forget what was granted to another of its number
    bit<8> prio;
}

struct txMsgPrioReg_resp_t {
    bit<8> prio;
}

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
    UserExtern<txMsgPrioReg_req_t, txMsgPrioReg_resp_t>(2) txMsgPrioReg;

    apply {
        hdr.ipv4.setValid();
        hdr.ipv4.tos = 0;
        if ((meta.meta.flags & DATA_MASK) != 0) {
            txMsgPrioReg_req_t question;
            question.index = meta.meta.tx_msg_id;
            question.update = meta.meta.is_new_msg;
            question.prio = UNSCHEDULED_PRIO;
            txMsgPrioReg_resp_t granted;
            txMsgPrioReg.apply(question, granted);
            bool is_unscheduled = (bit<16>) meta.meta.pkt_offset < meta.params.rtt_pkts && !meta.meta.is_rtx;
            if (!is_unscheduled) {
                hdr.ipv4.tos = granted.prio < FIRST_SCHEDULED_PRIO ? (bit<8>) FIRST_SCHEDULED_PRIO : granted.prio;
            }
        }

        hdr.eth.setValid();
        hdr.eth.dst = meta.params.switch_mac_addr;
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.type = IPV4_TYPE;

        hdr.ipv4.version = 4;
        hdr.ipv4.ihl = 5;
        hdr.ipv4.total_len = IP_HEADER_BYTES + meta.meta.payload_len;
        hdr.ipv4.identification = 1;
        hdr.ipv4.fragment_flags = 0;
        hdr.ipv4.fragment_offset = 0;
        hdr.ipv4.ttl = 64;
        hdr.ipv4.protocol = HOMA_PROTO;
        hdr.ipv4.checksum = 0;
        hdr.ipv4.src = meta.params.nic_ip_addr;
        hdr.ipv4.dst = meta.meta.dst_ip;

        hdr.homa.setValid();
        hdr.homa.flags = meta.meta.flags;
        hdr.homa.src_context = meta.meta.src_context;
        hdr.homa.dst_context = meta.meta.dst_context;
        hdr.homa.msg_len = meta.meta.msg_len;
        hdr.homa.pkt_offset = meta.meta.pkt_offset;
        hdr.homa.tx_msg_id = meta.meta.tx_msg_id;
        hdr.homa.buf_ptr = meta.meta.buf_ptr;
        hdr.homa.buf_size_class = meta.meta.buf_size_class;
        hdr.homa.padding = 0;
        hdr.homa.grant_prio = meta.meta.rank;
        if ((meta.meta.flags & DATA_MASK) != 0) {
            hdr.homa.grant_offset = meta.meta.generation;
            hdr.homa.answers = 0;
        } else {
            hdr.homa.grant_offset = meta.meta.credit;
            hdr.homa.answers = meta.meta.generation;
        }
    }
}

control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_egress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.eth);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.homa);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
