// packet_generator: control frames of NDP: acknowledgements at once, PULLs at the pace of the link.
//
// In:      requests for an ACK, a NACK, a PULL, with the header that they answer (`request_data`).
// Out:     frames, each with the flags `frame_ack`, `frame_nack`, `frame_pull`.
// Latency: a frame for a request of cycle t is there in t + 2.
// How:     a PULL takes the token, which is back when a packet's time on the link is over: the next one may go
//          TOKEN_CYCLES + 1 later. A request that finds it gets one frame with all its flags; otherwise its ACK or
//          NACK goes at once, and its PULL when the token is back, unless a request comes in that very cycle,
//          which goes first. Where no more PULLs can wait, one goes at once: the published generator stops there.
// Waits:   requests, while FRAMES frames wait.
// Source:  nanoPU paper, section 2.1; pace as measured, rows `pull_pacing`; the model's `PacketGenerator`.
`default_nettype none

module packet_generator #(
    parameter integer DATA_BITS = 64,
    parameter integer TOKEN_CYCLES = 122,
    // Frames, and PULLs, that can wait.
    parameter integer FRAMES = 256,
    parameter integer PULLS = 256
) (
    input  wire                 clock,
    input  wire                 reset,
    input  wire                 request_valid,
    output wire                 request_ready,
    input  wire                 request_ack,
    input  wire                 request_nack,
    input  wire                 request_pull,
    input  wire [DATA_BITS-1:0] request_data,
    output wire                 frame_valid,
    input  wire                 frame_ready,
    output wire                 frame_ack,
    output wire                 frame_nack,
    output wire                 frame_pull,
    output wire [DATA_BITS-1:0] frame_data,
    // For proofs: the token is here; PULLs that wait.
    output wire                 state_token,
    output wire [$clog2(PULLS+1)-1:0] state_pulls
);
    localparam integer TOKEN = $clog2(TOKEN_CYCLES + 1);
    localparam integer WIDTH = DATA_BITS + 3;

    // Cycles until the token is back; the frame that was made in the cycle before.
    reg  [TOKEN-1:0]     away;
    reg                  made;
    reg  [WIDTH-1:0]     frame;
    wire                 moves, pulls_ready, pull_valid, frames_ready;
    wire [DATA_BITS-1:0] pull_data;
    wire [$clog2(FRAMES+1)-1:0] frames_count;

    wire request = request_valid && request_ready;
    wire token = away == 0;
    wire delays = request && request_pull && !token && pulls_ready;
    wire pulls = moves && !request && pull_valid && token;
    wire answers = request && (request_ack || request_nack || (request_pull && !delays));

    assign moves = !made || frames_ready;
    assign request_ready = moves;
    assign state_token = token;

    queue #(.WIDTH(DATA_BITS), .DEPTH(PULLS)) waiting (
        .clock(clock), .reset(reset), .in_valid(delays), .in_ready(pulls_ready),
        .in_data(request_data), .out_valid(pull_valid), .out_ready(pulls), .out_data(pull_data),
        .count(state_pulls)
    );

    queue #(.WIDTH(WIDTH), .DEPTH(FRAMES)) frames (
        .clock(clock), .reset(reset), .in_valid(made), .in_ready(frames_ready), .in_data(frame),
        .out_valid(frame_valid), .out_ready(frame_ready),
        .out_data({frame_ack, frame_nack, frame_pull, frame_data}), .count(frames_count)
    );

    always @(posedge clock) begin
        if (moves)
            frame <= request ? {request_ack, request_nack, request_pull && !delays, request_data}
                : {3'b001, pull_data};
        if (reset) begin
            made <= 0;
            away <= 0;
        end else begin
            if (moves) made <= answers || pulls;
            if (pulls || (request && request_pull && token)) away <= TOKEN'(TOKEN_CYCLES);
            else if (!token) away <= away - 1'b1;
        end
    end

    wire _unused = &{1'b0, frames_count};
endmodule

`default_nettype wire
