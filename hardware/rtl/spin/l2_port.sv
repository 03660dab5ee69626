// l2_port: the clusters' way to an L2 memory: one line a cycle each way.
//
// In:      of each requester (the clusters' DMA engines, the PE interconnect) lines to read, and lines to write.
// Out:     what was read, to the one that asked; the accesses of the memory's side (`memory_…`).
// Latency: a read that is taken in cycle t is at the memory in t + CYCLES and answered in the cycle behind, later while the
//          memory is not ready (`memory_read_ready`) or who asked does not take it (`read_takes`). A write goes to the memory in its cycle.
// How:     round robin for each direction.
// Source:  PsPIN paper, section III-A; RTL dma_noc: one port for all clusters; the model's `ReadPort`, without
//          its limits on loads under way.
`default_nettype none

module l2_port #(
    // A power of two, at least 2.
    parameter integer REQUESTERS = 2,
    parameter integer LINE_BITS = 16,
    parameter integer BYTES = 64,
    // From the port to the memory.
    parameter integer CYCLES = 8
) (
    input  wire                            clock,
    input  wire                            reset,
    input  wire [REQUESTERS-1:0]           read_valid,
    output wire [REQUESTERS-1:0]           read_ready,
    input  wire [REQUESTERS*LINE_BITS-1:0] read_line,
    // The memory reads somebody's line in this cycle, and it comes in the next.
    output wire [REQUESTERS-1:0]           reads_now,
    input  wire [REQUESTERS-1:0]           read_takes,
    output wire [REQUESTERS-1:0]           answer_valid,
    output wire [8*BYTES-1:0]              answer_data,
    input  wire [REQUESTERS-1:0]           write_valid,
    output wire [REQUESTERS-1:0]           write_ready,
    input  wire [REQUESTERS*LINE_BITS-1:0] write_line,
    input  wire [REQUESTERS*8*BYTES-1:0]   write_data,
    input  wire [REQUESTERS*BYTES-1:0]     write_strobes,
    output wire                            memory_read_valid,
    input  wire                            memory_read_ready,
    output wire [LINE_BITS-1:0]            memory_read_line,
    input  wire [8*BYTES-1:0]              memory_read_data,
    output wire                            memory_write_valid,
    input  wire                            memory_write_ready,
    output wire [LINE_BITS-1:0]            memory_write_line,
    output wire [8*BYTES-1:0]              memory_write_data,
    output wire [BYTES-1:0]                memory_write_strobes
);
    localparam integer INDEX = $clog2(REQUESTERS);
    localparam integer ENTRY = INDEX + LINE_BITS;

    wire             any_read, any_write;
    wire [INDEX-1:0] reader, writer;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [INDEX-1:0] read_pointer, write_pointer;
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(REQUESTERS)) choose_reader (
        .clock(clock), .reset(reset), .requests(read_valid), .advance(any_read && room), .any(any_read),
        .grant(reader), .state_pointer(read_pointer)
    );
    round_robin #(.COUNT(REQUESTERS)) choose_writer (
        .clock(clock), .reset(reset), .requests(write_valid), .advance(any_write && memory_write_ready),
        .any(any_write), .grant(writer), .state_pointer(write_pointer)
    );
    assign read_ready = any_read && room ? REQUESTERS'(1) << reader : 0;
    assign write_ready = any_write && memory_write_ready ? REQUESTERS'(1) << writer : 0;

    // On their way to the memory, the newest lowest: who waits is caught up with. The last entry is back from it.
    reg  [CYCLES:0]             away;
    reg  [ENTRY*(CYCLES+1)-1:0] who;
    wire [CYCLES:0]             stays;
    wire                        room = !stays[0];
    assign stays[CYCLES] = 0;
    wire [INDEX-1:0]            whose = who[ENTRY*CYCLES-1 -: INDEX];
    wire                        goes = memory_read_ready && read_takes[whose];
    assign stays[CYCLES-1] = away[CYCLES-1] && !goes;
    genvar stage;
    generate
        for (stage = 0; stage < CYCLES - 1; stage = stage + 1) begin : by_stage
            assign stays[stage] = away[stage] && stays[stage+1];
        end
        for (stage = 1; stage <= CYCLES; stage = stage + 1) begin : of_stage
            always @(posedge clock)
                if (reset) away[stage] <= 0;
                else if (!stays[stage]) begin
                    away[stage] <= away[stage-1] && !stays[stage-1];
                    who[ENTRY*stage +: ENTRY] <= who[ENTRY*(stage-1) +: ENTRY];
                end
        end
    endgenerate
    always @(posedge clock)
        if (reset) away[0] <= 0;
        else if (room) begin
            away[0] <= any_read;
            who[0 +: ENTRY] <= {reader, read_line[reader*LINE_BITS +: LINE_BITS]};
        end
    assign memory_read_valid = away[CYCLES-1] && goes;
    assign memory_read_line = who[ENTRY*(CYCLES-1) +: LINE_BITS];
    assign reads_now = memory_read_valid ? REQUESTERS'(1) << whose : 0;
    assign answer_valid = away[CYCLES] ? REQUESTERS'(1) << who[ENTRY*(CYCLES+1)-1 -: INDEX] : 0;
    assign answer_data = memory_read_data;

    assign memory_write_valid = any_write;
    assign memory_write_line = write_line[writer*LINE_BITS +: LINE_BITS];
    assign memory_write_data = write_data[writer*8*BYTES +: 8*BYTES];
    assign memory_write_strobes = write_strobes[writer*BYTES +: BYTES];

    wire _unused = &{1'b0, who[ENTRY*CYCLES +: LINE_BITS]};
endmodule

`default_nettype wire
