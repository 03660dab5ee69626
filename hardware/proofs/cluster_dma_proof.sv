// What a cluster's DMA engine promises, of any copy or transfer and any of its bytes: the byte is written where it belongs,
// once, with what its source had, before the transfer is done; nothing else is written there; no line is read but those that
// a transfer's bytes lie in (of the first one, while it is alone); transfers are done once each, in order; copies within some cycles and their beats if nobody keeps them waiting.
module cluster_dma_proof #(
    parameter integer BYTES = 4,
    parameter integer CORES = 2
) (
    input wire               clock,
    input wire               reset,
    input wire               copy_valid,
    input wire [3:0]         copy_from,
    input wire [3:0]         copy_to,
    input wire [3:0]         copy_bytes,
    input wire [CORES-1:0]   launch_valid,
    input wire [1:0]         launch_source,
    input wire [1:0]         launch_target,
    input wire [3:0]         launch_from,
    input wire [3:0]         launch_to,
    input wire [3:0]         launch_bytes,
    input wire [1:0]         read_ready,
    input wire [1:0]         memory_ready,
    input wire [16*BYTES-1:0] answer_data,
    input wire [1:0]         write_ready,
    input wire [8*BYTES-1:0] beat_data,
    // The solver marks one transfer among all.
    input wire               mark
);
    localparam [9:0] L1 = 10'h040, HANDLER = 10'h070, PACKET = 10'h071;
    localparam integer LINE_BITS = 3;
    // What is followed: memories, 0 and 1 of L2 and 2 the own L1; a byte of each, and what the source holds.
    (* anyconst *) wire [1:0] source, target;
    (* anyconst *) wire [4:0] from, to;
    (* anyconst *) wire [7:0] held;
    wire                 copy_ready, copy_done, engine_valid, engine_write;
    wire [CORES-1:0]     launch_ready, core_done;
    wire [1:0]           read_valid, read_takes, write_valid;
    wire [LINE_BITS-1:0] read_line, write_line, engine_line;
    wire [8*BYTES-1:0]   write_data, engine_data;
    wire [BYTES-1:0]     write_strobes, engine_strobes;
    reg                  begun = 0;

    function [31:0] address(input [1:0] memory, input [3:0] place);
        address = {memory == 0 ? HANDLER : memory == 1 ? PACKET : L1, 18'd0, place};
    endfunction

    cluster_dma #(
        .CORES(CORES), .TRANSFERS(2), .BYTES(BYTES), .L1_LINE_BITS(LINE_BITS), .L2_LINE_BITS(LINE_BITS), .COPY_BITS(4)
    ) unit (
        .clock(clock), .reset(reset), .window(L1), .copy_valid(begun && copy_valid), .copy_ready(copy_ready),
        .copy_from(address(1, copy_from)), .copy_to(address(2, copy_to)), .copy_bytes(copy_bytes),
        .copy_done(copy_done), .launch_valid(begun ? launch_valid : 0), .launch_ready(launch_ready),
        .launch_from({CORES{address(launch_source, launch_from)}}),
        .launch_to({CORES{address(launch_target, launch_to)}}), .launch_bytes({CORES{28'd0, launch_bytes}}),
        .core_done(core_done), .read_valid(read_valid), .read_ready(read_ready), .reads_now(reads_now), .read_takes(read_takes),
        .read_line(read_line),
        .answer_data(answer_data), .write_valid(write_valid), .write_ready(write_ready),
        .write_line(write_line), .write_data(write_data), .write_strobes(write_strobes),
        .engine_valid(engine_valid), .engine_write(engine_write), .engine_line(engine_line),
        .engine_data(engine_data), .engine_strobes(engine_strobes), .beat_data(beat_data)
    );

    wire takes_copy = begun && copy_valid && copy_ready;
    wire takes_launch = begun && (launch_valid & launch_ready) != 0;
    wire takes = takes_copy || takes_launch;
    wire [1:0] new_source = takes_copy ? 1 : launch_source;
    wire [1:0] new_target = takes_copy ? 2 : launch_target;
    wire [4:0] new_from = takes_copy ? copy_from : launch_from;
    wire [4:0] new_to = takes_copy ? copy_to : launch_to;
    wire [4:0] new_bytes = takes_copy ? copy_bytes : launch_bytes;
    wire covers = new_target == target && to >= new_to && to < new_to + new_bytes;
    wire is_it = new_source == source && to - new_to == from - new_from;
    wire is_done = copy_done || core_done != 0;
    // L1 answers two cycles after it was asked. L2's memories are on their way to each line for eight cycles or more, in order,
    // and answer in the cycle behind `reads_now`: of each line whether it is the followed one, and its age.
    wire reads = engine_valid && !engine_write && engine_line == from[4:2];
    reg [2:1] asked = 0;
    wire [1:0] goes = read_valid & read_ready;
    wire [1:0] reads_now;
    reg       answers = 0;
    genvar memory;
    generate
        for (memory = 0; memory < 2; memory = memory + 1) begin : by_memory
            // Those that have been on their way for long enough.
            reg [3:0] ripe_count = 0, count = 0;
            reg [9:0] followed = 0;
            reg [7:1] away = 0;
            assign reads_now[memory] = ripe_count != 0 && memory_ready[memory] && read_takes[memory];
            always @(posedge clock)
                if (begun) begin
                    away <= {away[6:1], goes[memory]};
                    ripe_count <= ripe_count + away[7] - reads_now[memory];
                    count <= count + goes[memory] - reads_now[memory];
                    followed <= reads_now[memory] ? followed >> 1 : followed;
                    if (goes[memory]) followed[count - reads_now[memory]] <= read_line == from[4:2];
                end
        end
    endgenerate
    wire writes = target == 2 ? engine_valid && engine_write && engine_line == to[4:2] && engine_strobes[to[1:0]]
        : write_valid[target] && write_ready[target] && write_line == to[4:2] && write_strobes[to[1:0]];
    wire [7:0] byte_written = target == 2 ? engine_data[8*to[1:0] +: 8] : write_data[8*to[1:0] +: 8];
    // Transfers that are not done, and those before the marked one.
    reg [3:0] undone = 0, ahead = 0;
    reg       marked = 0, finished = 0, written = 0, is_copy = 0, always_ready = 1;
    wire      marks = mark && !marked && !finished && takes && covers && is_it;

    // The first transfer, until another comes.
    reg [1:0] taken = 0;
    reg [4:0] first_from, first_bytes;
    wire [4:0] one_from = taken == 0 ? new_from : first_from;
    wire [4:0] one_bytes = taken == 0 ? new_bytes : first_bytes;
    wire [4:0] one_end = one_bytes == 0 ? one_from : one_from + one_bytes - 1;
    wire       alone = taken == 0 ? takes : taken == 1 && !takes;
    wire [2:0] line_read = goes != 0 ? read_line : engine_line;

    always @(posedge clock) begin
        begun <= 1;
        assume (reset == !begun);
        assume (source != 3 && target != 3 && launch_source != 3 && launch_target != 3);
        asked <= {asked[1], reads};
        answers <= source == 0 ? reads_now[0] && by_memory[0].followed[0] : reads_now[1] && by_memory[1].followed[0];
        if (source == 2 && asked[2]) assume (beat_data[8*from[1:0] +: 8] == held);
        if (source != 2 && answers) assume (answer_data[8*BYTES*source + 8*from[1:0] +: 8] == held);
        if (begun) begin
            if (takes) assume (new_from + new_bytes <= 16 && new_to + new_bytes <= 16);
            if (takes && covers) assume (marks);
            if (takes && taken != 2) taken <= taken + 1;
            if (taken == 0) {first_from, first_bytes} <= {new_from, new_bytes};
            if (alone && (goes != 0 || (engine_valid && !engine_write)))
                its_lines: assert (line_read >= one_from[4:2] && line_read <= one_end[4:2]);
            undone <= undone + takes - is_done;
            one_at_a_time: assert (!(copy_done && core_done != 0));
            if (is_done) once: assert (undone != 0);
            if (write_ready != 3) always_ready <= 0;
            if (writes) begin
                its_data: assert (byte_written == held);
                not_twice: assert (!written);
                of_the_marked: assert (marked || (finished && !always_ready));
                written <= 1;
            end
            if (marks) begin
                marked <= 1;
                is_copy <= takes_copy;
                ahead <= undone - is_done;
            end else if (marked && is_done) begin
                ahead <= ahead - 1;
                if (ahead == 0) begin
                    its_kind: assert (copy_done == is_copy);
                    if (target == 2 || always_ready) written_first: assert (written || writes);
                    {marked, finished} <= 2'b01;
                end
            end
        end
    end
endmodule
