// queue: a first-in, first-out queue between two valid/ready streams.
//
// In:      words, one a cycle, while `in_ready` is up.
// Out:     the same words in the same order, one a cycle, while `out_ready` is up; `count`, how many
//          words are inside.
// Latency: a word accepted in cycle t can leave in cycle t + 1. A full queue accepts none, even if
//          one leaves in the same cycle, so that no path leads from `out_ready` to `in_ready`.
// Memory:  DEPTH words of WIDTH bits, read without a register (distributed memory infers).
// Source:  ours; what every unit of the PsPIN and nanoPU papers puts between its neighbours.
`default_nettype none

module queue #(
    parameter integer WIDTH = 8,
    // Words that fit; any number from 2 on.
    parameter integer DEPTH = 4
) (
    input  wire                         clock,
    input  wire                         reset,
    input  wire                         in_valid,
    output wire                         in_ready,
    input  wire [WIDTH-1:0]             in_data,
    output wire                         out_valid,
    input  wire                         out_ready,
    output wire [WIDTH-1:0]             out_data,
    output wire [$clog2(DEPTH+1)-1:0]   count
);
    localparam integer INDEX = $clog2(DEPTH);
    localparam integer COUNT = $clog2(DEPTH + 1);
    localparam [INDEX-1:0] LAST = INDEX'(DEPTH - 1);
    localparam [COUNT-1:0] FULL = COUNT'(DEPTH);

    reg [WIDTH-1:0] words [0:DEPTH-1];
    reg [INDEX-1:0] head;
    reg [INDEX-1:0] tail;
    reg [COUNT-1:0] held;

    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;

    assign in_ready = held != FULL;
    assign out_valid = held != 0;
    assign out_data = words[head];
    assign count = held;

    always @(posedge clock)
        if (push) words[tail] <= in_data;

    always @(posedge clock)
        if (reset) begin
            head <= 0;
            tail <= 0;
            held <= 0;
        end else begin
            if (push) tail <= tail == LAST ? 0 : tail + 1'b1;
            if (pop) head <= head == LAST ? 0 : head + 1'b1;
            if (push && !pop) held <= held + 1'b1;
            if (pop && !push) held <= held - 1'b1;
        end
endmodule

`default_nettype wire
