// message_table: which incoming message a packet belongs to.
//
// In:      `key` of a packet's message (its sender and the sender's number for it); `insert`: from the
//          next cycle on the key belongs to `insert_id`; `remove`: an id is forgotten.
// Out:     `known`, `id`: the message of the key, in the same cycle. `state_used`: ids in use.
// Latency: none; all keys are compared at once.
// Source:  nanoPU paper, section 2.1; the model's `MessageTable`. The published RTL has a table with an
//          entry for every key of 14 bits, which it clears for 16,384 cycles after reset.
`default_nettype none

module message_table #(
    // Messages; at least 2.
    parameter integer MESSAGES = 128,
    // 64 for the whole key (address, context and number); 14 as in the published RTL.
    parameter integer KEY_BITS = 64
) (
    input  wire                        clock,
    input  wire                        reset,
    input  wire [KEY_BITS-1:0]         key,
    output wire                        known,
    output wire [$clog2(MESSAGES)-1:0] id,
    input  wire                        insert,
    input  wire [$clog2(MESSAGES)-1:0] insert_id,
    input  wire                        remove,
    input  wire [$clog2(MESSAGES)-1:0] remove_id,
    output wire [MESSAGES-1:0]         state_used
);
    localparam integer ID = $clog2(MESSAGES);
    wire [MESSAGES-1:0] hits;

    genvar number;
    generate
        for (number = 0; number < MESSAGES; number = number + 1) begin : by_message
            localparam [ID-1:0] OWN = ID'(number);
            reg                used;
            reg [KEY_BITS-1:0] own_key;
            assign hits[number] = used && own_key == key;
            assign state_used[number] = used;
            always @(posedge clock) begin
                if (insert && insert_id == OWN) own_key <= key;
                if (reset) used <= 0;
                else if (insert && insert_id == OWN) used <= 1;
                else if (remove && remove_id == OWN) used <= 0;
            end
        end
    endgenerate

    first_one #(.COUNT(MESSAGES)) find (.bits(hits), .any(known), .index(id));
endmodule

`default_nettype wire
