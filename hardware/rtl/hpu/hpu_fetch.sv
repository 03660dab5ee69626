// hpu_fetch: the fetch stage of an HPU's core, with the line it executes and the next one.
//
// In:      `redirect`, `target`: go on elsewhere. Lines of 16 bytes, asked for one at a time: a request
//          is taken in a cycle with `fetch_ready`, and its data come with `line_valid` in a later one.
// Out:     the instruction at the program counter, of two or four bytes, while `out_valid`;
//          `out_error`: there is no memory.
// Latency: data that come in a cycle give their instruction in that cycle. The next line is asked for
//          when an instruction in the last word comes here, or four bytes before an instruction that
//          lies in two lines, so that lines that come in one cycle cost none in sequence; a jump to an
//          instruction in two lines costs one cycle more. A jump waits for a request that is out,
//          wanted or not.
// Source:  ours; cycles as published, rows `branch` and `cold` of the calibration; the model's
//          `PrefetchBuffer`. Stores to program memory do not reach lines that are here.
`default_nettype none

module hpu_fetch #(
    parameter [31:0] BOOT = 32'h1d000080
) (
    input  wire         clock,
    input  wire         reset,
    input  wire         redirect,
    input  wire [31:1]  target,
    output wire         fetch_valid,
    input  wire         fetch_ready,
    output wire [31:4]  fetch_line,
    input  wire         line_valid,
    input  wire [127:0] line_data,
    input  wire         line_error,
    output wire         out_valid,
    input  wire         out_ready,
    output wire [31:1]  out_pc,
    output wire [31:0]  out_bits,
    output wire         out_long,
    output wire         out_error
);
    localparam [2:0] LAST_HALF = 7;

    reg [31:1]  pc;
    // The program counter's line, and the one behind it.
    reg         held, next_held, bad, next_bad;
    reg [127:0] line, next_line;
    // The request that is out: for the next line, or for nobody.
    reg         asked, ahead, dropped;

    // What is here in this cycle, and what has come in it.
    wire         comes = asked && line_valid && !dropped;
    wire         here = held || (comes && !ahead);
    wire [127:0] data = held ? line : line_data;
    wire         data_bad = held ? bad : line_error;
    wire         next_here = next_held || (comes && ahead);
    wire [127:0] next_data = next_held ? next_line : line_data;
    wire         next_data_bad = next_held ? next_bad : line_error;

    wire [2:0]   half = pc[3:1];
    wire [143:0] both = {next_data[15:0], data};
    wire [31:0]  bits = both[16*half +: 32];
    wire         is_long = bits[1:0] == 2'b11;
    wire         in_both = is_long && half == LAST_HALF;
    wire         last_is_long = data[113:112] == 2'b11;

    assign out_valid = here && (!in_both || next_here);
    assign out_pc = pc;
    assign out_bits = is_long ? bits : {16'd0, bits[15:0]};
    assign out_long = is_long;
    assign out_error = data_bad || (in_both && next_data_bad);

    wire        wants_here = !here && !(asked && !ahead && !dropped);
    wire        comes_late = half == 5 && is_long && last_is_long;
    wire        wants_next = here && !next_here && !(asked && ahead && !dropped)
        && (half >= 6 || comes_late);
    wire        may_ask = !asked || line_valid;
    wire        asks = fetch_valid && fetch_ready;
    wire        moves = out_valid && out_ready;
    wire [31:1] next_pc = pc + (is_long ? 31'd2 : 31'd1);
    wire        crosses = moves && next_pc[4] != pc[4];

    assign fetch_valid = may_ask && (redirect || wants_here || wants_next) && !reset;
    assign fetch_line = redirect ? target[31:4] : wants_here ? pc[31:4] : pc[31:4] + 1'b1;

    always @(posedge clock) begin
        line <= crosses ? next_data : data;
        bad <= crosses ? next_data_bad : data_bad;
        next_line <= next_data;
        next_bad <= next_data_bad;
        if (reset) begin
            pc <= BOOT[31:1];
            {held, next_held, asked, ahead, dropped} <= 0;
        end else begin
            asked <= asks || (asked && !line_valid);
            held <= !redirect && (crosses ? next_here : here);
            next_held <= !redirect && !crosses && next_here;
            if (redirect) pc <= target;
            else if (moves) pc <= next_pc;
            if (asks) begin
                ahead <= !redirect && wants_next && !crosses;
                dropped <= 0;
            end else begin
                if (crosses) ahead <= 0;
                if (redirect) dropped <= 1;
            end
        end
    end
endmodule

`default_nettype wire
