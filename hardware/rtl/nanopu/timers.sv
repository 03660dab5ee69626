// timers: the retransmission timers, one for each message id, compared with the clock by a scan.
//
// In:      `set_valid`: an id's timer begins, for `timeout_cycles`; `cancel_valid`: one is over.
// Out:     `expired_valid`: an id's time is over; its timer runs again.
// Latency: an expiry comes up to a round of the scan late, two cycles for each id, and as many as timers that
//          were set kept it from the memory.
// How:     the scan reads an entry in one cycle and compares it in the next. Setting a timer takes the memory
//          from it for a cycle: it goes on one later, or two if it had to read its entry again. What expires is
//          set anew in the cycle behind.
// Memory:  a deadline for each id, one port.
// Source:  nanoPU paper, section 2.1; the model's `Timers`.
`default_nettype none

module timers #(
    // A power of two, at least 2.
    parameter integer IDS = 128,
    // Of the clock; twice `timeout_cycles` and a round must be less than its range.
    parameter integer TIME_BITS = 32
) (
    input  wire                   clock,
    input  wire                   reset,
    input  wire [TIME_BITS-2:0]   timeout_cycles,
    input  wire                   set_valid,
    input  wire [$clog2(IDS)-1:0] set_id,
    input  wire                   cancel_valid,
    input  wire [$clog2(IDS)-1:0] cancel_id,
    output wire                   expired_valid,
    output wire [$clog2(IDS)-1:0] expired_id,
    output wire [IDS-1:0]         state_set
);
    localparam integer ID = $clog2(IDS);
    localparam [1:0] READ = 0, COMPARE = 1, AGAIN = 2;

    reg [TIME_BITS-1:0] deadlines [0:IDS-1];
    reg [TIME_BITS-1:0] now, deadline;
    reg [IDS-1:0]       runs;
    // The entry that the scan is at, and what it does with it; AGAIN sets it anew.
    reg [ID-1:0]        id;
    reg [1:0]           does;

    wire [TIME_BITS-1:0] since = now - deadline;
    wire                 cancels = cancel_valid && cancel_id == id;
    assign expired_valid = does == COMPARE && !set_valid && runs[id] && !cancels
        && !since[TIME_BITS-1];
    assign expired_id = id;
    assign state_set = runs;

    wire                 writes = set_valid || does == AGAIN;
    wire [ID-1:0]        write_id = set_valid ? set_id : id;
    // What expired is set from that cycle on.
    wire [TIME_BITS-1:0] begin_at = set_valid ? now : now - 1'b1;

    always @(posedge clock) begin
        if (writes) deadlines[write_id] <= begin_at + {1'b0, timeout_cycles};
        else if (does == READ) deadline <= deadlines[id];
        if (reset) begin
            {now, id} <= 0;
            runs <= 0;
            does <= READ;
        end else begin
            now <= now + 1'b1;
            if (cancel_valid) runs[cancel_id] <= 0;
            if (set_valid) runs[set_id] <= 1;
            case (does)
                READ: if (!set_valid) does <= COMPARE;
                COMPARE:
                    if (set_valid) does <= READ;
                    else if (expired_valid) does <= AGAIN;
                    else begin
                        does <= READ;
                        id <= id + 1'b1;
                    end
                default: if (!set_valid || set_id == id) begin
                    does <= READ;
                    id <= id + 1'b1;
                end
            endcase
        end
    end
endmodule

`default_nettype wire
