// reassembly: packets become messages: room for each, which packets have come, and when all are there.
//
// In:      `packet`: a data packet's header: its message's key and length, its number in the message,
//          whether the network trimmed its payload away. `written`: a packet that was taken is in the
//          buffer as a whole (each once). `freed`: a message that came out has been delivered.
// Out:     `verdict` in the cycle of `packet`: 0 taken, 1 a duplicate, 2 no room, 3 its lengths lie;
//          with 0 or 1 the message's id and whether all its packets have come with this one, with 0 the word of the
//          buffer where its payload begins and whether it begins its message. `message`: a stream of messages that are complete: id, first
//          word, bytes. `state_…`: ids in use, ids and buffers that are free.
// Latency: the verdict is combinational, one packet a cycle. The message whose last packet is written
//          in cycle t is offered in t + 1.
// How:     a message has the smallest class of buffer that is large enough and has one free. A packet
//          of no known message begins one, a trimmed one, too, which then waits for its payload. The
//          packet memory is not in here: it is as plain as a memory can be.
// Memory:  by id the first word, the length and the class, read without a register.
// Source:  nanoPU paper, sections 2.1 and 3.1; the model's `Reassembly`, without shares of contexts and
//          without the memory of finished messages.
`default_nettype none

module reassembly #(
    // receive.reassembly.buffers: two classes, the smaller first; counts at least 2.
    parameter integer SMALL_COUNT = 64,
    parameter integer SMALL_BYTES = 1024,
    parameter integer LARGE_COUNT = 64,
    parameter integer LARGE_BYTES = 2048,
    // receive.reassembly.packet_bytes; at least two packets are in the longest message.
    parameter integer PACKET_BYTES = 1024,
    // Bytes of a word of the buffer.
    parameter integer WORD_BYTES = 64,
    parameter integer KEY_BITS = 64,
    parameter integer LENGTH_BITS = 16,
    parameter integer NUMBER_BITS = 8
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire                        packet_valid,
    input  wire [KEY_BITS-1:0]         packet_key,
    input  wire [LENGTH_BITS-1:0]      packet_message_bytes,
    input  wire [NUMBER_BITS-1:0]      packet_number,
    input  wire                        packet_trimmed,
    output wire [1:0]                  verdict,
    output wire                        packet_begins,
    output wire                        packet_completes,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0] packet_id,
    output wire [$clog2((SMALL_COUNT*SMALL_BYTES+LARGE_COUNT*LARGE_BYTES)/WORD_BYTES)-1:0] packet_word,
    input  wire                        written_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0] written_id,
    output wire                        message_valid,
    input  wire                        message_ready,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0] message_id,
    output wire [$clog2((SMALL_COUNT*SMALL_BYTES+LARGE_COUNT*LARGE_BYTES)/WORD_BYTES)-1:0] message_word,
    output wire [LENGTH_BITS-1:0]      message_bytes,
    input  wire                        freed_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0] freed_id,
    output wire [SMALL_COUNT+LARGE_COUNT-1:0]           state_used,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT+1)-1:0] state_free_ids,
    output wire [$clog2(SMALL_COUNT+1)-1:0]             state_free_small,
    output wire [$clog2(LARGE_COUNT+1)-1:0]             state_free_large
);
    localparam integer MESSAGES = SMALL_COUNT + LARGE_COUNT;
    localparam integer ID = $clog2(MESSAGES);
    localparam integer SMALL = $clog2(SMALL_COUNT);
    localparam integer LARGE = $clog2(LARGE_COUNT);
    localparam integer SMALL_WORDS = SMALL_BYTES / WORD_BYTES;
    localparam integer LARGE_WORDS = LARGE_BYTES / WORD_BYTES;
    localparam integer WORD = $clog2(SMALL_COUNT * SMALL_WORDS + LARGE_COUNT * LARGE_WORDS);
    localparam integer PACKETS = (LARGE_BYTES + PACKET_BYTES - 1) / PACKET_BYTES;
    localparam integer PACKET = $clog2(PACKETS);
    localparam integer COUNT = $clog2(PACKETS + 1);
    localparam [1:0] TAKEN = 0, DUPLICATE = 1, NO_ROOM = 2, LIES = 3;

    // Whether the header makes sense: the packet's number lies in the message.
    wire [LENGTH_BITS:0] padded = {1'b0, packet_message_bytes} + (LENGTH_BITS + 1)'(PACKET_BYTES - 1);
    wire [LENGTH_BITS:0] packets = padded / (LENGTH_BITS + 1)'(PACKET_BYTES);
    wire lies = packet_message_bytes == 0 || packet_message_bytes > LENGTH_BITS'(LARGE_BYTES)
        || (LENGTH_BITS + 1)'(packet_number) >= packets;

    // Its message, or an id and a buffer for one.
    wire             known, any_id, any_small, any_large;
    wire [ID-1:0]    known_id, new_id;
    wire [SMALL-1:0] small_one;
    wire [LARGE-1:0] large_one;
    wire             in_small = any_small && packet_message_bytes <= LENGTH_BITS'(SMALL_BYTES);
    wire             room = any_id && (in_small || any_large);
    wire             begins = packet_valid && !lies && !known && room;
    wire [WORD-1:0]  new_word = in_small ? WORD'(small_one) * WORD'(SMALL_WORDS)
        : WORD'(SMALL_COUNT * SMALL_WORDS) + WORD'(large_one) * WORD'(LARGE_WORDS);

    // By id: the first word, the length, and the buffer.
    reg [WORD-1:0]        words [0:MESSAGES-1];
    reg [LENGTH_BITS-1:0] lengths [0:MESSAGES-1];
    reg [LARGE:0]         large_buffers [0:MESSAGES-1];
    reg [SMALL-1:0]       small_buffers [0:MESSAGES-1];
    always @(posedge clock)
        if (begins) begin
            words[new_id] <= new_word;
            lengths[new_id] <= packet_message_bytes;
            large_buffers[new_id] <= {!in_small, large_one};
            small_buffers[new_id] <= small_one;
        end
    wire             freed_large;
    wire [LARGE-1:0] freed_large_buffer;
    assign {freed_large, freed_large_buffer} = large_buffers[freed_id];

    message_table #(.MESSAGES(MESSAGES), .KEY_BITS(KEY_BITS)) table_of_messages (
        .clock(clock), .reset(reset), .key(packet_key), .known(known), .id(known_id),
        .insert(begins), .insert_id(new_id), .remove(freed_valid), .remove_id(freed_id),
        .state_used(state_used)
    );
    free_list #(.COUNT(MESSAGES)) ids (
        .clock(clock), .reset(reset), .take(begins), .any(any_id), .number(new_id),
        .give(freed_valid), .give_number(freed_id), .count(state_free_ids)
    );
    free_list #(.COUNT(SMALL_COUNT)) all_small (
        .clock(clock), .reset(reset), .take(begins && in_small), .any(any_small), .number(small_one),
        .give(freed_valid && !freed_large), .give_number(small_buffers[freed_id]),
        .count(state_free_small)
    );
    free_list #(.COUNT(LARGE_COUNT)) all_large (
        .clock(clock), .reset(reset), .take(begins && !in_small), .any(any_large), .number(large_one),
        .give(freed_valid && freed_large), .give_number(freed_large_buffer),
        .count(state_free_large)
    );

    // By id: which packets have come, and how many are still to be written.
    wire [PACKETS-1:0]          bit_of_packet = packet_trimmed ? 0
        : PACKETS'(1) << packet_number[PACKET-1:0];
    wire [MESSAGES*PACKETS-1:0] received;
    wire [MESSAGES-1:0]         completes;
    wire is_duplicate = known && (received[known_id*PACKETS +: PACKETS] & bit_of_packet) != 0;
    wire take = packet_valid && verdict == TAKEN;
    assign verdict = lies ? LIES : !known && !room ? NO_ROOM : is_duplicate ? DUPLICATE : TAKEN;
    assign packet_begins = begins;
    wire [PACKETS-1:0] with_this = (known ? received[known_id*PACKETS +: PACKETS] : 0) | bit_of_packet;
    wire [PACKETS-1:0] all_of_it = ~({PACKETS{1'b1}} << COUNT'(packets));
    assign packet_completes = with_this == all_of_it;
    assign packet_id = known ? known_id : new_id;
    assign packet_word = (known ? words[known_id] : new_word)
        + WORD'(packet_number) * WORD'(PACKET_BYTES / WORD_BYTES);

    genvar number;
    generate
        for (number = 0; number < MESSAGES; number = number + 1) begin : by_message
            localparam [ID-1:0] OWN = ID'(number);
            wire own_packet = take && packet_id == OWN;
            wire own_begins = begins && new_id == OWN;
            wire own_written = written_valid && written_id == OWN;
            reg [PACKETS-1:0] came;
            reg [COUNT-1:0]   missing;
            assign received[number*PACKETS +: PACKETS] = came;
            assign completes[number] = own_written && missing == 1;
            always @(posedge clock) begin
                if (own_packet) came <= (own_begins ? 0 : came) | bit_of_packet;
                if (own_begins) missing <= COUNT'(packets);
                else if (own_written) missing <= missing - 1'b1;
            end
        end
    endgenerate

    // All that are complete fit.
    /* verilator lint_off UNUSEDSIGNAL */
    wire                          in_ready;
    wire [$clog2(MESSAGES+1)-1:0] waiting;
    /* verilator lint_on UNUSEDSIGNAL */
    queue #(.WIDTH(ID), .DEPTH(MESSAGES)) complete (
        .clock(clock), .reset(reset), .in_valid(|completes), .in_ready(in_ready),
        .in_data(written_id), .out_valid(message_valid), .out_ready(message_ready),
        .out_data(message_id), .count(waiting)
    );
    assign message_word = words[message_id];
    assign message_bytes = lengths[message_id];
endmodule

`default_nettype wire
