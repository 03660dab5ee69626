/* The tree of an Othello position: the rules are those of nanopu_othello. A move, or a pass where
 * only the other can move, is one step; where neither can, the game is over and the position is a
 * leaf. */
#ifndef OTHELLO_TREE_H
#define OTHELLO_TREE_H

#include "rules.h"

/* Words of a task {mover's discs, the other's, steps to go, number} and of its answer {number,
 * leaves}. */
#define TASK_BYTES 32
#define COUNT_BYTES 16

/* Counts the leaves so many steps below a position. */
static inline uint64_t leaves(uint64_t own, uint64_t other, uint64_t steps)
{
    if (steps == 0)
        return 1;
    uint64_t moves = legal_moves(own, other), count = 0;
    if (!moves)
        return legal_moves(other, own) ? leaves(other, own, steps - 1) : 1;
    if (steps == 1)
        return __builtin_popcountll(moves);
    for (uint64_t move = moves & -moves; moves; moves ^= move, move = moves & -moves) {
        uint64_t flips = turned(move, own, other);
        count += leaves(other & ~flips, own | move | flips, steps - 1);
    }
    return count;
}

#endif
