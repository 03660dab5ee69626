// global_transmit: the words that harts write to x31, on their way to packetization.
//
// In:      of each hart words with the context that wrote them, one a cycle, while `write_ready` is up.
// Out:     a word a cycle, with its hart and context; `word_begins` at a message's first, which says whom it is for
//          and how long it is, and goes while `word_ready` is up. Others always go.
// Latency: a word that is written in cycle t can leave in t + 1. One of another message than the one before waits a
//          cycle for that message's state, unless it begins its message.
// How:     the lowest-numbered hart that has a word goes first. A hart's words go in the order written, so that a message
//          that waits for a buffer holds up what is behind it.
// Memory:  WORDS words for each hart.
// Source:  nanoPU paper, section 2.2; the model's `GlobalTransmit`, without its fix `head_of_line`.
`default_nettype none

module global_transmit #(
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 4,
    // transmit.queue_words.
    parameter integer WORDS = 64
) (
    input  wire                              clock,
    input  wire                              reset,
    input  wire [HARTS-1:0]                  write_valid,
    output wire [HARTS-1:0]                  write_ready,
    input  wire [HARTS*$clog2(CONTEXTS)-1:0] write_context,
    input  wire [HARTS*64-1:0]               write_word,
    output wire                              word_valid,
    input  wire                              word_ready,
    output wire                              word_begins,
    output wire                              word_ends,
    output wire [$clog2(HARTS)-1:0]          word_hart,
    output wire [$clog2(CONTEXTS)-1:0]       word_context,
    output wire [63:0]                       word_data
);
    localparam integer HART = $clog2(HARTS);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer STREAMS = HARTS * CONTEXTS;
    localparam integer STREAM = HART + CONTEXT;
    localparam integer WIDTH = CONTEXT + 64;

    wire [HARTS-1:0]       there, taken;
    wire [HARTS*WIDTH-1:0] fronts;
    wire                   any;
    wire [HART-1:0]        hart;
    first_one #(.COUNT(HARTS)) find_lowest (.bits(there), .any(any), .index(hart));
    wire [WIDTH-1:0]       front = fronts[hart*WIDTH +: WIDTH];
    assign word_hart = hart;
    assign {word_context, word_data} = front;

    // By stream, a hart's context: words of its message that are still to come. The stream whose state was read.
    reg  [12:0]       left [0:STREAMS-1];
    reg  [STREAMS-1:0] in_message;
    reg               any_read;
    reg  [STREAM-1:0] was_read;
    wire [STREAM-1:0] stream = {hart, word_context};
    wire              is_read = any_read && was_read == stream;
    wire [15:0]       bytes = word_data[15:0];
    // A message without bytes takes a word all the same, as in the published design.
    wire [12:0]       words = bytes == 0 ? 1 : 13'((17'(bytes) + 17'd7) >> 3);
    assign word_begins = !in_message[stream];
    assign word_ends = in_message[stream] && left[stream] == 1;
    assign word_valid = any && (word_begins || is_read);
    wire   goes = word_valid && (word_ready || !word_begins);
    assign taken = goes ? HARTS'(1) << hart : 0;

    always @(posedge clock)
        if (goes) left[stream] <= word_begins ? words : left[stream] - 1'b1;
    always @(posedge clock)
        if (reset) begin
            in_message <= 0;
            any_read <= 0;
        end else begin
            if (goes) in_message[stream] <= !word_ends;
            if (goes || (any && !word_begins)) any_read <= 1;
        end
    always @(posedge clock)
        if (goes || (any && !word_begins)) was_read <= stream;

    genvar number;
    generate
        for (number = 0; number < HARTS; number = number + 1) begin : by_hart
            /* verilator lint_off UNUSEDSIGNAL */
            wire [$clog2(WORDS+1)-1:0] count;
            /* verilator lint_on UNUSEDSIGNAL */
            queue #(.WIDTH(WIDTH), .DEPTH(WORDS)) words_of_hart (
                .clock(clock), .reset(reset), .in_valid(write_valid[number]), .in_ready(write_ready[number]),
                .in_data({write_context[number*CONTEXT +: CONTEXT], write_word[number*64 +: 64]}),
                .out_valid(there[number]), .out_ready(taken[number]),
                .out_data(fronts[number*WIDTH +: WIDTH]), .count(count)
            );
        end
    endgenerate
endmodule

`default_nettype wire
