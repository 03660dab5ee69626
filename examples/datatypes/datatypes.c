/* Unpacks messages of an MPI datatype: every byte goes where the datatype has it in host memory.
 *
 * Messages are SLMP's. What a context needs: rules for SLMP; SLMP's message id as message id; the
 * payload handler `datatypes_ph` on every packet, no others; in handler memory a layout program
 * (layout.h) and behind it, zeroed, the slots' states; host memory for the slots and their results.
 *
 *     a packet with SYN is answered by an ACK once its data are in host memory
 *     a packet that came before (its ACK was lost) is answered, not placed again
 *     a packet that cannot be placed is not answered: no slot is free for its message, packets
 *     before it are missing, the message has more data than its elements, or a block leaves the
 *     slot; nor is one that is cut short
 *
 * A message's packets are placed in its order, whatever the sender's window is: a handler waits for
 * those of the packets before, as long as they make progress. With a window of one nobody waits.
 * Messages in different slots have nothing in common and run in parallel.
 *
 * DDT_ENGINE says how the interpreter (engine.h) works on a message's segment, its stack of loops:
 *
 *     0  dataloop: as MPICH's dataloops came to handlers. Handler memory holds the segment; a
 *        packet's handler takes all of it to its scratchpad, reads the layout program in handler
 *        memory, and puts the segment back. Each run of bytes is a command.
 *     1  in place: works on the segment in handler memory; each run of bytes is a command.
 *     2  fast: the cluster's DMA engine moves the segment, the scratchpad keeps the program,
 *        adjacent runs become one command.
 *
 * Host: host/ddt.h compiles datatypes, host/receive.c receives messages.
 */
#include <handler.h>
#include <packets.h>

#include "engine.h"

#define DATALOOP 0
#define IN_PLACE 1
#define FAST 2
#ifndef DDT_ENGINE
#define DDT_ENGINE DATALOOP
#endif

#define POLL_CYCLES 256u
/* A handler gives up on the packets before its own, as lost, when the message has not gone on for
 * so many polls: they are dispatched before it, but may have to wait for an HPU behind other
 * messages. */
#ifdef PINION_NATIVE
#define PATIENCE_POLLS 2000000u /* the thread that has it may be off its processor */
#else
#define PATIENCE_POLLS 1000u
#endif

/* Where a packet's data go. */
typedef struct {
    uint64_t host;   /* the slot's first byte */
    uint32_t origin; /* of the datatype in the slot */
    uint32_t limit;  /* bytes of the slot */
    uint32_t from;   /* the packet's next byte, in L1 */
    uint32_t held;   /* bytes at `from` that belong together, not yet sent */
    uint32_t held_at;
    spin_cmd_t last;
} sink_t;

static inline void send_run(sink_t *sink, uint32_t at, uint32_t bytes)
{
    spin_dma_to_host(sink->host + at, sink->from, bytes, 0, &sink->last);
    sink->from += bytes;
}

/* Sends a run of bytes; the fast engine holds it back as long as the next one touches it. */
static inline bool place(void *where, int32_t displacement, uint32_t bytes)
{
    sink_t *sink = where;
    uint32_t at = sink->origin + (uint32_t)displacement;

    if (at > sink->limit || bytes > sink->limit - at)
        return false;
#if DDT_ENGINE == FAST
    if (sink->held_at + sink->held == at) {
        sink->held += bytes;
        return true;
    }
    if (sink->held > 0)
        send_run(sink, sink->held_at, sink->held);
    sink->held_at = at;
    sink->held = bytes;
#else
    send_run(sink, at, bytes);
#endif
    return true;
}

/* Waits until all data sent are in host memory: commands of an HPU end in their order. */
static inline void finish_runs(sink_t *sink)
{
#if DDT_ENGINE == FAST
    if (sink->held > 0)
        send_run(sink, sink->held_at, sink->held);
#endif
    spin_cmd_wait(sink->last);
}

#if DDT_ENGINE == FAST
/* A cluster's scratchpad: segments of its HPUs, then the program, if there is room. */
typedef struct {
    ddt_segment_t segment[NB_CORES];
    volatile uint32_t lock;
    volatile uint32_t check; /* of the program that is here */
    uint32_t program[];
} scratch_t;

/* Gives the program from the cluster's scratchpad, after copying it there where it is not yet; the
 * one in handler memory when it does not fit. */
static const uint8_t *cached_program(handler_args_t *args, const ddt_layout_t *layout)
{
    scratch_t *scratch = args->task->scratchpad[args->cluster_id];
    uint32_t size = args->task->scratchpad_size[args->cluster_id];
    uint32_t check = layout->check;

    if (scratch->check == check)
        return (const uint8_t *)scratch->program;
    if (size < sizeof(*scratch) || layout->bytes > size - sizeof(*scratch))
        return (const uint8_t *)layout;
    spin_lock_lock(&scratch->lock);
    if (scratch->check != check) {
        spin__memcpy((void *)layout, scratch->program, layout->bytes);
        scratch->check = check;
    }
    spin_lock_unlock(&scratch->lock);
    return (const uint8_t *)scratch->program;
}
#endif

/* Lets the interpreter place a packet's data; returns how many bytes had a place. */
static uint32_t unpack(handler_args_t *args, const ddt_layout_t *layout, ddt_state_t *state,
                       uint32_t bytes, sink_t *sink)
{
    const uint8_t *program = (const uint8_t *)layout;
    uint32_t placed;

#if DDT_ENGINE == IN_PLACE
    placed = ddt_process(program, &state->segment, bytes, place, sink);
#else
    ddt_segment_t *segment =
        (ddt_segment_t *)args->task->scratchpad[args->cluster_id] + args->hpu_id;

#if DDT_ENGINE == FAST
    program = cached_program(args, layout);
    spin__memcpy(&state->segment, segment, sizeof(*segment));
    placed = ddt_process(program, segment, bytes, place, sink);
    spin__memcpy(segment, &state->segment, sizeof(*segment));
#else
    *segment = state->segment;
    placed = ddt_process(program, segment, bytes, place, sink);
    state->segment = *segment;
#endif
#endif
    return placed;
}

/* Gives the bytes of the message in a packet; false: it is cut short, or its UDP length makes no
 * sense. What is not there must not be read: it is another packet's. */
static inline bool find_bytes(task_t *task, uint32_t *bytes)
{
    const slmp_pkt_hdr_t *headers = task->pkt_mem;
    uint32_t there = task->pkt_mem_size, said;

    if (there < sizeof(*headers))
        return false;
    said = sizeof(eth_hdr_t) + sizeof(ip_hdr_t) + ntohs(headers->udp_hdr.length);
    *bytes = said - sizeof(*headers);
    return said >= sizeof(*headers) && said <= there;
}

/* Turns the packet's headers round and sends them as its acknowledgement. Its data are gone by now:
 * the frame's padding takes their place, as far as the packet, of so many bytes, has room for it. */
static void acknowledge(slmp_pkt_hdr_t *headers, uint32_t room)
{
    enum { SHORTEST_FRAME = 60 };
    mac_addr_t station = headers->eth_hdr.dest;
    uint32_t address = headers->ip_hdr.dest_id;
    uint16_t port = headers->udp_hdr.dst_port;

    headers->eth_hdr.dest = headers->eth_hdr.src;
    headers->eth_hdr.src = station;
    headers->ip_hdr.dest_id = headers->ip_hdr.source_id;
    headers->ip_hdr.source_id = address;
    headers->ip_hdr.length = htons(sizeof(*headers) - sizeof(eth_hdr_t));
    headers->ip_hdr.checksum = 0;
    headers->ip_hdr.checksum = ip_checksum(&headers->ip_hdr, sizeof(ip_hdr_t));
    headers->udp_hdr.dst_port = headers->udp_hdr.src_port;
    headers->udp_hdr.src_port = port;
    headers->udp_hdr.length = htons(sizeof(udp_hdr_t) + sizeof(slmp_hdr_t));
    headers->udp_hdr.checksum = 0; /* none: allowed over IPv4 */
    headers->slmp_hdr.flags = htons(MKACK);
    if (room < SHORTEST_FRAME) {
        memset(headers + 1, 0, room - sizeof(*headers));
        spin_send_packet(headers, room, NULL);
        return;
    }
    memset(headers + 1, 0, SHORTEST_FRAME - sizeof(*headers));
    spin_send_packet(headers, SHORTEST_FRAME, NULL);
}

/* What to do with a packet. */
enum turn { WAIT, BEGIN, PLACE, REPEAT, REFUSE };

/* Says whose turn it is, as the slot stands. */
static enum turn whose_turn(volatile const ddt_state_t *state, uint32_t flags, uint32_t message,
                            uint32_t offset)
{
    uint32_t status = state->status;

    if (state->message == message && (status != DDT_FREE || offset != 0)) {
        uint32_t expected = state->expected;

        if (status == DDT_FAILED)
            return REFUSE;
        if (offset < expected)
            return REPEAT;
        return status == DDT_ACTIVE && offset == expected ? PLACE : WAIT;
    }
    if (status != DDT_FREE && !(flags & DDT_FLAG_REUSE))
        return REFUSE; /* until the host sets the slot free */
    if (offset == 0 && (status == DDT_FREE || status == DDT_COMPLETE))
        return BEGIN;
    return WAIT;
}

/* Waits until it seems to be a packet's turn; false: the message does not go on. Without the lock,
 * lest those that wait keep it from those they wait for. */
static bool poll_turn(volatile const ddt_state_t *state, uint32_t flags, uint32_t message,
                      uint32_t offset)
{
    uint32_t seen = 0, polls = 0;

    while (whose_turn(state, flags, message, offset) == WAIT) {
        uint32_t expected = state->expected;

        polls = expected == seen ? polls + 1 : 0;
        if (polls == PATIENCE_POLLS)
            return false;
        seen = expected;
        rt_time_wait_cycles(POLL_CYCLES);
    }
    return true;
}

/* Waits for a packet's turn; PLACE: the slot is locked. */
static enum turn await_turn(ddt_state_t *state, const ddt_layout_t *layout, uint32_t message,
                            uint32_t offset)
{
    uint32_t flags = layout->flags;

    do {
        enum turn turn = WAIT;

        if (spin_lock_try_lock(&state->lock)) {
            turn = whose_turn(state, flags, message, offset);
            if (turn == BEGIN) {
                state->status = DDT_ACTIVE;
                state->message = message;
                state->expected = 0;
                ddt_begin((const uint8_t *)layout, &state->segment);
                turn = PLACE;
            }
            if (turn != PLACE)
                spin_lock_unlock(&state->lock);
        }
        if (turn != WAIT)
            return turn;
        rt_time_wait_cycles(POLL_CYCLES);
    } while (poll_turn(state, flags, message, offset));
    return REFUSE;
}

/* Places a packet's data and notes how far the message is; the slot is locked. */
static bool place_packet(handler_args_t *args, const ddt_layout_t *layout, ddt_state_t *state,
                         uint32_t slot, uint32_t bytes)
{
    task_t *task = args->task;
    slmp_pkt_hdr_t *headers = task->pkt_mem;
    uint64_t host = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    uint32_t expected = ntohl(headers->slmp_hdr.pkt_off) + bytes;
    sink_t sink = {
        .host = host + layout->data + slot * layout->slot_bytes,
        .origin = layout->origin,
        .limit = layout->slot_bytes,
        .from = (uint32_t)(headers + 1),
    };

    if (bytes > 0) {
        if (unpack(args, layout, state, bytes, &sink) != bytes) {
            state->status = DDT_FAILED;
            return false;
        }
        finish_runs(&sink);
    }
    state->expected = expected;
    if (EOM(ntohs(headers->slmp_hdr.flags))) {
        state->status = DDT_COMPLETE;
        spin_write_to_host(host + layout->results + 8 * slot,
                           (uint64_t)expected << 32 | ntohl(headers->slmp_hdr.msg_id), NULL);
    }
    return true;
}

__handler__ void datatypes_ph(handler_args_t *args)
{
    task_t *task = args->task;
    slmp_pkt_hdr_t *headers = task->pkt_mem;
    const ddt_layout_t *layout = task->handler_mem;
    uint32_t message, slot, bytes;
    ddt_state_t *state;
    enum turn turn;

    if (!find_bytes(task, &bytes) || layout->magic != DDT_MAGIC ||
        layout->version != DDT_VERSION)
        return;
    message = ntohl(headers->slmp_hdr.msg_id);
    slot = message % layout->slots;
    state = (ddt_state_t *)(task->handler_mem + layout->states) + slot;
    turn = await_turn(state, layout, message, ntohl(headers->slmp_hdr.pkt_off));
    if (turn == PLACE) {
        if (!place_packet(args, layout, state, slot, bytes))
            turn = REFUSE;
        spin_lock_unlock(&state->lock);
    }
    if (turn == REFUSE)
        (void)amo_add((volatile int32_t *)&state->refused, 1);
    else if (SYN(ntohs(headers->slmp_hdr.flags)))
        acknowledge(headers, task->pkt_mem_size);
}
