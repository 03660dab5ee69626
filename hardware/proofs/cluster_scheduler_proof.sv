// What a cluster's scheduler promises: tasks come out once, in order, none before its copy is done, one
// for an idle HPU, the lowest, with the room its bytes were copied to; the oldest does not wait once it is
// copied, or has no bytes, and an HPU is idle; a task without bytes goes on in the cycle after it came; one
// with bytes has its copy asked for while a ring is empty; room that is given is nobody else's.
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
    reg [1:0] copies_ahead = 0, own_slot = 0;
    // Whether a task is at the entrance, the last that came, and has bytes.
    reg  stands = 0, stands_bytes = 0;
    wire [2:0] last_came = came - 1'b1;
    // Slots that some packet has, from its copy on until they are freed: two rings of two.
    reg [3:0] holds = 0;
    wire any_empty = holds[1:0] == 0 || holds[3:2] == 0;
    wire may_go = copied || (!has_bytes && !(stands && number == last_came));

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
        if (free_valid) holds[free_slot] <= 0;
        if (copy) holds[copy_slot] <= 1;
        if (enters && mark && !marked) begin
            marked <= 1;
            number <= came;
            has_bytes <= task_bytes;
        end
        if (marked && !asked && copy && copy_task == number) begin
            asked <= 1;
            own_slot <= copy_slot;
            copies_ahead <= copies - copy_done;
        end else if (asked && !copied && copy_done) begin
            copied <= copies_ahead == 0;
            copies_ahead <= copies_ahead - 1;
        end
        if (leaves && marked && hpu_task == number) {marked, asked, copied} <= 0;
        stands <= enters || (stands && stands_bytes && !copy);
        if (enters) stands_bytes <= task_bytes;

        if (begun) begin
            if (leaves) begin
                in_order: assert (inside != 0 && hpu_task == went);
                one: assert ((hpu_valid & (hpu_valid - 1'b1)) == 0 && (hpu_valid & ~hpu_idle) == 0);
                lowest: assert ((hpu_idle & (hpu_valid - 1'b1)) == 0);
                nobody_elses: assert (hpu_slots == 0 || !given[hpu_slot]);
                if (marked && hpu_task == number) begin
                    copied_first: assert (!has_bytes || copied);
                    its_room: assert (hpu_slots == has_bytes && (!has_bytes || hpu_slot == own_slot));
                end
            end
            if (marked && number == went && may_go && |hpu_idle) no_idling: assert (leaves);
            if (stands && !stands_bytes) no_waiting: assert (task_ready);
            if (stands && stands_bytes && any_empty) has_room: assert (copy_valid && task_ready == copy_ready);
            if (copy_valid) begin
                of_the_last: assert (stands && stands_bytes && copy_bytes && copy_task == last_came);
                nobodys: assert (!holds[copy_slot]);
            end
            counts: assert (waiting <= inside);
        end
    end
endmodule
