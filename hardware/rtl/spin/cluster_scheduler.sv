// cluster_scheduler: room in L1, the copy of the packet, and an idle HPU (CSCHED).
//
// In:      tasks from the dispatcher, with the bytes of the packet that are copied to L1; `copy_done`:
//          the oldest copy under way is done; `hpu_idle`; room in L1 that is freed, as it was given.
// Out:     copies (`copy_…`: the task, its slot in L1, its bytes), and tasks to HPUs (`hpu_valid`: at
//          most one bit; the task, its first slot in L1 and how many). `state_waiting`: tasks inside.
// Latency: a task accepted in cycle t asks for its copy in t + 1, if L1 has room; done in cycle u, it
//          goes to an HPU in u + 1. Without bytes it goes to one in t + 2. One task a cycle each way.
// How:     the first ring of slots that has room in a row takes the packet; without, the task waits in
//          the register at the entrance and those behind it wait, too. Tasks go in order, each once
//          its copy is done, to the lowest-numbered idle HPU.
// Memory:  TASKS entries, read without a register.
// Source:  PsPIN paper, section III-B2; the model's `ClusterScheduler`.
`default_nettype none

module cluster_scheduler #(
    // cluster.cores; at least 2.
    parameter integer HPUS = 8,
    // Tasks that fit: those that the dispatcher lets in, cluster.buffered_hers + cluster.cores.
    parameter integer TASKS = 20,
    // l1.packet_buffer_rings; at least 2.
    parameter integer RINGS = 4,
    // Slots of a ring; a power of two.
    parameter integer RING_SLOTS = 256,
    // l1.packet_slot_bytes; a power of two.
    parameter integer SLOT_BYTES = 64,
    parameter integer BYTES_BITS = 12,
    parameter integer TASK_BITS = 32
) (
    input  wire                                 clock,
    input  wire                                 reset,
    input  wire                                 task_valid,
    output wire                                 task_ready,
    input  wire [TASK_BITS-1:0]                 task_data,
    input  wire [BYTES_BITS-1:0]                task_bytes,
    output wire                                 copy_valid,
    input  wire                                 copy_ready,
    output wire [TASK_BITS-1:0]                 copy_task,
    output wire [$clog2(RINGS*RING_SLOTS)-1:0]  copy_slot,
    output wire [BYTES_BITS-1:0]                copy_bytes,
    input  wire                                 copy_done,
    input  wire [HPUS-1:0]                      hpu_idle,
    output wire [HPUS-1:0]                      hpu_valid,
    output wire [TASK_BITS-1:0]                 hpu_task,
    output wire [$clog2(RINGS*RING_SLOTS)-1:0]  hpu_slot,
    output wire [$clog2(RING_SLOTS+1)-1:0]      hpu_slots,
    input  wire                                 free_valid,
    input  wire [$clog2(RINGS*RING_SLOTS)-1:0]  free_slot,
    input  wire [$clog2(RING_SLOTS+1)-1:0]      free_slots,
    output wire [$clog2(TASKS+1)-1:0]           state_waiting
);
    localparam integer RING = $clog2(RINGS);
    localparam integer SLOT = $clog2(RING_SLOTS);
    localparam integer PLACE = $clog2(RINGS * RING_SLOTS);
    localparam integer COUNT = $clog2(RING_SLOTS + 1);
    localparam integer SHIFT = $clog2(SLOT_BYTES);
    localparam integer INDEX = $clog2(TASKS);
    localparam integer HELD = $clog2(TASKS + 1);
    localparam integer ENTRY = TASK_BITS + PLACE + COUNT;
    localparam [INDEX-1:0] LAST = INDEX'(TASKS - 1);
    localparam integer WIDE = BYTES_BITS + COUNT;

    // The register at the entrance.
    reg                  entered;
    reg [TASK_BITS-1:0]  entered_task;
    reg [BYTES_BITS-1:0] entered_bytes;
    wire                 has_bytes = entered_bytes != 0;

    // Room for it.
    wire [WIDE-1:0]       wanted = (WIDE'(entered_bytes) + WIDE'(SLOT_BYTES - 1)) >> SHIFT;
    wire                  too_big = wanted > WIDE'(RING_SLOTS);
    wire [COUNT-1:0]      slots = wanted[COUNT-1:0];
    wire [RINGS-1:0]      fits;
    wire [RINGS*SLOT-1:0] firsts;
    wire                  any_fits;
    wire [RING-1:0]       ring_chosen;
    first_one #(.COUNT(RINGS)) find_ring (.bits(fits), .any(any_fits), .index(ring_chosen));
    wire [PLACE-1:0]      slot = has_bytes ? {ring_chosen, firsts[ring_chosen*SLOT +: SLOT]} : 0;

    // The queue.
    reg [ENTRY-1:0] entries [0:TASKS-1];
    reg [TASKS-1:0] copying;
    reg [INDEX-1:0] head, tail;
    reg [HELD-1:0]  held;
    wire            room = held != HELD'(TASKS);
    wire            accept = entered && room
        && (!has_bytes || (copy_ready && any_fits && !too_big));
    assign task_ready = !entered || accept;
    assign copy_valid = entered && room && has_bytes && any_fits && !too_big;
    assign copy_task = entered_task;
    assign copy_slot = slot;
    assign copy_bytes = entered_bytes;
    assign state_waiting = held;

    // The oldest task that is being copied: the first at or above the head, or else the lowest.
    wire             any_above, any_copying;
    wire [INDEX-1:0] above, lowest;
    first_one #(.COUNT(TASKS)) find_above (
        .bits(copying & ({TASKS{1'b1}} << head)), .any(any_above), .index(above)
    );
    first_one #(.COUNT(TASKS)) find_lowest (
        .bits(copying), .any(any_copying), .index(lowest)
    );
    wire [INDEX-1:0] oldest = any_above ? above : lowest;
    wire [TASKS-1:0] copied = copy_done && any_copying ? TASKS'(1) << oldest : 0;
    wire [TASKS-1:0] begun = accept && has_bytes ? TASKS'(1) << tail : 0;

    // The HPU.
    wire                    any_idle;
    wire [$clog2(HPUS)-1:0] hpu_chosen;
    first_one #(.COUNT(HPUS)) find_hpu (.bits(hpu_idle), .any(any_idle), .index(hpu_chosen));
    wire assign_task = held != 0 && !copying[head] && any_idle;
    assign hpu_valid = assign_task ? HPUS'(1) << hpu_chosen : 0;
    assign {hpu_task, hpu_slot, hpu_slots} = entries[head];

    genvar ring;
    generate
        for (ring = 0; ring < RINGS; ring = ring + 1) begin : by_ring
            localparam [RING-1:0] OWN = RING'(ring);
            /* verilator lint_off UNUSEDSIGNAL */
            wire [COUNT-1:0] used;
            /* verilator lint_on UNUSEDSIGNAL */
            packet_ring #(.SLOTS(RING_SLOTS)) slots_of_ring (
                .clock(clock), .reset(reset), .request_slots(slots),
                .take(accept && has_bytes && ring_chosen == OWN), .fits(fits[ring]),
                .first(firsts[ring*SLOT +: SLOT]),
                .free_valid(free_valid && free_slot[PLACE-1:SLOT] == OWN),
                .free_first(free_slot[SLOT-1:0]), .free_slots(free_slots), .state_used(used)
            );
        end
    endgenerate

    always @(posedge clock) begin
        if (task_valid && task_ready) begin
            entered_task <= task_data;
            entered_bytes <= task_bytes;
        end
        if (accept) entries[tail] <= {entered_task, slot, has_bytes ? slots : COUNT'(0)};
    end

    always @(posedge clock)
        if (reset) begin
            entered <= 0;
            copying <= 0;
            head <= 0;
            tail <= 0;
            held <= 0;
        end else begin
            if (task_ready) entered <= task_valid;
            copying <= copying & ~copied | begun;
            if (accept) tail <= tail == LAST ? 0 : tail + 1'b1;
            if (assign_task) head <= head == LAST ? 0 : head + 1'b1;
            if (accept && !assign_task) held <= held + 1'b1;
            if (assign_task && !accept) held <= held - 1'b1;
        end
endmodule

`default_nettype wire
