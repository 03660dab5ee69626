// What the instruction cache promises: each core gets, once, the line that it asked for, with what memory has
// there; each core has one refill at most; a line is not asked for again while its way is kept for it; whoever
// waits is served or has something asked for, or soon; a line that has come and was not replaced comes in the next
// cycle; turning on ends.
module instruction_cache_proof #(
    parameter integer CORES = 2,
    parameter integer SETS = 2,
    parameter integer WAYS = 2,
    parameter integer DATA_BITS = 2,
    parameter integer LINE_BITS = 3
) (
    input wire                         clock,
    input wire                         reset,
    input wire                         turns_on,
    input wire [CORES-1:0]             fetch_valid,
    input wire [CORES*LINE_BITS-1:0]   fetch_line,
    input wire                         refill_ready,
    input wire                         refill_done,
    input wire [$clog2(CORES)-1:0]     refill_done_core,
    input wire [DATA_BITS-1:0]         refill_data
);
    localparam integer CORE = $clog2(CORES);
    localparam integer SET = $clog2(SETS);
    // Cycles that nobody does anything for who waits: it looks, for two, and has its turn.
    localparam integer QUIET = 3;
    // A core, a line and what memory has there.
    (* anyconst *) wire [CORE-1:0]      core;
    (* anyconst *) wire [LINE_BITS-1:0] place;
    (* anyconst *) wire [DATA_BITS-1:0] held;
    wire [CORES-1:0]           fetch_ready, line_valid, line_error;
    wire [CORES*DATA_BITS-1:0] line_data;
    wire                       refill_valid, turned_on;
    wire [LINE_BITS-1:0]       refill_line;
    wire [CORE-1:0]            refill_core;
    reg                        begun = 0;
    wire [CORES-1:0]           asks = begun ? fetch_valid : 0;

    instruction_cache #(
        .CORES(CORES), .SETS(SETS), .WAYS(WAYS), .DATA_BITS(DATA_BITS), .LINE_BITS(LINE_BITS)
    ) unit (
        .clock(clock), .reset(reset), .turns_on(turns_on), .turned_on(turned_on), .fetch_valid(asks),
        .fetch_ready(fetch_ready), .fetch_line(fetch_line), .line_valid(line_valid),
        .line_data(line_data), .line_error(line_error), .refill_valid(refill_valid),
        .refill_ready(refill_ready), .refill_line(refill_line), .refill_core(refill_core),
        .refill_done(refill_done), .refill_done_core(refill_done_core), .refill_data(refill_data),
        .refill_error(1'b0)
    );

    // Whose refills are on their way, of which lines; what the core waits for; cycles in which nobody does
    // anything for it.
    reg [CORES-1:0]           away = 0;
    reg [CORES*LINE_BITS-1:0] away_lines = 0;
    reg                       waits = 0, fresh = 0, was_fresh = 0, was_done = 0, asked_on = 0;
    reg [LINE_BITS-1:0]       own = 0;
    reg [3:0]                 idle = 0, turning = 0;
    // Who asked when the cache was on.
    reg [CORES-1:0]           kept = 0;
    // The last refill that was asked for.
    reg                       asked = 0;
    reg [CORE-1:0]            asker = 0;
    reg [LINE_BITS-1:0]       asked_line = 0;
    // Whose refill, asked for when the cache was on, is the last of the followed line's set, and that line's.
    reg                       stays = 0;
    reg [CORE-1:0]            owner = 0;
    wire                      takes = asks[core] && fetch_ready[core];
    wire                      comes = line_valid[core];
    wire                      begins = refill_valid && refill_ready;
    wire                      same_set = refill_line[SET-1:0] == place[SET-1:0];
    wire [LINE_BITS-1:0]      done_line = away_lines[refill_done_core*LINE_BITS +: LINE_BITS];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // Lines come in different cycles, as many apart as the memory's port takes for one.
        was_done <= refill_done;
        if (refill_done) begin
            assume (away[refill_done_core] && !was_done);
            if (done_line == place) assume (refill_data == held);
        end
        asked_on <= turns_on && begun;
        if (asked_on && !turned_on) assume (turns_on);
        if (begun) begin
            if (begins) begin
                away[refill_core] <= 1;
                away_lines[refill_core*LINE_BITS +: LINE_BITS] <= refill_line;
                one_each: assert (!away[refill_core]);
                if (asked && away[asker] && kept[asker] && kept[refill_core])
                    not_again: assert (refill_line != asked_line);
                {asked, asker, asked_line} <= {1'b1, refill_core, refill_line};
                if (same_set) {stays, owner} <= {refill_line == place && kept[refill_core], refill_core};
            end
            if (refill_done) away[refill_done_core] <= 0;
            kept <= turned_on ? kept | (asks & fetch_ready) : kept & ~(asks & fetch_ready);
            if (takes) own <= fetch_line[core*LINE_BITS +: LINE_BITS];
            waits <= takes || (waits && !comes);
            if (comes) begin
                once: assert (waits && !line_error[core]);
                if (own == place) its_data: assert (line_data[core*DATA_BITS +: DATA_BITS] == held);
            end
            if (waits && !comes) one_at_a_time: assert (!fetch_ready[core]);
            idle <= waits && !comes && away == 0 && !refill_valid && (!turns_on || turned_on) ? idle + 1 : 0;
            served: assert (idle <= QUIET);
            turning <= turns_on && !turned_on ? turning + 1 : 0;
            ends: assert (turning <= SETS + 2);
            // Of the line followed: it came, and nothing of its set was asked for behind it. It is read while no
            // request waits, as that may be one of its set.
            fresh <= turned_on && !(refill_valid && same_set)
                && (fresh || (refill_done && done_line == place && stays && refill_done_core == owner));
            was_fresh <= fresh && takes && fetch_line[core*LINE_BITS +: LINE_BITS] == place && !refill_valid;
            if (was_fresh) at_once: assert (comes);
        end
    end
endmodule
