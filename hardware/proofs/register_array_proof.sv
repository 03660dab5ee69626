// What a register array promises: of any one entry, that it holds what the requests so far have made of
// it, one after the other, and that each request is answered with that, so many advances later; behind the last
// entry there is nothing.
module register_array_proof #(
    parameter integer ENTRIES = 3,
    parameter integer INDEX_BITS = 2,
    parameter integer DATA_BITS = 3,
    parameter integer OPCODE_BITS = 3,
    parameter integer WIDTH = 2
) (
    input wire                   clock,
    input wire                   reset,
    input wire                   advance,
    input wire                   request_valid,
    input wire [INDEX_BITS-1:0]  index,
    input wire                   predicate,
    input wire [DATA_BITS-1:0]   data_1,
    input wire [OPCODE_BITS-1:0] opcode_1,
    input wire [DATA_BITS-1:0]   data_0,
    input wire [OPCODE_BITS-1:0] opcode_0,
    // The solver chooses the entry that is watched.
    input wire [INDEX_BITS-1:0]  choice
);
    wire [WIDTH-1:0] two, three;

    register_array #(
        .ENTRIES(ENTRIES), .INDEX_BITS(INDEX_BITS), .DATA_BITS(DATA_BITS), .OPCODE_BITS(OPCODE_BITS),
        .WIDTH(WIDTH), .LATENCY(2)
    ) unit (
        .clock(clock), .reset(reset), .advance(advance), .request_valid(request_valid),
        .index(index), .predicate(predicate), .data_1(data_1), .opcode_1(opcode_1),
        .data_0(data_0), .opcode_0(opcode_0), .new_value(two)
    );
    register_array #(
        .ENTRIES(ENTRIES), .INDEX_BITS(INDEX_BITS), .DATA_BITS(DATA_BITS), .OPCODE_BITS(OPCODE_BITS),
        .WIDTH(WIDTH), .LATENCY(3)
    ) slower (
        .clock(clock), .reset(reset), .advance(advance), .request_valid(request_valid),
        .index(index), .predicate(predicate), .data_1(data_1), .opcode_1(opcode_1),
        .data_0(data_0), .opcode_0(opcode_0), .new_value(three)
    );

    localparam integer MOST = (1 << WIDTH) - 1;

    reg begun = 0;
    reg [INDEX_BITS-1:0] watched;
    // The entry's value as whole numbers have it, and what was asked of it one and more advances before.
    integer value = 0;
    reg [2:0] asked = 0;
    reg [2:0] nowhere = 0;
    reg [WIDTH-1:0] expected [0:2];

    wire [DATA_BITS-1:0]   data = predicate ? data_1 : data_0;
    wire [OPCODE_BITS-1:0] opcode = predicate ? opcode_1 : opcode_0;
    integer next;

    always @* begin
        next = value;
        if (opcode == 1) next = data & MOST;
        if (opcode == 2) next = (value + data) & MOST;
        if (opcode == 3) next = value + data > MOST ? MOST : value + data;
        if (opcode == 4) next = value < data ? 0 : value - data;
    end

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (!begun) watched <= choice;
        if (begun && advance) begin
            asked <= {asked[1:0], request_valid && index == watched && watched < ENTRIES};
            nowhere <= {nowhere[1:0], request_valid && index >= ENTRIES};
            if (request_valid && index == watched && watched < ENTRIES) value <= next;
            expected[0] <= next[WIDTH-1:0];
            expected[1] <= expected[0];
            expected[2] <= expected[1];
        end
        if (begun) begin
            if (asked[1]) answer: assert (two == expected[1]);
            if (asked[2]) answer_later: assert (three == expected[2]);
            if (nowhere[1]) no_entry: assert (two == 0);
        end
    end
endmodule
