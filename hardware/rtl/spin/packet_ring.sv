// packet_ring: a ring of slots; room is given in order and freed out of order.
//
// In:      `request_slots`, how many slots in a row are wanted; `take`: they are taken in this cycle.
//          `free_valid`, with the first slot and the number of what is freed.
// Out:     `fits`: there is room; `first`: where. `state_used`: slots held, with those that order and
//          the ring's end keep from others.
// Latency: the answer is combinational; room that is freed in a cycle can be given in the next.
// How:     from the tail on if what is wanted fits before the ring's end, or else from slot 0 on, if it
//          fits in front of the oldest that is held; what is skipped counts as used until the head
//          passes it. The head passes all slots that were freed at once. An empty ring begins at 0.
// Source:  PsPIN paper, section III-B2; the model's `PacketRings`.
`default_nettype none

module packet_ring #(
    // Slots; a power of two, at least 2.
    parameter integer SLOTS = 256
) (
    input  wire                       clock,
    input  wire                       reset,
    input  wire [$clog2(SLOTS+1)-1:0] request_slots,
    input  wire                       take,
    output wire                       fits,
    output wire [$clog2(SLOTS)-1:0]   first,
    input  wire                       free_valid,
    input  wire [$clog2(SLOTS)-1:0]   free_first,
    input  wire [$clog2(SLOTS+1)-1:0] free_slots,
    output wire [$clog2(SLOTS+1)-1:0] state_used
);
    localparam integer SLOT = $clog2(SLOTS);
    localparam integer COUNT = $clog2(SLOTS + 1);
    localparam [COUNT-1:0] ALL = COUNT'(SLOTS);

    reg [SLOTS-1:0] held;
    reg [SLOT-1:0]  head;
    reg [SLOT-1:0]  tail;
    reg [COUNT-1:0] used;

    // Where it would go.
    wire             empty = used == 0;
    wire             unwrapped = tail > head;
    wire [COUNT:0]   tail_end = (COUNT + 1)'(tail) + (COUNT + 1)'(request_slots);
    wire             behind_tail = tail_end <= (COUNT + 1)'(ALL);
    wire             before_head = request_slots <= COUNT'(head);
    wire             between = tail_end <= (COUNT + 1)'(head);
    wire             wraps = !empty && unwrapped && !behind_tail;
    assign fits = empty ? request_slots <= ALL : unwrapped ? behind_tail || before_head : between;
    assign first = empty || wraps ? 0 : tail;
    assign state_used = used;

    // The slots named by a first one and a number.
    wire [SLOTS-1:0] taken = take ? (~({SLOTS{1'b1}} << request_slots)) << first : 0;
    wire [SLOTS-1:0] freed = free_valid ? (~({SLOTS{1'b1}} << free_slots)) << free_first : 0;
    wire [SLOTS-1:0] left = held & ~freed;

    // The oldest slot still held: the first at or above the head, or else the lowest.
    wire            any_above, any_left;
    wire [SLOT-1:0] above, lowest;
    first_one #(.COUNT(SLOTS)) find_above (
        .bits(left & ({SLOTS{1'b1}} << head)), .any(any_above), .index(above)
    );
    first_one #(.COUNT(SLOTS)) find_lowest (.bits(left), .any(any_left), .index(lowest));
    wire [SLOT-1:0]  oldest = any_above ? above : lowest;
    wire [SLOT-1:0]  passed = oldest - head;

    wire [COUNT-1:0] used_left = !free_valid ? used : any_left ? used - COUNT'(passed) : 0;
    wire [COUNT-1:0] skipped = wraps ? ALL - COUNT'(tail) : 0;

    always @(posedge clock)
        if (reset) begin
            held <= 0;
            head <= 0;
            tail <= 0;
            used <= 0;
        end else begin
            held <= left | taken;
            if (take) tail <= SLOT'(COUNT'(first) + request_slots);
            if (take && empty) head <= 0;
            // What is freed while something is taken behind it: the head goes to what is taken.
            else if (free_valid) head <= any_left ? oldest : take ? first : tail;
            used <= !take ? used_left
                : free_valid && !any_left ? request_slots
                : used_left + skipped + request_slots;
        end
endmodule

`default_nettype wire
