/* An SLMP file receiver: packets of a message go to host memory, each at its offset, in any order;
 * packets with SYN are acknowledged; when every byte is there the host is told.
 *
 * slmp_receiver.h has what host programs need: memory, records, counters, what a message is.
 *
 * Packets of a message may come in any order, twice, and be handled by several HPUs at once; only
 * its first one, with offset 0, comes before the others, as SLMP wants. A bitmap says which packets
 * are there: a message's packets are about as long as the first, so that two never begin in the
 * same 2^shift bytes. Bytes count as received once they are in host memory, so whoever adds the
 * last ones knows that the message is complete, whether the end of the message came before or not.
 */
#include <handler.h>
#include <packets.h>
#include <spin_host.h>

#include "packet.h"
#include "slmp_receiver.h"

#define STALE_CYCLES 200000000u
#define TRIES 64
#define CLEARED_AHEAD 16 /* words: 512 packets */
#define POLL_CYCLES 256u /* lest those that wait for a lock keep its holder from the memory */

typedef enum { FREE, OPENING, OPEN, SPOILT, COMPLETE } state_t;

/* A message. Words that several HPUs change are changed by atomics alone. */
typedef struct {
    futex_t lock;
    volatile uint32_t state;
    volatile uint32_t id;
    volatile uint32_t source; /* as on the wire */
    volatile uint32_t first;  /* source port, and bytes of the first packet */
    volatile uint32_t shift;
    volatile uint32_t received;
    volatile uint32_t end;     /* length + 1; 0: unknown */
    volatile uint32_t highest; /* where the data reach to so far */
    volatile uint32_t cleared; /* words of the bitmap that belong to this message */
    volatile uint32_t last;    /* offset of the packet that told the end */
    volatile uint32_t active;  /* cycles() when it was last seen to move */
    uint32_t messages;
    uint32_t reserved[3];
} slot_t;

static_assert(sizeof(slot_t) == 64, "a slot is a line");
static_assert(sizeof(slmp_config_t) == SLMP_SLOTS_OFFSET, "slots follow the configuration");
static_assert(SLMP_SLOTS_OFFSET + SLMP_MAX_SLOTS * sizeof(slot_t) <= SLMP_BITMAPS_OFFSET,
              "bitmaps follow the slots");
static_assert((int)SLMP_COUNTERS <= MAX_COUNTERS, "too many counters");

/* A cluster's scratchpad. Handler memory is slow with atomics, which follow each other every ten
 * cycles there whoever they are from; so each cluster counts for itself. */
typedef struct {
    volatile int32_t users[SLMP_MAX_SLOTS]; /* HPUs that may be about to use a slot's words */
} scratchpad_t;

/* Where a message's things are. */
typedef struct {
    slot_t *slot;
    volatile int32_t *users; /* of this cluster */
    volatile uint32_t *bitmap;
    uint32_t number, slots_log2, slot_bytes, bitmap_words;
} place_t;

static inline uint32_t log2_of(uint32_t value)
{
    uint32_t log2 = 0;

    while (value >>= 1)
        log2++;
    return log2;
}

/* Finds the packet's slot: numbers of the configuration, or what the memories give. */
static inline void find_place(handler_args_t *args, uint32_t id, place_t *place)
{
    task_t *task = args->task;
    uint8_t *memory = task->handler_mem;
    const slmp_config_t *config = (const slmp_config_t *)memory;
    uint32_t slots = config->slots, bitmap_bytes;

    slots = slots == 0 || slots > SLMP_MAX_SLOTS ? SLMP_SLOTS_DEFAULT : slots;
    place->slots_log2 = log2_of(slots);
    place->number = id & (slots - 1);
    place->slot = (slot_t *)(memory + SLMP_SLOTS_OFFSET) + place->number;
    place->users = &((scratchpad_t *)task->scratchpad[args->cluster_id])->users[place->number];
    bitmap_bytes = task->handler_mem_size < SLMP_BITMAPS_OFFSET
                       ? 0
                       : (task->handler_mem_size - SLMP_BITMAPS_OFFSET) >> place->slots_log2 & ~3u;
    place->bitmap =
        (volatile uint32_t *)(memory + SLMP_BITMAPS_OFFSET + place->number * bitmap_bytes);
    place->bitmap_words = bitmap_bytes / 4;

    uint32_t before = CORE_COUNT * PAGE_SIZE + SLMP_RECORDS_BYTES;
    uint32_t room = task->host_mem_size < before
                        ? 0
                        : (task->host_mem_size - before) >> place->slots_log2 & ~(PAGE_SIZE - 1);
    uint32_t wanted = config->slot_bytes;
    place->slot_bytes = wanted != 0 && wanted < room ? wanted : room;
}

static inline uint64_t host_record(handler_args_t *args, const place_t *place)
{
    return HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE + place->number * SLMP_RECORD_BYTES;
}

static inline uint64_t host_region(handler_args_t *args, const place_t *place)
{
    return HOST_ADDR(args) + CORE_COUNT * PAGE_SIZE + SLMP_RECORDS_BYTES +
           (uint64_t)place->number * place->slot_bytes;
}

/* Gives the slot's state if it has the packet's message, else FREE. A first packet is its message's
 * only if it comes from where the one before came from and is as long. */
static inline uint32_t state_of(const slot_t *slot, const packet_t *packet)
{
    uint32_t state = slot->state;
    bool is_its = state >= OPEN && slot->id == packet->id && slot->source == packet->source &&
                  (packet->offset != 0 || slot->first == packet->first);

    return is_its ? state : FREE;
}

/* Announces that this HPU uses the slot, if the slot has the packet's message; gives its state, else
 * FREE. */
static inline uint32_t enter(const place_t *place, const packet_t *packet)
{
    uint32_t state;

    (void)amo_add(place->users, 1);
    state = state_of(place->slot, packet);
    if (state == FREE)
        (void)amo_add(place->users, -1);
    return state;
}

static inline void leave(const place_t *place)
{
    (void)amo_add(place->users, -1);
}

/* Says whether an HPU of any cluster uses the slot. */
static bool is_used(handler_args_t *args, uint32_t number)
{
    for (uint32_t cluster = 0; cluster < NB_CLUSTERS; cluster++)
        if (((const scratchpad_t *)args->task->scratchpad[cluster])->users[number] != 0)
            return true;
    return false;
}

/* Says whether a message may begin with the packet. */
static inline bool is_first(const place_t *place, const packet_t *packet)
{
    return packet->offset == 0 && (packet->bytes > 0 || EOM(packet->flags)) &&
           packet->bytes <= place->slot_bytes && place->bitmap_words > 0;
}

/* Makes the slot the packet's message's. Nobody uses the words it changes: who comes from now on
 * finds that the slot is no message's, and for who came before it waits, a short while. */
static bool take_over(handler_args_t *args, const place_t *place, const packet_t *packet)
{
    slot_t *slot = place->slot;
    uint32_t before = slot->state, tries = TRIES;

    amo_store(&slot->state, OPENING);
    while (is_used(args, place->number) && --tries > 0)
        rt_time_wait_cycles(32);
    if (tries == 0) {
        amo_store(&slot->state, before);
        return false;
    }
    if (before == OPEN || before == SPOILT)
        push_counter(&__host_data.counters[SLMP_ABANDONED], slot->received);
    slot->id = packet->id;
    slot->source = packet->source;
    slot->first = packet->first;
    slot->shift = log2_of(packet->bytes);
    slot->received = 0;
    slot->end = 0;
    slot->highest = 0;
    slot->cleared = 0;
    slot->active = cycles();
    amo_store(&slot->state, OPEN);
    return true;
}

/* Opens the message of a first packet; returns why not, or SLMP_COUNTERS if it is open. */
static __attribute__((noinline)) uint32_t open_message(handler_args_t *args, const place_t *place,
                                                       const packet_t *packet)
{
    const slmp_config_t *config = args->task->handler_mem;
    slot_t *slot = place->slot;
    uint32_t stale = config->stale_cycles ? config->stale_cycles : STALE_CYCLES;
    uint32_t result = SLMP_COUNTERS;

    futex_lock_s(&slot->lock);
    if (state_of(slot, packet) == FREE) {
        bool is_busy = slot->state == OPEN || slot->state == SPOILT;

        if (is_busy && cycles() - slot->active < stale)
            result = slot->id == packet->id ? SLMP_REUSED : SLMP_BUSY;
        else if (!take_over(args, place, packet))
            result = SLMP_BUSY;
    }
    futex_unlock(&slot->lock);
    return result;
}

/* Makes sure that the bitmap's word is the message's: the first packet that reaches behind what was
 * used so far clears it, and some more, so that the others seldom wait. */
static __attribute__((noinline)) void clear_up_to(const place_t *place, uint32_t word)
{
    slot_t *slot = place->slot;
    uint32_t stop = MIN(word + CLEARED_AHEAD, place->bitmap_words);

    while (!futex_try_lock(&slot->lock)) {
        rt_time_wait_cycles(POLL_CYCLES);
        if (word < slot->cleared)
            return;
    }
    if (word >= slot->cleared) {
        for (uint32_t at = slot->cleared; at < stop; at++)
            place->bitmap[at] = 0;
        amo_store(&slot->cleared, stop);
        slot->active = cycles();
    }
    futex_unlock(&slot->lock);
}

/* Says whether the packet fits the message as far as it is known, and notes its end if it has one;
 * `index` becomes its place in the bitmap.
 * A packet and an end that contradict each other do not miss each other: each first
 * notes itself. */
static inline uint32_t check(const place_t *place, const packet_t *packet, uint32_t state,
                             uint32_t *index)
{
    slot_t *slot = place->slot;
    uint32_t reach = packet->offset + packet->bytes, shift = slot->shift, end;

    if (packet->offset > place->slot_bytes || packet->bytes > place->slot_bytes - packet->offset)
        return SLMP_BEYOND;
    *index = packet->offset >> shift;
    if (*index / 32 >= place->bitmap_words)
        return SLMP_BEYOND;
    if (state == SPOILT)
        return SLMP_OTHER_ENDS;
    if (EOM(packet->flags)) {
        end = slot->end;
        if (end == 0) {
            slot->last = packet->offset;
            amo_store(&slot->end, end = reach + 1);
            if (slot->highest > reach) {
                amo_store(&slot->state, SPOILT);
                return SLMP_OTHER_ENDS;
            }
        }
        return end == reach + 1 && slot->last == packet->offset ? SLMP_COUNTERS : SLMP_OTHER_ENDS;
    }
    if (packet->bytes >> shift == 0)
        return SLMP_SHORT;
    (void)amo_maxu(&slot->highest, reach);
    end = slot->end;
    return end != 0 && reach + 1 > end ? SLMP_OTHER_ENDS : SLMP_COUNTERS;
}

/* Marks the packet; returns whether it was marked. */
static inline bool mark(const place_t *place, uint32_t index)
{
    uint32_t bit = 1u << (index & 31);

    if (index / 32 >= place->slot->cleared)
        clear_up_to(place, index / 32);
    return amo_or(&place->bitmap[index / 32], bit) & bit;
}

/* Writes eight bytes to the host and waits for them. */
static inline void write_pair(uint64_t host, uint32_t low, uint32_t high)
{
    spin_cmd_t command;

    spin_write_to_host(host, (uint64_t)high << 32 | low, &command);
    spin_cmd_wait(command);
}

/* Tells the host about a message: in its record, what tells that it is there last. */
static __attribute__((noinline)) void tell(handler_args_t *args, const place_t *place,
                                           uint32_t state)
{
    const slmp_config_t *config = args->task->handler_mem;
    slot_t *slot = place->slot;
    uint64_t host = host_record(args, place);
    bool asks = config->options & SLMP_HOST_REQUEST && state == SLMP_COMPLETE;

    if (state == SLMP_COMPLETE)
        slot->messages++;
    if (asks)
        host = HOST_PLD_ADDR(args);
    write_pair(host + 8, slot->id, slot->received);
    write_pair(host + 16, place->number, slot->source);
    write_pair(host, slot->messages << 8 | state, slot->end - 1);
    if (asks)
        (void)fpspin_host_req(args, sizeof(slmp_record_t));
}

/* Puts a packet's bytes where they belong and acknowledges; returns whether the message is complete
 * now. */
static inline bool store(handler_args_t *args, const place_t *place, const packet_t *packet,
                         uint32_t index)
{
    slmp_pkt_hdr_t *headers = args->task->pkt_mem;
    slot_t *slot = place->slot;
    uint32_t received;
    spin_cmd_t copy = 0;

    if (mark(place, index)) {
        push_counter(&__host_data.counters[SLMP_DUPLICATES], packet->bytes);
        if (SYN(packet->flags))
            acknowledge(args->task, packet->options);
        return false;
    }
    if (packet->bytes > 0)
        spin_dma_to_host(host_region(args, place) + packet->offset, (uint32_t)(headers + 1),
                         packet->bytes, 0, &copy);
    if (SYN(packet->flags))
        acknowledge(args->task, packet->options);
    if (packet->bytes > 0)
        spin_cmd_wait(copy);
    received = (uint32_t)amo_add((volatile int32_t *)&slot->received, (int32_t)packet->bytes);
    return received + packet->bytes + 1 == slot->end;
}

/* Handles a packet whose message has the slot, which was in this state. */
static inline void accept(handler_args_t *args, const place_t *place, const packet_t *packet,
                          uint32_t state)
{
    slot_t *slot = place->slot;
    uint32_t refusal, index;
    bool is_complete;

    if (state == COMPLETE) {
        bool is_within = packet->offset < slot->end && packet->bytes < slot->end - packet->offset;

        leave(place);
        if (!is_within) {
            refuse(SLMP_OTHER_ENDS, packet);
            return;
        }
        push_counter(&__host_data.counters[SLMP_LATE], packet->bytes);
        if (SYN(packet->flags))
            acknowledge(args->task, packet->options);
        return;
    }
    refusal = check(place, packet, state, &index);
    if (refusal != SLMP_COUNTERS) {
        leave(place);
        refuse(refusal, packet);
        return;
    }
    is_complete = store(args, place, packet, index) && slot->state == OPEN;
    if (is_complete) {
        push_counter(&__host_data.counters[SLMP_MESSAGES], slot->received);
        tell(args, place, SLMP_COMPLETE);
        amo_store(&slot->state, COMPLETE);
    }
    leave(place);
}

/* Opens a message before its other packets are handled. Repeated first packets come here, too, and
 * the first packet that the NIC sees after an end of message, whichever it is. */
__handler__ void slmp_hh(handler_args_t *args)
{
    packet_t packet;
    place_t place;

    if (read_packet(args->task, &packet) != SLMP_COUNTERS || packet.offset != 0)
        return;
    find_place(args, packet.id, &place);
    if (is_first(&place, &packet))
        (void)open_message(args, &place, &packet); /* the payload handler says why not */
}

/* Opens the message of a packet whose message has no slot, if that is what the packet does, and enters
 * it; returns why not, or SLMP_COUNTERS. */
static inline uint32_t begin(handler_args_t *args, const place_t *place, const packet_t *packet,
                             uint32_t *state)
{
    uint32_t refusal;

    if (packet->offset != 0)
        return SLMP_ORPHANS;
    if (!is_first(place, packet))
        return packet->bytes == 0 ? SLMP_SHORT : SLMP_BEYOND;
    refusal = open_message(args, place, packet);
    if (refusal != SLMP_COUNTERS)
        return refusal;
    *state = enter(place, packet);
    return *state == FREE ? SLMP_BUSY : SLMP_COUNTERS;
}

__handler__ void slmp_ph(handler_args_t *args)
{
    packet_t packet;
    place_t place;
    uint32_t refusal = read_packet(args->task, &packet), state = FREE;

    if (refusal == SLMP_COUNTERS) {
        find_place(args, packet.id, &place);
        state = enter(&place, &packet);
        if (state == FREE)
            refusal = begin(args, &place, &packet, &state);
    }
    if (refusal == SLMP_COUNTERS)
        accept(args, &place, &packet, state);
    else
        refuse(refusal, &packet);
}

/* After an end of message: the payload handlers of all packets before are done. If bytes are
 * missing, the host hears of it now, and again when they came. */
__handler__ void slmp_th(handler_args_t *args)
{
    const slmp_pkt_hdr_t *headers = args->task->pkt_mem;
    uint32_t id, missing;
    place_t place;
    slot_t *slot;

    if (args->task->pkt_mem_size < sizeof(*headers))
        return;
    id = ntohl(headers->slmp_hdr.msg_id);
    find_place(args, id, &place);
    slot = place.slot;
    (void)amo_add(place.users, 1);
    missing = slot->end - 1 - slot->received;
    if (slot->state == OPEN && slot->id == id && slot->end != 0 && missing != 0) {
        push_counter(&__host_data.counters[SLMP_EARLY_ENDS], missing);
        tell(args, &place, SLMP_INCOMPLETE);
    }
    leave(&place);
}
