// inbound: the NIC inbound engine: packets from the wire into the packet buffer, and a HER for each.
//
// In:      packets as AXI-Stream, 64 bytes a beat, and with each one's first beat whose it is (`s_axis_tuser`:
//          context, message id, whether it ends the message), as a matching engine in front says; slots that
//          are freed.
// Out:     lines to packet memory; HERs: address in the packet buffer, bytes, and what came with the packet.
//          `drops`: packets too long for any slot.
// Latency: a packet is held until it is whole, then written a line a cycle; its HER comes in the third cycle
//          behind its last line.
// How:     see packet_allocator. A packet waits for its slot, those behind it for it, and at last the wire.
//          Every beat but a packet's last is full.
// Memory:  2^FRAME_BITS lines of packets that wait, read with a register.
// Source:  PsPIN paper, section III-A, FPsPIN paper, section IV; the model's `InboundEngine`.
`default_nettype none

module inbound #(
    parameter integer USER_BITS = 34,
    parameter integer BYTES_BITS = 13,
    // Lines that wait; the longest packet must fit.
    parameter integer FRAME_BITS = 8,
    parameter integer FRAMES = 64,
    parameter integer LINE_BITS = 16,
    // Of a line; a power of two.
    parameter integer BYTES = 64,
    parameter integer SMALL_SLOTS = 1024,
    parameter integer SMALL_BYTES = 128,
    parameter integer LARGE_SLOTS = 256,
    parameter integer LARGE_BYTES = 1536
) (
    input  wire                  clock,
    input  wire                  reset,
    input  wire                  s_axis_tvalid,
    output wire                  s_axis_tready,
    input  wire [8*BYTES-1:0]    s_axis_tdata,
    input  wire [BYTES-1:0]      s_axis_tkeep,
    input  wire                  s_axis_tlast,
    input  wire [USER_BITS-1:0]  s_axis_tuser,
    output wire                  write_valid,
    input  wire                  write_ready,
    output wire [LINE_BITS-1:0]  write_line,
    output wire [8*BYTES-1:0]    write_data,
    output wire                  her_valid,
    input  wire                  her_ready,
    output wire [21:0]           her_address,
    output wire [BYTES_BITS-1:0] her_bytes,
    output wire [USER_BITS-1:0]  her_user,
    input  wire                  free_valid,
    input  wire [21:0]           free_address,
    output wire [31:0]           drops
);
    localparam integer ADDRESS = $clog2(SMALL_SLOTS*SMALL_BYTES + LARGE_SLOTS*LARGE_BYTES);

    localparam integer OFFSET = $clog2(BYTES);

    // Packets come.
    reg [8*BYTES-1:0]      lines [0:(1<<FRAME_BITS)-1];
    reg [FRAME_BITS-1:0]   tail, head;
    reg [FRAME_BITS:0]     held;
    reg [BYTES_BITS-OFFSET-1:0] beats;
    reg                    begun;
    reg [USER_BITS-1:0]    user_held;
    wire [USER_BITS-1:0]   user = begun ? user_held : s_axis_tuser;
    wire                   frame_room, has_frame, frame_done;
    wire                   comes = s_axis_tvalid && s_axis_tready;
    integer                place;
    reg [OFFSET:0]         kept;
    always @* begin
        kept = 0;
        for (place = 0; place < BYTES; place = place + 1) kept = kept + (OFFSET + 1)'(s_axis_tkeep[place]);
    end
    wire [BYTES_BITS-1:0]  length = {beats, {OFFSET{1'b0}}} + BYTES_BITS'(kept);
    assign s_axis_tready = !held[FRAME_BITS] && frame_room;

    wire [BYTES_BITS-1:0]  bytes;
    wire [USER_BITS-1:0]   frame_user;
    wire [2:0]             her_count;
    /* verilator lint_off UNUSEDSIGNAL */
    wire                   her_room;
    wire [$clog2(FRAMES+1)-1:0] frame_count;
    wire [$clog2(SMALL_SLOTS+1)-1:0] small_count;
    wire [$clog2(LARGE_SLOTS+1)-1:0] large_count;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(BYTES_BITS + USER_BITS), .DEPTH(FRAMES)) frames (
        .clock(clock), .reset(reset), .in_valid(comes && s_axis_tlast), .in_ready(frame_room),
        .in_data({length, user}), .out_valid(has_frame), .out_ready(frame_done),
        .out_data({bytes, frame_user}), .count(frame_count)
    );

    // They are read, and written to their slots in the cycle behind.
    reg                    active, active_drops;
    reg  [ADDRESS-1:0]     base;
    reg  [BYTES_BITS-OFFSET-1:0] step;
    wire                   slot_ready, slot_drops;
    wire [ADDRESS-1:0]     slot;
    wire                   pipe_moves = !write_valid || write_ready;
    wire                   begins = has_frame && !active && slot_ready && her_count < 3 && pipe_moves;
    wire                   reads = begins || (active && pipe_moves);
    wire [BYTES_BITS-OFFSET-1:0] at = active ? step : 0;
    wire [BYTES_BITS-1:0]  whole = bytes + BYTES_BITS'(BYTES - 1);
    wire                   is_last = at + 1'b1 == whole[BYTES_BITS-1:OFFSET];
    wire [ADDRESS-1:0]     own_base = active ? base : slot;
    wire                   own_drops = active ? active_drops : slot_drops;
    assign frame_done = reads && is_last;
    packet_allocator #(
        .SMALL_SLOTS(SMALL_SLOTS), .SMALL_BYTES(SMALL_BYTES), .LARGE_SLOTS(LARGE_SLOTS),
        .LARGE_BYTES(LARGE_BYTES), .LENGTH_BITS(BYTES_BITS)
    ) allocator (
        .clock(clock), .reset(reset), .packet_valid(begins), .packet_ready(slot_ready),
        .packet_bytes(bytes), .packet_drop(slot_drops), .packet_address(slot),
        .free_valid(free_valid), .free_address(free_address[ADDRESS-1:0]), .drops(drops),
        .state_free_small(small_count), .state_free_large(large_count)
    );

    reg                    written;
    reg                    written_last;
    reg  [8*BYTES-1:0]     line;
    reg  [ADDRESS-1:OFFSET] line_address;
    reg  [ADDRESS-1:0]     written_base;
    reg  [BYTES_BITS-1:0]  written_bytes;
    reg  [USER_BITS-1:0]   written_user;
    assign write_valid = written;
    assign write_line = LINE_BITS'(line_address);
    assign write_data = line;
    always @(posedge clock) begin
        if (comes) lines[tail] <= s_axis_tdata;
        if (reads) begin
            line <= lines[head];
            line_address <= own_base[ADDRESS-1:OFFSET] + (ADDRESS - OFFSET)'(at);
            {written_last, written_base, written_bytes, written_user} <= {is_last, own_base, bytes, frame_user};
            {base, active_drops, step} <= {own_base, own_drops, at + 1'b1};
        end
        if (comes) user_held <= user;
        if (reset) {tail, head, held, beats, begun, active, written} <= 0;
        else begin
            if (comes) begin
                tail <= tail + 1'b1;
                begun <= !s_axis_tlast;
                beats <= s_axis_tlast ? 0 : beats + 1'b1;
            end
            if (reads) begin
                head <= head + 1'b1;
                active <= !is_last;
            end
            held <= held + (FRAME_BITS + 1)'(comes) - (FRAME_BITS + 1)'(reads);
            if (pipe_moves) written <= reads && !own_drops;
        end
    end
    queue #(.WIDTH(22 + BYTES_BITS + USER_BITS), .DEPTH(4)) hers (
        .clock(clock), .reset(reset), .in_valid(written && write_ready && written_last), .in_ready(her_room),
        .in_data({22'(written_base), written_bytes, written_user}), .out_valid(her_valid),
        .out_ready(her_ready), .out_data({her_address, her_bytes, her_user}), .count(her_count)
    );

    wire _unused = &{1'b0, whole[OFFSET-1:0], free_address};
endmodule

`default_nettype wire
