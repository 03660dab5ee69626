// command_answers: tells HPUs which of their commands is done.
//
// In:      of each interface (0 words for the host, 1 sends, 2 copies to the host, 3 copies from it) the tag of what
//          is done.
// Out:     `response_valid`, a bit for each HPU, with the command's id.
// Latency: two cycles.
// How:     one answer a cycle, of words, sends and copies by turns, copies to the host before those from it; the others
//          wait. A tag is the HPU's number and the command's id.
// Source:  PsPIN paper, section III-B2; RTL cmd_unit; the model's `CommandUnit::answer`.
`default_nettype none

module command_answers #(
    parameter integer HPUS = 2,
    parameter integer COMMANDS = 4,
    parameter integer TAG_BITS = $clog2(HPUS*COMMANDS)
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire [3:0]                  done_valid,
    output wire [3:0]                  done_ready,
    input  wire [4*TAG_BITS-1:0]       done_tag,
    output wire [HPUS-1:0]             response_valid,
    output wire [$clog2(COMMANDS)-1:0] response_id
);
    localparam integer ID = $clog2(COMMANDS);

    wire                  any;
    wire [1:0]            turn;
    wire [1:0]            chosen = turn == 2 && !done_valid[2] ? 2'd3 : turn;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [1:0]            pointer;
    /* verilator lint_on UNUSEDSIGNAL */
    round_robin #(.COUNT(4)) choose (
        .clock(clock), .reset(reset), .requests({1'b0, |done_valid[3:2], done_valid[1:0]}), .advance(any),
        .any(any), .grant(turn), .state_pointer(pointer)
    );
    assign done_ready = any ? 4'd1 << chosen : 0;
    reg  [1:0]            waits;
    reg  [2*TAG_BITS-1:0] tags;
    wire [TAG_BITS-1:0]   tag = tags[2*TAG_BITS-1 -: TAG_BITS];
    always @(posedge clock) begin
        waits <= reset ? 0 : {waits[0], any};
        tags <= {tags[TAG_BITS-1:0], done_tag[chosen*TAG_BITS +: TAG_BITS]};
    end
    assign response_valid = waits[1] ? HPUS'(1) << tag[TAG_BITS-1:ID] : 0;
    assign response_id = tag[ID-1:0];
endmodule

`default_nettype wire
