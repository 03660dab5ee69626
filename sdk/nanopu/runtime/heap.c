/* The heap: one list of free blocks in order of address, first fit, neighbours joined. */
#include <stdlib.h>
#include <string.h>
#include "kernel.h"

#define UNIT 16

/* In front of each block; `next` counts while the block is free. */
typedef struct header {
    size_t bytes; /* with this header */
    struct header *next;
} header_t;
_Static_assert(sizeof(header_t) == UNIT, "blocks stay aligned");

extern char __heap_start[], __heap_end[];

static lock_t heap;
static header_t *free_blocks;
static bool is_ready;

static void set_up(void)
{
    if (is_ready)
        return;
    is_ready = true;
    free_blocks = (header_t *)__heap_start;
    *free_blocks = (header_t){ .bytes = (size_t)(__heap_end - __heap_start) };
}

/* Not malloc itself: compilers make calloc of malloc and memset, in calloc too. */
static void *allocate(size_t bytes)
{
    if (bytes == 0 || bytes > (size_t)(__heap_end - __heap_start) - UNIT)
        return NULL;
    size_t wanted = (bytes + 2 * UNIT - 1) / UNIT * UNIT;
    uint64_t before = lock(&heap);
    header_t **link, *found = NULL;
    set_up();
    for (link = &free_blocks; *link; link = &(*link)->next) {
        header_t *block = *link;
        if (block->bytes < wanted)
            continue;
        found = block;
        if (block->bytes - wanted >= 2 * UNIT) {
            header_t *rest = (header_t *)((char *)block + wanted);
            *rest = (header_t){ block->bytes - wanted, block->next };
            block->bytes = wanted;
            *link = rest;
        } else {
            *link = block->next;
        }
        break;
    }
    unlock(&heap, before);
    return found ? found + 1 : NULL;
}

void *malloc(size_t bytes)
{
    return allocate(bytes);
}

static void join(header_t *first)
{
    header_t *second = first->next;

    if ((char *)first + first->bytes == (char *)second) {
        first->bytes += second->bytes;
        first->next = second->next;
    }
}

void free(void *pointer)
{
    if (!pointer)
        return;
    header_t *block = (header_t *)pointer - 1, *previous = NULL;
    uint64_t before = lock(&heap);
    for (header_t *other = free_blocks; other && other < block; other = other->next)
        previous = other;
    block->next = previous ? previous->next : free_blocks;
    if (previous)
        previous->next = block;
    else
        free_blocks = block;
    join(block);
    if (previous)
        join(previous);
    unlock(&heap, before);
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;

    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    void *block = allocate(all);
    return block ? memset(block, 0, all) : NULL;
}

void *realloc(void *block, size_t bytes)
{
    if (!block)
        return malloc(bytes);
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    size_t room = ((header_t *)block - 1)->bytes - UNIT;
    if (bytes <= room)
        return block;
    void *larger = malloc(bytes);
    if (larger) {
        memcpy(larger, block, room);
        free(block);
    }
    return larger;
}
