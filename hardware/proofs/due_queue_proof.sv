// What a queue of words that are due promises: they come out once, in order, none before its cycle; the first
// is offered from that cycle on.
module due_queue_proof #(
    parameter integer WIDTH = 2,
    parameter integer DEPTH = 3,
    // Half of what it counts is more than the search is long.
    parameter integer TIME_BITS = 5
) (
    input wire                 clock,
    input wire                 reset,
    input wire                 in_valid,
    input wire [TIME_BITS-1:0] in_due,
    input wire [WIDTH-1:0]     in_data,
    input wire                 out_ready,
    input wire                 mark
);
    reg [TIME_BITS-1:0] now = 0;
    wire                in_ready, out_valid;
    wire [WIDTH-1:0]    out_data;
    due_queue #(.WIDTH(WIDTH), .DEPTH(DEPTH), .TIME_BITS(TIME_BITS)) unit (
        .clock(clock), .reset(reset), .now(now), .in_valid(in_valid), .in_ready(in_ready),
        .in_due(in_due), .in_data(in_data), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data)
    );

    reg begun = 0;
    reg [3:0] held = 0;
    reg marked = 0;
    reg [3:0] ahead = 0;
    reg [WIDTH-1:0] word = 0;
    reg [TIME_BITS-1:0] due = 0;
    wire push = in_valid && in_ready;
    wire pop = out_valid && out_ready;
    wire [TIME_BITS-1:0] in_rest = in_due - now;
    wire [TIME_BITS-1:0] rest = due - now;
    wire is_due = rest == 0 || rest[TIME_BITS-1];

    always @(posedge clock) begin
        begun <= 1;
        now <= now + 1;
        assume (reset == !begun);
        assume (in_rest < 8);
        if (begun) begin
            held <= held + push - pop;
            if (push && mark && !marked) begin
                marked <= !(held == 0 && pop);
                {word, due} <= {in_data, in_due};
                ahead <= held - pop;
            end else if (marked && pop && ahead == 0) marked <= 0;
            else if (marked && pop) ahead <= ahead - 1;
            accepts: assert (in_ready == (held < DEPTH));
            if (marked && ahead == 0) begin
                due_now: assert (out_valid == is_due);
                if (out_valid) order: assert (out_data == word);
            end
            if (held == 0) at_once: assert (out_valid == (in_valid && in_rest == 0));
        end
    end
endmodule
