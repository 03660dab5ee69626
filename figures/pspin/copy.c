/* One core copies into its own L1: from there, from another cluster's L1, from L2; by loads and
 * stores, or by the cluster's DMA engine. The cluster's timer tells how long that takes.
 *
 * Handler memory: u32 bytes to copy, a multiple of 16; u32 cycles of the copy; u32 cycles of two
 * readings of the timer alone; u32 cycles of launching the DMA transfer. The data lie from byte
 * 1,024 on there, and from the middle of the scratchpads on.
 */
#include <handler.h>

#define TIMER 0x1b200408 /* cycles since reset */

typedef struct {
    uint32_t bytes, copy_cycles, timer_cycles, launch_cycles;
} job_t;

static inline uint32_t timer(void)
{
    uint32_t now = *(volatile uint32_t *)TIMER;

    asm_mem_fence();
    return now;
}

static inline void *in_l2(handler_args_t *args)
{
    return (char *)args->task->handler_mem + 1024;
}

static inline void *in_l1(handler_args_t *args, uint32_t cluster)
{
    return (char *)args->task->scratchpad[cluster] + args->task->scratchpad_size[cluster] / 2;
}

static inline uint32_t neighbour(handler_args_t *args)
{
    return args->cluster_id + 1 < NB_CLUSTERS ? args->cluster_id + 1 : 0;
}

/* Four words a round; the loads stand before the stores, so that none waits for its data. */
static inline void copy_words(volatile uint32_t *to, volatile uint32_t *from, uint32_t bytes)
{
    for (volatile uint32_t *end = from + bytes / 4; from != end; from += 4, to += 4) {
        uint32_t a = from[0], b = from[1], c = from[2], d = from[3];

        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
    }
}

static inline void measure(handler_args_t *args, void *from, bool by_dma)
{
    volatile job_t *job = args->task->handler_mem;
    void *to = args->task->scratchpad[args->cluster_id];
    uint32_t bytes = job->bytes, launched = 0;
    uint32_t before = timer();
    uint32_t start = timer();
    uint32_t end;

    if (by_dma) {
        spin_dma_t transfer = spin__memcpy_nonblk(from, to, bytes);

        launched = timer();
        spin_dma_wait(transfer);
    } else {
        copy_words(to, from, bytes);
    }
    end = timer();
    job->copy_cycles = end - start;
    job->timer_cycles = start - before;
    job->launch_cycles = launched - start;
}

__handler__ void copy_l1(handler_args_t *args)
{
    measure(args, in_l1(args, args->cluster_id), false);
}

__handler__ void copy_remote(handler_args_t *args)
{
    measure(args, in_l1(args, neighbour(args)), false);
}

__handler__ void copy_l2(handler_args_t *args)
{
    measure(args, in_l2(args), false);
}

__handler__ void dma_l1(handler_args_t *args)
{
    measure(args, in_l1(args, args->cluster_id), true);
}

__handler__ void dma_remote(handler_args_t *args)
{
    measure(args, in_l1(args, neighbour(args)), true);
}

__handler__ void dma_l2(handler_args_t *args)
{
    measure(args, in_l2(args), true);
}
