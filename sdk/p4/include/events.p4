// Events other than a packet's arrival. Each has a control of its own, named in an object beside main:
//
//     TimerEvent(OnTimer()) timer;
//     QueueEvent(OnQueue(), 32) queue;     // words of 64 bytes
//
// An event goes through a pipeline of its control's stages, beside the packets'. Externs that its control
// declares are ports to the units that other controls reach by the same names. No packet is there: its
// headers are not valid until the control makes them so, and go out if it sets smeta.send.
#ifndef EVENTS_P4
#define EVENTS_P4

#include <xsa.p4>
#include "lnic.p4"

// What a control is told: of a drop, a trimmed packet and a delivery about the packet or message; of a
// queue its context and the words in it; of a timer its number.
struct event_t {
    bit<16> timer;
    bit<8> reason;                      // of a drop: a number of lnic.p4
    bit<8> flags;
    IPv4Addr_t src_ip;
    ContextID_t src_context;
    ContextID_t dst_context;
    bit<16> msg_len;
    bit<8> pkt_offset;
    MsgID_t tx_msg_id;
    bit<16> words;                      // of a queue: words of 64 bytes that wait
}

// Starts a timer, again if it runs, or stops it.
struct timer_req_t {
    bit<16> timer;                      // its number
    bit<32> cycles;                     // from the event until it fires, 1 at least
    bool cancel;
}

control EventControl<H, M>(inout H hdr, inout M meta, inout standard_metadata_t smeta, in event_t event);

package TimerEvent<H, M>(EventControl<H, M> on);        // a timer fires that startTimer_event has started
package DropEvent<H, M>(EventControl<H, M> on);         // the NIC drops a packet
package TrimEvent<H, M>(EventControl<H, M> on);         // a packet has come without its payload
package QueueEvent<H, M>(EventControl<H, M> on, bit<16> words); // a context's queue of received words passes so many
package DeliveryEvent<H, M>(EventControl<H, M> on);     // a message is whole, and in its queue

#endif
