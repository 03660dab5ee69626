/* Looks up each UDP packet's source address in a hash table. Where it is found, the destination port
 * becomes what the table says and the packet goes to the host; the others are dropped.
 *
 * Handler memory: 65,536 entries of {u32 source address as on the wire, u32 port}, open addressing
 * with linear probing, at most 8 steps; port 0 marks a free entry. The image is made by
 * ../make_use_cases.py.
 * Host memory: 512 slots of 2 KiB; the source port chooses the slot.
 */
#include <handler.h>
#include <packets.h>

#define ENTRIES 65536u
#define MOST_STEPS 8u
#define SLOTS 512u
#define SLOT_BYTES 2048u

typedef struct {
    uint32_t address;
    uint32_t port;
} entry_t;

/* Multiplicative hash: the upper bits of the product depend on all bits of the key. */
static inline uint32_t hash(uint32_t address)
{
    return ntohl(address) * 0x9e3779b1u >> 16;
}

/* Gives the port for an address, or 0. */
static inline uint32_t find(const entry_t *table, uint32_t address)
{
    uint32_t at = hash(address);

    for (uint32_t step = 0; step < MOST_STEPS; step++, at++) {
        const entry_t *entry = &table[at % ENTRIES];
        uint32_t found = entry->address, port = entry->port;

        if (found == address || port == 0)
            return port;
    }
    return 0;
}

/* The checksum after `before` has become `after` (RFC 1624, equation 3); byte order does not matter.
 * A UDP checksum of 0 means none. */
static inline uint16_t checksum_after(uint16_t checksum, uint16_t before, uint16_t after)
{
    uint32_t sum = (uint16_t)~checksum + (uint16_t)~before + after;

    if (checksum == 0)
        return 0;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? 0xffff : (uint16_t)~sum;
}

__handler__ void filtering_ph(handler_args_t *args)
{
    task_t *task = args->task;
    const pkt_hdr_t *headers = task->pkt_mem;
    pkt_hdr_t *packet = task->l2_pkt_mem;
    uint32_t port = find(task->handler_mem, headers->ip_hdr.source_id);
    uint32_t bytes = sizeof(eth_hdr_t) + ntohs(headers->ip_hdr.length);
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint16_t before = headers->udp_hdr.dst_port, after = htons((uint16_t)port);
    spin_cmd_t command;

    if (port == 0 || bytes > SLOT_BYTES)
        return;
    packet->udp_hdr.dst_port = after;
    packet->udp_hdr.checksum = checksum_after(headers->udp_hdr.checksum, before, after);
    spin_dma_to_host(host + ntohs(headers->udp_hdr.src_port) % SLOTS * SLOT_BYTES,
                     (uint32_t)packet, bytes, 0, &command);
}
