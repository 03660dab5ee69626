// The architecture: a parser, a control and a deparser in a row, one packet header a cycle.
#ifndef XSA_P4
#define XSA_P4

// What the architecture itself knows of a packet.
struct standard_metadata_t {
    bit<1> drop;                        // set it to 1, and the packet's payload goes nowhere
    @optional bit<8> reason;            // why: a number of lnic.p4; 0 is not counted as a loss
    @optional bit<16> packet_length;    // bytes of the frame; on its way out, of the payload
    @optional bit<48> timestamp;        // the NIC's cycle
    @optional bit<2> send;              // of a packet on its way in, and of events: what the deparser makes of it
}

// smeta.send. What a deparser puts out goes in front of the packet's payload.
#define SEND_NOTHING 0                  // on to the core, where a message is a packet
#define SEND_PACKET 1                   // back to the network; nothing goes to the core
#define SEND_HEADERS 2                  // back to the network without the payload, which goes on as it came

// A unit beside the pipeline, or a register in it: a request goes there, and the answer is there
// LATENCY cycles later. Its name says which unit it is. One request for each packet.
extern UserExtern<REQ, RESP> {
    UserExtern(bit<16> latency);
    void apply(in REQ request, out RESP response);
}

parser XilinxParser<H, M>(packet_in packet, out H hdr, inout M meta, inout standard_metadata_t smeta);
control XilinxProcessing<H, M>(inout H hdr, inout M meta, inout standard_metadata_t smeta);
control XilinxDeparser<H, M>(packet_out packet, in H hdr, inout M meta, inout standard_metadata_t smeta);

package XilinxPipeline<H, M>(XilinxParser<H, M> prs, XilinxProcessing<H, M> proc, XilinxDeparser<H, M> dep);

#endif
