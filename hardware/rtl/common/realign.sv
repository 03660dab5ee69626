// realign: bytes of one line moved to their places in another.
//
// In:      `data`, a line; `turn`, the bytes by which its bytes move up; `earlier`, the line before, turned.
// Out:     `turned`, the line with its bytes moved up around; `merged`, what belongs into one line of the
//          destination: the end of the line before and the beginning of this one.
// Latency: none, it is combinational; log2(BYTES) levels.
// Source:  ours; what a data mover has between two sides of different alignment.
`default_nettype none

module realign #(
    // Bytes of a line; a power of two.
    parameter integer BYTES = 64
) (
    input  wire [8*BYTES-1:0]       data,
    input  wire [8*BYTES-1:0]       earlier,
    input  wire [$clog2(BYTES)-1:0] turn,
    output wire [8*BYTES-1:0]       turned,
    output wire [8*BYTES-1:0]       merged
);
    localparam integer LEVELS = $clog2(BYTES);
    localparam integer BITS = 8 * BYTES;

    wire [BITS*(LEVELS+1)-1:0] steps;
    assign steps[0 +: BITS] = data;
    genvar level, place;
    generate
        for (level = 0; level < LEVELS; level = level + 1) begin : by_level
            localparam integer BY = 8 << level;
            wire [BITS-1:0] from = steps[level*BITS +: BITS];
            assign steps[(level+1)*BITS +: BITS] = turn[level] ? {from[BITS-BY-1:0], from[BITS-1 -: BY]} : from;
        end
        for (place = 0; place < BYTES; place = place + 1) begin : by_place
            assign merged[8*place +: 8] = {1'b0, turn} < (LEVELS + 1)'(place + 1)
                ? turned[8*place +: 8] : earlier[8*place +: 8];
        end
    endgenerate
    assign turned = steps[LEVELS*BITS +: BITS];
endmodule

`default_nettype wire
