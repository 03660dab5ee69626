// egress_frames: the arbiter, queues of payload, and the pins; who writes headers stands beside it.
//
// In:      `control`: that the packet generator has a frame, whose payload is a word of zeros; `packet`: data packets of
//          packetization, as words of 64 bytes. Whole frames, one at a time; control frames strictly first. `head`:
//          the 64 bytes of headers of each frame, in the order of the frames, byte 0 on top as programs have it.
// Out:     `begins`: a frame's first word is taken, and its headers are wanted. Flits of 8 bytes as AXI-Stream, the
//          first byte on the wire lowest.
// Latency: a frame whose first word is taken in cycle t has its first flit on the pins in t + 2, if its headers are there;
//          their eight flits go before the payload's, without a gap to the frame before if that is still leaving.
// Waits:   for the pins, and for headers; two queues of QUEUE words each are in front of them, as in the published
//          design. Frames that are inside are FRAMES at most.
// Source:  nanoPU paper, section 2.1; the model's `Egress` and `arbiter`.
`default_nettype none

module egress_frames #(
    // transmit.egress.arbiter_words and pipeline_words.
    parameter integer QUEUE = 34
) (
    input  wire         clock,
    input  wire         reset,
    input  wire         control_valid,
    output wire         control_ready,
    input  wire         packet_valid,
    output wire         packet_ready,
    input  wire         packet_last,
    input  wire [511:0] packet_word,
    // Bytes of payload of the packet.
    input  wire [15:0]  packet_bytes,
    output wire         begins,
    output wire         begins_control,
    input  wire         head_valid,
    output wire         head_ready,
    input  wire [511:0] head,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [63:0]  out_data,
    output wire [7:0]   out_keep,
    output wire         out_last
);
    // A word of payload, whether it ends its frame, and the bytes in it.
    localparam integer WIDTH = 512 + 1 + 7;

    // The arbiter: whole frames.
    reg    in_frame;
    wire   room;
    wire   takes_control = control_valid && !in_frame && room;
    wire   takes_packet = packet_valid && (in_frame || !control_valid) && room;
    assign control_ready = takes_control;
    assign packet_ready = takes_packet;
    wire   takes = takes_control || takes_packet;
    assign begins = takes && !in_frame;
    assign begins_control = takes_control;
    always @(posedge clock)
        if (reset) in_frame <= 0;
        else if (takes_packet) in_frame <= !packet_last;

    // A word's bytes: all 64 but in a frame's last.
    wire [6:0]  rest = packet_bytes[5:0] == 0 ? 7'd64 : {1'b0, packet_bytes[5:0]};
    wire [6:0]  word_bytes = takes_control || !packet_last ? 7'd64 : rest;
    wire [WIDTH-1:0] passes = {
        takes_control ? 512'd0 : packet_word, takes_control || packet_last, word_bytes
    };

    // Two queues of words.
    wire             middle_valid, middle_ready, word_valid, word_ready;
    wire [WIDTH-1:0] middle, word;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [$clog2(QUEUE+1)-1:0] counts [0:1];
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

    // The network's order of bytes.
    wire [511:0] header;
    genvar       place;
    generate
        for (place = 0; place < 64; place = place + 1) begin : by_byte
            assign header[8*place +: 8] = head[8*(63-place) +: 8];
        end
    endgenerate

    // The pins: what is left of the header, then of a word.
    reg          in_payload;
    reg  [3:0]   left;
    reg  [511:0] flits;
    reg  [6:0]   bytes_left;
    reg          ends;
    wire         idle = left == 0;
    wire         begins_frame = idle && !in_payload && head_valid && word_valid;
    wire         begins_word = idle && in_payload && word_valid;
    wire         moves = out_valid && out_ready;
    wire [6:0]   bytes_now = idle ? word[6:0] : bytes_left;
    wire         ends_now = idle ? word[7] : ends;
    assign out_valid = !idle || begins_frame || begins_word;
    assign out_data = begins_frame ? header[63:0] : begins_word ? word[71:8] : flits[63:0];
    wire   is_payload = in_payload;
    assign out_last = is_payload && ends_now && bytes_now <= 8;
    assign out_keep = is_payload && bytes_now < 8 ? ~(8'hff << bytes_now[2:0]) : 8'hff;
    assign head_ready = begins_frame && out_ready;
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
            if (begins_frame) flits <= {64'd0, header[511:64]};
            else if (begins_word) begin
                flits <= {64'd0, word[519:72]};
                ends <= word[7];
                bytes_left <= word[6:0] - 7'd8;
            end else begin
                flits <= {64'd0, flits[511:64]};
                bytes_left <= bytes_left - 7'd8;
            end
        end

    wire _unused = &{1'b0, packet_bytes};
endmodule

`default_nettype wire
