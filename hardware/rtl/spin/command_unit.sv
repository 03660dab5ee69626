// command_unit: whose command goes to an interface: words for the host, sends, copies.
//
// In:      of each cluster whether it has a command, and for which interface (`cluster_kind` 0 words, 1 sends, 2
//          copies); whether each interface takes one; `done_valid`: what is done in this cycle (0 words, 1 sends, 2
//          copies to the host, 3 copies from it).
// Out:     of each interface whether a command comes, and whose (`interface_cluster`); `cluster_ready`: it is taken.
// Latency: none; a place at an interface is there again TURNAROUND cycles after what had it is done.
// How:     each interface has a round robin of its own over the clusters; one that was chosen stays so until its command
//          is taken. An interface has IN_FLIGHT commands at most. What a command says goes past it: see
//          command_words; who is answered: command_answers.
// Source:  PsPIN paper, section III-B2; RTL cmd_unit; the model's `CommandUnit`.
`default_nettype none

module command_unit #(
    // cluster.count; a power of two, at least 2.
    parameter integer CLUSTERS = 4,
    // command.per_interface, command.slot_turnaround_cycles (at least 1).
    parameter integer IN_FLIGHT = 7,
    parameter integer TURNAROUND = 2
) (
    input  wire                          clock,
    input  wire                          reset,
    input  wire [CLUSTERS-1:0]           cluster_valid,
    input  wire [CLUSTERS*2-1:0]         cluster_kind,
    input  wire [2:0]                    interface_ready,
    input  wire [3:0]                    done_valid,
    output wire [CLUSTERS-1:0]           cluster_ready,
    output wire [2:0]                    interface_valid,
    output wire [3*$clog2(CLUSTERS)-1:0] interface_cluster,
    output wire [3*$clog2(IN_FLIGHT+1)-1:0] state_in_flight
);
    localparam integer CLUSTER = $clog2(CLUSTERS);
    localparam integer COUNT = $clog2(IN_FLIGHT + 1);

    // What is done, by how many cycles ago; the oldest frees its place with the next cycle.
    wire [4*TURNAROUND-1:0] done;
    assign done[3:0] = done_valid;
    generate
        if (TURNAROUND > 1) begin : by_age
            reg [4*(TURNAROUND-1)-1:0] earlier;
            always @(posedge clock) earlier <= reset ? 0 : done[4*(TURNAROUND-1)-1:0];
            assign done[4*TURNAROUND-1:4] = earlier;
        end
    endgenerate
    wire [3:0] frees = done[4*TURNAROUND-1 -: 4];

    wire [3*CLUSTERS-1:0] takes;
    genvar one, place;
    generate
        for (one = 0; one < 3; one = one + 1) begin : by_interface
            localparam [1:0] OWN = one;
            reg  [COUNT-1:0]    in_flight;
            wire [CLUSTERS-1:0] asks;
            wire                any;
            wire [CLUSTER-1:0]  chosen;
            /* verilator lint_off UNUSEDSIGNAL */
            wire [CLUSTER-1:0]  pointer;
            /* verilator lint_on UNUSEDSIGNAL */
            wire                free = in_flight != COUNT'(IN_FLIGHT);
            wire                begins = any && free && interface_ready[one];
            for (place = 0; place < CLUSTERS; place = place + 1) begin : by_place
                assign asks[place] = cluster_valid[place] && cluster_kind[2*place +: 2] == OWN;
            end
            round_robin #(.COUNT(CLUSTERS), .LOCK(1)) choose (
                .clock(clock), .reset(reset), .requests(asks), .advance(begins), .any(any),
                .grant(chosen), .state_pointer(pointer)
            );
            assign interface_valid[one] = any && free;
            assign interface_cluster[CLUSTER*one +: CLUSTER] = chosen;
            assign takes[CLUSTERS*one +: CLUSTERS] = begins ? CLUSTERS'(1) << chosen : 0;
            assign state_in_flight[COUNT*one +: COUNT] = in_flight;
            wire ends_second = one == 2 && frees[3];
            always @(posedge clock)
                if (reset) in_flight <= 0;
                else in_flight <= in_flight + COUNT'(begins) - COUNT'(frees[one]) - COUNT'(ends_second);
        end
    endgenerate
    assign cluster_ready = takes[0 +: CLUSTERS] | takes[CLUSTERS +: CLUSTERS] | takes[2*CLUSTERS +: CLUSTERS];
endmodule

`default_nettype wire
