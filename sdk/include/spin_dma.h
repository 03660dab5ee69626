/* The cluster's DMA engine: copies between this cluster's L1, other clusters' L1 and L2, any
 * direction. A transfer's id grows with each launch on the same port; done = all ids up to it. */
#ifndef PINION_SPIN_DMA_H
#define PINION_SPIN_DMA_H

#include <stddef.h>
#include <stdint.h>

#include "pinion_map.h"

/* Direction of spin_dma, as its callers name it; the engine finds it out from the addresses. */
#define PLP_DMA_LOC2EXT 0
#define PLP_DMA_EXT2LOC 1

typedef volatile struct {
    uint32_t source, source_high;
    uint32_t destination, destination_high;
    uint32_t bytes, reserved;
    uint32_t launch, reserved_too; /* a read launches and returns the id */
    uint32_t done;                 /* last id that is complete */
} pinion_dma_port_t;

#define PINION_OWN_DMA ((pinion_dma_port_t *)PINION_DMA_PORT)
#define PINION_PUBLIC_DMA(cluster)                                     \
    ((pinion_dma_port_t *)(PINION_L1_BASE + PINION_DMA_PUBLIC_OFFSET + \
                           (cluster) * PINION_L1_STRIDE))

#ifdef PINION_NATIVE
#include "../native/dma.h"
#else

static inline uint32_t pinion_dma_launch(pinion_dma_port_t *port, void *from, void *to,
                                         uint32_t bytes)
{
    __asm__ volatile("" ::: "memory");
    port->source = (uint32_t)(uintptr_t)from;
    port->destination = (uint32_t)(uintptr_t)to;
    port->bytes = bytes;
    return port->launch;
}

static inline char pinion_dma_done(pinion_dma_port_t *port, uint32_t transfer)
{
    char done = transfer <= port->done;

    __asm__ volatile("" ::: "memory");
    return done;
}

#endif

static inline void pinion_dma_wait(pinion_dma_port_t *port, uint32_t transfer)
{
    while (!pinion_dma_done(port, transfer))
        __asm__ volatile("nop");
}

/* Starts a copy through this core's port and returns its id. */
static inline uint32_t spin__memcpy_nonblk(void *from, void *to, uint32_t bytes)
{
    return pinion_dma_launch(PINION_OWN_DMA, from, to, bytes);
}

/* Copies and waits. */
static inline void spin__memcpy(void *from, void *to, uint32_t bytes)
{
    pinion_dma_wait(PINION_OWN_DMA, spin__memcpy_nonblk(from, to, bytes));
}

/* Waits until the transfer is complete. */
static inline void spin__wait_for_tf_completion(uint32_t transfer)
{
    pinion_dma_wait(PINION_OWN_DMA, transfer);
}

/* Returns whether the transfer is complete. */
static inline char spin__tf_completed(uint32_t transfer)
{
    return pinion_dma_done(PINION_OWN_DMA, transfer);
}

/* The same through the port that all cores of a cluster share; `cluster` may be another one. */
static inline uint32_t spin__public_memcpy_nonblk(void *from, void *to, uint32_t bytes,
                                                  uint32_t cluster)
{
    return pinion_dma_launch(PINION_PUBLIC_DMA(cluster), from, to, bytes);
}

static inline void spin__public_memcpy(void *from, void *to, uint32_t bytes, uint32_t cluster)
{
    pinion_dma_wait(PINION_PUBLIC_DMA(cluster),
                    spin__public_memcpy_nonblk(from, to, bytes, cluster));
}

static inline void spin__public_wait_for_tf_completion(uint32_t transfer, uint32_t cluster)
{
    pinion_dma_wait(PINION_PUBLIC_DMA(cluster), transfer);
}

static inline char spin__public_tf_completed(uint32_t transfer, uint32_t cluster)
{
    return pinion_dma_done(PINION_PUBLIC_DMA(cluster), transfer);
}

#endif
