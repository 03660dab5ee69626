/* Sum of all 32-bit little-endian integers of a message.
 *
 * A payload handler adds in registers and ends with one atomic addition to a sum in its own
 * cluster's L1, which lies at the place of the message's queue. The completion handler adds the
 * clusters' sums and copies the result to the host.
 * Host memory: at 8 * message number, u32 sum (modulo 2^32) and u32 number of integers.
 */
#include <handler.h>
#include <packets.h>

#define QUEUES 256u

typedef struct {
    volatile int32_t sum;
    volatile int32_t integers;
} total_t;

typedef struct {
    slmp_pkt_hdr_t headers;
    int32_t integer[];
} __attribute__((packed, aligned(4))) frame_t;

static inline total_t *total_of(task_t *task, uint32_t cluster)
{
    total_t *totals = task->scratchpad[cluster];

    return &totals[task->flow_id % QUEUES];
}

__handler__ void aggregate_hh(handler_args_t *args)
{
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++) {
        total_t *total = total_of(args->task, cluster);

        total->sum = 0;
        total->integers = 0;
    }
}

/* Integers in a packet: what its IP header says, as far as they are there. */
static inline uint32_t integers_in(task_t *task, const frame_t *frame)
{
    uint32_t bytes =
        MIN(sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length), task->pkt_mem_size);

    return bytes < sizeof(frame_t) ? 0 : (bytes - sizeof(frame_t)) / 4;
}

__handler__ void aggregate_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    uint32_t integers = integers_in(task, frame), left = integers;
    const int32_t *in = frame->integer;
    int32_t sum = 0;
    total_t *total = total_of(task, args->cluster_id);

    /* Four loads first: no addition waits for its own. */
    for (; left >= 16; left -= 16, in += 16) {
#pragma GCC unroll 4
        for (uint32_t i = 0; i < 16; i += 4) {
            int32_t a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];

            sum += a;
            sum += b;
            sum += c;
            sum += d;
        }
    }
    for (; left > 0; left--)
        sum += *in++;
    amo_add(&total->sum, sum);
    amo_add(&total->integers, (int32_t)integers);
}

__handler__ void aggregate_th(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t at = ntohl(frame->headers.slmp_hdr.msg_id) * sizeof(total_t);
    total_t *own = total_of(task, args->cluster_id);
    spin_cmd_t command;

    for (uint32_t other = 1; other < NB_CLUSTERS; other++) {
        total_t *total = total_of(task, (args->cluster_id + other) % NB_CLUSTERS);

        own->sum += total->sum;
        own->integers += total->integers;
    }
    if (at < task->host_mem_size)
        spin_dma_to_host(host + at, (uint32_t)own, sizeof(*own), 0, &command);
}
