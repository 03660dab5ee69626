// What the packet allocator promises, of two arbitrary packets: their slots do not overlap while both are
// held, are large enough and lie within the buffer; what is freed is free: slots held and free are all
// there are; it stalls only while a list is empty; every packet that is too long, and no other, is dropped.
module packet_allocator_proof (
    input wire       clock,
    input wire       reset,
    input wire       packet_valid,
    input wire [2:0] packet_bytes,
    input wire       free_wanted,
    input wire [3:0] free_address,
    // The solver marks two packets among all.
    input wire       mark,
    input wire       mark_other
);
    localparam integer SMALL_SLOTS = 2, SMALL_BYTES = 2, LARGE_SLOTS = 2, LARGE_BYTES = 6;
    wire        packet_ready, packet_drop;
    wire [3:0]  packet_address;
    wire [31:0] drops;
    wire [1:0]  free_small, free_large;
    reg         begun = 0;
    // Slots held, by the address where they begin.
    reg [15:0]  given = 0;
    wire        free_valid = begun && free_wanted && given[free_address];

    packet_allocator #(
        .SMALL_SLOTS(SMALL_SLOTS), .SMALL_BYTES(SMALL_BYTES), .LARGE_SLOTS(LARGE_SLOTS),
        .LARGE_BYTES(LARGE_BYTES), .LENGTH_BITS(3)
    ) unit (
        .clock(clock), .reset(reset), .packet_valid(packet_valid), .packet_ready(packet_ready),
        .packet_bytes(packet_bytes), .packet_drop(packet_drop), .packet_address(packet_address),
        .free_valid(free_valid), .free_address(free_address), .drops(drops),
        .state_free_small(free_small), .state_free_large(free_large)
    );

    wire takes = begun && packet_valid && packet_ready && !packet_drop;
    wire [4:0] end_of_it = {1'b0, packet_address} + packet_bytes;
    reg        held = 0, other_held = 0;
    reg [3:0]  first = 0, other_first = 0;
    reg [4:0]  behind = 0, other_behind = 0;
    reg [2:0]  small_held = 0, large_held = 0;
    wire       is_small = packet_bytes <= SMALL_BYTES;
    wire       frees_small = free_address < SMALL_SLOTS * SMALL_BYTES;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (free_valid) given[free_address] <= 0;
        if (takes) given[packet_address] <= 1;
        small_held <= small_held + (takes && is_small) - (free_valid && frees_small);
        large_held <= large_held + (takes && !is_small) - (free_valid && !frees_small);
        if (free_valid && free_address == first) held <= 0;
        if (free_valid && free_address == other_first) other_held <= 0;
        if (takes && mark && !held) {held, first, behind} <= {1'b1, packet_address, end_of_it};
        else if (takes && mark_other && !other_held)
            {other_held, other_first, other_behind} <= {1'b1, packet_address, end_of_it};
        if (begun) begin
            if (takes) begin
                within: assert (end_of_it <= 16);
                nobody_elses: assert (!given[packet_address]);
                of_its_size: assert (is_small == (packet_address < SMALL_SLOTS * SMALL_BYTES));
            end
            if (held && other_held)
                no_overlap: assert (behind <= other_first || other_behind <= first);
            no_leak: assert (free_small + small_held == SMALL_SLOTS);
            no_large_leak: assert (free_large + large_held == LARGE_SLOTS);
            stalls: assert (packet_ready == (small_held < SMALL_SLOTS && large_held < LARGE_SLOTS));
            if (packet_valid) drop: assert (packet_drop == (packet_bytes > LARGE_BYTES));
        end
    end
endmodule
