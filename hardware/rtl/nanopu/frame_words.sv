// frame_words: flits from the pins become words of 64 bytes: a frame's header, and its payload in its time.
//
// In:      flits of 8 bytes, one a cycle at most, the first byte on the wire lowest; `in_last` with `in_keep` at a
//          frame's end. `first_cycles`, which never changes: from a frame's first flit to the first word of its
//          payload, at least; 13 to 24.
// Out:     `header` until the next frame's, with `ago`: bit n is up n cycles behind the one in which it can be looked at
//          first, of frames with something behind it. `payload`: words of 64 bytes, with zeros behind the frame's
//          end; their number in the packet, which stays at PACKET_WORDS beyond that, and whether it is the last.
// Latency: of a frame whose first flit comes in cycle t, the header is there in t + 8. The first word of payload leaves in
//          t + `first_cycles`, or 5 cycles behind its last flit; the others 4 behind theirs, one a cycle.
// Waits:   nothing: it takes a flit in every cycle.
// Source:  nanoPU paper, section 2.1; the model's `Ingress`; cycles as measured, stage_latency.
`default_nettype none

module frame_words #(
    // Words of 64 bytes of a packet.
    parameter integer PACKET_WORDS = 16
) (
    input  wire         clock,
    input  wire         reset,
    input  wire [5:0]   first_cycles,
    input  wire         in_valid,
    input  wire [63:0]  in_data,
    input  wire [7:0]   in_keep,
    input  wire         in_last,
    output reg  [511:0] header,
    output reg  [9:0]   ago,
    output wire         payload_valid,
    output wire         payload_last,
    output wire [$clog2(PACKET_WORDS+1)-1:0] payload_index,
    output wire [511:0] payload_data
);
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

    // Words of payload, and when they may leave.
    reg            filled, first_word, last_word;
    reg [511:0]    word_of_payload;
    reg [TIME-1:0] due;
    always @(posedge clock) begin
        if (ends_word && !behind_header) header <= word;
        word_of_payload <= word;
        first_word <= !behind_first;
        last_word <= in_last;
        // Counted from the next cycle on; none leaves before its header has been looked up.
        due <= behind_first ? now + TIME'(4) : age < first_cycles - TIME'(5) ? now - age + first_cycles
            : now + TIME'(5);
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

    // Payload on its way.
    /* verilator lint_off UNUSEDSIGNAL */
    wire             always_room;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             is_first;
    reg  [INDEX-1:0] next;
    due_queue #(.WIDTH(514), .DEPTH(4), .TIME_BITS(TIME)) on_its_way (
        .clock(clock), .reset(reset), .now(now), .in_valid(filled), .in_ready(always_room),
        .in_due(due), .in_data({first_word, last_word, word_of_payload}), .out_valid(payload_valid),
        .out_ready(1'b1), .out_data({is_first, payload_last, payload_data})
    );
    assign payload_index = is_first ? 0 : next;
    always @(posedge clock)
        if (payload_valid)
            next <= payload_index == INDEX'(PACKET_WORDS) ? payload_index : payload_index + 1'b1;
endmodule

`default_nettype wire
