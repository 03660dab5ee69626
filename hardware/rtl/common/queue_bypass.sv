// queue_bypass: a first-in, first-out queue that lets a word through in its cycle while it is empty.
//
// In:      words, one a cycle, while `in_ready` is up.
// Out:     the same words in the same order, one a cycle, while `out_ready` is up.
// Latency: none through an empty queue whose reader is ready. `in_ready` does not depend on `out_ready`.
// Memory:  as `queue`.
// Source:  ours.
`default_nettype none

module queue_bypass #(
    parameter integer WIDTH = 8,
    parameter integer DEPTH = 4
) (
    input  wire             clock,
    input  wire             reset,
    input  wire             in_valid,
    output wire             in_ready,
    input  wire [WIDTH-1:0] in_data,
    output wire             out_valid,
    input  wire             out_ready,
    output wire [WIDTH-1:0] out_data
);
    wire             held;
    wire [WIDTH-1:0] word;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [$clog2(DEPTH+1)-1:0] held_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(WIDTH), .DEPTH(DEPTH)) waiting (
        .clock(clock), .reset(reset), .in_valid(in_valid && !(out_ready && !held)), .in_ready(in_ready),
        .in_data(in_data), .out_valid(held), .out_ready(out_ready), .out_data(word), .count(held_count)
    );
    assign out_valid = held || (in_valid && in_ready);
    assign out_data = held ? word : in_data;
endmodule

`default_nettype wire
