// ndp_ingress: frames from the pins: headers are looked up and answered as NDP does, payload goes to its buffer.
//
// In:      flits of 8 bytes, one a cycle at most, the first byte on the wire lowest; `in_last` with `in_keep` at a
//          frame's end. `verdict` and what comes with it: reassembly's answer in the cycle of `packet_valid`;
//          `served`: a hart serves the context that is asked for.
// Out:     `packet`: a data packet's header, for reassembly. `write`: words of 64 bytes with their place in the
//          packet memory; `written` with a packet's last. `control`: what the packet generator is to answer, with
//          the fields of the frame; `delivered`, `credit`: what control frames tell the transmit side.
// Latency: of a frame whose first flit comes in cycle t, the header is looked up in t + 11, `control` is up in
//          t + 15, `delivered` and `credit` in t + 17. The first word of payload leaves in t + 17, or 5 cycles
//          behind its last flit; the others 4 behind theirs, one a cycle.
// How:     frame_words has the header and the payload. Data that is taken is answered with ACK and PULL, trimmed data with NACK and PULL; a message's credit
//          begins with WINDOW packets and grows by one with each that came whole. Frames that are none of NDP's, too short, or for
//          nobody are dropped, and so are packets that reassembly does not take.
// Waits:   nothing: it takes a flit in every cycle.
// Source:  nanoPU paper, sections 2.1 and 3.1; the model's `Ingress` and `Ndp`; cycles as measured, stage_latency.
`default_nettype none

module ndp_ingress #(
    // transport.rtt_packets.
    parameter integer WINDOW = 2,
    // Of the sender's address and of its number for the message, so many bits tell messages apart.
    parameter integer HOST_BITS = 7,
    parameter integer NUMBER_BITS = 7,
    parameter integer MESSAGES = 16,
    // Words of 64 bytes of the packet memory, and of a packet.
    parameter integer WORD_BITS = 9,
    parameter integer PACKET_WORDS = 16
) (
    input  wire                         clock,
    input  wire                         reset,
    input  wire                         in_valid,
    input  wire [63:0]                  in_data,
    input  wire [7:0]                   in_keep,
    input  wire                         in_last,
    output wire                         packet_valid,
    output wire [HOST_BITS+NUMBER_BITS-1:0] packet_key,
    output wire [15:0]                  packet_message_bytes,
    output wire [7:0]                   packet_number,
    output wire                         packet_trimmed,
    output wire [15:0]                  packet_context,
    // Who sent it: address and context.
    output wire [47:0]                  packet_source,
    input  wire                         served,
    input  wire [1:0]                   verdict,
    input  wire                         packet_begins,
    input  wire [$clog2(MESSAGES)-1:0]  packet_id,
    input  wire [WORD_BITS-1:0]         packet_word,
    output wire                         write_valid,
    output wire [WORD_BITS-1:0]         write_word,
    output wire [511:0]                 write_data,
    output wire                         written_valid,
    output wire [$clog2(MESSAGES)-1:0]  written_id,
    output wire                         control_valid,
    output wire                         control_ack,
    output wire                         control_nack,
    // The answer's addressee, contexts, length, number, credit, id and buffer of the message.
    output wire [143:0]                 control_data,
    output wire                         delivered_valid,
    output wire                         credit_valid,
    output wire                         credit_nack,
    output wire                         credit_pull,
    output wire [15:0]                  notice_id,
    output wire [7:0]                   notice_packet,
    output wire [15:0]                  notice_credit
);
    localparam integer ID = $clog2(MESSAGES);
    localparam [1:0] TAKEN = 0;
    localparam integer DATA = 0, ACK = 1, NACK = 2, PULL = 3, CHOP = 4;
    localparam [7:0] PROTOCOL = 8'h99;
    localparam integer INDEX = $clog2(PACKET_WORDS + 1);

    // The header, and how many cycles ago it was whole; words of payload.
    /* verilator lint_off UNUSEDSIGNAL */
    wire [511:0]     header;
    wire [9:0]       ago;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             leaves, is_last;
    wire [INDEX-1:0] index;
    frame_words #(.PACKET_WORDS(PACKET_WORDS)) words (
        .clock(clock), .reset(reset), .first_cycles(6'd17), .in_valid(in_valid), .in_data(in_data),
        .in_keep(in_keep), .in_last(in_last), .header(header), .ago(ago), .payload_valid(leaves),
        .payload_last(is_last), .payload_index(index), .payload_data(write_data)
    );

    // Its fields; the network's order of bytes.
    `define HALF(at) {header[8*(at) +: 8], header[8*(at)+8 +: 8]}
    wire [7:0]  flags = header[8*34 +: 8];
    wire [31:0] source = {`HALF(26), `HALF(28)};
    wire [15:0] source_context = `HALF(35);
    wire [15:0] number = `HALF(44);
    wire        is_ours = `HALF(12) == 16'h0800 && header[8*14 +: 8] == 8'h45 && header[8*23 +: 8] == PROTOCOL;
    wire        looks_up = ago[3] && is_ours;
    assign packet_context = `HALF(37);
    assign packet_message_bytes = `HALF(39);
    assign packet_number = header[8*41 +: 8];
    assign packet_trimmed = flags[CHOP];
    assign packet_source = {source, source_context};
    assign packet_key = {source[HOST_BITS-1:0], number[NUMBER_BITS-1:0]};
    assign packet_valid = looks_up && flags[DATA] && served;

    // The decision, from the look-up on until the next one's.
    reg  [15:0]          credits [0:MESSAGES-1];
    wire [15:0]          credit = packet_begins ? 16'(WINDOW) : credits[packet_id];
    wire                 answers = packet_valid && verdict == TAKEN;
    reg                  answered, is_control, taken;
    reg  [7:0]           kept_flags;
    reg  [ID-1:0]        id;
    reg  [WORD_BITS-1:0] base;
    reg  [143:0]         fields;
    always @(posedge clock) begin
        if (answers) credits[packet_id] <= credit + 16'(!packet_trimmed);
        if (reset) {answered, is_control, taken} <= 0;
        else if (ago[3]) begin
            answered <= answers;
            is_control <= looks_up && !flags[DATA];
            taken <= answers && !packet_trimmed;
        end
        if (ago[3]) begin
            kept_flags <= flags;
            id <= packet_id;
            base <= packet_word;
            fields <= {
                source, source_context, packet_context, packet_message_bytes, packet_number,
                looks_up && flags[DATA] ? credit + 16'(!packet_trimmed) : `HALF(42), number,
                `HALF(46), header[8*48 +: 8]
            };
        end
    end
    `undef HALF
    assign control_valid = ago[7] && answered;
    assign control_ack = !kept_flags[CHOP];
    assign control_nack = kept_flags[CHOP];
    assign control_data = fields;
    wire   tells = ago[9] && is_control;
    assign delivered_valid = tells && kept_flags[ACK];
    assign credit_valid = tells && (kept_flags[NACK] || kept_flags[PULL]);
    assign credit_nack = kept_flags[NACK];
    assign credit_pull = kept_flags[PULL];
    assign notice_packet = fields[63:56];
    assign notice_credit = fields[55:40];
    assign notice_id = fields[39:24];

    // A payload that is longer than a packet stays out of others' buffers.
    assign write_valid = leaves && taken && index != INDEX'(PACKET_WORDS);
    assign write_word = base + WORD_BITS'(index);
    assign written_valid = leaves && is_last && taken;
    assign written_id = id;
endmodule

`default_nettype wire
