// ndp_egress: the arbiter, headers in front of payload, and the pins.
//
// In:      `control`: frames of the packet generator, with the fields that they answer; `packet`: data packets of
//          packetization, as words of 64 bytes, with the fields of their message. Whole frames, one at a time;
//          control frames strictly first.
// Out:     flits of 8 bytes as AXI-Stream, the first byte on the wire lowest.
// Latency: a frame whose first word is taken in cycle t has its first flit on the pins in t + 2; the header's eight
//          flits go before the payload's, without a gap to the frame before if that is still leaving.
// Waits:   for the pins; two queues of QUEUE words each are in front of them, as in the published design.
// Source:  nanoPU paper, section 2.1; the model's `Egress` and `arbiter`; the layout of `frame::lnic`.
`default_nettype none

module ndp_egress #(
    // transmit.egress.arbiter_words and pipeline_words.
    parameter integer QUEUE = 34
) (
    input  wire         clock,
    input  wire         reset,
    // The node's names: its own and the next hop's MAC address, its IP address.
    input  wire [47:0]  own_mac,
    input  wire [47:0]  next_mac,
    input  wire [31:0]  own_ip,
    input  wire         control_valid,
    output wire         control_ready,
    input  wire         control_ack,
    input  wire         control_nack,
    input  wire         control_pull,
    input  wire [143:0] control_data,
    input  wire         packet_valid,
    output wire         packet_ready,
    input  wire         packet_first,
    input  wire         packet_last,
    input  wire [511:0] packet_word,
    // Addressee, its context, ours, the message's bytes, the packet's number, a zero, the message's id and buffer.
    input  wire [143:0] packet_data,
    // Bytes of payload of the packet.
    input  wire [15:0]  packet_bytes,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [63:0]  out_data,
    output wire [7:0]   out_keep,
    output wire         out_last
);
    // A word of payload, whether it ends its frame, and the bytes in it.
    localparam integer WIDTH = 512 + 1 + 7;
    localparam integer HEADER = 144 + 4 + 16;
    localparam integer FRAMES = 2 * QUEUE + 2;

    // The arbiter: whole frames.
    reg    in_frame;
    wire   room, headers_room;
    wire   takes_control = control_valid && !in_frame && room;
    wire   takes_packet = packet_valid && (in_frame || !control_valid) && room;
    assign control_ready = takes_control;
    assign packet_ready = takes_packet;
    wire   takes = takes_control || takes_packet;
    always @(posedge clock)
        if (reset) in_frame <= 0;
        else if (takes_packet) in_frame <= !packet_last;

    // A word's bytes: all 64 but in a frame's last.
    wire [15:0] control_bytes = 64;
    wire [6:0]  rest = packet_bytes[5:0] == 0 ? 7'd64 : {1'b0, packet_bytes[5:0]};
    wire [6:0]  word_bytes = takes_control || !packet_last ? 7'd64 : rest;
    wire [WIDTH-1:0] passes = {
        takes_control ? 512'd0 : packet_word, takes_control || packet_last, word_bytes
    };
    wire [HEADER-1:0] names = {
        takes_control ? control_data : packet_data,
        takes_control ? {control_pull, control_nack, control_ack, 1'b0} : 4'b0001,
        takes_control ? control_bytes : packet_bytes
    };

    // Two queues of words, and the frames' headers beside them.
    wire             middle_valid, middle_ready, word_valid, word_ready, header_valid, header_ready;
    wire [WIDTH-1:0] middle, word;
    wire [HEADER-1:0] header;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [$clog2(QUEUE+1)-1:0]  counts [0:1];
    wire [$clog2(FRAMES+1)-1:0] header_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(WIDTH), .DEPTH(QUEUE)) arbiter_words (
        .clock(clock), .reset(reset), .in_valid(takes), .in_ready(room), .in_data(passes),
        .out_valid(middle_valid), .out_ready(middle_ready), .out_data(middle), .count(counts[0])
    );
    queue #(.WIDTH(WIDTH), .DEPTH(QUEUE)) pipeline_words (
        .clock(clock), .reset(reset), .in_valid(middle_valid), .in_ready(middle_ready),
        .in_data(middle), .out_valid(word_valid), .out_ready(word_ready), .out_data(word),
        .count(counts[1])
    );
    // There is room: as many frames as words fit, and those that leave.
    queue #(.WIDTH(HEADER), .DEPTH(FRAMES)) headers (
        .clock(clock), .reset(reset), .in_valid(takes && !in_frame), .in_ready(headers_room),
        .in_data(names), .out_valid(header_valid), .out_ready(header_ready), .out_data(header),
        .count(header_count)
    );

    // The header's 64 bytes; the network's order of bytes.
    wire [15:0] payload_bytes = header[15:0];
    wire [3:0]  flags = header[19:16];
    wire [31:0] their_ip;
    wire [15:0] their_context, own_context, message_bytes, credit, number, buffer;
    wire [7:0]  packet, buffer_class;
    assign {
        their_ip, their_context, own_context, message_bytes, packet, credit, number, buffer, buffer_class
    } = header[HEADER-1:20];
    wire [511:0] forwards = {
        next_mac, own_mac, 16'h0800, 8'h45, 8'h00, payload_bytes + 16'd50, 16'd1, 16'd0, 8'd64, 8'h99, 16'd0,
        own_ip, their_ip, 4'd0, flags, own_context, their_context, message_bytes, packet, credit, number,
        buffer, buffer_class, 120'd0
    };
    wire [511:0] head;
    genvar place;
    generate
        for (place = 0; place < 64; place = place + 1) begin : by_byte
            assign head[8*place +: 8] = forwards[8*(63-place) +: 8];
        end
    endgenerate

    // The pins: what is left of the header, then of a word.
    reg          in_payload;
    reg  [3:0]   left;
    reg  [511:0] flits;
    reg  [6:0]   bytes_left;
    reg          ends;
    wire         idle = left == 0;
    wire         begins_frame = idle && !in_payload && header_valid && word_valid;
    wire         begins_word = idle && in_payload && word_valid;
    wire         moves = out_valid && out_ready;
    wire [6:0]   bytes_now = idle ? word[6:0] : bytes_left;
    wire         ends_now = idle ? word[7] : ends;
    assign out_valid = !idle || begins_frame || begins_word;
    assign out_data = begins_frame ? head[63:0] : begins_word ? word[71:8] : flits[63:0];
    wire   is_payload = in_payload;
    assign out_last = is_payload && ends_now && bytes_now <= 8;
    assign out_keep = is_payload && bytes_now < 8 ? ~(8'hff << bytes_now[2:0]) : 8'hff;
    assign header_ready = begins_frame && out_ready;
    assign word_ready = begins_word && out_ready;

    always @(posedge clock)
        if (reset) {in_payload, left} <= 0;
        else if (moves) begin
            if (begins_frame) left <= 7;
            else if (begins_word) left <= word[6:0] > 8 ? 4'((word[6:0] + 7'd7) >> 3) - 1'b1 : 0;
            else left <= left - 1'b1;
            if (!in_payload && left == 1) in_payload <= 1;
            else if (out_last) in_payload <= 0;
        end
    always @(posedge clock)
        if (moves) begin
            if (begins_frame) flits <= {64'd0, head[511:64]};
            else if (begins_word) begin
                flits <= {64'd0, word[519:72]};
                ends <= word[7];
                bytes_left <= word[6:0] - 7'd8;
            end else begin
                flits <= {64'd0, flits[511:64]};
                bytes_left <= bytes_left - 7'd8;
            end
        end

    wire _unused = &{1'b0, headers_room, packet_first};
endmodule

`default_nettype wire
