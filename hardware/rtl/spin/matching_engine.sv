// matching_engine: which packets go to which execution context, and which of them end a message.
//
// In:      `packet`: a stream of packet heads, the first WORDS words in network order, with the packet's
//          length. `rule`: writes a rule (which word, mask, the range); `ruleset`: writes how a
//          ruleset's rules combine (`ruleset_any`: one must match, else all) and whether its context is
//          enabled.
// Out:     `result`: a stream, in order: whether handlers take the packet, the context, the message's
//          id, whether the packet ends it.
// Latency: a head accepted in cycle t is answered in t + 2; one a cycle. Rules are as they were in t.
// How:     a rule matches if its word of the packet AND its mask lies within its range, bounds included;
//          bytes past the packet's end read as 0. All rules are compared at once. The lowest ruleset
//          that matches wins; its last rule tells the end of the message. A context that is not
//          enabled gives the packet to context 0, if that one is. After reset no packet matches.
// Source:  FPsPIN paper, section IV-A; the model's `MatchingEngine` where a field gives the message's id
//          and a rule its end: it keeps no flows.
`default_nettype none

module matching_engine #(
    // matching.rulesets; a power of two, at least 2.
    parameter integer RULESETS = 4,
    // Rules of a ruleset, the one that tells the end with them; at least 2.
    parameter integer RULES = 4,
    // Words of a packet that are seen: matching.reach_bytes, of which the last may be cut.
    parameter integer WORDS = 17,
    // Bytes of a word.
    parameter integer WORD_BYTES = 4,
    // The word that has the message's id (SLMP: byte 44).
    parameter integer ID_WORD = 11,
    parameter integer LENGTH_BITS = 16,
    // matching.swapped_compare: ranges are ordered by their last byte first, as in the artifact.
    parameter integer SWAPPED = 0
) (
    input  wire                          clock,
    input  wire                          reset,
    input  wire                          rule_valid,
    input  wire [$clog2(RULESETS)-1:0]   rule_ruleset,
    input  wire [$clog2(RULES)-1:0]      rule_number,
    input  wire [$clog2(WORDS)-1:0]      rule_word,
    input  wire [8*WORD_BYTES-1:0]       rule_mask,
    input  wire [8*WORD_BYTES-1:0]       rule_start,
    input  wire [8*WORD_BYTES-1:0]       rule_end,
    input  wire                          ruleset_valid,
    input  wire [$clog2(RULESETS)-1:0]   ruleset_number,
    input  wire                          ruleset_any,
    input  wire                          ruleset_enabled,
    input  wire                          packet_valid,
    output wire                          packet_ready,
    // Word 0 lowest.
    input  wire [8*WORD_BYTES*WORDS-1:0] packet_head,
    input  wire [LENGTH_BITS-1:0]        packet_bytes,
    output wire                          result_valid,
    input  wire                          result_ready,
    output wire                          result_matched,
    output wire [$clog2(RULESETS)-1:0]   result_context,
    output wire [8*WORD_BYTES-1:0]       result_id,
    output wire                          result_end
);
    localparam integer BITS = 8 * WORD_BYTES;
    localparam integer CONTEXT = $clog2(RULESETS);
    localparam integer INDEX = $clog2(WORDS);
    localparam [CONTEXT-1:0] FIRST = 0;

    // What lies past the end is 0.
    wire [BITS*WORDS-1:0] head;
    genvar word, octet;
    generate
        for (word = 0; word < WORDS; word = word + 1) begin : by_word
            for (octet = 0; octet < WORD_BYTES; octet = octet + 1) begin : by_octet
                localparam integer PLACE = BITS * word + 8 * (WORD_BYTES - 1 - octet);
                assign head[PLACE +: 8] = packet_bytes > LENGTH_BITS'(WORD_BYTES * word + octet)
                    ? packet_head[PLACE +: 8] : 8'd0;
            end
        end
    endgenerate

    // The first stage: each rule's answer. The second: the result.
    reg                       compared, answered;
    wire [RULESETS*RULES-1:0] hits;
    reg  [BITS-1:0]           compared_id;
    wire                      moves = !answered || result_ready;
    wire                      accept = packet_valid && packet_ready;
    assign packet_ready = !compared || moves;

    wire [RULESETS-1:0] sets, ends, enabled;
    genvar set, rule;
    generate
        for (set = 0; set < RULESETS; set = set + 1) begin : by_ruleset
            localparam [CONTEXT-1:0] OWN = CONTEXT'(set);
            reg any, may;
            for (rule = 0; rule < RULES; rule = rule + 1) begin : by_rule
                localparam [$clog2(RULES)-1:0] OWN_RULE = $clog2(RULES)'(rule);
                reg [INDEX-1:0]  index;
                reg [BITS-1:0]   mask, low, high;
                wire [BITS-1:0]  masked = head[index*BITS +: BITS] & mask;
                wire [BITS-1:0]  value, from, to;
                reg              hit;
                for (octet = 0; octet < WORD_BYTES; octet = octet + 1) begin : by_octet
                    localparam integer OTHER = SWAPPED != 0 ? WORD_BYTES - 1 - octet : octet;
                    assign value[8*octet +: 8] = masked[8*OTHER +: 8];
                    assign from[8*octet +: 8] = low[8*OTHER +: 8];
                    assign to[8*octet +: 8] = high[8*OTHER +: 8];
                end
                assign hits[set*RULES + rule] = hit;
                always @(posedge clock) begin
                    if (accept) hit <= value >= from && value <= to;
                    if (reset) begin
                        {index, mask, high} <= 0;
                        low <= 1;
                    end else if (rule_valid && rule_ruleset == OWN && rule_number == OWN_RULE) begin
                        index <= rule_word;
                        mask <= rule_mask;
                        low <= rule_start;
                        high <= rule_end;
                    end
                end
            end
            always @(posedge clock)
                if (reset) {any, may} <= 0;
                else if (ruleset_valid && ruleset_number == OWN)
                    {any, may} <= {ruleset_any, ruleset_enabled};
            // The packet meets these settings as it meets the rules: when it is accepted.
            reg any_then, may_then;
            always @(posedge clock)
                if (accept) {any_then, may_then} <= {any, may};
            assign sets[set] = any_then ? |hits[set*RULES +: RULES - 1]
                : &hits[set*RULES +: RULES - 1];
            assign ends[set] = hits[set*RULES + RULES - 1];
            assign enabled[set] = may_then;
        end
    endgenerate

    wire               any_set;
    wire [CONTEXT-1:0] winner;
    first_one #(.COUNT(RULESETS)) find (.bits(sets), .any(any_set), .index(winner));

    reg               matched, ends_message;
    reg [CONTEXT-1:0] context_number;
    reg [BITS-1:0]    id;
    assign result_valid = answered;
    assign result_matched = matched;
    assign result_context = context_number;
    assign result_id = id;
    assign result_end = ends_message;

    always @(posedge clock) begin
        if (accept) compared_id <= head[ID_WORD*BITS +: BITS];
        if (compared && moves) begin
            matched <= any_set && (enabled[winner] || enabled[0]);
            context_number <= enabled[winner] ? winner : FIRST;
            id <= compared_id;
            ends_message <= ends[winner];
        end
        if (reset) {compared, answered} <= 0;
        else begin
            if (packet_ready) compared <= packet_valid;
            if (moves) answered <= compared;
        end
    end
endmodule

`default_nettype wire
