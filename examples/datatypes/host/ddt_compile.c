/* From a datatype's tree to the layout program of layout.h. Children stand before their parents. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ddt.h"

void *ddt_allocate(size_t count, size_t bytes);

/* A program under way. `deepest` is found on the way. */
typedef struct {
    uint8_t *bytes;
    uint64_t size, room;
    uint64_t limit; /* of handler memory */
    uint32_t deepest;
    bool keep_nesting;
    ddt_error_t *error;
} writer_t;

/* Appends a loop with its table; 0: it does not fit. */
static uint32_t append(writer_t *out, const ddt_loop_t *loop, const void *table, uint64_t bytes)
{
    uint64_t at = out->size, end = at + sizeof(*loop) + bytes;

    if (end > out->limit) {
        ddt_fail(out->error,
                 "the datatype's layout takes more than the %llu bytes of handler memory",
                 (unsigned long long)out->limit);
        return 0;
    }
    if (end > out->room) {
        out->room = 2 * end;
        out->bytes = realloc(out->bytes, out->room);
        if (out->bytes == NULL)
            abort();
    }
    memcpy(out->bytes + at, loop, sizeof(*loop));
    if (bytes > 0)
        memcpy(out->bytes + at + sizeof(*loop), table, bytes);
    out->size = end;
    return (uint32_t)at;
}

static bool fits(writer_t *out, int64_t number, const char *what)
{
    if (number >= INT32_MIN && number <= INT32_MAX)
        return true;
    return ddt_fail(out->error, "%s of %lld bytes is beyond what a layout holds, 2 GiB", what,
                    (long long)number);
}

/* The type whose data these are: resizing only moves bounds. */
static const ddt_type_t *data_of(const ddt_type_t *type)
{
    while (type->kind == DDT_TYPE_RESIZED)
        type = type->blocks[0].child;
    return type;
}

/* Whether children of this type are plain bytes that follow one another. */
static bool is_run(const writer_t *out, const ddt_type_t *type);

static uint32_t lower(writer_t *out, const ddt_type_t *type, uint32_t depth);

static bool is_dense_block(const writer_t *out, const ddt_type_block_t *block)
{
    return is_run(out, block->child) || (block->length == 1 && is_run(out, data_of(block->child)));
}

static bool is_run(const writer_t *out, const ddt_type_t *type)
{
    const ddt_type_t *data = data_of(type);
    int64_t bytes;

    if (type->extent != data->size)
        return false;
    if (data->kind == DDT_TYPE_BASIC)
        return true;
    if (out->keep_nesting || data->size == 0 || data->low != 0 || data->high != data->size)
        return false;
    if (!data->strided && data->count != 1)
        return false;
    if (!is_dense_block(out, &data->blocks[0]))
        return false;
    bytes = data->blocks[0].length * data->blocks[0].child->size;
    return data->count == 1 ? data->blocks[0].displacement == 0 : data->stride == bytes;
}

/* A loop over `length` children in one piece, or their bytes. */
static uint32_t lower_block(writer_t *out, int64_t length, const ddt_type_t *child, uint32_t depth)
{
    ddt_loop_t loop = { DDT_CONTIGUOUS, 1, (uint32_t)length, (int32_t)child->extent, 0, 0 };

    if (!fits(out, length, "a block") || !fits(out, child->extent, "an extent"))
        return 0;
    if (is_run(out, child)) {
        loop.kind |= DDT_LEAF;
        out->deepest = depth > out->deepest ? depth : out->deepest;
        return append(out, &loop, NULL, 0);
    }
    loop.child = lower(out, child, depth + 1);
    return loop.child == 0 ? 0 : append(out, &loop, NULL, 0);
}

static uint32_t lower_strided(writer_t *out, const ddt_type_t *type, uint32_t depth)
{
    const ddt_type_block_t *block = &type->blocks[0];
    const ddt_type_t *child = block->child;
    ddt_loop_t loop = { DDT_VECTOR,
                        (uint32_t)type->count,
                        (uint32_t)block->length,
                        (int32_t)child->extent,
                        (int32_t)type->stride,
                        0 };

    if (type->count == 1) {
        if (!out->keep_nesting && block->length == 1 && !is_run(out, child))
            return lower(out, child, depth);
        return lower_block(out, block->length, child, depth);
    }
    if (!fits(out, type->count, "a vector") || !fits(out, type->stride, "a stride") ||
        !fits(out, block->length, "a block") || !fits(out, child->extent, "an extent"))
        return 0;
    if (is_run(out, child)) {
        loop.kind |= DDT_LEAF;
        out->deepest = depth > out->deepest ? depth : out->deepest;
        return append(out, &loop, NULL, 0);
    }
    loop.child = lower(out, child, depth + 1);
    return loop.child == 0 ? 0 : append(out, &loop, NULL, 0);
}

/* Blocks that have data, and what they have in common. */
typedef struct {
    ddt_type_block_t *blocks;
    uint32_t count;
    bool one_child, one_length;
} survey_t;

static bool survey(writer_t *out, const ddt_type_t *type, survey_t *found)
{
    found->blocks = ddt_allocate((size_t)type->count, sizeof(*found->blocks));
    found->count = 0;
    found->one_child = found->one_length = true;
    for (int64_t b = 0; b < type->count; b++) {
        ddt_type_block_t block = type->blocks[b];

        if (block.length <= 0 || block.child->size == 0)
            continue;
        if (!fits(out, block.displacement, "a displacement") ||
            !fits(out, block.length, "a block") || !fits(out, block.child->extent, "an extent"))
            return false;
        found->blocks[found->count++] = block;
        found->one_child &= block.child == found->blocks[0].child;
        found->one_length &= block.length == found->blocks[0].length;
    }
    return true;
}

static uint32_t lower_struct(writer_t *out, const survey_t *found, uint32_t depth)
{
    ddt_field_t *table = ddt_allocate(found->count, sizeof(*table));
    ddt_loop_t loop = { DDT_STRUCT, found->count, 0, 0, 0, 0 };
    uint32_t at = 0, b;

    for (b = 0; b < found->count; b++) {
        const ddt_type_block_t *block = &found->blocks[b];
        bool run = is_run(out, block->child);

        table[b].length = run ? 1 : (uint32_t)block->length;
        table[b].displacement = (int32_t)block->displacement;
        table[b].extent = (int32_t)block->child->extent;
        table[b].child = run ? lower_block(out, block->length, block->child, depth + 1)
                             : lower(out, block->child, depth + 1);
        if (table[b].child == 0)
            break;
    }
    if (b == found->count)
        at = append(out, &loop, table, found->count * sizeof(*table));
    free(table);
    return at;
}

static uint32_t lower_indexed(writer_t *out, const survey_t *found, uint32_t depth)
{
    const ddt_type_t *child = found->blocks[0].child;
    uint32_t kind = found->one_length ? DDT_BLOCK_INDEXED : DDT_INDEXED;
    uint32_t words = found->one_length ? 1 : 2, at = 0;
    ddt_loop_t loop = { kind, found->count, (uint32_t)found->blocks[0].length,
                        (int32_t)child->extent, 0, 0 };
    uint32_t *table = ddt_allocate(found->count, words * sizeof(*table));

    for (uint32_t b = 0; b < found->count; b++) {
        if (words == 2)
            table[2 * b] = (uint32_t)found->blocks[b].length;
        table[words * b + words - 1] = (uint32_t)(int32_t)found->blocks[b].displacement;
    }
    if (is_run(out, child)) {
        loop.kind |= DDT_LEAF;
        out->deepest = depth > out->deepest ? depth : out->deepest;
    } else {
        loop.child = lower(out, child, depth + 1);
    }
    if ((loop.kind & DDT_LEAF) || loop.child != 0)
        at = append(out, &loop, table, (uint64_t)found->count * words * sizeof(*table));
    free(table);
    return at;
}

/* Writes the loops of a type that has data; returns where the outermost stands, 0: error. */
static uint32_t lower(writer_t *out, const ddt_type_t *type, uint32_t depth)
{
    survey_t found;
    uint32_t at = 0;

    if (depth > 4 * DDT_MAX_DEPTH) {
        /* Far too deep already: no need to find out how deep. */
        ddt_fail(out->error, "the datatype is more than %u loops deep, the handlers can do %u",
                 4 * DDT_MAX_DEPTH, DDT_MAX_DEPTH);
        return 0;
    }
    type = data_of(type);
    if (type->kind == DDT_TYPE_BASIC)
        return lower_block(out, 1, type, depth);
    if (type->strided)
        return lower_strided(out, type, depth);
    if (survey(out, type, &found))
        at = found.one_child ? lower_indexed(out, &found, depth) : lower_struct(out, &found, depth);
    free(found.blocks);
    return at;
}

static uint64_t round_up(uint64_t number)
{
    return (number + 63) & ~(uint64_t)63;
}

/* Places slots and results in host memory. */
static bool place_slots(const ddt_type_t *type, const ddt_target_t *target, ddt_layout_t *layout,
                        ddt_error_t *error)
{
    int64_t spread = (int64_t)(target->elements - 1) * type->extent;
    int64_t low = type->low + (spread < 0 ? spread : 0);
    int64_t high = type->high + (spread > 0 ? spread : 0);
    uint64_t origin = low < 0 ? round_up((uint64_t)-low) : 0;
    uint64_t slot = round_up(origin + (uint64_t)(high > 0 ? high : 0));
    uint64_t needed = target->data + target->slots * (slot + 8);

    if (llabs(spread) > INT32_MAX || slot > INT32_MAX || needed > target->host_memory_bytes)
        return ddt_fail(error,
                        "%u messages of %u elements take %llu bytes of host memory, the window has "
                        "%llu",
                        target->slots, target->elements, (unsigned long long)needed,
                        (unsigned long long)target->host_memory_bytes);
    layout->origin = (uint32_t)origin;
    layout->slot_bytes = (uint32_t)slot;
    layout->data = target->data;
    layout->results = (uint32_t)(target->data + target->slots * slot);
    return true;
}

static bool check_target(const ddt_type_t *type, const ddt_target_t *target, ddt_error_t *error)
{
    if (type->size == 0)
        return ddt_fail(error, "the datatype has no data");
    if (target->slots == 0 || target->slots > DDT_MAX_SLOTS)
        return ddt_fail(error, "%u messages at once: 1 to %u are possible", target->slots,
                        DDT_MAX_SLOTS);
    if (target->elements == 0 || type->size > UINT32_MAX / target->elements)
        return ddt_fail(error, "%u elements of %lld bytes: a message has 1 byte to 4 GiB",
                        target->elements, (long long)type->size);
    if (target->data % 64 != 0)
        return ddt_fail(error, "the slots' place %u is no multiple of 64", target->data);
    return fits(&(writer_t){ .error = error }, type->low, "the lowest displacement") &&
           fits(&(writer_t){ .error = error }, type->high, "the highest displacement");
}

bool ddt_compile(const ddt_type_t *type, const ddt_target_t *target, ddt_image_t *image,
                 ddt_error_t *error)
{
    writer_t out = { .limit = target->handler_memory_bytes,
                     .size = sizeof(ddt_layout_t),
                     .room = 4096,
                     .keep_nesting = target->keep_nesting,
                     .error = error };
    ddt_layout_t layout = { .magic = DDT_MAGIC, .version = DDT_VERSION, .flags = target->flags };
    uint64_t all;

    if (!check_target(type, target, error) || !place_slots(type, target, &layout, error))
        return false;
    out.bytes = ddt_allocate(1, out.room);
    layout.root = lower_block(&out, target->elements, type, 1);
    layout.bytes = (uint32_t)out.size;
    layout.states = (uint32_t)round_up(out.size);
    all = layout.states + (uint64_t)target->slots * sizeof(ddt_state_t);
    if (layout.root != 0 && out.deepest > DDT_MAX_DEPTH)
        ddt_fail(error, "the datatype is %u loops deep, the handlers can do %u", out.deepest,
                 DDT_MAX_DEPTH);
    else if (layout.root != 0 && all > target->handler_memory_bytes)
        ddt_fail(error, "layout and states take %llu bytes of handler memory, there are %u",
                 (unsigned long long)all, target->handler_memory_bytes);
    else if (layout.root != 0) {
        layout.depth = out.deepest;
        layout.element_bytes = (uint32_t)type->size;
        layout.element_extent = (int32_t)type->extent;
        layout.low = (int32_t)type->low;
        layout.high = (int32_t)type->high;
        layout.max_elements = target->elements;
        layout.slots = target->slots;
        image->bytes = ddt_allocate(1, all);
        image->size = (uint32_t)all;
        memcpy(image->bytes, out.bytes, out.size);
        memcpy(image->bytes, &layout, sizeof(layout));
        ((ddt_layout_t *)image->bytes)->check =
            ddt_checksum((const uint32_t *)image->bytes, layout.bytes / 4);
        free(out.bytes);
        return true;
    }
    free(out.bytes);
    return false;
}
