// packet_allocator: room in the L2 packet buffer, in slots of two sizes.
//
// In:      `packet`: the length of a packet that asks for room; `free`: the address of a slot whose
//          packet is done.
// Out:     `packet_ready`, and with it the slot's address, or `packet_drop`: it is longer than any slot.
//          `drops` counts those. `state_free_…`: slots that are free.
// Latency: none, one packet a cycle; a slot freed in cycle t can be given in t + 1.
// How:     a packet of up to SMALL_BYTES takes a small slot, others a large one. With either list empty
//          the input stalls, whatever comes next, as in FPsPIN's. Small slots lie first.
// Source:  FPsPIN paper, section IV; the model's `Slots`.
`default_nettype none

module packet_allocator #(
    // allocator.small_slots, small_bytes, large_slots, large_bytes; at least 2 of each.
    parameter integer SMALL_SLOTS = 1024,
    parameter integer SMALL_BYTES = 128,
    parameter integer LARGE_SLOTS = 256,
    parameter integer LARGE_BYTES = 1536,
    parameter integer LENGTH_BITS = 16
) (
    input  wire                             clock,
    input  wire                             reset,
    input  wire                             packet_valid,
    output wire                             packet_ready,
    input  wire [LENGTH_BITS-1:0]           packet_bytes,
    output wire                             packet_drop,
    output wire [$clog2(SMALL_SLOTS*SMALL_BYTES+LARGE_SLOTS*LARGE_BYTES)-1:0] packet_address,
    input  wire                             free_valid,
    input  wire [$clog2(SMALL_SLOTS*SMALL_BYTES+LARGE_SLOTS*LARGE_BYTES)-1:0] free_address,
    output reg  [31:0]                      drops,
    output wire [$clog2(SMALL_SLOTS+1)-1:0] state_free_small,
    output wire [$clog2(LARGE_SLOTS+1)-1:0] state_free_large
);
    localparam integer LARGE_BASE = SMALL_SLOTS * SMALL_BYTES;
    localparam integer ADDRESS = $clog2(LARGE_BASE + LARGE_SLOTS * LARGE_BYTES);
    localparam integer SMALL = $clog2(LARGE_BASE);
    localparam integer LARGE = $clog2(LARGE_SLOTS * LARGE_BYTES);

    wire             any_small, any_large;
    wire [SMALL-1:0] small_address;
    wire [LARGE-1:0] large_offset;
    wire             is_small = packet_bytes <= LENGTH_BITS'(SMALL_BYTES);
    wire             take = packet_valid && packet_ready && !packet_drop;
    wire             frees_large = free_address >= ADDRESS'(LARGE_BASE);

    assign packet_ready = any_small && any_large;
    assign packet_drop = packet_bytes > LENGTH_BITS'(LARGE_BYTES);
    assign packet_address = is_small ? ADDRESS'(small_address)
        : ADDRESS'(LARGE_BASE) + ADDRESS'(large_offset);

    free_list #(.COUNT(SMALL_SLOTS), .STEP(SMALL_BYTES)) all_small (
        .clock(clock), .reset(reset), .take(take && is_small), .any(any_small),
        .number(small_address), .give(free_valid && !frees_large),
        .give_number(free_address[SMALL-1:0]), .count(state_free_small)
    );
    free_list #(.COUNT(LARGE_SLOTS), .STEP(LARGE_BYTES)) all_large (
        .clock(clock), .reset(reset), .take(take && !is_small), .any(any_large),
        .number(large_offset), .give(free_valid && frees_large),
        .give_number(LARGE'(free_address - ADDRESS'(LARGE_BASE))), .count(state_free_large)
    );

    always @(posedge clock)
        if (reset) drops <= 0;
        else if (packet_valid && packet_ready && packet_drop) drops <= drops + 1;
endmodule

`default_nettype wire
