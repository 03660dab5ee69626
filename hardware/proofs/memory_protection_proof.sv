// What memory protection promises: the answer that the specification's definition gives, byte by byte, for any
// entries and any access.
module memory_protection_proof #(
    parameter integer ENTRIES = 3
) (
    input wire                  clock,
    input wire [32*ENTRIES-1:0] addresses,
    input wire [8*ENTRIES-1:0]  configs,
    input wire [31:0]           first,
    input wire [1:0]            size,
    input wire [1:0]            kind,
    input wire                  user_mode
);
    localparam [1:0] READ = 0, WRITE = 1, EXECUTE = 2;
    wire allowed;
    wire [2:0] bytes = size == 2 ? 3'd4 : size == 1 ? 3'd2 : 3'd1;

    memory_protection #(.ENTRIES(ENTRIES)) unit (
        .entry_addresses(addresses), .entry_configs(configs), .first(first), .bytes(bytes),
        .reads(kind == READ), .writes(kind == WRITE), .executes(kind == EXECUTE),
        .user_mode(user_mode), .allowed(allowed)
    );

    // From the highest entry to the lowest: its first and last byte, and the bytes of the access in it.
    reg         expected, allows, locked;
    reg  [7:0]  one;
    reg  [33:0] low, high, size_less_one, at;
    reg  [31:0] address, below;
    reg  [2:0]  inside;
    integer     entry, number, zeros;
    always @* begin
        expected = !user_mode;
        {allows, locked, one, low, high, size_less_one, at, address, below, inside} = 0;
        for (entry = ENTRIES - 1; entry >= 0; entry = entry - 1) begin
            one = configs[8*entry +: 8];
            address = addresses[32*entry +: 32];
            below = entry == 0 ? 0 : addresses[32*(entry == 0 ? 0 : entry - 1) +: 32];
            // Naturally aligned powers of two: 8 bytes and twice as many for each trailing one.
            size_less_one = 34'd7;
            for (number = 0; number < 32; number = number + 1)
                if (address[number] && size_less_one == (34'd8 << number) - 34'd1)
                    size_less_one = (34'd16 << number) - 34'd1;
            low = {address, 2'd0};
            high = low + 34'd3;
            if (one[4:3] == 1) begin
                low = {below, 2'd0};
                high = {address, 2'd0} - 34'd1;
            end
            if (one[4:3] == 3) begin
                low = {address, 2'd0} & ~size_less_one;
                high = low | size_less_one;
            end
            inside = 0;
            for (number = 0; number < 4; number = number + 1) begin
                at = {2'd0, first} + 34'(number);
                if (number < bytes && one[4:3] != 0 && !(one[4:3] == 1 && address == 0)
                    && at >= low && at <= high) inside = inside + 1;
            end
            allows = kind == READ ? one[0] : kind == WRITE ? one[1] && one[0] : one[2];
            locked = one[7];
            if (inside != 0) expected = inside == bytes && (allows || (!user_mode && !locked));
        end
    end

    always @(posedge clock) begin
        assume (kind != 3 && size != 3);
        as_specified: assert (allowed == expected);
    end
endmodule
