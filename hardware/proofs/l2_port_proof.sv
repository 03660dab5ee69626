// What the clusters' port to an L2 memory promises each of them: its reads come to the memory in order, once each, no sooner
// than their way takes, only while the memory and it are ready, and are answered in the cycle behind; if all are ready, none waits
// longer than its way and those before it; its writes go once, as they are.
module l2_port_proof #(
    parameter integer REQUESTERS = 2,
    parameter integer LINE_BITS = 2,
    parameter integer BYTES = 1,
    parameter integer CYCLES = 3
) (
    input wire                            clock,
    input wire                            reset,
    input wire [REQUESTERS-1:0]           read_wanted,
    input wire [REQUESTERS*LINE_BITS-1:0] read_line,
    input wire [REQUESTERS-1:0]           read_takes,
    input wire [REQUESTERS-1:0]           write_wanted,
    input wire [REQUESTERS*LINE_BITS-1:0] write_line,
    input wire [REQUESTERS*8*BYTES-1:0]   write_data,
    input wire                            memory_read_ready,
    input wire [8*BYTES-1:0]              memory_read_data,
    input wire                            memory_write_ready,
    // The solver marks one read among all.
    input wire                            mark
);
    (* anyconst *) wire [$clog2(REQUESTERS)-1:0] one;
    reg                    begun = 0;
    wire [REQUESTERS-1:0]  read_valid = begun ? read_wanted : 0;
    wire [REQUESTERS-1:0]  write_valid = begun ? write_wanted : 0;
    wire [REQUESTERS-1:0]  read_ready, reads_now, answer_valid, write_ready;
    wire [8*BYTES-1:0]     answer_data, memory_write_data;
    wire                   memory_read_valid, memory_write_valid;
    wire [LINE_BITS-1:0]   memory_read_line, memory_write_line;
    wire [BYTES-1:0]       memory_write_strobes;

    l2_port #(.REQUESTERS(REQUESTERS), .LINE_BITS(LINE_BITS), .BYTES(BYTES), .CYCLES(CYCLES)) unit (
        .clock(clock), .reset(reset), .read_valid(read_valid), .read_ready(read_ready), .read_line(read_line),
        .reads_now(reads_now), .read_takes(read_takes), .answer_valid(answer_valid), .answer_data(answer_data),
        .write_valid(write_valid), .write_ready(write_ready), .write_line(write_line), .write_data(write_data),
        .write_strobes({REQUESTERS*BYTES{1'b1}}), .memory_read_valid(memory_read_valid),
        .memory_read_ready(memory_read_ready), .memory_read_line(memory_read_line),
        .memory_read_data(memory_read_data), .memory_write_valid(memory_write_valid),
        .memory_write_ready(memory_write_ready), .memory_write_line(memory_write_line),
        .memory_write_data(memory_write_data), .memory_write_strobes(memory_write_strobes)
    );

    wire takes = read_valid[one] && read_ready[one];
    wire goes = reads_now[one];
    // Its reads on their way, and those before the marked one; cycles since that began; who read last.
    reg [3:0]            away = 0, ahead = 0, age = 0;
    reg                  marked = 0, always_ready = 1;
    reg [LINE_BITS-1:0]  line = 0;
    reg [REQUESTERS-1:0] read_last = 0;
    wire                 writes = write_valid[one] && write_ready[one];

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        if (begun) begin
            away <= away + takes - goes;
            if (!memory_read_ready || read_takes != {REQUESTERS{1'b1}}) always_ready <= 0;
            alone: assert ((reads_now & (reads_now - 1'b1)) == 0 && memory_read_valid == (reads_now != 0));
            if (goes) begin
                once: assert (away != 0);
                ready: assert (memory_read_ready && read_takes[one]);
            end
            read_last <= reads_now;
            behind: assert (answer_valid == read_last);
            if (answer_valid[one]) its_data: assert (answer_data == memory_read_data);
            age <= age == 15 ? 15 : age + 1;
            if (takes && mark && !marked) begin
                marked <= 1;
                ahead <= away - goes;
                line <= read_line[one*LINE_BITS +: LINE_BITS];
                age <= 1;
            end else if (marked && goes) begin
                ahead <= ahead - 1;
                if (ahead == 0) begin
                    marked <= 0;
                    its_line: assert (memory_read_line == line);
                    no_sooner: assert (age >= CYCLES);
                end
            end
            if (marked && always_ready) no_later: assert (age <= CYCLES);
            if (writes) begin
                written: assert (memory_write_valid && memory_write_line == write_line[one*LINE_BITS +: LINE_BITS]);
                its_word: assert (memory_write_data == write_data[one*8*BYTES +: 8*BYTES]);
            end
        end
    end
endmodule
