// What round robin promises: only a requester is served, and nobody who keeps asking waits for as many
// grants as there are requesters.
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

    (* anyconst *) wire [INDEX-1:0] asker;
    reg begun = 0;
    reg waits = 0;
    reg [INDEX:0] waited = 0;
    wire served = any && advance && grant == asker;
    wire [INDEX-1:0] distance = asker - pointer;

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
        end
    end
endmodule
