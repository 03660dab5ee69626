// free_list: hands out numbers, or addresses, that nobody holds: the multiples of STEP from 0 on.
//
// In:      `take`: the number offered is taken in this cycle; `give`: a number comes back.
// Out:     `any`: a number is free; `number`: which one. `count`: how many are.
// Latency: none; a number that comes back in cycle t can be taken in t + 1.
// How:     first the numbers that nobody has held yet, in order, then those that came back, the
//          longest free first. So no table has to be filled at reset.
// Memory:  COUNT numbers, read without a register.
// Source:  the free lists of nanoPU's reassembly and FPsPIN's packet allocator; the model takes its
//          numbers in the same order.
`default_nettype none

module free_list #(
    // Numbers; at least 2.
    parameter integer COUNT = 8,
    parameter integer STEP = 1
) (
    input  wire                       clock,
    input  wire                       reset,
    input  wire                       take,
    output wire                       any,
    output wire [$clog2(COUNT*STEP)-1:0] number,
    input  wire                       give,
    input  wire [$clog2(COUNT*STEP)-1:0] give_number,
    output wire [$clog2(COUNT+1)-1:0] count
);
    localparam integer NUMBER = $clog2(COUNT * STEP);
    localparam integer INDEX = $clog2(COUNT);
    localparam integer LEVEL = $clog2(COUNT + 1);
    localparam [INDEX-1:0] LAST = INDEX'(COUNT - 1);
    localparam [NUMBER-1:0] LAST_FRESH = NUMBER'((COUNT - 1) * STEP);

    reg [NUMBER-1:0] back [0:COUNT-1];
    reg [INDEX-1:0]  head, tail;
    // The lowest number that nobody has held yet; `all_held` if there is none.
    reg [NUMBER-1:0] fresh;
    reg              all_held;
    reg [LEVEL-1:0]  free;

    wire takes = take && any;
    assign any = free != 0;
    assign number = all_held ? back[head] : fresh;
    assign count = free;

    always @(posedge clock)
        if (give) back[tail] <= give_number;

    always @(posedge clock)
        if (reset) begin
            head <= 0;
            tail <= 0;
            fresh <= 0;
            all_held <= 0;
            free <= LEVEL'(COUNT);
        end else begin
            if (give) tail <= tail == LAST ? 0 : tail + 1'b1;
            if (takes && all_held) head <= head == LAST ? 0 : head + 1'b1;
            if (takes && !all_held) begin
                fresh <= fresh + NUMBER'(STEP);
                all_held <= fresh == LAST_FRESH;
            end
            if (takes && !give) free <= free - 1'b1;
            if (give && !takes) free <= free + 1'b1;
        end
endmodule

`default_nettype wire
