/* What a client remembers of its operations, to be printed when it is done: one line each,
 *
 *   h INVOKED ANSWERED r|w KEY TAG
 *
 * with cycles of the clock that all nodes share, and the tag of the value that was read or written
 * (0: none). Whoever has the lines of all clients can check that they are linearizable. */
#ifndef NANOPU_HISTORY_H
#define NANOPU_HISTORY_H

#include <stdint.h>
#include <stdio.h>
#include "encoding.h"

#define HISTORY_OPERATIONS 4096

typedef struct {
    uint64_t invoked, answered, key, tag;
    char kind;
} operation_t;

typedef struct {
    operation_t operations[HISTORY_OPERATIONS];
    uint64_t count;
} history_t;

/* Begins an operation; what is read is known only when it is answered. */
static inline operation_t *history_begin(history_t *history, char kind, uint64_t key, uint64_t tag)
{
    operation_t *operation = &history->operations[history->count++];

    operation->kind = kind;
    operation->key = key;
    operation->tag = tag;
    operation->invoked = rdcycle();
    return operation;
}

static inline void history_end(operation_t *operation, uint64_t tag)
{
    operation->answered = rdcycle();
    operation->tag = tag;
}

static inline void history_print(const history_t *history)
{
    for (uint64_t i = 0; i < history->count; i++) {
        const operation_t *operation = &history->operations[i];
        printf("h %lu %lu %c %lu %#lx\n", operation->invoked, operation->answered, operation->kind,
               operation->key, operation->tag);
    }
}

/* Random numbers: a shift register of 64 bits, its state multiplied. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dul;
}

/* A number below `limit`, which has 32 bits. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
    return (random_next(state) >> 32) * limit >> 32;
}

/* The state that a seed and a number begin; never 0. */
static inline uint64_t random_start(uint64_t seed, uint64_t number)
{
    uint64_t state = ((seed * 0x9e3779b97f4a7c15ul ^ number) << 1) | 1;

    for (int i = 0; i < 4; i++)
        random_next(&state);
    return state;
}

#endif
