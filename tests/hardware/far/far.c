// Loads from packet memory and handler memory, stores to both and changes words of handler memory, in an order that
// the packet's bytes say.
#include <handler.h>

#define WORDS 1024
#define STEPS 12
// Steps at the beginning that change words, so that atomics wait for each other.
#define ATOMICS 4

__handler__ void far_ph(handler_args_t *args)
{
    const task_t *task = args->task;
    volatile uint32_t *handler = task->handler_mem, *packet = task->l2_pkt_mem;
    uint32_t by = 0, words = task->pkt_mem_size / 4;

    // What tells packets apart: addresses, ports, the payload's beginning.
    for (const uint32_t *at = task->pkt_mem, *end = at + 12; at != end; at++)
        by = (by ^ *at) * 2654435761u;
    for (int step = 0; step != STEPS; step++) {
        volatile uint32_t *near = handler + (by >> 8) % WORDS, *there = packet + (by >> 9) % words;
        switch (step < ATOMICS ? 6 : by >> 29) {
        case 0:
        case 1:
            by += *near;
            break;
        case 2:
        case 3:
            by ^= *there;
            break;
        case 4:
            *near = by;
            break;
        case 5:
            *there = by;
            break;
        case 6:
            by += __atomic_fetch_add((uint32_t *)near, by, __ATOMIC_RELAXED);
            break;
        default:
            // A word in two.
            by += *(volatile uint32_t *)((volatile uint8_t *)handler + (by >> 8) % (4 * WORDS - 4));
        }
        by = by * 2654435761u + step;
    }
}
