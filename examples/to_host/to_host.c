/* A receive ring: each packet goes to the next slot of 2 KiB in host memory, and then its length,
 * so that the host sees a length only when the packet is there. Port 9200's packets are read from
 * their copy in L1, port 9201's from the packet buffer in L2.
 *
 * Slot: u32 sequence number + 1, u32 bytes; the frame from byte 64 on. The number of slots is what
 * the host memory holds. Handler memory: u32 packets so far.
 */
#include <handler.h>
#include <packets.h>

#define SLOT_BYTES 2048u
#define FRAME_OFFSET 64u

static inline void deliver(task_t *task, void *frame, uint32_t frame_bytes)
{
    uint32_t bytes = MIN(frame_bytes, SLOT_BYTES - FRAME_OFFSET);
    uint32_t slots = task->host_mem_size / SLOT_BYTES;
    uint32_t sequence = (uint32_t)amo_add(task->handler_mem, 1);
    uint64_t slot = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t command;

    slot += (uint64_t)(sequence % slots) * SLOT_BYTES;
    spin_dma_to_host(slot + FRAME_OFFSET, (uint32_t)frame, bytes, 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(slot, (uint64_t)bytes << 32 | (sequence + 1), &command);
}

__handler__ void to_host_l1_ph(handler_args_t *args)
{
    deliver(args->task, args->task->pkt_mem, args->task->pkt_mem_size);
}

__handler__ void to_host_l2_ph(handler_args_t *args)
{
    const pkt_hdr_t *headers = args->task->pkt_mem;

    deliver(args->task, args->task->l2_pkt_mem,
            sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length));
}
