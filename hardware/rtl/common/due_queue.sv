// due_queue: words that leave in order, each not before its cycle.
//
// In:      words, each with the cycle in which it is due, modulo 2^TIME_BITS: less than half of that ahead, and taken
//          before it is as long over.
// Out:     the same words, one a cycle.
// Latency: a word that is due leaves in the cycle behind its coming, at once if it is the first.
// Memory:  as `queue`.
// Source:  ours; what stands here for the length of the published design's paths.
`default_nettype none

module due_queue #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 8,
    parameter integer TIME_BITS = 8
) (
    input  wire                 clock,
    input  wire                 reset,
    input  wire [TIME_BITS-1:0] now,
    input  wire                 in_valid,
    output wire                 in_ready,
    input  wire [TIME_BITS-1:0] in_due,
    input  wire [WIDTH-1:0]     in_data,
    output wire                 out_valid,
    input  wire                 out_ready,
    output wire [WIDTH-1:0]     out_data
);
    wire                 waits;
    wire [TIME_BITS-1:0] due;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [TIME_BITS-1:0] late = now - due;
    /* verilator lint_on UNUSEDSIGNAL */
    queue_bypass #(.WIDTH(TIME_BITS + WIDTH), .DEPTH(DEPTH)) words (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready),
        .in_data({in_due, in_data}), .out_valid(waits), .out_ready(out_ready && !late[TIME_BITS-1]),
        .out_data({due, out_data})
    );
    assign out_valid = waits && !late[TIME_BITS-1];
endmodule

`default_nettype wire
