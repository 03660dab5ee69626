// What the L1's interconnect promises, of an arbitrary bank and requester: a bank serves at most one in a
// cycle, only who asks, and somebody if anybody asks and neither beat nor atomic holds it, which a beat puts off; what it gets is
// what that one asked; the answer comes from it in the cycle behind; whoever keeps asking sees it serve all
// others together at most as often as there are others.
module tcdm_interconnect_proof #(
    parameter integer REQUESTERS = 4,
    parameter integer BANKS = 4
) (
    input wire                     clock,
    input wire                     reset,
    input wire [REQUESTERS-1:0]    request_valid,
    input wire [REQUESTERS*2-1:0]  request_bank,
    input wire [REQUESTERS-1:0]    request_row,
    input wire [REQUESTERS-1:0]    request_write,
    input wire [REQUESTERS-1:0]    request_atomic,
    input wire [REQUESTERS*8-1:0]  request_data,
    input wire [REQUESTERS-1:0]    request_strobes,
    input wire [1:0]               beat_valid,
    input wire [1:0]               beat_superbank,
    input wire [BANKS*8-1:0]       bank_read
);
    wire [REQUESTERS-1:0]   grant, response_valid;
    wire [REQUESTERS*8-1:0] response_data;
    wire [BANKS-1:0]        bank_valid, bank_row, bank_write, bank_strobes;
    wire [BANKS*8-1:0]      bank_data;
    wire [BANKS*2-1:0]      pointers;

    tcdm_interconnect #(
        .REQUESTERS(REQUESTERS), .BANKS(BANKS), .BEAT_BANKS(2), .ROW_BITS(1), .WORD_BYTES(1)
    ) unit (
        .clock(clock), .reset(reset), .request_valid(request_valid), .request_grant(grant),
        .request_bank(request_bank), .request_row(request_row), .request_write(request_write),
        .request_atomic(request_atomic), .request_data(request_data),
        .request_strobes(request_strobes), .response_valid(response_valid),
        .response_data(response_data), .beat_valid(beat_valid), .beat_superbank(beat_superbank),
        .bank_valid(bank_valid), .bank_row(bank_row), .bank_write(bank_write),
        .bank_data(bank_data), .bank_strobes(bank_strobes), .bank_read(bank_read),
        .state_pointer(pointers)
    );

    (* anyconst *) wire [1:0] bank;
    (* anyconst *) wire [1:0] one;
    wire [REQUESTERS-1:0] asks;
    genvar place;
    generate
        for (place = 0; place < REQUESTERS; place = place + 1) begin : by_place
            assign asks[place] = request_valid[place] && request_bank[place*2 +: 2] == bank;
        end
    endgenerate
    wire [REQUESTERS-1:0] served = asks & grant;
    wire beat = (beat_valid[0] && beat_superbank[0] == bank[1]) || (beat_valid[1] && beat_superbank[1] == bank[1]);

    reg begun = 0, held = 0, waits = 0, was_served = 0;
    reg [2:0] others = 0;
    wire [1:0] until_first = one - pointers[bank*2 +: 2];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            // Whoever asks, asks until it is served.
            if (waits) assume (asks[one]);
            waits <= asks[one] && !served[one];
            others <= asks[one] && !served[one] ? others + (served != 0) : 0;
            held <= |(served & request_atomic) || (held && beat);
            was_served <= served[one];

            one_a_cycle: assert ((served & (served - 1'b1)) == 0);
            who_asks: assert ((grant & ~request_valid) == 0);
            its_access: assert (bank_valid[bank] == (served != 0));
            if (beat || held) kept: assert (served == 0);
            if (|asks && !beat && !held) somebody: assert (served != 0);
            if (bank_write[bank]) no_write: assert (bank_valid[bank]);
            if (served[one]) begin
                row: assert (bank_row[bank] == request_row[one]);
                writes: assert (bank_write[bank] == request_write[one]);
                data: assert (bank_data[bank*8 +: 8] == request_data[one*8 +: 8]);
                strobes: assert (bank_strobes[bank] == request_strobes[one]);
            end
            if (was_served) begin
                answers: assert (response_valid[one]);
                its_answer: assert (response_data[one*8 +: 8] == bank_read[bank*8 +: 8]);
            end
            if (waits) progress: assert (others + until_first < REQUESTERS);
            bounded: assert (others < REQUESTERS);
        end
    end
endmodule
