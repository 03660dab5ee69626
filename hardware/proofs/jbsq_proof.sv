// What JBSQ(n) promises, of an arbitrary hart and context: never more than n messages there; a message
// waits only while all harts of its context have n; it goes to one with the fewest, or to the one that is done.
// Harts bind before messages wait.
module jbsq_proof #(
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 2,
    parameter integer OUTSTANDING = 2
) (
    input wire                              clock,
    input wire                              reset,
    input wire [HARTS-1:0]                  bind_valid,
    input wire [HARTS*$clog2(CONTEXTS)-1:0] bind_context,
    input wire                              arrival_valid,
    input wire [$clog2(CONTEXTS)-1:0]       arrival_context,
    input wire                              done_valid,
    input wire [$clog2(HARTS)-1:0]          done_hart,
    input wire [$clog2(CONTEXTS)-1:0]       done_context
);
    localparam integer LEVEL = $clog2(OUTSTANDING + 1);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    wire                                    chosen_valid;
    wire [$clog2(HARTS)-1:0]                chosen_hart;
    wire [CONTEXTS*HARTS-1:0]               bound_to;
    wire [CONTEXTS*HARTS*LEVEL-1:0]         levels;
    wire                                    done_waits;

    jbsq #(.HARTS(HARTS), .CONTEXTS(CONTEXTS), .OUTSTANDING(OUTSTANDING)) unit (
        .clock(clock), .reset(reset), .bind_valid(bind_valid), .bind_context(bind_context),
        .arrival_valid(arrival_valid), .arrival_context(arrival_context),
        .chosen_valid(chosen_valid), .chosen_hart(chosen_hart), .done_valid(done_valid),
        .done_hart(done_hart), .done_context(done_context), .done_waits(done_waits),
        .state_bound(bound_to), .state_outstanding(levels)
    );

    (* anyconst *) wire [$clog2(HARTS)-1:0] hart;
    (* anyconst *) wire [CONTEXT-1:0] context_;
    reg begun = 0;
    reg serves = 0;
    reg [LEVEL:0] held = 0;
    // Messages of the context that have asked and wait, and those of others, as far as they are counted.
    reg [1:0] waiting = 0;
    (* anyseq *) wire other_waits;
    wire binds = bind_valid[hart] && bind_context[hart*CONTEXT +: CONTEXT] == context_;
    wire asked = arrival_valid && arrival_context == context_;
    wire dones = done_valid && done_context == context_;
    assign done_waits = dones ? waiting != 0 : other_waits;
    wire hands_on = dones && done_waits;
    wire joins = (asked || hands_on) && chosen_valid && chosen_hart == hart;
    wire leaves = dones && done_hart == hart && held > 0;
    wire [LEVEL-1:0] level = levels[(context_*HARTS + hart)*LEVEL +: LEVEL];
    wire [LEVEL-1:0] chosen_level = levels[(context_*HARTS + chosen_hart)*LEVEL +: LEVEL];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // One notice is read in a cycle, and who is done had a message.
        assume (!(arrival_valid && done_valid));
        if (dones && done_hart == hart) assume (held > 0);
        if (waiting == 3) assume (!asked);
        if (waiting != 0) assume (!binds);
        if (begun) begin
            if (binds) serves <= 1;
            held <= held + joins - leaves;
            waiting <= waiting + (asked && !chosen_valid) - hands_on;
            serving: assert (serves == bound_to[context_*HARTS + hart]);
            counts: assert (held == level);
            bounded: assert (held <= OUTSTANDING);
            if (joins) bound: assert (hands_on || ((serves || binds) && held < OUTSTANDING));
            if (asked && (serves || binds) && held < OUTSTANDING) begin
                work_conserving: assert (chosen_valid);
                shortest: assert (chosen_level < level || (chosen_level == level && chosen_hart <= hart));
            end
            if (waiting != 0 && serves) all_busy: assert (held == OUTSTANDING);
            if (hands_on) in_its_place: assert (chosen_valid && chosen_hart == done_hart);
        end
    end
endmodule
