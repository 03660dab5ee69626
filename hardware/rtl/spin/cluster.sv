// cluster: HPUs with their L1, instruction cache, scheduler and DMA engine.
//
// In:      tasks of the dispatcher, contexts (`contexts`, see spin_nic); answers of memories and of commands.
// Out:     completions, commands, one a cycle each; accesses to other memories; lines of the program.
// Latency: that of its parts; a completion or command that leaves its HPU in cycle t leaves here in t + 1.
// Source:  PsPIN paper, section III-B2; the model's `cluster`.
`default_nettype none

module cluster #(
    parameter integer CLUSTERS = 1,
    // A power of two, at least 2.
    parameter integer CORES = 2,
    parameter integer CONTEXTS = 2,
    parameter integer QUEUE_BITS = 4,
    parameter integer BANKS = 64,
    parameter integer L1_BITS = 20,
    parameter integer L2_LINE_BITS = 16,
    parameter integer TASKS = 20,
    parameter integer RINGS = 4,
    parameter integer RING_SLOTS = 256,
    parameter integer COMMANDS = 4,
    parameter integer CONTEXT_BITS = 14*32,
    parameter integer BYTES_BITS = 13,
    // See spin_nic.
    parameter integer TASK_BITS = QUEUE_BITS + 3 + $clog2(CONTEXTS) + 32 + 22 + 2*BYTES_BITS
) (
    input  wire                             clock,
    input  wire                             reset,
    // Which of them it is.
    input  wire [5:0]                       number,
    input  wire [31:0]                      now,
    input  wire [23:0]                      watchdog_cycles,
    input  wire [CONTEXTS*CONTEXT_BITS-1:0] contexts,
    input  wire                             task_valid,
    output wire                             task_ready,
    input  wire [TASK_BITS-1:0]             task_data,
    input  wire [BYTES_BITS-1:0]            task_bytes,
    output wire                             completion_valid,
    input  wire                             completion_ready,
    output wire [QUEUE_BITS+3+22-1:0]       completion_data,
    output wire                             command_valid,
    input  wire                             command_ready,
    output wire [$clog2(CORES)-1:0]         command_core,
    output wire [$clog2(COMMANDS)-1:0]      command_id,
    output wire [2:0]                       command_info,
    output wire [7*32-1:0]                  command_words,
    input  wire [CORES-1:0]                 response_valid,
    input  wire [$clog2(COMMANDS)-1:0]      response_id,
    output wire                             refill_valid,
    input  wire                             refill_ready,
    output wire [27:0]                      refill_line,
    output wire [$clog2(CORES)-1:0]         refill_core,
    input  wire                             refill_done,
    input  wire [$clog2(CORES)-1:0]         refill_done_core,
    input  wire [127:0]                     refill_data,
    input  wire                             refill_error,
    output wire [1:0]                       read_valid,
    input  wire [1:0]                       read_ready,
    input  wire [1:0]                       reads_now,
    output wire [1:0]                       read_takes,
    output wire [L2_LINE_BITS-1:0]          read_line,
    input  wire [2*512-1:0]                 answer_data,
    output wire [1:0]                       write_valid,
    input  wire [1:0]                       write_ready,
    output wire [L2_LINE_BITS-1:0]          write_line,
    output wire [511:0]                     write_data,
    output wire [63:0]                      write_strobes,
    output wire [CORES-1:0]                 far_valid,
    input  wire [CORES-1:0]                 far_ready,
    output wire [2*CORES-1:0]               far_target,
    input  wire [32*CORES-1:0]              far_answer,
    output wire [CORES-1:0]                 access_write,
    output wire [CORES-1:0]                 access_atomic,
    output wire [5*CORES-1:0]               access_operation,
    output wire [30*CORES-1:0]              access_word,
    output wire [4*CORES-1:0]               access_strobes,
    output wire [32*CORES-1:0]              access_data,
    input  wire                             other_valid,
    output wire                             other_grant,
    input  wire [L1_BITS-3:0]               other_word,
    input  wire                             other_write,
    input  wire                             other_atomic,
    input  wire [4:0]                       other_operation,
    input  wire [31:0]                      other_data,
    input  wire [3:0]                       other_strobes,
    output wire [31:0]                      other_answer,
    input  wire                             outside_valid,
    output wire                             outside_ready,
    input  wire                             outside_write,
    input  wire [L1_BITS-7:0]               outside_line,
    input  wire [511:0]                     outside_data,
    input  wire [63:0]                      outside_strobes,
    output wire [511:0]                     outside_answer,
    output wire [CORES-1:0]                 print_valid,
    output wire [CORES-1:0]                 error_valid,
    output wire [CORES*32-1:0]              error_cause,
    // HPUs with a task in this cycle, and those that get one.
    output wire [CORES-1:0]                 state_idle,
    output wire [CORES-1:0]                 state_assigned
);
    /* verilator no_inline_module */
    localparam integer CORE = $clog2(CORES);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer PLACE = $clog2(RINGS * RING_SLOTS);
    localparam integer COUNT = $clog2(RING_SLOTS + 1);
    localparam integer ID = $clog2(COMMANDS);
    localparam integer DATA_BITS = QUEUE_BITS + 3 + 22 + PLACE + COUNT;
    // Cores and the port of other clusters, filled up to a power of two.
    localparam integer REQUESTERS = 2 * CORES;
    localparam integer WORD = L1_BITS - 2;
    // Of an L1: packets, and scratchpads behind them.
    localparam [31:0] PACKETS = 32'h4400, SCRATCHPADS = PACKETS + 32'(RINGS * RING_SLOTS * 64);
    localparam [31:0] PACKET_MEMORY = 32'h1c400000;

    // Bits 31 to 22 of its L1's addresses.
    wire [9:0] window = 10'h040 + {4'd0, number};

    // Tasks: from the scheduler to HPUs.
    wire [CORES-1:0]      hpu_idle, hpu_valid;
    wire [TASK_BITS-1:0]  copy_task, hpu_task;
    wire [PLACE-1:0]      copy_slot, hpu_slot, free_slot;
    wire [COUNT-1:0]      hpu_slots, free_slots;
    wire                  copy_valid, copy_ready, copy_done, free_valid;
    wire [BYTES_BITS-1:0] copy_bytes;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [$clog2(TASKS+1)-1:0] waiting;
    wire [QUEUE_BITS+2:0] copy_rest;
    wire [CONTEXT-1:0]    copy_context;
    wire [31:0]           copy_message;
    wire [BYTES_BITS-1:0] copy_all, copy_l1;
    /* verilator lint_on UNUSEDSIGNAL */
    wire [21:0]           copy_address;
    assign {copy_rest, copy_context, copy_message, copy_address, copy_all, copy_l1} = copy_task;
    cluster_scheduler #(
        .HPUS(CORES), .TASKS(TASKS), .RINGS(RINGS), .RING_SLOTS(RING_SLOTS), .BYTES_BITS(BYTES_BITS),
        .TASK_BITS(TASK_BITS)
    ) scheduler (
        .clock(clock), .reset(reset), .task_valid(task_valid), .task_ready(task_ready),
        .task_data(task_data), .task_bytes(task_bytes), .copy_valid(copy_valid),
        .copy_ready(copy_ready), .copy_task(copy_task), .copy_slot(copy_slot),
        .copy_bytes(copy_bytes), .copy_done(copy_done), .hpu_idle(hpu_idle),
        .hpu_valid(hpu_valid), .hpu_task(hpu_task), .hpu_slot(hpu_slot), .hpu_slots(hpu_slots),
        .free_valid(free_valid), .free_slot(free_slot), .free_slots(free_slots),
        .state_waiting(waiting)
    );
    assign state_idle = hpu_idle;
    assign state_assigned = hpu_valid;

    // A task's registers.
    wire [QUEUE_BITS-1:0]   queue_number;
    wire [1:0]              kind;
    wire                    frees;
    wire [CONTEXT-1:0]      context_number;
    wire [31:0]             message;
    wire [21:0]             address;
    wire [BYTES_BITS-1:0]   packet_bytes, l1_bytes;
    assign {queue_number, kind, frees, context_number, message, address, packet_bytes, l1_bytes} = hpu_task;
    wire [CONTEXT_BITS-1:0] own_context = contexts[context_number*CONTEXT_BITS +: CONTEXT_BITS];
    wire [31:0] header, header_bytes, payload, payload_bytes, completion, completion_bytes;
    wire [31:0] memory_address, memory_bytes, host_high, host_low, host_bytes, pad, pad_bytes, most_bytes;
    assign {
        header, header_bytes, payload, payload_bytes, completion, completion_bytes, memory_address,
        memory_bytes, host_high, host_low, host_bytes, pad, pad_bytes, most_bytes
    } = own_context;
    wire _unused = &{1'b0, most_bytes};
    wire [31:0] pads = 32'h10000000 + SCRATCHPADS + pad;
    wire [31:0] home = 32'(queue_number) % CLUSTERS;
    wire [31:0] l2_packet = PACKET_MEMORY + 32'(address);
    wire [31:0] l1_packet = {window, 22'd0} + PACKETS + 32'({hpu_slot, 6'd0});
    wire [20*32-1:0] words = {
        message, home, l2_packet, host_bytes, host_low, host_high,
        {4{pad_bytes}},
        pads + 32'hc00000, pads + 32'h800000, pads + 32'h400000, pads,
        32'(l1_bytes), l1_packet,
        memory_bytes, memory_address,
        kind == 0 ? header_bytes : kind == 1 ? payload_bytes : completion_bytes,
        kind == 0 ? header : kind == 1 ? payload : completion
    };
    wire [DATA_BITS-1:0] own_data = {queue_number, kind, frees, address, hpu_slot, hpu_slots};

    // The HPUs.
    wire [CORES-1:0]            fetch_valid, fetch_ready, line_valid, line_error;
    wire [CORES*28-1:0]         fetch_line;
    wire [CORES*128-1:0]        line_data;
    wire [CORES-1:0]            own_valid, own_grant, event_valid, event_ready, cache_turns_on;
    wire                        cache_turned_on;
    wire [CORES*32-1:0]         own_answer, event_answer;
    wire [CORES-1:0]            launch_valid, launch_ready, core_done;
    wire [CORES*32-1:0]         launch_from, launch_to, launch_bytes;
    wire [CORES-1:0]            commands_valid, commands_ready, done_valid, done_ready;
    wire [CORES*ID-1:0]         commands_id;
    wire [CORES*3-1:0]          commands_info;
    wire [CORES*224-1:0]        commands_words;
    wire [CORES*DATA_BITS-1:0]  done_data;
    wire [CORES*6-1:0]          event_offset;
    wire [CORES*WORD-1:0]       own_word;
    genvar core;
    generate
        for (core = 0; core < CORES; core = core + 1) begin : by_core
            localparam [4:0] OWN = 5'(core);
            hpu #(
                .L1_BITS(L1_BITS), .CLUSTERS(CLUSTERS), .COMMANDS(COMMANDS), .DATA_BITS(DATA_BITS)
            ) unit (
                .clock(clock), .reset(reset), .hart({21'd0, number, OWN}), .window(window), .now(now),
                .watchdog_cycles(watchdog_cycles), .idle(hpu_idle[core]), .task_valid(hpu_valid[core]),
                .task_words(words), .task_l2_end(l2_packet + 32'(packet_bytes)), .task_data(own_data),
                .fetch_valid(fetch_valid[core]), .fetch_ready(fetch_ready[core]),
                .fetch_line(fetch_line[28*core +: 28]), .line_valid(line_valid[core]),
                .line_data(line_data[128*core +: 128]), .line_error(line_error[core]),
                .l1_valid(own_valid[core]), .l1_grant(own_grant[core]),
                .l1_answer(own_answer[32*core +: 32]), .event_valid(event_valid[core]),
                .event_ready(event_ready[core]), .event_answer(event_answer[32*core +: 32]),
                .far_valid(far_valid[core]), .far_ready(far_ready[core]),
                .far_target(far_target[2*core +: 2]), .far_answer(far_answer[32*core +: 32]),
                .access_write(access_write[core]), .access_atomic(access_atomic[core]),
                .access_operation(access_operation[5*core +: 5]),
                .access_word(access_word[30*core +: 30]),
                .access_strobes(access_strobes[4*core +: 4]),
                .access_data(access_data[32*core +: 32]), .cache_turns_on(cache_turns_on[core]),
                .cache_turned_on(cache_turned_on),
                .print_valid(print_valid[core]), .launch_valid(launch_valid[core]),
                .launch_ready(launch_ready[core]), .launch_from(launch_from[32*core +: 32]),
                .launch_to(launch_to[32*core +: 32]), .launch_bytes(launch_bytes[32*core +: 32]),
                .launch_done(core_done[core]), .command_valid(commands_valid[core]),
                .command_ready(commands_ready[core]), .command_id(commands_id[ID*core +: ID]),
                .command_info(commands_info[3*core +: 3]),
                .command_words(commands_words[224*core +: 224]),
                .response_valid(response_valid[core]), .response_id(response_id),
                .completion_valid(done_valid[core]), .completion_ready(done_ready[core]),
                .completion_data(done_data[DATA_BITS*core +: DATA_BITS]),
                .error_valid(error_valid[core]), .error_cause(error_cause[32*core +: 32])
            );
            assign event_offset[6*core +: 6] = access_word[30*core +: 6];
            assign own_word[WORD*core +: WORD] = access_word[30*core +: WORD];
        end
    endgenerate

    event_unit #(.CORES(CORES)) events (
        .clock(clock), .reset(reset), .valid(event_valid), .ready(event_ready), .write(access_write),
        .offset(event_offset), .data(access_data), .answer(event_answer)
    );

    instruction_cache #(.CORES(CORES)) cache (
        .clock(clock), .reset(reset), .turns_on(cache_turns_on != 0), .turned_on(cache_turned_on),
        .fetch_valid(fetch_valid),
        .fetch_ready(fetch_ready), .fetch_line(fetch_line), .line_valid(line_valid),
        .line_data(line_data), .line_error(line_error), .refill_valid(refill_valid),
        .refill_ready(refill_ready), .refill_line(refill_line), .refill_core(refill_core),
        .refill_done(refill_done), .refill_done_core(refill_done_core), .refill_data(refill_data), .refill_error(refill_error)
    );

    // L1.
    wire                  engine_valid, engine_write;
    wire [L1_BITS-7:0]    engine_line;
    wire [511:0]          engine_data, beat_data;
    wire [63:0]           engine_strobes;
    localparam integer SPARE = REQUESTERS - CORES - 1;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [SPARE-1:0]      spare_grant;
    wire [SPARE*32-1:0]   spare_answer;
    /* verilator lint_on UNUSEDSIGNAL */
    l1_memory #(.REQUESTERS(REQUESTERS), .BANKS(BANKS), .ROW_BITS(WORD - $clog2(BANKS))) l1 (
        .clock(clock), .reset(reset),
        .request_valid({{SPARE{1'b0}}, other_valid, own_valid}),
        .request_grant({spare_grant, other_grant, own_grant}),
        .request_word({{SPARE*WORD{1'b0}}, other_word, own_word}),
        .request_write({{SPARE{1'b0}}, other_write, access_write}),
        .request_atomic({{SPARE{1'b0}}, other_atomic, access_atomic}),
        .request_operation({{SPARE*5{1'b0}}, other_operation, access_operation}),
        .request_data({{SPARE*32{1'b0}}, other_data, access_data}),
        .request_strobes({{SPARE*4{1'b0}}, other_strobes, access_strobes}),
        .response_data({spare_answer, other_answer, own_answer}),
        .engine_valid(engine_valid), .engine_write(engine_write), .engine_line(engine_line),
        .engine_data(engine_data), .engine_strobes(engine_strobes), .outside_valid(outside_valid),
        .outside_ready(outside_ready), .outside_write(outside_write), .outside_line(outside_line),
        .outside_data(outside_data), .outside_strobes(outside_strobes), .engine_answer(beat_data),
        .outside_answer(outside_answer)
    );

    cluster_dma #(
        .CORES(CORES), .L1_LINE_BITS(L1_BITS - 6), .L2_LINE_BITS(L2_LINE_BITS), .COPY_BITS(BYTES_BITS)
    ) dma (
        .clock(clock), .reset(reset), .window(window), .copy_valid(copy_valid),
        .copy_ready(copy_ready), .copy_from(PACKET_MEMORY + 32'(copy_address)),
        .copy_to({window, 22'd0} + PACKETS + 32'({copy_slot, 6'd0})), .copy_bytes(copy_bytes),
        .copy_done(copy_done), .launch_valid(launch_valid), .launch_ready(launch_ready),
        .launch_from(launch_from), .launch_to(launch_to), .launch_bytes(launch_bytes),
        .core_done(core_done), .read_valid(read_valid), .read_ready(read_ready),
        .reads_now(reads_now), .read_takes(read_takes), .read_line(read_line), .answer_data(answer_data), .write_valid(write_valid),
        .write_ready(write_ready), .write_line(write_line), .write_data(write_data),
        .write_strobes(write_strobes), .engine_valid(engine_valid), .engine_write(engine_write),
        .engine_line(engine_line), .engine_data(engine_data), .engine_strobes(engine_strobes),
        .beat_data(beat_data)
    );

    // Completions.
    wire            any_done, done_room;
    wire [CORE-1:0] done_core;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CORE-1:0] done_pointer, command_pointer;
    wire [1:0]      done_count, command_count;
    /* verilator lint_on UNUSEDSIGNAL */
    wire [DATA_BITS-1:0] chosen_data = done_data[DATA_BITS*done_core +: DATA_BITS];
    round_robin #(.COUNT(CORES), .LOCK(1)) choose_done (
        .clock(clock), .reset(reset), .requests(done_valid), .advance(any_done && done_room),
        .any(any_done), .grant(done_core), .state_pointer(done_pointer)
    );
    assign done_ready = any_done && done_room ? CORES'(1) << done_core : 0;
    assign free_valid = any_done && done_room && free_slots != 0;
    assign {free_slot, free_slots} = chosen_data[PLACE+COUNT-1:0];
    queue #(.WIDTH(DATA_BITS - PLACE - COUNT), .DEPTH(2)) completions (
        .clock(clock), .reset(reset), .in_valid(any_done), .in_ready(done_room),
        .in_data(chosen_data[DATA_BITS-1:PLACE+COUNT]), .out_valid(completion_valid),
        .out_ready(completion_ready), .out_data(completion_data), .count(done_count)
    );

    // Commands.
    wire            any_command, command_room;
    wire [CORE-1:0] chosen_core;
    round_robin #(.COUNT(CORES), .LOCK(1)) choose_command (
        .clock(clock), .reset(reset), .requests(commands_valid), .advance(any_command && command_room),
        .any(any_command), .grant(chosen_core), .state_pointer(command_pointer)
    );
    assign commands_ready = any_command && command_room ? CORES'(1) << chosen_core : 0;
    queue #(.WIDTH(CORE + ID + 3 + 224), .DEPTH(2)) commands (
        .clock(clock), .reset(reset), .in_valid(any_command), .in_ready(command_room),
        .in_data({
            chosen_core, commands_id[ID*chosen_core +: ID], commands_info[3*chosen_core +: 3],
            commands_words[224*chosen_core +: 224]
        }),
        .out_valid(command_valid), .out_ready(command_ready),
        .out_data({command_core, command_id, command_info, command_words}), .count(command_count)
    );
endmodule

`default_nettype wire
