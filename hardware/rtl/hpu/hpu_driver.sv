// hpu_driver: hands tasks to an HPU's core, takes its commands, holds its completion back until they are done,
// and watches how long a handler runs.
//
// In:      a task while `idle`: its registers from offset 00 on, and `task_data`, which comes back with its
//          completion. The core's accesses to the registers, taken in a cycle with `reg_ready`, answered in the
//          next. Answers of commands; `transfers_pending`: the cluster's DMA engine works for this core.
// Out:     commands, in the order of their issue; completions; `error_valid`: the trap handler reports a cause.
//          `interrupts`: the watchdog ends the handler, by a trap that it cannot mask; `lost`, from then on: the
//          trap handler has hung, too, and the core is to be stopped. That has its own time, `watchdog_cycles` as they
//          are when the handler's end, and as long again while it waits for the completion before.
// Latency: a task given in cycle t is taken by a core that waits in t + 1. A command issued in t is offered in
//          t + 1; who waits for one goes on in the cycle of its answer. The doorbell in t: idle and, if nothing
//          is pending, `completion_valid` in t + 1. A task without a handler is a completion at once.
// Waits:   the core, for a task (00), for a place (80), for a command (84), for the completion before (50, 80).
// Source:  PsPIN paper, sections III-B2 and III-B3; the registers are the published ones; the model's
//          `HpuDriver`. An offset without a register answers what the last one in its half did.
`default_nettype none

module hpu_driver #(
    // Commands under way; a power of two.
    parameter integer COMMANDS = 4,
    parameter integer DATA_BITS = 32,
    parameter integer WATCHDOG_BITS = 24
) (
    input  wire                        clock,
    input  wire                        reset,
    output wire                        idle,
    input  wire                        task_valid,
    input  wire [20*32-1:0]            task_words,
    input  wire [DATA_BITS-1:0]        task_data,
    input  wire                        reg_valid,
    output reg                         reg_ready,
    output wire                        reg_error,
    input  wire                        reg_write,
    input  wire [8:2]                  reg_offset,
    input  wire [31:0]                 reg_data,
    output wire [31:0]                 reg_read,
    output wire                        command_valid,
    input  wire                        command_ready,
    output wire [$clog2(COMMANDS)-1:0] command_id,
    output wire [2:0]                  command_info,
    output wire [7*32-1:0]             command_words,
    input  wire                        response_valid,
    input  wire [$clog2(COMMANDS)-1:0] response_id,
    output wire                        completion_valid,
    input  wire                        completion_ready,
    output wire [DATA_BITS-1:0]        completion_data,
    input  wire                        transfers_pending,
    // 0: no watchdog.
    input  wire [WATCHDOG_BITS-1:0]    watchdog_cycles,
    input  wire                        user_mode,
    output wire                        interrupts,
    output reg                         lost,
    output wire                        error_valid,
    output wire [31:0]                 error_cause,
    output wire [COMMANDS-1:0]         state_busy
);
    localparam integer ID = $clog2(COMMANDS);
    // Registers, by word.
    localparam [6:0] HANDLER = 7'h00, LAST_TASK = 7'h13, DOORBELL = 7'h14, ERROR = 7'h15, ISSUE = 7'h20,
        WAIT = 7'h21, TEST = 7'h22, INFO = 7'h23, WORDS = 7'h24;

    // The task here, whether the core has it, and one without a handler, or given up, that waits for its place below.
    reg                 given, started, bounced;
    reg [20*32-1:0]     words;
    reg [DATA_BITS-1:0] data;
    // The completion that waits.
    reg                 held;
    reg [DATA_BITS-1:0] done_data;
    // Commands: under way, the one being written, those not yet offered in order.
    reg [COMMANDS-1:0]  busy;
    reg [2:0]           info;
    reg [7*32-1:0]      draft;
    reg                 tested;
    // What each half last answered, and which half answers now.
    reg [31:0]          task_answer, command_answer;
    reg                 answers_command;
    reg [WATCHDOG_BITS-1:0] left;

    wire is_command = reg_offset[7] && !reg_offset[8];
    wire rings = reg_valid && reg_offset == DOORBELL && !held;
    wire issues_now = reg_valid && !reg_write && reg_offset == ISSUE && reg_ready && !reg_error;
    wire takes = reg_valid && !reg_write && reg_offset == HANDLER && given && !started;
    wire [ID-1:0] asked = reg_data[ID-1:0];
    wire answered = response_valid && response_id == asked;

    wire          any_free;
    wire [ID-1:0] free_id;
    first_one #(.COUNT(COMMANDS)) find_free (.bits(~busy), .any(any_free), .index(free_id));

    assign reg_error = reg_valid && !reg_write && reg_offset == ISSUE && !given;
    always @*
        case (reg_offset)
            HANDLER: reg_ready = reg_write || given;
            DOORBELL: reg_ready = !held;
            ISSUE: reg_ready = reg_write || !given || (any_free && !held);
            WAIT: reg_ready = !reg_write || !busy[asked] || answered;
            default: reg_ready = 1;
        endcase

    // What was issued goes out in its order.
    wire              queue_ready;
    wire [$clog2(COMMANDS+1)-1:0] waiting_count;
    queue #(.WIDTH(7*32 + 3 + ID), .DEPTH(COMMANDS)) waiting (
        .clock(clock), .reset(reset), .in_valid(issues_now), .in_ready(queue_ready),
        .in_data({draft, info, free_id}), .out_valid(command_valid), .out_ready(command_ready),
        .out_data({command_words, command_info, command_id}), .count(waiting_count)
    );

    // The watchdog's time is over, and the handler still runs.
    reg  graced;
    wire expires = left == 1 && given && started && !rings && !lost;
    assign interrupts = expires && user_mode;
    // An exception came before, and its handler has just begun; or that waits at the doorbell.
    wire spares = expires && !user_mode && (!graced || (held && reg_valid && reg_offset == DOORBELL));
    wire gives_up = expires && !user_mode && !spares;
    wire ends = (rings && given && started) || gives_up;
    wire leaves = completion_valid && completion_ready;
    wire bounces = task_valid && idle && task_words[31:0] == 0;

    assign idle = !given && !bounced && !lost;
    assign completion_valid = held && busy == 0 && !transfers_pending;
    assign completion_data = done_data;
    assign error_valid = reg_valid && reg_write && reg_offset == ERROR;
    assign error_cause = reg_data;
    assign reg_read = answers_command ? command_answer : task_answer;
    assign state_busy = busy;

    genvar slot;
    generate
        for (slot = 0; slot < COMMANDS; slot = slot + 1) begin : by_slot
            localparam [ID-1:0] OWN = ID'(slot);
            always @(posedge clock)
                if (reset) busy[slot] <= 0;
                else if (issues_now && free_id == OWN) busy[slot] <= 1;
                else if (response_valid && response_id == OWN) busy[slot] <= 0;
        end
        for (slot = 0; slot < 7; slot = slot + 1) begin : by_word
            always @(posedge clock)
                if (reg_valid && reg_write && reg_offset == WORDS + 7'(slot))
                    draft[32*slot +: 32] <= reg_data;
        end
    endgenerate

    always @(posedge clock) begin
        if (task_valid && idle) {words, data} <= {task_words, task_data};
        if (reg_valid && reg_write && reg_offset == INFO) info <= reg_data[2:0];
        if (reg_valid && reg_write && reg_offset == TEST) tested <= !busy[asked];
        answers_command <= is_command;
        if (reset) {task_answer, command_answer} <= 0;
        else if (reg_valid && reg_ready) begin
            if (reg_offset <= LAST_TASK) task_answer <= words[32*reg_offset[6:2] +: 32];
            if (reg_offset == DOORBELL) task_answer <= 0;
            if (issues_now) command_answer <= {{32 - ID{1'b0}}, free_id};
            if (!reg_write && reg_offset == TEST) command_answer <= {31'd0, tested};
        end
        if (reset) {given, started, bounced, held, lost, left, graced} <= 0;
        else begin
            if (task_valid && idle && !bounces) given <= 1;
            else if (ends) given <= 0;
            started <= !ends && (started || takes);
            // The completion before goes first.
            bounced <= (bounced || bounces || gives_up) && held && !leaves;
            if (ends && (!held || leaves)) {held, done_data} <= {1'b1, data};
            else if (bounces && (!held || leaves)) {held, done_data} <= {1'b1, task_data};
            else if (bounced && (!held || leaves)) {held, done_data} <= {1'b1, data};
            else if (leaves) held <= 0;
            if (gives_up) lost <= 1;
            if (takes || interrupts || spares) left <= watchdog_cycles;
            else if (left != 0) left <= left - 1'b1;
            graced <= !takes && (graced || interrupts || spares);
        end
    end

    wire _unused = &{1'b0, queue_ready, waiting_count, reg_data[31:ID]};
endmodule

`default_nettype wire
