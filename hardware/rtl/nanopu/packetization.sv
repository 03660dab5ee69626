// packetization: messages' words become packets, which go within their credit, and again where they were lost.
//
// In:      words of messages, the first of which says whom it is for: address, context and bytes (bits 63 to 32, 31
//          to 16, 15 to 0). `delivered`: a packet of ours has arrived; `credit`: so many packets may go, or one is
//          wanted again; `open`: so many of a message's packets may go before any answer, said once, after its first one has
//          gone; `timeout`: a message has waited for too long.
// Out:     packets as words of 64 bytes, with what their headers say. `begins`: a message has an id and a buffer, for
//          its timer; `freed`: all of it is delivered.
// Latency: a packet whose last word enters in cycle t is offered in t + 2, and so is what credit or a timeout of cycle
//          t lets go. One word a cycle comes out; between the packets of two notices is a cycle.
// How:     a packet that is written goes if its number is less than the credit, which begins with WINDOW and is never lower
//          than what `open` says; else it waits for some. First transmissions go before what credit released before what timed out; of one
//          notice's packets the lowest first. A message's first word waits for an id and a buffer, of the smallest
//          class that is large enough and has one. What says something of a message that is gone means nothing.
// Memory:  the buffers, words of 64 bytes that are written by 8 and read without a register; by id what its
//          message's headers say.
// Source:  nanoPU paper, sections 2.1 and 3.1; the model's `Packetization`, without shares of contexts and numbers of
//          an id's uses.
`default_nettype none

module packetization #(
    parameter integer CONTEXTS = 4,
    parameter integer HARTS = 4,
    // transport.rtt_packets.
    parameter integer WINDOW = 2,
    // transmit.buffers: two classes, the smaller first, counts at least 2; transmit.packet_bytes, a power of two.
    parameter integer SMALL_COUNT = 8,
    parameter integer SMALL_BYTES = 1024,
    parameter integer LARGE_COUNT = 8,
    parameter integer LARGE_BYTES = 2048,
    parameter integer PACKET_BYTES = 1024,
    // Bytes of a word of a buffer.
    parameter integer WORD_BYTES = 64
) (
    input  wire                                        clock,
    input  wire                                        reset,
    input  wire                                        word_valid,
    output wire                                        word_ready,
    input  wire                                        word_begins,
    input  wire                                        word_ends,
    input  wire [$clog2(HARTS)-1:0]                    word_hart,
    input  wire [$clog2(CONTEXTS)-1:0]                 word_context,
    input  wire [63:0]                                 word_data,
    input  wire                                        delivered_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  delivered_id,
    input  wire [7:0]                                  delivered_packet,
    input  wire                                        credit_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  credit_id,
    input  wire                                        credit_nack,
    input  wire [7:0]                                  credit_packet,
    input  wire                                        credit_pull,
    input  wire [15:0]                                 credit_packets,
    input  wire                                        open_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  open_id,
    input  wire [15:0]                                 open_packets,
    input  wire                                        timeout_valid,
    input  wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  timeout_id,
    output wire                                        packet_valid,
    input  wire                                        packet_ready,
    output wire                                        packet_first,
    output wire                                        packet_last,
    output wire [8*WORD_BYTES-1:0]                     packet_word,
    output wire [143:0]                                packet_data,
    output wire [15:0]                                 packet_bytes,
    output wire                                        begins_valid,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  begins_id,
    output wire                                        freed_valid,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT)-1:0]  freed_id,
    output wire [SMALL_COUNT+LARGE_COUNT-1:0]          state_live,
    output wire [$clog2(SMALL_COUNT+LARGE_COUNT+1)-1:0] state_free
);
    localparam integer MESSAGES = SMALL_COUNT + LARGE_COUNT;
    localparam integer ID = $clog2(MESSAGES);
    localparam integer SMALL = $clog2(SMALL_COUNT);
    localparam integer LARGE = $clog2(LARGE_COUNT);
    localparam integer SMALL_WORDS = SMALL_BYTES / WORD_BYTES;
    localparam integer LARGE_WORDS = LARGE_BYTES / WORD_BYTES;
    localparam integer WORDS = SMALL_COUNT * SMALL_WORDS + LARGE_COUNT * LARGE_WORDS;
    localparam integer WORD = $clog2(WORDS);
    localparam integer PACKETS = (LARGE_BYTES + PACKET_BYTES - 1) / PACKET_BYTES;
    localparam integer PACKET = $clog2(PACKETS);
    localparam integer PACKET_WORDS = PACKET_BYTES / WORD_BYTES;
    localparam integer INDEX = PACKET_WORDS > 1 ? $clog2(PACKET_WORDS) : 1;
    localparam integer STREAMS = HARTS * CONTEXTS;
    localparam integer LANES = WORD_BYTES / 8;
    localparam integer LANE = $clog2(LANES);
    localparam integer PLACE = $clog2(LARGE_BYTES / 8);
    localparam integer NOTICES = MESSAGES * PACKETS;
    // Bits of the number of an id's use: a notice may wait until its message is gone and another one has the id.
    localparam integer USE = 16;

    // A message's first word: an id and a buffer.
    wire [15:0]      bytes = word_data[15:0];
    wire             any_id, any_small, any_large;
    wire [SMALL-1:0] small_one;
    wire [LARGE-1:0] large_one;
    wire [ID-1:0]    new_id;
    wire             in_small = any_small && bytes <= 16'(SMALL_BYTES);
    wire             in_large = any_large && bytes <= 16'(LARGE_BYTES);
    assign word_ready = any_id && (in_small || in_large);
    wire             begins = word_valid && word_begins && word_ready;
    wire             enters = word_valid && !word_begins;
    wire [WORD-1:0]  new_base = in_small ? WORD'(small_one) * WORD'(SMALL_WORDS)
        : WORD'(SMALL_COUNT * SMALL_WORDS) + WORD'(large_one) * WORD'(LARGE_WORDS);
    assign begins_valid = begins;
    assign begins_id = new_id;

    // By id: what the headers say, and the buffer.
    localparam integer FACTS = 32 + 16 + $clog2(CONTEXTS) + 16 + WORD + 1;
    reg  [FACTS-1:0]   facts [0:MESSAGES-1];
    reg  [SMALL-1:0]   small_buffers [0:MESSAGES-1];
    reg  [LARGE-1:0]   large_buffers [0:MESSAGES-1];
    always @(posedge clock)
        if (begins) begin
            facts[new_id] <= {word_data[63:16], word_context, bytes, new_base, !in_small};
            small_buffers[new_id] <= small_one;
            large_buffers[new_id] <= large_one;
        end
    wire             freed_large = facts[freed_id][0];

    free_list #(.COUNT(MESSAGES)) ids (
        .clock(clock), .reset(reset), .take(begins), .any(any_id), .number(new_id), .give(freed_valid),
        .give_number(freed_id), .count(state_free)
    );
    /* verilator lint_off UNUSEDSIGNAL */
    wire [$clog2(SMALL_COUNT+1)-1:0] free_small;
    wire [$clog2(LARGE_COUNT+1)-1:0] free_large;
    /* verilator lint_on UNUSEDSIGNAL */
    free_list #(.COUNT(SMALL_COUNT)) all_small (
        .clock(clock), .reset(reset), .take(begins && in_small), .any(any_small), .number(small_one),
        .give(freed_valid && !freed_large), .give_number(small_buffers[freed_id]), .count(free_small)
    );
    free_list #(.COUNT(LARGE_COUNT)) all_large (
        .clock(clock), .reset(reset), .take(begins && !in_small), .any(any_large), .number(large_one),
        .give(freed_valid && freed_large), .give_number(large_buffers[freed_id]), .count(free_large)
    );

    // By stream: the message that is being written, and the word that comes next.
    localparam integer STREAM = $clog2(STREAMS);
    wire [STREAM-1:0] stream = STREAM'({word_hart, word_context});
    reg  [ID-1:0]     writing [0:STREAMS-1];
    reg  [PLACE-1:0]  places [0:STREAMS-1];
    wire [ID-1:0]     id = writing[stream];
    wire [PLACE-1:0]  place = places[stream];
    always @(posedge clock)
        if (begins || enters) begin
            if (begins) writing[stream] <= new_id;
            places[stream] <= begins ? 0 : place + 1'b1;
        end

    // The buffers: words as the network orders their bytes.
    reg  [8*WORD_BYTES-1:0] buffers [0:WORDS-1];
    /* verilator lint_off UNUSEDSIGNAL */
    wire [FACTS-1:0] own_facts = facts[id];
    /* verilator lint_on UNUSEDSIGNAL */
    wire [WORD-1:0]  at = own_facts[WORD:1] + WORD'(place >> LANE);
    wire [63:0]      turned = {
        word_data[7:0], word_data[15:8], word_data[23:16], word_data[31:24], word_data[39:32],
        word_data[47:40], word_data[55:48], word_data[63:56]
    };
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : by_lane
            always @(posedge clock)
                if (enters && (LANES == 1 || place[LANE-1:0] == LANE'(lane)))
                    buffers[at][64*lane +: 64] <= turned;
        end
    endgenerate
    wire              ends_packet = enters && (word_ends || &place[$clog2(PACKET_BYTES/8)-1:0]);
    wire [PACKET-1:0] packet = PACKET'(place >> $clog2(PACKET_BYTES / 8));
    wire [PACKETS-1:0] written = ends_packet ? PACKETS'(1) << packet : 0;

    // By id: which packets go, wait, have gone and have arrived.
    // What `open` lets go is told in the next cycle without credit; a cycle is enough for the one before it.
    reg                         opened;
    reg  [ID-1:0]               opened_id;
    wire                        releases = opened && !credit_valid;
    wire [ID-1:0]               credited_id = credit_valid ? credit_id : opened_id;
    always @(posedge clock) begin
        if (reset) opened <= 0;
        else opened <= open_valid || (opened && !releases);
        if (open_valid) opened_id <= open_id;
    end
    wire [MESSAGES*PACKETS-1:0] goes_first, goes_by_credit, goes_again;
    wire [MESSAGES*USE-1:0]     uses;
    wire [MESSAGES-1:0]         completes;
    wire                        none_completes;
    wire                        sends;
    wire [ID-1:0]               job_id;
    wire [PACKET-1:0]           job_packet;
    genvar number;
    generate
        for (number = 0; number < MESSAGES; number = number + 1) begin : by_message
            localparam [ID-1:0] OWN = ID'(number);
            reg                live, is_open;
            reg [PACKETS-1:0]  all, delivered, waiting, sent, timed;
            reg [15:0]         credit;
            wire own_begins = begins && new_id == OWN;
            wire own_credit = credit_valid && credit_id == OWN && live;
            wire own_pull = own_credit && credit_pull;
            wire own_delivered = delivered_valid && delivered_id == OWN && live
                && delivered_packet < 8'(PACKETS);
            wire own_open = open_valid && open_id == OWN && live && !is_open;
            wire own_release = releases && opened_id == OWN && live;
            wire own_timeout = timeout_valid && timeout_id == OWN && live;
            wire own_sends = sends && job_id == OWN;
            wire [PACKETS-1:0] arrives = own_delivered
                ? (PACKETS'(1) << delivered_packet[PACKET-1:0]) & sent : 0;
            wire [PACKETS-1:0] wanted = own_credit && credit_nack && credit_packet < 8'(PACKETS)
                ? (PACKETS'(1) << credit_packet[PACKET-1:0]) & sent : 0;
            wire [15:0] unasked = own_open && open_packets > credit ? open_packets : credit;
            wire [15:0] limit = own_pull ? credit_packets : unasked;
            wire [PACKETS-1:0] allowed, opens, asks, own_written, reached;
            wire lets_go = own_pull || own_release;
            genvar one;
            for (one = 0; one < PACKETS; one = one + 1) begin : by_packet
                assign allowed[one] = 16'(one) < limit;
                assign opens[one] = 16'(one) < unasked || one < WINDOW;
                assign reached[one] = (sent >> one) != 0;
            end
            assign own_written = ends_packet && id == OWN ? written : 0;
            assign asks = waiting | wanted | (own_written & ~opens);
            assign goes_first[number*PACKETS +: PACKETS] = own_written & opens;
            assign goes_by_credit[number*PACKETS +: PACKETS] = lets_go ? asks & allowed : 0;
            // Packets up to the highest that had gone at the timeout before.
            assign goes_again[number*PACKETS +: PACKETS] = own_timeout ? sent & ~delivered & timed : 0;
            assign completes[number] = own_delivered && ((delivered | arrives) & all) == all
                && (delivered & all) != all;
            assign state_live[number] = live;
            always @(posedge clock)
                if (reset) live <= 0;
                else if (own_begins) live <= 1;
                else if (completes[number]) live <= 0;
            reg [USE-1:0] uses_begun;
            assign uses[number*USE +: USE] = uses_begun;
            always @(posedge clock)
                if (reset) uses_begun <= 0;
                else if (own_begins) uses_begun <= uses_begun + 1'b1;
            wire [PACKETS-1:0] first = 1;
            always @(posedge clock)
                if (own_begins) begin
                    {delivered, waiting, sent, is_open} <= 0;
                    timed <= first;
                    credit <= 16'(WINDOW);
                    all <= ~({PACKETS{1'b1}} << 5'((17'(bytes) + 17'(PACKET_BYTES - 1)) / 17'(PACKET_BYTES))) | first;
                end else begin
                    delivered <= delivered | arrives;
                    waiting <= lets_go ? asks & ~allowed : asks;
                    if (own_sends) sent <= sent | (PACKETS'(1) << job_packet);
                    if (own_timeout) timed <= reached | first;
                    if (own_open) is_open <= 1;
                    if (own_pull || own_open) credit <= limit;
                end
        end
    endgenerate
    first_one #(.COUNT(MESSAGES)) who_completes (.bits(completes), .any(freed_valid), .index(freed_id));
    assign none_completes = !freed_valid;

    // Notices of packets that go, by urgency.
    localparam integer WIDTH = USE + ID + PACKETS;
    wire [2:0]         notes, noted, takes;
    wire [3*WIDTH-1:0] note, first;
    assign notes = {
        goes_again[timeout_id*PACKETS +: PACKETS] != 0, goes_by_credit[credited_id*PACKETS +: PACKETS] != 0,
        goes_first[id*PACKETS +: PACKETS] != 0
    };
    assign note = {
        uses[timeout_id*USE +: USE], timeout_id, goes_again[timeout_id*PACKETS +: PACKETS],
        uses[credited_id*USE +: USE], credited_id, goes_by_credit[credited_id*PACKETS +: PACKETS],
        uses[id*USE +: USE], id, goes_first[id*PACKETS +: PACKETS]
    };
    /* verilator lint_off UNUSEDSIGNAL */
    wire [2:0] have_room;
    /* verilator lint_on UNUSEDSIGNAL */
    genvar urgency;
    generate
        for (urgency = 0; urgency < 3; urgency = urgency + 1) begin : by_urgency
            /* verilator lint_off UNUSEDSIGNAL */
            wire [$clog2(NOTICES+1)-1:0] count;
            /* verilator lint_on UNUSEDSIGNAL */
            queue #(.WIDTH(WIDTH), .DEPTH(NOTICES)) notices (
                .clock(clock), .reset(reset), .in_valid(notes[urgency]), .in_ready(have_room[urgency]),
                .in_data(note[urgency*WIDTH +: WIDTH]), .out_valid(noted[urgency]),
                .out_ready(takes[urgency]), .out_data(first[urgency*WIDTH +: WIDTH]), .count(count)
            );
        end
    endgenerate

    // The one at hand.
    reg                has_job;
    reg  [ID-1:0]      own_id;
    reg  [PACKETS-1:0] packets;
    reg  [INDEX-1:0]   index;
    assign takes = has_job ? 0 : noted & (~noted + 1'b1);
    wire [WIDTH-1:0]   taken = noted[0] ? first[0 +: WIDTH] : noted[1] ? first[WIDTH +: WIDTH]
        : first[2*WIDTH +: WIDTH];
    wire [ID-1:0]      taken_id = taken[PACKETS +: ID];
    wire               is_there = state_live[taken_id] && uses[taken_id*USE +: USE] == taken[WIDTH-1 -: USE];
    wire [PACKET-1:0]  lowest;
    wire               any_packet;
    first_one #(.COUNT(PACKETS)) next (.bits(packets), .any(any_packet), .index(lowest));
    wire [31:0]        their_ip;
    wire [15:0]        their_context, message_bytes;
    wire [$clog2(CONTEXTS)-1:0] own_context;
    wire [WORD-1:0]    base;
    wire               is_large;
    assign {their_ip, their_context, own_context, message_bytes, base, is_large} = packet_first
        ? facts[own_id] : sent_facts;
    // A packet goes as it began, though its message may be gone meanwhile and another one have the id.
    reg  [FACTS-1:0]   sent_facts;
    always @(posedge clock) if (sends) sent_facts <= facts[own_id];
    wire [15:0]        left = message_bytes - 16'(lowest) * 16'(PACKET_BYTES);
    assign packet_bytes = left > 16'(PACKET_BYTES) ? 16'(PACKET_BYTES) : left;
    assign packet_valid = has_job;
    assign packet_first = index == 0;
    assign packet_last = packet_bytes <= (16'(index) + 16'd1) * 16'(WORD_BYTES);
    assign packet_word = buffers[base + WORD'(lowest) * WORD'(PACKET_WORDS) + WORD'(index)];
    assign packet_data = {
        their_ip, their_context, 16'(own_context), message_bytes, 8'(lowest), 16'd0, 16'(own_id), 16'(base),
        7'd0, is_large
    };
    assign sends = has_job && packet_ready && packet_first;
    assign job_id = own_id;
    assign job_packet = lowest;
    wire   ends = has_job && packet_ready && packet_last;
    always @(posedge clock)
        if (reset) begin
            has_job <= 0;
            index <= 0;
        end else begin
            // Of a message that is gone nothing goes.
            if (takes != 0) has_job <= is_there && !(freed_valid && freed_id == taken_id);
            else if (ends && (packets & (packets - 1'b1)) == 0) has_job <= 0;
            if (has_job && packet_ready) index <= packet_last ? 0 : index + 1'b1;
        end
    always @(posedge clock)
        if (takes != 0) {own_id, packets} <= taken[ID+PACKETS-1:0];
        else if (ends) packets <= packets & (packets - 1'b1);

    wire _unused = &{1'b0, any_packet, none_completes};
endmodule

`default_nettype wire
