// spin_nic: a sPIN NIC: packets from the wire to handlers on clusters of HPUs, and what they send.
//
// In:      packets as AXI-Stream with whose they are (see inbound); before `reset` ends, programs and data
//          (`load_…`, lines by the address that cores have, of program memory whole) and contexts (`config_…`, see below); lines of the
//          host.
// Out:     packets as AXI-Stream; lines to the host and requests for its lines. `state_her…` and `state_done…`:
//          a packet's way into the MPQ engine and its end, by its address; `print_…`: a byte that a handler
//          prints; `error_…`: a trap that its runtime reports.
// Latency: that of its units: an empty handler on 64 bytes, warm and alone, 27 cycles from HER to completion.
// How:     a context has 14 words: handlers, each with its bytes, of header, payload, completion; handler
//          memory, its bytes; host memory's address, high and low, its bytes; its scratchpad's offset behind the
//          packet buffer, its bytes; bytes of a packet that go to L1 at most.
// Source:  PsPIN paper, figure 4; the model's `Nic`.
`default_nettype none

module spin_nic #(
    // cluster.count, cluster.cores; powers of two, of cores at least 2.
    parameter integer CLUSTERS = 1,
    parameter integer CORES = 2,
    parameter integer CONTEXTS = 2,
    // mpq.count, mpq.shared_cells.
    parameter integer QUEUES = 16,
    parameter integer SHARED_CELLS = 128,
    // cluster.buffered_hers + cluster.cores.
    parameter integer HERS_PER_CLUSTER = 12 + CORES,
    // l1.banks, log2 of l1.bytes, slots of a ring of l1.packet_buffer_rings.
    parameter integer BANKS = 64,
    parameter integer L1_BITS = 20,
    parameter integer RING_SLOTS = 256,
    // log2 of lines of each L2 memory, and its banks.
    parameter integer L2_LINE_BITS = 16,
    parameter integer L2_BANKS = 32,
    parameter integer COMMANDS = 4,
    // See inbound.
    parameter integer SMALL_SLOTS = 1024,
    parameter integer SMALL_BYTES = 128,
    parameter integer LARGE_SLOTS = 256,
    parameter integer LARGE_BYTES = 1536
) (
    input  wire                                clock,
    input  wire                                reset,
    input  wire [23:0]                         watchdog_cycles,
    input  wire                                load_valid,
    input  wire [31:6]                         load_line,
    input  wire [511:0]                        load_data,
    input  wire [63:0]                         load_strobes,
    input  wire                                config_valid,
    input  wire [$clog2(CONTEXTS)-1:0]         config_context,
    input  wire [3:0]                          config_word,
    input  wire [31:0]                         config_data,
    input  wire                                s_axis_tvalid,
    output wire                                s_axis_tready,
    input  wire [511:0]                        s_axis_tdata,
    input  wire [63:0]                         s_axis_tkeep,
    input  wire                                s_axis_tlast,
    // Context, message id, end of message.
    input  wire [$clog2(CONTEXTS)+32:0]        s_axis_tuser,
    output wire                                m_axis_tvalid,
    input  wire                                m_axis_tready,
    output wire [511:0]                        m_axis_tdata,
    output wire [63:0]                         m_axis_tkeep,
    output wire                                m_axis_tlast,
    output wire                                host_write_valid,
    input  wire                                host_write_ready,
    output wire [63:6]                         host_write_line,
    output wire [511:0]                        host_write_data,
    output wire [63:0]                         host_write_strobes,
    output wire                                host_read_valid,
    input  wire                                host_read_ready,
    output wire [63:6]                         host_read_line,
    input  wire                                host_answer_valid,
    input  wire [511:0]                        host_answer_data,
    output wire [CLUSTERS*CORES-1:0]           print_valid,
    output wire [CLUSTERS*CORES*8-1:0]         print_byte,
    output wire [CLUSTERS*CORES-1:0]           error_valid,
    output wire [CLUSTERS*CORES*32-1:0]        error_cause,
    output wire                                state_her_valid,
    output wire [21:0]                         state_her_address,
    output wire                                state_done_valid,
    output wire [21:0]                         state_done_address,
    output wire [CLUSTERS*CORES-1:0]           state_idle,
    output wire [CLUSTERS*CORES-1:0]           state_assigned,
    output wire [31:0]                         state_drops
);
    localparam integer HPUS = CLUSTERS * CORES;
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer CONTEXT_BITS = 14 * 32;
    localparam integer QUEUE = $clog2(QUEUES);
    localparam integer BYTES_BITS = 13;
    localparam integer USER_BITS = CONTEXT + 33;
    localparam integer TASK_BITS = QUEUE + 3 + CONTEXT + 32 + 22 + 2*BYTES_BITS;
    // Of those that choose among clusters, and of those that choose among them and the cores.
    localparam integer PLACES = CLUSTERS > 1 ? CLUSTERS : 2;
    localparam integer PORTS = 2 * CLUSTERS;
    localparam integer PLACE = $clog2(PLACES);
    localparam integer TAG_BITS = $clog2(HPUS * COMMANDS);
    localparam integer PROGRAM_BITS = 15;
    localparam [9:0] HANDLER = 10'h070, PACKET = 10'h071, PROGRAM = 10'h074, FIRST_L1 = 10'h040;

    reg [31:0] now;
    always @(posedge clock) now <= reset ? 0 : now + 1;

    reg [CONTEXTS*CONTEXT_BITS-1:0] contexts;
    wire [3:0] config_place = 4'd13 - config_word;
    always @(posedge clock)
        if (config_valid) contexts[config_context*CONTEXT_BITS + 32*config_place +: 32] <= config_data;

    // Inbound.
    wire                    packet_write, packet_write_ready, her_valid, her_ready, free_valid;
    wire [L2_LINE_BITS-1:0] packet_line;
    wire [511:0]            packet_data;
    wire [21:0]             her_address, free_address;
    wire [BYTES_BITS-1:0]   her_bytes;
    wire [CONTEXT-1:0]      her_context;
    wire [31:0]             her_message;
    wire                    her_end;
    inbound #(
        .USER_BITS(USER_BITS), .BYTES_BITS(BYTES_BITS), .LINE_BITS(L2_LINE_BITS),
        .SMALL_SLOTS(SMALL_SLOTS), .SMALL_BYTES(SMALL_BYTES), .LARGE_SLOTS(LARGE_SLOTS),
        .LARGE_BYTES(LARGE_BYTES)
    ) packets (
        .clock(clock), .reset(reset), .s_axis_tvalid(s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(s_axis_tuser), .write_valid(packet_write), .write_ready(packet_write_ready),
        .write_line(packet_line), .write_data(packet_data), .her_valid(her_valid),
        .her_ready(her_ready), .her_address(her_address), .her_bytes(her_bytes),
        .her_user({her_context, her_message, her_end}), .free_valid(free_valid),
        .free_address(free_address), .drops(state_drops)
    );
    assign state_her_valid = her_valid && her_ready;
    assign state_her_address = her_address;

    // Scheduling.
    wire [CONTEXT_BITS-1:0] of_her = contexts[her_context*CONTEXT_BITS +: CONTEXT_BITS];
    wire                    task_valid, task_ready, task_frees, done_valid;
    wire [QUEUE-1:0]        task_queue, done_queue;
    wire [1:0]              task_kind, done_kind;
    wire [21:0]             task_address;
    wire [BYTES_BITS-1:0]   task_packet_bytes;
    wire [CONTEXT-1:0]      task_context;
    wire [31:0]             task_message;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [3*QUEUES-1:0]     queue_states;
    wire [SHARED_CELLS-1:0] free_cells;
    wire [PLACES*$clog2(HERS_PER_CLUSTER+1)-1:0] occupancy;
    wire [PLACES-1:0]       cluster_valid;
    /* verilator lint_on UNUSEDSIGNAL */
    mpq_engine #(
        .QUEUES(QUEUES), .SHARED_CELLS(SHARED_CELLS), .LOCK(1), .KEY_BITS(CONTEXT + 32),
        .PACKET_BITS(22 + BYTES_BITS), .META_BITS(CONTEXT + 32), .TASKS(CLUSTERS*HERS_PER_CLUSTER + 1)
    ) mpq (
        .clock(clock), .reset(reset), .her_valid(her_valid), .her_ready(her_ready),
        .her_key({her_context, her_message}), .her_end(her_end),
        .her_has_header(of_her[CONTEXT_BITS-1 -: 32] != 0),
        .her_has_completion(of_her[CONTEXT_BITS-1-4*32 -: 32] != 0),
        .her_packet({her_address, her_bytes}), .her_meta({her_context, her_message}),
        .task_valid(task_valid), .task_ready(task_ready), .task_queue(task_queue),
        .task_kind(task_kind), .task_frees(task_frees),
        .task_packet({task_address, task_packet_bytes}), .task_meta({task_context, task_message}),
        .done_valid(done_valid), .done_queue(done_queue), .done_kind(done_kind),
        .state_queues(queue_states), .state_free_cells(free_cells)
    );
    wire [CONTEXT_BITS-1:0] of_task = contexts[task_context*CONTEXT_BITS +: CONTEXT_BITS];
    wire [BYTES_BITS-1:0]   l1_bytes = of_task[31:0] < 32'(task_packet_bytes) ? of_task[BYTES_BITS-1:0] : task_packet_bytes;
    wire [TASK_BITS-1:0]    cluster_task;
    wire [CLUSTERS-1:0]     cluster_ready;
    wire [PLACE-1:0]        done_cluster;
    dispatcher #(
        .CLUSTERS(PLACES), .HERS_PER_CLUSTER(HERS_PER_CLUSTER), .TASK_BITS(TASK_BITS)
    ) dispatch (
        .clock(clock), .reset(reset), .task_valid(task_valid), .task_ready(task_ready),
        .task_home(CLUSTERS > 1 ? task_queue[PLACE-1:0] : PLACE'(0)),
        .task_data({task_queue, task_kind, task_frees, task_context, task_message, task_address, task_packet_bytes, l1_bytes}),
        .cluster_valid(cluster_valid), .cluster_ready(PLACES'(cluster_ready)),
        .cluster_task(cluster_task), .completion_valid(done_valid),
        .completion_cluster(done_cluster), .state_occupancy(occupancy)
    );

    // Completions, one a cycle.
    wire [CLUSTERS-1:0]               completion_valid, completion_ready;
    wire [CLUSTERS*(QUEUE+25)-1:0]    completion_data;
    wire                              any_done;
    wire                              done_frees;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [PLACE-1:0]                  done_pointer;
    wire [PLACES*(QUEUE+25)-1:0]      all_completions = (PLACES*(QUEUE+25))'(completion_data);
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(PLACES)) choose_done (
        .clock(clock), .reset(reset), .requests(PLACES'(completion_valid)), .advance(any_done),
        .any(any_done), .grant(done_cluster), .state_pointer(done_pointer)
    );
    assign done_valid = any_done;
    assign completion_ready = any_done ? CLUSTERS'(1) << done_cluster : 0;
    assign {done_queue, done_kind, done_frees, free_address} = all_completions[done_cluster*(QUEUE+25) +: QUEUE+25];
    assign free_valid = done_valid && done_frees;
    assign state_done_valid = free_valid;
    assign state_done_address = free_address;

    // Clusters.
    wire [CLUSTERS-1:0]                  refill_valid, refill_ready, refill_done;
    wire [CLUSTERS*28-1:0]               refill_line;
    wire [CLUSTERS*$clog2(CORES)-1:0]    refill_core;
    wire [$clog2(CORES)-1:0]             refill_done_core;
    wire [127:0]                         refill_data;
    wire                                 refill_error;
    wire [CLUSTERS-1:0]                  command_valid, command_ready;
    wire [CLUSTERS*$clog2(CORES)-1:0]    command_core;
    wire [CLUSTERS*$clog2(COMMANDS)-1:0] command_id;
    wire [CLUSTERS*3-1:0]                command_info;
    wire [CLUSTERS*224-1:0]              command_words;
    wire [HPUS-1:0]                      response_valid;
    wire [$clog2(COMMANDS)-1:0]          response_id;
    wire [HPUS-1:0]                      far_valid, far_ready, access_write, access_atomic;
    wire [2*HPUS-1:0]                    far_target;
    wire [32*HPUS-1:0]                   far_answer, access_data;
    wire [5*HPUS-1:0]                    access_operation;
    wire [30*HPUS-1:0]                   access_word;
    wire [4*HPUS-1:0]                    access_strobes;
    wire [CLUSTERS-1:0]                  other_valid, other_grant, other_write, other_atomic;
    wire [CLUSTERS*(L1_BITS-2)-1:0]      other_word;
    wire [CLUSTERS*5-1:0]                other_operation;
    wire [CLUSTERS*32-1:0]               other_data, other_answer;
    wire [CLUSTERS*4-1:0]                other_strobes;
    wire [CLUSTERS-1:0]                  outside_valid, outside_ready, outside_write;
    wire [CLUSTERS*(L1_BITS-6)-1:0]      outside_line;
    wire [CLUSTERS*512-1:0]              outside_answer;
    // By port: the clusters, and last the cores.
    wire [PORTS-1:0]                     read_valid [0:1];
    wire [PORTS-1:0]                     read_ready [0:1];
    wire [PORTS-1:0]                     answer_valid [0:1];
    /* verilator lint_off UNUSEDSIGNAL */
    wire [PORTS-1:0]                     reads_now [0:1];
    /* verilator lint_on UNUSEDSIGNAL */
    wire [PORTS-1:0]                     read_takes [0:1];
    wire [PORTS-1:0]                     write_valid [0:1];
    wire [PORTS-1:0]                     write_ready [0:1];
    wire [PORTS*L2_LINE_BITS-1:0]        read_line [0:1];
    wire [PORTS*L2_LINE_BITS-1:0]        write_line [0:1];
    wire [PORTS*512-1:0]                 write_data [0:1];
    wire [PORTS*64-1:0]                  write_strobes [0:1];
    wire [1023:0]                        answer_data;
    wire [511:0]                         copy_data;
    wire [63:0]                          copy_strobes;
    genvar one;
    generate
        for (one = 0; one < CLUSTERS; one = one + 1) begin : by_cluster
            wire [1:0] reads, writes, takes;
            wire [L2_LINE_BITS-1:0] reads_line, writes_line;
            wire [511:0] writes_data;
            wire [63:0]  writes_strobes;
            cluster #(
                .CLUSTERS(CLUSTERS), .CORES(CORES), .CONTEXTS(CONTEXTS),
                .QUEUE_BITS(QUEUE), .BANKS(BANKS), .L1_BITS(L1_BITS), .L2_LINE_BITS(L2_LINE_BITS),
                .TASKS(HERS_PER_CLUSTER), .RING_SLOTS(RING_SLOTS), .COMMANDS(COMMANDS),
                .BYTES_BITS(BYTES_BITS)
            ) unit (
                .clock(clock), .reset(reset), .number(6'(one)), .now(now),
                .watchdog_cycles(watchdog_cycles),
                .contexts(contexts), .task_valid(cluster_valid[one]), .task_ready(cluster_ready[one]),
                .task_data(cluster_task), .task_bytes(cluster_task[BYTES_BITS-1:0]),
                .completion_valid(completion_valid[one]), .completion_ready(completion_ready[one]),
                .completion_data(completion_data[(QUEUE+25)*one +: QUEUE+25]),
                .command_valid(command_valid[one]), .command_ready(command_ready[one]),
                .command_core(command_core[$clog2(CORES)*one +: $clog2(CORES)]),
                .command_id(command_id[$clog2(COMMANDS)*one +: $clog2(COMMANDS)]),
                .command_info(command_info[3*one +: 3]),
                .command_words(command_words[224*one +: 224]),
                .response_valid(response_valid[CORES*one +: CORES]), .response_id(response_id),
                .refill_valid(refill_valid[one]), .refill_ready(refill_ready[one]),
                .refill_line(refill_line[28*one +: 28]),
                .refill_core(refill_core[$clog2(CORES)*one +: $clog2(CORES)]),
                .refill_done(refill_done[one]), .refill_done_core(refill_done_core),
                .refill_data(refill_data),
                .refill_error(refill_error), .read_valid(reads),
                .read_ready({read_ready[1][one], read_ready[0][one]}),
                .reads_now({reads_now[1][one], reads_now[0][one]}), .read_takes(takes),
                .read_line(reads_line),
                .answer_data(answer_data), .write_valid(writes),
                .write_ready({write_ready[1][one], write_ready[0][one]}), .write_line(writes_line),
                .write_data(writes_data), .write_strobes(writes_strobes),
                .far_valid(far_valid[CORES*one +: CORES]), .far_ready(far_ready[CORES*one +: CORES]),
                .far_target(far_target[2*CORES*one +: 2*CORES]),
                .far_answer(far_answer[32*CORES*one +: 32*CORES]),
                .access_write(access_write[CORES*one +: CORES]),
                .access_atomic(access_atomic[CORES*one +: CORES]),
                .access_operation(access_operation[5*CORES*one +: 5*CORES]),
                .access_word(access_word[30*CORES*one +: 30*CORES]),
                .access_strobes(access_strobes[4*CORES*one +: 4*CORES]),
                .access_data(access_data[32*CORES*one +: 32*CORES]),
                .other_valid(other_valid[one]), .other_grant(other_grant[one]),
                .other_word(other_word[(L1_BITS-2)*one +: L1_BITS-2]),
                .other_write(other_write[one]), .other_atomic(other_atomic[one]),
                .other_operation(other_operation[5*one +: 5]), .other_data(other_data[32*one +: 32]),
                .other_strobes(other_strobes[4*one +: 4]), .other_answer(other_answer[32*one +: 32]),
                .outside_valid(outside_valid[one]), .outside_ready(outside_ready[one]),
                .outside_write(outside_write[one]),
                .outside_line(outside_line[(L1_BITS-6)*one +: L1_BITS-6]), .outside_data(copy_data),
                .outside_strobes(copy_strobes), .outside_answer(outside_answer[512*one +: 512]),
                .print_valid(print_valid[CORES*one +: CORES]),
                .error_valid(error_valid[CORES*one +: CORES]),
                .error_cause(error_cause[32*CORES*one +: 32*CORES]),
                .state_idle(state_idle[CORES*one +: CORES]),
                .state_assigned(state_assigned[CORES*one +: CORES])
            );
            assign {read_valid[1][one], read_valid[0][one]} = reads;
            assign {read_takes[1][one], read_takes[0][one]} = takes;
            assign {write_valid[1][one], write_valid[0][one]} = writes;
            assign read_line[0][L2_LINE_BITS*one +: L2_LINE_BITS] = reads_line;
            assign read_line[1][L2_LINE_BITS*one +: L2_LINE_BITS] = reads_line;
            assign write_line[0][L2_LINE_BITS*one +: L2_LINE_BITS] = writes_line;
            assign write_line[1][L2_LINE_BITS*one +: L2_LINE_BITS] = writes_line;
            assign write_data[0][512*one +: 512] = writes_data;
            assign write_data[1][512*one +: 512] = writes_data;
            assign write_strobes[0][64*one +: 64] = writes_strobes;
            assign write_strobes[1][64*one +: 64] = writes_strobes;
        end
        assign {read_takes[1][CLUSTERS], read_takes[0][CLUSTERS]} = 2'b11;
        // Ports that nobody has.
        for (one = CLUSTERS + 1; one < PORTS; one = one + 1) begin : by_spare
            assign {read_takes[1][one], read_takes[0][one]} = 0;
            assign {read_valid[1][one], read_valid[0][one], write_valid[1][one], write_valid[0][one]} = 0;
            assign {read_line[0][L2_LINE_BITS*one +: L2_LINE_BITS], read_line[1][L2_LINE_BITS*one +: L2_LINE_BITS]} = 0;
            assign {write_line[0][L2_LINE_BITS*one +: L2_LINE_BITS], write_line[1][L2_LINE_BITS*one +: L2_LINE_BITS]} = 0;
            assign {write_data[0][512*one +: 512], write_data[1][512*one +: 512]} = 0;
            assign {write_strobes[0][64*one +: 64], write_strobes[1][64*one +: 64]} = 0;
        end
        for (one = 0; one < HPUS; one = one + 1) begin : by_hpu
            assign print_byte[8*one +: 8] = access_data[32*one +: 8];
        end
    endgenerate

    // The cores' way to all of L2, to other clusters' L1 and to the program.
    wire                    program_valid;
    wire [PROGRAM_BITS-3:0] program_word;
    wire [31:0]             program_data;
    pe_interconnect #(
        .HPUS(HPUS), .CLUSTERS(CLUSTERS), .L1_BITS(L1_BITS), .LINE_BITS(L2_LINE_BITS), .PROGRAM_BITS(PROGRAM_BITS)
    ) cores (
        .clock(clock), .reset(reset), .far_valid(far_valid), .far_ready(far_ready),
        .far_target(far_target), .far_answer(far_answer), .access_write(access_write),
        .access_atomic(access_atomic), .access_operation(access_operation),
        .access_word(access_word), .access_strobes(access_strobes), .access_data(access_data),
        .read_valid({read_valid[1][CLUSTERS], read_valid[0][CLUSTERS]}),
        .read_ready({read_ready[1][CLUSTERS], read_ready[0][CLUSTERS]}),
        .read_line({read_line[1][L2_LINE_BITS*CLUSTERS +: L2_LINE_BITS], read_line[0][L2_LINE_BITS*CLUSTERS +: L2_LINE_BITS]}),
        .answer_valid({answer_valid[1][CLUSTERS], answer_valid[0][CLUSTERS]}),
        .answer_data(answer_data),
        .write_valid({write_valid[1][CLUSTERS], write_valid[0][CLUSTERS]}),
        .write_ready({write_ready[1][CLUSTERS], write_ready[0][CLUSTERS]}),
        .write_line({write_line[1][L2_LINE_BITS*CLUSTERS +: L2_LINE_BITS], write_line[0][L2_LINE_BITS*CLUSTERS +: L2_LINE_BITS]}),
        .write_data({write_data[1][512*CLUSTERS +: 512], write_data[0][512*CLUSTERS +: 512]}),
        .write_strobes({write_strobes[1][64*CLUSTERS +: 64], write_strobes[0][64*CLUSTERS +: 64]}),
        .program_valid(program_valid), .program_word(program_word), .program_data(program_data),
        .l1_valid(other_valid), .l1_grant(other_grant), .l1_word(other_word),
        .l1_write(other_write), .l1_atomic(other_atomic), .l1_operation(other_operation),
        .l1_data(other_data), .l1_strobes(other_strobes), .l1_answer(other_answer)
    );
    program_memory #(.CLUSTERS(PLACES), .CORES(CORES), .BITS(PROGRAM_BITS)) program_lines (
        .clock(clock), .reset(reset), .refill_valid(PLACES'(refill_valid)),
        .refill_ready(refills_ready), .refill_line((PLACES*28)'(refill_line)),
        .refill_core((PLACES*$clog2(CORES))'(refill_core)), .refill_done(refills_done),
        .refill_done_core(refill_done_core), .refill_data(refill_data),
        .refill_error(refill_error), .load_valid(program_valid), .load_word(program_word),
        .load_data(program_data), .write_valid(load_valid && load_line[31:22] == PROGRAM),
        .write_line(load_line[PROGRAM_BITS-1:6]), .write_data(load_data)
    );
    /* verilator lint_off UNUSEDSIGNAL */
    wire [PLACES-1:0] refills_ready, refills_done;
    /* verilator lint_on UNUSEDSIGNAL */
    assign refill_ready = refills_ready[CLUSTERS-1:0];
    assign refill_done = refills_done[CLUSTERS-1:0];

    // L2, and who of the NIC's side has it: the reader of packets to send, and that of copies to the host;
    // programs that are loaded, copies from the host, and packets that come in.
    wire [1:0]              send_l2, send_l2_ready, copy_l2, copy_l2_ready;
    wire [L2_LINE_BITS-1:0] send_l2_line, copy_l2_line;
    wire [1023:0]           l2_data;
    wire                    copy_write, copy_write_ready;
    wire [31:6]             copy_line;
    wire                    copy_to_packets = copy_write && copy_line[31:22] == PACKET;
    wire                    loads_packets = load_valid && load_line[31:22] == PACKET;
    assign packet_write_ready = !loads_packets && !copy_to_packets;
    // A line that comes in keeps its bank from the clusters two cycles later, when the published write is there.
    localparam integer L2_BANK = $clog2(L2_BANKS);
    reg [1:0]               was_written;
    reg [2*L2_BANK-1:0]     written_bank;
    always @(posedge clock) begin
        was_written <= reset ? 0 : {was_written[0], packet_write && packet_write_ready};
        written_bank <= {written_bank[L2_BANK-1:0], packet_line[L2_BANK-1:0]};
    end
    genvar memory;
    generate
        for (memory = 0; memory < 2; memory = memory + 1) begin : by_memory
            localparam [9:0] HIGH = memory == 0 ? HANDLER : PACKET;
            reg  turn;
            wire sends = send_l2[memory] && !(turn && copy_l2[memory]);
            wire a_ready, b_read, b_read_ready, b_write, b_write_ready;
            wire [L2_LINE_BITS-1:0] b_read_line, b_write_line;
            wire [511:0] b_write_data;
            wire [63:0]  b_write_strobes;
            wire loads = load_valid && load_line[31:22] == HIGH;
            wire copies = copy_write && copy_line[31:22] == HIGH;
            assign b_read_ready = !(memory == 1 && was_written[1]
                && written_bank[2*L2_BANK-1 -: L2_BANK] == b_read_line[L2_BANK-1:0]);
            assign send_l2_ready[memory] = sends && a_ready;
            assign copy_l2_ready[memory] = !sends && a_ready;
            always @(posedge clock) turn <= sends;
            l2_port #(.REQUESTERS(PORTS), .LINE_BITS(L2_LINE_BITS)) port (
                .clock(clock), .reset(reset), .read_valid(read_valid[memory]),
                .read_ready(read_ready[memory]), .read_line(read_line[memory]),
                .reads_now(reads_now[memory]), .read_takes(read_takes[memory]), .answer_valid(answer_valid[memory]),
                .answer_data(answer_data[512*memory +: 512]),
                .write_valid(write_valid[memory]), .write_ready(write_ready[memory]),
                .write_line(write_line[memory]), .write_data(write_data[memory]),
                .write_strobes(write_strobes[memory]), .memory_read_valid(b_read),
                .memory_read_ready(b_read_ready), .memory_read_line(b_read_line), .memory_read_data(b_data),
                .memory_write_valid(b_write), .memory_write_ready(b_write_ready),
                .memory_write_line(b_write_line), .memory_write_data(b_write_data),
                .memory_write_strobes(b_write_strobes)
            );
            wire [511:0] b_data;
            l2_memory #(.LINE_BITS(L2_LINE_BITS), .BANKS(L2_BANKS)) lines (
                .clock(clock), .a_write_valid(loads || copies || (memory == 1 && packet_write)),
                .a_write_line(loads ? load_line[L2_LINE_BITS+5:6] : copies ? copy_line[L2_LINE_BITS+5:6] : packet_line),
                .a_write_data(loads ? load_data : copies ? copy_data : packet_data),
                .a_write_strobes(loads ? load_strobes : copies ? copy_strobes : {64{1'b1}}),
                .a_read_valid(send_l2[memory] || copy_l2[memory]), .a_read_ready(a_ready),
                .a_read_line(sends ? send_l2_line : copy_l2_line),
                .a_read_data(l2_data[512*memory +: 512]), .b_read_valid(b_read && b_read_ready),
                .b_read_line(b_read_line), .b_read_data(b_data), .b_write_valid(b_write),
                .b_write_ready(b_write_ready), .b_write_line(b_write_line),
                .b_write_data(b_write_data), .b_write_strobes(b_write_strobes)
            );
        end
    endgenerate

    // L1 from the NIC's side: the same readers, and copies from the host.
    wire [CLUSTERS-1:0] send_l1, send_l1_ready, copy_l1, copy_l1_ready, copy_to_l1, copied_to_l1;
    wire [L1_BITS-7:0]  send_l1_line, copy_l1_line;
    generate
        for (one = 0; one < CLUSTERS; one = one + 1) begin : by_window
            wire       any;
            wire [1:0] chosen;
            /* verilator lint_off UNUSEDSIGNAL */
            wire [1:0] pointer;
            /* verilator lint_on UNUSEDSIGNAL */
            assign copy_to_l1[one] = copy_write && copy_line[31:22] == FIRST_L1 + 10'(one);
            round_robin #(.COUNT(4)) choose (
                .clock(clock), .reset(reset), .requests({1'b0, copy_to_l1[one], copy_l1[one], send_l1[one]}),
                .advance(any && outside_ready[one]), .any(any), .grant(chosen), .state_pointer(pointer)
            );
            assign outside_valid[one] = any;
            assign outside_write[one] = chosen == 2;
            assign outside_line[(L1_BITS-6)*one +: L1_BITS-6] = chosen == 0 ? send_l1_line
                : chosen == 1 ? copy_l1_line : copy_line[L1_BITS-1:6];
            assign send_l1_ready[one] = outside_ready[one] && chosen == 0;
            assign copy_l1_ready[one] = outside_ready[one] && chosen == 1;
            assign copied_to_l1[one] = copy_to_l1[one] && outside_ready[one] && chosen == 2;
        end
    endgenerate
    // What is nobody's memory is written nowhere.
    wire in_l2 = copy_line[31:22] == PACKET || copy_line[31:22] == HANDLER;
    assign copy_write_ready = in_l2 ? !load_valid : copied_to_l1 != 0 || copy_to_l1 == 0;

    // Commands: words for the host (0), sends (1), copies (2).
    wire [2:0]            commands_valid, commands_ready, to_host;
    wire [3*TAG_BITS-1:0] tags;
    wire [3*64-1:0]       command_host, command_data;
    wire [3*32-1:0]       command_nic;
    wire [3*22-1:0]       command_bytes;
    wire [3:0]            finished, finished_ready;
    wire [4*TAG_BITS-1:0] finished_tag;
    command_path #(.CLUSTERS(CLUSTERS), .CORES(CORES), .COMMANDS(COMMANDS)) commands (
        .clock(clock), .reset(reset), .cluster_valid(command_valid), .cluster_ready(command_ready),
        .cluster_core(command_core), .cluster_id(command_id), .cluster_info(command_info),
        .cluster_words(command_words), .command_valid(commands_valid),
        .command_ready(commands_ready), .command_tag(tags), .command_host(command_host),
        .command_nic(command_nic), .command_bytes(command_bytes), .command_to_host(to_host),
        .command_data(command_data), .done_valid(finished), .done_ready(finished_ready),
        .done_tag(finished_tag), .response_valid(response_valid), .response_id(response_id)
    );
    outbound #(
        .CLUSTERS(CLUSTERS), .TAG_BITS(TAG_BITS), .L1_LINE_BITS(L1_BITS - 6), .L2_LINE_BITS(L2_LINE_BITS)
    ) sends (
        .clock(clock), .reset(reset), .now(now[7:0]), .command_valid(commands_valid[1]),
        .command_ready(commands_ready[1]), .command_tag(tags[TAG_BITS +: TAG_BITS]),
        .command_from(command_nic[32 +: 32]), .command_bytes(command_bytes[22 +: 22]), .done_valid(finished[1]), .done_ready(finished_ready[1]),
        .done_tag(finished_tag[TAG_BITS +: TAG_BITS]), .l1_valid(send_l1), .l1_ready(send_l1_ready),
        .l1_line(send_l1_line), .l1_data(outside_answer), .l2_valid(send_l2),
        .l2_ready(send_l2_ready), .l2_line(send_l2_line), .l2_data(l2_data),
        .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_tdata(m_axis_tdata),
        .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast)
    );
    off_cluster_dma #(
        .CLUSTERS(CLUSTERS), .TAG_BITS(TAG_BITS), .L1_LINE_BITS(L1_BITS - 6), .L2_LINE_BITS(L2_LINE_BITS)
    ) copies (
        .clock(clock), .reset(reset), .now(now[7:0]), .command_valid(commands_valid[2]),
        .command_ready(commands_ready[2]), .command_tag(tags[2*TAG_BITS +: TAG_BITS]),
        .command_to_host(to_host[2]), .command_host(command_host[2*64 +: 64]),
        .command_nic(command_nic[2*32 +: 32]), .command_bytes(command_bytes[2*22 +: 22]),
        .direct_valid(commands_valid[0]), .direct_ready(commands_ready[0]),
        .direct_tag(tags[0 +: TAG_BITS]), .direct_host(command_host[0 +: 64]),
        .direct_bytes(command_bytes[3:0]), .direct_data(command_data[0 +: 64]),
        .done_valid({finished[3:2], finished[0]}), .done_ready({finished_ready[3:2], finished_ready[0]}),
        .done_tag({finished_tag[2*TAG_BITS +: 2*TAG_BITS], finished_tag[0 +: TAG_BITS]}),
        .l1_valid(copy_l1), .l1_ready(copy_l1_ready), .l1_line(copy_l1_line),
        .l1_data(outside_answer), .l2_valid(copy_l2), .l2_ready(copy_l2_ready),
        .l2_line(copy_l2_line), .l2_data(l2_data), .write_valid(copy_write),
        .write_ready(copy_write_ready), .write_line(copy_line), .write_data(copy_data),
        .write_strobes(copy_strobes), .host_write_valid(host_write_valid),
        .host_write_ready(host_write_ready), .host_write_line(host_write_line),
        .host_write_data(host_write_data), .host_write_strobes(host_write_strobes),
        .host_read_valid(host_read_valid), .host_read_ready(host_read_ready),
        .host_read_line(host_read_line), .host_answer_valid(host_answer_valid),
        .host_answer_data(host_answer_data)
    );

    wire _unused = &{1'b0, of_her, of_task, load_line, command_host, command_data, command_nic, command_bytes, to_host};
endmodule

`default_nettype wire
