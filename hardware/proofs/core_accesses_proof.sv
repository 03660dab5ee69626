// What the order of the cores' accesses to L2 promises: an access is served once, as what it is, no sooner than its way takes, and
// if it is alone in that cycle; a cluster's writes keep their order; not more loads are on their way than may be; stores and
// atomics keep their distance, and atomics keep loads off.
module core_accesses_proof #(
    parameter integer CLUSTERS = 2,
    parameter integer CORES = 2,
    parameter integer LOADS = 2,
    parameter integer HANDLER_LOADS = 2,
    parameter integer WAY_CYCLES = 1,
    parameter integer PACKET_CYCLES = 1,
    parameter integer ANSWER_CYCLES = 1,
    parameter integer STORE_CYCLES = 2,
    parameter integer ATOMIC_CYCLES = 3,
    parameter integer KEEPS_CYCLES = 2
) (
    input wire       clock,
    input wire       reset,
    input wire [3:0] asks,
    input wire [7:0] kinds,
    input wire       handler_ready,
    input wire       packet_ready,
    input wire       store_ready,
    input wire       atomic_ready,
    input wire       reads_packet
);
    localparam integer HPUS = CLUSTERS * CORES;
    // A core, and the other of its cluster.
    (* anyconst *) wire [1:0] one;
    wire [1:0]      other = one ^ 2'd1;
    reg             begun = 0;
    // By core: under way, at handler memory; and its kind.
    reg  [HPUS-1:0] busy = 0, gone = 0;
    reg  [7:0]      kind = 0;
    wire [HPUS-1:0] ask_valid = begun ? asks & ~busy : 0;
    // Loads that packet memory has not read; loads at handler memory.
    reg  [2:0]      unread = 0, under_way = 0;
    wire            packet_reads = reads_packet && unread != 0;
    wire            handler_valid, answer_valid, packet_valid, store_valid, atomic_valid;
    wire [1:0]      handler_core, answer_core, packet_core, store_core, atomic_core, state_places;

    core_accesses #(
        .CLUSTERS(CLUSTERS), .CORES(CORES), .LOADS(LOADS), .HANDLER_LOADS(HANDLER_LOADS), .WAY_CYCLES(WAY_CYCLES),
        .PACKET_CYCLES(PACKET_CYCLES), .PACKET_RETURN_CYCLES(1), .ANSWER_CYCLES(ANSWER_CYCLES),
        .RETURN_CYCLES(ANSWER_CYCLES + 1), .STORE_CYCLES(STORE_CYCLES), .ATOMIC_CYCLES(ATOMIC_CYCLES),
        .KEEPS_CYCLES(KEEPS_CYCLES)
    ) unit (
        .clock(clock), .reset(reset), .ask_valid(ask_valid), .ask_kind(kinds),
        .handler_valid(handler_valid), .handler_ready(handler_ready), .handler_core(handler_core),
        .answer_valid(answer_valid), .answer_core(answer_core), .packet_valid(packet_valid),
        .packet_ready(packet_ready), .packet_core(packet_core), .packet_reads({1'b0, packet_reads}),
        .store_valid(store_valid), .store_ready(store_ready), .store_core(store_core),
        .atomic_valid(atomic_valid), .atomic_ready(atomic_ready), .atomic_core(atomic_core),
        .state_places(state_places)
    );

    wire handler_goes = handler_valid && handler_ready;
    wire packet_goes = packet_valid && packet_ready;
    wire [HPUS-1:0] served = (answer_valid ? 4'd1 << answer_core : 0) | (packet_goes ? 4'd1 << packet_core : 0)
        | (store_valid ? 4'd1 << store_core : 0) | (atomic_valid ? 4'd1 << atomic_core : 0);
    // Cycles since the last store, and since the last atomic began, up to 7; of both cores' accesses; whether one is all there was, and
    // everybody ready.
    reg [2:0] after_store = 7, after_atomic = 7, age = 0, other_age = 0;
    reg       alone = 1;
    wire      all_ready = handler_ready && packet_ready && store_ready && atomic_ready;
    wire [1:0] own_kind = kind[2*one +: 2], other_kind = kind[2*other +: 2];
    localparam [2:0] ANSWERS = WAY_CYCLES + ANSWER_CYCLES, AT_PACKETS = WAY_CYCLES + PACKET_CYCLES;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            busy <= (busy | ask_valid) & ~served;
            gone <= (gone | (handler_goes ? 4'd1 << handler_core : 0)) & ~served;
            if (ask_valid[0]) kind[1:0] <= kinds[1:0];
            if (ask_valid[1]) kind[3:2] <= kinds[3:2];
            if (ask_valid[2]) kind[5:4] <= kinds[5:4];
            if (ask_valid[3]) kind[7:6] <= kinds[7:6];
            unread <= unread + packet_goes - packet_reads;
            under_way <= under_way + handler_goes - answer_valid;
            after_store <= store_valid ? 1 : after_store == 7 ? 7 : after_store + 1;
            after_atomic <= atomic_valid ? 1 : after_atomic == 7 ? 7 : after_atomic + 1;
            if (ask_valid != 0 && (ask_valid != 4'd1 << one || age != 0)) alone <= 0;
            if (!all_ready) alone <= 0;
            age <= ask_valid[one] ? 1 : age == 0 || age == 7 ? age : age + 1;
            other_age <= ask_valid[other] ? 1 : other_age == 0 || other_age == 7 ? other_age : other_age + 1;

            asked: assert ((served & ~busy) == 0);
            if (handler_valid) goes_once: assert (busy[handler_core] && !gone[handler_core] && kind[2*handler_core +: 2] == 0);
            if (answer_valid) has_gone: assert (gone[answer_core]);
            if (packet_valid) to_packets: assert (busy[packet_core] && kind[2*packet_core +: 2] == 1);
            if (store_valid) stores: assert (kind[2*store_core +: 2] == 2);
            if (atomic_valid) changes: assert (kind[2*atomic_core +: 2] == 3 && atomic_ready);
            if (busy[one] && served[one]) no_sooner: assert (age >= WAY_CYCLES);
            if (busy[one] && alone && all_ready) at_once: assert (served[one] == (age == (own_kind[1] ? WAY_CYCLES
                : own_kind[0] ? AT_PACKETS : ANSWERS)));
            if (busy[one] && busy[other] && age > other_age + 1 && age != 7 && own_kind == 3 && other_kind == 3)
                in_order: assert (!served[other]);
            few_loads: assert (unread + under_way <= LOADS && under_way <= HANDLER_LOADS);
            goes_or_comes: assert (!handler_goes || !answer_valid);
            if (store_valid) stores_apart: assert (after_store >= STORE_CYCLES);
            if (atomic_valid) atomics_apart: assert (after_atomic >= ATOMIC_CYCLES);
            if (handler_valid || answer_valid) kept_off: assert (!atomic_valid && after_atomic >= KEEPS_CYCLES);
        end
    end
endmodule
