// hpu_core: the core of an HPU, RV32IMAC in machine and user mode, with RI5CY's timing.
//
// In:      lines of 16 bytes of the program (see `hpu_fetch`); answers of the data port.
// Out:     requests. The data port: an access to one word, its bytes chosen by `data_strobes`, is taken
//          in a cycle with `data_ready`; its data come in the cycle behind. An atomic, `data_operation`
//          its funct5, is performed by memory, which answers what it found (sc: 0 if it stored). An
//          access that is not allowed is taken with `data_error`, and traps; `access_first`,
//          `access_bytes`, `user_mode` are what to check of: the whole access, though it may lie in
//          two words. `interrupts`: in this cycle whatever is executed is dropped, and a trap is taken that
//          nothing masks, an external interrupt's; what a port takes in that cycle is done all the same.
//          `left_valid`, `left_pc`, `left_bits`: an instruction leaves the decode stage;
//          `trap_valid`: the one in the execute stage traps; `wrote_register`, `wrote_value`: what is
//          written back, x0 for nothing. For traces.
// Latency: cycles from one instruction to the next: 1; a load or atomic before an instruction that reads
//          or computes its register 2, x0 counts; two words 2; taken branch 3; jump 2, or 1 behind
//          an access that waits; a jump to a register that was computed directly before it 1 more, that one of
//          the two before it loads as many as it comes too early; mulh 5, division 3 to 35; a jump to an instruction in two lines 1
//          more; trap 4; mret 5, an access to mstatus 4.
// How:     fetch, decode (registers, jumps), execute (branches, accesses, traps), write-back (loads).
// Source:  ours; cycles as published for RI5CY, in the model's machine file; PsPIN paper, section IV-A.
//          There are no interrupts but that one, and no Xpulp but its load that waits for an event.
`default_nettype none

module hpu_core #(
    parameter [31:0] BOOT = 32'h1d000080
) (
    input  wire         clock,
    input  wire         reset,
    input  wire [31:0]  hart,
    output wire         fetch_valid,
    input  wire         fetch_ready,
    output wire [31:4]  fetch_line,
    input  wire         line_valid,
    input  wire [127:0] line_data,
    input  wire         line_error,
    output wire         data_valid,
    input  wire         data_ready,
    input  wire         data_error,
    output wire         data_write,
    output wire         data_atomic,
    output wire [4:0]   data_operation,
    output wire [31:2]  data_word,
    output wire [3:0]   data_strobes,
    output wire [31:0]  data_data,
    input  wire [31:0]  response_data,
    output wire [31:0]  access_first,
    output wire [2:0]   access_bytes,
    output wire         user_mode,
    input  wire         interrupts,
    output wire         left_valid,
    output wire [31:1]  left_pc,
    output wire [31:0]  left_bits,
    output wire         trap_valid,
    output wire [4:0]   wrote_register,
    output wire [31:0]  wrote_value
);
    localparam [4:0] FETCH_FAULT = 1, ILLEGAL = 2, BREAK = 3, LOAD_MISALIGNED = 4, LOAD_FAULT = 5,
        STORE_MISALIGNED = 6, STORE_FAULT = 7, USER_CALL = 8, MACHINE_CALL = 11, EXTERNAL = 11, RESERVE = 2;
    localparam [11:0] STATUS = 12'h300;
    // Cycles that they stay in the execute stage beside the first.
    localparam [1:0] RETURN_WAITS = 2, STATUS_WAITS = 3;

    // Going elsewhere: by a trap, the cycle behind it, by the execute stage, by a jump.
    reg         trapped;
    wire        branches, jumps;
    wire        redirect = trapped || branches || jumps;
    wire [31:1] vector, return_pc, jump_target;
    reg  [31:1] x_target;
    reg         x_return;
    wire [31:1] target = trapped ? vector : branches ? (x_return ? return_pc : x_target) : jump_target;

    // Fetch.
    wire        f_valid, f_ready, f_long, f_error;
    wire [31:1] f_pc;
    wire [31:0] f_bits;
    hpu_fetch #(.BOOT(BOOT)) fetch (
        .clock(clock), .reset(reset), .redirect(redirect), .target(target),
        .fetch_valid(fetch_valid), .fetch_ready(fetch_ready), .fetch_line(fetch_line),
        .line_valid(line_valid), .line_data(line_data), .line_error(line_error),
        .out_valid(f_valid), .out_ready(f_ready), .out_pc(f_pc), .out_bits(f_bits),
        .out_long(f_long), .out_error(f_error)
    );

    // Decode.
    reg         d_valid, d_long, d_error, jumped;
    reg  [31:1] d_pc;
    reg  [31:0] d_bits;
    wire [31:0] expanded;
    wire        short_known, known, from_pc, from_zero, with_immediate, alternative;
    wire [4:0]  rs1, rs2, rd;
    wire [31:0] immediate;
    wire [2:0]  operation;
    wire        is_jump, is_jump_register, is_branch, is_load, is_store, is_atomic, is_multiply;
    wire        is_csr, is_call, is_break, is_return, is_wait, computes;
    hpu_expand expand (.half(d_bits[15:0]), .bits(expanded), .known(short_known));
    wire [31:0] d_whole = d_long ? d_bits : expanded;
    hpu_decode decode (
        .bits(d_whole), .known(known), .rs1(rs1), .rs2(rs2), .rd(rd), .immediate(immediate),
        .from_pc(from_pc), .from_zero(from_zero), .with_immediate(with_immediate),
        .operation(operation), .alternative(alternative), .is_jump(is_jump),
        .is_jump_register(is_jump_register), .is_branch(is_branch), .is_load(is_load),
        .is_store(is_store), .is_atomic(is_atomic), .is_multiply(is_multiply), .is_csr(is_csr),
        .is_call(is_call), .is_break(is_break), .is_return(is_return), .is_wait(is_wait),
        .computes(computes)
    );
    wire d_known = known && (d_long || short_known) && !d_error;

    // Execute.
    reg         x_valid, x_error, x_known, x_load, x_store, x_atomic, x_multiply, x_csr;
    reg         x_call, x_break, x_wait, x_branch, x_alternative, x_writes_csr;
    reg  [2:0]  x_operation, x_function3;
    reg  [4:0]  x_rd;
    reg  [31:1] x_pc;
    reg  [31:0] x_a, x_b, x_value, x_bits;
    reg  [11:7] x_funct5;
    wire        x_done, x_ready, x_leaves, trap;
    wire [31:0] x_result, sum;

    // Write-back.
    reg         w_load;
    reg  [4:0]  w_rd;
    reg  [31:0] w_value;
    wire [31:0] loaded;
    wire [31:0] w_result = w_load ? loaded : w_value;

    reg  [31:0] registers [1:31];
    always @(posedge clock)
        if (w_rd != 0) registers[w_rd] <= w_result;

    wire [31:0] rs1_value = rs1 == 0 ? 0
        : x_valid && x_rd == rs1 ? x_result : w_rd == rs1 ? w_result : registers[rs1];
    wire [31:0] rs2_value = rs2 == 0 ? 0
        : x_valid && x_rd == rs2 ? x_result : w_rd == rs2 ? w_result : registers[rs2];

    // The register that is being loaded is not there yet, and is not to be written twice.
    wire        loads = x_valid && x_load && !d_error;
    wire        unread = loads && x_rd != 0 && (rs1 == x_rd || rs2 == x_rd);
    wire        is_any_jump = is_jump || is_jump_register;
    // Nothing is forwarded to where the core goes: a jump waits until its register has been written.
    wire        unwritten = d_known && is_jump_register && rs1 != 0
        && ((x_valid && x_rd == rs1) || (w_load && w_rd == rs1));
    wire        waits = unread || unwritten || (loads && (computes || is_any_jump) && rd == x_rd);
    wire        kills = branches || trap || trapped;
    wire        leaves = d_valid && !waits && x_ready && !kills;
    wire        accesses = x_load || x_store;

    // A jump goes as soon as its register is here, though it may leave later, behind an access or a product.
    assign jumps = d_valid && d_known && is_any_jump && !jumped && !unread && !unwritten && !kills
        && (x_ready || accesses || x_multiply);
    wire [31:0] jump_sum = (is_jump ? {d_pc, 1'b0} : rs1_value) + immediate;
    assign jump_target = jump_sum[31:1];

    // Behind what is sure to go elsewhere nothing is fetched.
    wire        stops = (d_valid && (!d_known || is_call || is_break || is_return)) || (x_valid && x_return);
    // While what is ahead waits nothing comes here, even if nobody is here.
    assign f_ready = (d_valid ? leaves : x_ready) && !redirect && !trap && !stops;
    always @(posedge clock) begin
        d_valid <= !reset && !kills && ((d_valid && !leaves) || (f_valid && f_ready));
        jumped <= !reset && !kills && !leaves && (jumped || jumps);
        if (f_ready) begin
            {d_pc, d_bits, d_long, d_error} <= {f_pc, f_bits, f_long, f_error};
        end
    end

    assign left_valid = leaves;
    assign left_pc = d_pc;
    assign left_bits = d_bits;

    wire [31:0] branch_sum = {d_pc, 1'b0} + immediate;
    always @(posedge clock) begin
        x_valid <= !reset && (leaves || (x_valid && !x_ready));
        if (leaves) begin
            x_pc <= d_pc;
            x_bits <= d_bits;
            x_error <= d_error;
            x_known <= d_known;
            {x_load, x_store, x_atomic} <= {is_load, is_store, is_atomic} & {3{d_known}};
            {x_multiply, x_csr, x_call, x_break, x_return, x_wait, x_branch}
                <= {is_multiply, is_csr, is_call, is_break, is_return, is_wait, is_branch}
                & {7{d_known}};
            {x_operation, x_alternative, x_function3} <= {operation, alternative, d_whole[14:12]};
            x_writes_csr <= d_whole[13:12] == 1 || d_whole[19:15] != 0;
            x_funct5 <= d_whole[31:27];
            x_rd <= d_known ? rd : 0;
            x_a <= from_pc ? {d_pc, 1'b0} : from_zero ? 0 : rs1_value;
            x_b <= is_any_jump ? (d_long ? 4 : 2)
                : with_immediate ? immediate : rs2_value;
            x_value <= rs2_value;
            x_target <= branch_sum[31:1];
        end
    end

    wire taken;
    hpu_alu alu (
        .operation(x_operation), .alternative(x_alternative), .a(x_a), .b(x_b), .result(sum),
        .condition(x_function3), .taken(taken)
    );

    wire        multiplied;
    wire [31:0] product;
    hpu_multiply multiply (
        .clock(clock), .reset(reset), .start(x_valid && x_multiply), .operation(x_function3),
        .a(x_a), .b(x_b), .done(multiplied), .result(product)
    );

    wire accessed, failed, misaligned;
    hpu_data data (
        .clock(clock), .reset(reset), .start(x_valid && accesses), .store(x_store),
        .atomic(x_atomic), .atomic_operation(x_funct5), .size(x_function3), .address(sum),
        .value(x_value), .done(accessed), .failed(failed), .misaligned(misaligned),
        .loaded(loaded), .data_valid(data_valid), .data_ready(data_ready),
        .data_error(data_error), .data_write(data_write), .data_atomic(data_atomic),
        .data_operation(data_operation), .data_word(data_word), .data_strobes(data_strobes),
        .data_data(data_data), .response_data(response_data)
    );
    assign access_first = sum;
    assign access_bytes = x_function3[1] ? 4 : x_function3[0] ? 2 : 1;

    wire        csr_allowed, machine, traps_waits;
    wire [31:0] csr_value;
    wire        is_illegal = !x_known || (x_csr && !csr_allowed) || (x_return && !machine)
        || (x_wait && traps_waits);
    reg  [4:0]  cause;
    reg  [31:0] cause_value;
    // An atomic counts as a store, but lr.
    wire        reads = !x_store && !(x_atomic && x_funct5 != RESERVE);
    always @* begin
        cause_value = 0;
        if (interrupts) cause = EXTERNAL;
        else if (x_error) {cause, cause_value} = {FETCH_FAULT, x_pc, 1'b0};
        else if (is_illegal) {cause, cause_value} = {ILLEGAL, x_bits};
        else if (x_break) cause = BREAK;
        else if (x_call) cause = machine ? MACHINE_CALL : USER_CALL;
        else begin
            cause_value = sum;
            if (misaligned) cause = reads ? LOAD_MISALIGNED : STORE_MISALIGNED;
            else cause = reads ? LOAD_FAULT : STORE_FAULT;
        end
    end
    assign trap = interrupts || (x_valid
        && (x_error || is_illegal || x_break || x_call || (accesses && (misaligned || failed))));
    // What is interrupted is the oldest instruction that is here.
    wire [31:1] trap_pc = x_valid ? x_pc : d_valid ? d_pc : f_pc;
    // Those that wait until the stages behind are empty: cycles that they have been here.
    reg  [1:0]  x_age;
    wire        is_status = x_csr && x_bits[31:20] == STATUS;
    wire        waited = x_age == (x_return ? RETURN_WAITS : is_status ? STATUS_WAITS : 0);
    assign x_done = accesses ? accessed : x_multiply ? multiplied : waited;
    assign x_ready = !x_valid || x_done || trap;
    assign x_leaves = x_valid && x_done && !trap;
    assign x_result = x_csr ? csr_value : x_multiply ? product : sum;
    assign branches = x_leaves && ((x_branch && taken) || x_return);

    hpu_csr csr (
        .clock(clock), .reset(reset), .hart(hart), .number(x_bits[31:20]),
        .function3(x_function3[1:0]), .operand(x_function3[2] ? x_b : x_a), .writes(x_writes_csr),
        .commit(x_leaves && x_csr), .value(csr_value), .allowed(csr_allowed), .retire(x_leaves),
        .trap_valid(trap), .trap_interrupts(interrupts), .trap_cause(cause),
        .trap_value(cause_value), .trap_pc(trap_pc),
        .return_valid(x_leaves && x_return), .vector(vector), .return_pc(return_pc),
        .machine(machine), .traps_waits(traps_waits)
    );
    assign user_mode = !machine;
    assign trap_valid = trap;
    assign wrote_register = w_rd;
    assign wrote_value = w_result;

    always @(posedge clock) begin
        trapped <= !reset && trap;
        x_age <= reset || !x_valid || x_ready ? 2'd0 : x_age + 2'd1;
        w_rd <= x_leaves && !reset ? x_rd : 0;
        w_load <= x_load;
        w_value <= x_result;
    end

    wire _unused = &{1'b0, jump_sum[0], branch_sum[0]};
endmodule

`default_nettype wire
