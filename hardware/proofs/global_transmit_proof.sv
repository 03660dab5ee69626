// What the global transmit queues promise, of an arbitrary hart: its words leave once, in the order written, each with
// its context; none is lost, and none is taken without room; a message's first word alone waits to be let in, and
// its last is told.
module global_transmit_proof (
    input wire         clock,
    input wire         reset,
    input wire [1:0]   write_valid,
    input wire [1:0]   write_context,
    input wire [127:0] write_word,
    input wire         word_ready
);
    localparam integer WORDS = 3;
    wire [1:0]  write_ready;
    wire        word_valid, word_begins, word_ends, word_hart, word_context;
    wire [63:0] word_data;
    global_transmit #(.HARTS(2), .CONTEXTS(2), .WORDS(WORDS)) unit (
        .clock(clock), .reset(reset), .write_valid(write_valid), .write_ready(write_ready),
        .write_context(write_context), .write_word(write_word), .word_valid(word_valid),
        .word_ready(word_ready), .word_begins(word_begins), .word_ends(word_ends),
        .word_hart(word_hart), .word_context(word_context), .word_data(word_data)
    );

    (* anyconst *) wire hart;
    (* anyconst *) wire [2:0] watched;
    reg        begun = 0;
    reg [2:0]  written = 0, gone = 0;
    reg [64:0] word = 0;
    // Of the hart's contexts: words of the message that are still to come.
    reg [3:0]  left [0:1];
    initial {left[0], left[1]} = 0;
    wire enters = write_valid[hart] && write_ready[hart];
    wire leaves = word_valid && word_hart == hart && (word_ready || !word_begins);
    reg  [1:0] stalled = 0;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // Short messages, so that they end.
        if (word_begins && word_valid) assume (word_data[15:0] <= 16);
        if (begun) begin
            assume (written < 7 || !enters);
            if (enters) written <= written + 1;
            if (enters && written == watched)
                word <= {write_context[hart], hart ? write_word[127:64] : write_word[63:0]};
            if (leaves) begin
                gone <= gone + 1;
                written_before: assert (gone < written);
                if (gone == watched) same: assert ({word_context, word_data} == word);
                begins: assert (word_begins == (left[word_context] == 0));
                ends: assert (word_ends == (left[word_context] == 1));
                left[word_context] <= word_begins ? (word_data[15:0] > 8 ? 2 : 1) : left[word_context] - 1;
            end
            fits: assert (written - gone <= WORDS);
            // Some word goes at the latest two cycles behind one that could not, if messages are let in.
            stalled <= word_ready && written != gone && !word_valid ? stalled + 1 : 0;
            goes_on: assert (stalled < 3);
        end
    end
endmodule
