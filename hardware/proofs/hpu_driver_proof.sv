// What the HPU's driver promises: a task comes back as one completion, in order, and not while a command of it or
// a transfer is pending; commands are issued to free places only, offered once, in order, with the words they
// were written with, never before the completion of the task before has left; who waits for a command goes on
// when it is done; a handler ends or is interrupted within its time, and where the trap handler hangs, which has as
// long, and as long again only while it waits for the completion before, its packet comes back all the same.
module hpu_driver_proof #(
    parameter integer COMMANDS = 2,
    parameter integer DATA_BITS = 2,
    parameter integer WATCHDOG_BITS = 3
) (
    input wire                        clock,
    input wire                        reset,
    input wire                        task_valid,
    input wire                        has_handler,
    input wire                        reg_valid,
    input wire                        reg_write,
    input wire [2:0]                  reg_choice,
    input wire [1:0]                  reg_value,
    input wire                        command_ready,
    input wire                        response_valid,
    input wire [$clog2(COMMANDS)-1:0] response_id,
    input wire                        completion_ready,
    input wire                        transfers_pending,
    input wire                        user_mode
);
    localparam integer ID = $clog2(COMMANDS);
    localparam [WATCHDOG_BITS-1:0] LIMIT = 2;
    localparam [6:0] HANDLER = 7'h00, DOORBELL = 7'h14, ISSUE = 7'h20, WAIT = 7'h21, TEST = 7'h22, WORDS = 7'h24;

    wire                 idle, reg_ready, reg_error, command_valid, completion_valid, interrupts, lost;
    wire [31:0]          reg_read;
    wire [ID-1:0]        command_id;
    wire [7*32-1:0]      command_words;
    wire [DATA_BITS-1:0] completion_data;
    wire [COMMANDS-1:0]  busy;
    // The registers that matter.
    wire [6:0] offset = reg_choice == 0 ? HANDLER : reg_choice == 1 ? DOORBELL : reg_choice == 2 ? ISSUE
        : reg_choice == 3 ? WAIT : reg_choice == 4 ? TEST : WORDS;
    // Tasks are numbered.
    reg [DATA_BITS-1:0] next_task = 0, next_done = 0;
    reg                 begun = 0;
    wire                gives = begun && task_valid && idle;

    hpu_driver #(
        .COMMANDS(COMMANDS), .DATA_BITS(DATA_BITS), .WATCHDOG_BITS(WATCHDOG_BITS)
    ) unit (
        .clock(clock), .reset(reset), .idle(idle), .task_valid(gives),
        .task_words({608'd0, 30'd0, next_task[0] && has_handler, has_handler}),
        .task_data(next_task), .reg_valid(reg_valid && begun), .reg_ready(reg_ready),
        .reg_error(reg_error), .reg_write(reg_write), .reg_offset({offset}),
        .reg_data({30'd0, reg_value}), .reg_read(reg_read), .command_valid(command_valid),
        .command_ready(command_ready), .command_id(command_id), .command_info(),
        .command_words(command_words), .response_valid(response_valid && begun),
        .response_id(response_id), .completion_valid(completion_valid),
        .completion_ready(completion_ready), .completion_data(completion_data),
        .transfers_pending(transfers_pending), .watchdog_cycles(LIMIT), .user_mode(user_mode),
        .interrupts(interrupts), .lost(lost), .error_valid(), .error_cause(), .state_busy(busy)
    );

    // Commands outside, and issued but not offered; the word they are written with; the handler that runs.
    reg [COMMANDS-1:0] outside = 0, issued = 0;
    // (with a third bit: it was written.)
    reg [2:0]          word = 0;
    reg [2:0]          words [0:COMMANDS-1];
    reg [2:0]          issued_word = 0;
    reg                runs = 0, told = 0;
    // Whether a completion of an earlier task is due; cycles that a handler runs.
    reg                owes = 0;
    reg [3:0]          time_of = 0;
    reg                graced = 0;
    wire               taken = reg_valid && reg_ready && !reg_error;
    wire               issues = taken && !reg_write && offset == ISSUE;
    wire               leaves = completion_valid && completion_ready;
    wire               rings = taken && offset == DOORBELL && runs;
    wire               is_over = runs && time_of == LIMIT - 1 && !rings;
    wire               before = next_task == next_done + 2'd2;
    wire               spares = is_over && !user_mode && !lost
        && (!graced || (before && reg_valid && offset == DOORBELL));
    wire [ID-1:0]      asked = reg_value[ID-1:0];
    reg                was_issue = 0;
    wire [2:0]         expected_word
        = was_issue && reg_read[ID-1:0] == command_id ? issued_word : words[command_id];
    reg [COMMANDS-1:0] was_busy = 0;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (response_valid) assume (outside[response_id]);
        if (begun) begin
            if (gives) next_task <= next_task + 1'b1;
            if (leaves) begin
                next_done <= next_done + 1'b1;
                its_turn: assert (completion_data == next_done && next_done != next_task);
            end
            if (completion_valid) quiet: assert (!transfers_pending && outside == 0 && issued == 0);
            if (gives) room: assert (next_task + 2'd1 != next_done);

            if (taken && reg_write && offset == WORDS) word <= {1'b1, reg_value};
            if (issues) begin
                its_handler: assert (runs || told || !idle);
                alone: assert (!owes);
                free: assert (busy != {COMMANDS{1'b1}});
            end
            was_issue <= issues;
            issued_word <= word;
            was_busy <= busy;
            if (was_issue) begin
                new_place: assert (!was_busy[reg_read[ID-1:0]] && busy[reg_read[ID-1:0]]);
                issued[reg_read[ID-1:0]] <= 1;
                words[reg_read[ID-1:0]] <= issued_word;
            end
            if (command_valid && command_ready) begin
                once: assert (!outside[command_id] && busy[command_id]);
                outside[command_id] <= 1;
                its_word: assert (!expected_word[2] || command_words[1:0] == expected_word[1:0]);
                issued[command_id] <= 0;
            end
            if (response_valid) outside[response_id] <= 0;
            if (taken && reg_write && offset == WAIT)
                is_done: assert (!busy[asked] || (response_valid && response_id == asked));
            if (reg_valid && reg_write && offset == WAIT && !busy[asked]) goes_on: assert (reg_ready);
            // A task is over when the core rings, or when it is given up.
            if (taken && offset == HANDLER && !reg_write) runs <= 1;
            if (taken && offset == DOORBELL && runs) {runs, owes} <= 2'b01;
            else if (lost) runs <= 0;
            if (leaves) owes <= taken && offset == DOORBELL && runs;
            time_of <= !runs || rings || interrupts || spares || lost ? 0 : time_of + 1;
            graced <= runs && (graced || interrupts || spares);
            in_time: assert (lost || time_of < LIMIT);
            if (is_over && user_mode && !lost) barks: assert (interrupts);
            if (lost && runs) not_too_soon: assert (time_of >= LIMIT && graced);
            if (lost && next_done != next_task && busy == 0 && !transfers_pending) freed: assert (completion_valid);
        end
    end
endmodule
