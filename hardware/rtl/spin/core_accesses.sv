// core_accesses: in which order, and when, the cores' own accesses come to L2.
//
// In:      of each core an access (`ask_…`), for one cycle; the next one when that has been served. `packet_reads`: how many
//          loads of packet memory were read there in this cycle. `…_ready`: who takes what goes has room.
// Out:     whose load goes to handler memory, and whose answer comes from there; whose load goes to packet memory; whose store
//          goes; whose atomic begins, of which one at a time is under way.
// Latency: with nobody else there, an access that is asked for in cycle t is at its turn in t + WAY_CYCLES; in that cycle a
//          store or an atomic goes, and a load to handler memory, whose answer comes ANSWER_CYCLES later. A load is at packet
//          memory PACKET_CYCLES behind its turn.
// How:     a cluster lets one access in a cycle through, that of the core whose number differs least from a counter's, high
//          bits first; from there on its loads and its writes keep their order. On each of the two ways clusters take turns, and
//          behind the turns is a queue of two. While a write waits that was first there in an earlier cycle, no load passes: one
//          gate stands in front of both. LOADS may be on their way, which one is until RETURN_CYCLES behind the cycle in which
//          handler memory read it, or PACKET_RETURN_CYCLES behind that in which packet memory did. A write keeps the port for
//          STORE_CYCLES, and until the last but one has gone. Atomics begin ATOMIC_CYCLES apart and keep handler memory from loads
//          for KEEPS_CYCLES. There, in a cycle, one load goes, if not HANDLER_LOADS are under way, or else one answer comes.
// Memory:  queues, read without a register.
// Source:  the model's `CoreAccesses`, from PsPIN's RTL: XBAR_PE, per2axi, axi_mux of pe_noc, axi_dw_converter,
//          axi_riscv_atomics.
`default_nettype none

module core_accesses #(
    // cluster.count, cluster.cores; powers of two, of cores at least 2.
    parameter integer CLUSTERS = 4,
    parameter integer CORES = 8,
    // core_ports.loads, .handler_loads; at least 2.
    parameter integer LOADS = 8,
    parameter integer HANDLER_LOADS = 4,
    // core_ports.way_cycles, .packet_cycles, .packet_return_cycles, .handler_answer_cycles; at least 1.
    parameter integer WAY_CYCLES = 6,
    parameter integer PACKET_CYCLES = 6,
    parameter integer PACKET_RETURN_CYCLES = 1,
    parameter integer ANSWER_CYCLES = 3,
    // core_ports.handler_return_cycles; more than ANSWER_CYCLES.
    parameter integer RETURN_CYCLES = 8,
    // l2_handler.store_port_cycles, .amo_port_cycles, .amo_read_port_cycles; at least 1.
    parameter integer STORE_CYCLES = 3,
    parameter integer ATOMIC_CYCLES = 10,
    parameter integer KEEPS_CYCLES = 5
) (
    input  wire                              clock,
    input  wire                              reset,
    input  wire [CLUSTERS*CORES-1:0]         ask_valid,
    // 0: a load of handler memory, 1: of packet memory, 2: a store, 3: an atomic.
    input  wire [2*CLUSTERS*CORES-1:0]       ask_kind,
    output wire                              handler_valid,
    input  wire                              handler_ready,
    output wire [$clog2(CLUSTERS*CORES)-1:0] handler_core,
    output wire                              answer_valid,
    output wire [$clog2(CLUSTERS*CORES)-1:0] answer_core,
    output wire                              packet_valid,
    input  wire                              packet_ready,
    output wire [$clog2(CLUSTERS*CORES)-1:0] packet_core,
    input  wire [1:0]                        packet_reads,
    output wire                              store_valid,
    input  wire                              store_ready,
    output wire [$clog2(CLUSTERS*CORES)-1:0] store_core,
    output wire                              atomic_valid,
    input  wire                              atomic_ready,
    output wire [$clog2(CLUSTERS*CORES)-1:0] atomic_core,
    // Loads that may still go on their way.
    output wire [$clog2(LOADS+1)-1:0]        state_places
);
    localparam integer HPU = $clog2(CLUSTERS * CORES);
    localparam integer CORE = $clog2(CORES);
    localparam integer PLACES = CLUSTERS > 1 ? CLUSTERS : 2;
    localparam integer PLACE = $clog2(PLACES);
    localparam integer COUNT = $clog2(LOADS + 1);
    // An access on its way: whose, to packet memory or an atomic.
    localparam integer ENTRY = HPU + 1;
    localparam integer PORT = $clog2(STORE_CYCLES + 1);
    localparam integer ATOMIC = $clog2(ATOMIC_CYCLES + 1);
    localparam integer KEEPS = $clog2(KEEPS_CYCLES + 1);
    localparam integer UNDER_WAY = $clog2(HANDLER_LOADS + 1);
    localparam integer RETURNS = RETURN_CYCLES - ANSWER_CYCLES;
    localparam LOADS_WAY = 0, WRITES_WAY = 1;

    // By way: of each cluster the first that comes to its turn.
    wire [PLACES-1:0]       first_valid [0:1];
    wire [PLACES*ENTRY-1:0] first [0:1];
    wire [PLACES-1:0]       gets_turn [0:1];
    genvar cluster, core, stage, way;
    generate
        for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : by_cluster
            reg  [CORES-1:0]   waits;
            reg  [2*CORES-1:0] kept;
            reg  [CORE-1:0]    served;
            wire [CORES-1:0]   asks = waits | ask_valid[cluster*CORES +: CORES];
            wire [CORES-1:0]   nearest;
            wire [2*CORES-1:0] said;
            wire               any;
            wire [CORE-1:0]    difference;
            wire [CORE-1:0]    chosen = difference ^ served;
            for (core = 0; core < CORES; core = core + 1) begin : by_core
                localparam [CORE-1:0] OWN = CORE'(core);
                localparam integer    ALL = cluster * CORES + core;
                assign nearest[core] = asks[OWN ^ served];
                assign said[2*core +: 2] = waits[core] ? kept[2*core +: 2] : ask_kind[2*ALL +: 2];
            end
            first_one #(.COUNT(CORES)) find (.bits(nearest), .any(any), .index(difference));
            always @(posedge clock) begin
                kept <= said;
                if (reset) {waits, served} <= 0;
                else begin
                    waits <= asks & ~(any ? CORES'(1) << chosen : 0);
                    if (any) served <= served + 1'b1;
                end
            end

            // Let through in this cycle, and those of the cycles before; the way as a number, and the access.
            wire [WAY_CYCLES-1:0]           through;
            wire [WAY_CYCLES*(ENTRY+1)-1:0] what;
            wire [1:0]                      chosen_said = said[2*chosen +: 2];
            assign through[0] = any;
            assign what[0 +: ENTRY+1] = {chosen_said[1], HPU'(cluster * CORES) | HPU'(chosen), chosen_said[0]};
            for (stage = 1; stage < WAY_CYCLES; stage = stage + 1) begin : by_stage
                reg             valid;
                reg [ENTRY:0]   entry;
                always @(posedge clock) begin
                    valid <= !reset && through[stage-1];
                    entry <= what[(stage-1)*(ENTRY+1) +: ENTRY+1];
                end
                assign through[stage] = valid;
                assign what[stage*(ENTRY+1) +: ENTRY+1] = entry;
            end
            wire [ENTRY:0] comes = what[WAY_CYCLES*(ENTRY+1)-1 -: ENTRY+1];
            for (way = 0; way < 2; way = way + 1) begin : of_way
                /* verilator lint_off UNUSEDSIGNAL */
                wire room;
                wire [$clog2(CORES+1)-1:0] held;
                /* verilator lint_on UNUSEDSIGNAL */
                // Each core has one access at most.
                queue #(.WIDTH(ENTRY), .DEPTH(CORES)) order (
                    .clock(clock), .reset(reset), .in_valid(through[WAY_CYCLES-1] && comes[ENTRY] == 1'(way)),
                    .in_ready(room), .in_data(comes[ENTRY-1:0]), .out_valid(first_valid[way][cluster]),
                    .out_ready(gets_turn[way][cluster]), .out_data(first[way][cluster*ENTRY +: ENTRY]), .count(held)
                );
            end
        end
        for (cluster = CLUSTERS; cluster < PLACES; cluster = cluster + 1) begin : by_spare
            assign {first_valid[0][cluster], first_valid[1][cluster]} = 0;
            assign {first[0][cluster*ENTRY +: ENTRY], first[1][cluster*ENTRY +: ENTRY]} = 0;
        end
    endgenerate

    // By way: the turns and the queue behind them; what goes when there is a place for it.
    wire [1:0]         has_place, has_next;
    wire [2*ENTRY-1:0] next;
    wire [1:0]         goes = has_place & has_next;
    generate
        for (way = 0; way < 2; way = way + 1) begin : by_way
            reg  [1:0]       held;
            reg  [ENTRY-1:0] older, newer;
            wire             any;
            wire [PLACE-1:0] turn;
            /* verilator lint_off UNUSEDSIGNAL */
            wire [PLACE-1:0] pointer;
            /* verilator lint_on UNUSEDSIGNAL */
            wire             enters = any && (held != 2 || has_place[way]);
            wire [ENTRY-1:0] entering = first[way][turn*ENTRY +: ENTRY];
            wire [1:0]       left = held - 2'(goes[way] && held != 0);
            round_robin #(.COUNT(PLACES)) choose (
                .clock(clock), .reset(reset), .requests(first_valid[way]), .advance(enters), .any(any), .grant(turn),
                .state_pointer(pointer)
            );
            assign gets_turn[way] = enters ? PLACES'(1) << turn : 0;
            assign has_next[way] = held != 0 || any;
            assign next[way*ENTRY +: ENTRY] = held != 0 ? older : entering;
            wire             stays = enters && !(held == 0 && goes[way]);
            always @(posedge clock) begin
                if (goes[way] && held != 0) older <= newer;
                if (stays && left == 0) older <= entering;
                if (stays && left == 1) newer <= entering;
                held <= reset ? 0 : left + 2'(stays);
            end
        end
    endgenerate

    // The port for writes, and atomics that wait behind it: the last write, and the one before.
    wire             takes_write = goes[WRITES_WAY];
    wire             takes_atomic = takes_write && next[WRITES_WAY*ENTRY];
    wire [HPU-1:0]   writer = next[WRITES_WAY*ENTRY + 1 +: HPU];
    reg  [PORT-1:0]   port_left;
    reg  [ATOMIC-1:0] atomic_left;
    reg  [KEEPS-1:0]  keeps_left;
    reg              last_waits, before_waits;
    reg  [HPU-1:0]   last_core, before_core;
    wire             may_begin = atomic_left == 0 && atomic_ready;
    wire             none_waits = !last_waits && !before_waits;
    wire             begins_waiting = may_begin && !none_waits;
    wire             begins_now = may_begin && none_waits && takes_atomic;
    wire             last_stays = last_waits && !(begins_waiting && !before_waits);
    assign has_place[WRITES_WAY] = port_left == 0 && store_ready && !(before_waits && !begins_waiting);
    assign store_valid = takes_write && !takes_atomic;
    assign store_core = writer;
    assign atomic_valid = begins_waiting || begins_now;
    assign atomic_core = before_waits ? before_core : last_waits ? last_core : writer;
    always @(posedge clock) begin
        if (takes_write) {before_core, last_core} <= {last_core, writer};
        if (reset) begin
            {port_left, atomic_left, keeps_left} <= 0;
            {last_waits, before_waits} <= 0;
        end else begin
            if (takes_write) port_left <= PORT'(STORE_CYCLES - 1);
            else if (port_left != 0) port_left <= port_left - 1'b1;
            if (atomic_valid) atomic_left <= ATOMIC'(ATOMIC_CYCLES - 1);
            else if (atomic_left != 0) atomic_left <= atomic_left - 1'b1;
            if (atomic_valid) keeps_left <= KEEPS'(KEEPS_CYCLES - 1);
            else if (keeps_left != 0) keeps_left <= keeps_left - 1'b1;
            before_waits <= takes_write ? last_stays : before_waits && !begins_waiting;
            last_waits <= takes_write ? takes_atomic && !begins_now : last_stays;
        end
    end

    // Handler memory: a load goes, or an answer comes.
    wire                 takes_load = goes[LOADS_WAY];
    wire                 to_packet = next[LOADS_WAY*ENTRY];
    wire [HPU-1:0]       load = next[LOADS_WAY*ENTRY + 1 +: HPU];
    wire                 free = !atomic_valid && keeps_left == 0;
    wire                 any_waits, any_answer;
    wire [UNDER_WAY-1:0] under_way;
    reg  [UNDER_WAY-1:0] ripe;
    reg  [ANSWER_CYCLES-1:0] went;
    reg  [RETURNS-1:0]   answered;
    /* verilator lint_off UNUSEDSIGNAL */
    wire                 waiting_room, under_way_room;
    /* verilator lint_on UNUSEDSIGNAL */
    assign handler_valid = free && any_waits && under_way != UNDER_WAY'(HANDLER_LOADS);
    wire                 handler_goes = handler_valid && handler_ready;
    assign answer_valid = free && !handler_valid && any_answer && (ripe != 0 || went[ANSWER_CYCLES-1]);
    queue_bypass #(.WIDTH(HPU), .DEPTH(LOADS)) waiting (
        .clock(clock), .reset(reset), .in_valid(takes_load && !to_packet), .in_ready(waiting_room), .in_data(load),
        .out_valid(any_waits), .out_ready(handler_goes), .out_data(handler_core)
    );
    queue #(.WIDTH(HPU), .DEPTH(HANDLER_LOADS)) on_way (
        .clock(clock), .reset(reset), .in_valid(handler_goes), .in_ready(under_way_room),
        .in_data(handler_core), .out_valid(any_answer), .out_ready(answer_valid),
        .out_data(answer_core), .count(under_way)
    );
    always @(posedge clock) begin
        went <= reset ? 0 : ANSWER_CYCLES'({went, handler_goes});
        answered <= reset ? 0 : RETURNS'({answered, answer_valid});
        ripe <= reset ? 0 : ripe + UNDER_WAY'(went[ANSWER_CYCLES-1]) - UNDER_WAY'(answer_valid);
    end

    // Packet memory: loads on the way there, and those that are back.
    reg  [PACKET_CYCLES-1:0]          nears;
    reg  [PACKET_CYCLES*HPU-1:0]      near_core;
    reg  [2*PACKET_RETURN_CYCLES-1:0] back;
    /* verilator lint_off UNUSEDSIGNAL */
    wire                              packet_room;
    /* verilator lint_on UNUSEDSIGNAL */
    queue_bypass #(.WIDTH(HPU), .DEPTH(LOADS)) at_packets (
        .clock(clock), .reset(reset), .in_valid(nears[PACKET_CYCLES-1]), .in_ready(packet_room),
        .in_data(near_core[PACKET_CYCLES*HPU-1 -: HPU]), .out_valid(packet_valid), .out_ready(packet_ready),
        .out_data(packet_core)
    );
    always @(posedge clock) begin
        nears <= reset ? 0 : PACKET_CYCLES'({nears, takes_load && to_packet});
        near_core <= (PACKET_CYCLES*HPU)'({near_core, load});
        back <= reset ? 0 : (2*PACKET_RETURN_CYCLES)'({back, packet_reads});
    end

    // A write that was offered and not taken: no load passes then.
    reg              holds_write;
    always @(posedge clock) holds_write <= !reset && has_next[WRITES_WAY] && !goes[WRITES_WAY];

    // Places of loads on their way.
    reg  [COUNT-1:0] places;
    wire [COUNT-1:0] free_places = places + COUNT'(answered[RETURNS-1]) + COUNT'(back[2*PACKET_RETURN_CYCLES-1 -: 2]);
    assign has_place[LOADS_WAY] = free_places != 0 && !holds_write;
    assign state_places = places;
    always @(posedge clock) places <= reset ? COUNT'(LOADS) : free_places - COUNT'(takes_load);
endmodule

`default_nettype wire
