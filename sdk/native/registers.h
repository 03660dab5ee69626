/* The HPU driver's registers on the native engine: words of the worker's block. Issuing is a call
 * of the engine, which does the command at once; so every command tests as done. */
#ifndef PINION_NATIVE_REGISTERS_H
#define PINION_NATIVE_REGISTERS_H

#include "worker.h"

static inline uint32_t pinion_mmio_read(uint32_t address)
{
    uint32_t offset = address - PINION_DRIVER;

    if (offset >= sizeof(((pinion_worker_t *)0)->driver))
        return *(volatile uint32_t *)(uintptr_t)address;
    if (address == CMD_ISSUE)
        return pinion_native_issue(pinion_self());
    if (address == CMD_TEST)
        return 1;
    return pinion_self()->driver[offset / 4];
}

static inline void pinion_mmio_write(uint32_t address, uint32_t value)
{
    uint32_t offset = address - PINION_DRIVER;

    if (offset >= sizeof(((pinion_worker_t *)0)->driver))
        *(volatile uint32_t *)(uintptr_t)address = value;
    else
        pinion_self()->driver[offset / 4] = value;
}

#endif
