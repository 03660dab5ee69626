// thread_scheduler: which of a hart's contexts should run, and when to interrupt the one that does.
//
// In:      `enter`: a word enters a context's local receive queue in this cycle; `queue_held`,
//          `queue_stamps`: whether each queue has words, and when the message of the next one entered.
//          Of the hart: `bind` (a context and its priority, 0 first), `switch` (what runs from the
//          next cycle on, or nothing), `start` (both timers), `done` and `idle` (message done, or
//          found none), `taken` (the interrupt); the bounds `message_cycles`, `idle_cycles`.
// Out:     `target`, `target_priority`: who should run; `interrupt_valid`. `state_…`: the contexts that are
//          bound and have work, each one's priority, the one that runs.
// Latency: a word that enters in cycle t makes its context the target in t + 2, and interrupts then.
//          Message done in t interrupts in t + 2. A message that reaches its bound in t, timer and
//          bound being equal, is lowered in t + 1 and interrupts then.
// How:     the target is the context with work that has the lowest priority number; among equals the
//          one whose message entered first, then the one with the higher number. A context has work
//          from its first word until done or idle finds its queue empty. A word interrupts if its
//          context is of higher priority than what runs; done and idle, if another is the target. A
//          message of priority 0 that runs for longer than its bound makes its context's priority 1
//          (until it is done, with RESTORE). After long idleness the bound contexts have turns.
//          Stamps count modulo 2^STAMP_BITS: any two that are compared are less than half apart.
// Source:  nanoPU paper, sections 2.4 and 3.3; the model's `ThreadScheduler`.
`default_nettype none

module thread_scheduler #(
    // hart_interface.contexts; a power of two, at least 2.
    parameter integer CONTEXTS = 4,
    parameter integer STAMP_BITS = 32,
    parameter integer TIMER_BITS = 32,
    // hart_interface.thread_scheduler.bounded.
    parameter integer BOUNDED = 1,
    // hart_interface.fixes: restore_priority and sticky_interrupt.
    parameter integer RESTORE = 1,
    parameter integer STICKY = 1
) (
    input  wire                           clock,
    input  wire                           reset,
    input  wire                           enter_valid,
    input  wire [$clog2(CONTEXTS)-1:0]    enter_context,
    input  wire [CONTEXTS-1:0]            queue_held,
    input  wire [CONTEXTS*STAMP_BITS-1:0] queue_stamps,
    input  wire                           bind_valid,
    input  wire [$clog2(CONTEXTS)-1:0]    bind_context,
    input  wire [7:0]                     bind_priority,
    input  wire                           switch_valid,
    input  wire                           switch_none,
    input  wire [$clog2(CONTEXTS)-1:0]    switch_context,
    input  wire                           start_valid,
    input  wire                           done_valid,
    input  wire                           idle_valid,
    input  wire                           taken_valid,
    input  wire [TIMER_BITS-1:0]          message_cycles,
    input  wire [TIMER_BITS-1:0]          idle_cycles,
    output wire                           target_none,
    output wire [$clog2(CONTEXTS)-1:0]    target,
    output wire [7:0]                     target_priority,
    output wire                           interrupt_valid,
    output wire [CONTEXTS-1:0]            state_active,
    output wire [8*CONTEXTS-1:0]          state_priorities,
    output wire                           state_none,
    output wire [$clog2(CONTEXTS)-1:0]    state_running
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer COUNT = $clog2(CONTEXTS + 1);
    localparam [7:0] LOWERED = 1, LOWEST = 8'hff;
    localparam [TIMER_BITS-1:0] ENDLESS = {TIMER_BITS{1'b1}};

    // What runs.
    reg               none;
    reg [CONTEXT-1:0] running;
    // By context.
    reg  [CONTEXTS-1:0]            bound;
    wire [CONTEXTS-1:0]            active;
    wire [8*CONTEXTS-1:0]          priorities;
    wire [TIMER_BITS*CONTEXTS-1:0] ages;
    wire [CONTEXTS-1:0]            work = bound & active;

    wire       checkpoint = done_valid || idle_valid;
    wire       runs_active = !none && active[running];
    wire [7:0] running_priority = none ? LOWEST : priorities[running*8 +: 8];
    wire       enters_running = enter_valid && enter_context == running;
    wire       ends = checkpoint && runs_active && !queue_held[running];

    // The best of those that have work.
    reg               found;
    reg [CONTEXT-1:0] best;
    integer           candidate;
    /* verilator lint_off UNUSEDSIGNAL */
    reg [STAMP_BITS-1:0] later;
    /* verilator lint_on UNUSEDSIGNAL */
    always @* begin
        found = 0;
        best = 0;
        later = 0;
        for (candidate = 0; candidate < CONTEXTS; candidate = candidate + 1) begin
            later = queue_stamps[best*STAMP_BITS +: STAMP_BITS]
                - queue_stamps[candidate*STAMP_BITS +: STAMP_BITS];
            if (work[candidate] && (!found
                || priorities[candidate*8 +: 8] < priorities[best*8 +: 8]
                || (priorities[candidate*8 +: 8] == priorities[best*8 +: 8]
                    && (!queue_held[best] || (queue_held[candidate] && !later[STAMP_BITS-1]))))) begin
                found = 1;
                best = CONTEXT'(candidate);
            end
        end
    end

    // The target follows by a cycle; without work it is what a rotation chose, or what runs.
    reg               chosen_valid;
    reg [CONTEXT-1:0] chosen;
    reg               rotated_valid;
    reg [CONTEXT-1:0] rotated;
    assign target = chosen_valid ? chosen : rotated_valid ? rotated : running;
    assign target_none = !chosen_valid && !rotated_valid && none;
    assign target_priority = target_none ? LOWEST : priorities[target*8 +: 8];
    wire   is_other = !target_none && (none || target != running);

    // The timers: since done, idle or start, and since start, the end of work or a rotation.
    reg  [TIMER_BITS-1:0] message_timer, idle_timer;
    wire [TIMER_BITS-1:0] age = ages[running*TIMER_BITS +: TIMER_BITS];
    wire                  overruns = BOUNDED != 0 && !none && running_priority == 0
        && message_timer >= message_cycles
        && (RESTORE == 0 || (active[running] && age >= message_cycles));
    // Contexts in the order in which they were bound, and whose turn is next.
    reg [CONTEXT*CONTEXTS-1:0] order;
    reg [COUNT-1:0]            count;
    reg [CONTEXT-1:0]          turn;
    wire [CONTEXT-1:0]         turns = order[turn*CONTEXT +: CONTEXT];
    wire                       joins = bind_valid && !bound[bind_context];
    wire [COUNT-1:0]           members = count + COUNT'(joins);
    wire                       rotates = idle_timer >= idle_cycles && !runs_active && members > 1
        && !overruns;

    // What may interrupt in this cycle.
    reg  entered, entered_before, checked, checked_before, lowers, turned, wanted;
    reg  switched, switched_before;
    wire urgent = none || target_priority < running_priority;
    wire pulse = (turned && (none || rotated != running))
        || (is_other && (lowers || checked_before || (entered_before && urgent)));
    assign interrupt_valid = pulse || (STICKY != 0 && wanted && is_other);

    assign state_active = work;
    assign state_priorities = priorities;
    assign state_none = none;
    assign state_running = running;

    always @(posedge clock)
        if (reset) begin
            {none, running, chosen_valid, chosen, rotated_valid, rotated} <= 0;
            bound <= 0;
            {message_timer, idle_timer, count, turn} <= 0;
            order <= 0;
            {entered, entered_before, checked, checked_before, lowers, turned, wanted} <= 0;
            {switched, switched_before} <= 0;
        end else begin
            chosen_valid <= found;
            chosen <= best;
            if (switch_valid) {none, running} <= {switch_none, switch_context};
            count <= members;
            if (joins) begin
                bound[bind_context] <= 1;
                order[count*CONTEXT +: CONTEXT] <= bind_context;
            end
            if (enter_valid || switch_valid) rotated_valid <= 0;
            else if (rotates) rotated_valid <= 1;
            if (rotates) begin
                rotated <= turns;
                turn <= COUNT'(turn) + 1'b1 < members ? turn + 1'b1 : 0;
            end
            message_timer <= checkpoint || start_valid ? 0
                : message_timer == ENDLESS ? ENDLESS : message_timer + 1'b1;
            idle_timer <= start_valid || rotates || (ends && !enters_running) ? 0
                : idle_timer == ENDLESS ? ENDLESS : idle_timer + 1'b1;
            {entered_before, entered} <= {entered, enter_valid};
            {checked_before, checked} <= {checked, checkpoint};
            {switched_before, switched} <= {switched, switch_valid};
            lowers <= overruns;
            turned <= rotates;
            if (taken_valid || (switched_before && !is_other)) wanted <= 0;
            else if (pulse) wanted <= 1;
        end

    genvar number;
    generate
        for (number = 0; number < CONTEXTS; number = number + 1) begin : by_context
            localparam [CONTEXT-1:0] OWN = CONTEXT'(number);
            wire runs = !none && running == OWN;
            wire enters = enter_valid && enter_context == OWN;
            reg                  has_work;
            reg [7:0]            given, current;
            reg [TIMER_BITS-1:0] since;
            assign active[number] = has_work;
            assign priorities[8*number +: 8] = current;
            assign ages[TIMER_BITS*number +: TIMER_BITS] = since;
            always @(posedge clock)
                if (reset) begin
                    {has_work, given, current, since} <= 0;
                end else begin
                    if (enters) has_work <= 1;
                    else if (ends && runs) has_work <= 0;
                    if (!has_work || (ends && runs)) since <= TIMER_BITS'(enters);
                    else if (since != ENDLESS) since <= since + 1'b1;
                    if (bind_valid && bind_context == OWN) begin
                        given <= bind_priority;
                        current <= bind_priority;
                    end else if (runs && done_valid && RESTORE != 0) current <= given;
                    else if (runs && overruns) current <= LOWERED;
                end
        end
    endgenerate
endmodule

`default_nettype wire
