// hpu_expand: the instruction of four bytes that a compressed one of two stands for.
//
// In:      `half`, the two bytes; they do not end in 11.
// Out:     `bits`; `known`: it is an instruction of RV32C without floating point.
// Latency: none, it is combinational.
// Source:  RISC-V unprivileged specification, chapter "C".
`default_nettype none

module hpu_expand (
    input  wire [15:0] half,
    output reg  [31:0] bits,
    output reg         known
);
    localparam [6:0] LOAD = 7'h03, IMMEDIATE = 7'h13, STORE = 7'h23, REGISTER = 7'h33, LUI = 7'h37,
        BRANCH = 7'h63, JALR = 7'h67, JAL = 7'h6f;
    localparam [4:0] ZERO = 0, RA = 1, SP = 2;

    // Registers: those of five bits, and those among eight.
    wire [4:0] rd = half[11:7];
    wire [4:0] rs2 = half[6:2];
    wire [4:0] low = {2'b01, half[4:2]};
    wire [4:0] high = {2'b01, half[9:7]};
    // Immediates, by what has them.
    wire [11:0] of_six = {{7{half[12]}}, half[6:2]};
    wire [11:0] in_words = {5'd0, half[5], half[12:10], half[6], 2'd0};
    wire [11:0] in_frame = {4'd0, half[3:2], half[12], half[6:4], 2'd0};
    wire [11:0] to_frame = {4'd0, half[8:7], half[12:9], 2'd0};
    wire [11:0] frame_address = {2'd0, half[10:7], half[12:11], half[5], half[6], 2'd0};
    wire [11:0] frame_size = {{3{half[12]}}, half[4:3], half[5], half[2], half[6], 4'd0};
    wire [20:1] jump = {
        {10{half[12]}}, half[8], half[10:9], half[6], half[7], half[2], half[11], half[5:3]
    };
    wire [12:1] branch = {
        {5{half[12]}}, half[6:5], half[2], half[11:10], half[4:3]
    };
    wire [2:0] of_two = {half[12], half[6:5]};

    always @* begin
        known = 1;
        bits = 0;
        case ({half[1:0], half[15:13]})
            5'b00_000: begin
                bits = {frame_address, SP, 3'd0, low, IMMEDIATE};
                known = half[12:5] != 0;
            end
            5'b00_010: bits = {in_words, high, 3'd2, low, LOAD};
            5'b00_110: bits = {in_words[11:5], low, high, 3'd2, in_words[4:0], STORE};
            5'b01_000: bits = {of_six, rd, 3'd0, rd, IMMEDIATE};
            5'b01_001: bits = {jump[20], jump[10:1], jump[11], jump[19:12], RA, JAL};
            5'b01_010: bits = {of_six, ZERO, 3'd0, rd, IMMEDIATE};
            5'b01_011: begin
                bits = rd == SP ? {frame_size, SP, 3'd0, SP, IMMEDIATE}
                    : {{15{half[12]}}, half[6:2], rd, LUI};
                known = half[12] || half[6:2] != 0;
            end
            5'b01_100: case (half[11:10])
                2'b00, 2'b01: begin
                    bits = {1'b0, half[10], 5'd0, rs2, high, 3'd5, high, IMMEDIATE};
                    known = !half[12];
                end
                2'b10: bits = {of_six, high, 3'd7, high, IMMEDIATE};
                default: begin
                    case (of_two)
                        3'b000: bits = {7'h20, low, high, 3'd0, high, REGISTER};
                        3'b001: bits = {7'd0, low, high, 3'd4, high, REGISTER};
                        3'b010: bits = {7'd0, low, high, 3'd6, high, REGISTER};
                        default: bits = {7'd0, low, high, 3'd7, high, REGISTER};
                    endcase
                    known = !half[12];
                end
            endcase
            5'b01_101: bits = {jump[20], jump[10:1], jump[11], jump[19:12], ZERO, JAL};
            5'b01_110, 5'b01_111: bits = {
                branch[12], branch[10:5], ZERO, high, 2'b00, half[13], branch[4:1], branch[11], BRANCH
            };
            5'b10_000: begin
                bits = {7'd0, rs2, rd, 3'd1, rd, IMMEDIATE};
                known = !half[12];
            end
            5'b10_010: begin
                bits = {in_frame, SP, 3'd2, rd, LOAD};
                known = rd != 0;
            end
            5'b10_100:
                if (rs2 != 0) bits = {7'd0, rs2, half[12] ? rd : ZERO, 3'd0, rd, REGISTER};
                else if (rd != 0) bits = {12'd0, rd, 3'd0, half[12] ? RA : ZERO, JALR};
                else begin
                    bits = 32'h00100073;
                    known = half[12];
                end
            5'b10_110: bits = {to_frame[11:5], rs2, SP, 3'd2, to_frame[4:0], STORE};
            default: known = 0;
        endcase
    end
endmodule

`default_nettype wire
