// dispatch: messages from the global receive queues to the harts that core selection names.
//
// In:      `arrived`: a message's first word enters its context's queue in this cycle; `done`: harts, a bit each, that are
//          done with a message of a context; `chosen`: what JBSQ says in the cycle in which it is asked. Of the global
//          receive queues `there` and what is at the head.
// Out:     to JBSQ `ask` and `finished`; to each hart words of 64 bits for a context's local queue, the first of a
//          message is what the application reads first.
// Latency: a message that arrives in cycle t is asked about in t + 1, its first word goes to the hart in t + 2, one each cycle
//          follows. A hart that is done in cycle t is heard of in t + 2. A message for another hart is asked about when the
//          last 64 bytes of this one have left their queue.
// How:     notices of arrival go first; one that finds no hart is forgotten, and its message waits until a hart is
//          done, the lowest-numbered first. Each hart has a narrower, which turns words of 64 bytes into words of 64 bits
//          in the order in which programs count: the first byte on the wire is the highest.
// Waits:   for the hart's narrower, and for room in its local queue.
// Source:  nanoPU paper, section 3.2; the model's `Dispatcher`; cycles as measured, stage_latency.
`default_nettype none

module dispatch #(
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 4,
    // Messages that can wait, of all contexts, and that a hart can be done with before it is heard.
    parameter integer ARRIVALS = 256,
    parameter integer DONES = 16
) (
    input  wire                              clock,
    input  wire                              reset,
    input  wire                              arrived_valid,
    input  wire [$clog2(CONTEXTS)-1:0]       arrived_context,
    input  wire [HARTS-1:0]                  done_valid,
    input  wire [HARTS*$clog2(CONTEXTS)-1:0] done_context,
    output wire                              ask_valid,
    output wire [$clog2(CONTEXTS)-1:0]       ask_context,
    output wire                              finished_valid,
    output wire [$clog2(HARTS)-1:0]          finished_hart,
    output wire [$clog2(CONTEXTS)-1:0]       finished_context,
    output wire                              finished_waits,
    input  wire                              chosen_valid,
    input  wire [$clog2(HARTS)-1:0]          chosen_hart,
    input  wire [CONTEXTS-1:0]               there,
    output wire [$clog2(CONTEXTS)-1:0]       take_context,
    input  wire [63:0]                       take_header,
    input  wire                              take_ready,
    input  wire [511:0]                      take_data,
    output wire                              take_valid,
    output wire                              take_last,
    output wire [HARTS-1:0]                  enter_valid,
    input  wire [HARTS-1:0]                  enter_ready,
    output wire [HARTS*$clog2(CONTEXTS)-1:0] enter_context,
    output wire [HARTS*64-1:0]               enter_word,
    output wire [HARTS-1:0]                  enter_begins
);
    localparam integer HART = $clog2(HARTS);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam [1:0] IDLE = 0, HEAD = 1, BODY = 2;

    // Notices.
    /* verilator lint_off UNUSEDSIGNAL */
    wire                          arrivals_room;
    wire [$clog2(ARRIVALS+1)-1:0] arrivals_count;
    wire [HARTS-1:0]              dones_room;
    /* verilator lint_on UNUSEDSIGNAL */
    wire                          any_arrival, any_done;
    wire [CONTEXT-1:0]            arrival_context;
    wire [HARTS-1:0]              dones, heard;
    wire [HARTS*CONTEXT-1:0]      done_contexts;
    wire [HART-1:0]               first_done;
    reg  [1:0]                    state;
    wire                          steps = state == IDLE;
    wire                          hears = steps && !any_arrival && any_done;
    queue #(.WIDTH(CONTEXT), .DEPTH(ARRIVALS)) arrivals (
        .clock(clock), .reset(reset), .in_valid(arrived_valid), .in_ready(arrivals_room),
        .in_data(arrived_context), .out_valid(any_arrival), .out_ready(steps),
        .out_data(arrival_context), .count(arrivals_count)
    );
    first_one #(.COUNT(HARTS)) find_lowest (.bits(dones), .any(any_done), .index(first_done));
    assign heard = hears ? HARTS'(1) << first_done : 0;
    wire [CONTEXT-1:0] done_of = done_contexts[first_done*CONTEXT +: CONTEXT];
    assign ask_valid = steps && any_arrival && there[arrival_context];
    assign ask_context = arrival_context;
    assign finished_valid = hears;
    assign finished_hart = first_done;
    assign finished_context = done_of;
    assign finished_waits = there[done_of];

    // The message on its way.
    reg  [HART-1:0]    hart;
    reg  [CONTEXT-1:0] context_;
    reg  [13:0]        left;
    wire [HARTS-1:0]   free;
    wire [HARTS-1:0]   own = HARTS'(1) << hart;
    wire               goes = (free & enter_ready & own) != 0;
    wire               sends_head = state == HEAD && goes;
    wire               sends_body = state == BODY && goes && take_ready;
    assign take_context = context_;
    assign take_valid = sends_body;
    assign take_last = left <= 8;
    wire [3:0]         count = left < 8 ? left[3:0] : 4'd8;
    wire               begins = steps && chosen_valid;
    always @(posedge clock)
        if (reset) state <= IDLE;
        else if (begins) state <= HEAD;
        else if (sends_head) state <= BODY;
        else if (sends_body && take_last) state <= IDLE;
    always @(posedge clock)
        if (begins) begin
            hart <= chosen_hart;
            context_ <= any_arrival ? arrival_context : done_of;
        end else if (sends_head) left <= 14'((17'(take_header[15:0]) + 17'd7) >> 3);
        else if (sends_body) left <= left - 14'd8;

    // Words of 64 bits, the first byte on the wire highest.
    wire [511:0] turned;
    genvar place, number;
    generate
        for (place = 0; place < 64; place = place + 1) begin : by_byte
            assign turned[8*place +: 8] = take_data[8*((place & ~7) | (7 - (place & 7))) +: 8];
        end
        for (number = 0; number < HARTS; number = number + 1) begin : by_hart
            localparam [HART-1:0] OWN = HART'(number);
            reg  [447:0]       rest;
            reg  [2:0]         rests;
            reg  [CONTEXT-1:0] narrowed;
            wire               has_rest = rests != 0;
            wire               is_own = hart == OWN;
            wire               passes = is_own && !has_rest;
            wire               body = passes && state == BODY && take_ready;
            assign free[number] = !has_rest;
            assign enter_valid[number] = has_rest || (passes && state == HEAD) || body;
            assign enter_context[number*CONTEXT +: CONTEXT] = has_rest ? narrowed : context_;
            assign enter_word[number*64 +: 64] = has_rest ? rest[63:0] : state == HEAD ? take_header : turned[63:0];
            assign enter_begins[number] = !has_rest && state == HEAD;
            always @(posedge clock) begin
                if (reset) rests <= 0;
                else if (body && enter_ready[number]) rests <= 3'(count - 4'd1);
                else if (has_rest && enter_ready[number]) rests <= rests - 1'b1;
                if (enter_ready[number]) rest <= has_rest ? {64'd0, rest[447:64]} : turned[511:64];
                if (body) narrowed <= context_;
            end

            // Heard of a cycle later than the queue has it.
            reg                was_done;
            reg  [CONTEXT-1:0] was_context;
            always @(posedge clock) begin
                if (reset) was_done <= 0;
                else was_done <= done_valid[number];
                was_context <= done_context[number*CONTEXT +: CONTEXT];
            end
            /* verilator lint_off UNUSEDSIGNAL */
            wire [$clog2(DONES+1)-1:0] dones_count;
            /* verilator lint_on UNUSEDSIGNAL */
            queue #(.WIDTH(CONTEXT), .DEPTH(DONES)) dones_of_hart (
                .clock(clock), .reset(reset), .in_valid(was_done), .in_ready(dones_room[number]),
                .in_data(was_context), .out_valid(dones[number]), .out_ready(heard[number]),
                .out_data(done_contexts[number*CONTEXT +: CONTEXT]), .count(dones_count)
            );
        end
    endgenerate
endmodule

`default_nettype wire
