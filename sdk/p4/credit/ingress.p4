// Credits from the receiver, on the way in: NDP, but a message begins with one packet, and what its sender may
// have under way is the receiver's to share out: a window of rtt_pkts among all messages that come in. A
// burst of messages, however many, finds a queue of hardly more than its first packets.
//
// The receiver counts the messages that are incomplete. If a sender never ends one, it is counted for good:
// windows are smaller then, but of one packet at least.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "ndp.p4"

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
            (4, 5, NDP_PROTO): parse_ndp;
            default: reject;
        }
    }

    state parse_ndp {
        packet.extract(hdr.ndp);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    // Stages 1 and 2: the message that a packet belongs to. Stages 3 and 4: its packets
    // so far, and the messages that are incomplete.
    UserExtern<get_rx_msg_info_req_t, get_rx_msg_info_resp_t>(2) get_rx_msg_info;
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) credit_ifElseRaw;
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) active_ifElseRaw;
    // The last stage: what the rest of the NIC is to do.
    UserExtern<egress_metadata_t, dummy_t>(1) ctrlPkt_event;
    UserExtern<delivered_meta_t, dummy_t>(1) delivered_event;
    UserExtern<creditToBtx_meta_t, dummy_t>(1) creditToBtx_event;

    apply {
        dummy_t unused;
        if ((hdr.ndp.flags & DATA_MASK) != 0) {
            bool is_chopped = (hdr.ndp.flags & CHOP_MASK) != 0;

            get_rx_msg_info_req_t question;
            question.mark_received = !is_chopped;
            question.src_ip = hdr.ipv4.src;
            question.src_context = hdr.ndp.src_context;
            question.tx_msg_id = hdr.ndp.tx_msg_id;
            question.msg_len = hdr.ndp.msg_len;
            question.pkt_offset = hdr.ndp.pkt_offset;
            question.dst_context = hdr.ndp.dst_context;
            question.generation = hdr.ndp.pull_offset;
            get_rx_msg_info_resp_t message;
            get_rx_msg_info.apply(question, message);

            // A packet that comes again asks for an acknowledgement that was lost; it gives no credit.
            // What found no room is answered by silence: its sender will try again.
            bool comes_again = message.fail && !message.is_new_pkt;
            bool is_answered = !message.fail || (comes_again && meta.params.answer_duplicates);
            bool is_under_way = !message.fail || (comes_again && !message.is_finished_msg);

            bit<16> credit = 0;
            if (is_under_way) {
                bit<16> gain = (is_chopped || message.fail) ? 16w0 : 1;
                bool is_first = !message.fail && message.is_new_msg;
                bool is_last = gain != 0 && message.is_last_pkt;

                ifElseRaw_req_t change;
                change.index = message.rx_msg_id;
                change.predicate = message.is_new_msg;
                change.data_1 = gain;
                change.opCode_1 = REG_WRITE;
                change.data_0 = gain;
                change.opCode_0 = REG_ADD;
                ifElseRaw_resp_t packets;
                credit_ifElseRaw.apply(change, packets);

                // A message of one packet comes and goes at once.
                ifElseRaw_req_t count;
                count.index = 0;
                count.predicate = is_first;
                count.data_1 = is_last ? 16w0 : 1;
                count.opCode_1 = REG_RAISE;
                count.data_0 = is_last ? 16w1 : 0;
                count.opCode_0 = REG_LOWER;
                ifElseRaw_resp_t active;
                active_ifElseRaw.apply(count, active);

                // A share of the window, in halves: the pipeline does not divide.
                bit<16> share = meta.params.rtt_pkts;
                if (active.new_val > 8) {
                    share = 1;
                } else if (active.new_val > 4) {
                    share = share >> 3;
                } else if (active.new_val > 2) {
                    share = share >> 2;
                } else if (active.new_val > 1) {
                    share = share >> 1;
                }
                credit = packets.new_val + (share == 0 ? 16w1 : share);
            }

            if (is_answered) {
                egress_metadata_t answer;
                answer.dst_ip = hdr.ipv4.src;
                answer.dst_context = hdr.ndp.src_context;
                answer.src_context = hdr.ndp.dst_context;
                answer.msg_len = hdr.ndp.msg_len;
                answer.pkt_offset = hdr.ndp.pkt_offset;
                answer.tx_msg_id = hdr.ndp.tx_msg_id;
                answer.buf_ptr = hdr.ndp.buf_ptr;
                answer.buf_size_class = hdr.ndp.buf_size_class;
                answer.credit = credit;
                answer.generation = hdr.ndp.pull_offset;
                answer.flags = (is_chopped && !message.fail) ? (bit<8>) NACK_MASK : ACK_MASK;
                if (is_under_way) {
                    answer.flags = answer.flags | PULL_MASK;
                }
                answer.rank = 0;
                answer.is_new_msg = false;
                answer.is_rtx = false;
                ctrlPkt_event.apply(answer, unused);
            }

            // The payload goes into the message's buffer.
            meta.meta.src_ip = hdr.ipv4.src;
            meta.meta.src_context = hdr.ndp.src_context;
            meta.meta.msg_len = hdr.ndp.msg_len;
            meta.meta.pkt_offset = hdr.ndp.pkt_offset;
            meta.meta.dst_context = hdr.ndp.dst_context;
            meta.meta.tx_msg_id = hdr.ndp.tx_msg_id;
            meta.meta.rx_msg_id = message.rx_msg_id;
            meta.meta.is_last_pkt = message.is_last_pkt;
            if (is_chopped || message.fail) {
                smeta.drop = 1;
            }
        } else {
            if ((hdr.ndp.flags & ACK_MASK) != 0) {
                delivered_meta_t arrived;
                arrived.tx_msg_id = hdr.ndp.tx_msg_id;
                arrived.delivered_pkts = (PktBitmap_t) 1 << hdr.ndp.pkt_offset;
                arrived.msg_len = hdr.ndp.msg_len;
                arrived.buf_ptr = hdr.ndp.buf_ptr;
                arrived.buf_size_class = hdr.ndp.buf_size_class;
                arrived.generation = hdr.ndp.answers;
                delivered_event.apply(arrived, unused);
            }
            bool is_nack = (hdr.ndp.flags & NACK_MASK) != 0;
            bool is_pull = (hdr.ndp.flags & PULL_MASK) != 0;
            if (is_nack || is_pull) {
                creditToBtx_meta_t wish;
                wish.tx_msg_id = hdr.ndp.tx_msg_id;
                wish.rtx = is_nack;
                wish.rtx_pkt_offset = hdr.ndp.pkt_offset;
                wish.update_credit = is_pull;
                wish.new_credit = hdr.ndp.pull_offset;
                wish.buf_ptr = hdr.ndp.buf_ptr;
                wish.buf_size_class = hdr.ndp.buf_size_class;
                wish.dst_ip = hdr.ipv4.src;
                wish.dst_context = hdr.ndp.src_context;
                wish.msg_len = hdr.ndp.msg_len;
                wish.src_context = hdr.ndp.dst_context;
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
