/* A receiver's strided datatype: the bytes of a message go to host memory in blocks with gaps.
 *
 * Handler memory: u32 bytes of a block, u32 bytes from one block's start to the next's.
 * Host memory: the blocks; at FLAG, once the message is complete, a u64 with its bytes.
 * The data go to the host by one DMA command per block they touch. The off-cluster DMA moves lines of
 * 64 bytes, and behind 52 bytes of headers the data touch more of them than needed; so the cluster's
 * DMA engine puts them where they lie in a line as they will in host memory.
 */
#include <handler.h>
#include <packets.h>

#define FLAG 0x200000u
#define LINE_BYTES 64u
#define BUFFER_BYTES (2048u + LINE_BYTES)
#define SCRATCHPAD (48 * 1024) /* as in app.toml */

typedef struct {
    uint32_t block_bytes;
    uint32_t stride_bytes;
} layout_t;

/* An HPU's buffers take turns: the completion of its last task may still be held, with commands that
 * read one of them, but not that of the task before. */
typedef struct {
    uint8_t buffer[2][BUFFER_BYTES];
    uint32_t turn;
    uint8_t unused[LINE_BYTES - 4];
} hpu_t;

static_assert(NB_CORES * sizeof(hpu_t) <= SCRATCHPAD, "the scratchpad is too small");

/* Bytes of the message in a packet: what its IP header says, as far as they are there. */
static inline uint32_t message_bytes(task_t *task, const slmp_pkt_hdr_t *headers)
{
    uint32_t bytes = MIN(sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length), task->pkt_mem_size);

    return bytes < sizeof(*headers) ? 0 : bytes - sizeof(*headers);
}

/* Copies the data to a buffer of this HPU, `shift` bytes behind the start of a line. */
static inline uint32_t shifted(handler_args_t *args, uint32_t bytes, uint32_t shift)
{
    hpu_t *hpu = (hpu_t *)args->task->scratchpad[args->cluster_id] + args->hpu_id;
    slmp_pkt_hdr_t *headers = args->task->pkt_mem;
    uint32_t start = (uint32_t)hpu->buffer[hpu->turn];
    uint8_t *to = (uint8_t *)(ALIGN_UP(start, LINE_BYTES) + shift);
    spin_dma_t copy;

    hpu->turn = !hpu->turn;
    spin_dma(headers + 1, to, bytes, SPIN_DMA_LOC2EXT, 0, &copy);
    spin_dma_wait(copy);
    return (uint32_t)to;
}

__handler__ void strided_ddt_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const slmp_pkt_hdr_t *headers = task->pkt_mem;
    const layout_t *layout = task->handler_mem;
    uint32_t block_bytes = layout->block_bytes, stride_bytes = layout->stride_bytes;
    uint32_t left = message_bytes(task, headers), at = ntohl(headers->slmp_hdr.pkt_off);
    uint32_t block = at / block_bytes, within, to;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t from;
    spin_cmd_t command;

    if (left == 0)
        return;
    /* Keeps the compiler from a second division, of 26 cycles, for the rest of the first. */
    __asm__("" : "+r"(block));
    within = at - block * block_bytes;
    to = block * stride_bytes;
    from = shifted(args, left, (host + to + within) % LINE_BYTES);
    while (left > 0) {
        uint32_t bytes = MIN(block_bytes - within, left);

        if (to + within + bytes > FLAG)
            return;
        spin_dma_to_host(host + to + within, from, bytes, 0, &command);
        left -= bytes;
        from += bytes;
        to += stride_bytes;
        within = 0;
    }
}

/* The last packet tells how long the message was. */
__handler__ void strided_ddt_th(handler_args_t *args)
{
    task_t *task = args->task;
    const slmp_pkt_hdr_t *headers = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    spin_write_to_host(host + FLAG, ntohl(headers->slmp_hdr.pkt_off) + message_bytes(task, headers), &command);
}
