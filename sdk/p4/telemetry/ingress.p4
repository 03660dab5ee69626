// In-band telemetry on the way in: the stamp is taken off each packet, and a postcard tells a collector how long
// it was on its way. Postcards tell of drops, too, of a queue that passes its threshold, and now and then
// of how many messages were delivered: these are events, each with a control of its own.
#include <core.p4>
#include <xsa.p4>
#include "lnic.p4"
#include "telemetry.p4"
#include "events.p4"

// Words of 64 bytes in a context's queue that are many.
#define MANY_WORDS 16
// Cycles without a message until its context's deliveries are told.
#define SILENCE 20000

parser MyParser(packet_in packet,
                out headers_of_telemetry hdr,
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
        packet.extract(hdr.stamp);
        transition accept;
    }
}

control MyProcessing(inout headers_of_telemetry hdr,
                     inout full_ingress_metadata_t meta,
                     inout standard_metadata_t smeta) {
    ContextID_t about;
#include "collector.p4"

    apply {
        about = hdr.ndp.dst_context;
        bit<8> kind = CARD_PACKET;
        bit<8> reason = 0;
        IPv4Addr_t sender = hdr.ipv4.src;
        bit<48> value = smeta.timestamp - hdr.stamp.sent;
        if (hdr.ndp.flags != DATA_MASK) {
            smeta.drop = 1;
        } else {
#include "postcard.p4"
        }
    }
}

// A packet was dropped.
control OnDrop(inout headers_of_telemetry hdr,
               inout full_ingress_metadata_t meta,
               inout standard_metadata_t smeta,
               in event_t event) {
    ContextID_t about;
#include "collector.p4"

    apply {
        about = event.dst_context;
        bit<8> kind = CARD_DROP;
        bit<8> reason = event.reason;
        IPv4Addr_t sender = event.src_ip;
        bit<48> value = 0;
#include "postcard.p4"
    }
}

// A context's queue has grown to the threshold.
control OnQueue(inout headers_of_telemetry hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta,
                in event_t event) {
    ContextID_t about;
#include "collector.p4"

    apply {
        about = event.dst_context;
        bit<8> kind = CARD_QUEUE;
        bit<8> reason = 0;
        IPv4Addr_t sender = 0;
        bit<48> value = (bit<48>) event.words;
#include "postcard.p4"
    }
}

// A message was delivered: it is counted, and the timer of its context begins again.
control OnDelivery(inout headers_of_telemetry hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta,
                   in event_t event) {
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) deliveries_ifElseRaw;
    UserExtern<timer_req_t, dummy_t>(1) startTimer_event;

    apply {
        ifElseRaw_req_t more;
        more.index = event.dst_context;
        more.predicate = true;
        more.data_1 = 1;
        more.opCode_1 = REG_RAISE;
        more.data_0 = 0;
        more.opCode_0 = REG_READ;
        ifElseRaw_resp_t deliveries;
        deliveries_ifElseRaw.apply(more, deliveries);
        timer_req_t start;
        start.timer = event.dst_context;
        start.cycles = SILENCE;
        start.cancel = false;
        dummy_t unused;
        startTimer_event.apply(start, unused);
    }
}

// A context has had no message for a while: a postcard tells how many there were.
control OnTimer(inout headers_of_telemetry hdr,
                inout full_ingress_metadata_t meta,
                inout standard_metadata_t smeta,
                in event_t event) {
    UserExtern<ifElseRaw_req_t, ifElseRaw_resp_t>(2) deliveries_ifElseRaw;
    ContextID_t about;
#include "collector.p4"

    apply {
        about = event.timer;
        ifElseRaw_req_t all;
        all.index = about;
        all.predicate = true;
        all.data_1 = 0;
        all.opCode_1 = REG_READ;
        all.data_0 = 0;
        all.opCode_0 = REG_READ;
        ifElseRaw_resp_t deliveries;
        deliveries_ifElseRaw.apply(all, deliveries);
        bit<8> kind = CARD_SILENCE;
        bit<8> reason = 0;
        IPv4Addr_t sender = 0;
        bit<48> value = (bit<48>) deliveries.new_val;
#include "postcard.p4"
    }
}

// The payload goes on alone; a postcard is a frame of its own.
control MyDeparser(packet_out packet,
                   in headers_of_telemetry hdr,
                   inout full_ingress_metadata_t meta,
                   inout standard_metadata_t smeta) {
    apply {
        packet.emit(hdr.card_eth);
        packet.emit(hdr.card_ip);
        packet.emit(hdr.card_udp);
        packet.emit(hdr.card);
    }
}

XilinxPipeline(MyParser(), MyProcessing(), MyDeparser()) main;
DropEvent(OnDrop()) drops;
QueueEvent(OnQueue(), MANY_WORDS) queue;
DeliveryEvent(OnDelivery()) deliveries;
TimerEvent(OnTimer()) silence;
