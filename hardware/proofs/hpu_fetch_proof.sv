// What the fetch stage promises, of an arbitrary half word of the program: instructions come in order from
// where it was sent, with the bytes of the program; it asks only for lines of the program counter and behind
// it, one at a time; with lines that come in a cycle it is never without an instruction in sequence.
module hpu_fetch_proof (
    input wire         clock,
    input wire         reset,
    input wire         redirect,
    input wire [31:1]  target,
    input wire         fetch_ready,
    input wire         line_valid,
    input wire [127:0] line_data,
    input wire         out_ready
);
    localparam [31:0] BOOT = 32'h1d000080;
    wire        fetch_valid, out_valid, out_long, out_error;
    wire [31:4] fetch_line;
    wire [31:1] out_pc;
    wire [31:0] out_bits;

    // Half words of the program, one followed, and whether lines come at once.
    (* anyconst *) wire [31:1] place;
    (* anyconst *) wire [15:0] half;
    (* anyconst *) wire        at_once;

    hpu_fetch #(.BOOT(BOOT)) unit (
        .clock(clock), .reset(reset), .redirect(redirect), .target(target),
        .fetch_valid(fetch_valid), .fetch_ready(fetch_ready), .fetch_line(fetch_line),
        .line_valid(line_valid), .line_data(line_data), .line_error(1'b0),
        .out_valid(out_valid), .out_ready(out_ready), .out_pc(out_pc), .out_bits(out_bits),
        .out_long(out_long), .out_error(out_error)
    );

    reg         begun = 0, asked = 0;
    reg  [31:4] asked_line = 0;
    reg  [31:1] pc = BOOT[31:1];
    // Cycles since it was sent elsewhere, and without an instruction.
    reg  [2:0]  since = 0, waits = 0;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (!line_valid || asked);
        if (asked && asked_line == place[31:4]) assume (line_data[16*place[3:1] +: 16] == half);
        if (at_once) begin
            assume (fetch_ready);
            assume (line_valid == asked);
        end
        if (begun) begin
            asked <= (fetch_valid && fetch_ready) || (asked && !line_valid);
            if (fetch_valid && fetch_ready) asked_line <= fetch_line;
            if (redirect) pc <= target;
            else if (out_valid && out_ready) pc <= pc + (out_long ? 2 : 1);
            since <= redirect ? 0 : since == 7 ? 7 : since + 1;
            waits <= out_valid || redirect ? 0 : waits == 7 ? 7 : waits + 1;

            one_at_a_time: assert (!(fetch_valid && asked && !line_valid));
            if (fetch_valid && !redirect)
                near: assert (fetch_line == pc[31:4] || fetch_line == pc[31:4] + 28'd1);
            if (out_valid) begin
                in_order: assert (out_pc == pc);
                length: assert (out_long == (out_bits[1:0] == 2'b11));
                if (pc == place) low_half: assert (out_bits[15:0] == half);
                if (out_long && pc + 31'd1 == place) high_half: assert (out_bits[31:16] == half);
                if (!out_long) short: assert (out_bits[31:16] == 0);
            end
            if (at_once) begin
                // The line, and the next one where the instruction lies in both.
                soon: assert (waits <= 2);
                if (since > 2) no_gap: assert (out_valid);
            end
        end
    end
endmodule
