// event_unit: a cluster's cores sleep until another wakes them, as far as booting needs it.
//
// In:      of each core an access to its private registers, by word: mask 00, and 04, or 08, buffer 1c, masked
//          20, clear 28, dispatch 80, team 84.
// Out:     `ready`: it is done in this cycle; the read of `dispatch` waits for the event; `answer` in the next.
// Latency: a write is seen in the next cycle.
// Source:  RTL event_unit_flex, in the reference's words; the model's `EventUnit`.
`default_nettype none

module event_unit #(
    parameter integer CORES = 2
) (
    input  wire                clock,
    input  wire                reset,
    input  wire [CORES-1:0]    valid,
    output wire [CORES-1:0]    ready,
    input  wire [CORES-1:0]    write,
    input  wire [CORES*6-1:0]  offset,
    input  wire [CORES*32-1:0] data,
    output wire [CORES*32-1:0] answer
);
    localparam [5:0] MASK = 6'h00, MASK_AND = 6'h01, MASK_OR = 6'h02, BUFFER = 6'h07, MASKED = 6'h08, CLEAR = 6'h0a,
        DISPATCH = 6'h20, TEAM = 6'h21;
    localparam integer EVENT = 18;

    reg [CORES-1:0] team;
    reg [31:0]      value;
    // Who dispatches in this cycle, and what: the highest of them.
    reg             dispatches;
    reg [31:0]      dispatched;
    reg [CORES-1:0] new_team;
    integer         one;
    always @* begin
        dispatches = 0;
        dispatched = value;
        new_team = team;
        for (one = 0; one < CORES; one = one + 1)
            if (valid[one] && write[one]) begin
                if (offset[6*one +: 6] == DISPATCH) {dispatches, dispatched} = {1'b1, data[32*one +: 32]};
                if (offset[6*one +: 6] == TEAM) new_team = data[32*one +: CORES];
            end
    end
    always @(posedge clock)
        if (reset) {team, value} <= 0;
        else {team, value} <= {new_team, dispatched};

    genvar core;
    generate
        for (core = 0; core < CORES; core = core + 1) begin : by_core
            wire [5:0]  place = offset[6*core +: 6];
            wire [31:0] written = data[32*core +: 32];
            wire        writes = valid[core] && write[core];
            reg  [31:0] mask, buffer, found;
            wire        takes = valid[core] && !write[core] && place == DISPATCH && ready[core];
            wire [31:0] kept = (writes && place == CLEAR) ? buffer & ~written : buffer;
            assign ready[core] = write[core] || place != DISPATCH || (mask & buffer) != 0;
            assign answer[32*core +: 32] = found;
            always @(posedge clock) begin
                case (place)
                    MASK: found <= mask;
                    BUFFER: found <= buffer;
                    MASKED: found <= mask & buffer;
                    DISPATCH: found <= value;
                    TEAM: found <= 32'(team);
                    default: found <= 0;
                endcase
                if (reset) {mask, buffer} <= 0;
                else begin
                    if (writes && place == MASK) mask <= written;
                    if (writes && place == MASK_AND) mask <= mask & ~written;
                    if (writes && place == MASK_OR) mask <= mask | written;
                    buffer <= kept;
                    if (takes) buffer[EVENT] <= 0;
                    if (dispatches && team[core]) buffer[EVENT] <= 1;
                end
            end
        end
    endgenerate
endmodule

`default_nettype wire
