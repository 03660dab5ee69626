// Everything that a program may say, for tests of what hardware is made of it: operators on narrow and wide
// values, ways that meet in the parser, blocks that end early, externs that are asked in two places, register
// arrays of different latencies, stages that only wait, headers that are sent with some packets only.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "ip.p4"

header short_t {
    bit<5> kind;
    bit<11> length;
}

header long_t {
    bit<128> first;
    bit<1> odd;
    bit<127> second;
    bit<64> third;
}

struct headers {
    eth_t eth;
    short_t short;
    long_t long;
    ipv4_t ipv4;
    short_t last;
}

struct narrow_t {
    bit<4> new_val;
}

struct short_meta_t {
    bit<3> kind;
    bit<120> wide;
}

struct wide_meta_t {
    bit<16> bits;
    bit<100> wide;
}

struct passed_t {
    bit<16> value;
}

parser Taken(packet_in packet, out headers hdr,
             inout full_ingress_metadata_t meta, inout standard_metadata_t smeta) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {
            0x0800: parse_ipv4;
            0x1000 &&& 0xf000: parse_short;
            0x2000 .. 0x2fff: parse_long;
            0xffff: reject;
            default: accept;
        }
    }
    state parse_short {
        packet.extract(hdr.short);
        transition select(hdr.short.kind, hdr.short.length) {
            (1, 0 .. 1023): parse_long;
            (2 &&& 2, _): parse_ipv4;
            (0, _): accept;
            default: reject;
        }
    }
    state parse_long {
        packet.extract(hdr.long);
        transition select(hdr.long.odd) {
            1: parse_ipv4;
            default: parse_last;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ttl[3:0]) {
            15: reject;
            0 .. 3: accept;
            default: parse_last;
        }
    }
    state parse_last {
        packet.extract(hdr.last);
        transition accept;
    }
}

control Decided(inout headers hdr,
                inout full_ingress_metadata_t meta, inout standard_metadata_t smeta) {
    UserExtern<ifElseRaw_req_t, narrow_t>(1) quick_ifElseRaw;
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(4) slow_ifElseRaw;
    UserExtern<passed_t, passed_t>(3) later_delay;
    UserExtern<short_meta_t, wide_meta_t>(2) asked_unit;
    UserExtern<passed_t, dummy_t>(1) told_event;

    apply {
        bit<16> sum = hdr.eth.type + meta.meta.msg_len;
        bit<16> mixed = (sum & 0x0ff0) | (hdr.eth.type ^ 0x1111) - 3;
        bit<48> shifted = hdr.eth.src << hdr.eth.dst[5:0];
        shifted = shifted >> mixed[2:0];
        bool is_small = mixed < 1000 || !(sum >= 77) && shifted != 0;
        hdr.eth.src[15:8] = hdr.eth.dst[7:0];
        hdr.eth.dst = is_small ? ~shifted : -shifted;

        ifElseRaw_req_t change;
        change.index = (bit<16>) hdr.eth.dst[6:0];
        change.predicate = is_small;
        change.data_1 = mixed;
        change.opCode_1 = REG_RAISE;
        change.data_0 = sum;
        change.opCode_0 = hdr.eth.src[7:0] & 7;
        narrow_t quick;
        quick_ifElseRaw.apply(change, quick);

        passed_t now;
        now.value = sum + (bit<16>) quick.new_val;
        passed_t later;
        later_delay.apply(now, later);
        meta.meta.tx_msg_id = later.value;

        short_meta_t question;
        wide_meta_t answer;
        answer.wide = 0;
        answer.bits = 0;
        if (hdr.long.isValid()) {
            question.kind = (bit<3>) hdr.long.odd;
            question.wide = (hdr.long.first + 5)[111:0] ++ 8w3;
            asked_unit.apply(question, answer);
            hdr.long.second = (hdr.long.second << 3) | (bit<127>) answer.bits;
            if (answer.bits == 0) {
                smeta.drop = 1;
                exit;
            }
        } else if (is_small) {
            question.kind = 7;
            question.wide = 0;
            asked_unit.apply(question, answer);
        }

        change.index = answer.bits;
        change.predicate = quick.new_val[0:0] == 1;
        ifElseRaw_resp_t slow;
        slow_ifElseRaw.apply(change, slow);
        meta.meta.rx_msg_id = slow.new_val;
        meta.meta.is_last_pkt = answer.wide > 9 && slow.new_val <= 40;

        if (hdr.ipv4.isValid() && hdr.ipv4.ttl > 100) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            hdr.short.setInvalid();
        } else if (!hdr.ipv4.isValid()) {
            hdr.last.setValid();
            hdr.last.kind = 9;
            hdr.last.length = (bit<11>) slow.new_val;
        }
        if (slow.new_val[3:0] == 4) {
            passed_t told;
            told.value = later.value;
            dummy_t unused;
            told_event.apply(told, unused);
        }
    }
}

control Sent(packet_out packet, in headers hdr,
             inout full_ingress_metadata_t meta, inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.eth);
        if (meta.meta.rx_msg_id != 3) {
            packet.emit(hdr.short);
        }
        packet.emit(hdr.long);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.last);
    }
}

XilinxPipeline(Taken(), Decided(), Sent()) main;
