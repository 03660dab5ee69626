// memory_protection: whether an access of an HPU's core is allowed (PMP).
//
// In:      the entries, as RISC-V's pmpaddr (in words) and pmpcfg have them; an access's first byte, its
//          bytes (1, 2 or 4) and what it does; `user_mode`.
// Out:     `allowed`.
// Latency: none, it is combinational.
// How:     the lowest entry that covers any byte of the access decides, and must cover all of them; where none
//          does, machine mode may and user mode may not. Machine mode is bound by locked entries alone.
// Source:  RISC-V privileged specification, section 3.7; PsPIN paper, section III-B2: the HPU's driver sets the
//          entries for each task. The model's `Pmp`.
`default_nettype none

module memory_protection #(
    parameter integer ENTRIES = 16
) (
    input  wire [32*ENTRIES-1:0] entry_addresses,
    input  wire [8*ENTRIES-1:0]  entry_configs,
    input  wire [31:0]           first,
    input  wire [2:0]            bytes,
    input  wire                  reads,
    input  wire                  writes,
    input  wire                  executes,
    input  wire                  user_mode,
    output reg                   allowed
);
    localparam [1:0] OFF = 0, TOP_OF_RANGE = 1, WORD = 2;

    // The access lies in one word, or in two.
    wire [32:0] last = {1'b0, first} + {30'd0, bytes} - 33'd1;
    wire [30:0] first_word = {1'b0, first[31:2]};
    wire [30:0] last_word = last[32:2];

    wire [ENTRIES-1:0] below_first, below_last, covers_first, covers_last, permits;
    genvar entry;
    generate
        for (entry = 0; entry < ENTRIES; entry = entry + 1) begin : by_entry
            wire [7:0]  config_byte = entry_configs[8*entry +: 8];
            wire [1:0]  mode = config_byte[4:3];
            wire [31:0] address = entry_addresses[32*entry +: 32];
            // From the entry below to this one.
            wire        lower_first, lower_last;
            if (entry == 0) begin : lowest
                assign {lower_first, lower_last} = 0;
            end else begin : above
                assign {lower_first, lower_last} = {below_first[entry - 1], below_last[entry - 1]};
            end
            assign below_first[entry] = {1'b0, first_word} < address;
            assign below_last[entry] = {1'b0, last_word} < address;
            // The trailing ones and the zero above them say how large a power of two is.
            wire [31:0] free = mode == WORD ? 32'd0 : address ^ (address + 1'b1);
            wire        first_alike = (({1'b0, first_word} ^ address) & ~free) == 0;
            wire        last_alike = (({1'b0, last_word} ^ address) & ~free) == 0;
            assign covers_first[entry] = mode == OFF ? 1'b0
                : mode == TOP_OF_RANGE ? below_first[entry] && !lower_first
                : first_alike;
            assign covers_last[entry] = mode == OFF ? 1'b0
                : mode == TOP_OF_RANGE ? below_last[entry] && !lower_last
                : last_alike;
            // To write without reading is reserved, and means neither.
            wire        may = (config_byte[0] || !reads)
                && ((config_byte[1] && config_byte[0]) || !writes) && (config_byte[2] || !executes);
            assign permits[entry] = may || (!user_mode && !config_byte[7]);
            wire        _unused = &{1'b0, config_byte[6:5]};
        end
    endgenerate

    integer place;
    always @* begin
        allowed = !user_mode;
        for (place = ENTRIES - 1; place >= 0; place = place - 1)
            if (covers_first[place] || covers_last[place])
                allowed = covers_first[place] && covers_last[place] && permits[place];
    end

    wire _unused = &{1'b0, last[1:0]};
endmodule

`default_nettype wire
