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
// How:     data that is taken is answered with ACK and PULL, trimmed data with NACK and PULL; a message's credit
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
    localparam integer TIME = 6;
    localparam integer INDEX = $clog2(PACKET_WORDS + 1);

    // Flits become words of 64 bytes; what lies behind the frame's end is zeros.
    reg  [TIME-1:0] now, since;
    reg  [2:0]      place;
    reg             begun, behind_header, behind_first;
    reg  [511:0]    early;
    wire [63:0]     bytes;
    genvar          lane;
    generate
        for (lane = 0; lane < 8; lane = lane + 1) begin : by_lane
            assign bytes[8*lane +: 8] = in_keep[lane] ? in_data[8*lane +: 8] : 8'd0;
        end
    endgenerate
    wire            ends_word = in_valid && (place == 7 || in_last);
    wire [511:0]    word = early | ({448'd0, bytes} << {place, 6'd0});
    // Cycles since the frame's first flit.
    wire [TIME-1:0] age = begun ? now - since : 0;

    // The header, and how many cycles ago it was whole.
    /* verilator lint_off UNUSEDSIGNAL */
    reg  [511:0] header;
    /* verilator lint_on UNUSEDSIGNAL */
    reg  [9:0]   ago;
    // Words of payload, and when they may leave.
    reg            filled, first_word, last_word;
    reg [511:0]    payload;
    reg [TIME-1:0] due;
    always @(posedge clock) begin
        if (ends_word && !behind_header) header <= word;
        payload <= word;
        first_word <= !behind_first;
        last_word <= in_last;
        // Counted from the next cycle on; none leaves before its header has been looked up.
        due <= behind_first ? now + TIME'(4) : age < 12 ? now - age + TIME'(17) : now + TIME'(5);
        if (reset) begin
            {now, place, begun, behind_header, behind_first, ago, filled} <= 0;
            early <= 0;
        end else begin
            if (in_valid) early <= ends_word ? 0 : word;
            now <= now + 1'b1;
            ago <= {ago[8:0], ends_word && !behind_header && !in_last && place == 7};
            filled <= ends_word && behind_header;
            if (in_valid) begin
                begun <= !in_last;
                place <= in_last ? 0 : place + 1'b1;
                behind_header <= !in_last && (behind_header || ends_word);
                behind_first <= !in_last && (behind_first || (behind_header && ends_word));
            end
        end
        if (in_valid && !begun) since <= now;
    end

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

    // Payload on its way.
    /* verilator lint_off UNUSEDSIGNAL */
    wire             always_room;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             leaves, is_first, is_last;
    reg  [INDEX-1:0] index;
    wire [INDEX-1:0] own_index = is_first ? 0 : index;
    due_queue #(.WIDTH(514), .DEPTH(4), .TIME_BITS(TIME)) on_its_way (
        .clock(clock), .reset(reset), .now(now), .in_valid(filled), .in_ready(always_room),
        .in_due(due), .in_data({first_word, last_word, payload}), .out_valid(leaves), .out_ready(1'b1),
        .out_data({is_first, is_last, write_data})
    );
    always @(posedge clock)
        if (leaves) index <= own_index == INDEX'(PACKET_WORDS) ? own_index : own_index + 1'b1;
    // A payload that is longer than a packet stays out of others' buffers.
    assign write_valid = leaves && taken && own_index != INDEX'(PACKET_WORDS);
    assign write_word = base + WORD_BITS'(own_index);
    assign written_valid = leaves && is_last && taken;
    assign written_id = id;
endmodule

`default_nettype wire
