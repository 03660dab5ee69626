/* A replica of chain replication. Any node of the chain runs this; a message says which replicas
 * come behind its receiver. A WRITE changes the value here and goes on to the next, with the
 * version that the head gave it; the last replica answers the client. A READ is answered by whoever
 * gets it: clients send theirs to the tail, which knows only of writes that all replicas have.
 *
 * The transport delivers every message once, but a retransmitted one may come behind a later one.
 * So a write changes a value only when its version is newer; an older one goes on all the same: it
 * counts as overwritten at once.
 *
 * Argument: how many pairs there are in the beginning (10000). One hart does all the work.
 */
#include <stdio.h>
#include <stdlib.h>
#include "chain.h"

static store_t store;

typedef struct {
    uint64_t what, client, tag, version, behind[2], hash, key[2];
} request_t;

static inline void drop(uint64_t words)
{
    while (words--)
        (void)lnic_read();
}

static inline void answer(const request_t *request, uint64_t status, uint64_t version,
                          uint64_t bytes)
{
    lnic_write_r(request->client | bytes);
    lnic_write_r(status);
    lnic_write_r(request->tag);
    lnic_write_r(version);
}

static void refuse(const request_t *request, uint64_t status)
{
    answer(request, status, 0, ANSWER_BYTES);
}

static inline void read_value(const request_t *request)
{
    item_t *item = store_find(&store, request->key, request->hash);

    if (!item) {
        refuse(request, NOT_FOUND);
        return;
    }
    answer(request, DONE, item->version, ANSWER_BYTES + STORE_VALUE_BYTES);
#pragma GCC unroll 8
    for (int i = 0; i < STORE_VALUE_WORDS; i++)
        lnic_write_m(item->value[i]);
}

/* Everything of a write to the next replica but the value. */
static inline void pass_on(const request_t *request, uint64_t behind, uint64_t version)
{
    lnic_write_r(lnic_header(request->behind[0] >> 32, 0, WRITE_BYTES));
    lnic_write_r(WRITE | (behind - 1) << BEHIND_SHIFT);
    lnic_write_r(request->client);
    lnic_write_r(request->tag);
    lnic_write_r(version);
    lnic_write_r(request->behind[0] << 32 | request->behind[1] >> 32);
    lnic_write_r(request->behind[1] << 32);
    lnic_write_r(request->hash);
    lnic_write_r(request->key[0]);
    lnic_write_r(request->key[1]);
}

static inline void write_value(const request_t *request)
{
    item_t *item = store_find(&store, request->key, request->hash);
    uint64_t behind = request->what >> BEHIND_SHIFT & 0xff, value[STORE_VALUE_WORDS];

    if (!item)
        item = store_add(&store, request->key, request->hash);
    if (!item) {
        drop(STORE_VALUE_WORDS);
        refuse(request, FULL);
        return;
    }
    uint64_t version = request->version ? request->version : item->version + 1;
    if (behind)
        pass_on(request, behind, version);
#pragma GCC unroll 8
    for (int i = 0; i < STORE_VALUE_WORDS; i++) {
        value[i] = lnic_read();
        if (behind)
            lnic_write_r(value[i]);
    }
    if (version > item->version) {
        item->version = version;
        for (int i = 0; i < STORE_VALUE_WORDS; i++)
            item->value[i] = value[i];
    }
    if (!behind)
        answer(request, DONE, version, ANSWER_BYTES);
}

static inline void serve(void)
{
    request_t request;

    lnic_wait();
    uint64_t header = lnic_read(), words = lnic_words(lnic_header_bytes(header));
    if (words < REQUEST_WORDS) {
        drop(words);
        request = (request_t){ .client = header & ~LEN_MASK };
        refuse(&request, MALFORMED);
        return;
    }
    request.what = lnic_read();
    request.client = lnic_read();
    request.tag = lnic_read();
    request.version = lnic_read();
    request.behind[0] = lnic_read();
    request.behind[1] = lnic_read();
    request.hash = lnic_read();
    request.key[0] = lnic_read();
    request.key[1] = lnic_read();
    words -= REQUEST_WORDS;
    uint64_t operation = request.what & OPERATION_MASK;
    if (operation == READ && words == 0) {
        read_value(&request);
    } else if (operation == WRITE && words == STORE_VALUE_WORDS) {
        write_value(&request);
    } else {
        drop(words);
        refuse(&request, MALFORMED);
    }
}

int main(int argc, char **argv)
{
    uint64_t pairs = argc > 1 ? strtoul(argv[1], NULL, 0) : 10000;

    if (!store_preload(&store, 0, pairs)) {
        printf("replica: %lu pairs do not fit\n", pairs);
        return EXIT_FAILURE;
    }
    lnic_add_context(0, 0);
    for (;;) {
        serve();
        lnic_msg_done();
    }
}
