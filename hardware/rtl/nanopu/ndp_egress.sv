// ndp_egress: the arbiter, NDP's headers in front of payload, and the pins.
//
// In:      `control`: frames of the packet generator, with the fields that they answer; `packet`: data packets of
//          packetization, as words of 64 bytes, with the fields of their message. Whole frames, one at a time;
//          control frames strictly first.
// Out:     flits of 8 bytes as AXI-Stream, the first byte on the wire lowest.
// Latency: a frame whose first word is taken in cycle t has its first flit on the pins in t + 2; the header's eight
//          flits go before the payload's, without a gap to the frame before if that is still leaving.
// Waits:   for the pins; two queues of QUEUE words each are in front of them, as in the published design.
// How:     egress_frames has arbiter and pins; what headers are made of waits beside it.
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
    localparam integer HEADER = 144 + 4 + 16;
    localparam integer FRAMES = 2 * QUEUE + 2;

    wire         begins, begins_control, header_valid, header_ready;
    wire [511:0] head;
    egress_frames #(.QUEUE(QUEUE)) frames (
        .clock(clock), .reset(reset), .control_valid(control_valid), .control_ready(control_ready),
        .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_last(packet_last),
        .packet_word(packet_word), .packet_bytes(packet_bytes), .begins(begins),
        .begins_control(begins_control), .head_valid(header_valid), .head_ready(header_ready),
        .head(head), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data),
        .out_keep(out_keep), .out_last(out_last)
    );

    // What each frame's header is made of. There is room: as many frames as words fit, and those that leave.
    wire [HEADER-1:0] names = {
        begins_control ? control_data : packet_data,
        begins_control ? {control_pull, control_nack, control_ack, 1'b0} : 4'b0001,
        begins_control ? 16'd64 : packet_bytes
    };
    wire [HEADER-1:0] header;
    /* verilator lint_off UNUSEDSIGNAL */
    wire              headers_room;
    wire [$clog2(FRAMES+1)-1:0] header_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(HEADER), .DEPTH(FRAMES)) headers (
        .clock(clock), .reset(reset), .in_valid(begins), .in_ready(headers_room), .in_data(names),
        .out_valid(header_valid), .out_ready(header_ready), .out_data(header), .count(header_count)
    );

    // The header's 64 bytes, the first one on top.
    wire [15:0] payload_bytes = header[15:0];
    wire [3:0]  flags = header[19:16];
    wire [31:0] their_ip;
    wire [15:0] their_context, own_context, message_bytes, credit, number, buffer;
    wire [7:0]  packet, buffer_class;
    assign {
        their_ip, their_context, own_context, message_bytes, packet, credit, number, buffer, buffer_class
    } = header[HEADER-1:20];
    assign head = {
        next_mac, own_mac, 16'h0800, 8'h45, 8'h00, payload_bytes + 16'd50, 16'd1, 16'd0, 8'd64, 8'h99, 16'd0,
        own_ip, their_ip, 4'd0, flags, own_context, their_context, message_bytes, packet, credit, number,
        buffer, buffer_class, 120'd0
    };

    wire _unused = &{1'b0, packet_first};
endmodule

`default_nettype wire
