// What a queue promises: every word comes out, once, in order; it never overflows.
module queue_proof #(
    parameter integer WIDTH = 4,
    parameter integer DEPTH = 3
) (
    input wire             clock,
    input wire             reset,
    input wire             in_valid,
    input wire [WIDTH-1:0] in_data,
    input wire             out_ready,
    // The solver marks one word among all.
    input wire             mark
);
    wire                       in_ready, out_valid;
    wire [WIDTH-1:0]           out_data;
    wire [$clog2(DEPTH+1)-1:0] count;

    queue #(.WIDTH(WIDTH), .DEPTH(DEPTH)) unit (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data), .count(count)
    );

    reg begun = 0;
    reg [3:0] inside = 0;
    reg marked = 0;
    reg [3:0] ahead = 0;
    reg [WIDTH-1:0] word = 0;
    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            inside <= inside + push - pop;
            if (push && mark && !marked) begin
                marked <= 1;
                word <= in_data;
                ahead <= inside - pop;
            end else if (marked && pop && ahead != 15)
                ahead <= ahead - 1;
            no_overflow: assert (inside <= DEPTH);
            counts: assert (count == inside);
            accepts: assert (in_ready == (inside < DEPTH));
            offers: assert (out_valid == (inside > 0));
            if (marked && ahead == 0) order: assert (out_valid && out_data == word);
        end
    end
endmodule
