// l1_bank: a bank of a cluster's L1, with its atomics.
//
// In:      an access to a word, or a beat's, not both; of an atomic that stores (`changes`) the operation, its funct5.
//          Behind one comes no access until its word is written.
// Out:     `read`: what the access or the beat has read, in the cycle behind; it stays until the next.
// Latency: a cycle. An atomic's word is written in the cycle behind, or in the first in which no beat comes.
// Memory:  2^ROW_BITS words, one port, read with a register.
// Source:  RTL, the AMO shim; the model's `L1Banks`.
`default_nettype none

module l1_bank #(
    parameter integer ROW_BITS = 12
) (
    input  wire                clock,
    input  wire                reset,
    input  wire                valid,
    input  wire                write,
    input  wire                changes,
    input  wire [4:0]          operation,
    input  wire [ROW_BITS-1:0] row,
    input  wire [31:0]         data,
    input  wire [3:0]          strobes,
    input  wire                beat_valid,
    input  wire                beat_write,
    input  wire [ROW_BITS-1:0] beat_row,
    input  wire [31:0]         beat_data,
    input  wire [3:0]          beat_strobes,
    output wire [31:0]         read
);
    /* verilator no_inline_module */
    reg  [31:0]         memory [0:(1<<ROW_BITS)-1];
    reg  [31:0]         word;
    // The atomic that has read; where a beat has come since, what it writes.
    reg                 changing, put_off;
    reg  [31:0]         kept;
    reg  [4:0]          held_operation;
    reg  [31:0]         operand;
    reg  [ROW_BITS-1:0] held_row;
    wire [31:0]         changed;
    atomic_unit unit (.operation(held_operation), .found(word), .operand(operand), .result(changed));

    wire [31:0]         result = put_off ? kept : changed;
    wire                writes = beat_valid ? beat_write : changing || (valid && write);
    wire                reads = !writes && (beat_valid || valid);
    wire [ROW_BITS-1:0] at = beat_valid ? beat_row : changing ? held_row : row;
    wire [31:0]         written = beat_valid ? beat_data : changing ? result : data;
    wire [3:0]          lanes = beat_valid ? beat_strobes : changing ? 4'hf : strobes;
    integer             lane;
    assign read = word;
    always @(posedge clock) begin
        if (writes) begin
            for (lane = 0; lane < 4; lane = lane + 1)
                if (lanes[lane]) memory[at][8*lane +: 8] <= written[8*lane +: 8];
        end
        if (reads) word <= memory[at];
        changing <= !reset && ((valid && changes) || (changing && beat_valid));
        put_off <= changing && beat_valid;
        kept <= result;
        if (valid && changes) begin
            held_operation <= operation;
            operand <= data;
            held_row <= row;
        end
    end
endmodule

`default_nettype wire
