// mpq_engine: one queue per message in flight, header before payload before completion.
//
// In:      HERs (handler execution requests), one a cycle; completions of tasks, with queue and kind
//          (0 header, 1 payload, 2 completion).
// Out:     tasks for the dispatcher, one a cycle, round robin over the queues that are ready: queue,
//          kind, the packet, the message's execution context as its first HER gave it (`task_meta`),
//          and whether the packet is freed when the task is done. `state_queues`: three bits a queue
//          (see mpq_queue); `state_free_cells`: which shared cells are free.
// Latency: a HER accepted in cycle t can be chosen in t + 1 and is offered in t + 2. A completion in
//          cycle t lets its queue be chosen in t + 1.
// How:     a queue has a cell of its own and takes shared ones beyond; without cell or queue the HER
//          waits. A message's queue is the one that holds its key, else the first free one from its
//          id modulo QUEUES on; with ALIAS its id modulo QUEUES always, as in the published RTL.
//          The header's packet stays for its payload handler, the last packet for the completion
//          handler. Eviction of messages that stall is not in this unit.
// Memory:  PACKET_BITS + 1 bits and a link a cell, META_BITS a queue, read without a register.
// Source:  PsPIN paper, section III-B1; the model's `MpqEngine`.
`default_nettype none

module mpq_engine #(
    // mpq.count; a power of two, at least 2.
    parameter integer QUEUES = 8,
    // mpq.shared_cells; at least 2.
    parameter integer SHARED_CELLS = 8,
    // mpq.alias.
    parameter integer ALIAS = 0,
    // Whether the arbiter keeps its choice while the register behind it is full, as in the published RTL.
    parameter integer LOCK = 0,
    // Bits of a message's key: its id, the lowest bits, and what tells its context.
    parameter integer KEY_BITS = 10,
    parameter integer PACKET_BITS = 32,
    parameter integer META_BITS = 32,
    // Tasks outside at most: of all clusters, and the one in the register.
    parameter integer TASKS = 81
) (
    input  wire                      clock,
    input  wire                      reset,
    input  wire                      her_valid,
    output wire                      her_ready,
    input  wire [KEY_BITS-1:0]       her_key,
    input  wire                      her_end,
    input  wire                      her_has_header,
    input  wire                      her_has_completion,
    input  wire [PACKET_BITS-1:0]    her_packet,
    input  wire [META_BITS-1:0]      her_meta,
    output wire                      task_valid,
    input  wire                      task_ready,
    output wire [$clog2(QUEUES)-1:0] task_queue,
    output wire [1:0]                task_kind,
    output wire                      task_frees,
    output wire [PACKET_BITS-1:0]    task_packet,
    output wire [META_BITS-1:0]      task_meta,
    input  wire                      done_valid,
    input  wire [$clog2(QUEUES)-1:0] done_queue,
    input  wire [1:0]                done_kind,
    output wire [3*QUEUES-1:0]       state_queues,
    output wire [SHARED_CELLS-1:0]   state_free_cells
);
    localparam integer QUEUE = $clog2(QUEUES);
    localparam integer CELLS = QUEUES + SHARED_CELLS;
    localparam integer CELL = $clog2(CELLS);
    localparam integer SHARED = $clog2(SHARED_CELLS);
    localparam integer HELD = $clog2(CELLS + 1);

    // By cell.
    reg [PACKET_BITS:0]    packets [0:CELLS-1];
    reg [CELL-1:0]         links [0:CELLS-1];
    reg [SHARED_CELLS-1:0] shared_free;
    // By queue.
    reg [META_BITS-1:0]    metas [0:QUEUES-1];
    wire [QUEUES-1:0]      ready, pops, free, begins, own_free;
    wire [2*QUEUES-1:0]    kinds;
    wire [CELL*QUEUES-1:0] heads, tails;
    wire [HELD*QUEUES-1:0] held;

    // A HER's queue.
    wire [QUEUE-1:0] her_queue;
    wire             has_queue;
    generate
        if (ALIAS != 0) begin : by_id
            assign her_queue = her_key[QUEUE-1:0];
            assign has_queue = 1;
        end else begin : by_key
            wire [QUEUE-1:0]  preferred = her_key[QUEUE-1:0];
            wire [QUEUES-1:0] hits;
            wire [QUEUES-1:0] free_above = free & ({QUEUES{1'b1}} << preferred);
            wire              is_known, any_above, any_free;
            wire [QUEUE-1:0]  known, above, lowest;
            genvar number;
            for (number = 0; number < QUEUES; number = number + 1) begin : by_queue
                reg [KEY_BITS-1:0] key;
                assign hits[number] = !free[number] && key == her_key;
                always @(posedge clock)
                    if (begins[number]) key <= her_key;
            end
            first_one #(.COUNT(QUEUES)) find_known (.bits(hits), .any(is_known), .index(known));
            first_one #(.COUNT(QUEUES)) find_above (
                .bits(free_above), .any(any_above), .index(above)
            );
            first_one #(.COUNT(QUEUES)) find_free (.bits(free), .any(any_free), .index(lowest));
            assign her_queue = is_known ? known : any_above ? above : lowest;
            assign has_queue = is_known || any_free;
        end
    endgenerate

    // Its cell.
    wire              any_shared;
    wire [SHARED-1:0] shared;
    first_one #(.COUNT(SHARED_CELLS)) find_shared (
        .bits(shared_free), .any(any_shared), .index(shared)
    );
    wire            takes_own = own_free[her_queue];
    wire [CELL-1:0] her_cell = takes_own ? CELL'(her_queue) : CELL'(QUEUES) + CELL'(shared);
    wire            accept = her_valid && her_ready;
    assign her_ready = has_queue && (takes_own || any_shared);

    // The task chosen, and the register that holds it for the dispatcher.
    wire                 any_ready;
    wire [QUEUE-1:0]     chosen;
    wire                 send = any_ready && (!task_valid || task_ready);
    wire [CELL-1:0]      cell_number = heads[chosen*CELL +: CELL];
    wire                 pop = send && pops[chosen];
    wire [PACKET_BITS:0] packet = packets[cell_number];
    wire [CELL-1:0]      link = links[cell_number];
    /* verilator lint_off UNUSEDSIGNAL */
    wire [QUEUE-1:0]     pointer;
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(QUEUES), .LOCK(LOCK)) arbiter (
        .clock(clock), .reset(reset), .requests(ready), .advance(send), .any(any_ready),
        .grant(chosen), .state_pointer(pointer)
    );

    reg                   offered;
    reg [QUEUE-1:0]       offered_queue;
    reg [1:0]             offered_kind;
    reg                   offered_frees;
    reg [PACKET_BITS-1:0] offered_packet;
    reg [META_BITS-1:0]   offered_meta;
    assign task_valid = offered;
    assign task_queue = offered_queue;
    assign task_kind = offered_kind;
    assign task_frees = offered_frees;
    assign task_packet = offered_packet;
    assign task_meta = offered_meta;
    always @(posedge clock)
        if (reset) offered <= 0;
        else if (send) begin
            offered <= 1;
            offered_queue <= chosen;
            offered_kind <= kinds[chosen*2 +: 2];
            offered_frees <= pop;
            offered_packet <= packet[PACKET_BITS-1:0];
            offered_meta <= metas[chosen];
        end else if (task_ready) offered <= 0;

    // A HER joins behind its queue's last packet, unless that one leaves in this cycle.
    wire joins_last = held[her_queue*HELD +: HELD] != HELD'(pop && chosen == her_queue);
    always @(posedge clock) begin
        if (accept) packets[her_cell] <= {her_end, her_packet};
        if (accept && joins_last) links[tails[her_queue*CELL +: CELL]] <= her_cell;
        if (accept && begins[her_queue]) metas[her_queue] <= her_meta;
    end

    genvar cell_place;
    generate
        for (cell_place = 0; cell_place < SHARED_CELLS; cell_place = cell_place + 1) begin : by_cell
            localparam [CELL-1:0] OWN = CELL'(QUEUES + cell_place);
            always @(posedge clock)
                if (reset) shared_free[cell_place] <= 1;
                else if (accept && her_cell == OWN) shared_free[cell_place] <= 0;
                else if (pop && cell_number == OWN) shared_free[cell_place] <= 1;
        end
    endgenerate

    genvar number;
    generate
        for (number = 0; number < QUEUES; number = number + 1) begin : by_queue
            localparam [QUEUE-1:0] OWN = QUEUE'(number);
            localparam [CELL-1:0]  OWN_CELL = CELL'(number);
            wire joins = accept && her_queue == OWN;
            wire sends = send && chosen == OWN;
            wire leaves = pop && chosen == OWN;
            reg  own_cell_free;
            reg [CELL-1:0] head, tail;
            assign own_free[number] = own_cell_free;
            assign heads[number*CELL +: CELL] = head;
            assign tails[number*CELL +: CELL] = tail;

            mpq_queue #(.PACKETS(CELLS), .TASKS(TASKS)) message (
                .clock(clock), .reset(reset), .accepts(joins), .her_end(her_end),
                .her_has_header(her_has_header), .her_has_completion(her_has_completion),
                .sends(sends), .sent_end(packet[PACKET_BITS]),
                .ends_valid(done_valid && done_queue == OWN), .ends_kind(done_kind),
                .ready(ready[number]), .kind(kinds[2*number +: 2]), .pops(pops[number]),
                .free(free[number]), .begins(begins[number]),
                .queued(held[number*HELD +: HELD]), .state(state_queues[3*number +: 3])
            );

            always @(posedge clock)
                if (reset) begin
                    own_cell_free <= 1;
                    head <= 0;
                    tail <= 0;
                end else begin
                    if (joins && takes_own) own_cell_free <= 0;
                    else if (leaves && cell_number == OWN_CELL) own_cell_free <= 1;
                    if (joins && !joins_last) head <= her_cell;
                    else if (leaves) head <= link;
                    if (joins) tail <= her_cell;
                end
        end
    endgenerate

    assign state_free_cells = shared_free;
endmodule

`default_nettype wire
