// p4_egress: the arbiter, headers that a P4 program's pipeline writes in front of payload, and the pins.
//
// In:      `control`: frames of the packet generator, with the fields that they answer; `packet`: data packets of
//          packetization, as words of 64 bytes, with the fields of their message. Whole frames, one at a time;
//          control frames strictly first.
// Out:     flits of 8 bytes as AXI-Stream, the first byte on the wire lowest. `open`: so many of a message's packets may go
//          before any answer, as the program says with its first one, whether or not that went before.
// Latency: a frame whose first word is taken in cycle t has its first flit on the pins in t + 2, if the pipeline has one stage,
//          and later by each stage more; `open` is up when its headers are through.
// How:     egress_frames has arbiter and pins, p4_egress_program, which `pinion p4 hardware --nic` writes, the program's
//          pipeline. Headers that are through it wait in a queue.
// Waits:   for the pins; the pipeline never does.
// Source:  nanoPU paper, sections 2.1 and 3.1; the model's `Egress`, `arbiter` and `P4`.
`default_nettype none

module p4_egress #(
    // transmit.egress.arbiter_words and pipeline_words, and transport.rtt_packets.
    parameter integer QUEUE = 34,
    parameter integer WINDOW = 2
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
    input  wire [167:0] control_data,
    input  wire         packet_valid,
    output wire         packet_ready,
    input  wire         packet_first,
    input  wire         packet_last,
    input  wire [511:0] packet_word,
    // Addressee, its context, ours, the message's bytes, the packet's number, a zero, the message's id and buffer.
    input  wire [143:0] packet_data,
    // Bytes of payload of the packet.
    input  wire [15:0]  packet_bytes,
    output wire         open_valid,
    output wire [15:0]  open_id,
    output wire [15:0]  open_packets,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [63:0]  out_data,
    output wire [7:0]   out_keep,
    output wire         out_last
);
    localparam integer FRAMES = 2 * QUEUE + 2;

    wire         begins, begins_control, head_valid, head_ready;
    wire [511:0] head;
    egress_frames #(.QUEUE(QUEUE)) frames (
        .clock(clock), .reset(reset), .control_valid(control_valid), .control_ready(control_ready),
        .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_last(packet_last),
        .packet_word(packet_word), .packet_bytes(packet_bytes), .begins(begins),
        .begins_control(begins_control), .head_valid(head_valid), .head_ready(head_ready), .head(head),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .out_keep(out_keep),
        .out_last(out_last)
    );

    wire         through_valid, opens;
    wire [511:0] through;
    wire [15:0]  window;
    p4_egress_program pipeline (
        .clock(clock), .reset(reset), .in_valid(begins), .next_mac(next_mac), .own_mac(own_mac),
        .own_ip(own_ip), .rtt_pkts(16'(WINDOW)),
        .in_flags(begins_control ? {4'd0, control_pull, control_nack, control_ack, 1'b0} : 8'd1),
        .in_data(begins_control ? control_data : {packet_data, 24'd0}),
        .in_bytes(begins_control ? 16'd64 : packet_bytes), .out_valid(through_valid), .out_header(through),
        .out_opens(opens), .out_window(window)
    );
    // Whose first packet each of the headers in the pipeline is.
    wire         is_first;
    /* verilator lint_off UNUSEDSIGNAL */
    wire         names_room, names_valid;
    wire [$clog2(FRAMES+1)-1:0] name_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(17), .DEPTH(FRAMES)) names (
        .clock(clock), .reset(reset), .in_valid(begins), .in_ready(names_room),
        .in_data({!begins_control && packet_data[63:56] == 0, packet_data[39:24]}), .out_valid(names_valid),
        .out_ready(through_valid), .out_data({is_first, open_id}), .count(name_count)
    );
    assign open_valid = through_valid && opens && is_first;
    assign open_packets = window == 0 ? 16'd1 : window;
    // There is room: as many frames as words fit, and those that leave.
    /* verilator lint_off UNUSEDSIGNAL */
    wire         headers_room;
    wire [$clog2(FRAMES+1)-1:0] header_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(512), .DEPTH(FRAMES)) headers (
        .clock(clock), .reset(reset), .in_valid(through_valid), .in_ready(headers_room),
        .in_data(through), .out_valid(head_valid), .out_ready(head_ready), .out_data(head),
        .count(header_count)
    );

    wire _unused = &{1'b0, packet_first};
endmodule

`default_nettype wire
