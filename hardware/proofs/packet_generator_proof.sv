// What the packet generator promises, of an arbitrary request: each of its flags leaves once, its ACK and NACK
// together, two cycles later if nobody makes frames wait; PULLs that wait leave in order; two PULLs are a token's
// time apart, unless no more can wait; none waits beside a token in a cycle without a request.
module packet_generator_proof #(
    parameter integer DATA_BITS = 4,
    parameter integer TOKEN_CYCLES = 2,
    parameter integer FRAMES = 3,
    parameter integer PULLS = 2
) (
    input wire clock,
    input wire reset,
    input wire request_valid,
    input wire request_ack,
    input wire request_nack,
    input wire request_pull,
    input wire frame_ready
);
    (* anyconst *) wire [DATA_BITS-1:0] one;
    (* anyconst *) wire                 never_waits;
    (* anyconst *) wire                 pull_alone;
    reg  [DATA_BITS-1:0]       number = 0, last_pull = 0;
    reg                        begun = 0, had_pull = 0;
    wire                       request_ready, frame_valid, frame_ack, frame_nack, frame_pull, token;
    wire [DATA_BITS-1:0]       frame_data;
    wire [$clog2(PULLS+1)-1:0] pulls;
    wire                       requests = begun && request_valid && request_ready;
    wire                       leaves = frame_valid && frame_ready;

    packet_generator #(
        .DATA_BITS(DATA_BITS), .TOKEN_CYCLES(TOKEN_CYCLES), .FRAMES(FRAMES), .PULLS(PULLS)
    ) unit (
        .clock(clock), .reset(reset), .request_valid(begun && request_valid),
        .request_ready(request_ready), .request_ack(request_ack), .request_nack(request_nack),
        .request_pull(request_pull), .request_data(number), .frame_valid(frame_valid),
        .frame_ready(frame_ready), .frame_ack(frame_ack), .frame_nack(frame_nack),
        .frame_pull(frame_pull), .frame_data(frame_data), .state_token(token),
        .state_pulls(pulls)
    );

    // Flags of the request followed that are still due; cycles since it came.
    reg       ack = 0, nack = 0, pull = 0, came = 0;
    reg [3:0] ago = 0;
    // Cycles in which its PULL is due and none waits.
    reg [1:0] nowhere = 0;
    // Cycles since a PULL's frame, if none has overtaken since the queue was full; none was full yet.
    reg [3:0] since_pull = 15;
    reg       was_full = 0;
    wire      own = leaves && frame_data == one;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (number != 15);
        if (never_waits) assume (frame_ready);
        if (!pull_alone && request_pull) assume (request_ack || request_nack);
        if (begun) begin
            if (requests) number <= number + 1;
            if (requests && number == one) begin
                came <= 1;
                {ack, nack, pull} <= {request_ack, request_nack, request_pull};
                ago <= 1;
            end else if (ago != 15) ago <= ago + 1;
            if (own) begin
                known: assert (came && (frame_ack || frame_nack || frame_pull));
                once: assert (!(frame_ack && !ack) && !(frame_nack && !nack) && !(frame_pull && !pull));
                if (frame_ack || frame_nack) together: assert (frame_ack == ack && frame_nack == nack);
                {ack, nack, pull} <= {ack && !frame_ack, nack && !frame_nack, pull && !frame_pull};
                if ((frame_ack || frame_nack) && never_waits) at_once: assert (ago == 2);
            end
            if (came && never_waits && ago > 2) answered: assert (!ack && !nack);
            nowhere <= pull && pulls == 0 && never_waits && !(own && frame_pull) ? nowhere + (nowhere != 3) : 0;
            not_lost: assert (nowhere != 3);
            if (pulls == PULLS) was_full <= 1;
            if (leaves && frame_pull && never_waits) begin
                since_pull <= 1;
                if (!was_full) apart: assert (since_pull > TOKEN_CYCLES);
            end else if (since_pull != 15) since_pull <= since_pull + 1;
            if (leaves && frame_pull && !frame_ack && !frame_nack && !was_full) begin
                had_pull <= 1;
                last_pull <= frame_data;
            end
            // Where every PULL comes with an ACK or NACK, one alone has waited.
            if (leaves && frame_pull && !frame_ack && !frame_nack && !was_full && had_pull && !pull_alone)
                in_order: assert (frame_data > last_pull);
        end
    end
endmodule
