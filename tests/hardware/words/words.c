// Loads, stores, changes and loads in two words, in a few banks of the scratchpad, in an order that the packet's bytes say.
#include <handler.h>

#define WORDS 4
#define STEPS 24

__handler__ void words_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    volatile uint32_t *own = task->scratchpad[args->cluster_id];
    uint32_t by = 0;

    // What tells packets apart: addresses, ports, the payload's beginning.
    for (const uint32_t *at = task->pkt_mem, *end = at + 12; at != end; at++)
        by = (by ^ *at) * 2654435761u;
    for (int step = 0; step != STEPS; step++) {
        volatile uint32_t *word = own + (by >> 8) % WORDS;
        switch (by >> 30) {
        case 0:
            by += *word;
            break;
        case 1:
            *word = by;
            break;
        case 2:
            by += __atomic_fetch_add((uint32_t *)word, by, __ATOMIC_RELAXED);
            break;
        default:
            // A word in two.
            by += *(volatile uint32_t *)((volatile uint8_t *)word + 1 + (by >> 16) % 3);
        }
        by = by * 2654435761u + step;
    }
}
