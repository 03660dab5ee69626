/* What the drivers share: checks that count, random numbers, an execution context. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pspinsim.h"
#include "spin.h"

#define HANDLER_MEMORY 0x1c300000
#define HANDLER_MEMORY_BYTES 0x10000

static int failures;

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                 \
        }                                                               \
    } while (0)

static uint32_t random_state = 0x9e3779b9;

static inline uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* A context without handlers. */
static inline spin_ec_t plain_context(void)
{
    spin_ec_t ec;

    memset(&ec, 0, sizeof(ec));
    ec.handler_mem_addr = HANDLER_MEMORY;
    ec.handler_mem_size = HANDLER_MEMORY_BYTES;
    ec.host_mem_addr = PCIE_START_ADDR;
    ec.host_mem_size = 256 << 20;
    for (int i = 0; i < NUM_CLUSTERS; i++) {
        ec.scratchpad_addr[i] = 0;
        ec.scratchpad_size[i] = L1_SCRATCHPAD_SIZE;
    }
    return ec;
}

/* Looks a handler up. */
static inline spin_nic_addr_t handler(const char *elf, const char *name)
{
    spin_nic_addr_t address = 0;
    size_t size = 0;

    CHECK(spin_find_handler_by_name(elf, name, &address, &size) == SPIN_SUCCESS);
    CHECK(size == 4096);
    return address;
}

#endif
