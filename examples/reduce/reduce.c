/* Element-wise sum of the vectors in a message's packets.
 *
 * Payload of a packet: u32 message number, u32 packet number, then up to 254 32-bit elements, all
 * little-endian. The sum of a message lies in the scratchpad of the message's home cluster, at the
 * place of its message queue, so that no two messages under way share one.
 * Result in host memory: 1 KiB per message number, {u32 message, u32 elements, sums}; then, once
 * that is written, a u64 at FLAGS + 8 * message number: elements << 32 | 1.
 */
#include <handler.h>
#include <packets.h>

#define QUEUES 256
#define ELEMENTS 254
#define FLAGS 0x80000u
#define MESSAGES 512u /* more do not fit in front of the flags */

typedef struct {
    uint32_t message;
    uint32_t packet_or_elements;
    int32_t element[ELEMENTS];
} vector_t;

typedef struct {
    pkt_hdr_t headers;
    vector_t vector;
} __attribute__((packed)) frame_t;

/* Elements lie behind 50 bytes of headers: at any alignment. */
typedef int32_t __attribute__((aligned(1), may_alias)) element_t;

static inline vector_t *sum_of(task_t *task)
{
    vector_t *sums = task->scratchpad[task->home_cluster_id];

    return &sums[(task->flow_id % QUEUES) / NB_CLUSTERS];
}

/* Elements in a packet: what its UDP header says, as far as they are there. */
static inline uint32_t elements_in(task_t *task, const frame_t *frame)
{
    uint32_t bytes =
        MIN(sizeof(eth_hdr_t) + ntohs(frame->headers.ip_hdr.length), task->pkt_mem_size);
    uint32_t before = sizeof(frame_t) - ELEMENTS * 4;

    return bytes < before ? 0 : MIN((bytes - before) / 4, ELEMENTS);
}

__handler__ void reduce_hh(handler_args_t *args)
{
    vector_t *sum = sum_of(args->task);
    const frame_t *frame = args->task->pkt_mem;

    memset(sum, 0, sizeof(*sum));
    sum->message = frame->vector.message;
}

__handler__ void reduce_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const frame_t *frame = task->pkt_mem;
    const element_t *in =
        (const element_t *)((const uint8_t *)frame + offsetof(frame_t, vector.element));
    vector_t *sum = sum_of(task);
    volatile int32_t *out = sum->element;
    uint32_t elements = elements_in(task, frame);

    amo_maxu(&sum->packet_or_elements, elements);
    /* Four loads first: no addition waits for its own. */
    for (; elements >= 4; elements -= 4, in += 4, out += 4) {
        int32_t a = in[0], b = in[1], c = in[2], d = in[3];
        amo_add(&out[0], a);
        amo_add(&out[1], b);
        amo_add(&out[2], c);
        amo_add(&out[3], d);
    }
    for (; elements > 0; elements--, in++, out++)
        amo_add(out, *in);
}

__handler__ void reduce_th(handler_args_t *args)
{
    task_t *task = args->task;
    vector_t *sum = sum_of(task);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    if (sum->message >= MESSAGES)
        return;
    spin_dma_to_host(host + sum->message * sizeof(*sum), (uint32_t)sum, sizeof(*sum), 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(host + FLAGS + sum->message * 8, (uint64_t)sum->packet_or_elements << 32 | 1,
                       &command);
}
