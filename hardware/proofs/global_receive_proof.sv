// What the global receive queues promise, of an arbitrary context: the words of its messages come out once, in order, none
// before it was stored and none is lost; who sent a message, and how long it is, is told with its words; a
// message's buffer is free when its last word is copied, and not before.
module global_receive_proof (
    input wire         clock,
    input wire         reset,
    input wire         message_valid,
    input wire [1:0]   message_id,
    input wire [2:0]   message_word,
    input wire [15:0]  message_bytes,
    input wire [47:0]  message_source,
    input wire         message_context,
    input wire [511:0] read_data,
    input wire         take_context,
    input wire         take_valid,
    input wire         take_last
);
    localparam integer WORDS = 2;
    wire         message_ready, freed_valid, arrived_valid, arrived_context, take_ready;
    wire [2:0]   read_word;
    wire [1:0]   freed_id, there;
    wire [63:0]  take_header;
    wire [511:0] take_data;
    global_receive #(.CONTEXTS(2), .WORDS(WORDS), .ID_BITS(2), .PLACE_BITS(3)) unit (
        .clock(clock), .reset(reset), .message_valid(message_valid), .message_ready(message_ready),
        .message_id(message_id), .message_word(message_word), .message_bytes(message_bytes),
        .message_source(message_source), .message_context(message_context), .read_word(read_word),
        .read_data(read_data), .freed_valid(freed_valid), .freed_id(freed_id),
        .arrived_valid(arrived_valid), .arrived_context(arrived_context), .there(there),
        .take_context(take_context), .take_header(take_header), .take_ready(take_ready),
        .take_data(take_data), .take_valid(take_valid), .take_last(take_last)
    );

    (* anyconst *) wire context_;
    (* anyconst *) wire [2:0] watched;
    reg        begun = 0;
    // The message that is being copied.
    reg        copies = 0, own = 0, first = 0;
    reg [1:0]  left = 0, id = 0;
    reg [2:0]  place = 0;
    // Of the context: messages that have begun and been taken, words stored and taken; what is watched of the messages.
    reg [2:0]  messages = 0, taken = 0, stored = 0, gone = 0;
    reg [63:0] header = 0, copied = 0;
    reg [7:0]  byte_stored = 0;
    // Words of the message at the head that have been taken.
    reg [1:0]  of_message = 0;
    wire       room = stored - gone < WORDS;
    wire       takes = take_valid && take_context == context_;
    wire       copies_own = copies && own == context_;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (message_bytes != 0 && message_bytes <= 192);
        if (begun) begin
            assume (!take_valid || take_ready);
            assume (stored < 7 && messages < 7);
            if (message_valid && message_ready) begin
                {copies, own, first, id, place} <= {1'b1, message_context, 1'b1, message_id, message_word};
                left <= message_bytes > 128 ? 3 : message_bytes > 64 ? 2 : 1;
                copied <= {message_source, message_bytes};
            end
            if (copies_own) begin
                told: assert (freed_valid == (left == 1 && room));
                asked: assert (!room || read_word == place);
                if (freed_valid) who: assert (freed_id == id);
                if (room) begin
                    came: assert (arrived_valid == first && (!first || arrived_context == context_));
                    left <= left - 1;
                    place <= place + 1;
                    first <= 0;
                    if (left == 1) copies <= 0;
                    if (first) messages <= messages + 1;
                    if (first && messages == watched) header <= copied;
                    stored <= stored + 1;
                    if (stored == watched) byte_stored <= read_data[7:0];
                end
            end else if (copies && freed_valid) copies <= 0;
            if (!copies) nothing_freed: assert (!freed_valid && !arrived_valid);
            if (take_context == context_ && taken != messages && there[context_]) begin
                if (taken == watched) head: assert (take_header == header);
            end
            if (takes) begin
                assume (take_last || of_message < 2);
                stored_before: assert (gone < stored);
                if (gone == watched) same: assert (take_data[7:0] == byte_stored);
                gone <= gone + 1;
                of_message <= take_last ? 0 : of_message + 1;
                // Whoever takes knows from the head how many there are.
                assume (taken != messages);
                if (take_last) taken <= taken + 1;
            end
            listed: assert (there[context_] == (taken != messages));
            fits: assert (stored - gone <= WORDS);
        end
    end
endmodule
