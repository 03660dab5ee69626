/* What the root and the workers of a Barnes-Hut step say to each other. The first word of a
 * message holds its kind (bits 63:56) and two numbers of 28 bits; doubles follow, and what
 * stands beside the kind. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "cluster.h"

enum {
    BOX_OF_CORE,  /* worker to root: smallest and largest x, then y of its bodies */
    BOX,          /* root to workers: the square's corner (x, y), its side */
    BODIES,       /* worker to worker: count, messages in all; {id, x, y, vx, vy, mass} of each */
    SUMMARY,      /* worker to root: its core; {mass, x, y} of the bodies of each of its regions */
    TOP,          /* root to workers: {mass, x, y} of all regions */
    ASK,          /* worker to worker: region, body; the body's place {x, y} */
    FORCE,        /* the answer: body; {fx, fy} */
    FORCES_DONE,  /* worker to root: asks it sent */
    ADVANCE,      /* root to workers: let the bodies move */
    COLLECT,      /* root to a worker: what has become of your bodies? */
    RESULTS,      /* the answer: count, all it has; {id, x, y, vx, vy, fx, fy} of each */
};

#define NUMBER_BITS 28
#define word_of(kind, a, b) \
    ((uint64_t)(kind) << 56 | (uint64_t)(a) << NUMBER_BITS | (uint64_t)(b))
#define kind_of(word) ((uint64_t)(word) >> 56)
#define first_of(word) ((word) >> NUMBER_BITS & ((1ul << NUMBER_BITS) - 1))
#define second_of(word) ((word) & ((1ul << NUMBER_BITS) - 1))

/* Bodies that a message of 2048 bytes can hold. */
#define BODY_WORDS 6
#define MOST_BODIES_SENT 42
#define RESULT_WORDS 7
#define MOST_RESULTS_SENT 36
#define REGION_WORDS 3

/* The square is divided into 4 * 4 * 4 regions, which are dealt out to the cores one by one in the
 * order of the quad-tree: a core has some of the dense middle and some of the corners. What is
 * below a region belongs to its core alone; what is above, every core knows. */
#define TOP_LEVELS 3
#define REGIONS (1 << 2 * TOP_LEVELS)

/* The core of a region; its regions are `cores` apart. */
static inline uint64_t region_core(uint64_t region, uint64_t cores) { return region % cores; }

#endif
