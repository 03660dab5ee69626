// What round robin promises: only a requester is served, and nobody who keeps asking waits for as many
// grants as there are requesters. One that locks keeps its choice until it is taken; whoever comes
// meanwhile may have to wait for one grant more.
module round_robin_proof #(
    parameter integer COUNT = 8
) (
    input wire             clock,
    input wire             reset,
    input wire [COUNT-1:0] requests,
    input wire             advance
);
    localparam integer INDEX = $clog2(COUNT);
    wire             any;
    wire [INDEX-1:0] grant, pointer;

    round_robin #(.COUNT(COUNT)) unit (
        .clock(clock), .reset(reset), .requests(requests), .advance(advance), .any(any),
        .grant(grant), .state_pointer(pointer)
    );

    wire             any_locked;
    wire [INDEX-1:0] locked;
    round_robin #(.COUNT(COUNT), .LOCK(1)) locking (
        .clock(clock), .reset(reset), .requests(requests), .advance(advance), .any(any_locked),
        .grant(locked)
    );

    (* anyconst *) wire [INDEX-1:0] asker;
    reg begun = 0;
    reg waits = 0;
    reg [INDEX:0] waited = 0;
    wire served = any && advance && grant == asker;
    wire [INDEX-1:0] distance = asker - pointer;
    // Of the one that locks.
    reg asks_it = 0, choice_stays = 0;
    reg [INDEX:0] waited_for_it = 0;
    reg [INDEX-1:0] choice = 0;
    wire served_by_it = any_locked && advance && locked == asker;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            // Whoever asks, asks until it is served.
            if (waits) assume (requests[asker]);
            waits <= requests[asker] && !served;
            waited <= requests[asker] && !served ? waited + (any && advance) : 0;
            somebody: assert (any == |requests);
            asks: assert (!any || requests[grant]);
            // The pointer never passes it: so many grants are the most.
            if (waits) progress: assert (waited + distance < COUNT);
            if (!waits) rests: assert (waited == 0);
            bounded: assert (waited < COUNT);

            if (asks_it) assume (requests[asker]);
            asks_it <= requests[asker] && !served_by_it;
            waited_for_it <= requests[asker] && !served_by_it
                ? waited_for_it + (any_locked && advance) : 0;
            choice_stays <= any_locked && !advance;
            choice <= locked;
            if (choice_stays) stays: assert (any_locked && locked == choice);
            bounded_by_it: assert (waited_for_it <= COUNT);
        end
    end
endmodule
