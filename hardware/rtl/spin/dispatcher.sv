// dispatcher: chooses the cluster of each task.
//
// In:      tasks from the MPQ engine with their home cluster, which is the number of their queue modulo
//          the clusters; `cluster_ready`: whether each cluster takes a task in this cycle; completions with their cluster.
// Out:     `cluster_valid`: the cluster that gets the task in this cycle, at most one;
//          `cluster_task`: the task. `state_occupancy`: tasks in each cluster, the lowest first.
// Latency: none from task to cluster. A completion counts from the next cycle on.
// How:     the home cluster while it is ready and has fewer
//          than HERS_PER_CLUSTER tasks; else the ready cluster with the fewest, the lowest among
//          equals; with none the task waits.
// Source:  PsPIN paper, section III-B1; the model's `Dispatcher`.
`default_nettype none

module dispatcher #(
    // Clusters; a power of two, at least 2.
    parameter integer CLUSTERS = 4,
    // Tasks that a cluster holds: those that wait and those that run.
    parameter integer HERS_PER_CLUSTER = 20,
    parameter integer TASK_BITS = 32
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire                        task_valid,
    output wire                        task_ready,
    input  wire [$clog2(CLUSTERS)-1:0] task_home,
    input  wire [TASK_BITS-1:0]        task_data,
    output wire [CLUSTERS-1:0]         cluster_valid,
    input  wire [CLUSTERS-1:0]         cluster_ready,
    output wire [TASK_BITS-1:0]        cluster_task,
    input  wire                        completion_valid,
    input  wire [$clog2(CLUSTERS)-1:0] completion_cluster,
    output wire [CLUSTERS*$clog2(HERS_PER_CLUSTER+1)-1:0] state_occupancy
);
    localparam integer CLUSTER = $clog2(CLUSTERS);
    localparam integer LEVEL = $clog2(HERS_PER_CLUSTER + 1);
    localparam [LEVEL-1:0] LIMIT = LEVEL'(HERS_PER_CLUSTER);

    reg [CLUSTERS*LEVEL-1:0] occupancy;

    wire [CLUSTERS-1:0] takes;

    // The least occupied of those that take it, the lowest among equals.
    reg [CLUSTER-1:0] least;
    reg [LEVEL-1:0]   least_level;
    integer           candidate;
    always @* begin
        least = 0;
        least_level = {LEVEL{1'b1}};
        for (candidate = CLUSTERS - 1; candidate >= 0; candidate = candidate - 1)
            if (takes[candidate] && occupancy[candidate*LEVEL +: LEVEL] <= least_level) begin
                least = CLUSTER'(candidate);
                least_level = occupancy[candidate*LEVEL +: LEVEL];
            end
    end

    wire [CLUSTER-1:0] chosen = takes[task_home] ? task_home : least;

    assign task_ready = |takes;
    assign cluster_task = task_data;
    assign state_occupancy = occupancy;

    genvar cluster;
    generate
        for (cluster = 0; cluster < CLUSTERS; cluster = cluster + 1) begin : by_cluster
            localparam [CLUSTER-1:0] OWN = CLUSTER'(cluster);
            wire [LEVEL-1:0] level = occupancy[cluster*LEVEL +: LEVEL];
            wire leaves = completion_valid && completion_cluster == OWN;
            assign takes[cluster] = cluster_ready[cluster] && level < LIMIT;
            assign cluster_valid[cluster] = task_valid && task_ready && chosen == OWN;
            always @(posedge clock)
                if (reset) occupancy[cluster*LEVEL +: LEVEL] <= 0;
                else if (cluster_valid[cluster] && !leaves)
                    occupancy[cluster*LEVEL +: LEVEL] <= level + 1'b1;
                else if (leaves && !cluster_valid[cluster])
                    occupancy[cluster*LEVEL +: LEVEL] <= level - 1'b1;
        end
    endgenerate
endmodule

`default_nettype wire
