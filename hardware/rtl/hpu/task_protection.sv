// task_protection: the entries of an HPU's memory protection for a task.
//
// In:      addresses of the task's packet in L1, of its handler and handler memory; its packet in L2, by its
//          first byte and the one behind its last.
// Out:     entries for memory_protection: program memory may be read and executed; all L1, the peripherals,
//          the output device, the packet's page in L1, the packet in L2, a MiB around the handler memory and
//          64 KiB of L2, where the program's data lie, may be read and written.
// Latency: none, it is combinational.
// Source:  RTL hpu_driver: this grants more than the paper intends (section III-B2); the model's
//          `protection.pmp` has both, and calls this one `rtl`.
`default_nettype none

module task_protection (
    input  wire [31:0]     l1_packet,
    input  wire [31:0]     l2_first,
    input  wire [31:0]     l2_end,
    input  wire [31:0]     handler_memory,
    output wire [32*9-1:0] entry_addresses,
    output wire [8*9-1:0]  entry_configs
);
    // Modes of an entry, what it grants, and the words of ranges that are powers of two.
    localparam [7:0] OFF = 8'h00, TO_TOP = 8'h0b, RANGE = 8'h1b, CODE = 8'h1d;
    localparam [31:0] PAGE = 32'h1ff, RANGE_64K = 32'h1fff, MIB = 32'h1ffff, ALL = 32'h1fffff;

    assign entry_addresses = {
        (32'h1c000000 >> 2) | RANGE_64K,
        {2'b0, handler_memory[31:20], 18'd0} | MIB,
        {2'b0, l1_packet[31:12], 10'd0} | PAGE,
        (32'h1a104000 >> 2) | PAGE,
        (32'h1b000000 >> 2) | ALL,
        (32'h10000000 >> 2) | ALL,
        (32'h1d000000 >> 2) | MIB,
        {2'b0, l2_end[31:2]} + {31'd0, l2_end[1:0] != 0},
        {2'b0, l2_first[31:2]}
    };
    assign entry_configs = {RANGE, RANGE, RANGE, RANGE, RANGE, RANGE, CODE, TO_TOP, OFF};

    wire _unused = &{1'b0, l1_packet[11:0], l2_first[1:0], handler_memory[19:0]};
endmodule

`default_nettype wire
