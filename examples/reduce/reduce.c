/* Element-wise sum of the vectors in a message's packets.
 *
 * Behind the SLMP header each packet carries up to 512 32-bit little-endian elements; with those 52
 * bytes of headers they lie aligned. Each cluster adds its packets to a partial sum of its own in
 * its L1, where an atomic addition takes a cycle and not more than 20 as in another's. That sum lies
 * at the place of the message's queue, so no two messages under way share one. The completion
 * handler adds up the clusters' partial sums.
 * Result in host memory: 2 KiB of sums per message number; then, once they are written, a u64 at
 * FLAGS + 8 * message number: elements << 32 | 1.
 *
 * On the published RTL a cluster's DMA engine does not reach other clusters' L1. With PUBLISHED_RTL
 * defined (see rtl/app.toml) each cluster clears its own partial sum when it gets the message's first
 * packet there, and the completion handler loads the others' sums: 22 cycles an element and cluster.
 */
#include <handler.h>
#include <packets.h>
#include <stddef.h>

#define QUEUES 256u
#define ELEMENTS 512u
#define FLAGS 0x100000u
#define MESSAGES 512u /* more do not fit in front of the flags */
#define SCRATCHPAD (640 * 1024) /* as in app.toml */

typedef struct {
    int32_t element[ELEMENTS];
    uint32_t elements;
    volatile uint32_t use; /* the use of the queue that the sum is of, with PUBLISHED_RTL */
    spin_lock_t clearing;
    uint32_t reserved;
} vector_t;

typedef struct {
    slmp_pkt_hdr_t headers;
    int32_t element[ELEMENTS];
} __attribute__((packed, aligned(4))) frame_t;

/* The same in each cluster. */
typedef struct {
    vector_t partial[QUEUES];
    vector_t buffer[NB_CORES][2]; /* an HPU's own, for copies */
} scratchpad_t;

static_assert(sizeof(scratchpad_t) <= SCRATCHPAD, "the scratchpad is too small");

static inline vector_t *partial_of(task_t *task, uint32_t cluster)
{
    scratchpad_t *scratchpad = task->scratchpad[cluster];

    return &scratchpad->partial[task->flow_id % QUEUES];
}

/* Elements in a packet: what its UDP header says, as far as they are there. */
static inline uint32_t elements_in(task_t *task, const frame_t *frame)
{
    uint32_t bytes =
        MIN(sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length), task->pkt_mem_size);
    uint32_t before = sizeof(slmp_pkt_hdr_t);

    return bytes < before ? 0 : MIN((bytes - before) / 4, ELEMENTS);
}

#ifdef PUBLISHED_RTL
/* In handler memory: how often each queue was used. */
typedef struct {
    volatile uint32_t use[QUEUES];
} queues_t;

static inline uint32_t use_of(task_t *task)
{
    queues_t *queues = task->handler_mem;

    return queues->use[task->flow_id % QUEUES];
}

/* A message of the queue begins: what is there is of one before. No other handler of it runs. */
__handler__ void reduce_hh(handler_args_t *args)
{
    queues_t *queues = args->task->handler_mem;

    queues->use[args->task->flow_id % QUEUES] += 1;
}

/* Clears this cluster's partial sum, unless that was done for this message. */
static inline void prepare(task_t *task, vector_t *own)
{
    static const vector_t zero;
    uint32_t use = use_of(task);
    spin_dma_t copy;

    if (own->use == use) /* pinion: synchronises */
        return;
    spin_lock_lock(&own->clearing);
    if (own->use != use) {
        spin_dma((void *)&zero, own, offsetof(vector_t, use), SPIN_DMA_EXT2LOC, 0, &copy);
        spin_dma_wait(copy);
        own->use = use; /* pinion: synchronises */
    }
    spin_lock_unlock(&own->clearing);
}
#else
static inline void prepare(task_t *task, vector_t *own)
{
    (void)task;
    (void)own;
}

/* Clears the partial sums: this cluster's from L2, whose port all clusters share, the others' from
 * that. No need to wait for those: the task completes, and payload handlers begin, when they are
 * done. */
__handler__ void reduce_hh(handler_args_t *args)
{
    static const vector_t zero;
    vector_t *own = partial_of(args->task, args->cluster_id);
    spin_dma_t copy;

    spin_dma((void *)&zero, own, sizeof(zero), SPIN_DMA_EXT2LOC, 0, &copy);
    spin_dma_wait(copy);
    for (uint32_t other = 1; other < NB_CLUSTERS; other++)
        spin_dma(own, partial_of(args->task, (args->cluster_id + other) % NB_CLUSTERS),
                 sizeof(*own), SPIN_DMA_LOC2EXT, 0, &copy);
}
#endif

/* Four loads first: no addition waits for its own. */
static inline void add_four(volatile int32_t *sum, const int32_t *in)
{
    int32_t a = in[0], b = in[1], c = in[2], d = in[3];

    amo_add(&sum[0], a);
    amo_add(&sum[1], b);
    amo_add(&sum[2], c);
    amo_add(&sum[3], d);
}

__handler__ void reduce_ph(handler_args_t *args)
{
    task_t *task = args->task;
    frame_t *frame = task->pkt_mem;
    vector_t *sum = partial_of(task, args->cluster_id);
    uint32_t elements = elements_in(task, frame);
    const int32_t *in = frame->element;
    volatile int32_t *out = sum->element;

    prepare(task, sum);
    amo_maxu(&sum->elements, elements);
    for (; elements >= 16; elements -= 16, in += 16, out += 16) {
        add_four(&out[0], &in[0]);
        add_four(&out[4], &in[4]);
        add_four(&out[8], &in[8]);
        add_four(&out[12], &in[12]);
    }
    for (; elements >= 4; elements -= 4, in += 4, out += 4)
        add_four(out, in);
    for (; elements > 0; elements--, in++, out++)
        amo_add(out, *in);
}

static inline void add(vector_t *total, const vector_t *part)
{
    uint32_t elements = part->elements; /* 0 where the cluster had none of the packets */

    total->elements = MAX(total->elements, elements);
#pragma GCC unroll 8
    for (uint32_t e = 0; e < elements; e++)
        total->element[e] += part->element[e];
}

#ifdef PUBLISHED_RTL
/* Adds the other clusters' partial sums to this cluster's, which may have had no packet itself. */
static inline vector_t *total_of(handler_args_t *args)
{
    task_t *task = args->task;
    vector_t *total = partial_of(task, args->cluster_id);

    prepare(task, total);
    for (uint32_t other = 1; other < NB_CLUSTERS; other++) {
        vector_t *part = partial_of(task, (args->cluster_id + other) % NB_CLUSTERS);

        if (part->use == total->use)
            add(total, part);
    }
    return total;
}
#else
/* Adds the other clusters' partial sums to this cluster's: while one is added the next is copied. */
static inline vector_t *total_of(handler_args_t *args)
{
    task_t *task = args->task;
    vector_t *total = partial_of(task, args->cluster_id);
    scratchpad_t *scratchpad = task->scratchpad[args->cluster_id];
    vector_t *buffer = scratchpad->buffer[args->hpu_id];
    spin_dma_t copy = 0;

    for (uint32_t other = 1; other <= NB_CLUSTERS; other++) {
        if (other > 1)
            spin_dma_wait(copy);
        if (other < NB_CLUSTERS)
            spin_dma(partial_of(task, (args->cluster_id + other) % NB_CLUSTERS),
                     &buffer[other % 2], sizeof(*buffer), SPIN_DMA_EXT2LOC, 0, &copy);
        if (other > 1)
            add(total, &buffer[(other - 1) % 2]);
    }
    return total;
}
#endif

__handler__ void reduce_th(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    uint32_t message = ntohl(frame->headers.slmp_hdr.msg_id);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    vector_t *total = total_of(args);
    spin_cmd_t command;

    if (message >= MESSAGES)
        return;
    spin_dma_to_host(host + message * sizeof(total->element), (uint32_t)total,
                     sizeof(total->element), 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(host + FLAGS + message * 8, (uint64_t)total->elements << 32 | 1, &command);
}
