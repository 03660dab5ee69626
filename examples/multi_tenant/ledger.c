/* The tenant that works: seals each packet with its secret and gives it to the host.
 *
 * Handler memory: a secret of 64 bytes. Its scratchpad holds it as well, from the first packet on.
 * Host memory: 128 slots of 2 KiB, chosen by the source port: u32 seal, u32 bytes, the frame. The
 * seal is the sum of the frame's 32-bit words (little-endian, its last bytes left out), each
 * multiplied by a word of the secret in turn: were the secret or the packet touched by anybody, it
 * would be another.
 */
#include <handler.h>
#include <packets.h>

#define SECRET_WORDS 16u
#define SLOTS 128u
#define SLOT_BYTES 2048u

typedef struct {
    uint32_t secret[SECRET_WORDS];
    volatile uint32_t is_there;
} scratchpad_t;

typedef struct {
    uint32_t seal;
    uint32_t bytes;
} head_t;

static inline uint32_t seal_of(const uint32_t *secret, const uint32_t *word, uint32_t words)
{
    uint32_t seal = 0;

    for (uint32_t i = 0; i < words; i++)
        seal += word[i] * secret[i % SECRET_WORDS];
    return seal;
}

__handler__ void ledger_ph(handler_args_t *args)
{
    task_t *task = args->task;
    scratchpad_t *own = task->scratchpad[args->cluster_id];
    uint32_t bytes = MIN(task->pkt_mem_size, SLOT_BYTES - sizeof(head_t));
    const pkt_hdr_t *headers = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t seal;
    spin_cmd_t command;

    if (!own->is_there) { /* pinion: synchronises */
        /* pinion: intended: who comes at the same time writes the same */
        memcpy(own->secret, task->handler_mem, sizeof(own->secret));
        own->is_there = 1; /* pinion: synchronises */
    }
    seal = seal_of(own->secret, task->pkt_mem, bytes / 4);
    host += ntohs(headers->udp_hdr.src_port) % SLOTS * SLOT_BYTES;
    spin_dma_to_host(host + sizeof(head_t), (uint32_t)task->pkt_mem, bytes, 0, &command);
    spin_cmd_wait(command);
    spin_write_to_host(host, (uint64_t)bytes << 32 | seal, &command);
}
