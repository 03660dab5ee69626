// What reassembly promises, of two arbitrary ids: buffers of messages that are held do not overlap; an id
// is not given twice; a message comes out once, and when each of its packets has been taken and written
// once; what is freed is free: ids and buffers held and free are all there are; room is refused only if
// there is none, and a header that lies, whose packet is none of its message's, and no other.
module reassembly_proof (
    input wire       clock,
    input wire       reset,
    input wire       packet_valid,
    input wire [1:0] packet_key,
    input wire [2:0] packet_message_bytes,
    input wire [1:0] packet_number,
    input wire       packet_trimmed,
    input wire       written_valid,
    input wire [1:0] written_id,
    input wire       message_ready,
    input wire       freed_valid,
    input wire [1:0] freed_id
);
    localparam integer SMALL_COUNT = 2, LARGE_COUNT = 2, SMALL_BYTES = 2, LARGE_BYTES = 4;
    localparam [1:0] TAKEN = 0, DUPLICATE = 1, NO_ROOM = 2, LIES = 3;
    wire [1:0] verdict, packet_id, message_id;
    wire       packet_begins, packet_completes, message_valid;
    wire [3:0] packet_word, message_word, used;
    wire [2:0] message_bytes, free_ids;
    wire [1:0] free_small, free_large;

    reassembly #(
        .SMALL_COUNT(SMALL_COUNT), .SMALL_BYTES(SMALL_BYTES), .LARGE_COUNT(LARGE_COUNT),
        .LARGE_BYTES(LARGE_BYTES), .PACKET_BYTES(2), .WORD_BYTES(1), .KEY_BITS(2), .LENGTH_BITS(3),
        .NUMBER_BITS(2)
    ) unit (
        .clock(clock), .reset(reset), .packet_valid(packet_valid), .packet_key(packet_key),
        .packet_message_bytes(packet_message_bytes), .packet_number(packet_number),
        .packet_trimmed(packet_trimmed), .verdict(verdict), .packet_begins(packet_begins),
        .packet_completes(packet_completes), .packet_id(packet_id), .packet_word(packet_word), .written_valid(written_valid),
        .written_id(written_id), .message_valid(message_valid), .message_ready(message_ready),
        .message_id(message_id), .message_word(message_word), .message_bytes(message_bytes),
        .freed_valid(freed_valid), .freed_id(freed_id), .state_used(used),
        .state_free_ids(free_ids), .state_free_small(free_small), .state_free_large(free_large)
    );

    (* anyconst *) wire [1:0] one;
    (* anyconst *) wire [1:0] other;
    reg begun = 0;
    wire takes = begun && packet_valid && verdict == TAKEN;
    wire first = packet_begins && packet_id == one;
    wire out = begun && message_valid && message_ready;

    // Of each id: packets that are to be written, and whether it was handed over.
    reg [7:0] to_write = 0;
    reg [3:0] handed_over = 0;
    // What is held by each of the two.
    reg       held = 0, other_held = 0;
    reg [1:0] key = 0;
    reg [3:0] word = 0, other_word = 0;
    reg [2:0] bytes = 0, other_bytes = 0;
    reg [1:0] came = 0, written = 0;
    reg       complete = 0, delivered = 0;
    wire [1:0] needed = bytes > 2 ? 2 : 1;
    wire       makes_sense = packet_message_bytes != 0 && packet_message_bytes <= LARGE_BYTES
        && packet_number < (packet_message_bytes > 2 ? 2 : 1);
    wire writes = written_valid && written_id == one;
    integer place;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (begun || !(packet_valid || written_valid || freed_valid));
        // Packets of a message agree on its length.
        if (held && packet_valid && packet_key == key) assume (packet_message_bytes == bytes);
        if (written_valid) assume (to_write[written_id*2 +: 2] != 0);
        if (freed_valid) assume (handed_over[freed_id]);
        for (place = 0; place < 4; place = place + 1) begin
            to_write[place*2 +: 2] <= to_write[place*2 +: 2]
                + (takes && !packet_trimmed && packet_id == place)
                - (written_valid && written_id == place);
            if (out && message_id == place) handed_over[place] <= 1;
            if (freed_valid && freed_id == place) handed_over[place] <= 0;
        end
        if (begun) begin
            if (packet_begins && packet_id == one) begin
                fresh_id: assert (!held);
                held <= 1;
                key <= packet_key;
                word <= packet_word - packet_number * 2;
                bytes <= packet_message_bytes;
                came <= 0;
                written <= 0;
                {complete, delivered} <= 0;
            end
            if (packet_begins && packet_id == other) begin
                other_held <= 1;
                other_word <= packet_word - packet_number * 2;
                other_bytes <= packet_message_bytes;
            end
            if (takes && packet_id == one && !packet_trimmed) begin
                if (!first) once: assert (held && packet_key == key && !came[packet_number[0]]);
                came <= (first ? 0 : came) | (1 << packet_number[0]);
                if (!first) place_of_it: assert (packet_word == word + packet_number * 2);
            end
            if (held && packet_valid && packet_key == key && packet_number < needed)
                its_message: assert (packet_id == one && (verdict == DUPLICATE
                    || verdict == TAKEN && !packet_begins));
            if (held && packet_valid && packet_key == key && packet_number < needed)
                with_this_one: assert (packet_completes
                    == ((came | (packet_trimmed ? 0 : 1 << packet_number[0])) == (needed == 2 ? 3 : 1)));
            if (held && packet_valid && packet_key == key && verdict == DUPLICATE)
                really: assert (!packet_trimmed && came[packet_number[0]]);
            if (writes) begin
                written <= written + 1;
                if (written + 1 == needed) complete <= 1;
            end
            if (out && message_id == one) begin
                all_there: assert (held && complete && !delivered && written == needed
                    && came == (needed == 2 ? 3 : 1));
                as_it_was: assert (message_word == word && message_bytes == bytes);
                delivered <= 1;
            end
            if (complete && !delivered) offered: assert (message_valid);
            if (freed_valid && freed_id == one) {held, complete, delivered} <= 0;
            if (freed_valid && freed_id == other) other_held <= 0;

            if (held && other_held && one != other)
                no_overlap: assert ({1'b0, word} + bytes <= other_word
                    || {1'b0, other_word} + other_bytes <= word);
            if (held) within: assert ({2'b0, word} + bytes <= 12);
            known: assert (held == used[one]);
            no_leak: assert (free_ids + used[0] + used[1] + used[2] + used[3] == 4);
            no_buffer_lost: assert (free_small + free_large == free_ids);
            if (packet_valid) sense: assert (makes_sense == (verdict != LIES));
            if (packet_valid && verdict == NO_ROOM)
                full: assert (free_large == 0 && (free_small == 0 || packet_message_bytes > 2));
        end
    end
endmodule
