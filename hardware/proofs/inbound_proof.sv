// What the inbound engine promises, of any packet and any of its bytes: it is written to the slot that its HER names, in its
// place; HERs come in the order of packets, once each, behind their lines, with what came with them; packets that are too
// long are dropped, and no others; one that is whole goes on while there are slots and nobody keeps it waiting.
module inbound_proof #(
    parameter integer BYTES = 2,
    parameter integer BYTES_BITS = 4,
    parameter integer USER_BITS = 2
) (
    input wire                 clock,
    input wire                 reset,
    input wire                 s_axis_tvalid,
    input wire [8*BYTES-1:0]   s_axis_tdata,
    input wire                 s_axis_tlast,
    input wire                 ends_odd,
    input wire [USER_BITS-1:0] s_axis_tuser,
    input wire                 write_ready,
    input wire                 her_ready,
    input wire                 free_wanted,
    input wire [3:0]           free_address,
    // The solver marks one packet among all.
    input wire                 mark
);
    localparam integer SMALL_SLOTS = 2, SMALL_BYTES = 2, LARGE_SLOTS = 2, LARGE_BYTES = 6, LONGEST = 8, PATIENCE = 4;
    // Of the marked packet, a byte.
    (* anyconst *) wire [2:0]  place;
    wire [BYTES-1:0]      s_axis_tkeep = s_axis_tlast && ends_odd ? 2'b01 : 2'b11;
    wire                  s_axis_tready, write_valid, her_valid;
    wire [3:0]            write_line;
    wire [8*BYTES-1:0]    write_data;
    wire [21:0]           her_address;
    wire [BYTES_BITS-1:0] her_bytes;
    wire [USER_BITS-1:0]  her_user;
    wire [31:0]           drops;
    reg                   begun = 0;
    // Slots that HERs have named, by the address where they begin.
    reg [15:0]            given = 0;
    wire                  free_valid = begun && free_wanted && given[free_address];

    inbound #(
        .USER_BITS(USER_BITS), .BYTES_BITS(BYTES_BITS), .FRAME_BITS(3), .FRAMES(4), .LINE_BITS(4), .BYTES(BYTES),
        .SMALL_SLOTS(SMALL_SLOTS), .SMALL_BYTES(SMALL_BYTES), .LARGE_SLOTS(LARGE_SLOTS),
        .LARGE_BYTES(LARGE_BYTES)
    ) unit (
        .clock(clock), .reset(reset), .s_axis_tvalid(begun && s_axis_tvalid), .s_axis_tready(s_axis_tready),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(s_axis_tkeep), .s_axis_tlast(s_axis_tlast),
        .s_axis_tuser(s_axis_tuser), .write_valid(write_valid), .write_ready(write_ready),
        .write_line(write_line), .write_data(write_data), .her_valid(her_valid), .her_ready(her_ready),
        .her_address(her_address), .her_bytes(her_bytes), .her_user(her_user), .free_valid(free_valid),
        .free_address({18'd0, free_address}), .drops(drops)
    );

    // The packet that comes: its lines so far, what came with it, the byte.
    reg [2:0]            lines = 0;
    reg [USER_BITS-1:0]  user_held = 0;
    reg [7:0]            byte_held = 0;
    wire                 comes = begun && s_axis_tvalid && s_axis_tready;
    wire                 whole = comes && s_axis_tlast;
    wire [USER_BITS-1:0] user = lines == 0 ? s_axis_tuser : user_held;
    wire [BYTES_BITS-1:0] bytes = {lines, 1'b0} + (s_axis_tkeep[1] ? 2 : 1);
    wire                 fits = bytes <= LARGE_BYTES;
    wire [7:0]           this_byte = lines == place[2:1] ? s_axis_tdata[8*place[0] +: 8] : byte_held;
    // Those that are whole and fit, without their HER; their lines that are not written.
    reg [3:0]            inside_count = 0;
    reg [4:0]            unwritten = 0;
    wire                 writes = write_valid && write_ready;
    wire                 names = her_valid && her_ready;
    // The marked one: whole, HERs and lines before its own; its line's address once it is written.
    reg                  marked = 0, waits_line = 0, has_line = 0;
    reg [3:0]            ahead = 0;
    reg [4:0]            lines_ahead = 0;
    reg [7:0]            own_byte = 0;
    reg [USER_BITS-1:0]  own_user = 0;
    reg [BYTES_BITS-1:0] own_bytes = 0;
    reg [3:0]            own_line = 0;
    reg [31:0]           too_long = 0;
    reg [2:0]            small_held = 0, large_held = 0, quiet = 0;
    wire                 marks = whole && fits && mark && !marked && place < bytes;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            assume (!comes || s_axis_tlast || {lines, 1'b0} + 2 < LONGEST);
            if (comes) begin
                lines <= s_axis_tlast ? 0 : lines + 1;
                user_held <= user;
                byte_held <= this_byte;
            end
            inside_count <= inside_count + (whole && fits) - names;
            unwritten <= unwritten + (whole && fits ? lines + 5'd1 : 5'd0) - writes;
            if (whole && !fits) too_long <= too_long + 1;
            if (names) begin
                once: assert (inside_count != 0);
                nobody_elses: assert (!given[her_address[3:0]]);
            end
            if (writes) not_more: assert (unwritten != 0);
            if (free_valid) given[free_address] <= 0;
            if (names) given[her_address[3:0]] <= 1;
            if (marks) begin
                {marked, waits_line, has_line} <= 3'b110;
                ahead <= inside_count - names;
                lines_ahead <= unwritten - writes + place[2:1];
                {own_byte, own_user, own_bytes} <= {this_byte, user, bytes};
            end else if (marked) begin
                if (writes && waits_line) begin
                    lines_ahead <= lines_ahead - 1;
                    if (lines_ahead == 0) begin
                        its_data: assert (write_data[8*place[0] +: 8] == own_byte);
                        {waits_line, has_line} <= 2'b01;
                        own_line <= write_line;
                    end
                end
                if (names) begin
                    ahead <= ahead - 1;
                    if (ahead == 0) begin
                        written_first: assert (has_line);
                        its_place: assert (own_line == her_address[4:1] + place[2:1]);
                        its_user: assert (her_user == own_user && her_bytes == own_bytes);
                        marked <= 0;
                    end
                end
            end
            dropped: assert (drops <= too_long);
            // It goes on: slots are counted from when lines are written at the latest.
            quiet <= inside_count != 0 && !writes && !names && write_ready && her_ready && drops == too_long
                && given == 0 && inside_count == 1 ? quiet + 1 : 0;
            goes_on: assert (quiet <= PATIENCE);
        end
    end
endmodule
