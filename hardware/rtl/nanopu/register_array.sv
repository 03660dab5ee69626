// register_array: a register for each message, which a P4 program changes once a packet.
//
// In:      a request in a cycle in which `advance` is up: `predicate` chooses one of two opcodes and its
//          operand. 0 reads, 1 writes, 2 adds, 3 adds up to the largest value, 4 subtracts down to 0;
//          any other reads. With `advance` down nothing moves.
// Out:     `new_value`, LATENCY advances later: what the entry holds then. There is no entry behind the
//          last: it reads 0, and nothing is written.
// Latency: LATENCY, at least 1; an entry that is changed in one cycle can be changed again in the next.
// Memory:  ENTRIES words of WIDTH bits, read without a register, and a bit for each that says whether it
//          was written since `reset`: all begin as 0.
// Source:  NanoTransport's `ifElseRaw` (SOSR 2021), with what saturates beside it; the model's register
//          arrays.
`default_nettype none

module register_array #(
    parameter integer ENTRIES = 64,
    parameter integer INDEX_BITS = 16,
    parameter integer DATA_BITS = 16,
    parameter integer OPCODE_BITS = 8,
    parameter integer WIDTH = 16,
    parameter integer LATENCY = 2
) (
    input  wire                   clock,
    input  wire                   reset,
    input  wire                   advance,
    input  wire                   request_valid,
    input  wire [INDEX_BITS-1:0]  index,
    input  wire                   predicate,
    input  wire [DATA_BITS-1:0]   data_1,
    input  wire [OPCODE_BITS-1:0] opcode_1,
    input  wire [DATA_BITS-1:0]   data_0,
    input  wire [OPCODE_BITS-1:0] opcode_0,
    output wire [WIDTH-1:0]       new_value
);
    localparam integer ADDRESS = ENTRIES > 1 ? $clog2(ENTRIES) : 1;
    // Room for a sum's carry.
    localparam integer SUM = (DATA_BITS > WIDTH ? DATA_BITS : WIDTH) + 1;
    localparam integer REQUEST = 1 + INDEX_BITS + DATA_BITS + OPCODE_BITS;
    localparam [SUM-1:0] LARGEST = SUM'({WIDTH{1'b1}});

    wire [REQUEST-1:0] asked = {
        request_valid, index, predicate ? data_1 : data_0, predicate ? opcode_1 : opcode_0
    };
    wire                   valid;
    wire [INDEX_BITS-1:0]  at;
    wire [DATA_BITS-1:0]   data;
    wire [OPCODE_BITS-1:0] opcode;

    // A cycle of its own for the choice, if there is one.
    generate
        if (LATENCY > 1) begin : registered
            reg [REQUEST-1:0] request;
            always @(posedge clock)
                if (reset) request <= 0;
                else if (advance) request <= asked;
            assign {valid, at, data, opcode} = request;
        end else begin : direct
            assign {valid, at, data, opcode} = asked;
        end
    endgenerate

    reg [WIDTH-1:0]   entries [0:ENTRIES-1];
    reg [ENTRIES-1:0] written;

    wire               exists = 64'(at) < 64'(ENTRIES);
    wire [ADDRESS-1:0] address = ADDRESS'(at);
    wire [WIDTH-1:0]   held = written[address] ? entries[address] : {WIDTH{1'b0}};
    wire [SUM-1:0]     wide = SUM'(held);
    wire [SUM-1:0]     operand = SUM'(data);
    wire [SUM-1:0]     sum = wide + operand;
    wire [SUM-1:0]     difference = wide - operand;
    reg  [WIDTH-1:0]   changed;

    always @*
        case (opcode)
            OPCODE_BITS'(1): changed = operand[WIDTH-1:0];
            OPCODE_BITS'(2): changed = sum[WIDTH-1:0];
            OPCODE_BITS'(3): changed = sum > LARGEST ? {WIDTH{1'b1}} : sum[WIDTH-1:0];
            OPCODE_BITS'(4): changed = operand > wide ? {WIDTH{1'b0}} : difference[WIDTH-1:0];
            default: changed = held;
        endcase

    wire change = advance && valid && exists;

    always @(posedge clock)
        if (change) entries[address] <= changed;

    always @(posedge clock)
        if (reset) written <= 0;
        else if (change) written[address] <= 1'b1;

    reg [WIDTH-1:0] answer;
    always @(posedge clock)
        if (advance) answer <= exists ? changed : {WIDTH{1'b0}};

    // Cycles that are left over.
    generate
        if (LATENCY > 2) begin : later
            reg [(LATENCY-2)*WIDTH-1:0] answers;
            always @(posedge clock)
                if (advance) answers <= ((LATENCY-2)*WIDTH)'({answers, answer});
            assign new_value = answers[(LATENCY-3)*WIDTH +: WIDTH];
        end else begin : at_once
            assign new_value = answer;
        end
    endgenerate

    wire unused = &{1'b0, difference};
endmodule

`default_nettype wire
