// jbsq: join the bounded shortest queue, the nanoPU's core selection.
//
// In:      `bind`: harts, a bit each, that serve a context from this cycle on. `arrival`: a message of a
//          context asks for a hart. `done`: a hart has finished a message of a context; with `done_waits`
//          another message of it waits, which did not get a hart when it asked. Of `arrival` and
//          `done_waits` one at most is up in a cycle.
// Out:     `chosen_valid`, `chosen_hart` in the cycle of `arrival`: the hart with the fewest messages
//          of that context outstanding among those that serve it and have fewer than OUTSTANDING, the
//          lowest among equals; without one the message waits. In a cycle with `done_waits` the hart that
//          is done: the message that waits takes the place.
//          `state_bound`, `state_outstanding`: the two tables, a context's harts side by side.
// Latency: the choice is combinational; the tables change at the end of the cycle. A hart that is done
//          in a cycle while nothing waits can be chosen for that place in the next.
// Source:  nanoPU paper, sections 2.3 and 3.2; the model's `Jbsq`.
`default_nettype none

module jbsq #(
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 4,
    // The n of JBSQ(n): most messages of a context outstanding at a hart.
    parameter integer OUTSTANDING = 2
) (
    input  wire                                     clock,
    input  wire                                     reset,
    input  wire [HARTS-1:0]                         bind_valid,
    input  wire [HARTS*$clog2(CONTEXTS)-1:0]        bind_context,
    input  wire                                     arrival_valid,
    input  wire [$clog2(CONTEXTS)-1:0]              arrival_context,
    output wire                                     chosen_valid,
    output wire [$clog2(HARTS)-1:0]                 chosen_hart,
    input  wire                                     done_valid,
    input  wire [$clog2(HARTS)-1:0]                 done_hart,
    input  wire [$clog2(CONTEXTS)-1:0]              done_context,
    input  wire                                     done_waits,
    output wire [CONTEXTS*HARTS-1:0]                state_bound,
    output wire [CONTEXTS*HARTS*$clog2(OUTSTANDING+1)-1:0] state_outstanding
);
    localparam integer HART = $clog2(HARTS);
    localparam integer CONTEXT_BITS = $clog2(CONTEXTS);
    localparam integer LEVEL = $clog2(OUTSTANDING + 1);
    localparam integer CELLS = CONTEXTS * HARTS;

    reg [CELLS-1:0]       bound;
    reg [CELLS*LEVEL-1:0] outstanding;

    // The rows of the context that asks.
    wire [HARTS-1:0]       asked_bound;
    wire [HARTS*LEVEL-1:0] asked = outstanding[arrival_context*HARTS*LEVEL +: HARTS*LEVEL];

    // Of each level the harts that are at it; the lowest level that has one wins.
    wire [OUTSTANDING-1:0]      reached;
    wire [OUTSTANDING*HART-1:0] first;

    genvar level, hart, cell_number;
    generate
        for (hart = 0; hart < HARTS; hart = hart + 1) begin : by_bind
            assign asked_bound[hart] = bound[arrival_context*HARTS + hart] || (bind_valid[hart]
                && bind_context[hart*CONTEXT_BITS +: CONTEXT_BITS] == arrival_context);
        end
        for (level = 0; level < OUTSTANDING; level = level + 1) begin : by_level
            wire [HARTS-1:0] there;
            for (hart = 0; hart < HARTS; hart = hart + 1) begin : by_hart
                assign there[hart] = asked_bound[hart] && asked[hart*LEVEL +: LEVEL] == level;
            end
            first_one #(.COUNT(HARTS)) find (
                .bits(there), .any(reached[level]), .index(first[level*HART +: HART])
            );
        end
    endgenerate

    reg            found;
    reg [HART-1:0] who;
    integer        lower;
    always @* begin
        found = 0;
        who = 0;
        for (lower = OUTSTANDING - 1; lower >= 0; lower = lower - 1)
            if (reached[lower]) begin
                found = 1;
                who = first[lower*HART +: HART];
            end
    end

    // What waits takes the place: the tables stay.
    wire hands_on = done_valid && done_waits;
    assign chosen_valid = hands_on || (arrival_valid && found);
    assign chosen_hart = hands_on ? done_hart : who;
    assign state_bound = bound;
    assign state_outstanding = outstanding;

    generate
        for (cell_number = 0; cell_number < CELLS; cell_number = cell_number + 1) begin : by_cell
            localparam [CONTEXT_BITS-1:0] CONTEXT = CONTEXT_BITS'(cell_number / HARTS);
            localparam [HART-1:0] OWN = HART'(cell_number % HARTS);
            wire joins = arrival_valid && found && who == OWN && arrival_context == CONTEXT;
            wire held = outstanding[cell_number*LEVEL +: LEVEL] != 0;
            wire leaves = done_valid && !done_waits && done_hart == OWN && done_context == CONTEXT && held;
            always @(posedge clock)
                if (reset) begin
                    bound[cell_number] <= 0;
                    outstanding[cell_number*LEVEL +: LEVEL] <= 0;
                end else begin
                    if (bind_valid[cell_number%HARTS]
                        && bind_context[(cell_number%HARTS)*CONTEXT_BITS +: CONTEXT_BITS] == CONTEXT)
                        bound[cell_number] <= 1;
                    if (joins && !leaves)
                        outstanding[cell_number*LEVEL +: LEVEL] <=
                            outstanding[cell_number*LEVEL +: LEVEL] + 1'b1;
                    if (leaves && !joins)
                        outstanding[cell_number*LEVEL +: LEVEL] <=
                            outstanding[cell_number*LEVEL +: LEVEL] - 1'b1;
                end
        end
    endgenerate
endmodule

`default_nettype wire
