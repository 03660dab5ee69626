/* A handler's requests to its host program. Page h of the context's host memory belongs to HPU h: a
 * flag in the first eight bytes, a payload from byte 64 on. Include behind handler.h. */
#ifndef PINION_SPIN_HOST_H
#define PINION_SPIN_HOST_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "handler.h"

typedef struct {
    union {
        struct {
            uint8_t dma_id; /* counts up with each request of an HPU */
            uint32_t len;
            uint16_t hpu_id;
        } __attribute__((packed));
        uint64_t data;
    };
} fpspin_flag_t;
static_assert(sizeof(fpspin_flag_t) == sizeof(uint64_t), "the flag must be one eight-byte write");

#define DMA_BUS_WIDTH 512
#define DMA_ALIGN (DMA_BUS_WIDTH / 8)

#define HPU_ID(args) ((args)->hpu_gid)
#define HOST_ADDR(args) ((uint64_t)(args)->task->host_mem_high << 32 | (args)->task->host_mem_low)
#define HOST_ADDR_HPU(args) (HOST_ADDR(args) + HPU_ID(args) * PAGE_SIZE)
#define HOST_PLD_ADDR(args) (HOST_ADDR_HPU(args) + DMA_ALIGN)

/* Number of the last request of each HPU of this cluster. */
extern volatile uint8_t dma_idx[NUM_CLUSTER_HPUS];

/* Says whether the context has host memory with a page for every HPU. */
static inline bool fpspin_check_host_mem(handler_args_t *args)
{
    return HOST_ADDR(args) != 0 && args->task->host_mem_size >= CORE_COUNT * PAGE_SIZE;
}

/* Tells the host program that `len` bytes are in this HPU's page, waits for its answer, returns the
 * answer's flag. */
static inline fpspin_flag_t fpspin_host_req(handler_args_t *args, uint32_t len)
{
    fpspin_flag_t request = { .data = 0 }, response;
    uint8_t number = (uint8_t)(dma_idx[args->hpu_id] + 1);
    spin_cmd_t command;

    dma_idx[args->hpu_id] = number;
    request.dma_id = number;
    request.len = len;
    request.hpu_id = (uint16_t)HPU_ID(args);
    spin_write_to_host(HOST_ADDR_HPU(args), request.data, &command);
    spin_cmd_wait(command);

    do {
        response.data = __host_data.flag[HPU_ID(args)];
    } while (response.dma_id != number);
    if (response.hpu_id != HPU_ID(args))
        printf("host answered HPU %u, this is HPU %u\n", (unsigned)response.hpu_id,
               (unsigned)HPU_ID(args));
    return response;
}

#endif
