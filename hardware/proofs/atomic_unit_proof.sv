// What an atomic's arithmetic promises: what RISC-V says, of any words.
module atomic_unit_proof (
    input wire               clock,
    input wire [4:0]         operation,
    input wire signed [31:0] found,
    input wire signed [31:0] operand
);
    wire [31:0] result;
    wire [31:0] plain = found;
    wire [31:0] other = operand;
    atomic_unit unit (.operation(operation), .found(plain), .operand(other), .result(result));
    always @(posedge clock) begin
        if (operation == 5'h00) add: assert (result == plain + other);
        if (operation == 5'h01) swap: assert (result == other);
        if (operation == 5'h03) conditional: assert (result == other);
        if (operation == 5'h04) exclusive: assert (result == (plain ^ other));
        if (operation == 5'h08) either: assert (result == (plain | other));
        if (operation == 5'h0c) both: assert (result == (plain & other));
        if (operation == 5'h10) least: assert (result == (found < operand ? plain : other));
        if (operation == 5'h14) most: assert (result == (found < operand ? other : plain));
        if (operation == 5'h18) least_plain: assert (result == (plain < other ? plain : other));
        if (operation == 5'h1c) most_plain: assert (result == (plain < other ? other : plain));
    end
endmodule
