// What the command answers promise: each tag that is taken reaches its HPU, with its id, two cycles later, and nobody else
// is told anything; one is taken in every cycle in which there is one, and nobody waits for more than two others.
module command_answers_proof #(
    parameter integer HPUS = 4,
    parameter integer COMMANDS = 2,
    parameter integer TAG_BITS = 3
) (
    input wire                  clock,
    input wire                  reset,
    input wire [3:0]            done_valid,
    input wire [4*TAG_BITS-1:0] done_tag
);
    wire [3:0]      done_ready;
    wire [HPUS-1:0] response;
    wire            id;
    command_answers #(.HPUS(HPUS), .COMMANDS(COMMANDS)) unit (
        .clock(clock), .reset(reset), .done_valid(done_valid), .done_ready(done_ready),
        .done_tag(done_tag), .response_valid(response), .response_id(id)
    );
    reg begun = 0;
    // Cycles in which words, sends, or copies have waited.
    reg [5:0] waited = 0;
    reg [1:0] was = 0;
    reg [2*TAG_BITS-1:0] tags = 0;
    wire [3:0] taken = done_valid & done_ready;
    wire [TAG_BITS-1:0] now = taken[0] ? done_tag[0 +: TAG_BITS] : taken[1] ? done_tag[TAG_BITS +: TAG_BITS]
        : taken[2] ? done_tag[2*TAG_BITS +: TAG_BITS] : done_tag[3*TAG_BITS +: TAG_BITS];
    wire [TAG_BITS-1:0] tag = tags[TAG_BITS +: TAG_BITS];
    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        was <= reset ? 0 : {was[0], taken != 0};
        tags <= {tags[TAG_BITS-1:0], now};
        if (begun) begin
            one_in_a_cycle: assert ((taken != 0) == (done_valid != 0) && (taken & (taken - 1'b1)) == 0);
            reaches: assert (response == (was[1] ? 4'd1 << tag[2:1] : 4'd0));
            its_id: assert (!was[1] || id == tag[0]);
            by_turns: assert (waited[1:0] < 3 && waited[3:2] < 3 && waited[5:4] < 3);
        end
        waited[1:0] <= reset || !done_valid[0] || taken[0] ? 0 : waited[1:0] + 1'b1;
        waited[3:2] <= reset || !done_valid[1] || taken[1] ? 0 : waited[3:2] + 1'b1;
        waited[5:4] <= reset || done_valid[3:2] == 0 || taken[3:2] != 0 ? 0 : waited[5:4] + 1'b1;
    end
endmodule
