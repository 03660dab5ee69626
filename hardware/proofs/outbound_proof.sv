// What the outbound engine promises, of any send and any of its bytes: it leaves in its place, with what memory had there;
// packets leave in the order of sends, once each, with all their bytes and no others; lines are read that have bytes of a
// send, no others, once each; a send is done once, in order, and not
// before its bytes are read; what is offered to the wire stays until it is taken.
module outbound_proof #(
    parameter integer BYTES = 2,
    parameter integer BYTES_BITS = 3,
    parameter integer TAG_BITS = 2
) (
    input wire                clock,
    input wire                reset,
    input wire                command_valid,
    input wire [TAG_BITS-1:0] command_tag,
    input wire [1:0]          command_where,
    input wire [3:0]          command_place,
    input wire [BYTES_BITS-1:0] command_bytes,
    input wire                done_ready,
    input wire                l1_ready,
    input wire [1:0]          l2_ready,
    input wire [8*BYTES-1:0]  l1_data,
    input wire [16*BYTES-1:0] l2_data,
    input wire                m_axis_tready,
    // The solver marks one send among all.
    input wire                mark
);
    localparam [9:0] L1 = 10'h040, HANDLER = 10'h070, PACKET = 10'h071;
    // A byte of some memory, and what it holds.
    (* anyconst *) wire [1:0] where;
    (* anyconst *) wire [3:0] place;
    (* anyconst *) wire [7:0] held;
    wire                  command_ready, done_valid, l1_valid, m_axis_tvalid, m_axis_tlast;
    wire [1:0]            l2_valid;
    wire [2:0]            l1_line, l2_line;
    wire [TAG_BITS-1:0]   done_tag;
    wire [8*BYTES-1:0]    m_axis_tdata;
    wire [BYTES-1:0]      m_axis_tkeep;
    reg                   begun = 0;
    reg [7:0]             now = 0;

    outbound #(
        .TAG_BITS(TAG_BITS), .COMMANDS(2), .L1_LINE_BITS(3), .L2_LINE_BITS(3), .BYTES_BITS(BYTES_BITS), .BYTES(BYTES)
    ) unit (
        .clock(clock), .reset(reset), .now(now), .command_valid(begun && command_valid),
        .command_ready(command_ready), .command_tag(command_tag),
        .command_from({command_where == 0 ? L1 : command_where == 1 ? HANDLER : PACKET, 18'd0, command_place}),
        .command_bytes(command_bytes), .done_valid(done_valid), .done_ready(done_ready), .done_tag(done_tag),
        .l1_valid(l1_valid), .l1_ready(l1_ready), .l1_line(l1_line), .l1_data(l1_data), .l2_valid(l2_valid),
        .l2_ready(l2_ready), .l2_line(l2_line), .l2_data(l2_data), .m_axis_tvalid(m_axis_tvalid),
        .m_axis_tready(m_axis_tready), .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep),
        .m_axis_tlast(m_axis_tlast)
    );

    wire takes = begun && command_valid && command_ready;
    wire leaves = m_axis_tvalid && m_axis_tready;
    wire ends = leaves && m_axis_tlast;
    wire is_done = done_valid && done_ready;
    wire reads = where == 0 ? l1_valid && l1_ready && l1_line == place[3:1]
        : l2_valid[where - 1] && l2_ready[where - 1] && l2_line == place[3:1];
    // Sends that have not left, that are not done; the same before the marked one.
    reg [3:0]            inside_count = 0, undone = 0, ahead = 0, done_ahead = 0;
    reg                  marked = 0, waits_done = 0, was_read = 0, read_before = 0, read_earlier = 0;
    reg [3:0]            distance = 0;
    reg [BYTES_BITS-1:0] own_bytes = 0;
    reg [TAG_BITS-1:0]   own_tag = 0;
    reg [2:0]            beat = 0;
    // Lines of sends that were taken, and of those, lines that were read.
    reg [4:0]            owed = 0;
    wire                 any_read = (l1_valid && l1_ready) || (l2_valid & l2_ready) != 0;
    wire [4:0]           command_end = {1'b0, command_place} + command_bytes + 1;
    wire [4:0]           command_lines = command_end[4:1] - command_place[3:1];
    reg                  stalled = 0, stalled_last = 0;
    reg [8*BYTES-1:0]    stalled_data = 0;
    wire                 is_own = marked && ahead == 0;
    wire [4:0]           first = {beat, 1'b0};

    always @(posedge clock) begin
        begun <= 1;
        now <= now + 1;
        assume (reset == !begun);
        read_before <= reads;
        read_earlier <= read_before;
        if (where == 0 && read_earlier) assume (l1_data[8*place[0] +: 8] == held);
        if (where != 0 && read_before) assume (l2_data[16*(where - 1) + 8*place[0] +: 8] == held);
        assume (where != 3 && command_where != 3);
        if (begun) begin
            if (takes) assume (command_bytes != 0 && {1'b0, command_place} + command_bytes <= 16);
            inside_count <= inside_count + takes - ends;
            undone <= undone + takes - is_done;
            if (m_axis_tvalid) once: assert (inside_count != 0);
            if (done_valid) done_once: assert (undone != 0);
            owed <= owed + (takes ? command_lines : 0) - any_read;
            if (any_read) of_a_send: assert (owed != 0 || takes);
            if (leaves) beat <= m_axis_tlast ? 0 : beat + 1;
            if (takes && mark && !marked && !waits_done && command_where == where && place >= command_place
                && place < {1'b0, command_place} + command_bytes) begin
                {marked, waits_done} <= 2'b11;
                was_read <= reads;
                ahead <= inside_count - ends;
                done_ahead <= undone - is_done;
                distance <= place - command_place;
                {own_bytes, own_tag} <= {command_bytes, command_tag};
            end else begin
                if (reads) was_read <= 1;
                if (marked && ends) begin
                    ahead <= ahead - 1;
                    if (ahead == 0) marked <= 0;
                end
                if (waits_done && is_done) begin
                    done_ahead <= done_ahead - 1;
                    if (done_ahead == 0) begin
                        waits_done <= 0;
                        its_tag: assert (done_tag == own_tag);
                        read_first: assert (was_read);
                    end
                end
            end
            if (is_own && m_axis_tvalid) begin
                keep_low: assert (m_axis_tkeep[0] && first < own_bytes);
                keep_high: assert (m_axis_tkeep[1] == (first + 1 < own_bytes));
                last: assert (m_axis_tlast == (first + 2 >= own_bytes));
                if (distance[3:1] == beat) its_data: assert (m_axis_tdata[8*distance[0] +: 8] == held);
            end
            stalled <= m_axis_tvalid && !m_axis_tready;
            {stalled_last, stalled_data} <= {m_axis_tlast, m_axis_tdata};
            if (stalled) stays: assert (m_axis_tvalid && {m_axis_tlast, m_axis_tdata} == {stalled_last, stalled_data});
        end
    end
endmodule
