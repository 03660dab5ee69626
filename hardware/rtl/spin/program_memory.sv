// program_memory: the program, read by the clusters' instruction caches and by cores, written by the host.
//
// In:      lines of 16 bytes that a cluster's cache asks for; words that cores load; whole lines of 64 bytes to
//          write.
// Out:     the lines, with `refill_done` of their cluster; the word, a cycle later.
// Latency: a refill that is taken in cycle t comes in t + CYCLES + 1: eight cycles beyond a hit of the cache.
//          The port takes one every PORT_CYCLES.
// How:     round robin over the clusters.
// Memory:  2^BITS bytes in lines of 64, two ports, read with a register.
// Source:  PsPIN paper, section III-A; cycles as published (row cold_line); the model's `Fetches`, without its
//          limit of two refills on their way.
`default_nettype none

module program_memory #(
    // A power of two, at least 2.
    parameter integer CLUSTERS = 2,
    // log2 of program.bytes.
    parameter integer BITS = 15,
    // instruction_cache.miss_cycles, refill_port_cycles.
    parameter integer CYCLES = 8,
    parameter integer PORT_CYCLES = 2
) (
    input  wire                   clock,
    input  wire                   reset,
    input  wire [CLUSTERS-1:0]    refill_valid,
    output wire [CLUSTERS-1:0]    refill_ready,
    input  wire [CLUSTERS*28-1:0] refill_line,
    output wire [CLUSTERS-1:0]    refill_done,
    output wire [27:0]            refill_done_line,
    output wire [127:0]           refill_data,
    output wire                   refill_error,
    input  wire                   load_valid,
    input  wire [BITS-3:0]        load_word,
    output wire [31:0]            load_data,
    input  wire                   write_valid,
    input  wire [BITS-7:0]        write_line,
    input  wire [511:0]           write_data
);
    localparam integer CLUSTER = $clog2(CLUSTERS);
    localparam integer ENTRY = CLUSTER + 28;
    // Of its addresses, what lies above it.
    localparam [31:0] BASE = 32'h1d000000;

    reg  [511:0] memory [0:(1<<(BITS-6))-1];

    wire               any;
    wire [CLUSTER-1:0] chosen;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CLUSTER-1:0] pointer;
    /* verilator lint_on UNUSEDSIGNAL */
    reg  [3:0]         busy;
    wire               takes = any && busy == 0;
    round_robin #(.COUNT(CLUSTERS)) choose (
        .clock(clock), .reset(reset), .requests(refill_valid), .advance(takes), .any(any), .grant(chosen),
        .state_pointer(pointer)
    );
    assign refill_ready = takes ? CLUSTERS'(1) << chosen : 0;

    reg [CYCLES:0]             away;
    reg [ENTRY*(CYCLES+1)-1:0] who;
    wire [27:0]                read_line = who[ENTRY*(CYCLES-1) +: 28];
    reg [511:0]                read, loaded;
    reg [3:0]                  word;
    assign refill_done = away[CYCLES] ? CLUSTERS'(1) << who[ENTRY*CYCLES + 28 +: CLUSTER] : 0;
    assign refill_done_line = who[ENTRY*CYCLES +: 28];
    assign refill_data = read[128*refill_done_line[1:0] +: 128];
    assign refill_error = refill_done_line[27:BITS-4] != BASE[31:BITS];
    assign load_data = loaded[32*word +: 32];

    always @(posedge clock) begin
        busy <= reset ? 0 : takes ? 4'(PORT_CYCLES - 1) : busy == 0 ? 0 : busy - 1'b1;
        away <= reset ? 0 : {away[CYCLES-1:0], takes};
        who <= {who[ENTRY*CYCLES-1:0], chosen, refill_line[chosen*28 +: 28]};
        if (away[CYCLES-1]) read <= memory[read_line[2 +: BITS-6]];
        word <= load_word[3:0];
        if (write_valid) memory[write_line] <= write_data;
        else if (load_valid) loaded <= memory[load_word[BITS-3:4]];
    end

    wire _unused = &{1'b0, read_line};
endmodule

`default_nettype wire
