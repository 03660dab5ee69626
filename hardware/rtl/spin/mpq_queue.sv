// mpq_queue: where one message stands: header before payload before completion.
//
// In:      `accepts`: a HER joins in this cycle (`her_end`: it ends its message; the two others: which
//          handlers its message has, which count where it begins one). `sends`: the task offered goes
//          to the dispatcher. `ends_valid`: a task of this queue is done (`ends_kind`).
// Out:     `ready`, and of the task offered its kind and whether its packet leaves the queue with it;
//          `free`: no message; `begins`: the HER that joins begins one; `queued`: packets held;
//          `state`: 0 free, 1 header, 2 header running, 3 payload, 4 payload draining, 5 completion,
//          6 completion running.
// Latency: all of a cycle's causes are seen in the next.
// How:     what comes together in a cycle counts in the order task sent, task done, HER. Packets that
//          come early for the next message of the same id begin it when this one is over.
// Source:  PsPIN paper, section III-B1; the model's `MessageState`.
`default_nettype none

module mpq_queue #(
    // Packets that fit.
    parameter integer PACKETS = 9,
    // Tasks outside at most.
    parameter integer TASKS = 80
) (
    input  wire       clock,
    input  wire       reset,
    input  wire       accepts,
    input  wire       her_end,
    input  wire       her_has_header,
    input  wire       her_has_completion,
    input  wire       sends,
    input  wire       sent_end,
    input  wire       ends_valid,
    input  wire [1:0] ends_kind,
    output wire       ready,
    output wire [1:0] kind,
    output wire       pops,
    output wire       free,
    output wire       begins,
    output wire [$clog2(PACKETS+1)-1:0] queued,
    output wire [2:0] state
);
    /* verilator no_inline_module */
    localparam integer PACKET = $clog2(PACKETS + 1);
    localparam integer TASK = $clog2(TASKS + 1);
    localparam [2:0] FREE = 0, HEADER = 1, HEADER_RUNNING = 2, PAYLOAD = 3, PAYLOAD_DRAINING = 4,
        COMPLETION = 5, COMPLETION_RUNNING = 6;
    localparam [1:0] IS_HEADER = 0, IS_PAYLOAD = 1, IS_COMPLETION = 2;

    reg [2:0]        now;
    reg              has_header;
    reg              has_completion;
    // The packet that ends the message has come; packets queued that end one.
    reg              end_seen;
    reg [PACKET-1:0] ends;
    reg [PACKET-1:0] held;
    reg [TASK-1:0]   running;

    wire last = end_seen && held == 1;

    assign ready = now == HEADER || now == COMPLETION || (now == PAYLOAD && held != 0);
    assign kind = now == HEADER ? IS_HEADER : now == PAYLOAD ? IS_PAYLOAD : IS_COMPLETION;
    assign pops = now != HEADER && !(now == PAYLOAD && last && has_completion);
    assign free = now == FREE;
    assign queued = held;
    assign state = now;

    reg [2:0]        next;
    reg              next_end_seen;
    reg [PACKET-1:0] next_ends;
    reg [PACKET-1:0] next_held;
    reg [TASK-1:0]   next_running;
    reg              over;
    reg              first;
    always @* begin
        next = now;
        next_end_seen = end_seen;
        next_ends = ends;
        next_held = held;
        next_running = running;
        over = 0;
        if (sends) begin
            next_running = next_running + 1'b1;
            if (now == HEADER) next = HEADER_RUNNING;
            else if (now == COMPLETION) next = COMPLETION_RUNNING;
            else if (last) next = PAYLOAD_DRAINING;
            if (pops) begin
                next_held = next_held - 1'b1;
                if (sent_end) next_ends = next_ends - 1'b1;
            end
        end
        if (ends_valid) begin
            next_running = next_running - 1'b1;
            if (ends_kind == IS_HEADER && next == HEADER_RUNNING) next = PAYLOAD;
            else if (ends_kind == IS_COMPLETION && next == COMPLETION_RUNNING) over = 1;
            else if (next == PAYLOAD_DRAINING && next_running == 0) begin
                if (has_completion) next = COMPLETION;
                else over = 1;
            end
        end
        if (over) begin
            next_end_seen = next_ends != 0;
            next = next_held == 0 ? FREE : has_header ? HEADER : PAYLOAD;
        end
        first = accepts && next == FREE;
        if (first) next = her_has_header ? HEADER : PAYLOAD;
        if (accepts) begin
            next_held = next_held + 1'b1;
            if (her_end) begin
                next_end_seen = 1;
                next_ends = next_ends + 1'b1;
            end
        end
    end
    assign begins = first;

    always @(posedge clock)
        if (reset) begin
            now <= FREE;
            has_header <= 0;
            has_completion <= 0;
            end_seen <= 0;
            ends <= 0;
            held <= 0;
            running <= 0;
        end else begin
            now <= next;
            end_seen <= next_end_seen;
            ends <= next_ends;
            held <= next_held;
            running <= next_running;
            if (first) begin
                has_header <= her_has_header;
                has_completion <= her_has_completion;
            end
        end
endmodule

`default_nettype wire
