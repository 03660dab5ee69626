// cluster_dma: a cluster's DMA engine: packets' copies to L1, and the transfers that cores launch.
//
// In:      copies of the scheduler; transfers of cores, in order of their launch. What was read: of L2 in the cycle behind
//          `reads_now`, which is eight after its beat began or later and only while `read_takes`, of L1 two cycles after its
//          request.
// Out:     beats that read L2 (0: handler memory, 1: packet memory), beats of the own L1 (`engine_…`), lines to
//          write to L2; `copy_done`, `core_done` when one is done, in order.
// Latency: a copy that is asked for in cycle t of an idle engine, with a free port, is done in t + 11 + its
//          beats; a core's takes a cycle more. Between two of one beat is a cycle, within L1 behind two
//          beats, too; a read of L2 waits while two before it are on their way, and is two at the end of a page. A
//          transfer out of L1 begins SWITCH cycles behind what reads L2.
// How:     one beat a cycle; within L1 two beats in four cycles. What is not aligned alike on both sides
//          takes the beats of the side that has more, and reads no line but those that its bytes lie in. Where bytes
//          move down out of as many lines as they go into, the last one's end is written a cycle later, in which no
//          other beat begins; the transfer is done as if it were not. It reaches the own L1 and L2;
//          elsewhere it reads the error word and writes nothing, as the published engine does.
// Memory:  queues of transfers and of lines to L2, read without a register.
// Source:  PsPIN paper, section III-B2; RTL cluster DMA, dma_noc; the model's `ClusterDma`.
`default_nettype none

module cluster_dma #(
    // Powers of two, at least 2.
    parameter integer CORES = 2,
    parameter integer TRANSFERS = 16,
    parameter integer BYTES = 64,
    parameter integer L1_LINE_BITS = 14,
    parameter integer L2_LINE_BITS = 16,
    parameter integer COPY_BITS = 13
) (
    input  wire                      clock,
    input  wire                      reset,
    // Bits 31 to 22 of its L1's addresses.
    input  wire [9:0]                window,
    input  wire                      copy_valid,
    output wire                      copy_ready,
    input  wire [31:0]               copy_from,
    input  wire [31:0]               copy_to,
    input  wire [COPY_BITS-1:0]      copy_bytes,
    output wire                      copy_done,
    input  wire [CORES-1:0]          launch_valid,
    output wire [CORES-1:0]          launch_ready,
    input  wire [CORES*32-1:0]       launch_from,
    input  wire [CORES*32-1:0]       launch_to,
    input  wire [CORES*32-1:0]       launch_bytes,
    output wire [CORES-1:0]          core_done,
    output wire [1:0]                read_valid,
    input  wire [1:0]                read_ready,
    input  wire [1:0]                reads_now,
    output wire [1:0]                read_takes,
    output wire [L2_LINE_BITS-1:0]   read_line,
    input  wire [2*8*BYTES-1:0]      answer_data,
    output wire [1:0]                write_valid,
    input  wire [1:0]                write_ready,
    output wire [L2_LINE_BITS-1:0]   write_line,
    output wire [8*BYTES-1:0]        write_data,
    output wire [BYTES-1:0]          write_strobes,
    output wire                      engine_valid,
    output wire                      engine_write,
    output wire [L1_LINE_BITS-1:0]   engine_line,
    output wire [8*BYTES-1:0]        engine_data,
    output wire [BYTES-1:0]          engine_strobes,
    input  wire [8*BYTES-1:0]        beat_data
);
    localparam integer OFFSET = $clog2(BYTES);
    localparam integer CORE = $clog2(CORES);
    localparam integer LINE = L2_LINE_BITS;
    localparam integer SIZE = 22;
    localparam integer STEP = SIZE - OFFSET + 1;
    localparam [9:0] ALIAS = 10'h06c, HANDLER = 10'h070, PACKET = 10'h071;
    localparam [1:0] NOWHERE = 0, IN_HANDLER = 1, IN_PACKET = 2, IN_L1 = 3;
    localparam [31:0] ERROR_WORD = 32'hbadcab1e;
    // Cycles from a beat's beginning: L1 is asked, data are here, a copy and a core's transfer are done.
    localparam integer ASKS = 7, COMES = 9, COPIED = 12, DONE = 13;
    // Cycles behind a beat that reads L2 in which none begins that reads L1: those of L2 come back first.
    localparam integer SWITCH = 7;
    localparam integer ENTRY = 1 + CORE + 3*32;

    // The next transfer: a copy before what cores launch; past the queue if it is empty.
    wire             any_launch;
    wire [CORE-1:0]  launcher;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CORE-1:0]  pointer;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             queue_ready, waits, takes;
    wire [ENTRY-1:0] first;
    wire             launches = any_launch && !copy_valid && queue_ready;
    round_robin #(.COUNT(CORES)) choose (
        .clock(clock), .reset(reset), .requests(launch_valid), .advance(launches), .any(any_launch),
        .grant(launcher), .state_pointer(pointer)
    );
    assign copy_ready = queue_ready;
    assign launch_ready = launches ? CORES'(1) << launcher : 0;
    wire             comes = copy_valid || any_launch;
    queue_bypass #(.WIDTH(ENTRY), .DEPTH(TRANSFERS)) waiting (
        .clock(clock), .reset(reset), .in_valid(comes), .in_ready(queue_ready),
        .in_data(copy_valid ? {1'b1, CORE'(0), copy_from, copy_to, 32'(copy_bytes)}
            : {1'b0, launcher, launch_from[32*launcher +: 32], launch_to[32*launcher +: 32], launch_bytes[32*launcher +: 32]}),
        .out_valid(waits), .out_ready(takes), .out_data(first)
    );

    // The transfer whose beats begin: the one under way, or the next.
    reg              active, pauses;
    reg [ENTRY-1:0]  current;
    reg [STEP-1:0]   step;
    wire             offered = !pauses && waits;
    wire             wants = active || offered;
    wire [ENTRY-1:0] one = active ? current : first;
    wire             is_copy;
    wire [CORE-1:0]  core;
    wire [31:0]      from, to, bytes;
    assign {is_copy, core, from, to, bytes} = one;
    wire [STEP-1:0]  at = active ? step : 0;

    wire [OFFSET-1:0] from_offset = from[OFFSET-1:0];
    wire [OFFSET-1:0] to_offset = to[OFFSET-1:0];
    wire              down = to_offset < from_offset;
    wire [SIZE:0]     span = (SIZE + 1)'(to_offset) + (SIZE + 1)'(bytes[SIZE-1:0]) + (SIZE + 1)'(BYTES - 1);
    wire [STEP-1:0]   to_lines = bytes[SIZE-1:0] == 0 ? 1 : span[SIZE:OFFSET];
    wire [SIZE:0]     from_span = (SIZE + 1)'(from_offset) + (SIZE + 1)'(bytes[SIZE-1:0]) + (SIZE + 1)'(BYTES - 1);
    wire [STEP-1:0]   from_lines = bytes[SIZE-1:0] == 0 ? 1 : from_span[SIZE:OFFSET];
    wire [STEP-1:0]   steps = to_lines + STEP'(down);
    wire [OFFSET-1:0] last_offset = to_offset + bytes[OFFSET-1:0] - 1'b1;
    wire              is_last = at + 1'b1 == steps;
    // Nothing is left to read: what came last has the end of the bytes.
    wire              is_rest = at == from_lines;
    wire              last_read = at + 1'b1 == from_lines;
    // The beat with which it is done.
    wire              counts_last = down ? last_read : is_last;
    wire              writes = !(down && at == 0) && bytes != 0;
    wire              first_line = at == STEP'(down);
    wire [BYTES-1:0]  strobes = ({BYTES{1'b1}} << (first_line ? to_offset : {OFFSET{1'b0}}))
        & ({BYTES{1'b1}} >> (is_last ? ~last_offset : {OFFSET{1'b0}}));
    wire [1:0]        from_place = place_of(from[31:22]);
    wire [1:0]        source = is_rest ? NOWHERE : from_place;
    wire [1:0]        target = writes ? place_of(to[31:22]) : NOWHERE;
    wire [LINE-1:0]   from_line = from[OFFSET +: LINE] + LINE'(at);
    wire [LINE-1:0]   to_line = to[OFFSET +: LINE] + LINE'(at) - LINE'(down);

    function [1:0] place_of(input [9:0] high);
        place_of = high == window || high == ALIAS ? IN_L1 : high == HANDLER ? IN_HANDLER
            : high == PACKET ? IN_PACKET : NOWHERE;
    endfunction

    // Reads of L2 are bursts that end at pages. Two may be on their way, until the fourth cycle behind their last beat.
    localparam integer PAGE = 12 - OFFSET;
    reg  [2:0] ended;
    wire       two_ended = (ended & (ended - 1'b1)) != 0;
    wire       of_l2 = source == IN_HANDLER || source == IN_PACKET;

    // Beats on their way: the newest lowest.
    localparam integer BEAT = 2 + 2 + OFFSET + 2*LINE + BYTES + 1 + 1 + CORE;
    reg [DONE:1]            away;
    reg [BEAT*DONE-1:0]     beats;
    wire [DONE:1]           into_l1;
    // Who waits for L2, or behind one who does.
    wire [DONE:1]           stays;
    // Somebody reads the other one of L2's memories: who waits for both might wait for ever.
    wire [COMES-1:1]        in_other;
    wire                    other_there = in_other != 0;
    wire [SWITCH:1]         l2_lately;
    wire [$clog2(16+1)-1:0] lines_count;
    wire may = (source != IN_L1 || (!into_l1[COMES - ASKS] && l2_lately == 0)) && (lines_count < 6 || is_rest)
        && !stays[1] && !other_there && !(of_l2 && (!active || from_line[PAGE-1:0] == 0) && two_ended);
    wire begins = wants && may && (source == IN_HANDLER ? read_ready[0] : source == IN_PACKET ? read_ready[1] : 1'b1);
    assign read_valid = {source == IN_PACKET, source == IN_HANDLER} & {2{wants && may}};
    assign read_line = from_line;
    assign takes = begins && !active;
    always @(posedge clock)
        if (reset) {active, pauses, ended} <= 0;
        else begin
            pauses <= begins && is_last
                && (steps == 1 || (steps == 2 && from_place != IN_HANDLER && from_place != IN_PACKET));
            ended <= {ended[1:0], begins && of_l2 && (last_read || &from_line[PAGE-1:0])};
            if (begins) begin
                active <= !is_last;
                current <= one;
                step <= at + 1'b1;
            end
        end

    genvar age;
    generate
        for (age = 1; age <= DONE; age = age + 1) begin : by_age
            assign into_l1[age] = away[age] && beats[BEAT*age - 3 -: 2] == IN_L1;
        end
        for (age = 1; age < COMES; age = age + 1) begin : in_l2
            wire [1:0] read_of = beats[BEAT*age - 1 -: 2];
            assign in_other[age] = away[age]
                && (source == IN_HANDLER ? read_of == IN_PACKET : source == IN_PACKET && read_of == IN_HANDLER);
        end
        for (age = 1; age <= SWITCH; age = age + 1) begin : of_l2_lately
            wire [1:0] was_read = beats[BEAT*age - 1 -: 2];
            assign l2_lately[age] = away[age] && (was_read == IN_HANDLER || was_read == IN_PACKET);
        end
        for (age = 1; age < ASKS; age = age + 1) begin : before_l1
            assign stays[age] = away[age] && stays[age+1];
        end
        for (age = 2; age <= DONE; age = age + 1) begin : of_age
            always @(posedge clock)
                if (reset) away[age] <= 0;
                else if (!stays[age]) begin
                    away[age] <= away[age-1] && !stays[age-1];
                    beats[BEAT*(age-1) +: BEAT] <= beats[BEAT*(age-2) +: BEAT];
                end
        end
    endgenerate

    always @(posedge clock)
        if (reset) away[1] <= 0;
        else if (!stays[1]) begin
            away[1] <= begins;
            beats[0 +: BEAT] <= {
                source, target, to_offset - from_offset, from_line, to_line, strobes, counts_last, is_copy, core
            };
        end

    // L1 is read.
    wire [BEAT-1:0] asking = beats[BEAT*(ASKS-1) +: BEAT];
    wire            of_l1 = away[ASKS] && asking[BEAT-1 -: 2] == IN_L1;
    wire            reads_l1 = of_l1 && !stays[ASKS];
    wire [LINE-1:0] asked_line = asking[BEAT-5-OFFSET -: LINE];

    // L2 is read; what is of L1 is on its way for sure, and no beat is written there when it is asked for.
    wire [1:0]      read_of = beats[BEAT*(COMES-1) - 1 -: 2];
    assign read_takes = {read_of == IN_PACKET, read_of == IN_HANDLER} & {2{away[COMES-1]}};
    assign stays[DONE:COMES] = 0;
    assign stays[COMES-1] = away[COMES-1]
        && (read_of == IN_HANDLER ? !reads_now[0] : read_of == IN_PACKET && !reads_now[1]);
    assign stays[ASKS] = away[ASKS] && (stays[ASKS+1] || (of_l1 && into_l1[COMES]));

    // Data are here.
    wire [BEAT-1:0]   coming = beats[BEAT*(COMES-1) +: BEAT];
    wire [1:0]        came_from, goes_to;
    wire [OFFSET-1:0] turn;
    wire [LINE-1:0]   came_line, goes_line;
    wire [BYTES-1:0]  goes_strobes;
    wire              came_last, came_copy;
    wire [CORE-1:0]   came_core;
    assign {came_from, goes_to, turn, came_line, goes_line, goes_strobes, came_last, came_copy, came_core} = coming;
    wire [8*BYTES-1:0] data = came_from == IN_L1 ? beat_data : came_from == IN_HANDLER ? answer_data[0 +: 8*BYTES]
        : came_from == IN_PACKET ? answer_data[8*BYTES +: 8*BYTES] : {BYTES/4{ERROR_WORD}};
    reg  [8*BYTES-1:0] earlier;
    wire [8*BYTES-1:0] turned, merged;
    realign #(.BYTES(BYTES)) move (
        .data(data), .earlier(earlier), .turn(turn), .turned(turned), .merged(merged)
    );
    always @(posedge clock) if (away[COMES]) earlier <= turned;

    assign engine_valid = reads_l1 || into_l1[COMES];
    assign engine_write = !reads_l1;
    assign engine_line = reads_l1 ? asked_line[L1_LINE_BITS-1:0] : goes_line[L1_LINE_BITS-1:0];
    assign engine_data = merged;
    assign engine_strobes = goes_strobes;

    // Lines to L2.
    wire line_ready, line_valid, line_kind;
    wire to_l2 = away[COMES] && (goes_to == IN_HANDLER || goes_to == IN_PACKET);
    queue #(.WIDTH(1 + LINE + BYTES + 8*BYTES), .DEPTH(16)) lines (
        .clock(clock), .reset(reset), .in_valid(to_l2), .in_ready(line_ready),
        .in_data({goes_to == IN_PACKET, goes_line, goes_strobes, merged}), .out_valid(line_valid),
        .out_ready(line_kind ? write_ready[1] : write_ready[0]),
        .out_data({line_kind, write_line, write_strobes, write_data}), .count(lines_count)
    );
    assign write_valid = {line_kind, !line_kind} & {2{line_valid}};

    // Done.
    wire            copied_last = away[COPIED] && beats[BEAT*(COPIED-1) + CORE + 1];
    wire            done_last = away[DONE] && beats[BEAT*(DONE-1) + CORE + 1];
    assign copy_done = copied_last && beats[BEAT*(COPIED-1) + CORE];
    assign core_done = done_last && !beats[BEAT*(DONE-1) + CORE] ? CORES'(1) << beats[BEAT*(DONE-1) +: CORE] : 0;

    wire _unused = &{1'b0, line_ready, came_line, came_last, came_copy, came_core, asking,
        from[OFFSET+LINE-1 +: 1], asked_line, bytes, span[OFFSET-1:0], from_span[OFFSET-1:0]};
endmodule

`default_nettype wire
