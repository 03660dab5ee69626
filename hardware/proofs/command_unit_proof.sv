// What the command unit promises: an interface is given a command that is for it, and keeps being given it until it takes
// it; never more than so many are under way at one; a command waits only while its interface has so many, and while
// others that came before have their turn.
module command_unit_proof #(
    parameter integer CLUSTERS = 2,
    parameter integer IN_FLIGHT = 2,
    parameter integer TURNAROUND = 2
) (
    input wire                  clock,
    input wire                  reset,
    input wire [CLUSTERS-1:0]   valid,
    input wire [2*CLUSTERS-1:0] kind,
    input wire [2:0]            interface_ready,
    input wire [3:0]            done
);
    wire [CLUSTERS-1:0] ready;
    wire [2:0]          interface_valid;
    wire [2:0]          chosen;
    wire [5:0]          held;
    command_unit #(.CLUSTERS(CLUSTERS), .IN_FLIGHT(IN_FLIGHT), .TURNAROUND(TURNAROUND)) unit (
        .clock(clock), .reset(reset), .cluster_valid(valid), .cluster_kind(kind),
        .interface_ready(interface_ready), .done_valid(done), .cluster_ready(ready),
        .interface_valid(interface_valid), .interface_cluster(chosen), .state_in_flight(held)
    );

    reg                  begun = 0;
    reg [CLUSTERS-1:0]   waited = 0;
    reg [2*CLUSTERS-1:0] kind_before = 0;
    reg [3:0]            done_before = 0;
    wire [2:0]           taken = interface_valid & interface_ready;
    wire [CLUSTERS-1:0]  takes = (taken[0] ? 2'd1 << chosen[0] : 2'd0) | (taken[1] ? 2'd1 << chosen[1] : 2'd0)
        | (taken[2] ? 2'd1 << chosen[2] : 2'd0);

    // By cluster; by interface.
    wire [CLUSTERS-1:0]  turn;
    wire [2:0]           bounded, counted, for_it, working, staying;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        waited <= reset ? 0 : valid & ~ready;
        kind_before <= kind;
        done_before <= reset ? 0 : done;
        if (begun) begin
            one_is_taken: assert (ready == takes);
            has_its_turn: assert (&turn);
            bound: assert (&bounded);
            counts: assert (&counted);
            is_for_it: assert (&for_it);
            works: assert (&working);
            stays: assert (&staying);
        end
    end

    genvar one;
    generate
        for (one = 0; one < CLUSTERS; one = one + 1) begin : by_cluster
            // There are three interfaces; whoever offers a command does so until it is taken.
            wire [1:0] own = kind[2*one +: 2];
            reg  [1:0] others = 0;
            always @(posedge clock) begin
                assume (own != 3);
                if (waited[one]) assume (valid[one] && own == kind_before[2*one +: 2]);
                if (reset || !valid[one] || ready[one]) others <= 0;
                else if (taken[own]) others <= others + 1'b1;
            end
            // So many go before it: the other one, and once more if that was chosen already.
            assign turn[one] = others <= 2;
        end
        for (one = 0; one < 3; one = one + 1) begin : by_interface
            // Under way as seen from outside: not done, and what was done in the cycle before.
            reg  [2:0] away = 0;
            reg        offered = 0, offered_cluster = 0;
            wire [2:0] ends = 3'(done_before[one]) + 3'(one == 2 && done_before[3]);
            wire [2:0] asked = 3'(done[one]) + 3'(one == 2 && done[3]);
            wire [CLUSTERS-1:0] asks = {valid[1] && kind[3:2] == one, valid[0] && kind[1:0] == one};
            always @(posedge clock) begin
                assume (away >= ends + asked);
                away <= reset ? 0 : away + 3'(taken[one]) - ends;
                offered <= !reset && interface_valid[one] && !interface_ready[one];
                offered_cluster <= chosen[one];
            end
            assign bounded[one] = away <= IN_FLIGHT;
            assign counted[one] = {1'b0, held[2*one +: 2]} == away;
            assign for_it[one] = !interface_valid[one] || asks[chosen[one]];
            assign working[one] = interface_valid[one] == (asks != 0 && away < IN_FLIGHT);
            assign staying[one] = !offered || (interface_valid[one] && chosen[one] == offered_cluster);
        end
    endgenerate
endmodule
