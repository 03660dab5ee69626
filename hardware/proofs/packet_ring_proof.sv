// What a ring of slots promises: what it gives is nobody else's and lies whole within; nothing leaks: with
// all given back it holds nothing and has room for all.
module packet_ring_proof #(
    parameter integer SLOTS = 4
) (
    input wire                       clock,
    input wire                       reset,
    input wire [$clog2(SLOTS+1)-1:0] request_slots,
    input wire                       wanted,
    input wire                       free_valid,
    input wire [$clog2(SLOTS)-1:0]   free_first
);
    localparam integer SLOT = $clog2(SLOTS);
    localparam integer COUNT = $clog2(SLOTS + 1);
    wire             fits;
    wire [SLOT-1:0]  first;
    wire [COUNT-1:0] used;
    reg              begun = 0;
    wire             take = begun && wanted && fits;

    // What was given, by its first slot: how many, 0 for none; and every slot of it.
    reg [COUNT-1:0] given [0:SLOTS-1];
    reg [SLOTS-1:0] outside = 0;
    integer place;
    initial for (place = 0; place < SLOTS; place = place + 1) given[place] = 0;
    wire [COUNT-1:0] free_slots = given[free_first];
    wire [SLOTS-1:0] taken = (~({SLOTS{1'b1}} << request_slots)) << first;
    wire [SLOTS-1:0] freed = (~({SLOTS{1'b1}} << free_slots)) << free_first;

    packet_ring #(.SLOTS(SLOTS)) unit (
        .clock(clock), .reset(reset), .request_slots(request_slots), .take(take), .fits(fits),
        .first(first), .free_valid(free_valid), .free_first(free_first), .free_slots(free_slots),
        .state_used(used)
    );

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (request_slots != 0);
        if (free_valid) assume (begun && free_slots != 0);
        if (take) given[first] <= request_slots;
        if (free_valid && !(take && first == free_first)) given[free_first] <= 0;
        outside <= outside & ~(free_valid ? freed : 0) | (take ? taken : 0);
        if (begun) begin
            if (take) no_overlap: assert ((outside & taken) == 0);
            if (take) within: assert (first + request_slots <= SLOTS);
            if (outside == 0) no_leak: assert (used == 0);
            if (outside == 0 && request_slots <= SLOTS) room: assert (fits);
            if (request_slots > SLOTS) too_much: assert (!fits);
        end
    end
endmodule
