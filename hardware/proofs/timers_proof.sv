// What the timers promise, of an arbitrary id: none expires before its time, nor one that is not set or was
// cancelled; one that is set expires at the latest a round behind its time, and one cycle or two for each timer
// that was set meanwhile.
module timers_proof #(
    parameter integer IDS = 2,
    parameter integer TIME_BITS = 5
) (
    input wire                   clock,
    input wire                   reset,
    input wire                   set_valid,
    input wire [$clog2(IDS)-1:0] set_id,
    input wire                   cancel_valid,
    input wire [$clog2(IDS)-1:0] cancel_id
);
    localparam integer ID = $clog2(IDS);
    localparam [TIME_BITS-2:0] TIMEOUT = 4;
    // A round, and the cycles in which others are set anew.
    localparam integer ROUND = 3 * IDS;
    (* anyconst *) wire [ID-1:0] one;
    wire           expired_valid;
    wire [ID-1:0]  expired_id;
    wire [IDS-1:0] set;
    reg            begun = 0;
    wire           sets_any = begun && set_valid;

    timers #(.IDS(IDS), .TIME_BITS(TIME_BITS)) unit (
        .clock(clock), .reset(reset), .timeout_cycles(TIMEOUT), .set_valid(sets_any),
        .set_id(set_id), .cancel_valid(begun && cancel_valid), .cancel_id(cancel_id),
        .expired_valid(expired_valid), .expired_id(expired_id), .state_set(set)
    );

    // Whether it runs, for how long, and how long the scan was kept from its work since.
    reg       runs = 0;
    reg [5:0] ran = 0, kept = 0;
    wire      sets = sets_any && set_id == one;
    wire      cancels = cancel_valid && cancel_id == one;
    wire      expires = expired_valid && expired_id == one;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // A timer is set when it is not, and set or cancelled, not both.
        if (sets) assume (!runs && !cancels);
        // Setting for ever would keep the scan from ever comparing.
        assume (kept < 8);
        if (begun) begin
            runs <= sets || (runs && !cancels);
            ran <= sets || expires ? 1 : ran + runs;
            kept <= sets || expires ? 0 : kept + (sets_any ? 2 : 0);
            state: assert (set[one] == runs);
            if (expires) begin
                is_set: assert (runs && !cancels);
                not_early: assert (ran >= TIMEOUT);
            end
            if (runs) in_time: assert (ran <= TIMEOUT + ROUND + kept);
        end
    end
endmodule
