// What a queue that lets words through promises: every word comes out, once, in order, and in its own cycle if
// nothing is inside and the reader is ready.
module queue_bypass_proof #(
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
    wire             in_ready, out_valid;
    wire [WIDTH-1:0] out_data;

    queue_bypass #(.WIDTH(WIDTH), .DEPTH(DEPTH)) unit (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_ready(in_ready), .in_data(in_data),
        .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    reg begun = 0;
    reg [3:0] inside_count = 0;
    reg marked = 0;
    reg [3:0] ahead = 0;
    reg [WIDTH-1:0] word = 0;
    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            inside_count <= inside_count + push - pop;
            if (push && mark && !marked) begin
                marked <= !(inside_count == 0 && pop);
                word <= in_data;
                ahead <= inside_count - pop;
            end else if (marked && pop && ahead == 0) marked <= 0;
            else if (marked && pop) ahead <= ahead - 1;
            no_overflow: assert (inside_count <= DEPTH);
            accepts: assert (in_ready == (inside_count < DEPTH));
            offers: assert (out_valid == (inside_count > 0 || in_valid));
            if (inside_count == 0 && in_valid) passes: assert (out_data == in_data);
            if (marked && ahead == 0) order: assert (out_valid && out_data == word);
        end
    end
endmodule
