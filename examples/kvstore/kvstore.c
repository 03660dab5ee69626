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
 * Many handlers work on a set at a time. A way belongs to whoever exchanged its key for CHANGING
 * (an atomic in L2); value and key are then written in this order, and others that find CHANGING look
 * again. Readers take nothing: they copy the set to L1, by DMA in the time of one load, and look at
 * the key in L2 again. Only putting a new key into a set takes the set's lock, so that no key is there
 * twice.
 */
#include <handler.h>
#include <packets.h>

#define SETS 125u
#define WAYS 4
#define HOST_REQUESTS 65536u
#define REPLY_BYTES 60u /* the shortest frame */
#define PAUSE_CYCLES 24 /* about as long as a change takes */

enum { READ, UPDATE, REPLY };
enum { FREE = 0, CHANGING = 0xffffffff }; /* no keys: those two are not cached */
enum { MISS = -1, AGAIN = -2 };

typedef struct {
    volatile uint32_t key[WAYS];
    volatile uint32_t value[WAYS];
    spin_lock_t lock;
} __attribute__((aligned(64))) set_t;

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

/* Copies a set to L1 and gives the way of a key in it, MISS, or AGAIN when it may be the way that is
 * being changed. */
static inline int find(const set_t *set, set_t *copy, uint32_t key)
{
    int otherwise = MISS;
    spin_dma_t transfer;

    spin_dma((void *)set, copy, offsetof(set_t, lock), SPIN_DMA_EXT2LOC, 0, &transfer);
    spin_dma_wait(transfer);
#pragma GCC unroll 4
    for (int way = 0; way < WAYS; way++) {
        uint32_t found = copy->key[way];

        if (found == key)
            return way;
        if (found == CHANGING)
            otherwise = AGAIN;
    }
    return otherwise;
}

/* Makes a way the caller's; gives the key that was there. */
static inline uint32_t take(set_t *set, int way)
{
    uint32_t key;

    while ((key = amo_swap(&set->key[way], CHANGING)) == CHANGING)
        rt_time_wait_cycles(PAUSE_CYCLES);
    return key;
}

static inline void put(set_t *set, int way, uint32_t key, uint32_t value)
{
    set->value[way] = value;
    set->key[way] = key;
}

/* Gives the way for a new key. */
static inline int room(const set_t *copy, uint32_t number)
{
    for (int way = 0; way < WAYS; way++) {
        if (copy->key[way] == FREE)
            return way;
    }
    return number % WAYS;
}

/* Puts a request's key into a set that does not have it; gives false when it has it meanwhile. */
static bool insert(set_t *set, set_t *copy, request_t request)
{
    uint32_t key = request.key;
    bool is_new;

    spin_lock_lock(&set->lock);
    is_new = find(set, copy, key) == MISS;
    if (is_new) {
        int way = room(copy, request.number);

        take(set, way);
        put(set, way, key, request.value);
    }
    spin_lock_unlock(&set->lock);
    return is_new;
}

static inline void update(set_t *set, set_t *copy, request_t request)
{
    uint32_t key = request.key;

    for (;;) {
        int way = find(set, copy, key);

        if (way == MISS && insert(set, copy, request))
            return;
        if (way >= 0) {
            uint32_t found = take(set, way);

            if (found == key) {
                put(set, way, key, request.value);
                return;
            }
            set->key[way] = found; /* evicted in between */
        }
        rt_time_wait_cycles(PAUSE_CYCLES);
    }
}

/* Gives whether the key is cached, and its value. */
static inline bool read(const set_t *set, set_t *copy, uint32_t key, uint32_t *value)
{
    for (;;) {
        int way = find(set, copy, key);

        if (way == MISS)
            return false;
        if (way >= 0) {
            *value = copy->value[way];
            if (set->key[way] == key)
                return true;
        }
        rt_time_wait_cycles(PAUSE_CYCLES);
    }
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
    if (key != FREE && key != CHANGING) {
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
