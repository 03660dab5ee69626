/* Datatypes on the host: from an MPI library or from text, to a layout program for the handlers.
 *
 *     ddt_type_t *type = ddt_from_mpi(mpi_type, "native", &error);    or ddt_parse("…", &error)
 *     ddt_image_t image;
 *     ddt_compile(type, &target, &image, &error);
 *     write image.bytes to the start of the context's handler memory
 *
 * Functions that can fail return NULL or false and say in the error what is wrong.
 */
#ifndef DDT_H
#define DDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../layout.h"

typedef struct {
    char text[256];
} ddt_error_t;

typedef enum {
    DDT_TYPE_BASIC,  /* `size` bytes in one piece */
    DDT_TYPE_BLOCKS, /* blocks of children: everything else */
    DDT_TYPE_RESIZED /* one child, with bounds of its own */
} ddt_type_kind_t;

/* Blocks of a datatype: `length` children, `extent` of the child apart, from `displacement` on. */
typedef struct {
    int64_t length;
    int64_t displacement; /* bytes */
    struct ddt_type *child;
} ddt_type_block_t;

/* A datatype as a tree. Vectors and the like are blocks with a stride, so that a million of them
 * takes no memory: blocks[0] stands for all. */
typedef struct ddt_type {
    ddt_type_kind_t kind;
    int64_t count;  /* blocks */
    bool strided;   /* block b lies b * stride behind blocks[0] */
    int64_t stride; /* bytes */
    ddt_type_block_t *blocks;
    int64_t size;       /* bytes of data */
    int64_t lb, extent; /* as MPI defines them */
    int64_t low, high;  /* bounds of the data: MPI's true bounds */
    int64_t align;      /* of the most aligned basic type in it */
    bool lb_given, ub_given;
} ddt_type_t;

/* What the layout program has to fit in. */
typedef struct {
    uint32_t handler_memory_bytes;
    uint64_t host_memory_bytes; /* of the context, from `data` on for slots and results */
    uint32_t slots;             /* messages at once */
    uint32_t elements;          /* of a message, at most */
    bool keep_nesting;          /* one loop per constructor; else simplify */
    uint32_t flags;             /* DDT_FLAG_… */
    uint32_t data;              /* where the slots begin in host memory */
} ddt_target_t;

typedef struct {
    uint8_t *bytes; /* the program and the slots' states */
    uint32_t size;
} ddt_image_t;

/* Reads a datatype in the notation of ddt_text.c. */
ddt_type_t *ddt_parse(const char *text, ddt_error_t *error);
void ddt_type_free(ddt_type_t *type);

/* Compiles a datatype. */
bool ddt_compile(const ddt_type_t *type, const ddt_target_t *target, ddt_image_t *image,
                 ddt_error_t *error);
/* Checks a program that came from elsewhere: every offset, size and depth in it. */
bool ddt_check(const uint8_t *bytes, uint32_t size, ddt_error_t *error);

/* Unpacks on the host, by the handlers' own interpreter: `bytes` of `packed` go to the slot at
 * `slot`, given in pieces of `piece` bytes as packets would. */
bool ddt_unpack(const uint8_t *program, uint8_t *slot, const uint8_t *packed, uint32_t bytes,
                uint32_t piece);

/* Makes trees; for the front ends. They take over the children. */
ddt_type_t *ddt_basic(int64_t size, int64_t align);
ddt_type_t *ddt_strided(int64_t count, int64_t length, int64_t stride, ddt_type_t *child);
ddt_type_t *ddt_blocks(int64_t count, ddt_type_block_t *blocks);
ddt_type_t *ddt_resized(int64_t lb, int64_t extent, ddt_type_t *child);
ddt_type_t *ddt_subarray(int dims, const int64_t *sizes, const int64_t *subsizes,
                         const int64_t *starts, bool fortran, ddt_type_t *child);
/* The pair types of MPI: `first` bytes, then an int. NULL: no such name. */
ddt_type_t *ddt_named(const char *name);

bool ddt_fail(ddt_error_t *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
