// instruction_cache: a cluster's instruction cache, shared by its cores.
//
// In:      of each core a line, asked for in a cycle with `fetch_ready`; `turns_on`, until `turned_on`; from program
//          memory the lines that were asked for, with `refill_done` and whose they are.
// Out:     to each core its line, with `line_valid`; to program memory the lines that are missing.
// Latency: a line that is here comes in the next cycle, to as many cores as ask. For one that is not its core looks for two
//          cycles and waits for its turn at the controller, one core's in a cycle; memory is asked in the cycle behind. Its
//          refill is read from the next cycle on, by its core two cycles behind it. Turning on takes SETS + 2 cycles, of
//          which those behind the second have no turns.
// Waits:   cores that need the same line share its refill; those whose turn comes up to two cycles behind it look again;
//          those that come later have it refilled once more.
// How:     a refill takes the way that its core found empty when it looked, the highest one, or else one that the core
//          draws. Of those that wait for a turn goes the one whose number differs least from a counter's, high bits first.
//          Before it is on, and two cycles into that, lines are read past it, through the same controller.
// Memory:  tags, read without a register, and lines, each with a copy for each core.
// Source:  PsPIN paper, section III-A; the model's `InstructionCache`, as the published icache_bank_mp_128,
//          icache_intc, central_controller_128 and merge_refill_cam_128_16 in its words.
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
    input  wire                       turns_on,
    output wire                       turned_on,
    input  wire [CORES-1:0]           fetch_valid,
    output wire [CORES-1:0]           fetch_ready,
    input  wire [CORES*LINE_BITS-1:0] fetch_line,
    output wire [CORES-1:0]           line_valid,
    output wire [CORES*DATA_BITS-1:0] line_data,
    output wire [CORES-1:0]           line_error,
    output wire                       refill_valid,
    input  wire                       refill_ready,
    output wire [LINE_BITS-1:0]       refill_line,
    output wire [$clog2(CORES)-1:0]   refill_core,
    input  wire                       refill_done,
    input  wire [$clog2(CORES)-1:0]   refill_done_core,
    input  wire [DATA_BITS-1:0]       refill_data,
    input  wire                       refill_error
);
    localparam integer SET = $clog2(SETS);
    localparam integer WAY = $clog2(WAYS);
    localparam integer TAG = LINE_BITS - SET;
    localparam integer CORE = $clog2(CORES);
    localparam integer AGE = $clog2(SETS + 3);
    // Cycles since it began to turn on.
    localparam [AGE-1:0] ON = 2, ALL = AGE'(SETS + 2);
    // What a core does: it has nothing to wait for; it looks; it waits for its turn; for a refill; its line has come, and
    // is the last one; it looks again.
    localparam [2:0] IDLE = 0, LOOKS = 1, STILL_LOOKS = 2, ASKS = 3, WAITS = 4, COMES = 5, AGAIN = 6;

    reg [AGE-1:0] age;
    wire          on = age >= ON;
    assign turned_on = age == ALL;
    wire          stands = (age != 0 || turns_on) && !turned_on;

    // Whether a way of a set has a line's tag, and the line.
    reg [SETS*WAYS-1:0]   held, written;
    reg [DATA_BITS-1:0]   last_data, before_data;
    reg                   last_error, before_error;
    reg [LINE_BITS-1:0]   last_line;
    // It was written in the last cycle but one at most.
    reg [1:0]             is_last;

    // Of each core.
    wire [CORES-1:0]           asking, past;
    wire [CORES*LINE_BITS-1:0] lines, own_lines;
    wire [CORES*WAY-1:0]       places;
    wire [CORES*WAYS-1:0]      masks;

    // Whose turn it is.
    reg  [CORE-1:0]       preferred;
    wire [CORES-1:0]      by_distance;
    wire                  any_asks;
    wire [CORE-1:0]       distance;
    first_one #(.COUNT(CORES)) find_nearest (.bits(by_distance), .any(any_asks), .index(distance));
    wire [CORE-1:0]       chosen = distance ^ preferred;
    wire [LINE_BITS-1:0]  wanted = own_lines[chosen*LINE_BITS +: LINE_BITS];
    wire [SET-1:0]        set = wanted[SET-1:0];
    wire [WAY-1:0]        place = places[chosen*WAY +: WAY];
    wire                  reads_past = past[chosen];
    wire [WAYS-1:0]       same;
    wire                  found;
    wire [WAY-1:0]        found_way;
    first_one #(.COUNT(WAYS)) find_same (.bits(same), .any(found), .index(found_way));
    // Whose refill is what it waits for, too.
    wire [CORES-1:0]      shared;
    wire                  any_shared;
    wire [CORE-1:0]       sharer;
    first_one #(.COUNT(CORES)) find_shared (.bits(shared), .any(any_shared), .index(sharer));
    wire                  shares = !reads_past && any_shared;
    wire                  looks_again = !reads_past && !shares && found && is_last != 0 && last_line == wanted;
    // One that needs a refill has its turn when there is room for the request, and keeps the others waiting.
    wire                  needs = !shares && !looks_again;
    wire                  room;
    wire                  turn = any_asks && !stands && (room || !needs);
    wire                  begins = turn && needs;
    wire                  fills = begins && !reads_past && !(found && found_way == place);

    // What comes, and where it belongs.
    wire [LINE_BITS-1:0] done_line = own_lines[refill_done_core*LINE_BITS +: LINE_BITS];
    wire [SET-1:0]       done_set = done_line[SET-1:0];
    wire [WAY-1:0]       done_place = places[refill_done_core*WAY +: WAY];
    wire [WAYS-1:0]      done_mask = masks[refill_done_core*WAYS +: WAYS];
    wire                 keeps = refill_done && !past[refill_done_core];

    // Requests go on a cycle later, as the published buffer in front of program memory takes two.
    /* verilator lint_off UNUSEDSIGNAL */
    wire [1:0] waiting;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(LINE_BITS + CORE), .DEPTH(2)) refills (
        .clock(clock), .reset(reset), .in_valid(begins), .in_ready(room), .in_data({wanted, chosen}),
        .out_valid(refill_valid), .out_ready(refill_ready), .out_data({refill_line, refill_core}), .count(waiting)
    );

    genvar way, core;
    generate
        for (way = 0; way < WAYS; way = way + 1) begin : by_way
            localparam [WAY-1:0] OWN = WAY'(way);
            reg  [TAG-1:0] tags [0:SETS-1];
            always @(posedge clock)
                if (fills && place == OWN) tags[set] <= wanted[LINE_BITS-1:SET];
            assign same[way] = held[set*WAYS + way] && tags[set] == wanted[LINE_BITS-1:SET];
            wire [CORES-1:0] hits;
            for (core = 0; core < CORES; core = core + 1) begin : of_core
                wire [SET-1:0] own_set = lines[core*LINE_BITS +: SET];
                assign hits[core] = written[own_set*WAYS + way]
                    && tags[own_set] == lines[core*LINE_BITS + SET +: TAG];
            end
        end

        for (core = 0; core < CORES; core = core + 1) begin : by_core
            localparam [CORE-1:0] OWN = CORE'(core);
            reg  [DATA_BITS-1:0] memory [0:SETS*WAYS-1];
            reg  [DATA_BITS-1:0] read;
            reg  [2:0]           state;
            reg  [LINE_BITS-1:0] own_line;
            reg                  is_past, has_refill;
            reg  [WAY-1:0]       own_place;
            reg  [WAYS-1:0]      mask;
            reg  [CORE-1:0]      whose;
            reg  [7:0]           random;
            // Its line comes in this cycle: out of the memory, the last refill's, or the one's before.
            reg                  comes, from_last, from_before;

            wire                 takes = fetch_valid[core] && fetch_ready[core];
            wire                 looks = takes || state == AGAIN;
            wire [LINE_BITS-1:0] line = takes ? fetch_line[core*LINE_BITS +: LINE_BITS] : own_line;
            wire [SET-1:0]       own_set = line[SET-1:0];
            wire [WAYS-1:0]      set_written = written[own_set*WAYS +: WAYS];
            wire [WAYS-1:0]      hits, free_down;
            wire                 hit, any_free;
            wire [WAY-1:0]       hit_way, free_way;
            for (way = 0; way < WAYS; way = way + 1) begin : of_way
                assign hits[way] = by_way[way].hits[core];
                assign free_down[way] = !set_written[WAYS-1-way];
            end
            first_one #(.COUNT(WAYS)) find_hit (.bits(hits), .any(hit), .index(hit_way));
            first_one #(.COUNT(WAYS)) find_free (.bits(free_down), .any(any_free), .index(free_way));
            wire                 gets = looks && on && hit;
            wire                 own_turn = turn && chosen == OWN;
            // The refill that it waits for, or is to wait for, is done.
            wire                 is_done = refill_done
                && (state == WAITS ? refill_done_core == whose : own_turn && shares && refill_done_core == sharer);
            wire                 comes_past = state == WAITS && is_done && is_past;

            assign fetch_ready[core] = state == IDLE;
            assign line_valid[core] = comes;
            assign line_data[core*DATA_BITS +: DATA_BITS] = from_last ? last_data : from_before ? before_data : read;
            assign line_error[core] = (from_last && last_error) || (from_before && before_error);
            assign asking[core] = state == ASKS;
            assign lines[core*LINE_BITS +: LINE_BITS] = line;
            assign own_lines[core*LINE_BITS +: LINE_BITS] = own_line;
            assign past[core] = is_past;
            assign places[core*WAY +: WAY] = own_place;
            assign masks[core*WAYS +: WAYS] = mask;
            assign by_distance[core] = asking[OWN ^ preferred];
            assign shared[core] = has_refill && !is_past && own_line == wanted && found && mask[found_way];

            always @(posedge clock) begin
                if (keeps && done_mask[done_place]) memory[{done_set, done_place}] <= refill_data;
                read <= memory[{own_set, hit_way}];
                from_last <= comes_past;
                from_before <= state == COMES;
                if (takes) own_line <= line;
                if (looks) begin
                    is_past <= !on;
                    own_place <= any_free ? ~free_way : random[WAY:1];
                end
                if (own_turn) whose <= shares ? sharer : OWN;
                if (own_turn && begins) mask <= (WAYS'(1) << place) | (found ? WAYS'(1) << found_way : 0);
                else if (fills && own_line[SET-1:0] == set) mask <= mask & ~(WAYS'(1) << place);
                if (reset) begin
                    {comes, has_refill} <= 0;
                    state <= IDLE;
                    random <= 0;
                end else begin
                    if (looks && on && !hit && !any_free)
                        random <= {random[6:0], !(random[7] ^ random[3] ^ random[2] ^ random[1])};
                    comes <= gets || state == COMES || comes_past;
                    has_refill <= (has_refill && !(refill_done && refill_done_core == OWN)) || (own_turn && begins);
                    if (looks) state <= gets ? IDLE : on ? LOOKS : ASKS;
                    else
                        case (state)
                            LOOKS: state <= STILL_LOOKS;
                            STILL_LOOKS: state <= ASKS;
                            ASKS: if (own_turn) state <= is_done ? COMES : looks_again ? AGAIN : WAITS;
                            WAITS: if (is_done) state <= is_past ? IDLE : COMES;
                            default: state <= IDLE;
                        endcase
                end
            end
        end
    endgenerate

    always @(posedge clock) begin
        {last_data, before_data} <= {refill_done ? refill_data : last_data, last_data};
        {last_error, before_error} <= {refill_done ? refill_error : last_error, last_error};
        if (keeps) last_line <= done_line;
        if (reset) begin
            {age, preferred, is_last} <= 0;
            {held, written} <= 0;
        end else begin
            if (age != ALL && (age != 0 || turns_on)) age <= age + 1'b1;
            if (turn) preferred <= preferred + 1'b1;
            is_last <= {is_last[0], keeps};
            if (keeps) written[done_set*WAYS +: WAYS] <= written[done_set*WAYS +: WAYS] | (refill_error ? 0 : done_mask);
            if (fills) begin
                held[{set, place}] <= 1;
                written[{set, place}] <= 0;
            end
        end
    end

endmodule

`default_nettype wire
