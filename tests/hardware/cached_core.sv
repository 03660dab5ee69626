// The HPU's core with an instruction cache in front of program memory, and the core's ports: what
// tests/hardware/hpu_core.cpp drives. The published cluster
// boots without it; here it is turned on with the last line of the boot code.
`default_nettype none

module cached_core (
    input  wire         clock,
    input  wire         reset,
    input  wire [31:0]  hart,
    output wire         fetch_valid,
    input  wire         fetch_ready,
    output wire [31:4]  fetch_line,
    input  wire         line_valid,
    input  wire [127:0] line_data,
    input  wire         line_error,
    output wire         data_valid,
    input  wire         data_ready,
    input  wire         data_error,
    output wire         data_write,
    output wire         data_atomic,
    output wire [4:0]   data_operation,
    output wire [31:2]  data_word,
    output wire [3:0]   data_strobes,
    output wire [31:0]  data_data,
    input  wire [31:0]  response_data,
    output wire [31:0]  access_first,
    output wire [2:0]   access_bytes,
    output wire         user_mode,
    input  wire         interrupts,
    output wire         left_valid,
    output wire [31:1]  left_pc,
    output wire [31:0]  left_bits,
    output wire         trap_valid,
    output wire [4:0]   wrote_register,
    output wire [31:0]  wrote_value
);
    // That line, of the calibration's programs.
    localparam [31:1] LAST_OF_BOOT = 31'h0e800088;

    reg          turns_on;
    wire         own_valid, own_ready, own_comes, own_error;
    wire [31:4]  own_line;
    wire [127:0] own_data;
    // Of the cache's second port, which nobody uses.
    wire         turned_on, core, other_ready, other_comes, other_error;
    wire [127:0] other_data;

    always @(posedge clock) begin
        turns_on <= !reset && (turns_on || (left_valid && left_pc == LAST_OF_BOOT));
    end

    instruction_cache #(.CORES(2)) cache (
        .clock(clock), .reset(reset), .turns_on(turns_on), .turned_on(turned_on),
        .fetch_valid({1'b0, own_valid}),
        .fetch_ready({other_ready, own_ready}), .fetch_line({28'd0, own_line}),
        .line_valid({other_comes, own_comes}), .line_data({other_data, own_data}),
        .line_error({other_error, own_error}), .refill_valid(fetch_valid),
        .refill_ready(fetch_ready), .refill_line(fetch_line), .refill_core(core),
        .refill_done(line_valid), .refill_done_core(1'b0), .refill_data(line_data), .refill_error(line_error)
    );

    hpu_core unit (
        .clock(clock), .reset(reset), .hart(hart), .fetch_valid(own_valid),
        .fetch_ready(own_ready), .fetch_line(own_line), .line_valid(own_comes),
        .line_data(own_data), .line_error(own_error), .data_valid(data_valid),
        .data_ready(data_ready), .data_error(data_error), .data_write(data_write),
        .data_atomic(data_atomic), .data_operation(data_operation), .data_word(data_word),
        .data_strobes(data_strobes), .data_data(data_data), .response_data(response_data),
        .access_first(access_first), .access_bytes(access_bytes), .user_mode(user_mode),
        .interrupts(interrupts), .left_valid(left_valid), .left_pc(left_pc),
        .left_bits(left_bits), .trap_valid(trap_valid), .wrote_register(wrote_register),
        .wrote_value(wrote_value)
    );
endmodule

`default_nettype wire
