// l2_memory: an L2 memory of the NIC, in banks of whole lines, with a side for the NIC and one for clusters.
//
// In:      on the NIC's side (`a_…`) lines to write, with strobes, and to read; on the clusters' side (`b_…`)
//          lines to read and to write.
// Out:     what was read, in the cycle behind.
// Latency: a cycle. The NIC's writes and the clusters' reads are never kept waiting; what else wants the same
//          bank of its side in the same cycle waits (`a_read_ready`, `b_write_ready`).
// Memory:  2^LINE_BITS lines in BANKS banks with two ports, read with a register.
// Source:  PsPIN paper, section III-A: two full-duplex ports, banks of 512 bits.
`default_nettype none

module l2_memory #(
    parameter integer LINE_BITS = 16,
    // l2_packet.banks; a power of two, at least 2.
    parameter integer BANKS = 32,
    parameter integer BYTES = 64
) (
    input  wire                 clock,
    input  wire                 a_write_valid,
    input  wire [LINE_BITS-1:0] a_write_line,
    input  wire [8*BYTES-1:0]   a_write_data,
    input  wire [BYTES-1:0]     a_write_strobes,
    input  wire                 a_read_valid,
    output wire                 a_read_ready,
    input  wire [LINE_BITS-1:0] a_read_line,
    output wire [8*BYTES-1:0]   a_read_data,
    input  wire                 b_read_valid,
    input  wire [LINE_BITS-1:0] b_read_line,
    output wire [8*BYTES-1:0]   b_read_data,
    input  wire                 b_write_valid,
    output wire                 b_write_ready,
    input  wire [LINE_BITS-1:0] b_write_line,
    input  wire [8*BYTES-1:0]   b_write_data,
    input  wire [BYTES-1:0]     b_write_strobes
);
    localparam integer BANK = $clog2(BANKS);
    localparam integer ROW = LINE_BITS - BANK;
    localparam integer BITS = 8 * BYTES;

    assign a_read_ready = !(a_write_valid && a_write_line[BANK-1:0] == a_read_line[BANK-1:0]);
    assign b_write_ready = !(b_read_valid && b_read_line[BANK-1:0] == b_write_line[BANK-1:0]);

    reg  [BANK-1:0]       a_bank, b_bank;
    wire [BANKS*BITS-1:0] a_all, b_all;
    assign a_read_data = a_all[a_bank*BITS +: BITS];
    assign b_read_data = b_all[b_bank*BITS +: BITS];
    always @(posedge clock) begin
        if (a_read_valid && a_read_ready) a_bank <= a_read_line[BANK-1:0];
        if (b_read_valid) b_bank <= b_read_line[BANK-1:0];
    end

    genvar bank;
    generate
        for (bank = 0; bank < BANKS; bank = bank + 1) begin : by_bank
            localparam [BANK-1:0] OWN = BANK'(bank);
            wire            a_writes = a_write_valid && a_write_line[BANK-1:0] == OWN;
            wire            b_reads = b_read_valid && b_read_line[BANK-1:0] == OWN;
            wire            a_reads = a_read_valid && !a_writes && a_read_line[BANK-1:0] == OWN;
            wire            b_writes = b_write_valid && !b_reads && b_write_line[BANK-1:0] == OWN;
            l2_bank #(.ROW_BITS(ROW), .BYTES(BYTES)) lines (
                .clock(clock), .a_write(a_writes), .a_read(a_reads),
                .a_row(a_writes ? a_write_line[LINE_BITS-1:BANK] : a_read_line[LINE_BITS-1:BANK]),
                .a_data(a_write_data), .a_strobes(a_write_strobes),
                .a_answer(a_all[bank*BITS +: BITS]), .b_write(b_writes), .b_read(b_reads),
                .b_row(b_reads ? b_read_line[LINE_BITS-1:BANK] : b_write_line[LINE_BITS-1:BANK]),
                .b_data(b_write_data), .b_strobes(b_write_strobes), .b_answer(b_all[bank*BITS +: BITS])
            );
        end
    endgenerate
endmodule

`default_nettype wire
