// What the command unit promises: a command goes to the interface that its words name, whole, once it is taken; never
// more than so many are under way at an interface; each answer reaches its HPU, and nobody else, two cycles later.
module command_unit_proof #(
    parameter integer CLUSTERS = 2,
    parameter integer CORES = 2,
    parameter integer COMMANDS = 2,
    parameter integer IN_FLIGHT = 2,
    parameter integer TAG_BITS = 3
) (
    input wire                   clock,
    input wire                   reset,
    input wire [CLUSTERS-1:0]    valid,
    input wire [CLUSTERS-1:0]    core,
    input wire [CLUSTERS-1:0]    id,
    input wire [CLUSTERS*3-1:0]  info,
    input wire [CLUSTERS*224-1:0] words,
    input wire [2:0]             command_ready,
    input wire [3:0]             done_valid,
    input wire [4*TAG_BITS-1:0]  done_tag
);
    wire [CLUSTERS-1:0]          ready;
    wire [2:0]                   command_valid;
    wire [TAG_BITS-1:0]          tag;
    wire [63:0]                  host, data;
    wire [31:0]                  nic;
    wire [21:0]                  bytes;
    wire                         to_host, response_id;
    wire [3:0]                   done_ready;
    wire [CLUSTERS*CORES-1:0]    response;
    command_unit #(
        .CLUSTERS(CLUSTERS), .CORES(CORES), .COMMANDS(COMMANDS), .IN_FLIGHT(IN_FLIGHT)
    ) unit (
        .clock(clock), .reset(reset), .cluster_valid(valid), .cluster_ready(ready), .cluster_core(core),
        .cluster_id(id), .cluster_info(info), .cluster_words(words), .command_valid(command_valid),
        .command_ready(command_ready), .command_tag(tag), .command_host(host), .command_nic(nic),
        .command_bytes(bytes), .command_to_host(to_host), .command_data(data),
        .done_valid(done_valid), .done_ready(done_ready), .done_tag(done_tag),
        .response_valid(response), .response_id(response_id)
    );

    reg begun = 0;
    // Commands under way at each interface, as seen from outside: until the answer has reached the HPU.
    reg [3:0] words_away = 0, sends_away = 0, copies_away = 0;
    reg [3:0] done_1 = 0, done_2 = 0;
    reg [TAG_BITS-1:0] tag_1 = 0, tag_2 = 0;
    wire [3:0] done = done_valid & done_ready;
    wire [TAG_BITS-1:0] tag_now = done[0] ? done_tag[0 +: TAG_BITS] : done[1] ? done_tag[TAG_BITS +: TAG_BITS]
        : done[2] ? done_tag[2*TAG_BITS +: TAG_BITS] : done_tag[3*TAG_BITS +: TAG_BITS];
    wire taken = (command_valid & command_ready) != 0;
    // Whose it is.
    wire own = tag[2];
    wire [2:0] own_info = info[3*own +: 3];
    wire [223:0] own_words = words[224*own +: 224];
    wire [31:0] size = own_info[2:1] == 0 ? own_words[127:96] : own_words[159:128];
    wire is_copy = own_info[2:1] == 0 && size != 0;
    wire is_send = own_info[2:1] == 1 && size != 0;

    // Whoever offers a command does so until it is taken.
    reg [CLUSTERS-1:0]     waited = 0, core_before = 0, id_before = 0;
    reg [CLUSTERS*3-1:0]   info_before = 0;
    reg [CLUSTERS*224-1:0] words_before = 0;
    genvar cluster;
    generate
        for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : by_cluster
            always @(posedge clock)
                if (waited[cluster])
                    assume (valid[cluster] && core[cluster] == core_before[cluster]
                        && id[cluster] == id_before[cluster]
                        && info[3*cluster +: 3] == info_before[3*cluster +: 3]
                        && words[224*cluster +: 224] == words_before[224*cluster +: 224]);
        end
    endgenerate

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        waited <= reset ? 0 : valid & ~ready;
        {core_before, id_before, info_before, words_before} <= {core, id, info, words};
        {tag_2, tag_1} <= {tag_1, tag_now};
        {done_2, done_1} <= reset ? 8'd0 : {done_1, done};
        if (begun) begin
            // Interfaces answer what they have, once.
            assume (!done_valid[0] || words_away > 4'(done_1[0]) + 4'(done_2[0]));
            assume (!done_valid[1] || sends_away > 4'(done_1[1]) + 4'(done_2[1]));
            assume (!(done_valid[2] || done_valid[3])
                || copies_away > 4'(done_1[2] || done_1[3]) + 4'(done_2[2] || done_2[3]));
            words_away <= words_away + (command_valid[0] && command_ready[0]) - done_2[0];
            sends_away <= sends_away + (command_valid[1] && command_ready[1]) - done_2[1];
            copies_away <= copies_away + (command_valid[2] && command_ready[2]) - (done_2[2] || done_2[3]);
            bounds: assert (words_away <= IN_FLIGHT && sends_away <= IN_FLIGHT && copies_away <= IN_FLIGHT);
            one_at_a_time: assert ((command_valid & (command_valid - 1'b1)) == 0);
            takes_one: assert (ready == (taken ? 2'd1 << own : 2'd0));
            if (command_valid != 0) begin
                its_interface: assert (command_valid == (is_copy ? 3'b100 : is_send ? 3'b010 : 3'b001));
                its_core: assert (valid[own] && tag[1:0] == {core[own], id[own]});
                its_words: assert (host == own_words[63:0] && nic == own_words[95:64]);
                its_bytes: assert (bytes == (is_copy || is_send ? size[21:0]
                    : own_info[2:1] == 2 ? {18'd0, own_words[68:65]} : 22'd0));
            end
            answers: assert (response == (done_2 != 0 ? 4'd1 << tag_2[2:1] : 4'd0));
            if (done_2 != 0) its_id: assert (response_id == tag_2[0]);
            if (done_valid != 0) moves_on: assert (done != 0 && (done & (done - 1'b1)) == 0);
        end
    end
endmodule
