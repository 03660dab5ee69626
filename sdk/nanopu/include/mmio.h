/* Device registers by address. */
#ifndef PINION_MMIO_H
#define PINION_MMIO_H

#include <stdint.h>

#define PINION_MMIO_(bits)                                                             \
    static inline void reg_write##bits(uintptr_t address, uint##bits##_t value)        \
    {                                                                                  \
        *(volatile uint##bits##_t *)address = value;                                   \
    }                                                                                  \
    static inline uint##bits##_t reg_read##bits(uintptr_t address)                     \
    {                                                                                  \
        return *(volatile uint##bits##_t *)address;                                    \
    }

PINION_MMIO_(8)
PINION_MMIO_(16)
PINION_MMIO_(32)
PINION_MMIO_(64)

#endif
