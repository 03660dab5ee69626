// local_queues: a hart's receive queues, the words that its program reads from x30.
//
// In:      words, each for a context, `enter_begins` at a message's first. `read_valid`: the word at the head of
//          `read_context` is read; `return_words`: so many of the last two words read of it come back, for
//          the instructions that read them are flushed; then none is read.
// Out:     `read_word` of that context, if `held` says that there is one. For the thread scheduler, of each
//          context, `held` and `stamps`: the cycle in which the message at its head entered.
// Latency: a word that enters in cycle t can be read in t + 1; the head's word is there without a cycle.
// Waits:   a context takes at most WORDS words less three: two may come back, and full is not empty.
// Memory:  a ring for each context, read without a register.
// Source:  nanoPU paper, sections 2.2 and 3.4; the model's `ContextQueue`.
`default_nettype none

module local_queues #(
    parameter integer CONTEXTS = 4,
    // Of a context; a power of two, at least 4.
    parameter integer WORDS = 512,
    parameter integer WORD_BITS = 64,
    parameter integer STAMP_BITS = 16
) (
    input  wire                           clock,
    input  wire                           reset,
    input  wire                           enter_valid,
    output wire                           enter_ready,
    input  wire [$clog2(CONTEXTS)-1:0]    enter_context,
    input  wire [WORD_BITS-1:0]           enter_word,
    input  wire                           enter_begins,
    input  wire                           read_valid,
    input  wire [$clog2(CONTEXTS)-1:0]    read_context,
    output wire [WORD_BITS-1:0]           read_word,
    input  wire [1:0]                     return_words,
    output wire [CONTEXTS-1:0]            held,
    output wire [CONTEXTS*STAMP_BITS-1:0] stamps
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer PLACE = $clog2(WORDS);
    localparam integer WIDTH = STAMP_BITS + WORD_BITS;
    localparam [PLACE-1:0] MOST = PLACE'(WORDS - 2);

    reg  [STAMP_BITS-1:0]       now;
    wire [CONTEXTS-1:0]         takes;
    wire [CONTEXTS*WORD_BITS-1:0] heads;

    always @(posedge clock)
        if (reset) now <= 0;
        else now <= now + 1'b1;

    assign enter_ready = takes[enter_context];
    assign read_word = heads[read_context*WORD_BITS +: WORD_BITS];

    genvar one;
    generate
        for (one = 0; one < CONTEXTS; one = one + 1) begin : by_context
            localparam [CONTEXT-1:0] OWN = CONTEXT'(one);
            reg  [WIDTH-1:0]      words [0:WORDS-1];
            reg  [PLACE-1:0]      head, tail;
            // Of the message that enters.
            reg  [STAMP_BITS-1:0] begun;
            wire [PLACE-1:0]      count = tail - head;
            wire                  enters = enter_valid && enter_context == OWN && takes[one];
            wire                  reads = read_valid && read_context == OWN && held[one];
            wire                  returns = read_context == OWN && return_words != 0;
            wire [STAMP_BITS-1:0] stamp = enter_begins ? now : begun;
            // One place less than it has distinguishes full from empty; two words may come back.
            assign takes[one] = count < MOST - 1'b1;
            assign held[one] = count != 0;
            assign {stamps[one*STAMP_BITS +: STAMP_BITS], heads[one*WORD_BITS +: WORD_BITS]}
                = words[head];
            always @(posedge clock) begin
                if (enters) {words[tail], begun} <= {stamp, enter_word, stamp};
                if (reset) {head, tail} <= 0;
                else begin
                    if (enters) tail <= tail + 1'b1;
                    if (returns) head <= head - PLACE'(return_words);
                    else if (reads) head <= head + 1'b1;
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
