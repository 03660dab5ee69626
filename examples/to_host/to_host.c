/* A receive ring: each packet goes to the next slot of 2 KiB in host memory, and then its length,
 * so that the host sees a length only when the packet is there. Port 9200's packets are read from
 * their copy in L1, port 9201's from the packet buffer in L2.
 *
 * Slot: u32 sequence number + 1, u32 bytes; the frame from byte 64 on. The number of slots is what
 * the host memory holds. Handler memory: u32 packets so far.
 *
 * On the published RTL an atomic in handler memory does not answer what it found. With PUBLISHED_RTL
 * defined (see rtl/app.toml) a lock stands in for the answer.
 */
#include <handler.h>
#include <packets.h>
#include <spin_global_lock.h>

#define SLOT_BYTES 2048u
#define FRAME_OFFSET 64u

typedef struct {
    volatile int32_t packets;
    spin_global_lock_t lock; /* with PUBLISHED_RTL; each cluster's part begins its scratchpad */
} ring_t;

/* Gives the packet's number in the ring. */
static inline uint32_t next_number(handler_args_t *args)
{
    ring_t *ring = args->task->handler_mem;
#ifdef PUBLISHED_RTL
    spin_lock_t *own = args->task->scratchpad[args->cluster_id];
    uint32_t number;

    spin_global_lock(&ring->lock, own, args->cluster_id);
    number = (uint32_t)ring->packets;
    ring->packets = (int32_t)number + 1;
    spin_global_unlock(&ring->lock, own, args->cluster_id);
    return number;
#else
    return (uint32_t)amo_add(&ring->packets, 1);
#endif
}

static inline void deliver(handler_args_t *args, void *frame, uint32_t frame_bytes)
{
    task_t *task = args->task;
    uint32_t bytes = MIN(frame_bytes, SLOT_BYTES - FRAME_OFFSET);
    uint32_t slots = task->host_mem_size / SLOT_BYTES;
    uint32_t sequence = next_number(args);
    uint64_t slot = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    slot += (uint64_t)(sequence % slots) * SLOT_BYTES;
    spin_dma_to_host(slot + FRAME_OFFSET, (uint32_t)frame, bytes, 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(slot, (uint64_t)bytes << 32 | (sequence + 1), &command);
}

__handler__ void to_host_l1_ph(handler_args_t *args)
{
    deliver(args, args->task->pkt_mem, args->task->pkt_mem_size);
}

__handler__ void to_host_l2_ph(handler_args_t *args)
{
    const pkt_hdr_t *headers = args->task->pkt_mem;

    deliver(args, args->task->l2_pkt_mem,
            sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length));
}
