// What JBSQ(n) promises, of an arbitrary hart and context: never more than n messages there; a message
// waits only while all harts of its context have n; it goes to one with the fewest.
module jbsq_proof #(
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 2,
    parameter integer OUTSTANDING = 2
) (
    input wire                        clock,
    input wire                        reset,
    input wire                        bind_valid,
    input wire [$clog2(HARTS)-1:0]    bind_hart,
    input wire [$clog2(CONTEXTS)-1:0] bind_context,
    input wire                        arrival_valid,
    input wire [$clog2(CONTEXTS)-1:0] arrival_context,
    input wire                        done_valid,
    input wire [$clog2(HARTS)-1:0]    done_hart,
    input wire [$clog2(CONTEXTS)-1:0] done_context
);
    localparam integer LEVEL = $clog2(OUTSTANDING + 1);
    wire                                    chosen_valid;
    wire [$clog2(HARTS)-1:0]                chosen_hart;
    wire [CONTEXTS*HARTS-1:0]               bound_to;
    wire [CONTEXTS*HARTS*LEVEL-1:0]         levels;

    jbsq #(.HARTS(HARTS), .CONTEXTS(CONTEXTS), .OUTSTANDING(OUTSTANDING)) unit (
        .clock(clock), .reset(reset), .bind_valid(bind_valid), .bind_hart(bind_hart),
        .bind_context(bind_context), .arrival_valid(arrival_valid),
        .arrival_context(arrival_context), .chosen_valid(chosen_valid), .chosen_hart(chosen_hart),
        .done_valid(done_valid), .done_hart(done_hart), .done_context(done_context),
        .state_bound(bound_to), .state_outstanding(levels)
    );

    (* anyconst *) wire [$clog2(HARTS)-1:0] hart;
    (* anyconst *) wire [$clog2(CONTEXTS)-1:0] context_;
    reg begun = 0;
    reg serves = 0;
    reg [LEVEL:0] held = 0;
    wire asked = arrival_valid && arrival_context == context_;
    wire joins = asked && chosen_valid && chosen_hart == hart;
    wire leaves = done_valid && done_hart == hart && done_context == context_ && held > 0;
    wire [LEVEL-1:0] level = levels[(context_*HARTS + hart)*LEVEL +: LEVEL];
    wire [LEVEL-1:0] chosen_level = levels[(context_*HARTS + chosen_hart)*LEVEL +: LEVEL];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            if (bind_valid && bind_hart == hart && bind_context == context_) serves <= 1;
            held <= held + joins - leaves;
            serving: assert (serves == bound_to[context_*HARTS + hart]);
            counts: assert (held == level);
            bounded: assert (held <= OUTSTANDING);
            if (joins) bound: assert (serves && held < OUTSTANDING);
            if (asked && serves && held < OUTSTANDING) begin
                work_conserving: assert (chosen_valid);
                shortest: assert (chosen_level < level || (chosen_level == level && chosen_hart <= hart));
            end
        end
    end
endmodule
