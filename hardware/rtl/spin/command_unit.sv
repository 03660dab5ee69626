// command_unit: commands of all clusters, each handed to its interface, and the answers back.
//
// In:      of each cluster a command, with its core and id; of each interface (0 words for the host, 1 sends, 2
//          copies to the host, 3 copies from it) the tags of what is done.
// Out:     one command in a cycle to an interface that has fewer than IN_FLIGHT; `response_valid`, with id.
// Latency: none to the interface; two cycles from an interface's answer to the HPU.
// How:     round robin over the clusters; a command that was chosen stays so until its interface takes it. One
//          answer a cycle, words before sends before copies. A command of no known kind or of no bytes is a word
//          of none.
// Source:  PsPIN paper, section III-B2; the commands' words as published; the model's `CommandUnit`.
`default_nettype none

module command_unit #(
    // Powers of two, at least 2 (of clusters, at least 1).
    parameter integer CLUSTERS = 1,
    parameter integer CORES = 2,
    parameter integer COMMANDS = 4,
    // command.per_interface.
    parameter integer IN_FLIGHT = 7,
    parameter integer TAG_BITS = $clog2(CLUSTERS*CORES*COMMANDS)
) (
    input  wire                               clock,
    input  wire                               reset,
    input  wire [CLUSTERS-1:0]                cluster_valid,
    output wire [CLUSTERS-1:0]                cluster_ready,
    input  wire [CLUSTERS*$clog2(CORES)-1:0]  cluster_core,
    input  wire [CLUSTERS*$clog2(COMMANDS)-1:0] cluster_id,
    input  wire [CLUSTERS*3-1:0]              cluster_info,
    input  wire [CLUSTERS*224-1:0]            cluster_words,
    // Of words, sends, copies.
    output wire [2:0]                         command_valid,
    input  wire [2:0]                         command_ready,
    output wire [TAG_BITS-1:0]                command_tag,
    output wire [63:0]                        command_host,
    output wire [31:0]                        command_nic,
    output wire [21:0]                        command_bytes,
    output wire                               command_to_host,
    output wire [63:0]                        command_data,
    input  wire [3:0]                         done_valid,
    output wire [3:0]                         done_ready,
    input  wire [4*TAG_BITS-1:0]              done_tag,
    output wire [CLUSTERS*CORES-1:0]          response_valid,
    output wire [$clog2(COMMANDS)-1:0]        response_id
);
    localparam integer CORE = $clog2(CORES);
    localparam integer ID = $clog2(COMMANDS);
    // At least two places.
    localparam integer PLACES = CLUSTERS > 1 ? CLUSTERS : 2;
    localparam integer CLUSTER = $clog2(PLACES);
    localparam [1:0] COPY = 0, SEND = 1, WORD = 2;

    wire                any;
    wire [CLUSTER-1:0]  chosen;
    /* verilator lint_off UNUSEDSIGNAL */
    wire [CLUSTER-1:0]  pointer;
    wire [PLACES*CORE-1:0] cores = (PLACES*CORE)'(cluster_core);
    wire [PLACES*ID-1:0]   ids = (PLACES*ID)'(cluster_id);
    wire [PLACES*3-1:0]    infos = (PLACES*3)'(cluster_info);
    wire [PLACES*224-1:0]  all_words = (PLACES*224)'(cluster_words);
    wire [CLUSTER+CORE+ID-1:0] whole_tag = {chosen, cores[chosen*CORE +: CORE], ids[chosen*ID +: ID]};
    /* verilator lint_on UNUSEDSIGNAL */
    wire                takes;
    round_robin #(.COUNT(PLACES), .LOCK(1)) choose (
        .clock(clock), .reset(reset), .requests(PLACES'(cluster_valid)), .advance(takes), .any(any),
        .grant(chosen), .state_pointer(pointer)
    );
    wire [1:0]   info = infos[chosen*3 + 1 +: 2];
    wire [223:0] words = all_words[chosen*224 +: 224];
    wire [31:0]  size = info == COPY ? words[3*32 +: 32] : words[4*32 +: 32];
    wire         is_word = info[1] || size == 0;
    wire         is_send = !is_word && info == SEND;

    // Commands under way, by interface: words, sends, copies.
    reg  [11:0] under_way;
    localparam [3:0] MOST = 4'(IN_FLIGHT);
    wire [2:0]  free = {under_way[8 +: 4] < MOST, under_way[4 +: 4] < MOST, under_way[0 +: 4] < MOST};
    wire [2:0]  kind = is_word ? 3'b001 : is_send ? 3'b010 : 3'b100;
    assign command_valid = any ? kind & free : 0;
    assign takes = (command_valid & command_ready) != 0;
    assign cluster_ready = takes ? CLUSTERS'(1) << chosen : 0;
    assign command_tag = whole_tag[TAG_BITS-1:0];
    assign command_host = {words[32 +: 32], words[0 +: 32]};
    assign command_nic = words[2*32 +: 32];
    assign command_bytes = !is_word ? size[21:0] : info == WORD ? {18'd0, words[2*32 + 1 +: 4]} : 0;
    assign command_to_host = words[4*32];
    assign command_data = {words[4*32 +: 32], words[3*32 +: 32]};

    // Answers.
    wire                any_done;
    wire [1:0]          done_kind;
    first_one #(.COUNT(4)) choose_done (.bits(done_valid), .any(any_done), .index(done_kind));
    assign done_ready = any_done ? 4'd1 << done_kind : 0;
    reg  [1:0]          answers;
    reg  [2*TAG_BITS-1:0] tags;
    reg  [3:0]          kinds;
    wire [TAG_BITS-1:0] tag = tags[2*TAG_BITS-1 -: TAG_BITS];
    always @(posedge clock) begin
        answers <= reset ? 0 : {answers[0], any_done};
        tags <= {tags[TAG_BITS-1:0], done_tag[done_kind*TAG_BITS +: TAG_BITS]};
        kinds <= {kinds[1:0], done_kind};
    end
    assign response_valid = answers[1] ? (CLUSTERS*CORES)'(1) << tag[TAG_BITS-1:ID] : 0;
    assign response_id = tag[ID-1:0];

    genvar one;
    generate
        for (one = 0; one < 3; one = one + 1) begin : by_interface
            wire begins = command_valid[one] && command_ready[one];
            wire ends = answers[1] && (kinds[3:2] == 2'(one) || (one == 2 && kinds[3:2] == 3));
            always @(posedge clock)
                if (reset) under_way[4*one +: 4] <= 0;
                else under_way[4*one +: 4] <= under_way[4*one +: 4] + 4'(begins) - 4'(ends);
        end
    endgenerate

    wire _unused = &{1'b0, words, size[31:22]};
endmodule

`default_nettype wire
