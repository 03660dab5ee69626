/* The interpreter of layout programs, for handlers and hosts alike.
 *
 * It goes through the loops as nested `for` statements would, but can stop behind any byte and go
 * on there with the next packet: the loops under way are a stack, ddt_segment_t. Every run of
 * adjacent bytes is given to `place`; the order is the datatype's, so that of overlapping blocks
 * the later one stays.
 */
#ifndef DDT_ENGINE_H
#define DDT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

/* Takes the next `bytes` bytes of the message, which belong at `displacement`; false: stop. */
typedef bool (*ddt_place_t)(void *sink, int32_t displacement, uint32_t bytes);

/* Looks up the block that a level with a table is at. */
static inline void ddt_look_up(const uint8_t *program, ddt_level_t *level)
{
    const void *table = program + level->loop + sizeof(ddt_loop_t);
    uint32_t block = level->block;

    if ((level->kind & ~DDT_LEAF) == DDT_BLOCK_INDEXED) {
        level->at = level->step + ((const int32_t *)table)[block];
    } else if ((level->kind & ~DDT_LEAF) == DDT_INDEXED) {
        uint32_t length = ((const ddt_block_t *)table)[block].length;

        level->at = level->step + ((const ddt_block_t *)table)[block].displacement;
        level->length = level->kind & DDT_LEAF ? length * (uint32_t)level->extent : length;
    } else {
        const ddt_field_t *field = (const ddt_field_t *)table + block;

        level->at = level->step + field->displacement;
        level->length = field->length;
        level->extent = field->extent;
        level->child = field->child;
    }
}

/* Reads what the program says of a loop. */
static inline void ddt_load(const uint8_t *program, ddt_level_t *level, uint32_t offset)
{
    const ddt_loop_t *loop = (const ddt_loop_t *)(program + offset);
    uint32_t kind = loop->kind, length = loop->length;
    int32_t extent = loop->extent;

    level->loop = offset;
    level->kind = kind;
    level->count = loop->count;
    level->child = loop->child;
    level->extent = extent;
    level->length = kind & DDT_LEAF ? length * (uint32_t)extent : length;
    level->step = loop->stride;
}

/* Begins the loop at `offset` of the program, its origin at `base`. */
static inline void ddt_push(const uint8_t *program, ddt_segment_t *segment, uint32_t offset,
                            int32_t base)
{
    ddt_level_t *level = &segment->level[segment->depth];

    segment->depth++;
    if (level->loop != offset)
        ddt_load(program, level, offset);
    level->block = 0;
    level->done = 0;
    level->at = base;
    if ((level->kind & ~DDT_LEAF) >= DDT_BLOCK_INDEXED) {
        level->step = base;
        ddt_look_up(program, level);
    }
}

/* Makes a segment stand at the message's first byte. */
static inline void ddt_begin(const uint8_t *program, ddt_segment_t *segment)
{
    segment->depth = 0;
    ddt_push(program, segment, ((const ddt_layout_t *)program)->root, 0);
}

/* Goes on to the block behind; a loop that has none is done. */
static inline void ddt_next_block(const uint8_t *program, ddt_segment_t *segment,
                                  ddt_level_t *level)
{
    level->block++;
    level->done = 0;
    if (level->block == level->count)
        segment->depth--;
    else if ((level->kind & ~DDT_LEAF) == DDT_VECTOR)
        level->at += level->step;
    else
        ddt_look_up(program, level);
}

/* Begins the next child of a block. */
static inline void ddt_enter_child(const uint8_t *program, ddt_segment_t *segment,
                                   ddt_level_t *level)
{
    int32_t base = level->at + (int32_t)level->done * level->extent;

    level->done++;
    ddt_push(program, segment, level->child, base);
}

/* Places the next `bytes` bytes of a message. Returns how many had a place: all, unless the
 * datatype ends before or `place` refuses. */
static inline __attribute__((always_inline)) uint32_t
ddt_process(const uint8_t *program, ddt_segment_t *segment, uint32_t bytes, ddt_place_t place,
            void *sink)
{
    uint32_t left = bytes;

    while (left > 0 && segment->depth > 0) {
        ddt_level_t *level = &segment->level[segment->depth - 1];

        if (level->kind & DDT_LEAF) {
            uint32_t done = level->done, rest = level->length - done;
            uint32_t run = rest < left ? rest : left;

            if (!place(sink, level->at + (int32_t)done, run))
                break;
            left -= run;
            level->done = done + run;
            if (run == rest)
                ddt_next_block(program, segment, level);
        } else if (level->done == level->length) {
            ddt_next_block(program, segment, level);
        } else {
            ddt_enter_child(program, segment, level);
        }
    }
    return bytes - left;
}

#endif
