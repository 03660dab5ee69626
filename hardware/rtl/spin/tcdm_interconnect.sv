// tcdm_interconnect: who gets a bank of a cluster's L1 in which cycle (TCDM).
//
// In:      of each requester (cores, the ports of other clusters): `request`: bank, row, write or read
//          with data and strobes, whether it is atomic. `beat`: the DMA engine (0), or the NIC's side (1),
//          moves a beat over the banks of `beat_superbank` in this cycle. `bank_read`: what each bank read in the cycle before.
// Out:     `request_grant`: who is served in this cycle; `response`: in the cycle behind, what was read.
//          `bank_…`: each bank's access. `state_pointer`: whose turn it is at each bank.
// Latency: none to the bank; a read's data a cycle later. One word a bank and cycle; an atomic holds its
//          bank for a cycle more, a beat its banks for its cycle, before an atomic that holds it.
// How:     a `round_robin` at every bank, whose pointer moves with each access that is served.
// Memory:  none: the banks are outside.
// Source:  PsPIN paper, section III-B2; RTL, the banks' rr_arb_tree and the AMO shim; the model's `Lane` and `L1Banks`.
`default_nettype none

module tcdm_interconnect #(
    // Cores and other ports; a power of two, at least 2.
    parameter integer REQUESTERS = 8,
    // l1.banks (PsPIN 64); a power of two, at least 2.
    parameter integer BANKS = 16,
    // Banks of a beat, dma.port_bytes / 4 (PsPIN 16); at most half of them.
    parameter integer BEAT_BANKS = 4,
    // Rows of a bank, as bits.
    parameter integer ROW_BITS = 12,
    parameter integer WORD_BYTES = 4
) (
    input  wire                                 clock,
    input  wire                                 reset,
    input  wire [REQUESTERS-1:0]                request_valid,
    output wire [REQUESTERS-1:0]                request_grant,
    input  wire [REQUESTERS*$clog2(BANKS)-1:0]  request_bank,
    input  wire [REQUESTERS*ROW_BITS-1:0]       request_row,
    input  wire [REQUESTERS-1:0]                request_write,
    input  wire [REQUESTERS-1:0]                request_atomic,
    input  wire [REQUESTERS*8*WORD_BYTES-1:0]   request_data,
    input  wire [REQUESTERS*WORD_BYTES-1:0]     request_strobes,
    output reg  [REQUESTERS-1:0]                response_valid,
    output wire [REQUESTERS*8*WORD_BYTES-1:0]   response_data,
    input  wire [1:0]                           beat_valid,
    input  wire [2*$clog2(BANKS/BEAT_BANKS)-1:0] beat_superbank,
    output wire [BANKS-1:0]                     bank_valid,
    output wire [BANKS*ROW_BITS-1:0]            bank_row,
    output wire [BANKS-1:0]                     bank_write,
    output wire [BANKS*8*WORD_BYTES-1:0]        bank_data,
    output wire [BANKS*WORD_BYTES-1:0]          bank_strobes,
    input  wire [BANKS*8*WORD_BYTES-1:0]        bank_read,
    output wire [BANKS*$clog2(REQUESTERS)-1:0]  state_pointer
);
    localparam integer INDEX = $clog2(REQUESTERS);
    localparam integer BANK = $clog2(BANKS);
    localparam integer SUPERBANK = $clog2(BANKS / BEAT_BANKS);
    localparam integer BITS = 8 * WORD_BYTES;

    wire [BANKS*REQUESTERS-1:0] grants;

    genvar bank, place;
    generate
        for (bank = 0; bank < BANKS; bank = bank + 1) begin : by_bank
            localparam [BANK-1:0]      OWN = BANK'(bank);
            localparam [SUPERBANK-1:0] OWN_SUPERBANK = SUPERBANK'(bank / BEAT_BANKS);
            reg                   held;
            wire [REQUESTERS-1:0] asks;
            wire                  any;
            wire [INDEX-1:0]      winner;
            wire                  taken = (beat_valid[0] && beat_superbank[0 +: SUPERBANK] == OWN_SUPERBANK)
                || (beat_valid[1] && beat_superbank[SUPERBANK +: SUPERBANK] == OWN_SUPERBANK);
            wire                  serves = any && !held && !taken;
            for (place = 0; place < REQUESTERS; place = place + 1) begin : by_place
                localparam [INDEX-1:0] PLACE = INDEX'(place);
                assign asks[place] = request_valid[place]
                    && request_bank[place*BANK +: BANK] == OWN;
                assign grants[bank*REQUESTERS + place] = serves && winner == PLACE;
            end
            round_robin #(.COUNT(REQUESTERS)) order (
                .clock(clock), .reset(reset), .requests(asks), .advance(serves), .any(any),
                .grant(winner), .state_pointer(state_pointer[bank*INDEX +: INDEX])
            );
            assign bank_valid[bank] = serves;
            assign bank_row[bank*ROW_BITS +: ROW_BITS] = request_row[winner*ROW_BITS +: ROW_BITS];
            assign bank_write[bank] = serves && request_write[winner];
            assign bank_data[bank*BITS +: BITS] = request_data[winner*BITS +: BITS];
            assign bank_strobes[bank*WORD_BYTES +: WORD_BYTES] =
                request_strobes[winner*WORD_BYTES +: WORD_BYTES];
            always @(posedge clock)
                held <= !reset && ((serves && request_atomic[winner]) || (held && taken));
        end
    endgenerate

    genvar requester;
    generate
        for (requester = 0; requester < REQUESTERS; requester = requester + 1) begin : by_requester
            wire [BANK-1:0] asked = request_bank[requester*BANK +: BANK];
            reg  [BANK-1:0] served_by;
            assign request_grant[requester] = grants[asked*REQUESTERS + requester];
            assign response_data[requester*BITS +: BITS] = bank_read[served_by*BITS +: BITS];
            always @(posedge clock) begin
                if (request_grant[requester]) served_by <= asked;
                response_valid[requester] <= !reset && request_grant[requester];
            end
        end
    endgenerate
endmodule

`default_nettype wire
