// command_words: what a command's words say.
//
// In:      its kind, as the HPU's driver has it, and its words.
// Out:     the interface (0 words for the host, 1 sends, 2 copies); the host's address, the NIC's, bytes, whether it
//          copies to the host, and the data of a word.
// Latency: none.
// How:     a command of no known kind or of no bytes is a word of none.
// Source:  the commands' words as published; the model's `Command::decode`.
`default_nettype none

module command_words (
    input  wire [1:0]   info,
    input  wire [223:0] words,
    output wire [1:0]   kind,
    output wire [63:0]  host,
    output wire [31:0]  nic,
    output wire [21:0]  bytes,
    output wire         to_host,
    output wire [63:0]  data
);
    localparam [1:0] COPY = 0, SEND = 1, WORD = 2;

    wire [31:0]  size = info == COPY ? words[3*32 +: 32] : words[4*32 +: 32];
    wire         is_word = info[1] || size == 0;
    assign kind = is_word ? 0 : info == SEND ? 1 : 2;
    assign host = {words[32 +: 32], words[0 +: 32]};
    assign nic = words[2*32 +: 32];
    assign bytes = !is_word ? size[21:0] : info == WORD ? {18'd0, words[2*32 + 1 +: 4]} : 0;
    assign to_host = words[4*32];
    assign data = {words[4*32 +: 32], words[3*32 +: 32]};

    wire _unused = &{1'b0, words, size[31:22]};
endmodule

`default_nettype wire
