/* The heap: one list of free blocks in order of address, first fit, neighbours joined. It grows into
 * the memory behind the harts' stacks, which programs may also take themselves, with sbrk. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kernel.h"

#define UNIT 16
#define GROWTH (64 << 10) /* at once, at least */

/* In front of each block; `next` counts while the block is free. */
typedef struct header {
    size_t bytes; /* with this header */
    struct header *next;
} header_t;
_Static_assert(sizeof(header_t) == UNIT, "blocks stay aligned");

extern char __heap_start[], __heap_end[];

static lock_t heap;
static header_t *free_blocks;
static char *end_of_heap = __heap_start; /* the break: what is behind it is nobody's */
static char *end_of_blocks = __heap_start; /* of malloc's; the break stays behind it */

/* Moves the break, if it may be there; call with the heap's lock. */
static char *move_break(ptrdiff_t by)
{
    char *before = end_of_heap;

    if (by > __heap_end - before || by < end_of_blocks - before)
        return NULL;
    end_of_heap += by;
    return before;
}

__attribute__((weak)) void *sbrk(ptrdiff_t bytes)
{
    uint64_t held = lock(&heap);
    char *before = move_break(bytes);
    unlock(&heap, held);
    return before ? before : (void *)-1;
}

/* For programs that say themselves where the heap begins. Memory below the SDK's beginning is the
 * harts', so only a place behind it counts. Both are weak: a program may bring its own. */
__attribute__((weak)) void sbrk_init(long *start)
{
    uint64_t held = lock(&heap);
    if ((char *)start > end_of_heap && (char *)start <= __heap_end)
        end_of_heap = (char *)start;
    unlock(&heap, held);
}

static void join(header_t *first)
{
    header_t *second = first->next;

    if ((char *)first + first->bytes == (char *)second) {
        first->bytes += second->bytes;
        first->next = second->next;
    }
}

/* Puts a block into the list. */
static void insert(header_t *block)
{
    header_t *previous = NULL;

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
}

/* Takes memory for a block of so many bytes, and more where there is; gives whether there was. */
static bool grow(size_t wanted)
{
    size_t padding = -(uintptr_t)end_of_heap % UNIT;
    size_t room = (size_t)(__heap_end - end_of_heap) / UNIT * UNIT;
    size_t bytes = wanted > GROWTH ? wanted : GROWTH;

    if (room < padding + wanted)
        return false;
    if (room < padding + bytes)
        bytes = room - padding;
    header_t *block = (header_t *)(move_break((ptrdiff_t)(padding + bytes)) + padding);
    *block = (header_t){ .bytes = bytes / UNIT * UNIT };
    end_of_blocks = end_of_heap;
    insert(block);
    return true;
}

/* Takes the first block that is large enough out of the list. */
static header_t *take(size_t wanted)
{
    for (header_t **link = &free_blocks; *link; link = &(*link)->next) {
        header_t *block = *link;
        if (block->bytes < wanted)
            continue;
        if (block->bytes - wanted >= 2 * UNIT) {
            header_t *rest = (header_t *)((char *)block + wanted);
            *rest = (header_t){ block->bytes - wanted, block->next };
            block->bytes = wanted;
            *link = rest;
        } else {
            *link = block->next;
        }
        return block;
    }
    return NULL;
}

/* Not malloc itself: compilers make calloc of malloc and memset, in calloc too. */
static void *allocate(size_t bytes)
{
    if (bytes == 0 || bytes > (size_t)(__heap_end - __heap_start) - UNIT)
        return NULL;
    size_t wanted = (bytes + 2 * UNIT - 1) / UNIT * UNIT;
    uint64_t before = lock(&heap);
    header_t *found = take(wanted);
    if (!found && grow(wanted))
        found = take(wanted);
    unlock(&heap, before);
    return found ? found + 1 : NULL;
}

void *malloc(size_t bytes)
{
    return allocate(bytes);
}

void free(void *pointer)
{
    if (!pointer)
        return;
    uint64_t before = lock(&heap);
    insert((header_t *)pointer - 1);
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
