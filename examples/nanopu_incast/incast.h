/* What clients and server agree on. */
#ifndef INCAST_H
#define INCAST_H

#include <stdint.h>

#define MESSAGE_WORDS 128
#define MESSAGE_BYTES (8 * MESSAGE_WORDS)

/* A client's message: its number, then words that rise by a step and begin with one of its own. */
#define STEP 0x10001ul

static inline uint64_t first_word(uint64_t client)
{
    return client << 32 | 0x5eed;
}

#endif
