// hpu_data: loads, stores and atomics of an HPU's core, in one access to a word or in two.
//
// In:      `start` while the instruction is in the execute stage, with its address, size (funct3) and
//          data; `atomic`, `atomic_operation`: its funct5. The port's `data_ready`, with `data_error`
//          if the access is not allowed; `response_data` in the cycle behind.
// Out:     `done` in the cycle in which the last access is taken, `failed` with it if one was not allowed;
//          `misaligned`: an atomic that is, which does nothing. `loaded` in the cycle behind `done`.
// Latency: a cycle for each access, and those in which the port is not ready.
// Source:  ours; RI5CY splits accesses that lie in two words; the model's `Access::split`.
`default_nettype none

module hpu_data (
    input  wire        clock,
    input  wire        reset,
    input  wire        start,
    input  wire        store,
    input  wire        atomic,
    input  wire [4:0]  atomic_operation,
    input  wire [2:0]  size,
    input  wire [31:0] address,
    input  wire [31:0] value,
    output wire        done,
    output wire        failed,
    output wire        misaligned,
    output wire [31:0] loaded,
    output wire        data_valid,
    input  wire        data_ready,
    input  wire        data_error,
    output wire        data_write,
    output wire        data_atomic,
    output wire [4:0]  data_operation,
    output wire [31:2] data_word,
    output wire [3:0]  data_strobes,
    output wire [31:0] data_data,
    input  wire [31:0] response_data
);
    // The second of two accesses is due.
    reg         second;
    // Of the load whose data come in this cycle.
    reg  [1:0]  came_offset;
    reg  [2:0]  came_size;
    reg         came_split;
    reg  [31:0] kept;
    // The first word's data come in this cycle.
    reg         first_comes;

    wire [1:0]  offset = address[1:0];
    wire [3:0]  bytes = size[1] ? 4'b1111 : size[0] ? 4'b0011 : 4'b0001;
    wire [6:0]  reach = {3'd0, bytes} << offset;
    wire [55:0] moved = {24'd0, value} << {offset, 3'd0};
    wire        split = reach[6:4] != 0;

    assign misaligned = atomic && offset != 0;
    assign data_valid = start && !misaligned;
    assign data_write = store;
    assign data_atomic = atomic;
    assign data_operation = atomic_operation;
    assign data_word = second ? address[31:2] + 1'b1 : address[31:2];
    assign data_strobes = second ? {1'b0, reach[6:4]} : reach[3:0];
    assign data_data = second ? {8'd0, moved[55:32]} : moved[31:0];
    assign failed = data_valid && data_ready && data_error;
    assign done = data_valid && data_ready && (data_error || !split || second);

    // The first word waits where the second comes behind it.
    wire [63:0] words = came_split ? {response_data, kept} : {32'd0, response_data};
    wire [63:0] from = words >> {came_offset, 3'd0};
    wire        sign = !came_size[2] && (came_size[0] ? from[15] : from[7]);
    assign loaded = came_size[1] ? from[31:0]
        : came_size[0] ? {{16{sign}}, from[15:0]} : {{24{sign}}, from[7:0]};

    always @(posedge clock) begin
        second <= !reset && data_valid && !done && (second || data_ready);
        if (first_comes) kept <= response_data;
        {came_offset, came_size, came_split} <= {offset, size, split};
        first_comes <= data_valid && data_ready && !second;
    end

    wire _unused = &{1'b0, from[63:32]};
endmodule

`default_nettype wire
