/* What the library's files share. */
#ifndef PINION_INTERNAL_H
#define PINION_INTERNAL_H

#include <pthread.h>
#include <stdarg.h>

#include "fpspin/fpspin.h"
#include "protocol.h"

/* A connection to a NIC and what belongs to it. Chained, for the functions that name no context. */
struct pinion_link {
    int fd;
    pthread_mutex_t turn; /* held from a request to its answer */
    uint32_t number;
    unsigned empty; /* requests asked for since one was there */
    int is_gone; /* said so already */
    char device[PINION_NAME_BYTES];
    struct pinion_machine machine;
    pthread_mutex_t map; /* held while the following is used */
    struct pinion_area window; /* of handler memory, mapped for reading */
    const uint8_t *handler_memory; /* where; NULL: it is not mapped */
    int first; /* the contexts it holds */
    int count;
    struct pinion_link *next;
};

/* A body's parts: what is sent behind the header, one after the other. */
struct pinion_part {
    const void *data;
    size_t bytes;
};

/* Prints "fpspin: …" as one line; returns false. */
bool pinion_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the link of a context, or complains that the context is not attached. */
struct pinion_link *pinion_link_of(fpspin_ctx_t *ctx, const char *what);

/* Connects to a device; NULL after a complaint. */
struct pinion_link *pinion_connect(const char *device);
void pinion_disconnect(struct pinion_link *link);

/* The files that an answer may bring: host memory and handler memory. */
#define PINION_FILES_MAX 2

/* Asks and waits for the answer: its body goes to `answer`, whose size must be right. `send_fd` may be
 * -1; `got_fds`, if not NULL, has PINION_FILES_MAX elements of -1. `what` begins a complaint. */
bool pinion_ask(struct pinion_link *link, enum pinion_kind kind, const struct pinion_part *parts,
                int count, int send_fd, void *answer, size_t bytes, int *got_fds, const char *what);

/* Sends without waiting for an answer. */
bool pinion_tell(struct pinion_link *link, enum pinion_kind kind, const void *body, size_t bytes);

/* Says whether the NIC still holds its end of the connection; complains once. */
bool pinion_is_there(struct pinion_link *link);

/* Turns rulesets into the form of messages; false after a complaint. */
bool pinion_rulesets(struct pinion_ruleset *out, const fpspin_ruleset_t *rs, int count);

/* Keeps the list of links, for the functions that name no context. */
void pinion_enlist(struct pinion_link *link);
void pinion_delist(struct pinion_link *link);

#endif
