/* A key-value store as a nanoservice: every hart has a partition (store.h) of its own, filled with
 * 10,000 pairs of 16 B and 512 B. The first argument says how requests find a hart:
 *
 *   static  hart h serves port h and has the keys h * PAIRS … (h + 1) * PAIRS - 1: the key decides
 *           the port, and the store is correct
 *   jbsq    all harts serve port 0, and each has the keys 0 … PAIRS - 1 in a partition of its own:
 *           the least loaded hart answers, which does not know what was written on another. That is
 *           wrong as a store; it is there to measure what a shared queue would gain, as was
 *           published
 *
 * The second argument is PAIRS (10000), the third the address that hears, from each hart, {hart,
 * port} when it is ready (10.0.0.1; 0: nobody).
 *
 *   request   {anything, time of sending, operation, hash, key (2 words)}, SET: and the value
 *   answer    {status, time of sending}, GET: and the value, others: and the version
 *
 * With values of 512 B that is 48 B and 560 B there, 528 B and 24 B back, as published. A GET
 * without success is answered with 24 B.
 */
#include <lnic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store.h"

enum { GET = 1, SET = 2, DELETE = 3 };
enum { DONE = 0, NOT_FOUND = 1, FULL = 2, MALFORMED = 3 };

#define REQUEST_WORDS 6
#define SHORT_ANSWER_BYTES 24
#define LONG_ANSWER_BYTES (16 + STORE_VALUE_BYTES)
#define LOAD_GENERATOR 0x0a000001ul

/* Stores the next received word. */
#define lnic_read_m(place) __asm__ volatile("sd " LREAD ", %0" : "=m"(place))

static store_t partitions[PINION_HARTS];

bool is_single_core(void)
{
    return false;
}

static inline void drop(uint64_t words)
{
    while (words--)
        (void)lnic_read();
}

static inline void answer(uint64_t header, uint64_t status, uint64_t sent, uint64_t version)
{
    lnic_write_r((header & ~LEN_MASK) | SHORT_ANSWER_BYTES);
    lnic_write_r(status);
    lnic_write_r(sent);
    lnic_write_r(version);
}

static inline void get(store_t *store, uint64_t header, uint64_t sent, const uint64_t *key,
                       uint64_t hash)
{
    item_t *item = store_find(store, key, hash);

    if (!item) {
        answer(header, NOT_FOUND, sent, 0);
        return;
    }
    lnic_write_r((header & ~LEN_MASK) | LONG_ANSWER_BYTES);
    lnic_write_i(DONE);
    lnic_write_r(sent);
#pragma GCC unroll 64
    for (int i = 0; i < STORE_VALUE_WORDS; i++)
        lnic_write_m(item->value[i]);
}

static inline void set(store_t *store, uint64_t header, uint64_t sent, const uint64_t *key,
                       uint64_t hash)
{
    item_t *item = store_find(store, key, hash);

    if (!item)
        item = store_add(store, key, hash);
    if (!item) {
        drop(STORE_VALUE_WORDS);
        answer(header, FULL, sent, 0);
        return;
    }
#pragma GCC unroll 64
    for (int i = 0; i < STORE_VALUE_WORDS; i++)
        lnic_read_m(item->value[i]);
    answer(header, DONE, sent, ++item->version);
}

/* A request that is too short for its operation, or is none. */
static void refuse(uint64_t header, uint64_t sent, uint64_t words_left)
{
    drop(words_left);
    answer(header, MALFORMED, sent, 0);
}

static void serve(store_t *store)
{
    lnic_wait();
    uint64_t header = lnic_read(), words = lnic_words(lnic_header_bytes(header));
    if (words < REQUEST_WORDS) {
        refuse(header, 0, words);
        return;
    }
    (void)lnic_read();
    uint64_t sent = lnic_read(), operation = lnic_read(), hash = lnic_read();
    uint64_t key[2];
    key[0] = lnic_read();
    key[1] = lnic_read();
    words -= REQUEST_WORDS;
    if (operation == GET && words == 0)
        get(store, header, sent, key, hash);
    else if (operation == SET && words == STORE_VALUE_WORDS)
        set(store, header, sent, key, hash);
    else if (operation == DELETE && words == 0)
        answer(header, store_delete(store, key, hash) ? DONE : NOT_FOUND, sent, 0);
    else
        refuse(header, sent, words);
}

int core_main(int argc, char **argv, int cid, int nc)
{
    const char *assignment = argc > 1 ? argv[1] : "static";
    uint64_t pairs = argc > 2 ? strtoul(argv[2], NULL, 0) : 10000;
    uint64_t listener = argc > 3 ? strtoul(argv[3], NULL, 0) : LOAD_GENERATOR;
    bool is_shared = !strcmp(assignment, "jbsq");
    uint64_t port = is_shared ? 0 : (uint64_t)cid;
    store_t *store = &partitions[cid];

    if (!is_shared && strcmp(assignment, "static")) {
        printf("nanopu_mica: there is no assignment `%s`: static, jbsq\n", assignment);
        return EXIT_FAILURE;
    }
    if (!store_preload(store, port * pairs, pairs)) {
        printf("nanopu_mica: %lu pairs do not fit\n", pairs);
        return EXIT_FAILURE;
    }
    lnic_add_context(port, 0);
    if (listener) {
        lnic_write_r(lnic_header(listener, 0, 16));
        lnic_write_r(cid);
        lnic_write_r(port);
    }
    for (;;) {
        serve(store);
        lnic_msg_done();
    }
}
