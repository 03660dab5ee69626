/* A lock that HPUs of all clusters share, also on the published RTL. Atomics outside the own cluster's L1
 * do their work in memory there, but answer 1 and not what they found: a `spin_lock_t` in L2 handler
 * memory never seems free. This lock asks nothing of them but their work.
 *
 * Each cluster has a flag in one word, in L2 handler memory. First an HPU takes its own cluster's lock, in
 * the own L1, so that one HPU of a cluster competes at a time. It raises its cluster's flag, and looks
 * who else has: flags below its own make it give way and try again, flags above it waits for (Burns's and
 * Lamport's algorithm with one bit for each). No two get in at once, and somebody always does; when all
 * clusters want it all the time, lower ones come first.
 *
 * Both parts are free when they are zero.
 */
#ifndef SPIN_GLOBAL_LOCK_H
#define SPIN_GLOBAL_LOCK_H

#include <assert.h>
#include <handler.h>

static_assert(NB_CLUSTERS <= 32, "a flag for each cluster needs a bit");

typedef struct spin_global_lock {
    volatile uint32_t flags;
} spin_global_lock_t;

/* Takes the lock; `own` is this cluster's part, in its L1. */
static inline void spin_global_lock(spin_global_lock_t *lock, spin_lock_t *own, uint32_t cluster)
{
    uint32_t mine = 1u << cluster;
    uint32_t below = mine - 1, above = ~(mine | below);

    spin_lock_lock(own);
    for (;;) {
        amo_or_only(&lock->flags, mine);
        if ((lock->flags & below) == 0)
            break;
        amo_and_only(&lock->flags, ~mine);
        while (lock->flags & below)
            ;
    }
    while (lock->flags & above)
        ;
}

static inline void spin_global_unlock(spin_global_lock_t *lock, spin_lock_t *own, uint32_t cluster)
{
    amo_and_only(&lock->flags, ~(1u << cluster));
    spin_lock_unlock(own);
}

#endif
