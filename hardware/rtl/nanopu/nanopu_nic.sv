// nanopu_nic: the nanoPU's NIC, from the pins to the harts' registers and back.
//
// In:      frames as flits of 8 bytes, the first byte on the wire lowest, in any cycle; the node's names. Of each hart's
//          core, whatever it is: reads of x30 (`read_valid` in the cycle of the decode stage; `return_words` when the pipeline
//          gives the last ones back), writes of x31 and accesses to the network's registers (in the cycle in which
//          the instruction retires), `interrupt_taken`.
// Out:     frames as AXI-Stream. To each core the word that it reads and whether there is one, room for a word that
//          it writes, a register's value in the cycle of the read, and the interrupt line.
// Latency: of a frame with one word, first flit in cycle t, the word that a program reads first can be read in t + 22. A
//          packet whose last word is written in cycle t has its first flit on the pins in t + 5.
// How:     ndp_ingress (with P4_TRANSPORT defined, p4_ingress), reassembly with the packet memory, global_receive, jbsq and dispatch; for each hart
//          local_queues, thread_scheduler and register_interface; global_transmit, packetization with timers,
//          packet_generator, ndp_egress (or p4_egress).
// Memory:  the packet memory, and those of its units.
// Source:  nanoPU paper, figure 1; cycles as measured, stage_latency.
`default_nettype none

module nanopu_nic #(
    // core.count and hart_interface.contexts; powers of two, at least 2.
    parameter integer HARTS = 4,
    parameter integer CONTEXTS = 4,
    // receive.core_selection.outstanding.
    parameter integer OUTSTANDING = 2,
    // transport.rtt_packets, and packets of a message that may go before any answer: as many, and 1 if a P4 program says how
    // many with the first one (meta.meta.window).
    parameter integer WINDOW = 2,
    parameter integer UNASKED = WINDOW,
    // Buffers of both sides, in two classes; bytes of a packet.
    parameter integer SMALL_COUNT = 8,
    parameter integer SMALL_BYTES = 1024,
    parameter integer LARGE_COUNT = 8,
    parameter integer LARGE_BYTES = 2048,
    parameter integer PACKET_BYTES = 1024,
    // Words of a context's global and of its local queue, and of a hart's transmit queue.
    parameter integer GLOBAL_WORDS = 64,
    parameter integer LOCAL_WORDS = 512,
    parameter integer TRANSMIT_WORDS = 1024,
    parameter integer TOKEN_CYCLES = 122,
    parameter integer CONTROL_FRAMES = 64,
    parameter integer EGRESS_WORDS = 34,
    parameter integer TIMER_BITS = 32,
    parameter integer BOUNDED = 1,
    parameter integer RESTORE = 1,
    parameter integer STICKY = 1
) (
    input  wire                clock,
    input  wire                reset,
    input  wire [47:0]         own_mac,
    input  wire [47:0]         next_mac,
    input  wire [31:0]         own_ip,
    input  wire [30:0]         timeout_cycles,
    input  wire                nic_ready,
    input  wire                in_valid,
    input  wire [63:0]         in_data,
    input  wire [7:0]          in_keep,
    input  wire                in_last,
    output wire                out_valid,
    input  wire                out_ready,
    output wire [63:0]         out_data,
    output wire [7:0]          out_keep,
    output wire                out_last,
    input  wire [HARTS-1:0]    read_valid,
    output wire [HARTS-1:0]    read_held,
    output wire [HARTS*64-1:0] read_word,
    input  wire [HARTS*2-1:0]  return_words,
    input  wire [HARTS-1:0]    write_valid,
    output wire [HARTS-1:0]    write_ready,
    input  wire [HARTS*64-1:0] write_word,
    input  wire [HARTS-1:0]    csr_valid,
    input  wire [HARTS-1:0]    csr_write,
    input  wire [HARTS*12-1:0] csr_number,
    input  wire [HARTS*64-1:0] csr_written,
    output wire [HARTS*64-1:0] csr_value,
    output wire [HARTS-1:0]    csr_known,
    output wire [HARTS-1:0]    interrupt_valid,
    input  wire [HARTS-1:0]    interrupt_taken,
    output wire [HARTS-1:0]    state_enter,
    output wire [HARTS*64-1:0] state_enter_word
);
    localparam integer HART = $clog2(HARTS);
    localparam integer CONTEXT = $clog2(CONTEXTS);
    localparam integer MESSAGES = SMALL_COUNT + LARGE_COUNT;
    localparam integer ID = $clog2(MESSAGES);
    localparam integer WORDS = (SMALL_COUNT * SMALL_BYTES + LARGE_COUNT * LARGE_BYTES) / 64;
    localparam integer WORD = $clog2(WORDS);
    localparam integer STAMP_BITS = 16;
    // Fields of a packet that the transmit side carries.
`ifdef P4_TRANSPORT
    localparam integer CARRIED = 168;
`else
    localparam integer CARRIED = 144;
`endif

    // In: frames to messages.
    wire             packet_valid, packet_trimmed, packet_begins, write_memory, written_valid;
    wire [13:0]      packet_key;
    wire [15:0]      packet_bytes, packet_context;
    wire [7:0]       packet_number;
    wire [47:0]      packet_source;
    wire [1:0]       verdict;
    wire [ID-1:0]    packet_id, written_id, message_id, freed_id;
    wire [WORD-1:0]  packet_word, write_place, message_word, read_place;
    wire [511:0]     write_data;
    wire             control_valid, control_ack, control_nack, control_pull;
    wire [CARRIED-1:0] control_data;
    wire             delivered_valid, credit_valid, credit_nack, credit_pull;
    wire [15:0]      delivered_id, credit_id, credit_packets, message_bytes;
    wire [7:0]       delivered_packet, credit_packet;
    /* verilator lint_off UNUSEDSIGNAL */
    wire             packet_completes;
    /* verilator lint_on UNUSEDSIGNAL */
    wire             message_valid, message_ready, freed_valid;
    wire [CONTEXTS*HARTS-1:0] bound;
    wire             served = packet_context < 16'(CONTEXTS)
        && bound[packet_context[CONTEXT-1:0]*HARTS +: HARTS] != 0;

`ifdef P4_TRANSPORT
    p4_ingress #(
        .WINDOW(WINDOW), .MESSAGES(MESSAGES), .WORD_BITS(WORD), .PACKET_WORDS(PACKET_BYTES / 64)
    ) ingress (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_data(in_data), .in_keep(in_keep),
        .in_last(in_last), .packet_valid(packet_valid), .packet_key(packet_key),
        .packet_message_bytes(packet_bytes), .packet_number(packet_number),
        .packet_trimmed(packet_trimmed), .packet_context(packet_context), .packet_source(packet_source),
        .served(served), .verdict(verdict), .packet_begins(packet_begins), .packet_id(packet_id),
        .packet_word(packet_word), .write_valid(write_memory), .write_word(write_place),
        .write_data(write_data), .written_valid(written_valid), .written_id(written_id),
        .packet_completes(packet_completes),
        .control_valid(control_valid), .control_ack(control_ack), .control_nack(control_nack),
        .control_pull(control_pull), .control_data(control_data), .delivered_valid(delivered_valid),
        .credit_valid(credit_valid), .credit_nack(credit_nack), .credit_pull(credit_pull),
        .delivered_id(delivered_id), .delivered_packet(delivered_packet), .credit_id(credit_id),
        .credit_packet(credit_packet), .credit_packets(credit_packets)
    );
`else
    ndp_ingress #(
        .WINDOW(WINDOW), .MESSAGES(MESSAGES), .WORD_BITS(WORD), .PACKET_WORDS(PACKET_BYTES / 64)
    ) ingress (
        .clock(clock), .reset(reset), .in_valid(in_valid), .in_data(in_data), .in_keep(in_keep),
        .in_last(in_last), .packet_valid(packet_valid), .packet_key(packet_key),
        .packet_message_bytes(packet_bytes), .packet_number(packet_number),
        .packet_trimmed(packet_trimmed), .packet_context(packet_context), .packet_source(packet_source),
        .served(served), .verdict(verdict), .packet_begins(packet_begins), .packet_id(packet_id),
        .packet_word(packet_word), .write_valid(write_memory), .write_word(write_place),
        .write_data(write_data), .written_valid(written_valid), .written_id(written_id),
        .control_valid(control_valid), .control_ack(control_ack), .control_nack(control_nack),
        .control_data(control_data), .delivered_valid(delivered_valid), .credit_valid(credit_valid),
        .credit_nack(credit_nack), .credit_pull(credit_pull), .notice_id(delivered_id),
        .notice_packet(delivered_packet), .notice_credit(credit_packets)
    );
    assign control_pull = 1;
    assign {credit_id, credit_packet} = {delivered_id, delivered_packet};
`endif

    /* verilator lint_off UNUSEDSIGNAL */
    wire [MESSAGES-1:0]              used;
    wire [$clog2(MESSAGES+1)-1:0]    free_ids, free_places;
    wire [$clog2(SMALL_COUNT+1)-1:0] free_small;
    wire [$clog2(LARGE_COUNT+1)-1:0] free_large;
    wire [MESSAGES-1:0]              live;
    /* verilator lint_on UNUSEDSIGNAL */
    reassembly #(
        .SMALL_COUNT(SMALL_COUNT), .SMALL_BYTES(SMALL_BYTES), .LARGE_COUNT(LARGE_COUNT),
        .LARGE_BYTES(LARGE_BYTES), .PACKET_BYTES(PACKET_BYTES), .KEY_BITS(14)
    ) messages (
        .clock(clock), .reset(reset), .packet_valid(packet_valid), .packet_key(packet_key),
        .packet_message_bytes(packet_bytes), .packet_number(packet_number),
        .packet_trimmed(packet_trimmed), .verdict(verdict), .packet_begins(packet_begins),
        .packet_completes(packet_completes), .packet_id(packet_id), .packet_word(packet_word), .written_valid(written_valid),
        .written_id(written_id), .message_valid(message_valid), .message_ready(message_ready),
        .message_id(message_id), .message_word(message_word), .message_bytes(message_bytes),
        .freed_valid(freed_valid), .freed_id(freed_id), .state_used(used), .state_free_ids(free_ids),
        .state_free_small(free_small), .state_free_large(free_large)
    );

    // The packet memory, and whose each message is.
    reg [511:0]        memory [0:WORDS-1];
    reg [CONTEXT+47:0] owners [0:MESSAGES-1];
    always @(posedge clock) begin
        if (write_memory) memory[write_place] <= write_data;
        if (packet_begins) owners[packet_id] <= {packet_context[CONTEXT-1:0], packet_source};
    end
    // A wire of its own: Yosys 0.23 does not take a memory's word where a port is connected.
    wire [511:0]       place_data = memory[read_place];
    wire [47:0]        message_source;
    wire [CONTEXT-1:0] message_context;
    assign {message_context, message_source} = owners[message_id];

    // Messages to harts.
    wire                     arrived_valid, take_ready, take_valid, take_last;
    wire [CONTEXT-1:0]       arrived_context, take_context;
    wire [CONTEXTS-1:0]      there;
    wire [63:0]              take_header;
    wire [511:0]             take_data;
    global_receive #(
        .CONTEXTS(CONTEXTS), .WORDS(GLOBAL_WORDS), .ID_BITS(ID), .PLACE_BITS(WORD)
    ) waiting (
        .clock(clock), .reset(reset), .message_valid(message_valid), .message_ready(message_ready),
        .message_id(message_id), .message_word(message_word), .message_bytes(message_bytes),
        .message_source(message_source), .message_context(message_context), .read_word(read_place),
        .read_data(place_data), .freed_valid(freed_valid), .freed_id(freed_id),
        .arrived_valid(arrived_valid), .arrived_context(arrived_context), .there(there),
        .take_context(take_context), .take_header(take_header), .take_ready(take_ready),
        .take_data(take_data), .take_valid(take_valid), .take_last(take_last)
    );

    wire [HARTS-1:0]         bind_valid, done_valid, enter_valid, enter_ready, enter_begins;
    wire [HARTS*CONTEXT-1:0] running, enter_context;
    wire [HARTS*64-1:0]      enter_word;
    wire                     ask_valid, finished_valid, finished_waits, chosen_valid;
    wire [CONTEXT-1:0]       ask_context, finished_context;
    wire [HART-1:0]          finished_hart, chosen_hart;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CONTEXTS*HARTS*$clog2(OUTSTANDING+1)-1:0] outstanding;
    /* verilator lint_on UNUSEDSIGNAL */
    jbsq #(.HARTS(HARTS), .CONTEXTS(CONTEXTS), .OUTSTANDING(OUTSTANDING)) core_selection (
        .clock(clock), .reset(reset), .bind_valid(bind_valid), .bind_context(running),
        .arrival_valid(ask_valid), .arrival_context(ask_context), .chosen_valid(chosen_valid),
        .chosen_hart(chosen_hart), .done_valid(finished_valid), .done_hart(finished_hart),
        .done_context(finished_context), .done_waits(finished_waits), .state_bound(bound),
        .state_outstanding(outstanding)
    );
    dispatch #(.HARTS(HARTS), .CONTEXTS(CONTEXTS), .ARRIVALS(CONTEXTS * GLOBAL_WORDS)) dispatcher (
        .clock(clock), .reset(reset), .arrived_valid(arrived_valid), .arrived_context(arrived_context),
        .done_valid(done_valid), .done_context(running), .ask_valid(ask_valid),
        .ask_context(ask_context), .finished_valid(finished_valid), .finished_hart(finished_hart),
        .finished_context(finished_context), .finished_waits(finished_waits),
        .chosen_valid(chosen_valid), .chosen_hart(chosen_hart), .there(there),
        .take_context(take_context), .take_header(take_header), .take_ready(take_ready),
        .take_data(take_data), .take_valid(take_valid), .take_last(take_last),
        .enter_valid(enter_valid), .enter_ready(enter_ready), .enter_context(enter_context),
        .enter_word(enter_word), .enter_begins(enter_begins)
    );
    assign state_enter = enter_valid & enter_ready;
    assign state_enter_word = enter_word;

    // What each hart has of the network.
    genvar number;
    generate
        for (number = 0; number < HARTS; number = number + 1) begin : by_hart
            wire [CONTEXTS-1:0]            held;
            wire [CONTEXTS*STAMP_BITS-1:0] stamps;
            wire                           runs, target_none, switch_valid, switch_none, start_valid, idle_valid;
            wire [CONTEXT-1:0]             target, switch_context;
            wire [7:0]                     target_priority, bind_priority;
            wire [TIMER_BITS-1:0]          message_cycles, idle_cycles;
            wire [CONTEXT-1:0]             own = running[number*CONTEXT +: CONTEXT];
            assign read_held[number] = runs && held[own];
            local_queues #(.CONTEXTS(CONTEXTS), .WORDS(LOCAL_WORDS), .STAMP_BITS(STAMP_BITS)) queues (
                .clock(clock), .reset(reset), .enter_valid(enter_valid[number]),
                .enter_ready(enter_ready[number]),
                .enter_context(enter_context[number*CONTEXT +: CONTEXT]),
                .enter_word(enter_word[number*64 +: 64]), .enter_begins(enter_begins[number]),
                .read_valid(read_valid[number] && runs), .read_context(own),
                .read_word(read_word[number*64 +: 64]), .return_words(return_words[number*2 +: 2]),
                .held(held), .stamps(stamps)
            );
            /* verilator lint_off UNUSEDSIGNAL */
            wire [CONTEXTS-1:0]   active;
            wire [8*CONTEXTS-1:0] priorities;
            wire                  none;
            wire [CONTEXT-1:0]    what_runs;
            /* verilator lint_on UNUSEDSIGNAL */
            thread_scheduler #(
                .CONTEXTS(CONTEXTS), .STAMP_BITS(STAMP_BITS), .TIMER_BITS(TIMER_BITS), .BOUNDED(BOUNDED),
                .RESTORE(RESTORE), .STICKY(STICKY)
            ) threads (
                .clock(clock), .reset(reset), .enter_valid(enter_valid[number] && enter_ready[number]),
                .enter_context(enter_context[number*CONTEXT +: CONTEXT]), .queue_held(held),
                .queue_stamps(stamps), .bind_valid(bind_valid[number]), .bind_context(own),
                .bind_priority(bind_priority), .switch_valid(switch_valid), .switch_none(switch_none),
                .switch_context(switch_context), .start_valid(start_valid),
                .done_valid(done_valid[number]), .idle_valid(idle_valid),
                .taken_valid(interrupt_taken[number]), .message_cycles(message_cycles),
                .idle_cycles(idle_cycles), .target_none(target_none), .target(target),
                .target_priority(target_priority), .interrupt_valid(interrupt_valid[number]),
                .state_active(active), .state_priorities(priorities), .state_none(none),
                .state_running(what_runs)
            );
            register_interface #(.CONTEXTS(CONTEXTS), .TIMER_BITS(TIMER_BITS)) registers (
                .clock(clock), .reset(reset), .csr_valid(csr_valid[number]), .csr_write(csr_write[number]),
                .csr_number(csr_number[number*12 +: 12]), .csr_written(csr_written[number*64 +: 64]),
                .csr_value(csr_value[number*64 +: 64]), .csr_known(csr_known[number]),
                .nic_ready(nic_ready), .held(held), .target_none(target_none), .target(target),
                .target_priority(target_priority), .runs(runs), .running(running[number*CONTEXT +: CONTEXT]),
                .bind_valid(bind_valid[number]), .bind_priority(bind_priority),
                .switch_valid(switch_valid), .switch_none(switch_none),
                .switch_context(switch_context), .start_valid(start_valid),
                .done_valid(done_valid[number]), .idle_valid(idle_valid),
                .message_cycles(message_cycles), .idle_cycles(idle_cycles)
            );
        end
    endgenerate

    // Out: words to frames.
    wire               word_valid, word_ready, word_begins, word_ends;
    wire [HART-1:0]    word_hart;
    wire [CONTEXT-1:0] word_context;
    wire [63:0]        word_data;
    global_transmit #(.HARTS(HARTS), .CONTEXTS(CONTEXTS), .WORDS(TRANSMIT_WORDS)) written (
        .clock(clock), .reset(reset), .write_valid(write_valid), .write_ready(write_ready),
        .write_context(running), .write_word(write_word), .word_valid(word_valid),
        .word_ready(word_ready), .word_begins(word_begins), .word_ends(word_ends),
        .word_hart(word_hart), .word_context(word_context), .word_data(word_data)
    );

    wire           begins_valid, expired_valid, done_sending;
    wire [ID-1:0]  begins_id, expired_id, sent_id;
    reg            began, expired, expires;
    reg  [ID-1:0]  began_id, id_expired, id_expires;
    wire           frame_valid, frame_ready, frame_first, frame_last;
    wire [511:0]   frame_word;
    wire [143:0]   frame_data;
    wire [15:0]    frame_bytes;
    wire           delivered_known = delivered_id < 16'(MESSAGES);
    wire           credit_known = credit_id < 16'(MESSAGES);
    // What a P4 program says of a message with its first packet.
    wire           open_valid;
    wire [15:0]    open_id, open_packets;
    wire           open_known = open_id < 16'(MESSAGES);
`ifndef P4_TRANSPORT
    assign {open_valid, open_id, open_packets} = 0;
`endif
    packetization #(
        .CONTEXTS(CONTEXTS), .HARTS(HARTS), .WINDOW(UNASKED), .SMALL_COUNT(SMALL_COUNT),
        .SMALL_BYTES(SMALL_BYTES), .LARGE_COUNT(LARGE_COUNT), .LARGE_BYTES(LARGE_BYTES),
        .PACKET_BYTES(PACKET_BYTES)
    ) unsent (
        .clock(clock), .reset(reset), .word_valid(word_valid), .word_ready(word_ready),
        .word_begins(word_begins), .word_ends(word_ends), .word_hart(word_hart),
        .word_context(word_context), .word_data(word_data),
        .delivered_valid(delivered_valid && delivered_known), .delivered_id(delivered_id[ID-1:0]),
        .delivered_packet(delivered_packet), .credit_valid(credit_valid && credit_known),
        .credit_id(credit_id[ID-1:0]), .credit_nack(credit_nack), .credit_packet(credit_packet),
        .credit_pull(credit_pull), .credit_packets(credit_packets),
        .open_valid(open_valid && open_known), .open_id(open_id[ID-1:0]), .open_packets(open_packets),
        .timeout_valid(expired),
        .timeout_id(id_expired), .packet_valid(frame_valid), .packet_ready(frame_ready),
        .packet_first(frame_first), .packet_last(frame_last), .packet_word(frame_word),
        .packet_data(frame_data), .packet_bytes(frame_bytes), .begins_valid(begins_valid),
        .begins_id(begins_id), .freed_valid(done_sending), .freed_id(sent_id), .state_live(live),
        .state_free(free_places)
    );
    // A timer begins a cycle behind its message, a timeout takes effect two behind the expiry.
    always @(posedge clock) begin
        if (reset) {began, expires, expired} <= 0;
        else {began, expires, expired} <= {begins_valid, expired_valid, expires};
        {began_id, id_expires, id_expired} <= {begins_id, expired_id, id_expires};
    end
    /* verilator lint_off UNUSEDSIGNAL */
    wire [(1<<ID)-1:0] timers_set;
    /* verilator lint_on UNUSEDSIGNAL */
    timers #(.IDS(1 << ID)) retransmission (
        .clock(clock), .reset(reset), .timeout_cycles(timeout_cycles), .set_valid(began),
        .set_id(began_id), .cancel_valid(done_sending), .cancel_id(sent_id),
        .expired_valid(expired_valid), .expired_id(expired_id), .state_set(timers_set)
    );

    /* verilator lint_off UNUSEDSIGNAL */
    wire         control_room, token;
    wire [$clog2(CONTROL_FRAMES+1)-1:0] pulls;
    /* verilator lint_on UNUSEDSIGNAL */
    wire         answer_valid, answer_ready, answer_ack, answer_nack, answer_pull;
    wire [CARRIED-1:0] answer_data;
    packet_generator #(
        .DATA_BITS(CARRIED), .TOKEN_CYCLES(TOKEN_CYCLES), .FRAMES(CONTROL_FRAMES), .PULLS(CONTROL_FRAMES)
    ) generator (
        .clock(clock), .reset(reset), .request_valid(control_valid), .request_ready(control_room),
        .request_ack(control_ack), .request_nack(control_nack), .request_pull(control_pull),
        .request_data(control_data), .frame_valid(answer_valid), .frame_ready(answer_ready),
        .frame_ack(answer_ack), .frame_nack(answer_nack), .frame_pull(answer_pull),
        .frame_data(answer_data), .state_token(token), .state_pulls(pulls)
    );
`ifdef P4_TRANSPORT
    p4_egress #(.QUEUE(EGRESS_WORDS), .WINDOW(WINDOW)) egress (
        .open_valid(open_valid), .open_id(open_id), .open_packets(open_packets),
`else
    ndp_egress #(.QUEUE(EGRESS_WORDS)) egress (
`endif
        .clock(clock), .reset(reset), .own_mac(own_mac), .next_mac(next_mac), .own_ip(own_ip),
        .control_valid(answer_valid), .control_ready(answer_ready), .control_ack(answer_ack),
        .control_nack(answer_nack), .control_pull(answer_pull), .control_data(answer_data),
        .packet_valid(frame_valid), .packet_ready(frame_ready), .packet_first(frame_first),
        .packet_last(frame_last), .packet_word(frame_word), .packet_data(frame_data),
        .packet_bytes(frame_bytes), .out_valid(out_valid), .out_ready(out_ready), .out_data(out_data),
        .out_keep(out_keep), .out_last(out_last)
    );
endmodule

`default_nettype wire
