// hpu: a handler processing unit: core, driver, memory protection, and where its accesses go.
//
// In:      tasks; lines of the program; answers of L1, of the event unit, of the way to other memories.
// Out:     requests to them; transfers for the DMA engine; commands; completions; bytes that handlers print.
// Latency: that of its parts. What is another memory's waits for `far_ready`, its answer comes in the cycle
//          behind, as the L1's behind its grant.
// How:     by address: the own L1 (also by its alias), the driver, the core's port of the DMA engine, the event
//          unit, the other peripherals, which answer 0 but for the timer; far: other clusters' L1, L2 and the
//          program (`far_target` 0 to 3 in the order L1, handler memory, packet memory, program).
// Source:  PsPIN paper, section III-B2; addresses as published; the model's `cluster/hpu`.
`default_nettype none

module hpu #(
    // log2 of l1.bytes.
    parameter integer L1_BITS = 20,
    parameter integer CLUSTERS = 1,
    parameter integer COMMANDS = 4,
    parameter integer DATA_BITS = 32,
    // dma.core_transfers.
    parameter integer TRANSFERS = 8
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire [31:0]                 hart,
    // Bits 31 to 22 of the own L1's addresses.
    input  wire [9:0]                  window,
    input  wire [31:0]                 now,
    input  wire [23:0]                 watchdog_cycles,
    output wire                        idle,
    input  wire                        task_valid,
    input  wire [20*32-1:0]            task_words,
    input  wire [31:0]                 task_l2_end,
    input  wire [DATA_BITS-1:0]        task_data,
    output wire                        fetch_valid,
    input  wire                        fetch_ready,
    output wire [31:4]                 fetch_line,
    input  wire                        line_valid,
    input  wire [127:0]                line_data,
    input  wire                        line_error,
    output wire                        l1_valid,
    input  wire                        l1_grant,
    input  wire [31:0]                 l1_answer,
    output wire                        event_valid,
    input  wire                        event_ready,
    input  wire [31:0]                 event_answer,
    output wire                        far_valid,
    input  wire                        far_ready,
    output wire [1:0]                  far_target,
    input  wire [31:0]                 far_answer,
    // The access, for all of them.
    output wire                        access_write,
    output wire                        access_atomic,
    output wire [4:0]                  access_operation,
    output wire [31:2]                 access_word,
    output wire [3:0]                  access_strobes,
    output wire [31:0]                 access_data,
    output wire                        cache_turns_on,
    input  wire                        cache_turned_on,
    output wire                        print_valid,
    output wire                        launch_valid,
    input  wire                        launch_ready,
    output wire [31:0]                 launch_from,
    output wire [31:0]                 launch_to,
    output wire [31:0]                 launch_bytes,
    input  wire                        launch_done,
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
    output wire                        error_valid,
    output wire [31:0]                 error_cause
);
    /* verilator no_inline_module */
    localparam [9:0] FIRST_L1 = 10'h040, ALIAS = 10'h06c, HANDLER = 10'h070, PACKET = 10'h071;
    localparam [2:0] FROM_L1 = 0, FROM_DRIVER = 1, FROM_EVENTS = 2, FROM_FAR = 3, FROM_OWN = 4;

    wire        data_valid, data_ready, data_error, data_write, data_atomic, user_mode, interrupts, lost;
    wire [31:2] word;
    wire [31:0] access_first, answer;
    wire [2:0]  access_bytes;
    /* verilator lint_off UNUSEDSIGNAL */
    wire        left_valid, trap_valid;
    wire [31:1] left_pc;
    wire [31:0] left_bits, wrote_value;
    wire [4:0]  wrote_register;
    wire [COMMANDS-1:0] busy;
    /* verilator lint_on UNUSEDSIGNAL */
    hpu_core core (
        .clock(clock), .reset(reset || lost), .hart(hart), .fetch_valid(fetch_valid),
        .fetch_ready(fetch_ready), .fetch_line(fetch_line), .line_valid(line_valid),
        .line_data(line_data), .line_error(line_error), .data_valid(data_valid),
        .data_ready(data_ready), .data_error(data_error), .data_write(data_write),
        .data_atomic(data_atomic), .data_operation(access_operation), .data_word(word),
        .data_strobes(access_strobes), .data_data(access_data), .response_data(answer),
        .access_first(access_first), .access_bytes(access_bytes), .user_mode(user_mode),
        .interrupts(interrupts), .left_valid(left_valid), .left_pc(left_pc),
        .left_bits(left_bits), .trap_valid(trap_valid), .wrote_register(wrote_register),
        .wrote_value(wrote_value)
    );
    assign access_write = data_write;
    assign access_atomic = data_atomic;
    assign access_word = word;

    // Whether it may.
    reg  [31:0] l1_packet, l2_first, l2_end, handler_memory;
    always @(posedge clock)
        if (reset) {l1_packet, l2_first, l2_end, handler_memory} <= 0;
        else if (task_valid && idle)
            {l1_packet, l2_first, l2_end, handler_memory}
                <= {task_words[4*32 +: 32], task_words[17*32 +: 32], task_l2_end, task_words[2*32 +: 32]};
    wire [32*9-1:0] entry_addresses;
    wire [8*9-1:0]  entry_configs;
    wire            allowed;
    task_protection entries (
        .l1_packet(l1_packet), .l2_first(l2_first), .l2_end(l2_end), .handler_memory(handler_memory),
        .entry_addresses(entry_addresses), .entry_configs(entry_configs)
    );
    memory_protection #(.ENTRIES(9)) protection (
        .entry_addresses(entry_addresses), .entry_configs(entry_configs), .first(access_first),
        .bytes(access_bytes), .reads(!data_write || data_atomic), .writes(data_write || data_atomic),
        .executes(1'b0), .user_mode(user_mode), .allowed(allowed)
    );

    // Where it goes.
    wire [9:0]  high = word[31:22];
    wire        in_l1 = (word[21:2] >> (L1_BITS - 2)) == 0;
    wire        is_own = (high == window || high == ALIAS) && in_l1;
    wire [9:0]  number = high - FIRST_L1;
    wire        is_other = number < 10'(CLUSTERS) && high != window && in_l1;
    wire        is_peripheral = word[31:16] == 16'h1b20 || (high == window && word[21:16] == 6'h20);
    wire [15:0] offset = {word[15:2], 2'b0};
    wire        is_driver = is_peripheral && offset >= 16'h5000;
    wire        is_port = is_peripheral && ((offset >= 16'h4400 && offset < 16'h4800) || (offset >= 16'h1800 && offset < 16'h4000));
    wire        is_event = is_peripheral && offset >= 16'h4000 && offset < 16'h4400;
    wire        is_cache = is_peripheral && offset >= 16'h1400 && offset < 16'h1800;
    wire        is_timer = is_peripheral && offset == 16'h0408;
    wire        is_handler = high == HANDLER;
    wire        is_packet = high == PACKET;
    wire        is_program = word[31:15] == 17'h3a00;
    wire        is_print = word[31:12] == 20'h1a104;
    wire        is_soc = word[31:12] == 20'h1a103;
    wire        is_far = is_other || is_handler || is_packet || (is_program && !data_write && !data_atomic);
    wire        exists = is_own || is_peripheral || is_far || is_print || is_soc;
    wire        refused = !allowed || !exists || (data_atomic && (is_peripheral || is_print || is_soc || is_packet));
    wire        asks = data_valid && !refused;

    wire        reg_ready, reg_error, port_ready;
    wire [31:0] driver_answer;
    assign l1_valid = asks && is_own;
    assign event_valid = asks && is_event;
    assign far_valid = asks && is_far;
    assign far_target = is_other ? 0 : is_handler ? 1 : is_packet ? 2 : 3;
    assign print_valid = asks && is_print && data_write;
    assign cache_turns_on = asks && is_cache && data_write && access_data != 0;
    assign data_ready = refused || (is_own ? l1_grant : is_driver ? reg_ready : is_event ? event_ready
        : is_far ? far_ready : is_port ? port_ready : !cache_turns_on || cache_turned_on);
    assign data_error = refused || (is_driver && reg_error);

    // What answers, and what this unit does itself.
    reg  [2:0]  answers;
    reg  [31:0] own_answer;
    assign answer = answers == FROM_L1 ? l1_answer : answers == FROM_DRIVER ? driver_answer
        : answers == FROM_EVENTS ? event_answer : answers == FROM_FAR ? far_answer : own_answer;
    always @(posedge clock)
        answers <= is_own ? FROM_L1 : is_driver ? FROM_DRIVER : is_event ? FROM_EVENTS : is_far ? FROM_FAR : FROM_OWN;

    // The core's port of the DMA engine.
    reg  [31:0] source, destination, length, launched, done;
    wire [7:0]  place = {word[7:2], 2'b0};
    wire        launches = asks && is_port && !data_write && place == 8'h18;
    assign port_ready = !launches || (launch_ready && launched - done < TRANSFERS);
    assign launch_valid = launches && launched - done < TRANSFERS;
    assign {launch_from, launch_to, launch_bytes} = {source, destination, length};
    always @(posedge clock)
        if (reset) {source, destination, length, launched, done} <= 0;
        else begin
            if (asks && is_port && data_write)
                case (place)
                    8'h00: source <= access_data;
                    8'h08: destination <= access_data;
                    8'h10: length <= access_data;
                    default: ;
                endcase
            if (launch_valid && launch_ready) launched <= launched + 1;
            if (launch_done) done <= done + 1;
        end
    always @(posedge clock)
        if (is_timer) own_answer <= now;
        else if (!is_port) own_answer <= 0;
        else
            case (place)
                8'h00: own_answer <= source;
                8'h08: own_answer <= destination;
                8'h10: own_answer <= length;
                8'h18: own_answer <= launched + 1;
                8'h20: own_answer <= done;
                default: own_answer <= 0;
            endcase

    hpu_driver #(.COMMANDS(COMMANDS), .DATA_BITS(DATA_BITS), .WATCHDOG_BITS(24)) driver (
        .clock(clock), .reset(reset), .idle(idle), .task_valid(task_valid),
        .task_words(task_words), .task_data(task_data), .reg_valid(asks && is_driver),
        .reg_ready(reg_ready), .reg_error(reg_error), .reg_write(data_write),
        .reg_offset(word[8:2]), .reg_data(access_data), .reg_read(driver_answer),
        .command_valid(command_valid), .command_ready(command_ready), .command_id(command_id),
        .command_info(command_info), .command_words(command_words),
        .response_valid(response_valid), .response_id(response_id),
        .completion_valid(completion_valid), .completion_ready(completion_ready),
        .completion_data(completion_data), .transfers_pending(launched != done),
        .watchdog_cycles(watchdog_cycles), .user_mode(user_mode), .interrupts(interrupts),
        .lost(lost), .error_valid(error_valid), .error_cause(error_cause), .state_busy(busy)
    );
endmodule

`default_nettype wire
