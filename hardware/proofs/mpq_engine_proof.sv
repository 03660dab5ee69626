// What the MPQ engine promises, of the messages of an arbitrary key: the header's task is done before
// the first payload task, all payload tasks before the completion's; every packet has its payload task
// once, in order; a packet is freed once; a task that is due is offered before the others had many turns.
module mpq_engine_proof #(
    parameter integer QUEUES = 2,
    parameter integer SHARED_CELLS = 2,
    parameter integer KEY_BITS = 2,
    // Turns of the dispatcher in which a task that is due has come: one for each queue, the register's.
    parameter integer TURNS = QUEUES + 1
) (
    input wire                      clock,
    input wire                      reset,
    input wire                      her_valid,
    input wire [KEY_BITS-1:0]       her_key,
    input wire                      her_end,
    input wire                      her_has_header,
    input wire                      her_has_completion,
    input wire                      task_ready,
    input wire                      done_valid,
    input wire [$clog2(QUEUES)-1:0] done_queue,
    input wire [1:0]                done_kind
);
    localparam integer QUEUE = $clog2(QUEUES);
    localparam [1:0] HEADER = 0, PAYLOAD = 1, COMPLETION = 2;
    wire                    her_ready, task_valid, task_frees;
    wire [QUEUE-1:0]        task_queue;
    wire [1:0]              task_kind;
    wire [2:0]              task_packet;
    wire [KEY_BITS-1:0]     task_meta;
    wire [3*QUEUES-1:0]     states;
    wire [SHARED_CELLS-1:0] free_cells;

    // The solver follows the messages of one key, whose packets are numbered.
    (* anyconst *) wire [KEY_BITS-1:0] key;
    reg [2:0] came = 0;
    wire [2:0] her_packet = her_key == key ? came : 0;

    mpq_engine #(
        .QUEUES(QUEUES), .SHARED_CELLS(SHARED_CELLS), .KEY_BITS(KEY_BITS), .PACKET_BITS(3),
        .META_BITS(KEY_BITS), .TASKS(7)
    ) unit (
        .clock(clock), .reset(reset), .her_valid(her_valid), .her_ready(her_ready),
        .her_key(her_key), .her_end(her_end), .her_has_header(her_has_header),
        .her_has_completion(her_has_completion), .her_packet(her_packet), .her_meta(her_key),
        .task_valid(task_valid), .task_ready(task_ready), .task_queue(task_queue),
        .task_kind(task_kind), .task_frees(task_frees), .task_packet(task_packet),
        .task_meta(task_meta), .done_valid(done_valid), .done_queue(done_queue),
        .done_kind(done_kind), .state_queues(states), .state_free_cells(free_cells)
    );

    reg begun = 0;
    // Tasks outside, by queue and kind: only what was given comes back.
    reg [2:0] outside [0:4*QUEUES-1];
    integer place;
    initial for (place = 0; place < 4*QUEUES; place = place + 1) outside[place] = 0;
    wire given = begun && task_valid && task_ready;

    reg active = 0, has_header = 0, has_completion = 0;
    reg header_sent = 0, header_done = 0, completion_sent = 0, end_came = 0;
    reg [2:0] sent = 0, done = 0, freed = 0;
    reg [QUEUE-1:0] home = 0;
    reg [3:0] turns = 0;
    wire joins = her_valid && her_ready && her_key == key;
    wire own = given && task_meta == key;
    wire own_done = done_valid && active && done_queue == home && (header_sent || sent != 0);
    wire over = own_done && (done_kind == COMPLETION
        || (done_kind == PAYLOAD && !has_completion && end_came && done + 1 == came));
    wire due = active && (has_header && !header_sent
        || (!has_header || header_done) && sent < came
        || has_completion && end_came && done == came && !completion_sent);

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (done_kind != 3 && (begun || !done_valid));
        if (done_valid) assume (outside[{done_queue, done_kind}] != 0);
        if (given) assume (outside[{task_queue, task_kind}] != 7);
        if (given && !(done_valid && {task_queue, task_kind} == {done_queue, done_kind}))
            outside[{task_queue, task_kind}] <= outside[{task_queue, task_kind}] + 1;
        if (done_valid && !(given && {task_queue, task_kind} == {done_queue, done_kind}))
            outside[{done_queue, done_kind}] <= outside[{done_queue, done_kind}] - 1;
        // A key is used again when its message is over; a message has few packets.
        if (her_valid && her_key == key) assume (!end_came && came < 6);

        if (begun) begin
            if (joins) begin
                active <= 1;
                came <= came + 1;
                end_came <= her_end;
                if (!active) {has_header, has_completion} <= {her_has_header, her_has_completion};
            end
            if (own) begin
                home <= task_queue;
                if (task_kind == HEADER) header_sent <= 1;
                if (task_kind == PAYLOAD) sent <= sent + 1;
                if (task_kind == COMPLETION) completion_sent <= 1;
                freed <= freed + task_frees;
            end
            if (own_done && done_kind == HEADER) header_done <= 1;
            if (own_done && done_kind == PAYLOAD) done <= done + 1;
            if (over) begin
                {active, header_sent, header_done, completion_sent, end_came} <= 0;
                {came, sent, done, freed} <= 0;
            end
            turns <= !due || own ? 0 : turns + task_ready;

            if (own) begin
                known: assert (active);
                one_kind: assert (task_kind != 3);
                if (header_sent || sent != 0) stays: assert (task_queue == home);
                if (task_kind == HEADER)
                    header: assert (has_header && !header_sent && sent == 0 && task_packet == 0 && !task_frees);
                if (task_kind == PAYLOAD) begin
                    after_header: assert (!has_header || header_done);
                    in_order: assert (task_packet == sent && sent < came);
                end
                if (task_kind == COMPLETION) begin
                    after_payload: assert (end_came && done == came);
                    completion: assert (has_completion && !completion_sent && task_packet + 1 == came);
                end
                freed_once: assert (freed + task_frees <= sent + (task_kind == PAYLOAD));
            end
            if (over) all_freed: assert (freed == came && sent == came);
            nobody_starves: assert (turns <= TURNS);
        end
    end
endmodule
