// off_cluster_dma: copies between the NIC's memories and the host's, and words that handlers write there.
//
// In:      copies of a byte at least (`command_…`) and words of up to 8 bytes (`direct_…`), each with a tag; lines of the NIC's
//          memories; lines of the host, in the order in which they were asked for.
// Out:     lines to the host with strobes, requests for its lines; lines to the NIC's memories; the tags
//          of what is done: of words, of copies to the host, of copies from it, each in order.
// Latency: in an idle engine, with a host that answers at once: a word 3 cycles, a copy to the host 14 and its
//          beats, from the host 15 and its beats, two more from or to L2; a beat a cycle.
// How:     no more than COMMANDS copies of a direction are under way, which is the command unit's affair; a word stays as
//          it is until it is taken.
// Memory:  queues of commands and lines, read without a register.
// Source:  PsPIN paper, section III-A; RTL soc_dma_wrap, one engine for each direction; cycles as published;
//          the model's `OffClusterDma` and `HostInterface`.
`default_nettype none

module off_cluster_dma #(
    parameter integer CLUSTERS = 1,
    parameter integer TAG_BITS = 4,
    parameter integer COMMANDS = 7,
    parameter integer L1_LINE_BITS = 14,
    parameter integer L2_LINE_BITS = 16,
    parameter integer BYTES_BITS = 22,
    // Of a line; a power of two, at least 8.
    parameter integer BYTES = 64,
    // From a word, from a copy's last line, from the first request to the host; to and from L2 beside.
    parameter [7:0]   DIRECT_CYCLES = 3,
    parameter [7:0]   TO_HOST_CYCLES = 13,
    parameter [7:0]   FROM_HOST_CYCLES = 15,
    parameter [7:0]   FAR_CYCLES = 2
) (
    input  wire                    clock,
    input  wire                    reset,
    input  wire [7:0]              now,
    input  wire                    command_valid,
    output wire                    command_ready,
    input  wire [TAG_BITS-1:0]     command_tag,
    input  wire                    command_to_host,
    input  wire [63:0]             command_host,
    input  wire [31:0]             command_nic,
    input  wire [BYTES_BITS-1:0]   command_bytes,
    input  wire                    direct_valid,
    output wire                    direct_ready,
    input  wire [TAG_BITS-1:0]     direct_tag,
    input  wire [63:0]             direct_host,
    input  wire [3:0]              direct_bytes,
    input  wire [63:0]             direct_data,
    output wire [2:0]              done_valid,
    input  wire [2:0]              done_ready,
    output wire [3*TAG_BITS-1:0]   done_tag,
    output wire [CLUSTERS-1:0]     l1_valid,
    input  wire [CLUSTERS-1:0]     l1_ready,
    output wire [L1_LINE_BITS-1:0] l1_line,
    input  wire [8*BYTES*CLUSTERS-1:0] l1_data,
    output wire [1:0]              l2_valid,
    input  wire [1:0]              l2_ready,
    output wire [L2_LINE_BITS-1:0] l2_line,
    input  wire [16*BYTES-1:0]     l2_data,
    // Lines to the NIC's memories: by the high bits of `write_line`.
    output wire                    write_valid,
    input  wire                    write_ready,
    output wire [31:$clog2(BYTES)] write_line,
    output wire [8*BYTES-1:0]      write_data,
    output wire [BYTES-1:0]        write_strobes,
    output wire                    host_write_valid,
    input  wire                    host_write_ready,
    output wire [63:$clog2(BYTES)] host_write_line,
    output wire [8*BYTES-1:0]      host_write_data,
    output wire [BYTES-1:0]        host_write_strobes,
    output wire                    host_read_valid,
    input  wire                    host_read_ready,
    output wire [63:$clog2(BYTES)] host_read_line,
    input  wire                    host_answer_valid,
    input  wire [8*BYTES-1:0]      host_answer_data
);
    localparam integer INFO = TAG_BITS + 64 + 32 + BYTES_BITS;
    localparam integer OFFSET = $clog2(BYTES);
    localparam integer BITS = 8 * BYTES;
    localparam integer HOST_LINE = 64 - OFFSET;
    // Of a copy's lines.
    localparam integer STEP = BYTES_BITS - OFFSET + 1;

    // To the host: its lines begin at `targets`.
    wire                to_waits, to_ready, from_waits, from_ready, from_takes;
    wire [TAG_BITS-1:0] to_tag, to_done_tag;
    wire [63:0]         to_host;
    wire [31:0]         to_nic;
    wire [BYTES_BITS-1:0] to_bytes;
    wire                to_room, from_room, start_ready, fetched, fetched_far, fetched_late, tags_room, target_room, has_target;
    /* verilator lint_off UNUSEDSIGNAL */
    wire                to_has_tag, due_room, direct_room;
    wire [$clog2(COMMANDS+1)-1:0] tags_count, targets_count, moving_count;
    /* verilator lint_on UNUSEDSIGNAL */
    assign command_ready = command_to_host ? to_room : from_room;
    queue_bypass #(.WIDTH(INFO), .DEPTH(COMMANDS)) to_waiting (
        .clock(clock), .reset(reset), .in_valid(command_valid && command_to_host),
        .in_ready(to_room), .in_data({command_tag, command_host, command_nic, command_bytes}),
        .out_valid(to_waits), .out_ready(to_ready), .out_data({to_tag, to_host, to_nic, to_bytes})
    );
    assign to_ready = tags_room && target_room && start_ready;
    wire                line_valid, line_ready, line_last;
    wire [BITS-1:0]     line_data;
    wire [BYTES-1:0]    line_strobes;
    nic_reader #(
        .CLUSTERS(CLUSTERS), .L1_LINE_BITS(L1_LINE_BITS), .L2_LINE_BITS(L2_LINE_BITS), .BYTES_BITS(BYTES_BITS),
        .BYTES(BYTES)
    ) reader (
        .clock(clock), .reset(reset), .start_valid(to_waits && tags_room && target_room),
        .start_ready(start_ready), .start_from(to_nic), .start_bytes(to_bytes),
        .start_offset(to_host[OFFSET-1:0]), .l1_valid(l1_valid), .l1_ready(l1_ready), .l1_line(l1_line),
        .l1_data(l1_data), .l2_valid(l2_valid), .l2_ready(l2_ready), .l2_line(l2_line),
        .l2_data(l2_data), .fetched(fetched), .fetched_far(fetched_far), .fetched_late(fetched_late),
        .out_valid(line_valid), .out_ready(line_ready), .out_data(line_data), .out_strobes(line_strobes), .out_last(line_last)
    );
    queue #(.WIDTH(TAG_BITS), .DEPTH(COMMANDS)) tags (
        .clock(clock), .reset(reset), .in_valid(to_waits && target_room && start_ready), .in_ready(tags_room),
        .in_data(to_tag), .out_valid(to_has_tag), .out_ready(fetched), .out_data(to_done_tag),
        .count(tags_count)
    );
    wire [HOST_LINE-1:0] target;
    reg  [STEP-1:0] line_number;
    queue #(.WIDTH(HOST_LINE), .DEPTH(COMMANDS)) targets (
        .clock(clock), .reset(reset), .in_valid(to_waits && tags_room && start_ready), .in_ready(target_room),
        .in_data(to_host[63:OFFSET]), .out_valid(has_target), .out_ready(line_valid && line_ready && line_last),
        .out_data(target), .count(targets_count)
    );
    always @(posedge clock)
        if (reset || (line_valid && line_ready && line_last)) line_number <= 0;
        else if (line_valid && line_ready) line_number <= line_number + 1'b1;
    due_queue #(.WIDTH(TAG_BITS), .DEPTH(2*COMMANDS)) to_done (
        .clock(clock), .reset(reset), .now(now), .in_valid(fetched), .in_ready(due_room),
        .in_due(now + TO_HOST_CYCLES + (fetched_far ? FAR_CYCLES : 8'd0) + 8'(fetched_late)), .in_data(to_done_tag),
        .out_valid(done_valid[1]), .out_ready(done_ready[1]), .out_data(done_tag[TAG_BITS +: TAG_BITS])
    );

    // Words go first, in two lines where they lie in both.
    reg           second;
    wire [3:0]    wanted = direct_bytes > 8 ? 4'd8 : direct_bytes;
    wire [15:0]   lanes = ~(16'hffff << wanted);
    wire [2*BYTES-1:0] strobes_twice = (2*BYTES)'(lanes) << direct_host[OFFSET-1:0];
    wire [2*BITS-1:0] data_twice = (2*BITS)'(direct_data) << {direct_host[OFFSET-1:0], 3'd0};
    wire          splits = strobes_twice[BYTES +: BYTES] != 0 && !second;
    wire          may_write = direct_valid && direct_room;
    wire          writes_now = may_write && host_write_ready && !splits;
    assign direct_ready = host_write_ready && direct_room && !splits;
    assign line_ready = host_write_ready && !direct_valid && has_target;
    assign host_write_valid = direct_valid ? direct_room : line_valid && has_target;
    assign host_write_line = direct_valid ? direct_host[63:OFFSET] + HOST_LINE'(second)
        : target + HOST_LINE'(line_number);
    assign host_write_data = !direct_valid ? line_data : second ? data_twice[BITS +: BITS] : data_twice[0 +: BITS];
    assign host_write_strobes = !direct_valid ? line_strobes
        : second ? strobes_twice[BYTES +: BYTES] : strobes_twice[0 +: BYTES];
    always @(posedge clock) second <= !reset && may_write && (second ? !host_write_ready : host_write_ready && splits);
    due_queue #(.WIDTH(TAG_BITS), .DEPTH(2*COMMANDS)) direct_done (
        .clock(clock), .reset(reset), .now(now), .in_valid(writes_now), .in_ready(direct_room),
        .in_due(now + DIRECT_CYCLES), .in_data(direct_tag), .out_valid(done_valid[0]),
        .out_ready(done_ready[0]), .out_data(done_tag[0 +: TAG_BITS])
    );

    // From the host: first its lines are asked for, then what comes is moved.
    wire [TAG_BITS-1:0] from_tag;
    wire [63:0]         from_host;
    wire [31:0]         from_nic;
    wire [BYTES_BITS-1:0] from_bytes;
    queue_bypass #(.WIDTH(INFO), .DEPTH(COMMANDS)) from_waiting (
        .clock(clock), .reset(reset), .in_valid(command_valid && !command_to_host),
        .in_ready(from_room), .in_data({command_tag, command_host, command_nic, command_bytes}),
        .out_valid(from_waits), .out_ready(from_takes), .out_data({from_tag, from_host, from_nic, from_bytes})
    );
    localparam integer SPAN = BYTES_BITS + 1;
    reg  [STEP-1:0] asked;
    wire [SPAN-1:0] from_span = SPAN'(from_host[OFFSET-1:0]) + SPAN'(from_bytes) + SPAN'(BYTES - 1);
    wire [STEP-1:0] from_lines = from_span[SPAN-1:OFFSET];
    wire        moving_room, moves;
    wire        asks_first = asked == 0;
    wire        asks_last = asked + 1'b1 == from_lines;
    wire        asks = host_read_valid && host_read_ready;
    // Lines that may still come: so many find room.
    reg  [3:0]  credits;
    assign host_read_valid = from_waits && (moving_room || !asks_first) && credits != 0;
    assign host_read_line = from_host[63:OFFSET] + HOST_LINE'(asked);
    assign from_ready = asks && asks_last;
    assign from_takes = from_ready;
    always @(posedge clock)
        if (reset) ahead <= 0;
        else if (asks && asks_first) ahead <= from_wait - 1'b1;
        else if (ahead != 0) ahead <= ahead - 1'b1;
    always @(posedge clock)
        if (reset || from_takes) asked <= 0;
        else if (asks) asked <= asked + 1'b1;

    wire [TAG_BITS-1:0] move_tag;
    wire [OFFSET-1:0]   move_from;
    wire [31:0]         move_to;
    wire [BYTES_BITS-1:0] move_bytes;
    wire [7:0]          move_due;
    wire                has_move, move_takes;
    // It is to be done then, however early its data come: counted from its first request.
    wire [7:0] from_far = from_nic[31:24] == 8'h1c ? FAR_CYCLES : 8'd0;
    // As many cycles as lines to write, where bytes move down one more; of a single one, as many as come.
    wire [SPAN-1:0] into_span = SPAN'(from_nic[OFFSET-1:0]) + SPAN'(from_bytes) + SPAN'(BYTES - 1);
    wire [STEP-1:0] into_lines = into_span[SPAN-1:OFFSET];
    wire [STEP-1:0] from_steps = into_lines == 1 ? from_lines
        : into_lines + STEP'(from_nic[OFFSET-1:0] < from_host[OFFSET-1:0]);
    // The copy before writes until `ahead` cycles from now; this one's lines go behind its.
    reg  [7:0]      ahead;
    wire [7:0]      own_steps = 8'(32'(from_steps) > 100 ? 32'd100 : 32'(from_steps));
    wire [7:0]      behind = ahead + 8'(32'(into_lines) > 100 ? 32'd100 : 32'(into_lines));
    wire [7:0]      from_wait = ahead != 0 && behind > own_steps ? behind : own_steps;
    wire [7:0]      from_due = now + FROM_HOST_CYCLES + from_far + from_wait;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [3:0] came_count;
    wire       came_room, from_due_room;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(TAG_BITS + OFFSET + 32 + BYTES_BITS + 8), .DEPTH(COMMANDS)) moving (
        .clock(clock), .reset(reset), .in_valid(asks && asks_first), .in_ready(moving_room),
        .in_data({from_tag, from_host[OFFSET-1:0], from_nic, from_bytes, from_due}), .out_valid(has_move),
        .out_ready(move_takes), .out_data({move_tag, move_from, move_to, move_bytes, move_due}),
        .count(moving_count)
    );
    wire         came, takes_line;
    wire [BITS-1:0] came_data;
    queue #(.WIDTH(BITS), .DEPTH(8)) lines (
        .clock(clock), .reset(reset), .in_valid(host_answer_valid), .in_ready(came_room),
        .in_data(host_answer_data), .out_valid(came), .out_ready(takes_line), .out_data(came_data),
        .count(came_count)
    );
    always @(posedge clock)
        if (reset) credits <= 8;
        else credits <= credits - 4'(asks) + 4'(came && takes_line);

    reg  [STEP-1:0] step;
    wire         down = move_to[OFFSET-1:0] < move_from;
    wire [SPAN-1:0] move_span = SPAN'(move_to[OFFSET-1:0]) + SPAN'(move_bytes) + SPAN'(BYTES - 1);
    wire [SPAN-1:0] read_span = SPAN'(move_from) + SPAN'(move_bytes) + SPAN'(BYTES - 1);
    wire [STEP-1:0] steps = move_span[SPAN-1:OFFSET] + STEP'(down);
    wire         is_last = step + 1'b1 == steps;
    wire         needs = step < read_span[SPAN-1:OFFSET];
    wire         writes = !(down && step == 0);
    wire [OFFSET-1:0] last_place = move_to[OFFSET-1:0] + move_bytes[OFFSET-1:0] - 1'b1;
    reg  [BITS-1:0] earlier;
    wire [BITS-1:0] turned, merged;
    realign #(.BYTES(BYTES)) move (
        .data(came_data), .earlier(earlier), .turn(move_to[OFFSET-1:0] - move_from), .turned(turned), .merged(merged)
    );
    assign moves = has_move && (came || !needs) && (!writes || write_ready);
    assign takes_line = moves && needs;
    assign move_takes = moves && is_last;
    assign write_valid = has_move && (came || !needs) && writes;
    assign write_line = move_to[31:OFFSET] + (32 - OFFSET)'(step) - (32 - OFFSET)'(down);
    assign write_data = merged;
    assign write_strobes = ({BYTES{1'b1}} << (step == STEP'(down) ? move_to[OFFSET-1:0] : {OFFSET{1'b0}}))
        & ({BYTES{1'b1}} >> (is_last ? ~last_place : {OFFSET{1'b0}}));
    always @(posedge clock) begin
        if (moves) earlier <= turned;
        if (reset || move_takes) step <= 0;
        else if (moves) step <= step + 1'b1;
    end
    due_queue #(.WIDTH(TAG_BITS), .DEPTH(2*COMMANDS)) from_done (
        .clock(clock), .reset(reset), .now(now), .in_valid(move_takes), .in_ready(from_due_room),
        .in_due(move_due), .in_data(move_tag), .out_valid(done_valid[2]), .out_ready(done_ready[2]),
        .out_data(done_tag[2*TAG_BITS +: TAG_BITS])
    );

    wire _unused = &{1'b0, from_span[OFFSET-1:0], into_span[OFFSET-1:0], move_span[OFFSET-1:0], read_span[OFFSET-1:0]};
endmodule

`default_nettype wire
