// atomic_unit: what an atomic makes of the word that it finds.
//
// In:      `operation`, the instruction's funct5; `found`, the word in memory; `operand`.
// Out:     `result`, what is stored.
// Latency: none, it is combinational.
// Source:  RISC-V unprivileged specification, A extension.
`default_nettype none

module atomic_unit (
    input  wire [4:0]  operation,
    input  wire [31:0] found,
    input  wire [31:0] operand,
    output reg  [31:0] result
);
    localparam [4:0] ADD = 0, XOR = 4, OR = 8, AND = 12, LEAST = 16, MOST = 20, LEAST_UNSIGNED = 24, MOST_UNSIGNED = 28;

    wire below = found < operand;
    // With signs, the one that has one is below.
    wire below_signed = found[31] != operand[31] ? found[31] : below;

    always @*
        case (operation)
            ADD: result = found + operand;
            XOR: result = found ^ operand;
            OR: result = found | operand;
            AND: result = found & operand;
            LEAST: result = below_signed ? found : operand;
            MOST: result = below_signed ? operand : found;
            LEAST_UNSIGNED: result = below ? found : operand;
            MOST_UNSIGNED: result = below ? operand : found;
            default: result = operand;
        endcase
endmodule

`default_nettype wire
