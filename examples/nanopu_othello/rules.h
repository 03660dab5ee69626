/* The rules of Othello on two 64-bit sets, bit 8 * row + column: the mover's discs and the other's. */
#ifndef OTHELLO_RULES_H
#define OTHELLO_RULES_H

#include <stdint.h>

#define ALL_BUT_FIRST_COLUMN 0xfefefefefefefefeul
#define ALL_BUT_LAST_COLUMN 0x7f7f7f7f7f7f7f7ful

/* A direction: by how many bits a step shifts to the left (negative: to the right), and where it may
 * arrive without having wrapped around a row's end. */
typedef struct {
    int shift;
    uint64_t arrives;
} direction_t;

static const direction_t directions[8] = {
    { 1, ALL_BUT_FIRST_COLUMN },  { -1, ALL_BUT_LAST_COLUMN },
    { 8, -1ul },                  { -8, -1ul },
    { 9, ALL_BUT_FIRST_COLUMN },  { -9, ALL_BUT_LAST_COLUMN },
    { 7, ALL_BUT_LAST_COLUMN },   { -7, ALL_BUT_FIRST_COLUMN },
};

static inline uint64_t step(uint64_t set, direction_t to)
{
    return (to.shift > 0 ? set << to.shift : set >> -to.shift) & to.arrives;
}

/* Empty squares from which a row of the other's discs leads to one of the mover's: seen from the
 * mover's discs, the squares behind such rows. */
__attribute__((unused)) static uint64_t legal_moves(uint64_t own, uint64_t other)
{
    uint64_t moves = 0;

    for (int d = 0; d < 8; d++) {
        uint64_t row = step(own, directions[d]) & other;
        for (int length = 1; length < 6; length++)
            row |= step(row, directions[d]) & other;
        moves |= step(row, directions[d]);
    }
    return moves & ~(own | other);
}

static uint64_t turned(uint64_t move, uint64_t own, uint64_t other)
{
    uint64_t all = 0;

    for (int d = 0; d < 8; d++) {
        uint64_t row = 0, at = step(move, directions[d]);
        for (; at & other; at = step(at, directions[d]))
            row |= at;
        if (at & own)
            all |= row;
    }
    return all;
}

#endif
