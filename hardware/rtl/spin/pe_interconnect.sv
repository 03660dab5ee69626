// pe_interconnect: the cores' way to memories that are not their cluster's: loads, stores and atomics.
//
// In:      of each HPU one access at a time (see `hpu`'s `far_…`). Of the two L2 memories, by their l2_port (0:
//          handler memory, 1: packet memory), and of program memory what was read.
// Out:     `far_ready`, and in the cycle behind the answer; the accesses to those memories and to the clusters'
//          L1, one a cluster at a time.
// Latency: from the cycle in which a port takes an access to that of the next instruction, with a memory that
//          is free: L2 handler memory 21, an atomic 27; packet memory 20, a store 21; another L1 22, a store
//          23, an atomic 24; program memory 21. The ports take a load of handler memory every 2 cycles, of packet memory every
//          cycle, a store every 3, an atomic every 10, which keeps loads off for 5.
// How:     round robin over the HPUs at each port; at L2's from the first one on after nobody has asked, so that of few
//          who come one by one each goes in its turn. An atomic's word is written when it has been read, and no
//          store goes between. One reservation (lr) for handler memory.
// Source:  PsPIN paper, section III-A; cycles as published, in the model's machine file; the model's
//          `pe_interconnect`. The own choice among those who wait is not that of the RTL's AXI crossbars.
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

    // By HPU: under way, cycles left, whether its answer has to come, the answer.
    reg  [HPUS-1:0]   busy, awaits;
    wire [HPUS-1:0]   asks = far_valid & ~busy;
    // Taken by a port in this cycle; answered by one.
    wire [HPUS-1:0]   taken_l2 [0:1];
    wire [HPUS-1:0]   stored_l2 [0:1];
    wire [HPUS-1:0]   taken_program, takes_any;
    wire [HPUS-1:0]   answered_l2 [0:1];
    wire [31:0]       answer_l2 [0:1];
    reg  [HPUS-1:0]   answered_program;
    wire [HPUS*CLUSTERS-1:0] taken_l1, answered_l1;

    genvar memory;
    generate
        for (memory = 0; memory < 2; memory = memory + 1) begin : by_memory
            localparam [1:0] TARGET = memory == 0 ? TO_HANDLER : TO_PACKET;
            localparam [3:0] LOAD_CYCLES = memory == 0 ? 2 : 1;
            localparam [3:0] STORE_CYCLES = 3, ATOMIC_CYCLES = 10, ATOMIC_READ_CYCLES = 5;
            reg  [3:0] read_free, write_free;
            // The atomic under way: its word is to be written.
            reg        changes, changed_known;
            reg [HPU-1:0]       changer;
            reg [LINE_BITS-1:0] changed_line;
            reg [WORD-1:0]      changed_word;
            reg [4:0]           operation;
            reg [31:0]          operand, changed;
            reg                 reserved, conditional_stores;
            reg [LINE_BITS+WORD-1:0] reservation;

            wire [HPUS-1:0] loads, stores, changing, wants_load, wants_store;
            wire            any_load, any_store;
            wire [HPU-1:0]  loader, storer;
            /* verilator lint_off UNUSEDSIGNAL */
            wire [HPU-1:0]  load_pointer, store_pointer;
            /* verilator lint_on UNUSEDSIGNAL */
            genvar place;
            for (place = 0; place < HPUS; place = place + 1) begin : by_place
                wire here = asks[place] && far_target[2*place +: 2] == TARGET;
                wire atomic = access_atomic[place] && access_operation[5*place +: 5] != RESERVE;
                assign changing[place] = atomic;
                assign wants_load[place] = here && !access_write[place];
                assign wants_store[place] = here && access_write[place] && !atomic;
                assign loads[place] = here && !access_write[place] && read_free == 0
                    && (!atomic || (write_free == 0 && !changes));
                assign stores[place] = here && access_write[place] && !atomic && write_free == 0 && !changes;
            end
            wire reads = any_load && read_ready[memory];
            wire writes = any_store && write_ready[memory] && !changes && !(any_load && changing[loader]);
            round_robin #(.COUNT(HPUS)) choose_load (
                .clock(clock), .reset(reset || wants_load == 0), .requests(loads), .advance(reads), .any(any_load),
                .grant(loader), .state_pointer(load_pointer)
            );
            round_robin #(.COUNT(HPUS)) choose_store (
                .clock(clock), .reset(reset || wants_store == 0), .requests(stores), .advance(writes), .any(any_store),
                .grant(storer), .state_pointer(store_pointer)
            );
            wire [29:0] load_word = access_word[30*loader +: 30];
            wire [29:0] store_word = access_word[30*storer +: 30];
            assign taken_l2[memory] = reads ? HPUS'(1) << loader : 0;
            assign stored_l2[memory] = writes ? HPUS'(1) << storer : 0;
            assign read_valid[memory] = any_load;
            assign read_line[memory*LINE_BITS +: LINE_BITS] = load_word[WORD +: LINE_BITS];

            // Reads on their way, and what comes of them.
            wire [HPU-1:0]  answered;
            wire [WORD-1:0] answered_word;
            /* verilator lint_off UNUSEDSIGNAL */
            wire            away_room, is_away;
            wire [4:0]      away_count;
            /* verilator lint_on UNUSEDSIGNAL */
            queue #(.WIDTH(HPU + WORD), .DEPTH(16)) away (
                .clock(clock), .reset(reset), .in_valid(reads), .in_ready(away_room),
                .in_data({loader, load_word[WORD-1:0]}), .out_valid(is_away), .out_ready(answer_valid[memory]),
                .out_data({answered, answered_word}), .count(away_count)
            );
            wire [31:0]     found = answer_data[memory*8*BYTES + 32*answered_word +: 32];
            wire            is_change = changes && !changed_known && answered == changer;
            wire            is_conditional = is_change && operation == CONDITIONAL;
            assign answered_l2[memory] = answer_valid[memory] ? HPUS'(1) << answered : 0;
            assign answer_l2[memory] = is_conditional ? {31'd0, !conditional_stores} : found;
            wire [31:0]     result;
            atomic_unit unit (.operation(operation), .found(found), .operand(operand), .result(result));

            wire change_writes = changes && changed_known;
            wire [LINE_BITS+WORD-1:0] written_word = change_writes ? {changed_line, changed_word}
                : store_word[LINE_BITS+WORD-1:0];
            assign write_valid[memory] = change_writes
                || (any_store && !changes && !(any_load && changing[loader]));
            assign write_line[memory*LINE_BITS +: LINE_BITS] = written_word[WORD +: LINE_BITS];
            assign write_data[memory*8*BYTES +: 8*BYTES] = {WORDS{change_writes ? changed : access_data[32*storer +: 32]}};
            assign write_strobes[memory*BYTES +: BYTES] = BYTES'(change_writes ? 4'hf : access_strobes[4*storer +: 4])
                << {written_word[WORD-1:0], 2'b00};

            always @(posedge clock) begin
                if (reads && changing[loader]) begin
                    changer <= loader;
                    {changed_line, changed_word} <= load_word[LINE_BITS+WORD-1:0];
                    operation <= access_operation[5*loader +: 5];
                    operand <= access_data[32*loader +: 32];
                    conditional_stores <= reserved && reservation == load_word[LINE_BITS+WORD-1:0];
                end
                if (answer_valid[memory] && is_change) changed <= result;
                if (reads && access_atomic[loader] && !changing[loader])
                    reservation <= load_word[LINE_BITS+WORD-1:0];
                if (reset) {read_free, write_free, changes, changed_known, reserved} <= 0;
                else begin
                    if (reads) read_free <= changing[loader] ? ATOMIC_READ_CYCLES - 1'b1 : LOAD_CYCLES - 1'b1;
                    else if (read_free != 0) read_free <= read_free - 1'b1;
                    if (reads && changing[loader]) write_free <= ATOMIC_CYCLES - 1'b1;
                    else if (writes) write_free <= STORE_CYCLES - 1'b1;
                    else if (write_free != 0) write_free <= write_free - 1'b1;
                    if (reads && changing[loader]) {changes, changed_known} <= 2'b10;
                    else if (answer_valid[memory] && is_change) begin
                        changed_known <= 1;
                        if (is_conditional && !conditional_stores) changes <= 0;
                    end else if (change_writes && write_ready[memory]) {changes, changed_known} <= 0;
                    if (reads && access_atomic[loader] && !changing[loader]) reserved <= 1;
                    else if ((write_valid[memory] && written_word == reservation)
                        || (is_conditional && answer_valid[memory])) reserved <= 0;
                end
            end
            wire _unused = &{1'b0, load_word, store_word};
        end
    endgenerate

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
            reg  [4:0]  left;
            reg  [31:0] answer;
            wire [1:0]  target = far_target[2*hpu +: 2];
            wire        atomic = access_atomic[hpu] && access_operation[5*hpu +: 5] != RESERVE;
            wire        store = access_write[hpu] && !atomic;
            wire [4:0]  cycles = target == TO_L1 ? (atomic ? 5'd24 : store ? 5'd23 : 5'd22)
                : target == TO_HANDLER ? (atomic ? 5'd27 : 5'd21)
                : target == TO_PACKET ? (store ? 5'd21 : 5'd20) : 5'd21;
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
            wire comes = comes_l1 != 0 || answered_l2[0][hpu] || answered_l2[1][hpu] || answered_program[hpu];
            assign program_asks[hpu] = asks[hpu] && target == TO_PROGRAM;
            assign takes_any[hpu] = takes_l1 != 0 || taken_l2[0][hpu] || taken_l2[1][hpu] || stored_l2[0][hpu]
                || stored_l2[1][hpu] || taken_program[hpu];
            assign far_ready[hpu] = busy[hpu] && left == 0 && !awaits[hpu];
            assign far_answer[32*hpu +: 32] = answer;
            always @(posedge clock) begin
                if (comes) answer <= comes_l1 != 0 ? word_l1 : answered_l2[0][hpu] ? answer_l2[0]
                    : answered_l2[1][hpu] ? answer_l2[1] : program_data;
                if (takes_any[hpu]) left <= cycles - 5'd2;
                else if (left != 0) left <= left - 5'd1;
                if (reset) {busy[hpu], awaits[hpu]} <= 0;
                else begin
                    busy[hpu] <= takes_any[hpu] || (busy[hpu] && !far_ready[hpu]);
                    awaits[hpu] <= (takes_any[hpu] && !(store && target != TO_L1)) || (awaits[hpu] && !comes);
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
