// A cache in front of a key-value store (examples/nanopu_mica): the values of keys that a table names stand in
// register arrays, and requests for them are answered in the pipeline, without the core. What a SET brings goes
// into the cache and on to the store; a key that was deleted is the store's until it is set again. So a GET
// gives what the last request before it wrote.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "store.p4"

parser MyParser(packet_in packet,
                out headers_of_store hdr,
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
        transition select(hdr.ndp.flags, hdr.ndp.msg_len) {
            (DATA_MASK, REQUEST_BYTES): parse_request;
            (DATA_MASK, SET_BYTES): parse_set;
            default: accept;
        }
    }

    state parse_request {
        packet.extract(hdr.request);
        transition accept;
    }

    state parse_set {
        packet.extract(hdr.request);
        packet.extract(hdr.value);
        transition accept;
    }
}

// A word of a value.
struct word_req_t {
    MsgID_t index;
    bool predicate;
    bit<64> data_1;
    bit<8> opCode_1;
    bit<64> data_0;
    bit<8> opCode_0;
}

struct word_resp_t {
    bit<64> new_val;
}

control MyProcessing(inout headers_of_store hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) is_there_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_0_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_1_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_2_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_3_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_4_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_5_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_6_ifElseRaw;
    UserExtern<word_req_t, word_resp_t>(2) word_7_ifElseRaw;

    MsgID_t place;

    action keep(MsgID_t number) {
        place = number;
    }

    // The keys whose values are kept, and where.
    table cached {
        key = { hdr.request.key_0 : exact; hdr.request.key_1 : exact; }
        actions = { keep; NoAction; }
        size = 64;
    }

    apply {
        place = 0;
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        } else if (hdr.request.isValid()) {
            bool is_get = hdr.request.operation == GET && !hdr.value.isValid();
            bool is_set = hdr.request.operation == SET && hdr.value.isValid();
            if (cached.apply().hit) {
                // Set, it is there; deleted, it is not; read, it is as it was.
                ifElseRaw_req_t change;
                change.index = place;
                change.predicate = is_get;
                change.data_1 = 0;
                change.opCode_1 = REG_READ;
                change.data_0 = is_set ? 16w1 : 0;
                change.opCode_0 = REG_WRITE;
                ifElseRaw_resp_t there;
                is_there_ifElseRaw.apply(change, there);

                word_req_t word;
                word.index = place;
                word.predicate = is_set;
                word.opCode_1 = REG_WRITE;
                word.data_0 = 0;
                word.opCode_0 = REG_READ;
                word_resp_t value_0;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_0 : 0;
                word_0_ifElseRaw.apply(word, value_0);
                word_resp_t value_1;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_1 : 0;
                word_1_ifElseRaw.apply(word, value_1);
                word_resp_t value_2;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_2 : 0;
                word_2_ifElseRaw.apply(word, value_2);
                word_resp_t value_3;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_3 : 0;
                word_3_ifElseRaw.apply(word, value_3);
                word_resp_t value_4;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_4 : 0;
                word_4_ifElseRaw.apply(word, value_4);
                word_resp_t value_5;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_5 : 0;
                word_5_ifElseRaw.apply(word, value_5);
                word_resp_t value_6;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_6 : 0;
                word_6_ifElseRaw.apply(word, value_6);
                word_resp_t value_7;
                word.data_1 = hdr.value.isValid() ? hdr.value.word_7 : 0;
                word_7_ifElseRaw.apply(word, value_7);

                if (is_get && there.new_val == 1) {
                    hdr.answer.setValid();
                    hdr.answer.status = DONE;
                    hdr.answer.sent = hdr.request.sent;
                    hdr.value.setValid();
                    hdr.value.word_0 = value_0.new_val;
                    hdr.value.word_1 = value_1.new_val;
                    hdr.value.word_2 = value_2.new_val;
                    hdr.value.word_3 = value_3.new_val;
                    hdr.value.word_4 = value_4.new_val;
                    hdr.value.word_5 = value_5.new_val;
                    hdr.value.word_6 = value_6.new_val;
                    hdr.value.word_7 = value_7.new_val;
                    // Back to who asks.
                    EthAddr_t next = hdr.eth.src;
                    hdr.eth.src = hdr.eth.dst;
                    hdr.eth.dst = next;
                    IPv4Addr_t asks = hdr.ipv4.src;
                    hdr.ipv4.src = hdr.ipv4.dst;
                    hdr.ipv4.dst = asks;
                    hdr.ipv4.total_len = IP_HEADER_BYTES + ANSWER_BYTES;
                    ContextID_t context = hdr.ndp.src_context;
                    hdr.ndp.src_context = hdr.ndp.dst_context;
                    hdr.ndp.dst_context = context;
                    hdr.ndp.msg_len = ANSWER_BYTES;
                    smeta.send = SEND_PACKET;
                }
            }
        }
    }
}

// An answer goes out with its headers; a request goes on to the core as it came.
control MyDeparser(packet_out packet,
                   in headers_of_store hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        if (smeta.send == SEND_PACKET) {
            packet.emit(hdr.eth);
            packet.emit(hdr.ipv4);
            packet.emit(hdr.ndp);
            packet.emit(hdr.answer);
        } else {
            packet.emit(hdr.request);
        }
        packet.emit(hdr.value);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
