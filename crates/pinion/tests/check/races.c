#include "seeded.h"
#include <spin_global_lock.h>

typedef struct {
    volatile uint32_t count;
    volatile uint32_t flag;
    volatile uint32_t data[4];
    spin_lock_t lock, other;
} shared_t;

// case counter: udp,size=128,count=400
__handler__ void counter_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifdef FIXED
    amo_add((volatile int32_t *)&shared->count, 1);
#else
    shared->count += 1; // finds lost_update
#endif
}

// case counter_in_l1: udp,size=128,count=400
__handler__ void counter_in_l1_ph(handler_args_t *args)
{
    shared_t *shared = args->task->scratchpad[args->cluster_id];
#ifdef FIXED
    spin_lock_lock(&shared->lock);
#endif
    shared->count++; // finds lost_update
#ifdef FIXED
    spin_lock_unlock(&shared->lock);
#endif
}

// case cluster_lock: udp,size=128,count=400
__handler__ void cluster_lock_ph(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *shared = task->handler_mem;
    shared_t *own = task->scratchpad[args->cluster_id];
#ifdef FIXED
    spin_lock_t *lock = &shared->lock;
    (void)own;
#else
    spin_lock_t *lock = &own->lock;
#endif
    spin_lock_lock(lock);
    shared->count += task->pkt_mem_size; // finds lost_update
    spin_lock_unlock(lock);
}

// case two_locks: udp,size=128,count=400
__handler__ void two_locks_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifdef FIXED
    spin_lock_t *lock = &shared->lock;
#else
    spin_lock_t *lock = args->hpu_id % 2 ? &shared->lock : &shared->other;
#endif
    spin_lock_lock(lock);
    shared->data[0] = shared->data[0] + args->hpu_id + 1; // finds lost_update
    spin_lock_unlock(lock);
}

// case reader: udp,size=128,count=400
__handler__ void reader_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;

    if (args->hpu_id % 2) {
        spin_lock_lock(&shared->lock);
        shared->data[0] = args->hpu_id; // finds data_race
        spin_lock_unlock(&shared->lock);
    } else {
#ifdef FIXED
        spin_lock_lock(&shared->lock);
#endif
        USE(shared->data[0]); // finds data_race
#ifdef FIXED
        spin_lock_unlock(&shared->lock);
#endif
    }
}

// case published: udp,size=128,count=400
__handler__ void published_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;

    if (args->hpu_gid == 0) {
        volatile uint32_t *is_done = args->task->scratchpad[0];

        if (!*is_done) {
            *is_done = 1;
            shared->data[1] = 42; // finds data_race
#ifdef FIXED
            amo_store(&shared->flag, 1);
#else
            shared->flag = 1; // finds data_race
#endif
        }
    } else if (shared->flag) { // finds data_race
        USE(shared->data[1]);
    }
}

// case mixed: udp,size=128,count=400
__handler__ void mixed_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifndef FIXED
    if (args->hpu_id == 0)
        shared->count += 1; // finds lost_update
    else
#endif
        amo_add((volatile int32_t *)&shared->count, 1);
}

// case after_unlock: udp,size=128,count=400
__handler__ void after_unlock_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;

    spin_lock_lock(&shared->lock);
    shared->data[0] = args->hpu_id;
#ifdef FIXED
    shared->data[1] = args->hpu_id;
    spin_lock_unlock(&shared->lock);
#else
    spin_lock_unlock(&shared->lock);
    shared->data[1] = args->hpu_id; // finds data_race
#endif
}

// case reset: slmp,size=256,bytes=2048,messages=16,order=interleaved; slmp, header
__handler__ void reset_hh(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifndef FIXED
    shared->count = 0; // finds data_race
#endif
    (void)shared;
}
__handler__ void reset_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;

    amo_add((volatile int32_t *)&shared->count, 1);
}

// case once: udp,size=128,count=400
__handler__ void once_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifdef FIXED
    spin_lock_lock(&shared->lock);
#endif
    if (!shared->flag) { // finds data_race
        shared->data[2] = 7; // finds data_race
        shared->flag = 1; // finds data_race
    }
    USE(shared->data[2]);
#ifdef FIXED
    spin_lock_unlock(&shared->lock);
#endif
}

// case copied_meanwhile: udp,size=128,count=400
__handler__ void copied_meanwhile_ph(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *shared = task->handler_mem;
    uint8_t *own = (uint8_t *)task->scratchpad[args->cluster_id] + 64 * args->hpu_id;
    spin_dma_t copy;

#ifdef FIXED
    spin_lock_lock(&shared->lock);
#endif
    if (args->hpu_id == 0) {
        shared->data[3] = task->pkt_mem_size; // finds data_race
    } else {
        spin_dma((void *)shared->data, own, 16, SPIN_DMA_EXT2LOC, 0, &copy); // finds data_race
        spin_dma_wait(copy);
    }
#ifdef FIXED
    spin_lock_unlock(&shared->lock);
#endif
}

// case told_meanwhile: udp,size=128,count=400
__handler__ void told_meanwhile_ph(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *shared = task->handler_mem;
    spin_cmd_t command;

#ifdef FIXED
    spin_lock_lock(&shared->lock);
#endif
    if (args->hpu_id == 0) {
        shared->data[3] = task->pkt_mem_size; // finds data_race
    } else {
        spin_dma_to_host(HOST(task), (uint32_t)shared->data, 16, 0, &command); // finds data_race
        spin_cmd_wait(command);
    }
#ifdef FIXED
    spin_lock_unlock(&shared->lock);
#endif
}

// case payload_race: slmp,size=256,bytes=4096,messages=4; slmp, header, completion
__handler__ void payload_race_hh(handler_args_t *args)
{
    shared_t *shared = (shared_t *)args->task->handler_mem + args->task->flow_id % 64;

    shared->count = 0;
}
__handler__ void payload_race_ph(handler_args_t *args)
{
    shared_t *shared = (shared_t *)args->task->handler_mem + args->task->flow_id % 64;
#ifdef FIXED
    amo_add((volatile int32_t *)&shared->count, 1);
#else
    shared->count += 1; // finds lost_update
#endif
}
__handler__ void payload_race_th(handler_args_t *args)
{
    shared_t *shared = (shared_t *)args->task->handler_mem + args->task->flow_id % 64;
    spin_cmd_t command;

    spin_write_to_host(HOST(args->task), shared->count, &command);
}

// case halves: udp,size=128,count=400
__handler__ void halves_ph(handler_args_t *args)
{
    volatile uint16_t *halves = args->task->scratchpad[args->cluster_id];
#ifdef FIXED
    halves[args->hpu_id] = (uint16_t)(halves[args->hpu_id] + 1); /* an HPU's own */
#else
    halves[args->hpu_id / 2] = (uint16_t)args->hpu_id; // finds data_race
#endif
}

// case both: udp,size=128,count=400; unfixed
__handler__ void both_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
    volatile uint32_t step[2];

    step[0] = 1;
    USE(step[1]); // finds uninitialised
    shared->count += step[0]; // finds lost_update
}

// case global_lock: udp,size=128,count=400
__handler__ void global_lock_ph(handler_args_t *args)
{
    task_t *task = args->task;
    shared_t *shared = task->handler_mem;
    shared_t *own = task->scratchpad[args->cluster_id];
    spin_global_lock_t *lock = (spin_global_lock_t *)(shared + 1);

#ifdef FIXED
    spin_global_lock(lock, &own->lock, args->cluster_id);
    shared->count += 1;
    spin_global_unlock(lock, &own->lock, args->cluster_id);
#else
    spin_global_lock(lock, &own->lock, args->cluster_id);
    spin_global_unlock(lock, &own->lock, args->cluster_id);
    shared->count += 1; // finds lost_update
#endif
}

// case in_units: udp,size=128,messages=64,packets=8,order=interleaved; units
__handler__ void in_units_ph(handler_args_t *args)
{
    shared_t *shared = args->task->handler_mem;
#ifdef FIXED
    amo_add((volatile int32_t *)&shared->data[3], 3);
#else
    shared->data[3] += 3; // finds lost_update
#endif
}
