// register_interface: what a hart's core sees of the network beside x30 and x31: the registers 0x052 to 0x061.
//
// In:      of the core, in the cycle in which an instruction retires, `csr_valid` with the register's number, and
//          with `csr_write` what is written to it. `held`: which contexts have words; the scheduler's target.
// Out:     `csr_value`, what a read in this cycle gives, and `csr_known`, whether there is such a register. The
//          context that runs; to the thread scheduler what its inputs are called; to the NIC `bind` and `done`
//          in the cycle of the write.
// Latency: a value is there in the cycle of the read. Words that entered in cycle t are told of in t + 2, and those
//          of another context two cycles behind the switch to it.
// How:     0x052 words wait, 0x053 the context, 0x054 commands (bit 0 bind, 2 start the timers), 0x055 the priority that a
//          bind gives, 0x056 commands (bit 0 message done, 1 idle), 0x057 the NIC is ready, 0x058 and 0x059 the target
//          and its priority, 0x060 and 0x061 the bounds of a message's and of idle time. Contexts that are not
//          there stand for none, whose words nobody has.
// Source:  nanoPU paper, sections 3.4 and 3.5; the model's `HartInterface`, without its fix `message_boundaries`.
`default_nettype none

module register_interface #(
    parameter integer CONTEXTS = 4,
    parameter integer TIMER_BITS = 32,
    // The bounds at reset: hart_interface.thread_scheduler.message_cycles and idle_cycles.
    parameter integer MESSAGE_CYCLES = 3000,
    parameter integer IDLE_CYCLES = 3000
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire                        csr_valid,
    input  wire                        csr_write,
    input  wire [11:0]                 csr_number,
    input  wire [63:0]                 csr_written,
    output reg  [63:0]                 csr_value,
    output reg                         csr_known,
    input  wire                        nic_ready,
    input  wire [CONTEXTS-1:0]         held,
    input  wire                        target_none,
    input  wire [$clog2(CONTEXTS)-1:0] target,
    input  wire [7:0]                  target_priority,
    output wire                        runs,
    output wire [$clog2(CONTEXTS)-1:0] running,
    output wire                        bind_valid,
    output wire [7:0]                  bind_priority,
    output wire                        switch_valid,
    output wire                        switch_none,
    output wire [$clog2(CONTEXTS)-1:0] switch_context,
    output wire                        start_valid,
    output wire                        done_valid,
    output wire                        idle_valid,
    output wire [TIMER_BITS-1:0]       message_cycles,
    output wire [TIMER_BITS-1:0]       idle_cycles
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam [11:0] WAIT = 12'h052, NUMBER = 12'h053, COMMAND = 12'h054, PRIORITY = 12'h055,
        USER_COMMAND = 12'h056, READY = 12'h057, TARGET = 12'h058, TARGET_PRIORITY = 12'h059,
        MESSAGE_BOUND = 12'h060, IDLE_BOUND = 12'h061;
    localparam [63:0] LONGEST = 64'({TIMER_BITS{1'b1}});

    reg [15:0]           number;
    reg [7:0]            given;
    reg [TIMER_BITS-1:0] message_bound, idle_bound;
    reg                  waits;

    assign runs = number < 16'(CONTEXTS);
    assign running = number[CONTEXT-1:0];
    wire   writes = csr_valid && csr_write;
    wire   commands = writes && csr_number == COMMAND;
    wire   user_commands = writes && csr_number == USER_COMMAND;
    assign switch_valid = writes && csr_number == NUMBER;
    assign switch_none = csr_written[15:0] >= 16'(CONTEXTS);
    assign switch_context = switch_none ? 0 : csr_written[CONTEXT-1:0];
    assign bind_valid = commands && csr_written[0] && runs;
    assign bind_priority = given;
    assign start_valid = commands && csr_written[2];
    assign done_valid = user_commands && csr_written[0];
    assign idle_valid = user_commands && csr_written[1:0] == 2'b10;
    assign message_cycles = message_bound;
    assign idle_cycles = idle_bound;

    always @* begin
        csr_known = 1;
        case (csr_number)
            WAIT: csr_value = 64'(waits);
            NUMBER: csr_value = 64'(number);
            PRIORITY: csr_value = 64'(given);
            COMMAND, USER_COMMAND: csr_value = 0;
            READY: csr_value = 64'(nic_ready);
            TARGET: csr_value = target_none ? 64'hffff : 64'(target);
            TARGET_PRIORITY: csr_value = 64'(target_priority);
            MESSAGE_BOUND: csr_value = 64'(message_bound);
            IDLE_BOUND: csr_value = 64'(idle_bound);
            default: begin
                csr_value = 0;
                csr_known = 0;
            end
        endcase
    end

    wire [TIMER_BITS-1:0] bound = csr_written > LONGEST ? {TIMER_BITS{1'b1}} : csr_written[TIMER_BITS-1:0];
    always @(posedge clock)
        if (reset) begin
            number <= 0;
            given <= 0;
            message_bound <= TIMER_BITS'(MESSAGE_CYCLES);
            idle_bound <= TIMER_BITS'(IDLE_CYCLES);
            waits <= 0;
        end else begin
            waits <= runs && held[running];
            if (switch_valid) number <= csr_written[15:0];
            if (writes && csr_number == PRIORITY) given <= csr_written[7:0];
            if (writes && csr_number == MESSAGE_BOUND) message_bound <= bound;
            if (writes && csr_number == IDLE_BOUND) idle_bound <= bound;
        end
endmodule

`default_nettype wire
