/* Clients of chain replication. Arguments:
 *
 *   1, 2   address of the head, number of replicas; the others' addresses follow the head's
 *   3, 4   this node's address, this node's number among the clients
 *   5      seed of all random numbers
 *   6      what to do:
 *            mixed    every hart is a client, one operation at a time: READs from the tail and
 *                     WRITEs to the head, half and half, and prints its history (history.h)
 *            any      the same, but READs go to any replica: wrong, and the history shows it
 *            measure  hart 0 sends WRITEs of keys drawn uniformly and prints how long each took
 *   7, 8   operations of each client, keys
 *   9      measure: cycles between two WRITEs on average, one at most in 140 cycles, as the load
 *          generator of the published evaluation sends them; 0: one when the last is answered
 */
#include <stdlib.h>
#include <string.h>
#include "chain.h"
#include "history.h"

#define WINDOW_CYCLES 140
#define THINK_CYCLES 1024 /* most that a client waits between two operations */
#define MOST_WRITES 20000
#define WRITTEN (1ul << 63) /* in tags of values that clients wrote; others are keys' numbers */

static uint64_t head, replicas, own_ip, own_number, seed, operations, keys, gap_cycles;
static history_t histories[PINION_HARTS];
static uint32_t latencies[MOST_WRITES];
static uint64_t send_cycles, receive_cycles;

bool is_single_core(void)
{
    return false;
}

static inline void request(uint64_t operation, uint64_t to, uint64_t context, uint64_t tag,
                           uint64_t key)
{
    uint64_t behind = operation == WRITE ? replicas - 1 : 0, next[4] = { 0 };
    uint64_t second = store_key_word(key), hash = store_hash(key, second);

    for (uint64_t i = 0; i < behind; i++)
        next[i] = to + 1 + i;
    lnic_write_r(lnic_header(to, 0, operation == WRITE ? WRITE_BYTES : REQUEST_BYTES));
    lnic_write_r(operation | behind << BEHIND_SHIFT);
    lnic_write_r(lnic_header(own_ip, context, 0));
    lnic_write_r(tag);
    lnic_write_i(0);
    lnic_write_r(next[0] << 32 | next[1]);
    lnic_write_r(next[2] << 32 | next[3]);
    lnic_write_r(hash);
    lnic_write_r(key);
    lnic_write_r(second);
    if (operation == WRITE)
        for (int i = 0; i < STORE_VALUE_WORDS; i++)
            lnic_write_r(store_value_word(tag, i));
}

/* Waits for the answer to `tag` and gives the tag of the value in it (0: none). Whatever is wrong
 * with it ends the program. */
static uint64_t answered(uint64_t tag, uint64_t key)
{
    lnic_wait();
    uint64_t words = lnic_words(lnic_header_bytes(lnic_read()));
    uint64_t status = lnic_read(), back = lnic_read(), version = lnic_read(), value = 0;
    bool is_whole = true;

    for (uint64_t i = 0; i < words - 3; i++) {
        uint64_t word = lnic_read();
        if (i == 0)
            value = word;
        is_whole &= word == store_value_word(value, i);
    }
    lnic_msg_done();
    if (status == DONE && back == tag && is_whole)
        return value;
    printf("client: key %lu: status %lu, tag %#lx instead of %#lx, version %lu, %s\n", key, status,
           back, tag, version, is_whole ? "whole" : "torn");
    exit(EXIT_FAILURE);
}

/* READs from every replica until all have answered: then they are ready. */
static void greet(uint64_t context)
{
    for (uint64_t i = 0; i < replicas; i++) {
        request(READ, head + i, context, i, 0);
        answered(i, 0);
    }
}

static void operate(uint64_t hart, bool reads_anywhere)
{
    uint64_t number = own_number * PINION_HARTS + hart, random = random_start(seed, number);
    history_t *history = &histories[hart];

    for (uint64_t i = 0; i < operations; i++) {
        uint64_t key = random_below(&random, keys), tag = WRITTEN | number << 32 | i;
        uint64_t resume = rdcycle() + random_below(&random, THINK_CYCLES);
        bool is_write = random_below(&random, 2);
        uint64_t from = reads_anywhere ? random_below(&random, replicas) : replicas - 1;
        while (rdcycle() < resume)
            ;
        operation_t *operation = history_begin(history, is_write ? 'w' : 'r', key, tag);
        request(is_write ? WRITE : READ, is_write ? head : head + from, hart, tag, key);
        uint64_t value = answered(tag, key);
        history_end(operation, is_write ? tag : value);
    }
    history_print(history);
}

/* Takes the answer to a WRITE that was sent when its tag says. */
static void note_latency(uint64_t number)
{
    uint64_t seen = rdcycle();
    (void)lnic_read();
    uint64_t status = lnic_read(), sent = lnic_read() & ~WRITTEN;
    (void)lnic_read();
    uint64_t now = rdcycle();

    lnic_msg_done();
    if (status != DONE) {
        printf("client: status %lu\n", status);
        exit(EXIT_FAILURE);
    }
    latencies[number] = (uint32_t)(now - sent);
    receive_cycles += now - seen;
}

/* Tells whether a WRITE is due: now and then when a window has passed, or when the last is
 * answered. */
static inline bool is_due(uint64_t *random, uint64_t *window_end, uint64_t often, bool is_answered)
{
    if (!gap_cycles)
        return is_answered;
    if (rdcycle() < *window_end)
        return false;
    *window_end += WINDOW_CYCLES;
    return random_next(random) >> 32 < often;
}

static void measure(void)
{
    uint64_t random = random_start(seed, own_number), sent = 0, got = 0, window_end = rdcycle();
    uint64_t often = gap_cycles ? ((uint64_t)WINDOW_CYCLES << 32) / gap_cycles : 0;

    while (got < operations) {
        if (sent < operations && is_due(&random, &window_end, often, sent == got)) {
            uint64_t key = random_below(&random, keys), now = rdcycle();
            request(WRITE, head, 0, WRITTEN | now, key);
            send_cycles += rdcycle() - now;
            sent++;
        }
        if (lnic_ready())
            note_latency(got++);
    }
    printf("client: cycles of a request %lu, of an answer %lu\n", send_cycles / sent,
           receive_cycles / got);
    for (uint64_t i = 0; i < got; i++)
        printf("l %u\n", latencies[i]);
}

int core_main(int argc, char **argv, int cid, int nc)
{
    if (argc < 9) {
        printf("client: 8 or 9 arguments, not %d\n", argc - 1);
        return EXIT_FAILURE;
    }
    const char *task = argv[6];
    uint64_t numbers[9] = { 0 };
    for (int i = 1; i <= 9 && i < argc; i++)
        numbers[i - 1] = i == 6 ? 0 : strtoul(argv[i], NULL, 0);
    /* pinion: intended: the same on all harts */
    head = numbers[0], replicas = numbers[1], own_ip = numbers[2], own_number = numbers[3];
    /* pinion: intended: likewise */
    seed = numbers[4], operations = numbers[6], keys = numbers[7], gap_cycles = numbers[8];
    bool is_measure = !strcmp(task, "measure"), is_any = !strcmp(task, "any");
    uint64_t most = is_measure ? MOST_WRITES : HISTORY_OPERATIONS;
    if (replicas < 1 || replicas > MOST_REPLICAS || operations > most || keys < 1
        || (!is_measure && !is_any && strcmp(task, "mixed"))) {
        printf("client: task %s, %lu replicas, %lu operations, %lu keys: see client.c\n", task,
               replicas, operations, keys);
        return EXIT_FAILURE;
    }
    lnic_add_context(cid, 0);
    if (is_measure && cid > 0)
        return 0;
    greet(cid);
    if (is_measure)
        measure();
    else
        operate(cid, is_any);
    return 0;
}
