// register_array: a register for each message, which P4 programs change once a packet.
//
// In:      by port, a request in a cycle in which its `advance` is up: `predicate` chooses one of two
//          opcodes and its operand. 0 reads, 1 writes, 2 adds, 3 adds up to the largest value, 4 subtracts
//          down to 0; any other reads. With its `advance` down nothing of a port moves.
// Out:     `new_value`, LATENCY advances later: what the entry holds then. There is no entry behind the
//          last: it reads 0, and nothing is written.
// Latency: LATENCY, at least 1; an entry that is changed in one cycle can be changed again in the next. In one
//          cycle ports follow each other from the lowest on: each finds what those before it have made of the entry.
// Memory:  ENTRIES words of WIDTH bits, read without a register, and a bit for each that says whether it
//          was written since `reset`: all begin as 0.
// Source:  NanoTransport's `ifElseRaw` (SOSR 2021), with what saturates beside it; the model's register
//          arrays, and its order of events in a cycle.
`default_nettype none

module register_array #(
    parameter integer PORTS = 1,
    parameter integer ENTRIES = 64,
    parameter integer INDEX_BITS = 16,
    parameter integer DATA_BITS = 16,
    parameter integer OPCODE_BITS = 8,
    parameter integer WIDTH = 16,
    parameter integer LATENCY = 2
) (
    input  wire                         clock,
    input  wire                         reset,
    input  wire [PORTS-1:0]             advance,
    input  wire [PORTS-1:0]             request_valid,
    input  wire [PORTS*INDEX_BITS-1:0]  index,
    input  wire [PORTS-1:0]             predicate,
    input  wire [PORTS*DATA_BITS-1:0]   data_1,
    input  wire [PORTS*OPCODE_BITS-1:0] opcode_1,
    input  wire [PORTS*DATA_BITS-1:0]   data_0,
    input  wire [PORTS*OPCODE_BITS-1:0] opcode_0,
    output wire [PORTS*WIDTH-1:0]       new_value
);
    localparam integer ADDRESS = ENTRIES > 1 ? $clog2(ENTRIES) : 1;
    // Room for a sum's carry.
    localparam integer SUM = (DATA_BITS > WIDTH ? DATA_BITS : WIDTH) + 1;
    localparam integer REQUEST = 1 + INDEX_BITS + DATA_BITS + OPCODE_BITS;
    localparam [SUM-1:0] LARGEST = SUM'({WIDTH{1'b1}});

    reg [WIDTH-1:0]   entries [0:ENTRIES-1];
    reg [ENTRIES-1:0] written;

    // By port: what is asked, what the entry held before this cycle, and what it holds behind the port.
    wire [PORTS-1:0]             change;
    wire [PORTS*ADDRESS-1:0]     addresses;
    wire [PORTS*DATA_BITS-1:0]   operands;
    wire [PORTS*OPCODE_BITS-1:0] opcodes;
    wire [PORTS*WIDTH-1:0]       stored;
    reg  [PORTS*WIDTH-1:0]       changes;

    genvar port;
    generate
        for (port = 0; port < PORTS; port = port + 1) begin : ports
            wire [REQUEST-1:0] asked = {
                request_valid[port], index[port*INDEX_BITS +: INDEX_BITS],
                predicate[port] ? data_1[port*DATA_BITS +: DATA_BITS]
                    : data_0[port*DATA_BITS +: DATA_BITS],
                predicate[port] ? opcode_1[port*OPCODE_BITS +: OPCODE_BITS]
                    : opcode_0[port*OPCODE_BITS +: OPCODE_BITS]
            };
            wire                   valid;
            wire [INDEX_BITS-1:0]  at;
            wire [DATA_BITS-1:0]   data;
            wire [OPCODE_BITS-1:0] opcode;

            // A cycle of its own for the choice, if there is one.
            if (LATENCY > 1) begin : registered
                reg [REQUEST-1:0] request;
                always @(posedge clock)
                    if (reset) request <= 0;
                    else if (advance[port]) request <= asked;
                assign {valid, at, data, opcode} = request;
            end else begin : direct
                assign {valid, at, data, opcode} = asked;
            end

            wire               exists = 64'(at) < 64'(ENTRIES);
            wire [ADDRESS-1:0] address = ADDRESS'(at);
            assign change[port] = advance[port] && valid && exists;
            assign addresses[port*ADDRESS +: ADDRESS] = address;
            assign operands[port*DATA_BITS +: DATA_BITS] = data;
            assign opcodes[port*OPCODE_BITS +: OPCODE_BITS] = opcode;
            assign stored[port*WIDTH +: WIDTH] = written[address] ? entries[address] : {WIDTH{1'b0}};

            reg [WIDTH-1:0] answer;
            always @(posedge clock)
                if (advance[port]) answer <= exists ? changes[port*WIDTH +: WIDTH] : {WIDTH{1'b0}};

            // Cycles that are left over.
            if (LATENCY > 2) begin : later
                reg [(LATENCY-2)*WIDTH-1:0] answers;
                always @(posedge clock)
                    if (advance[port]) answers <= ((LATENCY-2)*WIDTH)'({answers, answer});
                assign new_value[port*WIDTH +: WIDTH] = answers[(LATENCY-3)*WIDTH +: WIDTH];
            end else begin : at_once
                assign new_value[port*WIDTH +: WIDTH] = answer;
            end
        end
    endgenerate

    integer         one, earlier;
    reg [WIDTH-1:0] held;
    reg [SUM-1:0]   wide, operand, sum, difference;

    always @* begin
        changes = {PORTS*WIDTH{1'b0}};
        for (one = 0; one < PORTS; one = one + 1) begin
            held = stored[one*WIDTH +: WIDTH];
            for (earlier = 0; earlier < one; earlier = earlier + 1)
                if (change[earlier]
                        && addresses[earlier*ADDRESS +: ADDRESS] == addresses[one*ADDRESS +: ADDRESS])
                    held = changes[earlier*WIDTH +: WIDTH];
            wide = SUM'(held);
            operand = SUM'(operands[one*DATA_BITS +: DATA_BITS]);
            sum = wide + operand;
            difference = wide - operand;
            case (opcodes[one*OPCODE_BITS +: OPCODE_BITS])
                OPCODE_BITS'(1): held = operand[WIDTH-1:0];
                OPCODE_BITS'(2): held = sum[WIDTH-1:0];
                OPCODE_BITS'(3): held = sum > LARGEST ? {WIDTH{1'b1}} : sum[WIDTH-1:0];
                OPCODE_BITS'(4): held = operand > wide ? {WIDTH{1'b0}} : difference[WIDTH-1:0];
                default: ;
            endcase
            changes[one*WIDTH +: WIDTH] = held;
        end
    end

    integer writer;
    always @(posedge clock)
        for (writer = 0; writer < PORTS; writer = writer + 1)
            if (change[writer])
                entries[addresses[writer*ADDRESS +: ADDRESS]] <= changes[writer*WIDTH +: WIDTH];

    integer marker;
    always @(posedge clock)
        if (reset) written <= 0;
        else
            for (marker = 0; marker < PORTS; marker = marker + 1)
                if (change[marker]) written[addresses[marker*ADDRESS +: ADDRESS]] <= 1'b1;

    wire unused = &{1'b0, difference};
endmodule

`default_nettype wire
