// round_robin: serves one of several requesters, nobody waits for more than COUNT grants.
//
// In:      `requests`, a bit each; `advance`: the grant is taken in this cycle.
// Out:     `any`: somebody asks; `grant`: who is served.
//          `state_pointer`: where the next search begins.
// Latency: none from requests to grant; the pointer moves at the end of a cycle with `advance`.
// How:     among those who ask, the one whose number differs least from the pointer's, the high bits
//          counting first (a tree whose branches follow the pointer's bits where both sides ask).
//          After a grant the pointer moves to the next requester above it, or else to the lowest.
//          With LOCK those who ask in a cycle whose grant is not taken are remembered, and the choice
//          stays among them, and so the same, until it is: whoever comes meanwhile does not count.
// Source:  the arbiter trees of PsPIN's RTL (rr_arb_tree); the model's `RoundRobin`
//          (`MpqEngine::kept_choice` locks).
`default_nettype none

module round_robin #(
    // Requesters; a power of two, at least 2.
    parameter integer COUNT = 8,
    // Whether a grant stays as it is until it is taken.
    parameter integer LOCK = 0
) (
    input  wire                     clock,
    input  wire                     reset,
    input  wire [COUNT-1:0]         requests,
    input  wire                     advance,
    output wire                     any,
    output wire [$clog2(COUNT)-1:0] grant,
    output wire [$clog2(COUNT)-1:0] state_pointer
);
    localparam integer INDEX = $clog2(COUNT);

    reg [INDEX-1:0] pointer;

    // Who counts.
    wire [COUNT-1:0] asks;

    // Requesters by how their number differs from the pointer's.
    wire [COUNT-1:0] nearest;
    wire [COUNT-1:0] above;
    wire [INDEX-1:0] difference;
    wire [INDEX-1:0] next_above;
    wire [INDEX-1:0] lowest;
    wire             any_above;
    wire             any_lowest;

    generate
        if (LOCK != 0) begin : by_lock
            reg             locked;
            reg [COUNT-1:0] kept;
            assign asks = locked ? kept : requests;
            always @(posedge clock) begin
                locked <= !reset && any && !advance;
                kept <= asks;
            end
        end else begin : without
            assign asks = requests;
        end
    endgenerate

    genvar place;
    generate
        for (place = 0; place < COUNT; place = place + 1) begin : by_place
            localparam [INDEX-1:0] PLACE = INDEX'(place);
            assign nearest[place] = asks[PLACE ^ pointer];
        end
    endgenerate

    assign above = asks & ({COUNT{1'b1}} << 1 << pointer);

    first_one #(.COUNT(COUNT)) find_nearest (.bits(nearest), .any(any), .index(difference));
    first_one #(.COUNT(COUNT)) find_above (.bits(above), .any(any_above), .index(next_above));
    first_one #(.COUNT(COUNT)) find_lowest (.bits(asks), .any(any_lowest), .index(lowest));

    assign grant = difference ^ pointer;
    assign state_pointer = pointer;

    always @(posedge clock)
        if (reset) pointer <= 0;
        else if (advance && any_lowest) pointer <= any_above ? next_above : lowest;
endmodule

`default_nettype wire
