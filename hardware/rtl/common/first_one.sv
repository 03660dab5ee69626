// first_one: the lowest bit that is set.
//
// In:      `bits`.
// Out:     `index` of the lowest bit set, `any` if there is one; `index` is 0 if there is none.
// Latency: none, it is combinational; about log2(COUNT) levels.
`default_nettype none

module first_one #(
    // Bits; at least 2.
    parameter integer COUNT = 8
) (
    input  wire [COUNT-1:0]         bits,
    output wire                     any,
    output wire [$clog2(COUNT)-1:0] index
);
    localparam integer INDEX = $clog2(COUNT);

    // The lowest bit alone, then for each bit of the index: whether it is among those that have it.
    wire [COUNT-1:0] lowest = bits & (~bits + 1'b1);

    assign any = |bits;

    genvar digit, place;
    generate
        for (digit = 0; digit < INDEX; digit = digit + 1) begin : by_digit
            wire [COUNT-1:0] members;
            for (place = 0; place < COUNT; place = place + 1) begin : by_place
                assign members[place] = ((place >> digit) & 1) != 0 && lowest[place];
            end
            assign index[digit] = |members;
        end
    endgenerate
endmodule

`default_nettype wire
