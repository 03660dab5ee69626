// command_path: commands of all clusters, each handed to its interface, and the answers back.
//
// In:      of each cluster a command, with its core and id, see command_words; of each interface (0 words for the host, 1
//          sends, 2 copies to the host, 3 copies from it) the tags of what is done.
// Out:     commands to the interfaces (0 words, 1 sends, 2 copies), with what they say and a tag; `response_valid`, with id.
// Latency: none to the interface; two cycles from an interface's answer to the HPU.
// How:     see command_unit and command_answers.
// Source:  PsPIN paper, section III-B2; the model's `CommandUnit`.
`default_nettype none

module command_path #(
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
    output wire [2:0]                         command_valid,
    input  wire [2:0]                         command_ready,
    output wire [3*TAG_BITS-1:0]              command_tag,
    output wire [3*64-1:0]                    command_host,
    output wire [3*32-1:0]                    command_nic,
    output wire [3*22-1:0]                    command_bytes,
    output wire [2:0]                         command_to_host,
    output wire [3*64-1:0]                    command_data,
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

    /* verilator lint_off UNUSEDSIGNAL */
    wire [PLACES*CORE-1:0] cores = (PLACES*CORE)'(cluster_core);
    wire [PLACES*ID-1:0]   ids = (PLACES*ID)'(cluster_id);
    wire [PLACES*3-1:0]    infos = (PLACES*3)'(cluster_info);
    wire [PLACES*224-1:0]  all_words = (PLACES*224)'(cluster_words);
    wire [PLACES-1:0]      takes;
    wire [3*$clog2(IN_FLIGHT+1)-1:0] in_flight;
    /* verilator lint_on UNUSEDSIGNAL */
    wire [2*PLACES-1:0]    kinds;
    wire [3*CLUSTER-1:0]   chosen;
    command_unit #(.CLUSTERS(PLACES), .IN_FLIGHT(IN_FLIGHT)) unit (
        .clock(clock), .reset(reset), .cluster_valid(PLACES'(cluster_valid)), .cluster_kind(kinds),
        .interface_ready(command_ready), .done_valid(done_valid & done_ready), .cluster_ready(takes),
        .interface_valid(command_valid), .interface_cluster(chosen), .state_in_flight(in_flight)
    );
    assign cluster_ready = takes[CLUSTERS-1:0];

    genvar one;
    generate
        for (one = 0; one < PLACES; one = one + 1) begin : by_cluster
            /* verilator lint_off UNUSEDSIGNAL */
            wire [63:0] own_host, own_data;
            wire [31:0] own_nic;
            wire [21:0] own_bytes;
            wire        own_to_host;
            /* verilator lint_on UNUSEDSIGNAL */
            command_words offered (
                .info(infos[3*one + 1 +: 2]), .words(all_words[224*one +: 224]), .kind(kinds[2*one +: 2]),
                .host(own_host), .nic(own_nic), .bytes(own_bytes), .to_host(own_to_host), .data(own_data)
            );
        end
        for (one = 0; one < 3; one = one + 1) begin : by_interface
            wire [CLUSTER-1:0] its = chosen[CLUSTER*one +: CLUSTER];
            /* verilator lint_off UNUSEDSIGNAL */
            wire [CLUSTER+CORE+ID-1:0] tag = {its, cores[CORE*its +: CORE], ids[ID*its +: ID]};
            wire [1:0]         its_kind;
            /* verilator lint_on UNUSEDSIGNAL */
            assign command_tag[TAG_BITS*one +: TAG_BITS] = tag[TAG_BITS-1:0];
            command_words said (
                .info(infos[3*its + 1 +: 2]), .words(all_words[224*its +: 224]), .kind(its_kind),
                .host(command_host[64*one +: 64]), .nic(command_nic[32*one +: 32]),
                .bytes(command_bytes[22*one +: 22]), .to_host(command_to_host[one]),
                .data(command_data[64*one +: 64])
            );
        end
    endgenerate

    command_answers #(.HPUS(CLUSTERS*CORES), .COMMANDS(COMMANDS)) answer (
        .clock(clock), .reset(reset), .done_valid(done_valid), .done_ready(done_ready),
        .done_tag(done_tag), .response_valid(response_valid), .response_id(response_id)
    );
endmodule

`default_nettype wire
