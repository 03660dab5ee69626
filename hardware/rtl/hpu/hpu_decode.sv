// hpu_decode: what an instruction of four bytes asks of the core's units.
//
// In:      `bits`, the instruction.
// Out:     registers read and written (x0 where there is none), the immediate, which unit it is for, and
//          `known`; whether it is allowed (mret, registers of machine mode) is the registers' affair.
// Latency: none, it is combinational.
// Source:  RISC-V unprivileged specification, RV32IMA with Zicsr and Zifencei; `p.elw`, a load that waits
//          for an event, is I-type 0x03 with funct3 6 (reference of PULP's event unit).
`default_nettype none

module hpu_decode (
    input  wire [31:0] bits,
    output wire        known,
    output wire [4:0]  rs1,
    output wire [4:0]  rs2,
    output wire [4:0]  rd,
    output reg  [31:0] immediate,
    // The first operand is the program counter or zero; the second the immediate, or, for a jump, its
    // own length.
    output wire        from_pc,
    output wire        from_zero,
    output wire        with_immediate,
    // What the adder and shifter do: funct3, and whether it subtracts or shifts in the sign.
    output wire [2:0]  operation,
    output wire        alternative,
    output wire        is_jump,
    output wire        is_jump_register,
    output wire        is_branch,
    output wire        is_load,
    output wire        is_store,
    output wire        is_atomic,
    output wire        is_multiply,
    output wire        is_csr,
    output wire        is_call,
    output wire        is_break,
    output wire        is_return,
    output wire        is_wait,
    // It writes a register that it computes itself: no load, no jump; x0 counts.
    output wire        computes
);
    localparam [4:0] LOAD = 0, FENCE = 3, IMMEDIATE = 4, AUIPC = 5, STORE = 8, ATOMIC = 11, REGISTER = 12,
        LUI = 13, BRANCH = 24, JALR = 25, JAL = 27, SYSTEM = 28;

    wire [4:0] opcode = bits[6:2];
    wire [2:0] funct3 = bits[14:12];
    wire [6:0] funct7 = bits[31:25];
    wire       whole = bits[1:0] == 2'b11;
    wire       is_shift = funct3[1:0] == 2'b01;

    wire is_immediate = opcode == IMMEDIATE
        && (!is_shift || funct7 == 0 || (funct7 == 7'h20 && funct3 == 5));
    wire is_register = opcode == REGISTER
        && (funct7 == 0 || (funct7 == 7'h20 && (funct3 == 0 || funct3 == 5)));
    wire is_lui = opcode == LUI;
    wire is_auipc = opcode == AUIPC;
    wire is_fence = opcode == FENCE && funct3[2:1] == 0;
    wire has_csr = opcode == SYSTEM && funct3[1:0] != 0;
    wire is_reserve = bits[31:27] == 5'd2;
    wire known_atomic = bits[31:27] == 5'd1 || bits[31:27] == 5'd3 || bits[31:27] == 0
        || bits[28:27] == 0 || (is_reserve && bits[24:20] == 0);

    assign is_jump = whole && opcode == JAL;
    assign is_jump_register = whole && opcode == JALR && funct3 == 0;
    assign is_branch = whole && opcode == BRANCH && funct3[2:1] != 1;
    assign is_atomic = whole && opcode == ATOMIC && funct3 == 2 && known_atomic;
    assign is_load = (whole && opcode == LOAD && funct3 != 3 && funct3 != 7) || is_atomic;
    assign is_store = whole && opcode == STORE && funct3 < 3;
    assign is_multiply = whole && opcode == REGISTER && funct7 == 1;
    assign is_csr = whole && has_csr;
    assign is_call = bits == 32'h00000073;
    assign is_break = bits == 32'h00100073;
    assign is_return = bits == 32'h30200073;
    assign is_wait = bits == 32'h10500073;
    assign known = (whole && (is_immediate || is_register || is_lui || is_auipc || is_fence))
        || is_jump || is_jump_register || is_branch || is_load || is_store || is_multiply || is_csr
        || is_call || is_break || is_return || is_wait;

    wire plain = is_immediate || is_register || is_lui || is_auipc;
    assign computes = whole && (plain || is_multiply || is_csr);
    assign rd = computes || is_jump || is_jump_register || is_load ? bits[11:7] : 5'd0;
    assign rs1 = (whole && (is_immediate || is_register || is_multiply))
        || is_jump_register || is_branch || is_load || is_store || (is_csr && !funct3[2])
        ? bits[19:15] : 5'd0;
    assign rs2 = (whole && (is_register || is_multiply)) || is_branch || is_store || is_atomic
        ? bits[24:20] : 5'd0;

    assign from_pc = opcode == AUIPC || is_jump || is_jump_register;
    assign from_zero = opcode == LUI;
    assign with_immediate = opcode != REGISTER && opcode != BRANCH;
    assign operation = opcode == IMMEDIATE || opcode == REGISTER ? funct3 : 3'd0;
    assign alternative = bits[30] && (opcode == REGISTER || (opcode == IMMEDIATE && funct3 == 5));

    always @*
        case (opcode)
            LUI, AUIPC: immediate = {bits[31:12], 12'd0};
            JAL: immediate = {{12{bits[31]}}, bits[19:12], bits[20], bits[30:21], 1'b0};
            BRANCH: immediate = {{20{bits[31]}}, bits[7], bits[30:25], bits[11:8], 1'b0};
            STORE: immediate = {{21{bits[31]}}, bits[30:25], bits[11:7]};
            ATOMIC: immediate = 0;
            // A register's number in place of its value.
            SYSTEM: immediate = {27'd0, bits[19:15]};
            default: immediate = {{21{bits[31]}}, bits[30:20]};
        endcase
endmodule

`default_nettype wire
