// l2_bank: a bank of an L2 memory: lines with strobes, two ports.
//
// In:      on each side a line to write or one to read, not both.
// Out:     what was read, in the cycle behind; it stays until the next.
// Latency: a cycle. A line that is written on one side and read on the other in the same cycle is read as before.
// Memory:  2^ROW_BITS lines, two ports, read with a register.
// Source:  PsPIN paper, section III-A.
`default_nettype none

module l2_bank #(
    parameter integer ROW_BITS = 11,
    parameter integer BYTES = 64
) (
    input  wire                clock,
    input  wire                a_write,
    input  wire                a_read,
    input  wire [ROW_BITS-1:0] a_row,
    input  wire [8*BYTES-1:0]  a_data,
    input  wire [BYTES-1:0]    a_strobes,
    output reg  [8*BYTES-1:0]  a_answer,
    input  wire                b_write,
    input  wire                b_read,
    input  wire [ROW_BITS-1:0] b_row,
    input  wire [8*BYTES-1:0]  b_data,
    input  wire [BYTES-1:0]    b_strobes,
    output reg  [8*BYTES-1:0]  b_answer
);
    /* verilator no_inline_module */
    reg [8*BYTES-1:0] memory [0:(1<<ROW_BITS)-1];
    integer           place;
    always @(posedge clock) begin
        if (a_write) begin
            for (place = 0; place < BYTES; place = place + 1)
                if (a_strobes[place]) memory[a_row][8*place +: 8] <= a_data[8*place +: 8];
        end else if (a_read) a_answer <= memory[a_row];
        if (b_write) begin
            for (place = 0; place < BYTES; place = place + 1)
                if (b_strobes[place]) memory[b_row][8*place +: 8] <= b_data[8*place +: 8];
        end else if (b_read) b_answer <= memory[b_row];
    end
endmodule

`default_nettype wire
