// pe_interconnect: the cores' way to memories that are not their cluster's: loads, stores and atomics.
//
// In:      of each HPU one access at a time (see `hpu`'s `far_…`). Of the two L2 memories, by their l2_port (0:
//          handler memory, 1: packet memory), and of program memory what was read.
// Out:     `far_ready`, and in the cycle behind the answer; the accesses to those memories and to the clusters'
//          L1, one a cluster at a time.
// Latency: from the cycle in which an HPU asks to that of the next instruction, with nobody else there: L2 handler memory
//          21, an atomic 27; packet memory 20, a store 21; another L1 22, a store 23, an atomic 24; program memory 21.
// How:     `core_accesses` says whose access to L2 goes when. At program memory and the L1s round robin over the HPUs. An
//          atomic's word is written when it has been read, and no store to it goes between. One reservation (lr) for handler
//          memory; sc has an atomic's turn.
// Source:  PsPIN paper, section III-A; cycles as published, in the model's machine file; the model's
//          `pe_interconnect`.
`default_nettype none

module pe_interconnect #(
    // All HPUs; a power of two, at least 2.
    parameter integer HPUS = 2,
    parameter integer CLUSTERS = 1,
    parameter integer L1_BITS = 20,
    parameter integer LINE_BITS = 16,
    parameter integer BYTES = 64,
    parameter integer PROGRAM_BITS = 15
) (
    input  wire                            clock,
    input  wire                            reset,
    input  wire [HPUS-1:0]                 far_valid,
    output wire [HPUS-1:0]                 far_ready,
    input  wire [2*HPUS-1:0]               far_target,
    output wire [32*HPUS-1:0]              far_answer,
    input  wire [HPUS-1:0]                 access_write,
    input  wire [HPUS-1:0]                 access_atomic,
    input  wire [5*HPUS-1:0]               access_operation,
    input  wire [30*HPUS-1:0]              access_word,
    input  wire [4*HPUS-1:0]               access_strobes,
    input  wire [32*HPUS-1:0]              access_data,
    output wire [1:0]                      read_valid,
    input  wire [1:0]                      read_ready,
    output wire [2*LINE_BITS-1:0]          read_line,
    input  wire [1:0]                      answer_valid,
    input  wire [2*8*BYTES-1:0]            answer_data,
    output wire [1:0]                      write_valid,
    input  wire [1:0]                      write_ready,
    output wire [2*LINE_BITS-1:0]          write_line,
    output wire [2*8*BYTES-1:0]            write_data,
    output wire [2*BYTES-1:0]              write_strobes,
    output wire                            program_valid,
    output wire [PROGRAM_BITS-3:0]         program_word,
    input  wire [31:0]                     program_data,
    output wire [CLUSTERS-1:0]             l1_valid,
    input  wire [CLUSTERS-1:0]             l1_grant,
    output wire [CLUSTERS*(L1_BITS-2)-1:0] l1_word,
    output wire [CLUSTERS-1:0]             l1_write,
    output wire [CLUSTERS-1:0]             l1_atomic,
    output wire [CLUSTERS*5-1:0]           l1_operation,
    output wire [CLUSTERS*32-1:0]          l1_data,
    output wire [CLUSTERS*4-1:0]           l1_strobes,
    input  wire [CLUSTERS*32-1:0]          l1_answer
);
    localparam integer HPU = $clog2(HPUS);
    localparam integer WORDS = BYTES / 4;
    localparam integer WORD = $clog2(WORDS);
    localparam [1:0] TO_L1 = 0, TO_HANDLER = 1, TO_PACKET = 2, TO_PROGRAM = 3;
    localparam [4:0] RESERVE = 2, CONDITIONAL = 3;
    localparam [9:0] FIRST_L1 = 10'h040;
    // Accesses that have gone to an L2 memory and are not there yet.
    localparam integer GONE = 8;
    // Cycles in which an l2_port, which takes a load of packet memory, is before the port that the model counts by.
    localparam integer PORT_CYCLES = 4, PACKET_CYCLES = 6;
    // Cycles from an answer of handler memory, a store, an atomic, a load's turn at packet memory's l2_port to `far_ready`.
    localparam [4:0] BEHIND_ANSWER = 11, BEHIND_STORE = 14, BEHIND_ATOMIC = 20, BEHIND_PACKET = 11;

    // By HPU: whose access is under way, who asks now, whose is taken and of whom something comes.
    reg  [HPUS-1:0]   busy;
    wire [HPUS-1:0]   asks = far_valid & ~busy;
    wire [HPUS-1:0]   taken_program;
    reg  [HPUS-1:0]   answered_program;
    wire [HPUS*CLUSTERS-1:0] taken_l1, answered_l1;
    wire [HPUS-1:0]   answered_l2 [0:1];
    wire [31:0]       answer_l2 [0:1];
    wire [HPUS-1:0]   stored_l2;

    // L2: who goes when.
    wire [HPUS-1:0]   asks_l2;
    wire [2*HPUS-1:0] kinds;
    wire              load_valid, load_ready, comes_valid, packet_valid, packet_ready, store_valid, store_ready;
    wire              atomic_valid, atomic_ready;
    wire [HPU-1:0]    loader, comes_to, packet_loader, storer, changing;
    wire              packet_taken = packet_valid && packet_ready;
    reg  [PORT_CYCLES-1:0] packet_reads;
    always @(posedge clock) packet_reads <= reset ? 0 : {packet_reads[PORT_CYCLES-2:0], packet_taken};
    /* verilator lint_off UNUSEDSIGNAL */
    wire [3:0]        places;
    /* verilator lint_on UNUSEDSIGNAL */
    core_accesses #(
        .CLUSTERS(CLUSTERS), .CORES(HPUS / CLUSTERS), .PACKET_CYCLES(PACKET_CYCLES - PORT_CYCLES)
    ) accesses (
        .clock(clock), .reset(reset), .ask_valid(asks_l2), .ask_kind(kinds),
        .handler_valid(load_valid), .handler_ready(load_ready), .handler_core(loader),
        .answer_valid(comes_valid), .answer_core(comes_to), .packet_valid(packet_valid),
        .packet_ready(packet_ready), .packet_core(packet_loader), .packet_reads({1'b0, packet_reads[PORT_CYCLES-1]}),
        .store_valid(store_valid), .store_ready(store_ready), .store_core(storer), .atomic_valid(atomic_valid),
        .atomic_ready(atomic_ready), .atomic_core(changing), .state_places(places)
    );

    // Reads: of handler memory loads and atomics, which may have to wait for copies; of packet memory loads.
    wire            reads_handler, takes_load;
    wire [HPU-1:0]  reader [0:1];
    queue_bypass #(.WIDTH(HPU), .DEPTH(GONE)) to_read (
        .clock(clock), .reset(reset), .in_valid(takes_load || atomic_valid), .in_ready(load_ready),
        .in_data(atomic_valid ? changing : loader), .out_valid(reads_handler), .out_ready(read_ready[0]),
        .out_data(reader[0])
    );
    assign takes_load = load_valid && load_ready;
    assign reader[1] = packet_loader;
    assign packet_ready = read_ready[1];
    assign read_valid = {packet_valid, reads_handler};
    wire [1:0]      reads = read_valid & read_ready;
    genvar memory;
    generate
        for (memory = 0; memory < 2; memory = memory + 1) begin : by_memory
            /* verilator lint_off UNUSEDSIGNAL */
            wire [29:0]     word = access_word[30*reader[memory] +: 30];
            wire            away_room, is_away;
            wire [4:0]      away_count;
            /* verilator lint_on UNUSEDSIGNAL */
            wire [HPU-1:0]  answered;
            wire [WORD-1:0] answered_word;
            queue #(.WIDTH(HPU + WORD), .DEPTH(16)) away (
                .clock(clock), .reset(reset), .in_valid(reads[memory]), .in_ready(away_room),
                .in_data({reader[memory], word[WORD-1:0]}), .out_valid(is_away), .out_ready(answer_valid[memory]),
                .out_data({answered, answered_word}), .count(away_count)
            );
            assign read_line[memory*LINE_BITS +: LINE_BITS] = word[WORD +: LINE_BITS];
            assign answered_l2[memory] = answer_valid[memory] ? HPUS'(1) << answered : 0;
            assign answer_l2[memory] = answer_data[memory*8*BYTES + 32*answered_word +: 32];
        end
    endgenerate

    // The atomic under way: its word is to be read, and then written.
    reg                  changes, changed_known, reserved, conditional_stores;
    reg [HPU-1:0]        changer;
    reg [LINE_BITS+WORD-1:0] changed_word, reservation;
    reg [4:0]            operation;
    reg [31:0]           operand, changed;
    wire [31:0]          result;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [29:0]          changing_word = access_word[30*changing +: 30];
    wire [29:0]          reading_word = access_word[30*reader[0] +: 30];
    wire [29:0]          store_word = access_word[30*stored +: 30];
    /* verilator lint_on UNUSEDSIGNAL */
    wire                 is_change = changes && !changed_known && answered_l2[0][changer];
    wire                 is_conditional = is_change && operation == CONDITIONAL;
    wire                 change_writes = changes && changed_known;
    wire                 change_written = change_writes && write_ready[0];
    wire                 reserves = reads[0] && access_atomic[reader[0]]
        && access_operation[5*reader[0] +: 5] == RESERVE;
    atomic_unit unit (.operation(operation), .found(answer_l2[0]), .operand(operand), .result(result));

    // Stores that have gone; one to the atomic's word waits for that, and the next atomic for the store.
    wire            any_store, to_handler, meets, store_written;
    wire [HPU-1:0]  stored;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [3:0]      stores_held;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(HPU), .DEPTH(GONE)) to_write (
        .clock(clock), .reset(reset), .in_valid(store_valid), .in_ready(store_ready), .in_data(storer),
        .out_valid(any_store), .out_ready(store_written), .out_data(stored), .count(stores_held)
    );
    wire [LINE_BITS+WORD-1:0] stored_word = store_word[LINE_BITS+WORD-1:0];
    assign to_handler = far_target[2*stored +: 2] == TO_HANDLER;
    assign meets = any_store && to_handler && changes && stored_word == changed_word;
    assign write_valid[0] = change_writes || (any_store && to_handler && !meets);
    assign write_valid[1] = any_store && !to_handler;
    assign store_written = any_store
        && (to_handler ? !meets && !change_writes && write_ready[0] : write_ready[1]);
    assign stored_l2 = store_written ? HPUS'(1) << stored : 0;
    assign atomic_ready = load_ready && !meets && (!changes || change_written);
    wire [LINE_BITS+WORD-1:0] handler_word = change_writes ? changed_word : stored_word;
    assign write_line = {stored_word[WORD +: LINE_BITS], handler_word[WORD +: LINE_BITS]};
    assign write_data = {{WORDS{access_data[32*stored +: 32]}},
        {WORDS{change_writes ? changed : access_data[32*stored +: 32]}}};
    assign write_strobes = {BYTES'(access_strobes[4*stored +: 4]) << {stored_word[WORD-1:0], 2'b00},
        BYTES'(change_writes ? 4'hf : access_strobes[4*stored +: 4]) << {handler_word[WORD-1:0], 2'b00}};

    always @(posedge clock) begin
        if (atomic_valid) begin
            changer <= changing;
            changed_word <= changing_word[LINE_BITS+WORD-1:0];
            operation <= access_operation[5*changing +: 5];
            operand <= access_data[32*changing +: 32];
            conditional_stores <= reserved && reservation == changing_word[LINE_BITS+WORD-1:0];
        end
        if (is_change) changed <= result;
        if (reserves) reservation <= reading_word[LINE_BITS+WORD-1:0];
        if (reset) {changes, changed_known, reserved} <= 0;
        else begin
            if (atomic_valid) {changes, changed_known} <= 2'b10;
            else if (is_change) {changes, changed_known} <= {!is_conditional || conditional_stores, 1'b1};
            else if (change_written) changes <= 0;
            if (reserves) reserved <= 1;
            else if ((write_valid[0] && handler_word == reservation) || is_conditional) reserved <= 0;
        end
    end

    // Program memory: a load a cycle.
    wire [HPUS-1:0] program_asks;
    wire [HPU-1:0]  program_reader;
    wire            any_program;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [HPU-1:0]  program_pointer;
    wire [29:0]     wanted_word = access_word[30*program_reader +: 30];
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(HPUS)) choose_program (
        .clock(clock), .reset(reset), .requests(program_asks), .advance(any_program), .any(any_program),
        .grant(program_reader), .state_pointer(program_pointer)
    );
    assign program_valid = any_program;
    assign program_word = wanted_word[PROGRAM_BITS-3:0];
    assign taken_program = any_program ? HPUS'(1) << program_reader : 0;
    always @(posedge clock) answered_program <= reset ? 0 : taken_program;

    // Other clusters' L1: one access at each at a time.
    genvar cluster;
    generate
        for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : by_cluster
            wire [HPUS-1:0] wants;
            wire            any;
            wire [HPU-1:0]  chosen;
            /* verilator lint_off UNUSEDSIGNAL */
            wire [HPU-1:0]  chosen_pointer;
            wire [29:0]     word = access_word[30*chosen +: 30];
            /* verilator lint_on UNUSEDSIGNAL */
            reg             held, granted;
            reg [HPU-1:0]   holder, granted_to;
            reg [1+1+5+L1_BITS-2+32+4-1:0] request;
            genvar place;
            for (place = 0; place < HPUS; place = place + 1) begin : by_place
                assign wants[place] = asks[place] && far_target[2*place +: 2] == TO_L1
                    && access_word[30*place + 20 +: 10] == FIRST_L1 + 10'(cluster);
            end
            wire takes = any && (!held || l1_grant[cluster]);
            round_robin #(.COUNT(HPUS)) choose (
                .clock(clock), .reset(reset), .requests(wants), .advance(takes), .any(any),
                .grant(chosen), .state_pointer(chosen_pointer)
            );
            assign taken_l1[cluster*HPUS +: HPUS] = takes ? HPUS'(1) << chosen : 0;
            assign answered_l1[cluster*HPUS +: HPUS] = granted ? HPUS'(1) << granted_to : 0;
            assign l1_valid[cluster] = held;
            assign {
                l1_write[cluster], l1_atomic[cluster], l1_operation[cluster*5 +: 5],
                l1_word[cluster*(L1_BITS-2) +: L1_BITS-2], l1_data[cluster*32 +: 32],
                l1_strobes[cluster*4 +: 4]
            } = request;
            always @(posedge clock) begin
                if (takes) begin
                    holder <= chosen;
                    request <= {
                        access_write[chosen], access_atomic[chosen], access_operation[5*chosen +: 5],
                        word[L1_BITS-3:0], access_data[32*chosen +: 32], access_strobes[4*chosen +: 4]
                    };
                end
                granted_to <= holder;
                granted <= !reset && held && l1_grant[cluster];
                held <= !reset && (takes || (held && !l1_grant[cluster]));
            end
        end
    endgenerate

    genvar hpu;
    generate
        for (hpu = 0; hpu < HPUS; hpu = hpu + 1) begin : by_hpu
            // Cycles left, once they are known, and whether its answer has to come; the answer.
            reg  [4:0]  left;
            reg         known, awaits;
            reg  [31:0] answer;
            wire [1:0]  target = far_target[2*hpu +: 2];
            wire        atomic = access_atomic[hpu] && access_operation[5*hpu +: 5] != RESERVE;
            wire        store = access_write[hpu] && !atomic;
            wire        packet = target == TO_PACKET;
            localparam [HPU-1:0] OWN = HPU'(hpu);
            wire [CLUSTERS-1:0] takes_l1, comes_l1;
            for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : of_cluster
                assign takes_l1[cluster] = taken_l1[cluster*HPUS + hpu];
                assign comes_l1[cluster] = answered_l1[cluster*HPUS + hpu];
            end
            reg [31:0] word_l1;
            integer    number;
            always @* begin
                word_l1 = 0;
                for (number = 0; number < CLUSTERS; number = number + 1)
                    if (comes_l1[number]) word_l1 = word_l1 | l1_answer[32*number +: 32];
            end
            assign asks_l2[hpu] = asks[hpu] && (target == TO_HANDLER || packet);
            assign kinds[2*hpu +: 2] = atomic ? 2'd3 : store ? 2'd2 : {1'b0, packet};
            assign program_asks[hpu] = asks[hpu] && target == TO_PROGRAM;
            wire       answers = comes_valid && comes_to == OWN;
            wire       stores = store_valid && store_ready && storer == OWN;
            wire       begins = atomic_valid && changing == OWN;
            wire       at_packets = packet_taken && packet_loader == OWN;
            wire       near = takes_l1 != 0 || taken_program[hpu];
            wire [4:0] cycles = answers ? BEHIND_ANSWER : stores ? BEHIND_STORE : begins ? BEHIND_ATOMIC
                : at_packets ? BEHIND_PACKET : target == TO_PROGRAM ? 5'd20 : atomic ? 5'd23 : store ? 5'd22 : 5'd21;
            wire       gets_known = near || answers || stores || begins || at_packets;
            wire       comes = comes_l1 != 0 || answered_l2[0][hpu] || answered_l2[1][hpu] || stored_l2[hpu]
                || answered_program[hpu];
            assign far_ready[hpu] = busy[hpu] && known && left == 0 && !awaits;
            assign far_answer[32*hpu +: 32] = answer;
            always @(posedge clock) begin
                if (comes) answer <= comes_l1 != 0 ? word_l1
                    : answered_l2[0][hpu] ? (is_conditional ? {31'd0, !conditional_stores} : answer_l2[0])
                    : answered_l2[1][hpu] ? answer_l2[1] : program_data;
                if (gets_known) left <= cycles - 5'd1;
                else if (left != 0) left <= left - 5'd1;
                if (reset) {busy[hpu], known, awaits} <= 0;
                else begin
                    busy[hpu] <= asks_l2[hpu] || near || (busy[hpu] && !far_ready[hpu]);
                    known <= gets_known || (known && !far_ready[hpu]);
                    awaits <= asks_l2[hpu] || near || (awaits && !comes);
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
