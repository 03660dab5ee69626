/* Where formatted characters go on the native engine: to a buffer, or to the engine, as much as one
 * printf gives at a time (up to DEVICE_BYTES). */
#ifndef PINION_SINK_H
#define PINION_SINK_H

#include "worker.h"

#define DEVICE_BYTES 248

/* To the engine if `to_device`, else to `at` as long as there is room for them. */
typedef struct {
    char *at;
    size_t room;
    int written;
    bool to_device;
    uint8_t waiting;
    char text[DEVICE_BYTES];
} sink_t;

static void finish(sink_t *out)
{
    if (out->waiting)
        pinion_native_print(pinion_self(), out->text, out->waiting);
    out->waiting = 0;
}

static void emit(sink_t *out, char c)
{
    out->written++;
    if (!out->to_device) {
        if (out->room > 1) {
            *out->at++ = c;
            out->room--;
        }
        return;
    }
    out->text[out->waiting++] = c;
    if (out->waiting == DEVICE_BYTES)
        finish(out);
}

/* Leaves the text as it is. */
#define device() ((sink_t){ .to_device = true })

#endif
