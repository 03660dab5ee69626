// hpu_multiply: multiplication and division of an HPU's core.
//
// In:      `start` while an instruction is in the execute stage; `operation`, its funct3; `a`, `b`.
// Out:     `result` in the cycle with `done`.
// Latency: mul 1 cycle, mulh and its unsigned forms 5 (four products of 17 bits one after the other);
//          div and rem 3 and one for each leading zero of the divisor, 35 for a divisor of zero; of a negative
//          one those of its complement but one: the divider begins with the divisor at the left and goes one bit to the right a cycle.
// Source:  ours; cycles as published, rows mul_ind, mulh_ind and div_ind; the model's `Costs`.
`default_nettype none

module hpu_multiply (
    input  wire        clock,
    input  wire        reset,
    input  wire        start,
    input  wire [2:0]  operation,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output wire        done,
    output wire [31:0] result
);
    localparam [2:0] MUL = 0, MULH = 1, MULHSU = 2, DIV = 4, REM = 6;
    localparam [5:0] PRODUCTS = 4;

    wire is_division = operation[2];
    wire is_remainder = operation[1];
    wire is_signed = operation == DIV || operation == REM;

    // Cycles that this instruction has been here.
    reg [5:0]  step;

    // The upper half, by products of 16 bits and a sign each.
    wire signed [16:0] a_high = {(operation == MULH || operation == MULHSU) && a[31], a[31:16]};
    wire signed [16:0] b_high = {operation == MULH && b[31], b[31:16]};
    wire signed [16:0] left = step[1] ? a_high : {1'b0, a[15:0]};
    wire signed [16:0] right = step[0] ? b_high : {1'b0, b[15:0]};
    wire signed [33:0] product = left * right;
    wire signed [65:0] wide = {{32{product[33]}}, product};
    reg  signed [65:0] sum;
    wire [31:0]        low = a * b;

    // The division of magnitudes.
    wire [31:0] a_size = is_signed && a[31] ? -a : a;
    wire [31:0] b_size = is_signed && b[31] ? -b : b;
    // A negative divisor is moved one place less than its magnitude could be, but for powers of two: what are
    // counted are the zeros of its complement.
    wire        is_below = is_signed && b[31];
    wire [31:0] counted = is_below ? ~b : b;
    reg  [5:0]  leading;
    integer     place;
    always @* begin
        leading = 32;
        for (place = 0; place < 32; place = place + 1)
            if (counted[place]) leading = 6'(31 - place);
    end
    wire [5:0]  zeros = leading - {5'd0, is_below};
    reg  [31:0] rest, divisor, quotient;
    wire        fits = rest >= divisor;
    wire [5:0]  last = is_division ? zeros + 6'd2 : operation == MUL ? 6'd0 : PRODUCTS;
    wire        negative = is_signed && (is_remainder ? a[31] : a[31] != b[31] && b != 0);
    wire [31:0] size = is_remainder ? rest : quotient;

    assign done = start && step == last;
    assign result = is_division ? (negative ? -size : size)
        : operation == MUL ? low : sum[63:32];

    always @(posedge clock) begin
        step <= reset || !start || done ? 6'd0 : step + 6'd1;
        if (step == 0) begin
            rest <= a_size;
            divisor <= b_size << zeros;
            quotient <= 0;
        end else begin
            if (fits) rest <= rest - divisor;
            divisor <= divisor >> 1;
            quotient <= {quotient[30:0], fits};
        end
        case (step)
            6'd0: sum <= wide;
            6'd1, 6'd2: sum <= sum + (wide <<< 16);
            default: sum <= sum + (wide <<< 32);
        endcase
    end
endmodule

`default_nettype wire
