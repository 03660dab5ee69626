/* What a packet handler sees: its task, and the commands it can give.
 *
 *     __handler__ void name_ph(handler_args_t *args) { … }
 *
 * A handler runs to its end on one HPU, in user mode, with 1 KiB of stack. It reaches its packet in
 * L1 and L2, its context's handler memory and scratchpads, and the program's own data; anything
 * else stops it. The task completes when the handler has returned and all its commands and cluster
 * DMA transfers are done: waiting for them is needed only before their data are used or
 * overwritten.
 */
#ifndef PINION_HANDLER_H
#define PINION_HANDLER_H

#include <stddef.h>

#include "hwsched.h"
#include "pspin.h"
#include "spin_conf.h"
#include "spin_dma.h"
#include "util.h"

/* Keeps the function in the program although nothing calls it. */
#if __has_attribute(retain)
#define PINION_KEPT __attribute__((used, retain))
#else
#define PINION_KEPT __attribute__((used))
#endif
#ifdef __cplusplus
#define __handler__ extern "C" PINION_KEPT /* found by name */
#else
#define __handler__ PINION_KEPT
#endif

#define SPIN_DMA_EXT2LOC PLP_DMA_EXT2LOC
#define SPIN_DMA_LOC2EXT PLP_DMA_LOC2EXT
#define SPIN_OK 0
#define SPIN_FAIL 1

/* Finds the payload of an IP/UDP packet that starts at its IP header. */
#define GET_IP_UDP_PLD(pkt_ptr, pkt_pld_ptr, pkt_pld_len)                            \
    {                                                                                \
        ip_hdr_t *pinion_ip = (ip_hdr_t *)(pkt_ptr);                                 \
        pkt_pld_len = pinion_ip->length - sizeof(ip_hdr_t) - sizeof(udp_hdr_t);      \
        pkt_pld_ptr = (uint8_t *)(pkt_ptr) + pinion_ip->ihl * 4 + sizeof(udp_hdr_t); \
    }

/* The task: the HPU driver's own registers, read in place. They are volatile because the driver
 * decodes whole words only and a compiler may narrow other loads. */
typedef struct task {
    void *volatile handler_mem; /* L2 */
    volatile size_t handler_mem_size;
    void *volatile pkt_mem; /* L1 */
    volatile size_t pkt_mem_size;
    void *volatile scratchpad[PINION_SCRATCHPADS]; /* one per cluster, absolute */
    volatile size_t scratchpad_size[PINION_SCRATCHPADS];
    volatile uint32_t host_mem_high;
    volatile uint32_t host_mem_low;
    volatile size_t host_mem_size;
    void *volatile l2_pkt_mem;
    volatile uint32_t home_cluster_id;
    volatile uint32_t flow_id; /* index of the message's queue, below the machine's mpq.count */
} task_t;

typedef struct handler_args {
    task_t *task;
    uint32_t hpu_gid; /* cluster_id * cores per cluster + hpu_id */
    uint32_t cluster_id;
    uint32_t hpu_id;
} handler_args_t;

typedef void (*handler_fn)(handler_args_t *);

/* May be defined by the application: called once, in machine mode, by core 0 of cluster 0 before
 * the first packet. */
#ifdef __cplusplus
extern "C"
#endif
void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr);

/* ---- Cluster DMA ---- */

typedef dma_t spin_dma_t;

/* Starts a copy of `size` > 0 bytes. */
static inline int spin_dma(void *source, void *dest, size_t size, int direction, int options,
                           spin_dma_t *xfer)
{
    (void)direction;
    (void)options;
    if (size == 0)
        return SPIN_FAIL;
    *xfer = spin__memcpy_nonblk(source, dest, size);
    return SPIN_OK;
}

/* Waits for a copy. */
static inline int spin_dma_wait(spin_dma_t xfer)
{
    spin__wait_for_tf_completion(xfer);
    return SPIN_OK;
}

/* Says whether a copy is complete. */
static inline int spin_dma_test(spin_dma_t xfer, uint32_t *completed)
{
    *completed = (uint32_t)spin__tf_completed(xfer);
    return SPIN_OK;
}

/* ---- Locks ---- */

typedef futex_t spin_lock_t;

static inline int spin_lock_init(spin_lock_t *lock)
{
    futex_init(lock);
    return SPIN_OK;
}

/* Returns whether the lock was taken. */
static inline int spin_lock_try_lock(spin_lock_t *lock)
{
    return futex_try_lock(lock);
}

static inline int spin_lock_lock(spin_lock_t *lock)
{
    futex_lock_s(lock);
    return SPIN_OK;
}

static inline int spin_lock_unlock(spin_lock_t *lock)
{
    futex_unlock(lock);
    return SPIN_OK;
}

/* Many readers or one writer: the first reader takes the lock for all, the last gives it back. */
typedef struct spin_rw_lock {
    spin_lock_t glock;
    volatile int32_t num_readers;
} spin_rw_lock_t;

static inline int spin_rw_lock_r_lock(spin_rw_lock_t *rwlock)
{
    if (amo_add(&rwlock->num_readers, 1) == 0)
        spin_lock_lock(&rwlock->glock);
    return SPIN_OK;
}

static inline int spin_rw_lock_r_unlock(spin_rw_lock_t *rwlock)
{
    if (amo_add(&rwlock->num_readers, -1) == 1)
        spin_lock_unlock(&rwlock->glock);
    return SPIN_OK;
}

static inline int spin_rw_lock_w_lock(spin_rw_lock_t *rwlock)
{
    return spin_lock_lock(&rwlock->glock);
}

static inline int spin_rw_lock_w_unlock(spin_rw_lock_t *rwlock)
{
    return spin_lock_unlock(&rwlock->glock);
}

/* ---- Commands: at most four of an HPU are outstanding, the next one waits ---- */

typedef uint32_t spin_cmd_t;

/* Issues the command whose words are written; the handle may be null. */
static inline int pinion_issue(uint32_t info, spin_cmd_t *handle)
{
    MMIO_WRITE(CMD_INFO, info);
    asm_mem_fence();
    uint32_t id = MMIO_READ(CMD_ISSUE);
    if (handle)
        *handle = id;
    return SPIN_OK;
}

/* Waits, asleep, until the command is done. */
static inline int spin_cmd_wait(spin_cmd_t handle)
{
    MMIO_WRITE(CMD_WAIT, handle);
    asm_mem_fence();
    return SPIN_OK;
}

/* Says whether the command is done. */
static inline int spin_cmd_test(spin_cmd_t handle, bool *completed)
{
    MMIO_WRITE(CMD_TEST, handle);
    *completed = MMIO_READ(CMD_TEST) == 1;
    asm_mem_fence();
    return SPIN_OK;
}

static inline int pinion_send(uint32_t dest, uint32_t flow, void *data, uint32_t length,
                              spin_cmd_t *handle)
{
    MMIO_WRITE(CMD_WORD0, dest);
    MMIO_WRITE(CMD_WORD1, flow);
    MMIO_WRITE(CMD_WORD2, (uint32_t)(uintptr_t)data);
    MMIO_WRITE(CMD_WORD3, 0);
    MMIO_WRITE(CMD_WORD4, length);
    return pinion_issue(CMD_TYPE_NIC_SEND, handle);
}

/* Sends `length` bytes at `data` (L1 or L2) as one packet. */
static inline int spin_send_packet(void *data, uint32_t length, spin_cmd_t *handle)
{
    return pinion_send(0, 0, data, length, handle);
}

/* Puts `length` bytes at `data` to node `dest`. */
static inline int spin_rdma_put(uint32_t dest, void *data, uint32_t length, spin_cmd_t *handle)
{
    return pinion_send(dest, 1, data, length, handle);
}

static inline int pinion_host_dma(uint64_t host_addr, uint32_t nic_addr, uint32_t length,
                                  uint32_t to_host, bool event, spin_cmd_t *xfer)
{
    MMIO_WRITE(CMD_WORD0, (uint32_t)host_addr);
    MMIO_WRITE(CMD_WORD1, (uint32_t)(host_addr >> 32));
    MMIO_WRITE(CMD_WORD2, nic_addr);
    MMIO_WRITE(CMD_WORD3, length);
    MMIO_WRITE(CMD_WORD4, to_host);
    return pinion_issue(CMD_TYPE_HOST_DMA | (event ? CMD_EVENT : 0), xfer);
}

/* Copies `length` bytes at `nic_addr` (L1 or L2) to host memory. */
static inline int spin_dma_to_host(uint64_t host_addr, uint32_t nic_addr, uint32_t length,
                                   bool generate_event, spin_cmd_t *xfer)
{
    return pinion_host_dma(host_addr, nic_addr, length, 1, generate_event, xfer);
}

/* Copies `length` bytes of host memory to `nic_addr` (L1 or L2). */
static inline int spin_dma_from_host(uint64_t host_addr, uint32_t nic_addr, uint32_t length,
                                     bool generate_event, spin_cmd_t *xfer)
{
    return pinion_host_dma(host_addr, nic_addr, length, 0, generate_event, xfer);
}

/* Writes eight bytes, carried in the command itself, to host memory. */
static inline int spin_write_to_host(uint64_t host_addr, uint64_t user_data, spin_cmd_t *xfer)
{
    MMIO_WRITE(CMD_WORD0, (uint32_t)host_addr);
    MMIO_WRITE(CMD_WORD1, (uint32_t)(host_addr >> 32));
    MMIO_WRITE(CMD_WORD2, 8 << 1 | 1);
    MMIO_WRITE(CMD_WORD3, (uint32_t)user_data);
    MMIO_WRITE(CMD_WORD4, (uint32_t)(user_data >> 32));
    return pinion_issue(CMD_TYPE_HOST_DIRECT, xfer);
}

#define spin_host_write spin_write_to_host

#endif
