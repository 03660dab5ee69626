// Tables of each kind, and controls of events with externs of their own: each is a module.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "raw.p4"
#include "events.p4"

parser MyParser(packet_in packet,
                out headers hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta) {
    state start {
        packet.extract(hdr.eth);
        transition select(hdr.eth.type) {
            IPV4_TYPE: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control MyProcessing(inout headers hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    UserExtern<timer_req_t, dummy_t>(1) startTimer_event;
    bit<16> port;

    action to(bit<16> number, bit<128> name) {
        port = number;
        hdr.eth.dst = name[47:0] ^ name[127:80];
    }

    action deny() {
        smeta.drop = 1;
    }

    table ways {
        key = { hdr.ipv4.dst : lpm; hdr.ipv4.tos : exact; }
        actions = { to; deny; }
        default_action = deny();
    }

    table filter {
        key = { port : ternary; }
        actions = { deny; NoAction; }
    }

    apply {
        port = 0;
        if (hdr.ipv4.isValid()) {
            if (ways.apply().miss) {
                timer_req_t start = { hdr.ipv4.identification, 1000, false };
                dummy_t unused;
                startTimer_event.apply(start, unused);
            }
            filter.apply();
            hdr.ipv4.identification = port;
            smeta.send = SEND_PACKET;
        }
    }
}

control OnTimer(inout headers hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta,
                in event_t event) {
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) fired_ifElseRaw;

    apply {
        ifElseRaw_req_t more = { event.timer, event.words == 0, 1, REG_ADD, event.msg_len, REG_RAISE };
        ifElseRaw_resp_t fired;
        fired_ifElseRaw.apply(more, fired);
        hdr.eth.setValid();
        hdr.eth.dst = meta.params.switch_mac_addr;
        hdr.eth.src = meta.params.nic_mac_addr;
        hdr.eth.type = fired.new_val;
        smeta.send = SEND_HEADERS;
    }
}

control OnDrop(inout headers hdr,
               inout full_ingress_metadata_t meta,
               inout standard_metadata_t smeta,
               in event_t event) {
    UserExtern<egress_metadata_t, dummy_t>(1) ctrlPkt_event;
    bit<8> flags;

    action answer(bit<8> with) {
        flags = with;
    }

    table answers {
        key = { event.reason : exact; event.src_ip : exact; }
        actions = { answer; NoAction; }
    }

    apply {
        flags = 0;
        if (answers.apply().hit) {
            egress_metadata_t packet = {
                event.src_ip, event.src_context, event.msg_len, event.pkt_offset, event.dst_context,
                event.tx_msg_id, 0, 0, 0, 0, flags, false, false, 0, 0, 0, 0
            };
            dummy_t unused;
            ctrlPkt_event.apply(packet, unused);
        }
    }
}

control MyDeparser(packet_out packet,
                   in headers hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply { packet.emit(hdr); }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
TimerEvent(OnTimer()) timer;
DropEvent(OnDrop()) drops;
