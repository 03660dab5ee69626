// What loads and stores promise, of any address in two words of memory: a load gives the bytes at its address,
// its sign extended if it is to be; a store changes those bytes and no others; both in one access or two, none
// more; an atomic that is not aligned does nothing.
module hpu_data_proof (
    input wire        clock,
    input wire        reset,
    input wire        data_ready,
    input wire        again
);
    // The instruction, the same all the time, and what memory held before.
    (* anyconst *) wire        store;
    (* anyconst *) wire        atomic;
    (* anyconst *) wire [2:0]  size;
    (* anyconst *) wire [31:0] address;
    (* anyconst *) wire [31:0] value;
    (* anyconst *) wire [63:0] held;
    wire        done, failed, misaligned, data_valid, data_write, data_atomic;
    wire [31:0] loaded, data_data;
    wire [4:0]  data_operation;
    wire [31:2] data_word;
    wire [3:0]  data_strobes;
    reg  [31:0] response = 0;
    reg         begun = 0, working = 0, was_done = 0;
    reg  [63:0] memory;
    reg  [1:0]  accesses = 0;
    wire        is_second = data_word != address[31:2];

    hpu_data unit (
        .clock(clock), .reset(reset), .start(working), .store(store), .atomic(atomic),
        .atomic_operation(5'd0), .size(size), .address(address), .value(value), .done(done),
        .failed(failed), .misaligned(misaligned), .loaded(loaded), .data_valid(data_valid),
        .data_ready(data_ready), .data_error(1'b0), .data_write(data_write),
        .data_atomic(data_atomic), .data_operation(data_operation), .data_word(data_word),
        .data_strobes(data_strobes), .data_data(data_data), .response_data(response)
    );

    wire [63:0] mask = (size[1] ? 64'hffffffff : size[0] ? 64'hffff : 64'hff) << {address[1:0], 3'd0};
    wire [63:0] after = (held & ~mask) | (({32'd0, value} << {address[1:0], 3'd0}) & mask);
    wire [63:0] from = held >> {address[1:0], 3'd0};
    wire [31:0] expected = size[1] ? from[31:0]
        : size[0] ? {{16{from[15] && !size[2]}}, from[15:0]} : {{24{from[7] && !size[2]}}, from[7:0]};
    wire        in_two = {1'b0, address[1:0]} + (size[1] ? 3'd3 : size[0] ? 3'd1 : 3'd0) > 3'd3;
    integer     byte_number;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (size[1:0] != 3 && (!atomic || (size == 2 && !store)));
        was_done <= begun && done;
        working <= begun && (working ? !done && !misaligned : again && !was_done);
        if (!working) begin
            memory <= held;
            accesses <= 0;
        end
        if (begun) begin
            if (misaligned && working) nothing: assert (atomic && address[1:0] != 0 && !data_valid);
            if (data_valid) begin
                its_words: assert (data_word == address[31:2] || (in_two && data_word == address[31:2] + 30'd1));
                kind: assert (working && data_write == store && data_atomic == atomic);
            end
            if (data_valid && data_ready) begin
                accesses <= accesses + 1;
                response <= is_second ? held[63:32] : held[31:0];
                if (store)
                    for (byte_number = 0; byte_number < 4; byte_number = byte_number + 1)
                        if (data_strobes[byte_number])
                            memory[32*is_second + 8*byte_number +: 8] <= data_data[8*byte_number +: 8];
                order: assert (is_second == (accesses != 0));
            end else response <= ~0;
            if (done) count: assert (accesses == in_two);
            if (was_done) begin
                if (store) stored: assert (memory == after);
                else load: assert (loaded == expected);
            end
        end
    end
endmodule
