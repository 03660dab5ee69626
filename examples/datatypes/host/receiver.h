/* Receives messages of an MPI datatype on an FPsPIN NIC: the datatype's buffers are in the
 * context's host memory, the handlers of ../datatypes.c fill them. */
#ifndef RECEIVER_H
#define RECEIVER_H

#include <fpspin/fpspin.h>
#include <mpi.h>

#include "ddt.h"

typedef struct {
    const char *device, *image;
    int context;
    uint32_t slots;    /* messages at once */
    uint32_t elements; /* of a message at most */
} receiver_options_t;

typedef struct {
    fpspin_ctx_t ctx;
    ddt_image_t program;
    const ddt_layout_t *layout; /* in `program` */
} receiver_t;

/* A message that is complete. `buffer` is the datatype's origin, in memory from `slot_start` on. */
typedef struct {
    uint32_t slot, id, bytes;
    uint8_t *slot_start, *buffer;
} received_t;

/* Attaches to the NIC and gives it handlers and layout; false: said why on standard error. */
bool receiver_open(receiver_t *receiver, MPI_Datatype type, const receiver_options_t *options);
/* Takes a complete message, if there is one; its slot stays taken until receiver_release. */
bool receiver_poll(receiver_t *receiver, received_t *message);
/* Whether a message's slot, gaps included, is what MPI_Unpack makes of the data of example_data. */
bool receiver_matches(const receiver_t *receiver, const received_t *message, MPI_Datatype type);
/* Clears a message's buffer and gives its slot to the next message. */
bool receiver_release(receiver_t *receiver, const received_t *message);
/* Prints what handlers refused, of every slot where there was something. */
void receiver_report(receiver_t *receiver);
void receiver_close(receiver_t *receiver);

/* The packed data of message `id` in the examples: sender and receiver compute the same. */
void example_data(uint32_t id, uint8_t *data, size_t bytes);

#endif
