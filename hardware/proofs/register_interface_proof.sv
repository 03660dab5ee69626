// What the network's registers promise: a read gives what was written last, or what the scheduler says; each
// command reaches whom it is for, in its cycle and no other; words of a context that is not there are nobody's.
module register_interface_proof (
    input wire        clock,
    input wire        reset,
    input wire        csr_valid,
    input wire        csr_write,
    input wire [11:0] csr_number,
    input wire [63:0] csr_written,
    input wire        nic_ready,
    input wire [3:0]  held,
    input wire        target_none,
    input wire [1:0]  target,
    input wire [7:0]  target_priority
);
    wire [63:0] value;
    wire        known, runs, bind_valid, switch_valid, switch_none, start_valid, done_valid, idle_valid;
    wire [1:0]  running, switch_context;
    wire [7:0]  bind_priority, message_cycles, idle_cycles;
    register_interface #(
        .CONTEXTS(4), .TIMER_BITS(8), .MESSAGE_CYCLES(30), .IDLE_CYCLES(40)
    ) unit (
        .clock(clock), .reset(reset), .csr_valid(csr_valid), .csr_write(csr_write),
        .csr_number(csr_number), .csr_written(csr_written), .csr_value(value), .csr_known(known),
        .nic_ready(nic_ready), .held(held), .target_none(target_none), .target(target),
        .target_priority(target_priority), .runs(runs), .running(running), .bind_valid(bind_valid),
        .bind_priority(bind_priority), .switch_valid(switch_valid), .switch_none(switch_none),
        .switch_context(switch_context), .start_valid(start_valid), .done_valid(done_valid),
        .idle_valid(idle_valid), .message_cycles(message_cycles), .idle_cycles(idle_cycles)
    );

    reg        begun = 0;
    reg [15:0] number = 0;
    reg [7:0]  priority_ = 0, message_bound = 30, idle_bound = 40;
    // What the context had in the cycle before.
    reg        waited = 0;
    wire       writes = csr_valid && csr_write;
    wire [7:0] bound = csr_written > 255 ? 255 : csr_written[7:0];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            if (writes && csr_number == 'h53) number <= csr_written[15:0];
            if (writes && csr_number == 'h55) priority_ <= csr_written[7:0];
            if (writes && csr_number == 'h60) message_bound <= bound;
            if (writes && csr_number == 'h61) idle_bound <= bound;
            waited <= number < 4 && held[number[1:0]];
            case (csr_number)
                'h52: waits: assert (value == waited);
                'h53: context_: assert (value == number);
                'h55: given: assert (value == priority_);
                'h57: ready: assert (value == nic_ready);
                'h58: aims: assert (value == (target_none ? 'hffff : target));
                'h59: aims_at: assert (value == target_priority);
                'h60: message: assert (value == message_bound);
                'h61: idle: assert (value == idle_bound);
                default: nothing: assert (value == 0);
            endcase
            exists: assert (known == ((csr_number >= 'h52 && csr_number <= 'h59) || csr_number == 'h60 || csr_number == 'h61));
            switches: assert (switch_valid == (writes && csr_number == 'h53));
            if (switch_valid) whom: assert (switch_none ? csr_written[15:0] >= 4 : csr_written[15:0] == switch_context);
            binds: assert (bind_valid == (writes && csr_number == 'h54 && csr_written[0] && number < 4));
            if (bind_valid) with_: assert (bind_priority == priority_ && running == number);
            starts: assert (start_valid == (writes && csr_number == 'h54 && csr_written[2]));
            done: assert (done_valid == (writes && csr_number == 'h56 && csr_written[0]));
            rests: assert (idle_valid == (writes && csr_number == 'h56 && csr_written[1:0] == 2));
            runs_: assert (runs == (number < 4) && message_cycles == message_bound && idle_cycles == idle_bound);
        end
    end
endmodule
