// program_memory: the program, read by the clusters' instruction caches and by cores, written by the host.
//
// In:      lines of 16 bytes that a cluster's cache asks for, and for which core; words that cores load; whole lines of 64
//          bytes to write.
// Out:     the lines, with `refill_done` of their cluster and the core; the word, a cycle later.
// Latency: a refill that is taken in cycle t comes in t + CYCLES - 5, so that what a core asks its cache for comes CYCLES
//          cycles later than a line that the cache has. The port reads one every PORT_CYCLES.
// How:     one is taken in each cycle, round robin over the clusters, into a queue in front of the port.
// Memory:  2^BITS bytes in lines of 64, two ports, read with a register.
// Source:  PsPIN paper, section III-A; cycles as published (row cold_line); the model's `QueuedPort`, as axi_mux, the
//          queue of axi_to_mem and prog_mem in its words.
`default_nettype none

module program_memory #(
    // Powers of two, at least 2.
    parameter integer CLUSTERS = 2,
    parameter integer CORES = 2,
    // log2 of program.bytes.
    parameter integer BITS = 15,
    // instruction_cache.miss_cycles, at least 8; refill_port_cycles, at least 2.
    parameter integer CYCLES = 8,
    parameter integer PORT_CYCLES = 2
) (
    input  wire                              clock,
    input  wire                              reset,
    input  wire [CLUSTERS-1:0]               refill_valid,
    output wire [CLUSTERS-1:0]               refill_ready,
    input  wire [CLUSTERS*28-1:0]            refill_line,
    input  wire [CLUSTERS*$clog2(CORES)-1:0] refill_core,
    output wire [CLUSTERS-1:0]               refill_done,
    output wire [$clog2(CORES)-1:0]          refill_done_core,
    output wire [127:0]                      refill_data,
    output wire                              refill_error,
    input  wire                              load_valid,
    input  wire [BITS-3:0]                   load_word,
    output wire [31:0]                       load_data,
    input  wire                              write_valid,
    input  wire [BITS-7:0]                   write_line,
    input  wire [511:0]                      write_data
);
    localparam integer CLUSTER = $clog2(CLUSTERS);
    localparam integer CORE = $clog2(CORES);
    localparam integer ENTRY = CLUSTER + CORE + 28;
    // Cycles from the port's turn to the line.
    localparam integer STAGES = CYCLES - 6;
    // Of its addresses, what lies above it.
    localparam [31:0] BASE = 32'h1d000000;

    reg  [511:0] memory [0:(1<<(BITS-6))-1];

    // Who enters the queue. Each core has one refill at a time, so there is room.
    wire               any;
    wire [CLUSTER-1:0] chosen;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CLUSTER-1:0] pointer;
    wire               room;
    wire [$clog2(CLUSTERS*CORES+1)-1:0] waiting;
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(CLUSTERS)) choose (
        .clock(clock), .reset(reset), .requests(refill_valid), .advance(any), .any(any), .grant(chosen),
        .state_pointer(pointer)
    );
    assign refill_ready = any ? CLUSTERS'(1) << chosen : 0;
    wire             first;
    wire [ENTRY-1:0] first_entry;
    reg  [3:0]       busy;
    wire             reads = first && busy == 0;
    queue #(.WIDTH(ENTRY), .DEPTH(CLUSTERS * CORES)) refills (
        .clock(clock), .reset(reset), .in_valid(any), .in_ready(room),
        .in_data({chosen, refill_core[chosen*CORE +: CORE], refill_line[chosen*28 +: 28]}), .out_valid(first),
        .out_ready(busy == 0), .out_data(first_entry), .count(waiting)
    );

    reg [STAGES-1:0]       away;
    reg [ENTRY*STAGES-1:0] who;
    wire [ENTRY-1:0]       read_entry = who[ENTRY*(STAGES-2) +: ENTRY];
    wire [ENTRY-1:0]       done_entry = who[ENTRY*(STAGES-1) +: ENTRY];
    reg [511:0]            read, loaded;
    reg [3:0]              word;
    assign refill_done = away[STAGES-1] ? CLUSTERS'(1) << done_entry[28 + CORE +: CLUSTER] : 0;
    assign refill_done_core = done_entry[28 +: CORE];
    assign refill_data = read[128*done_entry[1:0] +: 128];
    assign refill_error = done_entry[27:BITS-4] != BASE[31:BITS];
    assign load_data = loaded[32*word +: 32];

    always @(posedge clock) begin
        busy <= reset ? 0 : reads ? 4'(PORT_CYCLES - 1) : busy == 0 ? 0 : busy - 1'b1;
        away <= reset ? 0 : {away[STAGES-2:0], reads};
        who <= {who[ENTRY*(STAGES-1)-1:0], first_entry};
        if (away[STAGES-2]) read <= memory[read_entry[2 +: BITS-6]];
        word <= load_word[3:0];
        if (write_valid) memory[write_line] <= write_data;
        else if (load_valid) loaded <= memory[load_word[BITS-3:4]];
    end

    wire _unused = &{1'b0, read_entry, done_entry};
endmodule

`default_nettype wire
