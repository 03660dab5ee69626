// p4_ingress: frames from the pins: headers go through the pipeline of a P4 program, payload to its buffer.
//
// In:      flits of 8 bytes, one a cycle at most, the first byte on the wire lowest; `in_last` with `in_keep` at a
//          frame's end. `verdict` and what comes with it: reassembly's answer in the cycle of `packet_valid`;
//          `served`: a hart serves the context that is asked for.
// Out:     `packet`: the program asks which message a packet belongs to (`get_rx_msg_info`). `write`: words of 64 bytes with
//          their place in the packet memory; `written` with a packet's last. `control`, `delivered`, `credit`: the program's
//          events for the packet generator and for packetization.
// Latency: of a frame whose first flit comes in cycle t, the header enters the pipeline in t + 10; what the program asks of
//          whom when, `pinion p4 explain` says. What packetization is told is up 2 cycles behind the event. Payload leaves a cycle
//          behind the pipeline's last stage, or 5 cycles behind its last flit; the others 4 behind theirs, one a cycle.
// How:     frame_words has the header and the payload, p4_ingress_program, which `pinion p4 hardware --nic` writes, the
//          program's pipeline. A packet's payload goes to its buffer if the program has asked, reassembly has taken it and
//          the program does not drop it. Frames that the parser does not take are dropped.
// Waits:   nothing: it takes a flit in every cycle, and all units answer at once.
// Source:  nanoPU paper, sections 2.1 and 3.1; the model's `Ingress` and `P4`.
`default_nettype none

module p4_ingress #(
    // transport.rtt_packets, and whether packets that come again are answered.
    parameter integer WINDOW = 2,
    parameter integer ANSWER_DUPLICATES = 0,
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
    input  wire                         packet_completes,
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
    output wire                         control_pull,
    // The answer's addressee, contexts, length, number, credit, id and buffer of the message; rank, and use of its id.
    output wire [167:0]                 control_data,
    output wire                         delivered_valid,
    output wire                         credit_valid,
    output wire                         credit_nack,
    output wire                         credit_pull,
    output wire [15:0]                  delivered_id,
    output wire [7:0]                   delivered_packet,
    output wire [15:0]                  credit_id,
    output wire [7:0]                   credit_packet,
    output wire [15:0]                  credit_packets
);
    localparam integer ID = $clog2(MESSAGES);
    localparam integer INDEX = $clog2(PACKET_WORDS + 1);
    localparam [1:0] TAKEN = 0, DUPLICATE = 1, NO_ROOM = 2;

    // The header, and how many cycles ago it was whole; words of payload.
    wire [511:0]     header;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [9:0]       ago;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             leaves, is_last;
    wire [INDEX-1:0] index;
    wire [5:0]       cycles;
    frame_words #(.PACKET_WORDS(PACKET_WORDS)) words (
        .clock(clock), .reset(reset), .first_cycles(6'd11 + cycles), .in_valid(in_valid),
        .in_data(in_data), .in_keep(in_keep), .in_last(in_last), .header(header), .ago(ago),
        .payload_valid(leaves), .payload_last(is_last), .payload_index(index), .payload_data(write_data)
    );
    // Byte 0 on top, as programs have it.
    wire [511:0] forwards;
    genvar       place;
    generate
        for (place = 0; place < 64; place = place + 1) begin : by_byte
            assign forwards[8*(63-place) +: 8] = header[8*place +: 8];
        end
    endgenerate

    wire        asks, receives, decided, accepted, delivers, tells;
    wire [31:0] source;
    wire [15:0] source_context, number, told_id, told_credit_id, told_credit;
    wire [37:0] told_packets;
    wire [7:0]  flags, told_packet;
    wire        told_again, told_more;
    wire        taken = asks && served && verdict == TAKEN;
    p4_ingress_program pipeline (
        .clock(clock), .reset(reset), .cycles(cycles), .in_valid(ago[2]), .in_header(forwards),
        .rtt_pkts(16'(WINDOW)), .answer_duplicates(ANSWER_DUPLICATES != 0), .lookup_valid(asks),
        .lookup_received(receives), .lookup_ip(source), .lookup_context(source_context),
        .lookup_number(number), .lookup_bytes(packet_message_bytes), .lookup_packet(packet_number),
        .lookup_target(packet_context), .answer_fail(!taken), .answer_id(16'(packet_id)),
        .answer_new_message(packet_begins), .answer_new_packet(!served || verdict != DUPLICATE),
        .answer_last(packet_completes), .answer_no_buffer(served && verdict == NO_ROOM),
        .control_valid(control_valid), .control_flags(flags), .control_data(control_data),
        .delivered_valid(delivers), .delivered_number(told_id), .delivered_packets(told_packets),
        .credit_valid(tells), .credit_number(told_credit_id), .credit_again(told_again),
        .credit_packet(told_packet), .credit_more(told_more), .credit_packets(told_credit),
        .done_valid(decided), .done_taken(accepted)
    );
    assign packet_valid = asks && served;
    assign packet_trimmed = !receives;
    assign packet_source = {source, source_context};
    assign packet_key = {source[HOST_BITS-1:0], number[NUMBER_BITS-1:0]};
    assign {control_pull, control_nack, control_ack} = flags[3:1];

    // What packetization is told; of packets that have arrived together, the first: programs tell one at a time.
    reg  [7:0] first;
    integer    bit_number;
    always @* begin
        first = 0;
        for (bit_number = 37; bit_number >= 0; bit_number = bit_number - 1)
            if (told_packets[bit_number]) first = 8'(bit_number);
    end
    localparam integer TOLD = 2 + 16 + 8 + 2 + 16 + 8 + 16;
    reg [TOLD-1:0] told, told_before;
    always @(posedge clock) begin
        if (reset) {told[TOLD-1 -: 2], told_before[TOLD-1 -: 2]} <= 0;
        else {told[TOLD-1 -: 2], told_before[TOLD-1 -: 2]} <= {delivers, tells, told[TOLD-1 -: 2]};
        told[TOLD-3:0] <= {
            told_id, first, told_again, told_more, told_credit_id, told_packet, told_credit
        };
        told_before[TOLD-3:0] <= told[TOLD-3:0];
    end
    assign {
        delivered_valid, credit_valid, delivered_id, delivered_packet, credit_nack, credit_pull, credit_id,
        credit_packet, credit_packets
    } = told_before;

    // What reassembly has said of the packet that is inside the pipeline: it is through before the next one asks.
    reg                 has_room, goes;
    reg [ID-1:0]        asked_id, id;
    reg [WORD_BITS-1:0] asked_word, base;
    always @(posedge clock) begin
        if (reset) {has_room, goes} <= 0;
        else begin
            if (asks) has_room <= taken && receives;
            else if (decided) has_room <= 0;
            if (decided) goes <= accepted && (has_room || (taken && receives));
        end
        if (asks) {asked_id, asked_word} <= {packet_id, packet_word};
        if (decided) {id, base} <= asks ? {packet_id, packet_word} : {asked_id, asked_word};
    end
    // A payload that is longer than a packet stays out of others' buffers.
    assign write_valid = leaves && goes && index != INDEX'(PACKET_WORDS);
    assign write_word = base + WORD_BITS'(index);
    assign written_valid = leaves && is_last && goes;
    assign written_id = id;

    wire _unused = &{1'b0, flags, source, number};
endmodule

`default_nettype wire
