// A transport with windows, on the way in, after DCTCP (Alizadeh et al., SIGCOMM 2010): switches mark packets
// that find more than a threshold in their queue, receivers say so in each acknowledgement, and a sender's
// window shrinks in proportion to the marks: each takes half a packet, so that a window all of whose packets
// were marked is halved. What was not marked gives a sixteenth of a packet. DCTCP's running mean of the
// marks is left out: messages here have 38 packets at most.
//
// A sender keeps for each receiver how far its window is below the largest one, rtt_pkts, in sixteenths.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "dctcp.p4"

// Sixteenths of a packet that a mark takes, and that a packet without one gives.
#define MARK_TAKES 8
#define NO_MARK_GIVES 1

// Sixteenths that a window lacks: 255 at most, so that no receiver is forgotten for long.
struct lacking_resp_t {
    bit<8> new_val;
}

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
            (4, 5, DCTCP_PROTO): parse_dctcp;
            default: reject;
        }
    }

    state parse_dctcp {
        packet.extract(hdr.dctcp);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    UserExtern<get_rx_msg_info_req_t, get_rx_msg_info_resp_t>(2) get_rx_msg_info;
    UserExtern<ifElseRaw_req_t, lacking_resp_t>(2) lacking_ifElseRaw;
    UserExtern<egress_metadata_t, dummy_t>(1) ctrlPkt_event;
    UserExtern<delivered_meta_t, dummy_t>(1) delivered_event;
    UserExtern<creditToBtx_meta_t, dummy_t>(1) creditToBtx_event;

    apply {
        dummy_t unused;
        if ((hdr.dctcp.flags & DATA_MASK) != 0) {
            get_rx_msg_info_req_t question;
            question.mark_received = true;
            question.src_ip = hdr.ipv4.src;
            question.src_context = hdr.dctcp.src_context;
            question.tx_msg_id = hdr.dctcp.tx_msg_id;
            question.msg_len = hdr.dctcp.msg_len;
            question.pkt_offset = hdr.dctcp.pkt_offset;
            question.dst_context = hdr.dctcp.dst_context;
            question.generation = hdr.dctcp.pull_offset;
            get_rx_msg_info_resp_t message;
            get_rx_msg_info.apply(question, message);

            // What found no room is answered by silence: its sender will try again.
            bool comes_again = message.fail && !message.is_new_pkt;
            if (!message.fail || (comes_again && meta.params.answer_duplicates)) {
                egress_metadata_t answer;
                answer.dst_ip = hdr.ipv4.src;
                answer.dst_context = hdr.dctcp.src_context;
                answer.src_context = hdr.dctcp.dst_context;
                answer.msg_len = hdr.dctcp.msg_len;
                answer.pkt_offset = hdr.dctcp.pkt_offset;
                answer.tx_msg_id = hdr.dctcp.tx_msg_id;
                answer.buf_ptr = hdr.dctcp.buf_ptr;
                answer.buf_size_class = hdr.dctcp.buf_size_class;
                answer.credit = 0;
                answer.generation = hdr.dctcp.pull_offset;
                answer.flags = ACK_MASK;
                answer.rank = hdr.ipv4.tos[1:0] == ECN_MARKED ? 8w1 : 0;
                answer.is_new_msg = false;
                answer.is_rtx = false;
                ctrlPkt_event.apply(answer, unused);
            }

            meta.meta.src_ip = hdr.ipv4.src;
            meta.meta.src_context = hdr.dctcp.src_context;
            meta.meta.msg_len = hdr.dctcp.msg_len;
            meta.meta.pkt_offset = hdr.dctcp.pkt_offset;
            meta.meta.dst_context = hdr.dctcp.dst_context;
            meta.meta.tx_msg_id = hdr.dctcp.tx_msg_id;
            meta.meta.rx_msg_id = message.rx_msg_id;
            meta.meta.is_last_pkt = message.is_last_pkt;
            if (message.fail) {
                smeta.drop = 1;
            }
        } else {
            if ((hdr.dctcp.flags & ACK_MASK) != 0) {
                delivered_meta_t arrived;
                arrived.tx_msg_id = hdr.dctcp.tx_msg_id;
                arrived.delivered_pkts = (PktBitmap_t) 1 << hdr.dctcp.pkt_offset;
                arrived.msg_len = hdr.dctcp.msg_len;
                arrived.buf_ptr = hdr.dctcp.buf_ptr;
                arrived.buf_size_class = hdr.dctcp.buf_size_class;
                arrived.generation = hdr.dctcp.answers;
                delivered_event.apply(arrived, unused);

                // The window of this receiver.
                ifElseRaw_req_t change;
                change.index = (bit<16>) hdr.ipv4.src[5:0];
                change.predicate = hdr.dctcp.marked != 0;
                change.data_1 = MARK_TAKES;
                change.opCode_1 = REG_RAISE;
                change.data_0 = NO_MARK_GIVES;
                change.opCode_0 = REG_LOWER;
                lacking_resp_t lacking;
                lacking_ifElseRaw.apply(change, lacking);
                bit<16> packets = (bit<16>) lacking.new_val >> 4;
                bit<16> window = packets < meta.params.rtt_pkts
                                 ? meta.params.rtt_pkts - packets : 16w1;

                // So many packets may be under way behind this one.
                creditToBtx_meta_t wish;
                wish.tx_msg_id = hdr.dctcp.tx_msg_id;
                wish.rtx = false;
                wish.rtx_pkt_offset = 0;
                wish.update_credit = true;
                wish.new_credit = (bit<16>) hdr.dctcp.pkt_offset + 1 + window;
                wish.buf_ptr = hdr.dctcp.buf_ptr;
                wish.buf_size_class = hdr.dctcp.buf_size_class;
                wish.dst_ip = hdr.ipv4.src;
                wish.dst_context = hdr.dctcp.src_context;
                wish.msg_len = hdr.dctcp.msg_len;
                wish.src_context = hdr.dctcp.dst_context;
                creditToBtx_event.apply(wish, unused);
            }
            smeta.drop = 1;
        }
    }
}

// The payload goes on alone; the metadata says all that reassembly wants to know.
control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply { }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
