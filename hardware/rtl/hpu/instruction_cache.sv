// instruction_cache: a cluster's instruction cache, shared by its cores.
//
// In:      of each core a line, asked for in a cycle with `fetch_ready`; from program memory the lines that
//          were asked for, in any order, with `refill_done`.
// Out:     to each core its line, with `line_valid`; to program memory the lines that are missing.
// Latency: a line that is here comes in the next cycle, to as many cores as ask; one that is not is asked for
//          in the cycle of the request, one core's after the other, and comes in the cycle of its refill.
// Waits:   cores that need the same line share its refill. Where all ways of a set wait for their refills, or
//          the chosen one does, nothing is asked for.
// How:     a refill takes the lowest empty way, or else one at random: a shift register for each of four banks
//          of lines. While `enable` is low every line is read past the cache.
// Memory:  tags, read without a register, and lines, each with a copy for each core.
// Source:  PsPIN paper, section III-A; replacement as the published cluster's; the model's `InstructionCache`,
//          which in addition has the lines of cores that wait when it is turned on.
`default_nettype none

module instruction_cache #(
    // Powers of two, at least 2.
    parameter integer CORES = 8,
    parameter integer SETS = 64,
    parameter integer WAYS = 4,
    parameter integer DATA_BITS = 128,
    // Of a line's number.
    parameter integer LINE_BITS = 28
) (
    input  wire                       clock,
    input  wire                       reset,
    input  wire                       enable,
    input  wire [CORES-1:0]           fetch_valid,
    output wire [CORES-1:0]           fetch_ready,
    input  wire [CORES*LINE_BITS-1:0] fetch_line,
    output wire [CORES-1:0]           line_valid,
    output wire [CORES*DATA_BITS-1:0] line_data,
    output wire [CORES-1:0]           line_error,
    output wire                       refill_valid,
    input  wire                       refill_ready,
    output wire [LINE_BITS-1:0]       refill_line,
    input  wire                       refill_done,
    input  wire [LINE_BITS-1:0]       refill_done_line,
    input  wire [DATA_BITS-1:0]       refill_data,
    input  wire                       refill_error
);
    localparam integer SET = $clog2(SETS);
    localparam integer WAY = $clog2(WAYS);
    localparam integer TAG = LINE_BITS - SET;
    localparam integer CORE = $clog2(CORES);

    // Whether a way of a set has a line, and whether that is still on its way.
    reg [SETS*WAYS-1:0]  valid, pending;
    reg [7:0]            random [0:3];

    // Of each core, what it asks for in this cycle and has not been promised yet.
    wire [CORES-1:0]           active, missing;
    wire [CORES*LINE_BITS-1:0] lines;
    reg  [DATA_BITS-1:0]       last_data;
    reg                        last_error;

    // The refill that begins, and where to.
    wire                 any_missing;
    wire [CORE-1:0]      chosen, pointer;
    wire [LINE_BITS-1:0] wanted = lines[chosen*LINE_BITS +: LINE_BITS];
    wire [SET-1:0]       set = wanted[SET-1:0];
    wire [WAYS-1:0]      set_valid = valid[set*WAYS +: WAYS];
    wire [WAYS-1:0]      set_pending = pending[set*WAYS +: WAYS];
    wire                 any_empty;
    wire [WAY-1:0]       empty;
    wire [7:0]           shifted = random[wanted[1:0]];
    wire [7:0]           next_random
        = {shifted[6:0], !(shifted[7] ^ shifted[3] ^ shifted[2] ^ shifted[1])};
    wire [WAY-1:0]       victim = any_empty ? empty : next_random[WAY-1:0];
    wire                 begins = refill_valid && refill_ready;

    round_robin #(.COUNT(CORES)) choose (
        .clock(clock), .reset(reset), .requests(missing), .advance(begins), .any(any_missing),
        .grant(chosen), .state_pointer(pointer)
    );
    first_one #(.COUNT(WAYS)) find_empty (.bits(~set_valid), .any(any_empty), .index(empty));
    assign refill_valid = any_missing && !(enable && set_pending[victim]);
    assign refill_line = wanted;

    // Where the line that comes belongs, if anywhere.
    wire [SET-1:0]  done_set = refill_done_line[SET-1:0];
    wire [WAYS-1:0] done_ways;

    genvar way, core;
    generate
        for (way = 0; way < WAYS; way = way + 1) begin : by_way
            localparam [WAY-1:0] OWN = WAY'(way);
            reg  [TAG-1:0] tags [0:SETS-1];
            wire [CORES-1:0] hits, waits;
            always @(posedge clock)
                if (begins && enable && victim == OWN) tags[set] <= wanted[LINE_BITS-1:SET];
            assign done_ways[way] = refill_done && pending[done_set*WAYS + way]
                && tags[done_set] == refill_done_line[LINE_BITS-1:SET];
            for (core = 0; core < CORES; core = core + 1) begin : by_core
                wire [SET-1:0] own_set = lines[core*LINE_BITS +: SET];
                wire           is_here = enable && valid[own_set*WAYS + way]
                    && tags[own_set] == lines[core*LINE_BITS + SET +: TAG];
                assign hits[core] = is_here && !pending[own_set*WAYS + way];
                assign waits[core] = is_here && pending[own_set*WAYS + way];
            end
        end

        for (core = 0; core < CORES; core = core + 1) begin : by_core
            localparam [CORE-1:0] OWN = CORE'(core);
            reg  [DATA_BITS-1:0] memory [0:SETS*WAYS-1];
            // It waits; its line is on its way.
            reg                  waiting, asked;
            reg  [LINE_BITS-1:0] own_line;
            // Its line comes in this cycle, out of the memory or with the last refill.
            reg                  comes, from_last;
            reg  [DATA_BITS-1:0] read;
            wire [WAYS-1:0]      hits, waits;
            wire                 hit;
            wire [WAY-1:0]       hit_way;
            for (way = 0; way < WAYS; way = way + 1) begin : of_way
                assign hits[way] = by_way[way].hits[core];
                assign waits[way] = by_way[way].waits[core];
            end
            first_one #(.COUNT(WAYS)) find_hit (.bits(hits), .any(hit), .index(hit_way));

            wire                 served = refill_done && refill_done_line == own_line && waiting && asked;
            wire                 is_new = !waiting || served;
            wire [LINE_BITS-1:0] line = is_new ? fetch_line[core*LINE_BITS +: LINE_BITS] : own_line;
            wire takes = fetch_valid[core] && fetch_ready[core];
            // What it asks for is being refilled in this very cycle.
            wire refills_now = active[core] && refill_done && refill_done_line == line;
            wire own_begins = begins && chosen == OWN && missing[core];
            assign lines[core*LINE_BITS +: LINE_BITS] = line;
            assign active[core] = is_new ? fetch_valid[core] : !asked;
            assign missing[core] = active[core] && !hit && waits == 0 && !refills_now;
            assign fetch_ready[core] = is_new;
            assign line_valid[core] = comes || served;
            assign line_data[core*DATA_BITS +: DATA_BITS] = served ? refill_data
                : from_last ? last_data : read;
            assign line_error[core] = served ? refill_error : from_last && last_error;

            always @(posedge clock) begin
                if (refill_done && done_ways != 0) memory[{done_set, done_way}] <= refill_data;
                read <= memory[{line[SET-1:0], hit_way}];
                from_last <= refills_now;
                if (takes) own_line <= fetch_line[core*LINE_BITS +: LINE_BITS];
                if (reset) {waiting, asked, comes} <= 0;
                else begin
                    comes <= active[core] && (hit || refills_now);
                    if (active[core]) waiting <= !(hit || refills_now);
                    else if (served) waiting <= 0;
                    asked <= (asked && !served) || own_begins
                        || (active[core] && waits != 0 && !refills_now);
                end
            end
        end
    endgenerate

    wire           any_done;
    wire [WAY-1:0] done_way;
    first_one #(.COUNT(WAYS)) find_done (.bits(done_ways), .any(any_done), .index(done_way));

    integer bank;
    always @(posedge clock) begin
        last_data <= refill_data;
        last_error <= refill_error;
        if (reset) begin
            valid <= 0;
            pending <= 0;
            for (bank = 0; bank < 4; bank = bank + 1) random[bank] <= 0;
        end else begin
            if (any_done) begin
                pending[{done_set, done_way}] <= 0;
                valid[{done_set, done_way}] <= !refill_error;
            end
            if (begins && enable) begin
                valid[{set, victim}] <= 1;
                pending[{set, victim}] <= 1;
                if (!any_empty) random[wanted[1:0]] <= next_random;
            end
        end
    end

    wire _unused = &{1'b0, pointer, any_empty};
endmodule

`default_nettype wire
