/* The layout program: where the bytes of a message of an MPI datatype go in host memory.
 *
 * A host compiles a datatype to it (host/ddt.h) and writes it to the start of the context's handler
 * memory; the handlers interpret it. All numbers are 32 bits wide and little-endian; offsets called
 * "in the program" count from its first byte; displacements are bytes from the buffer's origin and
 * may be negative.
 *
 *     header       ddt_layout_t
 *     loops        ddt_loop_t, each with its table behind it; the header's `root` is the outermost
 *
 * Behind the program, at the header's `states`, the handlers keep one ddt_state_t per slot. A
 * message lives in slot (message id % slots); its data go to `slot_bytes` bytes of host memory at
 * `data` + slot * slot_bytes, the datatype's origin being `origin` bytes behind that. When all of
 * it is there the handlers write {message id, bytes} (a u64, id in the low half) at `results` + 8 *
 * slot.
 */
#ifndef DDT_LAYOUT_H
#define DDT_LAYOUT_H

#include <stdint.h>

#define DDT_MAGIC 0x4c544444u /* "DDTL" */
#define DDT_VERSION 1u
/* Loops inside one another, the outermost (elements) among them: what fits in an HPU's share of the
 * published scratchpad, 4 KiB for eight. */
#define DDT_MAX_DEPTH 12u
#define DDT_MAX_SLOTS 1024u

/* A new message may take the slot of one that is complete before the host has freed it. */
#define DDT_FLAG_REUSE 1u

typedef struct {
    uint32_t magic;
    uint32_t version;
    uint32_t bytes;         /* of the whole program, header included */
    uint32_t check;         /* ddt_checksum of the program with this word 0 */
    uint32_t flags;         /* DDT_FLAG_… */
    uint32_t depth;         /* of the nested loops */
    uint32_t root;          /* outermost loop, in the program */
    uint32_t element_bytes; /* data of one element */
    int32_t element_extent; /* from one element to the next */
    int32_t low, high;      /* first byte and end of an element's data, from its origin */
    uint32_t max_elements;  /* that a message may have */
    uint32_t slots;
    uint32_t slot_bytes;
    uint32_t origin;
    uint32_t states;  /* in handler memory */
    uint32_t data;    /* in host memory */
    uint32_t results; /* in host memory */
} ddt_layout_t;

/* What a loop runs over: `count` blocks of `length` children each; children of a block lie `extent`
 * bytes apart. Where block b begins: */
enum {
    DDT_CONTIGUOUS = 0,    /* one block only, at 0; `count` is 1 */
    DDT_VECTOR = 1,        /* b * stride */
    DDT_BLOCK_INDEXED = 2, /* table: int32_t displacement */
    DDT_INDEXED = 3,       /* table: ddt_block_t; `length` is unused */
    DDT_STRUCT = 4,        /* table: ddt_field_t; `length`, `extent` and `child` are unused */
    DDT_KINDS = 5,
    DDT_LEAF = 0x100, /* children are no loops but `extent` bytes of data: a block is one run */
};

typedef struct {
    uint32_t kind;
    uint32_t count;
    uint32_t length;
    int32_t extent;
    int32_t stride;
    uint32_t child; /* in the program */
} ddt_loop_t;

typedef struct {
    uint32_t length;
    int32_t displacement;
} ddt_block_t;

typedef struct {
    uint32_t length;
    int32_t displacement;
    int32_t extent;
    uint32_t child;
} ddt_field_t;

/* One loop that is under way. What the program says of it is kept here, so that a loop that begins
 * again, as an inner one does all the time, need not be read again. */
typedef struct {
    uint32_t loop; /* in the program */
    uint32_t kind;
    uint32_t count;
    uint32_t child; /* in the program */
    int32_t extent;
    uint32_t length; /* of the block; of a leaf's: bytes */
    int32_t step;    /* a vector: bytes to the next block; with a table: the loop's origin */
    uint32_t block;  /* the block it is at */
    int32_t at;      /* where that is */
    uint32_t done;   /* children of the block; of a leaf's: bytes */
} ddt_level_t;

/* How far a message has come: a stack of loops. */
typedef struct {
    uint32_t depth; /* loops on the stack; 0: all elements are done */
    ddt_level_t level[DDT_MAX_DEPTH];
} ddt_segment_t;

enum {
    DDT_FREE = 0,     /* takes the next message */
    DDT_ACTIVE = 1,
    DDT_COMPLETE = 2, /* until the host sets it free */
    DDT_FAILED = 3,   /* too much data, or outside the slot; until the host sets it free */
};

/* A slot's state. The host sets `status` to DDT_FREE when it has taken the data. */
typedef struct {
    uint32_t lock;
    uint32_t status;
    uint32_t message;
    uint32_t expected; /* offset of the next packet's data; in the end the message's bytes */
    uint32_t refused;  /* packets not placed: of another message, out of turn, too much */
    ddt_segment_t segment;
} ddt_state_t;

/* FNV-1a over the program's words, the word `check` taken as 0. */
static inline uint32_t ddt_checksum(const uint32_t *words, uint32_t count)
{
    uint32_t sum = 0x811c9dc5u, i;

    for (i = 0; i < count; i++)
        sum = (sum ^ (i == 3 ? 0 : words[i])) * 0x01000193u;
    return sum;
}

#endif
