// hpu_alu: sums, comparisons, logic and shifts of an HPU's core, and whether a branch is taken.
//
// In:      `a`, `b`; `operation`, a funct3 of OP, and `alternative`: it subtracts, or shifts in the
//          sign. `condition`, a funct3 of BRANCH.
// Out:     `result`; `taken`: the condition holds of `a` and `b`.
// Latency: none, it is combinational.
`default_nettype none

module hpu_alu (
    input  wire [2:0]  operation,
    input  wire        alternative,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output reg  [31:0] result,
    input  wire [2:0]  condition,
    output wire        taken
);
    localparam [2:0] ADD = 0, LEFT = 1, LESS = 2, BELOW = 3, EITHER = 4, RIGHT = 5, OR = 6;

    wire less = $signed(a) < $signed(b);
    wire below = a < b;
    wire holds = condition[2] ? (condition[1] ? below : less) : a == b;
    wire signed [31:0] shifted = $signed(a) >>> b[4:0];

    assign taken = holds != condition[0];

    always @*
        case (operation)
            ADD: result = alternative ? a - b : a + b;
            LEFT: result = a << b[4:0];
            LESS: result = {31'd0, less};
            BELOW: result = {31'd0, below};
            EITHER: result = a ^ b;
            RIGHT: result = alternative ? shifted : a >> b[4:0];
            OR: result = a | b;
            default: result = a & b;
        endcase
endmodule

`default_nettype wire
