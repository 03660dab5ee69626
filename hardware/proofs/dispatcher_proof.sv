// What the dispatcher promises, of an arbitrary cluster: never more tasks than fit; a task waits only
// while no cluster takes it; it goes home when home takes it, else where the fewest are.
module dispatcher_proof #(
    parameter integer CLUSTERS = 4,
    parameter integer HERS_PER_CLUSTER = 3
) (
    input wire                        clock,
    input wire                        reset,
    input wire                        task_valid,
    input wire [$clog2(CLUSTERS)-1:0] task_home,
    input wire [3:0]                  task_data,
    input wire [CLUSTERS-1:0]         cluster_ready,
    input wire                        completion_valid,
    input wire [$clog2(CLUSTERS)-1:0] completion_cluster
);
    localparam integer LEVEL = $clog2(HERS_PER_CLUSTER + 1);
    wire                      task_ready;
    wire [CLUSTERS-1:0]       cluster_valid;
    wire [3:0]                cluster_task;
    wire [CLUSTERS*LEVEL-1:0] levels;

    dispatcher #(
        .CLUSTERS(CLUSTERS), .HERS_PER_CLUSTER(HERS_PER_CLUSTER), .TASK_BITS(4)
    ) unit (
        .clock(clock), .reset(reset), .task_valid(task_valid), .task_ready(task_ready),
        .task_home(task_home), .task_data(task_data), .cluster_valid(cluster_valid),
        .cluster_ready(cluster_ready), .cluster_task(cluster_task),
        .completion_valid(completion_valid), .completion_cluster(completion_cluster),
        .state_occupancy(levels)
    );

    (* anyconst *) wire [$clog2(CLUSTERS)-1:0] cluster;
    (* anyconst *) wire [$clog2(CLUSTERS)-1:0] other;
    reg begun = 0;
    reg [LEVEL:0] held = 0;
    wire enters = cluster_valid[cluster];
    wire leaves = completion_valid && completion_cluster == cluster;
    wire room = cluster_ready[cluster] && held < HERS_PER_CLUSTER;
    wire [LEVEL-1:0] other_level = levels[other*LEVEL +: LEVEL];
    wire other_room = cluster_ready[other] && other_level < HERS_PER_CLUSTER;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (leaves) assume (held > 0);
        if (begun) begin
            held <= held + enters - leaves;
            counts: assert (held == levels[cluster*LEVEL +: LEVEL]);
            bounded: assert (held <= HERS_PER_CLUSTER);
            one: assert ((cluster_valid & (cluster_valid - 1'b1)) == 0);
            taken: assert (|cluster_valid == (task_valid && task_ready));
            whole: assert (cluster_task == task_data);
            if (enters) fits: assert (room);
            if (task_valid && room) begin
                work_conserving: assert (task_ready);
                if (task_home == cluster) home: assert (enters);
            end
            if (enters && task_home != cluster && other_room)
                least: assert (held < other_level || (held == other_level && cluster <= other));
            if (enters && task_home == other && other != cluster) full_home: assert (!other_room);
        end
    end
endmodule
