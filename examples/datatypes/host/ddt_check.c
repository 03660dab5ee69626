/* Checks layout programs, and interprets them on the host. */
#include <string.h>

#include "../engine.h"
#include "ddt.h"

static bool check_loop(const uint8_t *program, uint32_t size, uint32_t at, uint32_t end,
                       uint32_t depth, ddt_error_t *error)
{
    static const uint32_t entry_bytes[DDT_KINDS] = { 0, 0, 4, sizeof(ddt_block_t),
                                                     sizeof(ddt_field_t) };
    const ddt_loop_t *loop = (const ddt_loop_t *)(program + at);
    uint32_t kind, children;

    if (depth > DDT_MAX_DEPTH)
        return ddt_fail(error, "the layout is more than %u loops deep", DDT_MAX_DEPTH);
    if (at % 4 != 0 || at < sizeof(ddt_layout_t) || at >= end || end - at < sizeof(*loop))
        return ddt_fail(error, "the layout has a loop at %u, outside of it or behind its parent",
                        at);
    kind = loop->kind & ~(uint32_t)DDT_LEAF;
    if (kind >= DDT_KINDS || loop->kind == (DDT_STRUCT | DDT_LEAF))
        return ddt_fail(error, "the layout's loop at %u is of an unknown kind, %u", at, loop->kind);
    if (loop->count == 0 || (kind == DDT_CONTIGUOUS && loop->count != 1) ||
        (uint64_t)loop->count * entry_bytes[kind] > size - at - sizeof(*loop))
        return ddt_fail(error, "the layout's loop at %u has %u blocks", at, loop->count);
    if (loop->kind & DDT_LEAF)
        return loop->extent > 0 || ddt_fail(error, "the layout's leaf at %u has no bytes", at);
    children = kind == DDT_STRUCT ? loop->count : 1;
    for (uint32_t b = 0; b < children; b++) {
        const ddt_field_t *fields = (const ddt_field_t *)(loop + 1);
        uint32_t child = kind == DDT_STRUCT ? fields[b].child : loop->child;

        /* Children stand before their parents, so no loop is inside itself. */
        if (!check_loop(program, size, child, at, depth + 1, error))
            return false;
    }
    return true;
}

bool ddt_check(const uint8_t *bytes, uint32_t size, ddt_error_t *error)
{
    const ddt_layout_t *layout = (const ddt_layout_t *)bytes;
    uint64_t states;

    if (size < sizeof(*layout) || layout->magic != DDT_MAGIC)
        return ddt_fail(error, "this is no layout program");
    if (layout->version != DDT_VERSION)
        return ddt_fail(error, "the layout has version %u, the handlers know version %u",
                        layout->version, DDT_VERSION);
    if (layout->bytes > size || layout->bytes < sizeof(*layout) || layout->bytes % 4 != 0)
        return ddt_fail(error, "the layout says it has %u bytes, there are %u", layout->bytes,
                        size);
    if (ddt_checksum((const uint32_t *)bytes, layout->bytes / 4) != layout->check)
        return ddt_fail(error, "the layout's check sum is wrong");
    states = (uint64_t)layout->slots * sizeof(ddt_state_t);
    if (layout->slots == 0 || layout->slots > DDT_MAX_SLOTS || layout->states % 4 != 0 ||
        layout->states < layout->bytes || layout->states > size || states > size - layout->states)
        return ddt_fail(error, "the layout has no room for the states of its %u messages",
                        layout->slots);
    if (layout->origin > layout->slot_bytes)
        return ddt_fail(error, "the layout's origin %u is outside of its slot", layout->origin);
    return check_loop(bytes, layout->bytes, layout->root, layout->bytes, 1, error);
}

typedef struct {
    uint8_t *slot;
    uint32_t origin, limit;
    const uint8_t *from;
} host_sink_t;

static bool place(void *where, int32_t displacement, uint32_t bytes)
{
    host_sink_t *sink = where;
    uint32_t at = sink->origin + (uint32_t)displacement;

    if (at > sink->limit || bytes > sink->limit - at)
        return false;
    memcpy(sink->slot + at, sink->from, bytes);
    sink->from += bytes;
    return true;
}

bool ddt_unpack(const uint8_t *program, uint8_t *slot, const uint8_t *packed, uint32_t bytes,
                uint32_t piece)
{
    const ddt_layout_t *layout = (const ddt_layout_t *)program;
    host_sink_t sink = { slot, layout->origin, layout->slot_bytes, packed };
    ddt_segment_t segment = { 0 };

    ddt_begin(program, &segment);
    while (bytes > 0) {
        uint32_t now = bytes < piece ? bytes : piece;

        if (ddt_process(program, &segment, now, place, &sink) != now)
            return false;
        bytes -= now;
    }
    return true;
}
