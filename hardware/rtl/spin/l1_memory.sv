// l1_memory: a cluster's L1: its banks, atomics, and who gets a bank when.
//
// In:      of each requester (cores, and last the port of other clusters) accesses to words, in the way of
//          hpu_core's data port. `engine_…`: the DMA engine's beat, `outside_…`: one of the NIC's side, each a
//          line of BEAT_BANKS words to write, with strobes, or to read.
// Out:     `request_grant`, and in the cycle behind `response_data`: what was read, or of sc 0 if it stored.
//          `engine_answer`, `outside_answer`: the line that was read.
// Latency: none to a bank that is free, its data a cycle later. A beat taken in cycle t is in the banks in
//          t + 1, and what it read is here in t + 2. The engine's is always taken, the NIC's side's where it is
//          not in the same banks.
// How:     see tcdm_interconnect. An atomic reads, and writes in the cycle behind, or when no beat comes. A
//          reservation ends with a store to its word, but for a beat's.
// Memory:  BANKS banks of words, one port each, read with a register.
// Source:  PsPIN paper, section III-B2; the model's `L1Banks`.
`default_nettype none

module l1_memory #(
    // A power of two, at least 2.
    parameter integer REQUESTERS = 4,
    // l1.banks, dma.port_bytes / 4.
    parameter integer BANKS = 64,
    parameter integer BEAT_BANKS = 16,
    // log2 of l1.bytes / (4 * BANKS).
    parameter integer ROW_BITS = 12
) (
    input  wire                                     clock,
    input  wire                                     reset,
    input  wire [REQUESTERS-1:0]                    request_valid,
    output wire [REQUESTERS-1:0]                    request_grant,
    input  wire [REQUESTERS*(ROW_BITS+$clog2(BANKS))-1:0] request_word,
    input  wire [REQUESTERS-1:0]                    request_write,
    input  wire [REQUESTERS-1:0]                    request_atomic,
    input  wire [REQUESTERS*5-1:0]                  request_operation,
    input  wire [REQUESTERS*32-1:0]                 request_data,
    input  wire [REQUESTERS*4-1:0]                  request_strobes,
    output wire [REQUESTERS*32-1:0]                 response_data,
    input  wire                                     engine_valid,
    input  wire                                     engine_write,
    input  wire [ROW_BITS+$clog2(BANKS/BEAT_BANKS)-1:0] engine_line,
    input  wire [32*BEAT_BANKS-1:0]                 engine_data,
    input  wire [4*BEAT_BANKS-1:0]                  engine_strobes,
    input  wire                                     outside_valid,
    output wire                                     outside_ready,
    input  wire                                     outside_write,
    input  wire [ROW_BITS+$clog2(BANKS/BEAT_BANKS)-1:0] outside_line,
    input  wire [32*BEAT_BANKS-1:0]                 outside_data,
    input  wire [4*BEAT_BANKS-1:0]                  outside_strobes,
    output reg  [32*BEAT_BANKS-1:0]                 engine_answer,
    output reg  [32*BEAT_BANKS-1:0]                 outside_answer
);
    localparam integer BANK = $clog2(BANKS);
    localparam integer SUPERBANK = $clog2(BANKS / BEAT_BANKS);
    localparam integer BEAT = $clog2(BEAT_BANKS);
    localparam integer WORD = ROW_BITS + BANK;
    localparam integer LINE = ROW_BITS + SUPERBANK;
    // A row, as the interconnect sees it, and what is to be done there.
    localparam integer PLACE = ROW_BITS + 6;
    localparam [4:0] RESERVE = 2, CONDITIONAL = 3;

    // The beats of this cycle: the engine's, and the NIC's side's, never in the same banks.
    reg                     beat_valid, beat_write, side_valid, side_write;
    reg [LINE-1:0]          beat_line, side_line;
    reg [32*BEAT_BANKS-1:0] beat_words, side_words;
    reg [4*BEAT_BANKS-1:0]  beat_strobes, side_strobes;
    wire [SUPERBANK-1:0]    engine_banks = engine_line[SUPERBANK-1:0];
    wire [SUPERBANK-1:0]    outside_banks = outside_line[SUPERBANK-1:0];
    assign outside_ready = !(engine_valid && engine_banks == outside_banks);
    always @(posedge clock) begin
        beat_valid <= !reset && engine_valid;
        side_valid <= !reset && outside_valid && outside_ready;
        if (engine_valid) {beat_write, beat_line, beat_words, beat_strobes}
            <= {engine_write, engine_line, engine_data, engine_strobes};
        if (outside_valid) {side_write, side_line, side_words, side_strobes}
            <= {outside_write, outside_line, outside_data, outside_strobes};
    end

    wire [REQUESTERS-1:0]       asks, stores, holds;
    wire [REQUESTERS*BANK-1:0]  in_bank;
    wire [REQUESTERS*PLACE-1:0] in_row;
    wire [REQUESTERS*32-1:0]    read;
    wire [BANKS-1:0]            bank_valid, bank_write;
    wire [BANKS*PLACE-1:0]      bank_row;
    wire [BANKS*32-1:0]         bank_data, bank_read;
    wire [BANKS*4-1:0]          bank_strobes;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [REQUESTERS-1:0]               response_valid;
    wire [BANKS*$clog2(REQUESTERS)-1:0] pointers;
    /* verilator lint_on UNUSEDSIGNAL */
    tcdm_interconnect #(
        .REQUESTERS(REQUESTERS), .BANKS(BANKS), .BEAT_BANKS(BEAT_BANKS), .ROW_BITS(PLACE)
    ) banks (
        .clock(clock), .reset(reset), .request_valid(asks), .request_grant(request_grant),
        .request_bank(in_bank), .request_row(in_row), .request_write(stores),
        .request_atomic(holds), .request_data(request_data), .request_strobes(request_strobes),
        .response_valid(response_valid), .response_data(read), .beat_valid({side_valid, beat_valid}),
        .beat_superbank({side_line[SUPERBANK-1:0], beat_line[SUPERBANK-1:0]}), .bank_valid(bank_valid), .bank_row(bank_row),
        .bank_write(bank_write), .bank_data(bank_data), .bank_strobes(bank_strobes),
        .bank_read(bank_read), .state_pointer(pointers)
    );

    genvar requester;
    generate
        for (requester = 0; requester < REQUESTERS; requester = requester + 1) begin : by_requester
            wire [WORD-1:0] word = request_word[requester*WORD +: WORD];
            wire [4:0]      operation = request_operation[requester*5 +: 5];
            wire            is_atomic = request_atomic[requester];
            wire            is_reserve = is_atomic && operation == RESERVE;
            wire            is_conditional = is_atomic && operation == CONDITIONAL;
            reg             reserved, answers, answer;
            reg [WORD-1:0]  reservation;
            wire            is_reserved = reserved && reservation == word;
            wire            granted = request_grant[requester];
            // A store to its word by whoever is served there.
            wire [BANK-1:0] own_bank = reservation[BANK-1:0];
            wire            is_stored = bank_valid[own_bank]
                && (bank_write[own_bank] || bank_row[own_bank*PLACE + ROW_BITS + 5])
                && bank_row[own_bank*PLACE +: ROW_BITS] == reservation[WORD-1:BANK];
            assign holds[requester] = is_atomic && !is_reserve && !is_conditional;
            assign asks[requester] = request_valid[requester];
            assign stores[requester] = is_conditional ? is_reserved : request_write[requester];
            assign in_bank[requester*BANK +: BANK] = word[BANK-1:0];
            assign in_row[requester*PLACE +: PLACE] = {holds[requester], operation, word[WORD-1:BANK]};
            assign response_data[requester*32 +: 32] = answers ? {31'd0, answer} : read[requester*32 +: 32];
            always @(posedge clock) begin
                answers <= granted && is_conditional;
                answer <= !is_reserved;
                if (granted && is_reserve) reservation <= word;
                reserved <= !reset && ((granted && is_reserve)
                    || (reserved && !is_stored && !(granted && is_conditional)));
            end
        end
    endgenerate

    // Of the beats before, which banks have what they read.
    reg [SUPERBANK-1:0] engine_read, side_read;
    always @(posedge clock) {engine_read, side_read} <= {beat_line[SUPERBANK-1:0], side_line[SUPERBANK-1:0]};
    integer column;
    always @*
        for (column = 0; column < BEAT_BANKS; column = column + 1) begin
            engine_answer[32*column +: 32] = bank_read[32*{engine_read, BEAT'(column)} +: 32];
            outside_answer[32*column +: 32] = bank_read[32*{side_read, BEAT'(column)} +: 32];
        end

    genvar bank;
    generate
        for (bank = 0; bank < BANKS; bank = bank + 1) begin : by_bank
            localparam [SUPERBANK-1:0] OWN = SUPERBANK'(bank / BEAT_BANKS);
            localparam integer COLUMN = bank % BEAT_BANKS;
            wire                in_side = side_valid && side_line[SUPERBANK-1:0] == OWN;
            wire                in_beat = in_side || (beat_valid && beat_line[SUPERBANK-1:0] == OWN);
            wire [PLACE-1:0]    place = bank_row[bank*PLACE +: PLACE];
            l1_bank #(.ROW_BITS(ROW_BITS)) words (
                .clock(clock), .reset(reset), .valid(bank_valid[bank]), .write(bank_write[bank]),
                .changes(place[PLACE-1]), .operation(place[ROW_BITS +: 5]), .row(place[ROW_BITS-1:0]),
                .data(bank_data[32*bank +: 32]), .strobes(bank_strobes[4*bank +: 4]),
                .beat_valid(in_beat), .beat_write(in_side ? side_write : beat_write),
                .beat_row(in_side ? side_line[LINE-1:SUPERBANK] : beat_line[LINE-1:SUPERBANK]),
                .beat_data(in_side ? side_words[32*COLUMN +: 32] : beat_words[32*COLUMN +: 32]),
                .beat_strobes(in_side ? side_strobes[4*COLUMN +: 4] : beat_strobes[4*COLUMN +: 4]),
                .read(bank_read[32*bank +: 32])
            );
        end
    endgenerate
endmodule

`default_nettype wire
