// global_receive: whole messages that wait for a hart, in a queue for each context.
//
// In:      messages that reassembly has put together, with their sender and context; `read_data`, the word of the packet
//          memory at `read_word`. `take`: dispatch takes the next word of 64 bytes at `take_context`'s head;
//          `take_last` with the message's last.
// Out:     `freed`: all of a message has been copied, its id and buffer are free. `arrived`: a message's first word
//          enters its context's queue. Of each context `there`; of `take_context` what an application reads first
//          of the message at the head, sender and bytes, and its next word.
// Latency: a message that is offered in cycle t has its first word in the queue in t + 1, one each cycle follows. Between
//          the last of one and the first of the next is a cycle. What is stored in t can be taken in t + 1.
// Waits:   for room: a context's queue holds WORDS words; one that leaves makes room in the next cycle.
// Memory:  a ring of words for each context, read without a register.
// Source:  nanoPU paper, section 2.2; the model's `GlobalReceive`; cycles as measured, stage_latency.
`default_nettype none

module global_receive #(
    parameter integer CONTEXTS = 4,
    // receive.global.context_words; a power of two.
    parameter integer WORDS = 64,
    parameter integer ID_BITS = 4,
    // Of a place in the packet memory.
    parameter integer PLACE_BITS = 9
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire                        message_valid,
    output wire                        message_ready,
    input  wire [ID_BITS-1:0]          message_id,
    input  wire [PLACE_BITS-1:0]       message_word,
    input  wire [15:0]                 message_bytes,
    input  wire [47:0]                 message_source,
    input  wire [$clog2(CONTEXTS)-1:0] message_context,
    output wire [PLACE_BITS-1:0]       read_word,
    input  wire [511:0]                read_data,
    output wire                        freed_valid,
    output wire [ID_BITS-1:0]          freed_id,
    output wire                        arrived_valid,
    output wire [$clog2(CONTEXTS)-1:0] arrived_context,
    output wire [CONTEXTS-1:0]         there,
    input  wire [$clog2(CONTEXTS)-1:0] take_context,
    output wire [63:0]                 take_header,
    output wire                        take_ready,
    output wire [511:0]                take_data,
    input  wire                        take_valid,
    input  wire                        take_last
);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer INDEX = $clog2(WORDS);
    localparam integer COUNT = $clog2(WORDS + 1);

    // The message that is being copied.
    reg                  copies, begun;
    reg [ID_BITS-1:0]    id;
    reg [PLACE_BITS-1:0] place;
    reg [9:0]            left;
    reg [63:0]           header;
    reg [CONTEXT-1:0]    own;
    wire [CONTEXTS-1:0]  room;
    wire                 stores = copies && room[own];
    wire                 ends = stores && left == 1;
    assign message_ready = !copies;
    assign read_word = place;
    assign freed_valid = ends;
    assign freed_id = id;
    assign arrived_valid = stores && !begun;
    assign arrived_context = own;
    always @(posedge clock)
        if (reset) copies <= 0;
        else if (message_ready) copies <= message_valid;
        else if (ends) copies <= 0;
    always @(posedge clock)
        if (message_ready) begin
            begun <= 0;
            id <= message_id;
            place <= message_word;
            left <= 10'((17'(message_bytes) + 17'd63) >> 6);
            header <= {message_source, message_bytes};
            own <= message_context;
        end else if (stores) begin
            begun <= 1;
            place <= place + 1'b1;
            left <= left - 1'b1;
        end

    wire [CONTEXTS*64-1:0]  headers;
    wire [CONTEXTS*512-1:0] words;
    wire [CONTEXTS-1:0]     stored;
    assign take_header = headers[take_context*64 +: 64];
    assign take_data = words[take_context*512 +: 512];
    assign take_ready = stored[take_context];

    genvar number;
    generate
        for (number = 0; number < CONTEXTS; number = number + 1) begin : by_context
            localparam [CONTEXT-1:0] OWN = CONTEXT'(number);
            reg  [511:0]     ring [0:WORDS-1];
            reg  [INDEX-1:0] head, tail;
            reg  [COUNT-1:0] count;
            wire             enters = stores && own == OWN;
            wire             leaves = take_valid && take_context == OWN;
            assign room[number] = count != COUNT'(WORDS);
            assign stored[number] = count != 0;
            assign words[number*512 +: 512] = ring[head];
            always @(posedge clock) begin
                if (enters) ring[tail] <= read_data;
                if (reset) {head, tail, count} <= 0;
                else begin
                    if (enters) tail <= tail + 1'b1;
                    if (leaves) head <= head + 1'b1;
                    count <= count + COUNT'(enters) - COUNT'(leaves);
                end
            end
            // No more messages than words.
            /* verilator lint_off UNUSEDSIGNAL */
            wire             always_room;
            wire [COUNT-1:0] messages;
            /* verilator lint_on UNUSEDSIGNAL */
            queue #(.WIDTH(64), .DEPTH(WORDS)) messages_of_context (
                .clock(clock), .reset(reset), .in_valid(enters && !begun), .in_ready(always_room),
                .in_data(header), .out_valid(there[number]), .out_ready(leaves && take_last),
                .out_data(headers[number*64 +: 64]), .count(messages)
            );
        end
    endgenerate
endmodule

`default_nettype wire
