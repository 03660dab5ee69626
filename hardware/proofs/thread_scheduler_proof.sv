// What the thread scheduler promises, of two arbitrary contexts: no context with work is ahead of the
// target, neither by priority nor, among equals, by age; no message runs at priority 0 for longer than
// its bound; after that an interrupt tells of whoever of priority 0 waits, and stays until it is taken.
module thread_scheduler_proof #(
    parameter integer CONTEXTS = 4,
    parameter integer STAMP_BITS = 3,
    parameter integer TIMER_BITS = 3
) (
    input wire                           clock,
    input wire                           reset,
    input wire                           enter_valid,
    input wire [$clog2(CONTEXTS)-1:0]    enter_context,
    input wire [CONTEXTS-1:0]            queue_held,
    input wire [CONTEXTS*STAMP_BITS-1:0] queue_stamps,
    input wire                           bind_valid,
    input wire [$clog2(CONTEXTS)-1:0]    bind_context,
    input wire [7:0]                     bind_priority,
    input wire                           switch_valid,
    input wire                           switch_none,
    input wire [$clog2(CONTEXTS)-1:0]    switch_context,
    input wire                           start_valid,
    input wire                           done_valid,
    input wire                           idle_valid,
    input wire                           taken_valid,
    input wire [TIMER_BITS-1:0]          idle_cycles
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam [TIMER_BITS-1:0] BOUND = 3;
    wire                  target_none, none, interrupt;
    wire [CONTEXT-1:0]    target, running;
    wire [7:0]            target_priority;
    wire [CONTEXTS-1:0]   work;
    wire [8*CONTEXTS-1:0] priorities;

    thread_scheduler #(
        .CONTEXTS(CONTEXTS), .STAMP_BITS(STAMP_BITS), .TIMER_BITS(TIMER_BITS)
    ) unit (
        .clock(clock), .reset(reset), .enter_valid(enter_valid), .enter_context(enter_context),
        .queue_held(queue_held), .queue_stamps(queue_stamps), .bind_valid(bind_valid),
        .bind_context(bind_context), .bind_priority(bind_priority), .switch_valid(switch_valid),
        .switch_none(switch_none), .switch_context(switch_context), .start_valid(start_valid),
        .done_valid(done_valid), .idle_valid(idle_valid), .taken_valid(taken_valid),
        .message_cycles(BOUND), .idle_cycles(idle_cycles), .target_none(target_none),
        .target(target), .target_priority(target_priority), .interrupt_valid(interrupt),
        .state_active(work), .state_priorities(priorities), .state_none(none),
        .state_running(running)
    );

    (* anyconst *) wire [CONTEXT-1:0] one;
    (* anyconst *) wire [CONTEXT-1:0] other;
    wire one_runs = !none && running == one;
    wire checkpoint = done_valid || idle_valid;
    wire [7:0] one_priority = priorities[one*8 +: 8];
    wire [7:0] other_priority = priorities[other*8 +: 8];
    wire [STAMP_BITS-1:0] one_stamp = queue_stamps[one*STAMP_BITS +: STAMP_BITS];
    wire [STAMP_BITS-1:0] other_stamp = queue_stamps[other*STAMP_BITS +: STAMP_BITS];

    reg begun = 0;
    // What each of the two was a cycle ago, when the target was chosen.
    reg was_work = 0, other_was_work = 0, was_held = 0, other_was_held = 0;
    reg [7:0] was_priority = 0, other_was_priority = 0;
    reg [STAMP_BITS-1:0] was_stamp = 0, other_was_stamp = 0;
    // Cycles for which `one` has run a message at priority 0, with `other` at 0 and older.
    reg [2:0] runs_for = 0, waits_for = 0;
    reg one_bound = 0, one_works = 0, was_interrupt = 0;
    reg [1:0] switched = 0;
    integer place;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // Stamps are less than half of their range apart.
        for (place = 0; place < CONTEXTS; place = place + 1)
            assume (!queue_stamps[place*STAMP_BITS + STAMP_BITS - 1]);
        assume (one == other || one_stamp != other_stamp);
        was_work <= work[one] && begun;
        other_was_work <= work[other] && begun;
        was_held <= queue_held[one];
        other_was_held <= queue_held[other];
        was_priority <= one_priority;
        other_was_priority <= other_priority;
        was_stamp <= one_stamp;
        other_was_stamp <= other_stamp;
        assume (bind_priority < 3);
        if (begun) begin
            if (bind_valid && bind_context == one) one_bound <= 1;
            if (enter_valid && enter_context == one) one_works <= 1;
            else if (one_runs && checkpoint && !queue_held[one]) one_works <= 0;
            working: assert (work[one] == (one_bound && one_works));

            if (was_work) begin
                somebody: assert (!target_none);
                if (other_was_work && one != other && target == other) begin
                    priority_order: assert (other_was_priority <= was_priority);
                    if (other_was_priority == was_priority && was_held)
                        age_order: assert (other_was_held && other_was_stamp < was_stamp);
                end
            end
            // Of work that is chosen from, some is chosen.
            if (was_work && target == other) chosen: assert (other_was_work);

            runs_for <= !one_runs || one_priority != 0 || checkpoint || start_valid || switch_valid
                || (bind_valid && bind_context == one) ? 0
                : one_works ? runs_for + 1 : enter_valid && enter_context == one;
            bounded: assert (runs_for <= BOUND + 1);

            // `one` runs from its message's begin to its bound and on, has read its words; `other` waits.
            waits_for <= !one_runs || !one_works || checkpoint || start_valid || switch_valid
                || bind_valid || queue_held[one] || !queue_held[other] || one == other
                || !work[other] || other_priority != 0 || one_priority > (waits_for != 0) || taken_valid ? 0
                : waits_for == 7 ? 7 : waits_for + 1;
            if (waits_for > BOUND + 2 && was_work && one_priority == 1) told: assert (interrupt);

            switched <= {switched[0], switch_valid};
            was_interrupt <= interrupt && !taken_valid && !switch_valid && switched == 0;
            if (was_interrupt)
                stays: assert (interrupt || target_none || (!none && target == running));
        end
    end
endmodule
