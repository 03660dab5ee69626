// What a register array promises: of any one entry, that it holds what the requests so far have made of
// it, one after the other and in one cycle by port, and that each request is answered with that, so many advances
// of its port later; behind the last entry there is nothing.
module register_array_proof #(
    parameter integer ENTRIES = 3,
    parameter integer INDEX_BITS = 2,
    parameter integer DATA_BITS = 3,
    parameter integer OPCODE_BITS = 3,
    parameter integer WIDTH = 2
) (
    input wire                     clock,
    input wire                     reset,
    input wire [1:0]               advance,
    input wire [1:0]               request_valid,
    input wire [2*INDEX_BITS-1:0]  index,
    input wire [1:0]               predicate,
    input wire [2*DATA_BITS-1:0]   data_1,
    input wire [2*OPCODE_BITS-1:0] opcode_1,
    input wire [2*DATA_BITS-1:0]   data_0,
    input wire [2*OPCODE_BITS-1:0] opcode_0,
    // The solver chooses the entry that is watched.
    input wire [INDEX_BITS-1:0]    choice
);
    wire [2*WIDTH-1:0] two, three;

    register_array #(
        .PORTS(2), .ENTRIES(ENTRIES), .INDEX_BITS(INDEX_BITS), .DATA_BITS(DATA_BITS),
        .OPCODE_BITS(OPCODE_BITS), .WIDTH(WIDTH), .LATENCY(2)
    ) unit (
        .clock(clock), .reset(reset), .advance(advance), .request_valid(request_valid),
        .index(index), .predicate(predicate), .data_1(data_1), .opcode_1(opcode_1),
        .data_0(data_0), .opcode_0(opcode_0), .new_value(two)
    );
    register_array #(
        .PORTS(2), .ENTRIES(ENTRIES), .INDEX_BITS(INDEX_BITS), .DATA_BITS(DATA_BITS),
        .OPCODE_BITS(OPCODE_BITS), .WIDTH(WIDTH), .LATENCY(3)
    ) slower (
        .clock(clock), .reset(reset), .advance(advance), .request_valid(request_valid),
        .index(index), .predicate(predicate), .data_1(data_1), .opcode_1(opcode_1),
        .data_0(data_0), .opcode_0(opcode_0), .new_value(three)
    );

    localparam integer MOST = (1 << WIDTH) - 1;

    reg begun = 0;
    reg [INDEX_BITS-1:0] watched;
    // The entry's value as whole numbers have it.
    integer value = 0;
    // By port: a request that changes it next, or goes nowhere; and of those before it, with the answer.
    reg [1:0]             waits = 0, astray = 0, asked = 0, nowhere = 0, asked_before = 0;
    reg [DATA_BITS-1:0]   data [0:1];
    reg [OPCODE_BITS-1:0] opcode [0:1];
    reg [WIDTH-1:0]       expected [0:1];
    reg [WIDTH-1:0]       expected_before [0:1];
    integer               made [0:2];
    integer               port;

    always @* begin
        made[0] = value;
        for (port = 0; port < 2; port = port + 1) begin
            made[port + 1] = made[port];
            if (advance[port] && waits[port]) begin
                if (opcode[port] == 1) made[port + 1] = data[port] & MOST;
                if (opcode[port] == 2) made[port + 1] = (made[port] + data[port]) & MOST;
                if (opcode[port] == 3)
                    made[port + 1] = made[port] + data[port] > MOST ? MOST : made[port] + data[port];
                if (opcode[port] == 4)
                    made[port + 1] = made[port] < data[port] ? 0 : made[port] - data[port];
            end
        end
    end

    integer one;
    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (!begun) watched <= choice;
        if (begun) value <= made[2];
        for (one = 0; one < 2; one = one + 1)
            if (begun && advance[one]) begin
                waits[one] <= request_valid[one]
                    && index[one*INDEX_BITS +: INDEX_BITS] == watched && watched < ENTRIES;
                astray[one] <= request_valid[one] && index[one*INDEX_BITS +: INDEX_BITS] >= ENTRIES;
                data[one] <= predicate[one] ? data_1[one*DATA_BITS +: DATA_BITS]
                    : data_0[one*DATA_BITS +: DATA_BITS];
                opcode[one] <= predicate[one] ? opcode_1[one*OPCODE_BITS +: OPCODE_BITS]
                    : opcode_0[one*OPCODE_BITS +: OPCODE_BITS];
                asked[one] <= waits[one];
                nowhere[one] <= astray[one];
                expected[one] <= made[one + 1][WIDTH-1:0];
                asked_before[one] <= asked[one];
                expected_before[one] <= expected[one];
            end
        if (begun) begin
            if (asked[0]) answer: assert (two[0 +: WIDTH] == expected[0]);
            if (asked[1]) answer_of_second: assert (two[WIDTH +: WIDTH] == expected[1]);
            if (asked_before[0]) answer_later: assert (three[0 +: WIDTH] == expected_before[0]);
            if (asked_before[1])
                answer_later_of_second: assert (three[WIDTH +: WIDTH] == expected_before[1]);
            if (nowhere[0]) no_entry: assert (two[0 +: WIDTH] == 0);
            if (nowhere[1]) no_entry_of_second: assert (two[WIDTH +: WIDTH] == 0);
        end
    end
endmodule
