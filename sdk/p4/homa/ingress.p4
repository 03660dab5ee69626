// Homa on the way in (Montazeri et al., SIGCOMM 2018). A message's first packets, rtt_pkts of them, come
// without being asked for; the rest comes by GRANTs. Each packet that arrives gives one GRANT: of the
// messages that have least to come (shortest remaining first; of equals, the lower number), to the first
// that may send more than it was granted, if it is among the first `overcommitment` of all. A GRANT lets
// its message send rtt_pkts beyond what has come, and says by which priority.
//
// A message that is complete is acknowledged; one packet that came without its payload, or found no
// buffer, is asked for again by a NACK.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "homa.p4"

// log2 of MAX_SEG_LEN_BYTES.
#define SEG_LEN_BITS 10

// What is kept of an incoming message, to grant it later.
struct pendingMsgInfo_t {
    IPv4Addr_t src_ip;
    ContextID_t src_context;
    ContextID_t dst_context;
    MsgID_t tx_msg_id;
    bit<16> msg_len;
    bit<16> buf_ptr;
    bit<8> buf_size_class;
    bit<9> ackNo;
    bit<16> generation;
}

struct grantInfo_t {
    bit<16> grantedIdx;         // packets that its sender may send
    bit<16> grantableIdx;       // packets that it may be let send: those that came, and rtt_pkts
    bit<8> remaining_size;      // packets that have not come
}

struct curMsgReg_req_t {
    MsgID_t index;
    pendingMsgInfo_t msg_info;
    grantInfo_t grant_info;
    bool is_new_msg;            // write all; else do as opCode says
    bit<8> opCode;              // REG_READ; REG_WRITE: msg_info; REG_ADD: that, and count a packet
}

struct grantSched_req_t {
    MsgID_t rx_msg_id;
    bit<8> rank;
    bool removeObj;
    bit<16> grantableIdx;
    bit<16> grantedIdx;
    bool is_repeated;           // answer this message's own rank and grant, not the best one's
}

struct grantSched_resp_t {
    bool success;
    bit<8> prio_level;          // messages before it
    bit<16> grant_offset;
    MsgID_t grant_msg_id;
}

struct grantMsgReg_req_t {
    MsgID_t index;
    bit<16> grantedIdx;
}

struct txMsgPrioReg_req_t {
    MsgID_t index;
    bit<8> prio;
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
            (4, 5, HOMA_PROTO): parse_homa;
            default: reject;
        }
    }

    state parse_homa {
        packet.extract(hdr.homa);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    // Two stages each: the message that a packet belongs to; what is known of it; which message is to be
    // granted; that one's headers.
    UserExtern<get_rx_msg_info_req_t, get_rx_msg_info_resp_t>(2) get_rx_msg_info;
    UserExtern<curMsgReg_req_t, grantInfo_t>(2) curMsgReg;
    UserExtern<grantSched_req_t, grantSched_resp_t>(2) grantScheduler;
    UserExtern<grantMsgReg_req_t, pendingMsgInfo_t>(2) grantMsgReg;
    // The last stage: what the rest of the NIC is to do.
    UserExtern<egress_metadata_t, dummy_t>(1) ackPkt_event;
    UserExtern<egress_metadata_t, dummy_t>(1) nackPkt_event;
    UserExtern<egress_metadata_t, dummy_t>(1) grantPkt_event;
    UserExtern<txMsgPrioReg_req_t, dummy_t>(1) txMsgPrioReg;
    UserExtern<delivered_meta_t, dummy_t>(1) delivered_event;
    UserExtern<creditToBtx_meta_t, dummy_t>(1) creditToBtx_event;

    apply {
        dummy_t unused;
        if ((hdr.homa.flags & DATA_MASK) != 0) {
            bool is_chopped = (hdr.homa.flags & CHOP_MASK) != 0;

            get_rx_msg_info_req_t question;
            question.mark_received = !is_chopped;
            question.src_ip = hdr.ipv4.src;
            question.src_context = hdr.homa.src_context;
            question.tx_msg_id = hdr.homa.tx_msg_id;
            question.msg_len = hdr.homa.msg_len;
            question.pkt_offset = hdr.homa.pkt_offset;
            question.dst_context = hdr.homa.dst_context;
            question.generation = hdr.homa.grant_offset;
            get_rx_msg_info_resp_t message;
            get_rx_msg_info.apply(question, message);

            // A packet that comes again asks for an answer that was lost.
            bool comes_again = message.fail && !message.is_new_pkt && meta.params.answer_duplicates;
            bool is_under_way = !message.fail || (comes_again && !message.is_finished_msg);
            bit<16> packets = ((hdr.homa.msg_len - 1) >> SEG_LEN_BITS) + 1;

            // Answers to the packet's own message.
            egress_metadata_t own;
            own.dst_ip = hdr.ipv4.src;
            own.dst_context = hdr.homa.src_context;
            own.src_context = hdr.homa.dst_context;
            own.msg_len = hdr.homa.msg_len;
            own.tx_msg_id = hdr.homa.tx_msg_id;
            own.buf_ptr = hdr.homa.buf_ptr;
            own.buf_size_class = hdr.homa.buf_size_class;
            own.credit = 0;
            own.generation = hdr.homa.grant_offset;
            own.rank = 0;
            own.is_new_msg = false;
            own.is_rtx = false;

            // The packet number of an acknowledgement counts the packets from the first on that it is for.
            bool is_finished = comes_again && message.is_finished_msg;
            bool is_complete = is_under_way && message.is_last_pkt && (message.fail || !is_chopped);
            if (is_finished || is_complete) {
                own.pkt_offset = (bit<8>) packets;
                if (is_finished) {
                    own.pkt_offset = hdr.homa.pkt_offset == 255 ? hdr.homa.pkt_offset : hdr.homa.pkt_offset + 1;
                }
                own.flags = ACK_MASK;
                ackPkt_event.apply(own, unused);
            }
            if (message.fail ? message.has_no_buffer : is_chopped) {
                own.pkt_offset = hdr.homa.pkt_offset;
                own.flags = NACK_MASK;
                nackPkt_event.apply(own, unused);
            }

            if (is_under_way) {
                bit<16> gain = (is_chopped || message.fail) ? 16w0 : 1;

                curMsgReg_req_t note;
                note.index = message.rx_msg_id;
                note.msg_info.src_ip = hdr.ipv4.src;
                note.msg_info.src_context = hdr.homa.src_context;
                note.msg_info.dst_context = hdr.homa.dst_context;
                note.msg_info.tx_msg_id = hdr.homa.tx_msg_id;
                note.msg_info.msg_len = hdr.homa.msg_len;
                note.msg_info.buf_ptr = hdr.homa.buf_ptr;
                note.msg_info.buf_size_class = hdr.homa.buf_size_class;
                note.msg_info.ackNo = message.ackNo;
                note.msg_info.generation = hdr.homa.grant_offset;
                note.grant_info.grantedIdx = meta.params.rtt_pkts;
                note.grant_info.grantableIdx = meta.params.rtt_pkts + gain;
                note.grant_info.remaining_size = (bit<8>) (packets - gain);
                note.is_new_msg = message.is_new_msg && !message.fail;
                note.opCode = message.fail ? (bit<8>) REG_READ : (is_chopped ? (bit<8>) REG_WRITE : REG_ADD);
                grantInfo_t known;
                curMsgReg.apply(note, known);

                // Its sender may have missed a grant. An acknowledgement alone would stop its timer, and
                // then nothing would bring back a grant that is lost.
                bool is_repeated = message.fail && !message.is_last_pkt && known.grantedIdx > meta.params.rtt_pkts;

                grantSched_req_t order;
                order.rx_msg_id = message.rx_msg_id;
                order.rank = known.remaining_size;
                order.removeObj = message.is_last_pkt;
                order.grantableIdx = known.grantableIdx < packets ? known.grantableIdx : packets;
                order.grantedIdx = known.grantedIdx;
                order.is_repeated = is_repeated;
                grantSched_resp_t chosen;
                grantScheduler.apply(order, chosen);

                bool is_ahead = chosen.prio_level < meta.params.overcommitment;
                bool is_asked_for = message.fail || !is_chopped;
                if (is_asked_for && chosen.success && (is_ahead || is_repeated)) {
                    grantMsgReg_req_t grant;
                    grant.index = chosen.grant_msg_id;
                    grant.grantedIdx = chosen.grant_offset;
                    pendingMsgInfo_t granted;
                    grantMsgReg.apply(grant, granted);

                    // What a message was granted last is not acknowledged with it: the timer of that
                    // packet has to run on in case the next grant is lost.
                    bit<16> before = chosen.grant_offset - 1;
                    bit<8> level = is_ahead ? chosen.prio_level : meta.params.overcommitment - 1;

                    egress_metadata_t answer;
                    answer.dst_ip = granted.src_ip;
                    answer.dst_context = granted.src_context;
                    answer.src_context = granted.dst_context;
                    answer.msg_len = granted.msg_len;
                    answer.pkt_offset = (bit<16>) granted.ackNo < before ? (bit<8>) granted.ackNo : (bit<8>) before;
                    answer.tx_msg_id = granted.tx_msg_id;
                    answer.buf_ptr = granted.buf_ptr;
                    answer.buf_size_class = granted.buf_size_class;
                    answer.credit = chosen.grant_offset;
                    answer.generation = granted.generation;
                    answer.flags = GRANT_MASK;
                    answer.rank = level + FIRST_SCHEDULED_PRIO;
                    answer.is_new_msg = false;
                    answer.is_rtx = false;
                    grantPkt_event.apply(answer, unused);
                }
            }

            // The payload goes into the message's buffer.
            meta.meta.src_ip = hdr.ipv4.src;
            meta.meta.src_context = hdr.homa.src_context;
            meta.meta.msg_len = hdr.homa.msg_len;
            meta.meta.pkt_offset = hdr.homa.pkt_offset;
            meta.meta.dst_context = hdr.homa.dst_context;
            meta.meta.tx_msg_id = hdr.homa.tx_msg_id;
            meta.meta.rx_msg_id = message.rx_msg_id;
            meta.meta.is_last_pkt = message.is_last_pkt;
            if (is_chopped || message.fail) {
                smeta.drop = 1;
            }
        } else {
            bool is_ack = (hdr.homa.flags & ACK_MASK) != 0;
            bool is_nack = (hdr.homa.flags & NACK_MASK) != 0;
            bool is_grant = (hdr.homa.flags & GRANT_MASK) != 0;
            if (is_grant) {
                txMsgPrioReg_req_t change;
                change.index = hdr.homa.tx_msg_id;
                change.prio = hdr.homa.grant_prio;
                txMsgPrioReg.apply(change, unused);
            }
            if ((is_ack || is_grant) && hdr.homa.pkt_offset != 0) {
                delivered_meta_t arrived;
                arrived.tx_msg_id = hdr.homa.tx_msg_id;
                // All packets before that number. There are no more than MAX_SEGS_PER_MSG.
                arrived.delivered_pkts = 0;
                if (hdr.homa.pkt_offset <= MAX_SEGS_PER_MSG) {
                    arrived.delivered_pkts = ((PktBitmap_t) 1 << hdr.homa.pkt_offset) - 1;
                }
                arrived.msg_len = hdr.homa.msg_len;
                arrived.buf_ptr = hdr.homa.buf_ptr;
                arrived.buf_size_class = hdr.homa.buf_size_class;
                arrived.generation = hdr.homa.answers;
                delivered_event.apply(arrived, unused);
            }
            if (is_nack || is_grant) {
                creditToBtx_meta_t wish;
                wish.tx_msg_id = hdr.homa.tx_msg_id;
                wish.rtx = is_nack;
                wish.rtx_pkt_offset = hdr.homa.pkt_offset;
                wish.update_credit = is_grant;
                wish.new_credit = hdr.homa.grant_offset;
                wish.buf_ptr = hdr.homa.buf_ptr;
                wish.buf_size_class = hdr.homa.buf_size_class;
                wish.dst_ip = hdr.ipv4.src;
                wish.dst_context = hdr.homa.src_context;
                wish.msg_len = hdr.homa.msg_len;
                wish.src_context = hdr.homa.dst_context;
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
