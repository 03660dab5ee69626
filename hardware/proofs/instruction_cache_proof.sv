// What the instruction cache promises: each core gets, once, the line that it asked for, with what memory has
// there; a line that is on its way is not asked for again; whoever waits is served or has something asked for;
// a line that has come and was not replaced comes in the next cycle.
module instruction_cache_proof #(
    parameter integer CORES = 2,
    parameter integer SETS = 2,
    parameter integer WAYS = 2,
    parameter integer DATA_BITS = 2,
    parameter integer LINE_BITS = 3
) (
    input wire                       clock,
    input wire                       reset,
    input wire [CORES-1:0]           fetch_valid,
    input wire [CORES*LINE_BITS-1:0] fetch_line,
    input wire                       refill_ready,
    input wire                       refill_done,
    input wire [LINE_BITS-1:0]       refill_done_line,
    input wire [DATA_BITS-1:0]       refill_data
);
    localparam integer CORE = $clog2(CORES);
    localparam integer LINES = 1 << LINE_BITS;
    // A core, a line and what memory has there, and whether the cache is on.
    (* anyconst *) wire [CORE-1:0]      core;
    (* anyconst *) wire [LINE_BITS-1:0] place;
    (* anyconst *) wire [DATA_BITS-1:0] held;
    (* anyconst *) wire                 enable;
    wire [CORES-1:0]           fetch_ready, line_valid, line_error;
    wire [CORES*DATA_BITS-1:0] line_data;
    wire                       refill_valid;
    wire [LINE_BITS-1:0]       refill_line;
    reg                        begun = 0;
    wire [CORES-1:0]           asks = begun ? fetch_valid : 0;

    instruction_cache #(
        .CORES(CORES), .SETS(SETS), .WAYS(WAYS), .DATA_BITS(DATA_BITS), .LINE_BITS(LINE_BITS)
    ) unit (
        .clock(clock), .reset(reset), .enable(enable), .fetch_valid(asks),
        .fetch_ready(fetch_ready), .fetch_line(fetch_line), .line_valid(line_valid),
        .line_data(line_data), .line_error(line_error), .refill_valid(refill_valid),
        .refill_ready(refill_ready), .refill_line(refill_line), .refill_done(refill_done),
        .refill_done_line(refill_done_line), .refill_data(refill_data), .refill_error(1'b0)
    );

    // Lines on their way; what the core waits for; cycles in which nobody does anything for it.
    reg [LINES-1:0]     away = 0;
    reg                 waits = 0, fresh = 0, was_fresh = 0;
    reg [LINE_BITS-1:0] own = 0;
    reg [1:0]           idle = 0;
    wire                takes = asks[core] && fetch_ready[core];
    wire                comes = line_valid[core];
    wire                begins = refill_valid && refill_ready;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (refill_done) begin
            assume (away[refill_done_line]);
            if (refill_done_line == place) assume (refill_data == held);
        end
        if (begun) begin
            if (begins) begin
                away[refill_line] <= 1;
                if (enable) shared: assert (!away[refill_line]);
            end
            if (refill_done && !(begins && refill_line == refill_done_line)) away[refill_done_line] <= 0;
            if (takes) own <= fetch_line[core*LINE_BITS +: LINE_BITS];
            waits <= takes || (waits && !comes);
            if (comes) begin
                once: assert (waits && !line_error[core]);
                if (own == place) its_data: assert (line_data[core*DATA_BITS +: DATA_BITS] == held);
            end
            if (waits && !comes) one_at_a_time: assert (!fetch_ready[core]);
            idle <= waits && !comes && away == 0 && !refill_valid ? idle + 1 : 0;
            served: assert (idle <= 1);
            // Of the line followed: it came, and nothing was asked for since.
            fresh <= enable && !begins && (fresh || (refill_done && refill_done_line == place));
            was_fresh <= fresh && takes && fetch_line[core*LINE_BITS +: LINE_BITS] == place;
            if (was_fresh) at_once: assert (comes);
        end
    end
endmodule
