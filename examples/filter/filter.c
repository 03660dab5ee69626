/* Looks up each UDP packet's source address and destination port in a hash table and does what the
 * entry says: deliver to the host, forward to the network, or drop. What is not in the table is
 * dropped.
 *
 * Handler memory: 1,024 entries of {u32 source address, u32 destination port, u32 action, u32
 * packets}, open addressing with linear probing, at most 8 steps; action 0 marks a free entry. The
 * image is made by ../make_pcaps.py.
 * Host memory: a slot of 1 KiB per entry (modulo what fits), from 4 KiB on, with the last packet it
 * delivered.
 */
#include <handler.h>
#include <packets.h>

#define ENTRIES 1024u
#define MOST_STEPS 8u
#define SLOTS_OFFSET 4096u
#define SLOT_BYTES 1024u

enum { FREE, TO_HOST, FORWARD };

typedef struct {
    uint32_t address; /* as on the wire */
    uint32_t port;
    uint32_t action;
    uint32_t packets;
} entry_t;

/* Multiplicative hash: the upper bits of the product depend on all bits of the key. */
static inline uint32_t hash(uint32_t address, uint32_t port)
{
    return (ntohl(address) ^ port << 16 ^ port) * 0x9e3779b1u >> 22;
}

static inline entry_t *find(entry_t *table, uint32_t address, uint32_t port)
{
    uint32_t at = hash(address, port);

    for (uint32_t step = 0; step < MOST_STEPS; step++, at++) {
        entry_t *entry = &table[at % ENTRIES];
        if (entry->action == FREE)
            return NULL;
        if (entry->address == address && entry->port == port)
            return entry;
    }
    return NULL;
}

__handler__ void filter_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const pkt_hdr_t *packet = task->pkt_mem;
    uint32_t bytes = sizeof(eth_hdr_t) + ntohs(packet->ip_hdr.length);
    entry_t *table = task->handler_mem;
    entry_t *entry = find(table, packet->ip_hdr.source_id, ntohs(packet->udp_hdr.dst_port));
    spin_cmd_t command;

    if (!entry || bytes > SLOT_BYTES)
        return;
    amo_add(&entry->packets, 1);
    if (entry->action == FORWARD) {
        spin_send_packet(task->l2_pkt_mem, bytes, &command);
    } else {
        uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
        uint32_t slots = (task->host_mem_size - SLOTS_OFFSET) / SLOT_BYTES;
        uint32_t slot = (uint32_t)(entry - table) % slots;

        spin_dma_to_host(host + SLOTS_OFFSET + slot * SLOT_BYTES, (uint32_t)task->l2_pkt_mem, bytes,
                         0, &command);
    }
}
