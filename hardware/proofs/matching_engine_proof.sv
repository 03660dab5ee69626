// What the matching engine promises, of an arbitrary packet and arbitrary rules: it is answered once, in
// order, in two cycles if nobody stalls; the answer is that of the definition, written down here once more
// without circuits: the first ruleset that matches, its context or the first one, its end of message.
module matching_engine_proof (
    input wire        clock,
    input wire        reset,
    input wire        rule_valid,
    input wire        rule_ruleset,
    input wire [1:0]  rule_number,
    input wire        ruleset_valid,
    input wire        ruleset_number,
    input wire        packet_valid,
    input wire [23:0] packet_head,
    input wire [2:0]  packet_bytes,
    input wire        result_ready,
    // The solver follows one packet.
    input wire        mark
);
    localparam integer RULES = 3, WORDS = 3;
    // The settings, two bits of word number, eight of mask and of each bound a rule.
    (* anyconst *) wire [2*RULES*2-1:0] places;
    (* anyconst *) wire [2*RULES*8-1:0] masks;
    (* anyconst *) wire [2*RULES*8-1:0] starts;
    (* anyconst *) wire [2*RULES*8-1:0] limits;
    (* anyconst *) wire [1:0] any;
    (* anyconst *) wire [1:0] enabled;
    wire [2:0] place = rule_ruleset * RULES + rule_number;
    wire       packet_ready, result_valid, matched, context_number, ends;
    wire [7:0] id;

    matching_engine #(
        .RULESETS(2), .RULES(RULES), .WORDS(WORDS), .WORD_BYTES(1), .ID_WORD(2), .LENGTH_BITS(3)
    ) unit (
        .clock(clock), .reset(reset), .rule_valid(rule_valid), .rule_ruleset(rule_ruleset),
        .rule_number(rule_number), .rule_word(places[place*2 +: 2]),
        .rule_mask(masks[place*8 +: 8]), .rule_start(starts[place*8 +: 8]),
        .rule_end(limits[place*8 +: 8]), .ruleset_valid(ruleset_valid),
        .ruleset_number(ruleset_number), .ruleset_any(any[ruleset_number]),
        .ruleset_enabled(enabled[ruleset_number]), .packet_valid(packet_valid),
        .packet_ready(packet_ready), .packet_head(packet_head), .packet_bytes(packet_bytes),
        .result_valid(result_valid), .result_ready(result_ready), .result_matched(matched),
        .result_context(context_number), .result_id(id), .result_end(ends)
    );

    // The definition.
    wire [7:0] words [0:3];
    assign words[0] = packet_bytes > 0 ? packet_head[7:0] : 0;
    assign words[1] = packet_bytes > 1 ? packet_head[15:8] : 0;
    assign words[2] = packet_bytes > 2 ? packet_head[23:16] : 0;
    assign words[3] = 0;
    // What was set; a rule that was not never matches, and a ruleset that was not wants all rules and is not enabled.
    reg [2*RULES-1:0] written = 0;
    reg [1:0] set = 0;
    wire [1:0] any_now = any & set, enabled_now = enabled & set;
    reg [2*RULES-1:0] hit;
    integer number;
    always @* for (number = 0; number < 2*RULES; number = number + 1)
        hit[number] = written[number] && (words[places[number*2 +: 2]] & masks[number*8 +: 8]) >= starts[number*8 +: 8]
            && (words[places[number*2 +: 2]] & masks[number*8 +: 8]) <= limits[number*8 +: 8];
    wire first = any_now[0] ? hit[0] || hit[1] : hit[0] && hit[1];
    wire second = any_now[1] ? hit[3] || hit[4] : hit[3] && hit[4];
    wire taken = first && enabled_now[0] || second && (enabled_now[1] && !first || enabled_now[0]);
    wire to_second = !first && second && enabled_now[1];
    wire ends_it = first ? hit[2] : hit[5];

    reg begun = 0;
    reg follows = 0, expected_taken = 0, expected_second = 0, expected_end = 0;
    reg [7:0] expected_id = 0;
    reg [1:0] inside = 0, ahead = 0, waited = 0;
    wire enters = packet_valid && packet_ready && begun;
    wire leaves = begun && result_valid && result_ready;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (rule_number < RULES);
        for (number = 0; number < 2*RULES; number = number + 1) assume (places[number*2 +: 2] < 3);
        if (begun && rule_valid) written[place] <= 1;
        if (begun && ruleset_valid) set[ruleset_number] <= 1;
        inside <= inside + enters - leaves;
        if (enters && mark && !follows) begin
            follows <= 1;
            ahead <= inside - leaves;
            waited <= 0;
            expected_taken <= taken;
            expected_second <= to_second;
            expected_end <= ends_it;
            expected_id <= words[2];
        end else if (follows) begin
            if (result_ready) waited <= waited + 1;
            if (leaves) ahead <= ahead - 1;
            if (leaves && ahead == 0) follows <= 0;
        end
        if (begun) begin
            fits: assert (inside <= 2);
            if (leaves) known: assert (inside != 0);
            if (follows && ahead == 0 && result_valid) begin
                taken_as_defined: assert (matched == expected_taken);
                if (matched) begin
                    context_as_defined: assert (context_number == expected_second);
                    end_as_defined: assert (ends == expected_end);
                    id_as_defined: assert (id == expected_id);
                end
            end
            in_time: assert (!follows || waited <= 2);
        end
    end
endmodule
