// outbound: the NIC outbound engine: packets that handlers send, onto the wire.
//
// In:      sends, with a tag: a packet's address in the NIC and its bytes; lines of the NIC's memories.
// Out:     the packets as AXI-Stream, 64 bytes a beat; the tags of those whose bytes are read, in order.
// Latency: a send taken in cycle t by an idle engine is done in t + 1 + its beats, two more from L2.
// How:     a send has a byte at least.
// Source:  PsPIN paper, section III-A; cycles as published; the model's `OutboundEngine`.
`default_nettype none

module outbound #(
    parameter integer CLUSTERS = 1,
    parameter integer TAG_BITS = 4,
    // command.per_interface.
    parameter integer COMMANDS = 7,
    parameter integer L1_LINE_BITS = 14,
    parameter integer L2_LINE_BITS = 16,
    parameter integer BYTES_BITS = 22,
    // Of a line; a power of two.
    parameter integer BYTES = 64
) (
    input  wire                    clock,
    input  wire                    reset,
    input  wire [7:0]              now,
    input  wire                    command_valid,
    output wire                    command_ready,
    input  wire [TAG_BITS-1:0]     command_tag,
    input  wire [31:0]             command_from,
    input  wire [BYTES_BITS-1:0]   command_bytes,
    output wire                    done_valid,
    input  wire                    done_ready,
    output wire [TAG_BITS-1:0]     done_tag,
    output wire [CLUSTERS-1:0]     l1_valid,
    input  wire [CLUSTERS-1:0]     l1_ready,
    output wire [L1_LINE_BITS-1:0] l1_line,
    input  wire [8*BYTES*CLUSTERS-1:0] l1_data,
    output wire [1:0]              l2_valid,
    input  wire [1:0]              l2_ready,
    output wire [L2_LINE_BITS-1:0] l2_line,
    input  wire [16*BYTES-1:0]     l2_data,
    output wire                    m_axis_tvalid,
    input  wire                    m_axis_tready,
    output wire [8*BYTES-1:0]      m_axis_tdata,
    output wire [BYTES-1:0]        m_axis_tkeep,
    output wire                    m_axis_tlast
);
    localparam [7:0] FAR_CYCLES = 2;

    wire                waits, starts, start_ready, fetched, fetched_far, tag_room, due_room;
    // A send is done when it is read, whenever its last bytes leave.
    wire                fetched_late;
    wire [TAG_BITS-1:0] tag, next_tag;
    wire [31:0]         from;
    wire [BYTES_BITS-1:0] bytes;
    assign starts = waits && tag_room;
    queue_bypass #(.WIDTH(TAG_BITS + 32 + BYTES_BITS), .DEPTH(COMMANDS)) waiting (
        .clock(clock), .reset(reset), .in_valid(command_valid), .in_ready(command_ready),
        .in_data({command_tag, command_from, command_bytes}), .out_valid(waits),
        .out_ready(tag_room && start_ready), .out_data({tag, from, bytes})
    );
    nic_reader #(
        .CLUSTERS(CLUSTERS), .L1_LINE_BITS(L1_LINE_BITS), .L2_LINE_BITS(L2_LINE_BITS), .BYTES_BITS(BYTES_BITS),
        .BYTES(BYTES)
    ) reader (
        .clock(clock), .reset(reset), .start_valid(starts), .start_ready(start_ready),
        .start_from(from), .start_bytes(bytes), .start_offset($clog2(BYTES)'(0)), .l1_valid(l1_valid),
        .l1_ready(l1_ready), .l1_line(l1_line), .l1_data(l1_data), .l2_valid(l2_valid),
        .l2_ready(l2_ready), .l2_line(l2_line), .l2_data(l2_data), .fetched(fetched),
        .fetched_far(fetched_far), .fetched_late(fetched_late), .out_valid(m_axis_tvalid), .out_ready(m_axis_tready),
        .out_data(m_axis_tdata), .out_strobes(m_axis_tkeep), .out_last(m_axis_tlast)
    );
    wire has_tag;
    wire [$clog2(COMMANDS+1)-1:0] tag_count;
    queue #(.WIDTH(TAG_BITS), .DEPTH(COMMANDS)) tags (
        .clock(clock), .reset(reset), .in_valid(waits && start_ready), .in_ready(tag_room),
        .in_data(tag), .out_valid(has_tag), .out_ready(fetched), .out_data(next_tag), .count(tag_count)
    );
    due_queue #(.WIDTH(TAG_BITS), .DEPTH(2*COMMANDS)) done (
        .clock(clock), .reset(reset), .now(now), .in_valid(fetched), .in_ready(due_room),
        .in_due(fetched_far ? now + FAR_CYCLES : now), .in_data(next_tag), .out_valid(done_valid),
        .out_ready(done_ready), .out_data(done_tag)
    );
    wire _unused = &{1'b0, tag_count, has_tag, due_room, fetched_late};
endmodule

`default_nettype wire
