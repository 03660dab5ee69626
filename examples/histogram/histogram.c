/* Counts how often each number from 0 to 1,024 comes in the 32-bit little-endian integers of all
 * messages.
 *
 * Each cluster counts in its own L1 with atomics. Messages under way are counted in handler memory:
 * whenever the last of them is complete, its completion handler adds up the clusters' bins and copies
 * the histogram to the host; so the host has all of them when nothing more comes.
 * Host memory: 1,025 u32 from 0 on; a u64 at FLAG: messages in it << 32 | 1.
 *
 * Four instructions per integer leave none to look at its size. A larger one is its sender's mistake:
 * bins lie at the end of the scratchpad, so the NIC's memory protection stops its handler, or, for a
 * very large one, its count lands in this application's own memory. With CHECKED defined (see
 * app.toml) larger integers are left out, and the handler takes a fifth longer.
 *
 * On the published RTL an atomic in handler memory does not answer what it found, and a cluster's DMA
 * engine does not reach other clusters' L1. With PUBLISHED_RTL defined (see rtl/app.toml) a lock stands
 * in for the answer, and loads for the copies: 22 cycles a bin and cluster.
 */
#include <handler.h>
#include <packets.h>
#include <spin_global_lock.h>

#define BINS 1025u
#define FLAG 0x2000u
#define SCRATCHPAD (17 * 1024) /* as in app.toml */

typedef struct {
    volatile int32_t under_way;
    volatile int32_t complete;
#ifdef PUBLISHED_RTL
    spin_global_lock_t copying;
#else
    spin_lock_t copying;
#endif
} messages_t;

typedef struct {
    uint32_t bin[BINS];
} bins_t;

/* The same in each cluster. */
typedef struct {
    bins_t sum;
    bins_t buffer[2];
    spin_lock_t own; /* the cluster's part of the lock, with PUBLISHED_RTL */
    uint8_t unused[SCRATCHPAD - 4 * sizeof(bins_t) - sizeof(spin_lock_t)];
    bins_t bins;
} scratchpad_t;

static_assert(sizeof(scratchpad_t) == SCRATCHPAD, "the bins are not at the end");

typedef struct {
    slmp_pkt_hdr_t headers;
    uint32_t integer[];
} __attribute__((packed, aligned(4))) frame_t;

static inline bins_t *bins_of(task_t *task, uint32_t cluster)
{
    scratchpad_t *scratchpad = task->scratchpad[cluster];

    return &scratchpad->bins;
}

static inline void count(uint32_t *bin, uint32_t integer)
{
#ifdef CHECKED
    if (integer >= BINS)
        return;
#endif
    amo_add((volatile int32_t *)&bin[integer], 1);
}

/* Four loads first: no address waits for its own. */
static inline void count_four(uint32_t *bin, const uint32_t *in)
{
    uint32_t a = in[0], b = in[1], c = in[2], d = in[3];

    count(bin, a);
    count(bin, b);
    count(bin, c);
    count(bin, d);
}

__handler__ void histogram_hh(handler_args_t *args)
{
    messages_t *messages = args->task->handler_mem;

    amo_add_only(&messages->under_way, 1);
}

/* Integers in a packet: what its IP header says, as far as they are there. */
static inline uint32_t integers_in(task_t *task, const frame_t *frame)
{
    uint32_t bytes =
        MIN(sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length), task->pkt_mem_size);

    return bytes < sizeof(frame_t) ? 0 : (bytes - sizeof(frame_t)) / 4;
}

__handler__ void histogram_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    uint32_t left = integers_in(task, frame);
    const uint32_t *in = frame->integer;
    uint32_t *bin = bins_of(task, args->cluster_id)->bin;

    for (; left >= 16; left -= 16, in += 16) {
        count_four(bin, &in[0]);
        count_four(bin, &in[4]);
        count_four(bin, &in[8]);
        count_four(bin, &in[12]);
    }
    for (; left > 0; left--)
        count(bin, *in++);
}

static inline void add(uint32_t *to, const uint32_t *from)
{
#pragma GCC unroll 4
    for (uint32_t i = 0; i < BINS; i++)
        to[i] += from[i];
}

/* Tells the host what there is: the sum of the clusters' bins, and of how many messages. */
static inline void tell_host(uint64_t host, const bins_t *sum, uint32_t complete)
{
    spin_cmd_t command;

    spin_dma_to_host(host, (uint32_t)sum, sizeof(uint32_t) * BINS, 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(host + FLAG, (uint64_t)complete << 32 | 1, &command);
    spin_cmd_wait(command);
}

#ifdef PUBLISHED_RTL
/* Adds up the clusters' bins in this cluster's L1. */
static inline bins_t *sum_of(handler_args_t *args)
{
    scratchpad_t *own = args->task->scratchpad[args->cluster_id];
    spin_dma_t copy;

    spin_dma(&own->bins, &own->sum, sizeof(bins_t), SPIN_DMA_LOC2EXT, 0, &copy);
    spin_dma_wait(copy);
    for (uint32_t other = 1; other < NB_CLUSTERS; other++)
        add(own->sum.bin, bins_of(args->task, (args->cluster_id + other) % NB_CLUSTERS)->bin);
    return &own->sum;
}

/* The lock makes one of what the atomics cannot: to be complete, and to know that it was the last. */
__handler__ void histogram_th(handler_args_t *args)
{
    task_t *task = args->task;
    messages_t *messages = task->handler_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    scratchpad_t *own = task->scratchpad[args->cluster_id];

    spin_global_lock(&messages->copying, &own->own, args->cluster_id);
    messages->complete += 1;
    amo_add_only(&messages->under_way, -1); /* header handlers do not ask for the lock */
    if (messages->under_way == 0)
        tell_host(host, sum_of(args), (uint32_t)messages->complete);
    spin_global_unlock(&messages->copying, &own->own, args->cluster_id);
}
#else
/* Adds up the clusters' bins in this cluster's L1: while one is added the next is copied. */
static inline bins_t *sum_of(handler_args_t *args)
{
    scratchpad_t *own = args->task->scratchpad[args->cluster_id];
    spin_dma_t copy = 0;

    spin_dma(&own->bins, &own->sum, sizeof(bins_t), SPIN_DMA_LOC2EXT, 0, &copy);
    for (uint32_t other = 1; other <= NB_CLUSTERS; other++) {
        spin_dma_wait(copy);
        if (other < NB_CLUSTERS)
            spin_dma(bins_of(args->task, (args->cluster_id + other) % NB_CLUSTERS),
                     &own->buffer[other % 2], sizeof(bins_t), SPIN_DMA_EXT2LOC, 0, &copy);
        if (other > 1)
            add(own->sum.bin, own->buffer[(other - 1) % 2].bin);
    }
    return &own->sum;
}

/* The lock orders copies: a later one has counted no less. */
__handler__ void histogram_th(handler_args_t *args)
{
    task_t *task = args->task;
    messages_t *messages = task->handler_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t complete;

    amo_add(&messages->complete, 1);
    if (amo_add(&messages->under_way, -1) != 1)
        return;
    spin_lock_lock(&messages->copying);
    complete = (uint32_t)messages->complete;
    tell_host(host, sum_of(args), complete);
    spin_lock_unlock(&messages->copying);
}
#endif
