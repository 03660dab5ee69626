// What dispatch promises, of an arbitrary hart: each message that core selection gives it enters its queue whole and in order,
// what an application reads first before the payload, and nothing else does; one message at a time; of each
// message that it is done with core selection hears once, and of each that arrives it is asked while it is there.
module dispatch_proof (
    input wire         clock,
    input wire         reset,
    input wire         arrived_valid,
    input wire         arrived_context,
    input wire [1:0]   done_valid,
    input wire [1:0]   done_context,
    input wire         chosen_valid,
    input wire         chosen_hart,
    input wire [1:0]   there,
    input wire [63:0]  take_header,
    input wire         take_ready,
    input wire [511:0] take_data,
    input wire [1:0]   enter_ready
);
    wire         ask_valid, ask_context, finished_valid, finished_hart, finished_context, finished_waits;
    wire         take_context, take_valid, take_last;
    wire [1:0]   enter_valid, enter_context, enter_begins;
    wire [127:0] enter_word;
    dispatch #(.HARTS(2), .CONTEXTS(2), .ARRIVALS(4), .DONES(2)) unit (
        .clock(clock), .reset(reset), .arrived_valid(arrived_valid), .arrived_context(arrived_context),
        .done_valid(done_valid), .done_context(done_context), .ask_valid(ask_valid),
        .ask_context(ask_context), .finished_valid(finished_valid), .finished_hart(finished_hart),
        .finished_context(finished_context), .finished_waits(finished_waits),
        .chosen_valid(chosen_valid), .chosen_hart(chosen_hart), .there(there),
        .take_context(take_context), .take_header(take_header), .take_ready(take_ready),
        .take_data(take_data), .take_valid(take_valid), .take_last(take_last),
        .enter_valid(enter_valid), .enter_ready(enter_ready), .enter_context(enter_context),
        .enter_word(enter_word), .enter_begins(enter_begins)
    );

    (* anyconst *) wire hart;
    (* anyconst *) wire [2:0] lane;
    (* anyconst *) wire second;
    reg        begun = 0;
    // The message on its way to the hart: its context, words to come, words that have entered, what was taken of it.
    reg        has = 0, own = 0, taking = 0, took = 0;
    reg [4:0]  left = 0;
    reg [4:0]  entered = 0;
    reg [63:0] word = 0;
    reg [2:0]  dones = 0;
    reg        other_busy = 0;
    wire       enters = enter_valid[hart] && enter_ready[hart];
    wire [63:0] own_word = hart ? enter_word[127:64] : enter_word[63:0];
    wire [63:0] in_lane = take_data[64*lane +: 64];
    wire [63:0] turned = {
        in_lane[7:0], in_lane[15:8], in_lane[23:16], in_lane[31:24], in_lane[39:32], in_lane[47:40],
        in_lane[55:48], in_lane[63:56]
    };
    wire       heard = finished_valid && finished_hart == hart;
    wire       asked = ask_valid || (finished_valid && finished_waits);
    // Words of a message's payload, as whoever gives the header says.
    reg  [15:0] bytes = 0;
    wire [4:0]  words = (bytes[7:0] + 7) >> 3;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        // Core selection answers who asks; messages are short; the head of a queue stays until it is taken.
        assume (!chosen_valid || asked);
        assume (take_header[15:0] != 0 && take_header[15:0] <= 72);
        if (begun) begin
            // Room for notices.
            assume (dones < 2 || !done_valid[hart]);
            dones <= dones + done_valid[hart] - heard;
            if (heard) once: assert (dones != 0);
            if (finished_valid) waits: assert (finished_waits == there[finished_context]);
            if (ask_valid) is_there: assert (there[ask_context]);

            if (chosen_valid && chosen_hart == hart) begin
                alone: assert (!taking);
                {taking, own, took} <= {1'b1, ask_valid ? ask_context : finished_context, 1'b0};
            end
            if (enters) begin
                if (enter_begins[hart]) begin
                    given: assert (taking && left == 0);
                    header: assert (own_word == take_header && enter_context[hart] == own);
                    bytes <= take_header[15:0];
                    left <= (take_header[7:0] + 7) >> 3;
                    entered <= 0;
                    has <= own;
                end else begin
                    wanted: assert (left != 0);
                    whose: assert (enter_context[hart] == has);
                    left <= left - 1;
                    entered <= entered + 1;
                    if (entered == {1'b0, second, lane} && !(take_valid && taking))
                        same: assert (own_word == word);
                    if (entered == {1'b0, second, lane} && take_valid && taking)
                        same_at_once: assert (lane != 0 || own_word == turned);
                end
            end
            if (take_valid && taking) begin
                takes_own: assert (take_context == own && (left != 0));
                last: assert (take_last == (left <= 8));
                if (took == second) word <= turned;
                took <= 1;
                if (take_last) taking <= 0;
            end
        end
    end
endmodule
