// hpu_csr: control and status registers of an HPU's core, its privilege, and traps.
//
// In:      `number`, `function3` (its low bits) and `operand` of a CSR instruction, `commit` when it leaves the execute
//          stage; `retire`: an instruction did. `trap_valid` with cause, whether that is an
//          interrupt, value and program counter;
//          `return_valid`: mret.
// Out:     `value`, what the register holds; `allowed`: it exists, for this privilege, and may be written
//          if it is. `vector`, `return_pc`: where a trap and mret go. `machine`: the privilege.
// Latency: none to read; a write counts in the next cycle.
// Source:  RISC-V privileged specification, machine and user mode; RI5CY's mtvec, aligned to 256 bytes,
//          and its uhartid and privlv; the model's `CsrFile`. No interrupt is ever pending; there are no triggers, and no
//          registers of memory protection: an HPU's driver sets that for each task.
`default_nettype none

module hpu_csr (
    input  wire        clock,
    input  wire        reset,
    input  wire [31:0] hart,
    input  wire [11:0] number,
    input  wire [1:0]  function3,
    input  wire [31:0] operand,
    input  wire        writes,
    input  wire        commit,
    output reg  [31:0] value,
    output wire        allowed,
    input  wire        retire,
    input  wire        trap_valid,
    input  wire        trap_interrupts,
    input  wire [4:0]  trap_cause,
    input  wire [31:0] trap_value,
    input  wire [31:1] trap_pc,
    input  wire        return_valid,
    output wire [31:1] vector,
    output wire [31:1] return_pc,
    output reg         machine,
    output wire        traps_waits
);
    // RV32 with A, C, I, M and U.
    localparam [31:0] MISA = 32'h40101105;
    localparam [31:0] INTERRUPTS = 32'h888;

    reg         mie, mpie, mpp, mprv, tw;
    reg [31:8]  mtvec;
    reg [31:1]  mepc;
    reg [31:0]  mcause, mtval, mscratch, enabled;
    reg [63:0]  cycles, instructions;
    reg         counts_open, retired_open;

    reg         exists;
    wire [31:0] status = {10'd0, tw, 3'd0, mprv, 4'd0, {2{mpp}}, 3'd0, mpie, 3'd0, mie, 3'd0};
    wire [31:0] new_value = function3 == 1 ? operand
        : function3[0] ? value & ~operand : value | operand;
    wire        write = commit && writes && allowed;

    assign allowed = exists && (machine || number[9:8] == 0)
        && !(writes && number[11:10] == 3);
    assign vector = {mtvec, 7'd0};
    assign return_pc = mepc;
    assign traps_waits = tw && !machine;

    always @* begin
        exists = 1;
        value = 0;
        case (number)
            12'h300: value = status;
            12'h301: value = MISA;
            12'h304: value = enabled;
            12'h305: value = {mtvec, 8'd0};
            12'h306: value = {29'd0, retired_open, 1'b0, counts_open};
            12'h310, 12'h344, 12'h7a0, 12'h7a1, 12'h7a2, 12'h7a3: value = 0;
            12'h7a4: value = 1;
            12'h340: value = mscratch;
            12'h341: value = {mepc, 1'b0};
            12'h342: value = mcause;
            12'h343: value = mtval;
            12'hb00: value = cycles[31:0];
            12'hb02: value = instructions[31:0];
            12'hb80: value = cycles[63:32];
            12'hb82: value = instructions[63:32];
            12'hc00: {exists, value} = {machine || counts_open, cycles[31:0]};
            12'hc02: {exists, value} = {machine || retired_open, instructions[31:0]};
            12'hc80: {exists, value} = {machine || counts_open, cycles[63:32]};
            12'hc82: {exists, value} = {machine || retired_open, instructions[63:32]};
            12'hf11, 12'hf12, 12'hf13: value = 0;
            12'hf14, 12'h014: value = hart;
            12'hc10: value = {30'd0, {2{machine}}};
            default: exists = 0;
        endcase
    end

    always @(posedge clock)
        if (reset) begin
            machine <= 1;
            {mie, mpie, mpp, mprv, tw, counts_open, retired_open} <= 0;
            {mtvec, mepc, mcause, mtval, mscratch, enabled, cycles, instructions} <= 0;
        end else begin
            cycles <= cycles + 1;
            instructions <= instructions + {63'd0, retire};
            if (trap_valid) begin
                {mepc, mcause, mtval} <= {trap_pc, trap_interrupts, 26'd0, trap_cause, trap_value};
                {mpie, mie, mpp, machine} <= {mie, 1'b0, machine, 1'b1};
            end else if (return_valid) begin
                {mie, mpie, mpp, machine} <= {mpie, 1'b1, 1'b0, mpp};
                if (!mpp) mprv <= 0;
            end else if (write)
                case (number)
                    12'h300: begin
                        {mie, mpie, mprv, tw} <= {
                            new_value[3], new_value[7], new_value[17], new_value[21]
                        };
                        if (new_value[12] == new_value[11]) mpp <= new_value[11];
                    end
                    12'h304: enabled <= new_value & INTERRUPTS;
                    12'h305: mtvec <= new_value[31:8];
                    12'h306: {retired_open, counts_open} <= {new_value[2], new_value[0]};
                    12'h340: mscratch <= new_value;
                    12'h341: mepc <= new_value[31:1];
                    12'h342: mcause <= new_value;
                    12'h343: mtval <= new_value;
                    12'hb00: cycles <= {cycles[63:32], new_value} + 1;
                    12'hb02: instructions <= {instructions[63:32], new_value};
                    12'hb80: cycles <= {new_value, cycles[31:0] + 1'b1};
                    12'hb82: instructions <= {new_value, instructions[31:0]};
                    default: ;
                endcase
        end
endmodule

`default_nettype wire
