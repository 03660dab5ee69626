// What moving bytes promises: each byte of a line is `turn` places up, those of the line before in front of it.
module realign_proof #(
    parameter integer BYTES = 8
) (
    input wire                     clock,
    input wire [8*BYTES-1:0]       data,
    input wire [8*BYTES-1:0]       earlier,
    input wire [$clog2(BYTES)-1:0] turn,
    // Any place.
    input wire [$clog2(BYTES)-1:0] place
);
    localparam integer LEVELS = $clog2(BYTES);
    wire [8*BYTES-1:0] turned, merged;
    realign #(.BYTES(BYTES)) unit (
        .data(data), .earlier(earlier), .turn(turn), .turned(turned), .merged(merged)
    );
    wire [LEVELS-1:0] from = place - turn;
    always @(posedge clock) begin
        moves: assert (turned[8*place +: 8] == data[8*from +: 8]);
        if (place >= turn) own: assert (merged[8*place +: 8] == data[8*from +: 8]);
        else before_it: assert (merged[8*place +: 8] == earlier[8*place +: 8]);
    end
endmodule
