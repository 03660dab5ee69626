/* What the handlers of slmp.c, their host program and figures agree on.
 *
 * Handler memory (all words little-endian):
 *   0     slmp_config_t, zeros mean defaults; to be written before messages come
 *   64    SLMP_MAX_SLOTS times slmp_slot_t, the handlers' own
 *   8192  a bitmap per slot, the rest of the handler memory in equal parts
 * Scratchpads: a word per slot in every cluster, the handlers' own, zero at first
 * Host memory:
 *   a page per HPU (spin_host.h), then
 *   a page of records: slot s has its slmp_record_t at 64 * s, then
 *   a region per slot for its message's bytes, slot_bytes long.
 *
 * A message goes to slot (message id modulo slots) and keeps it from its first packet, the one with
 * offset 0, until all its bytes are in host memory and the host has been told. What identifies it
 * is its id, the sender's address and the port its first packet came from: a sender that uses an id
 * again takes another port, or the packets count as repeated ones of the message before.
 * The limit of a message is slot_bytes, and 8 * bitmap bytes packets.
 */
#ifndef SLMP_RECEIVER_H
#define SLMP_RECEIVER_H

#include <stdint.h>

#define SLMP_SLOTS_DEFAULT 16
#define SLMP_MAX_SLOTS 64
#define SLMP_SLOTS_OFFSET 64
#define SLMP_BITMAPS_OFFSET 8192
#define SLMP_RECORDS_BYTES 4096
#define SLMP_RECORD_BYTES 64

/* Bits of slmp_config_t.options. */
#define SLMP_HOST_REQUEST 1 /* tell the host by fpspin_host_req and wait for its answer */
#define SLMP_VERIFY 2       /* check the IP header's and UDP's checksums; costs cycles per byte */

typedef struct {
    uint32_t slots;        /* a power of two, at most SLMP_MAX_SLOTS; 0: SLMP_SLOTS_DEFAULT */
    uint32_t slot_bytes;   /* 0: what the host memory gives, in whole pages */
    uint32_t options;
    uint32_t stale_cycles; /* a message silent for longer loses its slot; 0: 200,000,000 */
    uint32_t reserved[12];
} slmp_config_t;

/* What became of a message; slmp_record_t.state. */
enum { SLMP_NO_MESSAGE, SLMP_COMPLETE, SLMP_INCOMPLETE };

/* In a slot's record, and in the payload of a host request. `state`, the lowest bits of the first
 * eight bytes, is written last. */
typedef struct {
    uint32_t state;    /* the lowest eight bits; above, messages of this slot, modulo 2^24 */
    uint32_t bytes;    /* the message's length, which its last packet told */
    uint32_t id;
    uint32_t received; /* bytes that are there */
    uint32_t slot;
    uint32_t source;   /* the sender's address, in network order */
} slmp_record_t;

/* __host_data.counters: how often, and a sum of what the comment says. */
enum {
    SLMP_MESSAGES,     /* complete messages; bytes */
    SLMP_DUPLICATES,   /* packets that were there already; bytes */
    SLMP_LATE,         /* packets of a message that was complete; bytes */
    SLMP_BEYOND,       /* refused: beyond the region, the bitmap or the end; offset */
    SLMP_ORPHANS,      /* refused: no first packet came before; offset */
    SLMP_OTHER_ENDS,   /* refused: a second end elsewhere, or bytes behind the end; offset */
    SLMP_REUSED,       /* refused: another message with an id that is in use; offset */
    SLMP_BUSY,         /* refused: the slot has another message; offset */
    SLMP_LENGTHS,      /* refused: IP's, UDP's and the frame's lengths contradict; offset */
    SLMP_SHORT,        /* refused: shorter than packets of its message may be; offset */
    SLMP_STRAY_ACKS,   /* refused: an ACK; offset */
    SLMP_CHECKSUMS,    /* refused: a wrong checksum (SLMP_VERIFY); offset */
    SLMP_EARLY_ENDS,   /* last packets handled when bytes before were missing; missing bytes */
    SLMP_ABANDONED,    /* incomplete messages whose slot was taken; bytes received */
    SLMP_COUNTERS
};

#endif
