// What a hart's receive queues promise, of an arbitrary context and an arbitrary word of it: words are read in
// order, as they entered, again if they came back; none is lost, and no context takes another's room; a message's
// words carry the cycle in which its first word entered.
module local_queues_proof #(
    parameter integer CONTEXTS = 2,
    parameter integer WORDS = 4,
    parameter integer WORD_BITS = 2,
    parameter integer STAMP_BITS = 4
) (
    input wire                        clock,
    input wire                        reset,
    input wire                        enter_valid,
    input wire [$clog2(CONTEXTS)-1:0] enter_context,
    input wire [WORD_BITS-1:0]        enter_word,
    input wire                        enter_begins,
    input wire                        read_valid,
    input wire [$clog2(CONTEXTS)-1:0] read_context,
    input wire [1:0]                  return_words
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    (* anyconst *) wire [CONTEXT-1:0] one;
    (* anyconst *) wire [2:0]         place;
    wire                           enter_ready;
    wire [WORD_BITS-1:0]           read_word;
    wire [CONTEXTS-1:0]            held;
    wire [CONTEXTS*STAMP_BITS-1:0] stamps;
    reg                            begun = 0;
    wire                           enters_any = begun && enter_valid;
    wire                           reads_any = begun && read_valid && return_words == 0;
    wire [1:0]                     returned = begun ? return_words : 0;

    local_queues #(
        .CONTEXTS(CONTEXTS), .WORDS(WORDS), .WORD_BITS(WORD_BITS), .STAMP_BITS(STAMP_BITS)
    ) unit (
        .clock(clock), .reset(reset), .enter_valid(enters_any), .enter_ready(enter_ready),
        .enter_context(enter_context), .enter_word(enter_word), .enter_begins(enter_begins),
        .read_valid(reads_any), .read_context(read_context), .read_word(read_word),
        .return_words(returned), .held(held), .stamps(stamps)
    );

    // Words of the context that entered, and that were read; of the last reads, how many may come back.
    reg [3:0]            entered = 0, read = 0;
    reg [1:0]            may_return = 0;
    reg [WORD_BITS-1:0]  word = 0;
    reg [STAMP_BITS-1:0] now = 0, message = 0, stamp = 0;
    wire                 enters = enters_any && enter_ready && enter_context == one;
    wire                 reads = reads_any && read_context == one && held[one];
    wire                 returns = returned != 0 && read_context == one;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // The unit's clock begins behind the reset.
        if (begun) now <= now + 1;
        assume (!returns || returned <= may_return);
        assume (return_words != 3 && (return_words == 0 || read_context == one));
        assume (entered < 12);
        if (begun) begin
            if (enters) begin
                entered <= entered + 1;
                if (enter_begins) message <= now;
                if (entered == place) {word, stamp} <= {enter_word, enter_begins ? now : message};
            end
            assume (entered != 0 || !enters || enter_begins);
            if (reads) read <= read + 1;
            if (returns) read <= read - returned;
            may_return <= returns ? may_return - returned : reads && may_return != 2 ? may_return + 1 : may_return;
            is_held: assert (held[one] == (entered != read));
            no_overflow: assert (entered - read < WORDS);
            if (entered - read == 0 && enter_context == one) has_room: assert (enter_ready);
            if (entered > place && read == place) begin
                if (read_context == one) its_word: assert (read_word == word);
                its_stamp: assert (stamps[one*STAMP_BITS +: STAMP_BITS] == stamp);
            end
        end
    end
endmodule
