/* Datatypes as trees: their size, bounds and alignment by the rules of the MPI standard. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ddt.h"

bool ddt_fail(ddt_error_t *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    return false;
}

void *ddt_allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count > 0 ? count : 1, bytes);

    if (memory == NULL) {
        fprintf(stderr, "datatypes: out of memory for %zu x %zu bytes\n", count, bytes);
        exit(2);
    }
    return memory;
}

void ddt_type_free(ddt_type_t *type)
{
    int64_t tables = type == NULL || type->blocks == NULL ? 0 : type->strided ? 1 : type->count;

    for (int64_t b = 0; b < tables; b++) {
        bool shared = b > 0 && type->blocks[b].child == type->blocks[b - 1].child;

        if (!shared)
            ddt_type_free(type->blocks[b].child);
    }
    if (type != NULL)
        free(type->blocks);
    free(type);
}

ddt_type_t *ddt_basic(int64_t size, int64_t align)
{
    ddt_type_t *type = ddt_allocate(1, sizeof(*type));

    type->kind = DDT_TYPE_BASIC;
    type->size = type->extent = type->high = size;
    type->align = align;
    return type;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bounds that grow with what is added; `ends` false: nothing yet. */
typedef struct {
    int64_t low, high;
    bool any;
} range_t;

static void widen(range_t *range, int64_t low, int64_t high)
{
    range->low = range->any ? smaller(range->low, low) : low;
    range->high = range->any ? larger(range->high, high) : high;
    range->any = true;
}

/* Bounds of a datatype under way: of everything, of what was given by resizing, of the data. */
typedef struct {
    range_t plain, lb_given, ub_given, data;
} bounds_t;

static void add_block(bounds_t *bounds, ddt_type_t *type, int64_t displacement, int64_t length,
                      const ddt_type_t *child)
{
    int64_t spread = (length - 1) * child->extent;
    int64_t first = displacement + smaller(0, spread), last = displacement + larger(0, spread);
    int64_t lb = first + child->lb, ub = last + child->lb + child->extent;

    if (length <= 0)
        return;
    if (child->size > 0 || child->lb_given || child->ub_given)
        widen(&bounds->plain, lb, ub);
    if (child->lb_given)
        widen(&bounds->lb_given, lb, ub);
    if (child->ub_given)
        widen(&bounds->ub_given, lb, ub);
    if (child->size > 0)
        widen(&bounds->data, first + child->low, last + child->high);
    type->align = larger(type->align, child->align);
}

/* Sets lower bound and extent. Bounds given by resizing a part win; others are padded, as a C
 * structure is, to the alignment of what is in them. */
static void close_bounds(ddt_type_t *type, const bounds_t *bounds)
{
    int64_t ub = bounds->ub_given.any ? bounds->ub_given.high : bounds->plain.high;
    int64_t excess;

    type->lb_given = bounds->lb_given.any;
    type->ub_given = bounds->ub_given.any;
    type->lb = bounds->lb_given.any ? bounds->lb_given.low : bounds->plain.low;
    type->extent = ub - type->lb;
    excess = type->align > 1 ? type->extent % type->align : 0;
    if (!type->ub_given && excess != 0)
        type->extent += type->align - excess;
    type->low = bounds->data.low;
    type->high = bounds->data.high;
}

ddt_type_t *ddt_strided(int64_t count, int64_t length, int64_t stride, ddt_type_t *child)
{
    ddt_type_t *type = ddt_allocate(1, sizeof(*type));
    bounds_t bounds = { 0 };

    type->kind = DDT_TYPE_BLOCKS;
    type->count = count;
    type->strided = true;
    type->stride = stride;
    type->blocks = ddt_allocate(1, sizeof(*type->blocks));
    type->blocks[0] = (ddt_type_block_t){ length, 0, child };
    type->size = count * length * child->size;
    if (count > 0) {
        add_block(&bounds, type, 0, length, child);
        add_block(&bounds, type, (count - 1) * stride, length, child);
    }
    close_bounds(type, &bounds);
    return type;
}

ddt_type_t *ddt_blocks(int64_t count, ddt_type_block_t *blocks)
{
    ddt_type_t *type = ddt_allocate(1, sizeof(*type));
    bounds_t bounds = { 0 };

    type->kind = DDT_TYPE_BLOCKS;
    type->count = count;
    type->blocks = blocks;
    for (int64_t b = 0; b < count; b++) {
        add_block(&bounds, type, blocks[b].displacement, blocks[b].length, blocks[b].child);
        type->size += blocks[b].length * blocks[b].child->size;
    }
    close_bounds(type, &bounds);
    return type;
}

ddt_type_t *ddt_resized(int64_t lb, int64_t extent, ddt_type_t *child)
{
    ddt_type_t *type = ddt_strided(1, 1, 0, child);

    type->kind = DDT_TYPE_RESIZED;
    type->lb = lb;
    type->extent = extent;
    type->lb_given = type->ub_given = true;
    return type;
}

/* A box out of an array: from the fastest dimension outwards, each a vector of the one before. */
ddt_type_t *ddt_subarray(int dims, const int64_t *sizes, const int64_t *subsizes,
                         const int64_t *starts, bool fortran, ddt_type_t *child)
{
    ddt_type_t *type = child;
    int64_t step = child->extent, displacement = 0;
    ddt_type_block_t *whole;

    for (int i = 0; i < dims; i++) {
        int d = fortran ? i : dims - 1 - i;

        type = i == 0 ? ddt_strided(1, subsizes[d], 0, type)
                      : ddt_strided(subsizes[d], 1, step, type);
        displacement += starts[d] * step;
        step *= sizes[d];
    }
    whole = ddt_allocate(1, sizeof(*whole));
    *whole = (ddt_type_block_t){ 1, displacement, type };
    return ddt_resized(0, step, ddt_blocks(1, whole));
}

/* A structure of two fields, as the C compiler lays it out. */
static ddt_type_t *pair(int64_t first, int64_t first_align, int64_t second_at, int64_t bytes)
{
    ddt_type_block_t *blocks = ddt_allocate(2, sizeof(*blocks));

    blocks[0] = (ddt_type_block_t){ 1, 0, ddt_basic(first, first_align) };
    blocks[1] = (ddt_type_block_t){ 1, second_at, ddt_basic(sizeof(int), _Alignof(int)) };
    return ddt_resized(0, bytes, ddt_blocks(2, blocks));
}

#define PAIR(type)                                                             \
    do {                                                                       \
        struct two {                                                           \
            type first;                                                        \
            int second;                                                        \
        };                                                                     \
        ddt_type_t *made = pair(sizeof(type), _Alignof(type),                  \
                                offsetof(struct two, second), sizeof(struct two)); \
        made->lb_given = made->ub_given = false;                               \
        return made;                                                           \
    } while (0)

ddt_type_t *ddt_named(const char *name)
{
    static const struct {
        const char *name;
        int64_t size, align;
    } basics[] = {
        { "char", 1, 1 },
        { "byte", 1, 1 },
        { "short", sizeof(short), _Alignof(short) },
        { "int", sizeof(int), _Alignof(int) },
        { "long", sizeof(long), _Alignof(long) },
        { "float", sizeof(float), _Alignof(float) },
        { "double", sizeof(double), _Alignof(double) },
        { "long_double", sizeof(long double), _Alignof(long double) },
        { "complex", sizeof(double _Complex), _Alignof(double _Complex) },
    };

    for (size_t i = 0; i < sizeof(basics) / sizeof(basics[0]); i++)
        if (strcmp(basics[i].name, name) == 0)
            return ddt_basic(basics[i].size, basics[i].align);
    if (strcmp(name, "float_int") == 0)
        PAIR(float);
    if (strcmp(name, "double_int") == 0)
        PAIR(double);
    if (strcmp(name, "long_int") == 0)
        PAIR(long);
    if (strcmp(name, "short_int") == 0)
        PAIR(short);
    if (strcmp(name, "long_double_int") == 0)
        PAIR(long double);
    if (strcmp(name, "2int") == 0)
        PAIR(int);
    return NULL;
}
