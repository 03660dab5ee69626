// What the off-cluster DMA promises, of any copy or word and any of its bytes: it is written where it belongs, with what its
// source had, and nothing else is written there; words as well as copies of each direction are written in order, all their
// lines and no others; each is done once, in order, and not before it is written, or, on its way to the host, read.
module off_cluster_dma_proof #(
    parameter integer BYTES = 8,
    parameter integer BYTES_BITS = 4,
    parameter integer TAG_BITS = 2,
    parameter integer COMMANDS = 2
) (
    input wire                  clock,
    input wire                  reset,
    input wire                  command_valid,
    input wire [TAG_BITS-1:0]   command_tag,
    input wire                  command_to_host,
    input wire [5:0]            command_host,
    input wire [1:0]            command_where,
    input wire [5:0]            command_place,
    input wire [BYTES_BITS-1:0] command_bytes,
    input wire                  direct_valid,
    input wire [TAG_BITS-1:0]   direct_tag,
    input wire [5:0]            direct_host,
    input wire [3:0]            direct_bytes,
    input wire [63:0]           direct_data,
    input wire [2:0]            done_ready,
    input wire                  l1_ready,
    input wire [1:0]            l2_ready,
    input wire [8*BYTES-1:0]    l1_data,
    input wire [16*BYTES-1:0]   l2_data,
    input wire                  write_ready,
    input wire                  host_write_ready,
    input wire                  host_read_ready,
    input wire                  host_answer_valid,
    input wire [8*BYTES-1:0]    host_answer_data,
    // The solver marks one copy among all.
    input wire                  mark
);
    localparam [9:0] L1 = 10'h040, HANDLER = 10'h070, PACKET = 10'h071;
    localparam [1:0] WORD = 0, TO_HOST = 1, FROM_HOST = 2;
    // What is followed: a byte of the NIC's, one of the host's, and what the source of the two holds.
    (* anyconst *) wire [1:0] kind, where;
    (* anyconst *) wire [5:0] place, host;
    (* anyconst *) wire [7:0] held;
    wire                 command_ready, direct_ready, l1_valid, write_valid, host_write_valid, host_read_valid;
    wire [2:0]           done_valid, l1_line, l2_line;
    wire [3*TAG_BITS-1:0] done_tag;
    wire [1:0]           l2_valid;
    wire [31:3]          write_line;
    wire [63:3]          host_write_line, host_read_line;
    wire [8*BYTES-1:0]   write_data, host_write_data;
    wire [BYTES-1:0]     write_strobes, host_write_strobes;
    wire [9:0]           high = command_where == 0 ? L1 : command_where == 1 ? HANDLER : PACKET;
    wire [9:0]           followed_high = where == 0 ? L1 : where == 1 ? HANDLER : PACKET;
    reg                  begun = 0;
    reg [7:0]            now = 0;

    off_cluster_dma #(
        .TAG_BITS(TAG_BITS), .COMMANDS(COMMANDS), .L1_LINE_BITS(3), .L2_LINE_BITS(3), .BYTES_BITS(BYTES_BITS), .BYTES(BYTES),
        .DIRECT_CYCLES(1), .TO_HOST_CYCLES(1), .FROM_HOST_CYCLES(2), .FAR_CYCLES(1)
    ) unit (
        .clock(clock), .reset(reset), .now(now), .command_valid(begun && command_valid), .command_ready(command_ready),
        .command_tag(command_tag), .command_to_host(command_to_host), .command_host({58'd0, command_host}),
        .command_nic({high, 16'd0, command_place}), .command_bytes(command_bytes), .direct_valid(begun && direct_valid),
        .direct_ready(direct_ready), .direct_tag(direct_tag), .direct_host({58'd0, direct_host}),
        .direct_bytes(direct_bytes), .direct_data(direct_data), .done_valid(done_valid), .done_ready(done_ready),
        .done_tag(done_tag), .l1_valid(l1_valid), .l1_ready(l1_ready), .l1_line(l1_line), .l1_data(l1_data),
        .l2_valid(l2_valid), .l2_ready(l2_ready), .l2_line(l2_line), .l2_data(l2_data), .write_valid(write_valid),
        .write_ready(write_ready), .write_line(write_line), .write_data(write_data), .write_strobes(write_strobes),
        .host_write_valid(host_write_valid), .host_write_ready(host_write_ready), .host_write_line(host_write_line),
        .host_write_data(host_write_data), .host_write_strobes(host_write_strobes), .host_read_valid(host_read_valid),
        .host_read_ready(host_read_ready), .host_read_line(host_read_line),
        .host_answer_valid(begun && host_answer_valid), .host_answer_data(host_answer_data)
    );

    // Lines that bytes from a place on lie in.
    function [2:0] lines_of(input [2:0] first, input [4:0] bytes);
        lines_of = ({2'd0, first} + bytes + 5'd7) >> 3;
    endfunction

    wire takes_word = begun && direct_valid && direct_ready;
    wire takes_to = begun && command_valid && command_ready && command_to_host;
    wire takes_from = begun && command_valid && command_ready && !command_to_host;
    wire [2:0] takes = {takes_from, takes_to, takes_word};
    wire [2:0] is_done = done_valid & done_ready;
    wire host_writes = host_write_valid && host_write_ready;
    wire asks = host_read_valid && host_read_ready;
    wire writes = write_valid && write_ready;
    wire [4:0] word_bytes = direct_bytes > 8 ? 5'd8 : {1'b0, direct_bytes};
    wire [2:0] host_lines = lines_of(command_host[2:0], {1'b0, command_bytes});
    wire [2:0] nic_lines = lines_of(command_place[2:0], {1'b0, command_bytes});

    // The followed byte's line of the NIC is read; what the host answers is in the order in which it was asked.
    wire reads = where == 0 ? l1_valid && l1_ready && l1_line == place[5:3]
        : l2_valid[where - 1] && l2_ready[where - 1] && l2_line == place[5:3];
    reg        read_before = 0, read_earlier = 0;
    reg [7:0]  followed = 0;
    reg [3:0]  asked = 0;

    // A word's bytes until it is taken; what stays while it is not.
    reg        in_word = 0, waits = 0;
    wire       at_host = host_writes && host_write_line == {58'd0, host[5:3]} && host_write_strobes[host[2:0]];
    wire       of_word = {1'b0, host} >= {1'b0, direct_host} && {1'b0, host} < direct_host + {2'd0, word_bytes};
    reg [5:0]  old_host = 0;
    reg [3:0]  old_bytes = 0;
    reg [63:0] old_data = 0;
    reg [TAG_BITS-1:0] old_tag = 0;

    // Of each kind: those not done. Lines that copies have yet to write and ask for.
    reg [11:0] undone = 0;
    wire [2:0] none = {undone[11:8] == 0, undone[7:4] == 0, undone[3:0] == 0};
    reg [4:0]  to_lines = 0, from_lines = 0, ask_lines = 0;
    wire [4:0] lines_due = kind == TO_HOST ? to_lines : from_lines;
    wire       writes_line = kind == TO_HOST ? host_writes && !direct_valid : writes;

    // The marked one: what is before it, its beats, and what it is.
    reg        marked = 0, waits_done = 0, finished = 0, was_moved = 0;
    reg [4:0]  ahead = 0;
    reg [3:0]  done_ahead = 0;
    reg [2:0]  beat = 0, own_lines = 0;
    reg [5:0]  own_host = 0, own_place = 0;
    reg [BYTES_BITS-1:0] own_bytes = 0;
    reg [TAG_BITS-1:0] own_tag = 0;
    wire       covers = kind == WORD ? of_word
        : place >= command_place && {1'b0, place} < {1'b0, command_place} + command_bytes && command_where == where
        && host - command_host == place - command_place;
    wire       marks = mark && !marked && !finished && takes[kind] && covers;
    // Where its lines go, and which byte of the followed one's lane is written.
    wire [5:0] own_target = kind == TO_HOST ? own_host : own_place;
    wire [5:0] followed_target = kind == TO_HOST ? host : place;
    wire [6:0] lane_byte = {{1'b0, own_target[5:3]} + beat, followed_target[2:0]};
    wire       in_range = lane_byte >= {1'b0, own_target} && lane_byte < {1'b0, own_target} + own_bytes;
    wire       is_own = marked && kind != WORD && ahead == 0;
    wire       moves = kind == FROM_HOST && is_own && writes && write_line[5:3] == place[5:3];
    wire       strobe = kind == TO_HOST ? host_write_strobes[host[2:0]] : write_strobes[place[2:0]];
    wire [7:0] byte_written = kind == TO_HOST ? host_write_data[8*host[2:0] +: 8] : write_data[8*place[2:0] +: 8];

    integer    number;
    always @(posedge clock) begin
        begun <= 1;
        now <= now + 1;
        assume (reset == !begun);
        assume (kind != 3 && where != 3 && command_where != 3 && !place[5] && !host[5]);
        read_before <= reads;
        read_earlier <= read_before;
        if (where == 0 && read_earlier && kind == TO_HOST) assume (l1_data[8*place[2:0] +: 8] == held);
        if (where != 0 && read_before && kind == TO_HOST) assume (l2_data[8*BYTES*(where - 1) + 8*place[2:0] +: 8] == held);
        if (begun) begin
            if (command_valid)
                assume (command_bytes != 0 && {1'b0, command_place} + command_bytes <= 32
                    && {1'b0, command_host} + command_bytes <= 32);
            if (direct_valid) assume ({1'b0, direct_host} + word_bytes <= 32);
            for (number = 0; number < 3; number = number + 1) begin
                // The command unit lets no more be under way.
                if (takes[number]) assume (undone[4*number +: 4] < COMMANDS);
                undone[4*number +: 4] <= undone[4*number +: 4] + takes[number] - is_done[number];
            end
            done_once: assert ((done_valid & none) == 0);

            // Words.
            {old_host, old_bytes, old_data, old_tag} <= {direct_host, direct_bytes, direct_data, direct_tag};
            waits <= direct_valid && !direct_ready;
            if (waits)
                assume (direct_valid && {direct_host, direct_bytes, direct_data, direct_tag}
                    == {old_host, old_bytes, old_data, old_tag});
            in_word <= direct_valid && !takes_word && (in_word || at_host);
            if (direct_valid && at_host) begin
                word_place: assert (of_word);
                word_data: assert (host_write_data[8*host[2:0] +: 8] == direct_data[8*(host - direct_host) +: 8]);
            end
            if (takes_word) word_written: assert (!of_word || in_word || at_host);

            // The host's lines.
            if (host_answer_valid) begin
                assume (asked != 0);
                if (followed[0] && kind == FROM_HOST) assume (host_answer_data[8*host[2:0] +: 8] == held);
            end
            asked <= asked + asks - host_answer_valid;
            followed <= host_answer_valid ? followed >> 1 : followed;
            if (asks) followed[asked - host_answer_valid] <= host_read_line == {58'd0, host[5:3]};

            // Copies: as many lines as they have.
            to_lines <= to_lines + (takes_to ? host_lines : 0) - (host_writes && !direct_valid);
            from_lines <= from_lines + (takes_from ? nic_lines : 0) - writes;
            ask_lines <= ask_lines + (takes_from ? host_lines : 0) - asks;
            if (host_write_valid && !direct_valid) to_once: assert (to_lines != 0);
            if (write_valid) from_once: assert (from_lines != 0);
            if (asks) ask_once: assert (ask_lines != 0 || takes_from);

            // The marked one.
            if (marks) begin
                {marked, waits_done} <= 2'b11;
                was_moved <= kind == WORD || (kind == TO_HOST && reads);
                done_ahead <= undone[4*kind +: 4] - is_done[kind];
                ahead <= lines_due - writes_line;
                own_lines <= kind == TO_HOST ? host_lines : nic_lines;
                {own_host, own_place, own_bytes} <= {command_host, command_place, command_bytes};
                own_tag <= kind == WORD ? direct_tag : command_tag;
                finished <= 1;
            end else begin
                if (kind == TO_HOST && reads) was_moved <= 1;
                if (marked && writes_line && kind != WORD) begin
                    if (ahead != 0) ahead <= ahead - 1;
                    else begin
                        beat <= beat + 1;
                        if (beat + 1 == own_lines) marked <= 0;
                    end
                end
                if (moves) was_moved <= 1;
                if (waits_done && is_done[kind]) begin
                    done_ahead <= done_ahead - 1;
                    if (done_ahead == 0) begin
                        waits_done <= 0;
                        its_tag: assert (done_tag[TAG_BITS*kind +: TAG_BITS] == own_tag);
                        moved_first: assert (was_moved || moves);
                    end
                end
            end
            if (is_own && (kind == TO_HOST ? host_write_valid && !direct_valid : write_valid)) begin
                if (kind == TO_HOST) to_line: assert (host_write_line == {58'd0, own_host[5:3]} + beat);
                else from_line: assert (write_line == {followed_high, 16'd0, own_place[5:3]} + beat);
                its_bytes: assert (strobe == in_range);
                if (lane_byte == {1'b0, followed_target}) its_data: assert (byte_written == held);
            end
        end
    end
endmodule
