/* A set-associative cache in front of a key-value store on the host: 500 entries in 125 sets of 4
 * ways, in L2 handler memory. The set is the key modulo 125.
 *
 * Request, behind the UDP header, little-endian: u32 number, u32 key, u32 operation (0 read, 1
 * update), u32 value.
 * A read of a cached key is answered from the NIC: the request goes back as a packet of 60 bytes,
 * operation 2, with the value. All other requests are passed to the host, at 16 * (number modulo
 * 65,536) of its memory; an update is put into the cache as well. Where its set is full, the request's
 * number modulo 4 says which way makes room.
 *
 * Many handlers work on a set at a time, and the most popular key is in a fifth of the requests, so
 * nobody locks what is there already. A way is a pair of key and value that lies in one 64-bit word of
 * the memory, and is read and written whole, by DMA: whatever happens in between, a value belongs to
 * the key beside it. Only putting a new key into a set takes its lock, so that no key is there twice;
 * an update whose key was evicted and came back elsewhere, while it was under way, sees that afterwards
 * and takes its own away.
 *
 * On the published RTL a lock in handler memory never seems free. With PUBLISHED_RTL defined (see
 * rtl/app.toml) sets have locks that work there, too.
 */
#include <handler.h>
#include <packets.h>
#include <spin_global_lock.h>

#define SETS 125u
#define WAYS 4
#define HOST_REQUESTS 65536u
#define REPLY_BYTES 60u /* the shortest frame */

enum { READ, UPDATE, REPLY };
enum { FREE = 0, MISS = -1 }; /* FREE is no key: it is not cached */

typedef struct {
    uint32_t key;
    uint32_t value;
} __attribute__((aligned(8))) way_t;

#ifdef PUBLISHED_RTL
typedef spin_global_lock_t set_lock_t;
#else
typedef spin_lock_t set_lock_t;
#endif

typedef struct {
    way_t way[WAYS];
    set_lock_t lock;
} __attribute__((aligned(64))) set_t;

/* The same in each cluster. */
typedef struct {
    set_t copy[NB_CORES]; /* an HPU's own */
    spin_lock_t own[SETS]; /* the cluster's parts of the sets' locks, with PUBLISHED_RTL */
} scratchpad_t;

typedef struct {
    uint32_t number;
    uint32_t key;
    uint32_t operation;
    uint32_t value;
} request_t;

typedef struct {
    pkt_hdr_t headers;
    request_t request;
} __attribute__((packed)) frame_t;

/* Copies a set to L1, in the time of a load or two from L2. */
static inline void fetch(const set_t *set, set_t *copy)
{
    spin_dma_t transfer;

    /* pinion: intended: ways are words, read and written whole */
    spin_dma((void *)set, copy, sizeof(copy->way), SPIN_DMA_EXT2LOC, 0, &transfer);
    spin_dma_wait(transfer);
}

/* Writes a way, through its place in the copy. */
static inline void put(set_t *set, set_t *copy, int way, uint32_t key, uint32_t value)
{
    spin_dma_t transfer;

    copy->way[way] = (way_t){ key, value };
    /* pinion: intended: as above */
    spin_dma(&copy->way[way], &set->way[way], sizeof(way_t), SPIN_DMA_LOC2EXT, 0, &transfer);
    spin_dma_wait(transfer);
}

/* Gives the way of a key, from `first` on, or MISS. */
static inline int find(const set_t *copy, uint32_t key, int first)
{
#pragma GCC unroll 4
    for (int way = first; way < WAYS; way++) {
        if (copy->way[way].key == key)
            return way;
    }
    return MISS;
}

#ifdef PUBLISHED_RTL
/* Gives the cluster's part of a set's lock, by the HPU's copy. */
static inline spin_lock_t *own_lock(set_t *copy, uint32_t key)
{
    scratchpad_t *scratchpad = (scratchpad_t *)(copy - rt_core_id());

    return &scratchpad->own[key % SETS];
}

static inline void lock(set_t *set, set_t *copy, uint32_t key)
{
    spin_global_lock(&set->lock, own_lock(copy, key), rt_cluster_id());
}

static inline void unlock(set_t *set, set_t *copy, uint32_t key)
{
    spin_global_unlock(&set->lock, own_lock(copy, key), rt_cluster_id());
}
#else
static inline void lock(set_t *set, set_t *copy, uint32_t key)
{
    (void)copy;
    (void)key;
    spin_lock_lock(&set->lock);
}

static inline void unlock(set_t *set, set_t *copy, uint32_t key)
{
    (void)copy;
    (void)key;
    spin_lock_unlock(&set->lock);
}
#endif

static void insert(set_t *set, set_t *copy, request_t request)
{
    int way;

    lock(set, copy, request.key);
    fetch(set, copy);
    way = find(copy, request.key, 0); /* somebody else may have been faster */
    if (way == MISS)
        way = find(copy, FREE, 0);
    if (way == MISS)
        way = (int)(request.number % WAYS);
    put(set, copy, way, request.key, request.value);
    unlock(set, copy, request.key);
}

static inline void update(set_t *set, set_t *copy, request_t request)
{
    int way, first;

    fetch(set, copy);
    way = find(copy, request.key, 0);
    if (way == MISS) {
        insert(set, copy, request);
        return;
    }
    put(set, copy, way, request.key, request.value);
    fetch(set, copy);
    first = find(copy, request.key, 0);
    if (first != MISS && find(copy, request.key, first + 1) != MISS)
        put(set, copy, way, FREE, 0);
}

/* Gives whether the key is cached, and its value. */
static inline bool read(const set_t *set, set_t *copy, uint32_t key, uint32_t *value)
{
    int way;

    fetch(set, copy);
    way = find(copy, key, 0);
    if (way != MISS)
        *value = copy->way[way].value;
    return way != MISS;
}

/* Turns the request in L1 into the reply. Its UDP checksum is left out, as IPv4 allows; the IP
 * header's changes with the length alone (RFC 1624). */
static inline void reply(frame_t *frame, uint32_t value)
{
    pkt_hdr_t *headers = &frame->headers;
    mac_addr_t mac = headers->eth_hdr.src;
    uint32_t address = headers->ip_hdr.source_id;
    uint16_t port = headers->udp_hdr.src_port;
    uint16_t length = htons(sizeof(frame_t) - sizeof(eth_hdr_t));
    uint32_t sum =
        (uint16_t)~headers->ip_hdr.checksum + (uint16_t)~headers->ip_hdr.length + length;

    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    headers->ip_hdr.checksum = (uint16_t)~sum;
    headers->ip_hdr.length = length;
    headers->eth_hdr.src = headers->eth_hdr.dest;
    headers->eth_hdr.dest = mac;
    headers->ip_hdr.source_id = headers->ip_hdr.dest_id;
    headers->ip_hdr.dest_id = address;
    headers->udp_hdr.src_port = headers->udp_hdr.dst_port;
    headers->udp_hdr.dst_port = port;
    headers->udp_hdr.length = htons(sizeof(udp_hdr_t) + sizeof(request_t));
    headers->udp_hdr.checksum = 0;
    frame->request.operation = REPLY;
    frame->request.value = value;
}

__handler__ void kvstore_ph(handler_args_t *args)
{
    task_t *task = args->task;
    frame_t *frame = task->pkt_mem;
    uint32_t key = frame->request.key;
    set_t *set = (set_t *)task->handler_mem + key % SETS;
    set_t *copy = (set_t *)task->scratchpad[args->cluster_id] + args->hpu_id;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t value;
    spin_cmd_t command;

    if (task->pkt_mem_size < REPLY_BYTES)
        return;
    if (key != FREE) {
        if (frame->request.operation == READ && read(set, copy, key, &value)) {
            reply(frame, value);
            spin_send_packet(frame, REPLY_BYTES, &command);
            return;
        }
        if (frame->request.operation == UPDATE)
            update(set, copy, frame->request);
    }
    spin_dma_to_host(host + frame->request.number % HOST_REQUESTS * sizeof(request_t),
                     (uint32_t)&frame->request, sizeof(request_t), 0, &command);
}
