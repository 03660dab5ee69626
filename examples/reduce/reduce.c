/* Element-wise sum of the vectors in a message's packets.
 *
 * Payload of a packet: u32 message number, u32 packet number, then up to 254 32-bit elements, all
 * little-endian. Each cluster adds its packets to a partial sum of its own in its L1, where an
 * atomic addition takes 2 cycles and not more than 20 as in another's. That sum lies at the place
 * of the message's queue, so no two messages under way share one. The completion handler adds up
 * the clusters' partial sums.
 * Result in host memory: 1 KiB per message number, {u32 message, u32 elements, sums}; then, once
 * that is written, a u64 at FLAGS + 8 * message number: elements << 32 | 1.
 */
#include <handler.h>
#include <packets.h>

#define QUEUES 256
#define ELEMENTS 254
#define FLAGS 0x80000u
#define MESSAGES 512u /* more do not fit in front of the flags */
#define SCRATCHPAD (384 * 1024) /* as in app.toml */

typedef struct {
    uint32_t message;
    uint32_t packet_or_elements;
    int32_t element[ELEMENTS];
} vector_t;

typedef struct {
    pkt_hdr_t headers;
    vector_t vector;
} __attribute__((packed)) frame_t;

/* The same in each cluster. */
typedef struct {
    vector_t partial[QUEUES];
    vector_t buffer[NB_CORES][NB_CLUSTERS]; /* an HPU's own, for copies */
} scratchpad_t;

static_assert(sizeof(scratchpad_t) <= SCRATCHPAD, "the scratchpad is too small");

static inline vector_t *partial_of(task_t *task, uint32_t cluster)
{
    scratchpad_t *scratchpad = task->scratchpad[cluster];

    return &scratchpad->partial[task->flow_id % QUEUES];
}

static inline vector_t *buffer_of(handler_args_t *args)
{
    scratchpad_t *scratchpad = args->task->scratchpad[args->cluster_id];

    return scratchpad->buffer[args->hpu_id];
}

/* Elements in a packet: what its UDP header says, as far as they are there. */
static inline uint32_t elements_in(task_t *task, const frame_t *frame)
{
    uint32_t bytes =
        MIN(sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length), task->pkt_mem_size);
    uint32_t before = sizeof(frame_t) - ELEMENTS * 4;

    return bytes < before ? 0 : MIN((bytes - before) / 4, ELEMENTS);
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
    vector_t *vector = buffer_of(args);
    vector_t *sum = partial_of(task, args->cluster_id);
    uint32_t elements = elements_in(task, frame);
    const int32_t *in = vector->element;
    volatile int32_t *out = sum->element;
    spin_dma_t copy;

    /* Behind 50 bytes of headers each load would be misaligned and take two cycles. */
    spin_dma(&frame->vector, vector, offsetof(vector_t, element) + elements * 4, SPIN_DMA_LOC2EXT,
             0, &copy);
    amo_maxu(&sum->packet_or_elements, elements);
    spin_dma_wait(copy);
    sum->message = vector->message;

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

/* Copies the other clusters' partial sums here and adds them to this cluster's. */
static inline vector_t *total_of(handler_args_t *args)
{
    vector_t *total = partial_of(args->task, args->cluster_id);
    vector_t *others = buffer_of(args);
    uint32_t elements = total->packet_or_elements;
    spin_dma_t copy = 0;

    for (uint32_t other = 1; other < NB_CLUSTERS; other++)
        spin_dma(partial_of(args->task, (args->cluster_id + other) % NB_CLUSTERS),
                 &others[other - 1], sizeof(*others), SPIN_DMA_EXT2LOC, 0, &copy);
    spin_dma_wait(copy);

    /* A cluster that had none of the message's packets says 0. */
    for (uint32_t i = 0; i < NB_CLUSTERS - 1; i++) {
        total->message = MAX(total->message, others[i].message);
        elements = MAX(elements, others[i].packet_or_elements);
    }
    total->packet_or_elements = elements;
#pragma GCC unroll 8
    for (uint32_t e = 0; e < elements; e++) {
        int32_t sum = total->element[e];
#pragma GCC unroll 8
        for (uint32_t i = 0; i < NB_CLUSTERS - 1; i++)
            sum += others[i].element[e];
        total->element[e] = sum;
    }
    return total;
}

__handler__ void reduce_th(handler_args_t *args)
{
    task_t *task = args->task;
    vector_t *total = total_of(args);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    if (total->message >= MESSAGES)
        return;
    spin_dma_to_host(host + total->message * sizeof(*total), (uint32_t)total, sizeof(*total), 0,
                     &command);
    spin_cmd_wait(command);
    spin_write_to_host(host + FLAGS + total->message * 8,
                       (uint64_t)total->packet_or_elements << 32 | 1, &command);
}
