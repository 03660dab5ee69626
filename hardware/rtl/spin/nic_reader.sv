// nic_reader: reads bytes of the NIC's memories as lines of a stream, aligned as their destination wants it.
//
// In:      where they begin (an address as cores have it) and how many, at least 1; `start_offset`: their first
//          byte's place in the first line that comes out. Lines of L1 two cycles after a request is taken, of
//          L2 one.
// Out:     requests for the lines that the bytes lie in, and no others; lines with strobes, `out_last` with the last.
//          `fetched`: the last has come in this cycle; it is of L2 if `fetched_far`, and what it has for the last line
//          that comes out goes a cycle later than it could alone if `fetched_late`.
// Latency: a request in the cycle of the start, one a cycle; two cycles later its line is here. Where the bytes move up
//          into a line more than they come from, the next start waits a cycle.
// Memory:  eight lines, read without a register.
// Source:  ours; PsPIN paper, section III-A; the model's `DataPath`.
`default_nettype none

module nic_reader #(
    parameter integer CLUSTERS = 1,
    parameter integer L1_LINE_BITS = 14,
    // Of a line; a power of two.
    parameter integer BYTES = 64,
    parameter integer L2_LINE_BITS = 16,
    parameter integer BYTES_BITS = 22
) (
    input  wire                    clock,
    input  wire                    reset,
    input  wire                    start_valid,
    output wire                    start_ready,
    input  wire [31:0]             start_from,
    input  wire [BYTES_BITS-1:0]   start_bytes,
    input  wire [$clog2(BYTES)-1:0] start_offset,
    output wire [CLUSTERS-1:0]     l1_valid,
    input  wire [CLUSTERS-1:0]     l1_ready,
    output wire [L1_LINE_BITS-1:0] l1_line,
    input  wire [8*BYTES*CLUSTERS-1:0] l1_data,
    output wire [1:0]              l2_valid,
    input  wire [1:0]              l2_ready,
    output wire [L2_LINE_BITS-1:0] l2_line,
    input  wire [16*BYTES-1:0]     l2_data,
    output wire                    fetched,
    output wire                    fetched_far,
    output wire                    fetched_late,
    output wire                    out_valid,
    input  wire                    out_ready,
    output wire [8*BYTES-1:0]      out_data,
    output wire [BYTES-1:0]        out_strobes,
    output wire                    out_last
);
    localparam integer OFFSET = $clog2(BYTES);
    localparam integer BITS = 8 * BYTES;
    localparam integer STEP = BYTES_BITS - OFFSET + 1;
    localparam integer LINES = 8;
    localparam [9:0] FIRST_L1 = 10'h040, PACKET = 10'h071;

    // What is under way, or begins.
    reg                   active;
    reg  [31:0]           from_held;
    reg  [BYTES_BITS-1:0] bytes_held;
    reg  [OFFSET-1:0]     offset_held;
    reg  [STEP-1:0]       step_held;
    wire                  wants = active || start_valid;
    wire [31:0]           from = active ? from_held : start_from;
    wire [BYTES_BITS-1:0] bytes = active ? bytes_held : start_bytes;
    wire [OFFSET-1:0]     offset = active ? offset_held : start_offset;
    wire [STEP-1:0]       step = active ? step_held : 0;

    wire                  down = offset < from[OFFSET-1:0];
    wire [BYTES_BITS:0]   span = (BYTES_BITS + 1)'(offset) + (BYTES_BITS + 1)'(bytes)
        + (BYTES_BITS + 1)'(BYTES - 1);
    wire [BYTES_BITS:0]   read_span = (BYTES_BITS + 1)'(from[OFFSET-1:0]) + (BYTES_BITS + 1)'(bytes)
        + (BYTES_BITS + 1)'(BYTES - 1);
    wire [STEP-1:0]       lines_out = span[BYTES_BITS:OFFSET];
    wire [STEP-1:0]       reads = read_span[BYTES_BITS:OFFSET];
    wire [OFFSET-1:0]     last_place = offset + bytes[OFFSET-1:0] - 1'b1;
    wire                  is_last = step + 1'b1 == (lines_out > reads ? lines_out : reads);
    // Nothing is left to read: what came last has the end of the bytes.
    wire                  is_rest = step == reads;
    wire                  writes = !(down && step == 0);
    // Bytes that move down out of as many lines as they go into: the last line that is read has two.
    wire                  has_tail = down && lines_out == reads;
    wire [BYTES-1:0]      first_strobes = {BYTES{1'b1}} << offset;
    wire [BYTES-1:0]      last_strobes = {BYTES{1'b1}} >> ~last_place;
    wire [BYTES-1:0]      strobes = (step == STEP'(down) ? first_strobes : {BYTES{1'b1}})
        & (is_last && !has_tail ? last_strobes : {BYTES{1'b1}});
    wire [BYTES-1:0]      tail_strobes = (step == 0 ? first_strobes : {BYTES{1'b1}}) & last_strobes;

    // Where it is.
    wire [9:0]          window = from[31:22] - FIRST_L1;
    wire                in_l1 = window < 10'(CLUSTERS);
    wire                is_packet = from[31:22] == PACKET;
    wire [31:OFFSET]    line = from[31:OFFSET] + (32 - OFFSET)'(step);
    assign l1_line = line[OFFSET +: L1_LINE_BITS];
    assign l2_line = line[OFFSET +: L2_LINE_BITS];

    // Room for what comes.
    reg  [3:0] credits;
    wire       may = wants && credits != 0;
    wire       taken;
    genvar cluster;
    wire [CLUSTERS-1:0] here;
    generate
        for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : by_cluster
            assign here[cluster] = in_l1 && window == 10'(cluster);
        end
    endgenerate
    assign l1_valid = may && !is_rest ? here : 0;
    assign l2_valid = {is_packet, !is_packet} & {2{may && !is_rest && !in_l1}};
    assign taken = may && (is_rest || (in_l1 ? (here & l1_ready) != 0 : is_packet ? l2_ready[1] : l2_ready[0]));
    assign start_ready = taken && !active;
    always @(posedge clock) begin
        if (reset) active <= 0;
        else if (taken) active <= !is_last;
        if (taken) {from_held, bytes_held, offset_held, step_held} <= {from, bytes, offset, step + 1'b1};
    end

    // On their way.
    localparam integer ENTRY = 2*BYTES + OFFSET + 6 + CLUSTERS;
    reg  [1:0]          away;
    reg  [2*ENTRY-1:0]  entries;
    reg  [BITS-1:0]     far_line;
    reg                 far_packet;
    wire [BYTES-1:0]    came_strobes, tail_came_strobes;
    wire [OFFSET-1:0]   turn;
    wire                came_last, came_writes, came_tail, came_spare, came_far, came_packet;
    wire [CLUSTERS-1:0] came_from;
    assign {came_strobes, tail_came_strobes, turn, came_last, came_writes, came_tail, came_spare, came_far, came_packet, came_from}
        = entries[2*ENTRY-1 -: ENTRY];
    always @(posedge clock) begin
        away <= reset ? 0 : {away[0], taken};
        entries <= {
            entries[ENTRY-1:0], strobes, tail_strobes, offset - from[OFFSET-1:0], is_last, writes, has_tail && is_last,
            !writes && !has_tail, !in_l1, is_packet, here
        };
        far_packet <= is_packet;
        far_line <= far_packet ? l2_data[BITS +: BITS] : l2_data[0 +: BITS];
    end
    reg [BITS-1:0] near_line;
    integer     number;
    always @* begin
        near_line = 0;
        for (number = 0; number < CLUSTERS; number = number + 1)
            if (came_from[number]) near_line = near_line | l1_data[BITS*number +: BITS];
    end
    wire [BITS-1:0] data = came_far ? far_line : near_line;
    reg  [BITS-1:0] earlier;
    wire [BITS-1:0] turned, merged;
    realign #(.BYTES(BYTES)) move (.data(data), .earlier(earlier), .turn(turn), .turned(turned), .merged(merged));
    always @(posedge clock) if (away[1]) earlier <= turned;
    assign fetched = away[1] && came_last;
    assign fetched_far = came_far;

    // A line has its place in the queue in a cycle; a tail waits for it. The first line of the next that has a tail
    // writes nothing, so that there is one at most, which the lines behind it pass through.
    localparam integer WORD = BITS + BYTES + 1;
    wire            comes = away[1] && came_writes;
    wire            tail_comes = away[1] && came_tail;
    reg             waits;
    reg  [WORD-1:0] waiting;
    wire [WORD-1:0] word = {merged, came_strobes, came_last && !came_tail};
    wire [WORD-1:0] tail = {turned, tail_came_strobes, 1'b1};
    wire            leaves = out_valid && out_ready;
    wire            room;
    wire [3:0]      count;
    queue #(.WIDTH(WORD), .DEPTH(LINES)) lines (
        .clock(clock), .reset(reset), .in_valid(waits || comes || tail_comes), .in_ready(room),
        .in_data(waits ? waiting : comes ? word : tail), .out_valid(out_valid), .out_ready(out_ready),
        .out_data({out_data, out_strobes, out_last}), .count(count)
    );
    assign fetched_late = waits || (comes && tail_comes);
    always @(posedge clock) begin
        waits <= !reset && (waits ? comes || tail_comes : comes && tail_comes);
        if (waits ? comes || tail_comes : comes && tail_comes) waiting <= waits && comes ? word : tail;
    end
    // A line that is only the beginning of the next takes no room.
    always @(posedge clock)
        if (reset) credits <= 4'(LINES);
        else credits <= credits - 4'(taken) + 4'(leaves) + 4'(away[1] && came_spare);

    wire _unused = &{1'b0, span[OFFSET-1:0], read_span[OFFSET-1:0], line, room, count, came_packet, l1_valid};
endmodule

`default_nettype wire
