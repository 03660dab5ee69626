// What packetization promises: the packets that are written within their credit go once, in order and with their
// words, as long as nobody speaks of them; a packet goes only within the credit that was given; what waits for credit
// goes soon once a PULL, or `open`, gives it, and a message's first packet again when its time is over; a message's id
// and buffer are free again when all of it is delivered, and not before; none is lost.
module packetization_proof #(
    parameter integer SMALL_COUNT = 2,
    parameter integer LARGE_COUNT = 2
) (
    input wire        clock,
    input wire        reset,
    input wire        word_valid,
    input wire        word_hart,
    input wire [63:0] word_data,
    input wire        delivered_valid,
    input wire [1:0]  delivered_id,
    input wire [7:0]  delivered_packet,
    input wire        credit_valid,
    input wire [1:0]  credit_id,
    input wire        credit_nack,
    input wire [7:0]  credit_packet,
    input wire        credit_pull,
    input wire [15:0] credit_packets,
    input wire        open_valid,
    input wire [1:0]  open_id,
    input wire [15:0] open_packets,
    input wire        timeout_valid,
    input wire [1:0]  timeout_id,
    input wire        packet_ready
);
    localparam integer WINDOW = 1;
    localparam integer PACKET_BYTES = 16;
    wire         word_ready, word_begins, word_ends, packet_valid, packet_first, packet_last;
    wire         begins_valid, freed_valid;
    wire [1:0]   begins_id, freed_id;
    wire [127:0] packet_word;
    wire [143:0] packet_data;
    wire [15:0]  packet_bytes;
    wire [3:0]   live;
    wire [2:0]   free;

    packetization #(
        .CONTEXTS(2), .HARTS(2), .WINDOW(WINDOW), .SMALL_COUNT(SMALL_COUNT), .SMALL_BYTES(16),
        .LARGE_COUNT(LARGE_COUNT), .LARGE_BYTES(32), .PACKET_BYTES(PACKET_BYTES), .WORD_BYTES(16)
    ) unit (
        .clock(clock), .reset(reset), .word_valid(word_valid), .word_ready(word_ready),
        .word_begins(word_begins), .word_ends(word_ends), .word_hart(word_hart), .word_context(1'b0),
        .word_data(word_data), .delivered_valid(delivered_valid), .delivered_id(delivered_id),
        .delivered_packet(delivered_packet), .credit_valid(credit_valid), .credit_id(credit_id),
        .credit_nack(credit_nack), .credit_packet(credit_packet), .credit_pull(credit_pull),
        .credit_packets(credit_packets), .open_valid(open_valid), .open_id(open_id),
        .open_packets(open_packets), .timeout_valid(timeout_valid), .timeout_id(timeout_id),
        .packet_valid(packet_valid), .packet_ready(packet_ready), .packet_first(packet_first),
        .packet_last(packet_last), .packet_word(packet_word), .packet_data(packet_data),
        .packet_bytes(packet_bytes), .begins_valid(begins_valid), .begins_id(begins_id),
        .freed_valid(freed_valid), .freed_id(freed_id), .state_live(live), .state_free(free)
    );

    // Whether anybody speaks of packets in this run; the packet that is watched, by its number among all, the
    // id that is watched.
    (* anyconst *) wire noisy;
    (* anyconst *) wire [1:0] watched, id;
    reg        begun = 0;
    // By hart: words of its message to come, words of its packet that have come, and its number.
    reg [3:0]  left [0:1];
    reg [3:0]  come [0:1];
    wire       takes = word_valid && (word_ready || !word_begins);
    wire [3:0] words = word_data[6:3] + (word_data[2:0] != 0);
    wire       full = come[word_hart][0];
    wire       in_window = come[word_hart] < 2;
    wire       writes = takes && !word_begins && (full || word_ends) && in_window;
    assign word_begins = left[word_hart] == 0;
    assign word_ends = left[word_hart] == 1;
    initial {left[0], left[1], come[0], come[1]} = 0;

    reg [1:0]  written = 0, gone = 0;
    reg [63:0] last_word = 0;
    reg        is_odd = 0;
    reg [1:0]  quiet_for = 0;
    wire [63:0] turned = {
        word_data[7:0], word_data[15:8], word_data[23:16], word_data[31:24], word_data[39:32],
        word_data[47:40], word_data[55:48], word_data[63:56]
    };
    wire       goes = packet_valid && packet_ready;
    wire [1:0] packet_id = packet_data[25:24];
    wire [7:0] packet = packet_data[63:56];

    // Of the watched id: the most credit that it was given, what was delivered, and what it is.
    reg [15:0] limit = 0;
    reg [1:0]  delivered = 0, all = 0, sent = 0;
    wire [1:0] bit_of = 2'd1 << delivered_packet[0];
    wire [1:0] arrives = delivered_valid && delivered_id == id && delivered_packet < 2 && live[id]
        ? bit_of & sent : 0;
    // Whose message has the watched id, by hart; of its packets those that wait for credit, and those that must go;
    // cycles in which such a one waits and nothing is offered.
    reg [1:0]  of_id = 0, waits = 0, due = 0, let_go = 0;
    reg        was_opened = 0;
    reg [2:0]  silent = 0;
    wire       own_begins = begins_valid && begins_id == id;
    wire       own_credit = credit_valid && credit_id == id && live[id];
    wire       own_open = open_valid && open_id == id && live[id];
    wire       own_timeout = timeout_valid && timeout_id == id && live[id];
    wire [1:0] again = own_credit && credit_nack && credit_packet < 2 ? (2'd1 << credit_packet[0]) & sent : 0;
    // A second packet that is written before anybody has given more than the window.
    wire       second = takes && !word_begins && (full || word_ends) && come[word_hart][1] && of_id[word_hart]
        && limit == WINDOW && !own_open;
    wire [1:0] waits_now = was_opened ? 0 : waits | again | {second, 1'b0};
    wire [1:0] covered = {credit_packets > 1, credit_packets > 0};
    wire [1:0] opened = {open_packets > 1, 1'b1};
    wire [1:0] falls_due = (own_credit && credit_pull ? waits_now & covered : 0) | (credit_valid ? 0 : let_go)
        | {1'b0, own_timeout && sent[0] && !delivered[0]};
    wire [1:0] begins_to_go = goes && packet_first && packet_id == id ? 2'd1 << packet[0] : 0;
    wire [2:0] living = live[0] + live[1] + live[2] + live[3];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (word_begins) assume (word_data[15:0] != 0 && word_data[15:0] <= 32);
        if (!noisy) assume (!credit_valid && !timeout_valid && !delivered_valid && !open_valid);
        if (begun) begin
            if (takes) begin
                left[word_hart] <= word_begins ? words : left[word_hart] - 1;
                come[word_hart] <= word_begins ? 0 : come[word_hart] + 1;
            end
            free_or_live: assert (living + free == 4);

            // Order, and the words.
            assume (written < 3 || !writes);
            if (writes) begin
                written <= written + 1;
                if (written == watched) {last_word, is_odd} <= {turned, come[word_hart][0]};
            end
            if (!noisy) begin
                if (goes && packet_last) begin
                    gone <= gone + 1;
                    written_before: assert (gone < written);
                    if (gone == watched)
                        own_words: assert ((is_odd ? packet_word[127:64] : packet_word[63:0]) == last_word);
                end
                // Nothing waits for long while it could go.
                quiet_for <= packet_valid || gone == written ? 0 : quiet_for + 1;
                offered: assert (quiet_for < 3);
            end

            // Credit.
            if (begins_valid && begins_id == id) {limit, sent, delivered} <= {16'(WINDOW), 4'd0};
            else begin
                if (credit_valid && credit_pull && credit_id == id && live[id] && credit_packets > limit)
                    limit <= credit_packets;
                else if (open_valid && open_id == id && live[id] && open_packets > limit) limit <= open_packets;
                if (goes && packet_first && packet_id == id) sent <= sent | (2'd1 << packet[0]);
                delivered <= delivered | arrives;
            end
            if (begins_valid && begins_id == id) all <= word_data[15:0] > PACKET_BYTES ? 3 : 1;
            if (packet_valid && packet_first && packet_id == id && live[id])
                within_credit: assert (packet < limit);

            // What has credit, or waits in vain. Where `open` came before, who waits is not followed any more.
            if (begins_valid) of_id[word_hart] <= own_begins;
            was_opened <= !own_begins && (was_opened || own_open);
            let_go <= own_open && !own_credit ? waits_now & opened : 0;
            waits <= own_begins || own_open ? 0 : own_credit && credit_pull ? waits_now & ~covered : waits_now;
            due <= own_begins || !live[id] ? 0 : (due & ~begins_to_go) | falls_due;
            silent <= due != 0 && live[id] && !packet_valid ? silent + 1 : 0;
            goes_soon: assert (silent < 3);

            // Freed when all is delivered.
            if (freed_valid && freed_id == id) complete: assert (live[id] && ((delivered | arrives) & all) == all);
            if (live[id]) held: assert ((delivered & all) != all);
        end
    end
endmodule
