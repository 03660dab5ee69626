/* Where formatted characters go on a PsPIN machine: to a buffer, or one byte store each to the
 * standard-output device of this HPU. */
#ifndef PINION_SINK_H
#define PINION_SINK_H

#include "pinion_map.h"

/* To `device` if set, else to `at` as long as there is room for them. */
typedef struct {
    volatile uint8_t *device;
    char *at;
    size_t room;
    int written;
} sink_t;

static void emit(sink_t *out, char c)
{
    if (out->device) {
        *out->device = (uint8_t)c;
    } else if (out->room > 1) {
        *out->at++ = c;
        out->room--;
    }
    out->written++;
}

static sink_t device(void)
{
    uint32_t hart = hart_id();
    uintptr_t address = PINION_STDOUT + (hart >> 5 << 7) + ((hart & 0x1f) << 3);

    return (sink_t){ .device = (volatile uint8_t *)address };
}

static void finish(sink_t *out)
{
    (void)out;
}

#endif
