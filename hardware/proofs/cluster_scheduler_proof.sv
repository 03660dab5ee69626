// What a cluster's scheduler promises: tasks come out once, in order, none before its copy is done, one
// for an idle HPU, the lowest; the oldest does not wait once it is copied and an HPU is idle; a task
// without bytes, or whose bytes have room, goes on in the cycle after it came.
module cluster_scheduler_proof #(
    parameter integer HPUS = 2,
    parameter integer TASKS = 3
) (
    input wire            clock,
    input wire            reset,
    input wire            task_wanted,
    input wire            task_bytes,
    input wire            copy_ready,
    input wire            copy_done,
    input wire [HPUS-1:0] hpu_idle,
    input wire            free_valid,
    input wire [1:0]      free_slot,
    // The solver follows one task.
    input wire            mark
);
    wire            task_ready, copy_valid, copy_bytes;
    wire [2:0]      copy_task, hpu_task;
    wire [1:0]      copy_slot, hpu_slot, hpu_slots;
    wire [HPUS-1:0] hpu_valid;
    wire [1:0]      waiting;
    reg             begun = 0;
    reg [2:0]       came = 0, went = 0;
    reg [1:0]       copies = 0;
    reg [3:0]       given = 0;
    wire [2:0]      inside = came - went;
    // The dispatcher lets in what fits.
    wire            task_valid = begun && task_wanted && inside < TASKS;

    cluster_scheduler #(
        .HPUS(HPUS), .TASKS(TASKS), .RINGS(2), .RING_SLOTS(2), .SLOT_BYTES(2), .BYTES_BITS(1),
        .TASK_BITS(3)
    ) unit (
        .clock(clock), .reset(reset), .task_valid(task_valid), .task_ready(task_ready),
        .task_data(came), .task_bytes(task_bytes), .copy_valid(copy_valid),
        .copy_ready(copy_ready), .copy_task(copy_task), .copy_slot(copy_slot),
        .copy_bytes(copy_bytes), .copy_done(copy_done), .hpu_idle(hpu_idle),
        .hpu_valid(hpu_valid), .hpu_task(hpu_task), .hpu_slot(hpu_slot), .hpu_slots(hpu_slots),
        .free_valid(free_valid), .free_slot(free_slot), .free_slots(2'd1),
        .state_waiting(waiting)
    );

    wire enters = task_valid && task_ready;
    wire leaves = begun && |hpu_valid;
    wire copy = begun && copy_valid && copy_ready;
    reg  marked = 0, asked = 0, copied = 0, has_bytes = 0;
    reg [2:0] number = 0;
    reg [1:0] copies_ahead = 0;
    // The task that came in the cycle before, while it is at the entrance.
    reg  fresh = 0, fresh_bytes = 0;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (copy_done) assume (begun && copies != 0);
        if (free_valid) assume (begun && given[free_slot]);
        came <= came + enters;
        went <= went + leaves;
        copies <= copies + copy - copy_done;
        if (free_valid) given[free_slot] <= 0;
        if (leaves && hpu_slots != 0) given[hpu_slot] <= 1;
        if (enters && mark && !marked) begin
            marked <= 1;
            number <= came;
            has_bytes <= task_bytes;
        end
        if (marked && !asked && copy && copy_task == number) begin
            asked <= 1;
            copies_ahead <= copies - copy_done;
        end else if (asked && !copied && copy_done) begin
            copied <= copies_ahead == 0;
            copies_ahead <= copies_ahead - 1;
        end
        if (leaves && marked && hpu_task == number) {marked, asked, copied} <= 0;
        fresh <= enters;
        fresh_bytes <= task_bytes;

        if (begun) begin
            if (leaves) begin
                in_order: assert (inside != 0 && hpu_task == went);
                one: assert ((hpu_valid & (hpu_valid - 1'b1)) == 0 && (hpu_valid & ~hpu_idle) == 0);
                lowest: assert ((hpu_idle & (hpu_valid - 1'b1)) == 0);
                nobody_elses: assert (hpu_slots == 0 || !given[hpu_slot]);
                if (marked && hpu_task == number) copied_first: assert (!has_bytes || copied);
            end
            if (marked && number == went && copied && |hpu_idle) no_idling: assert (leaves);
            if (fresh && !fresh_bytes) no_waiting: assert (task_ready);
            if (copy_valid) nobodys: assert (!given[copy_slot]);
            counts: assert (waiting <= inside);
        end
    end
endmodule
