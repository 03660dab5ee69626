/* A replica of a log in the manner of Raft: a loop of messages and time on one hart.
 *
 * HALT stands for the death of the program: from then on messages are thrown away unread (the NIC
 * still acknowledges them, so that nobody's buffers fill). RESUME stands for its restart: term,
 * vote and log are as they were, all else is forgotten and made again from the log. FINISH prints
 * what is committed and is answered; then nothing more happens.
 *
 * Arguments: this replica's number, how many there are, the address of the first, a seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history.h"
#include "replica.h"

replica_t self;

static void write_words(uint64_t header, const uint64_t *words, uint64_t count)
{
    lnic_write_r(header | count * 8);
    for (uint64_t i = 0; i < count; i++)
        lnic_write_m(words[i]);
}

void send(uint64_t to, const uint64_t *words, uint64_t count)
{
    write_words(lnic_header(self.first_ip + to, 0, 0), words, count);
}

void answer(uint64_t client, uint64_t status, uint64_t number, uint64_t value)
{
    uint64_t words[ANSWER_WORDS] = { status, number, value };

    write_words(client & ~LEN_MASK, words, ANSWER_WORDS);
}

void broken(const char *what)
{
    printf("raft: replica %lu, term %lu: %s\n", self.number, self.term, what);
    exit(EXIT_FAILURE);
}

/* Reads a message; gives its words, 0 when it has more than any should. */
static uint64_t receive(uint64_t *header, uint64_t *words)
{
    *header = lnic_read();
    uint64_t count = lnic_words(lnic_header_bytes(*header));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word = lnic_read();
        if (i < MOST_WORDS)
            words[i] = word;
    }
    return count <= MOST_WORDS ? count : 0;
}

/* Starts as if the program had just begun, with what survives. */
static void start(void)
{
    self.role = FOLLOWER;
    self.leader = NOBODY;
    self.commit = self.applied = 0;
    memset(&self.machine, 0, sizeof self.machine);
    restart_clock();
    if (self.count == 1)
        stand_for_election(); /* there is nobody to wait for */
}

static void take_order(uint64_t kind, uint64_t header)
{
    if (kind == RESUME && self.role == HALTED)
        start();
    if (kind == HALT || kind == FINISH)
        self.role = HALTED;
    if (kind == FINISH)
        log_print();
    answer(header, DONE, kind, self.number);
}

static bool is_from_replica(uint64_t kind, uint64_t from, const uint64_t *words, uint64_t count)
{
    if (from >= self.count || from == self.number)
        return false;
    return (kind == VOTE_REQUEST && count == 4) || (kind == VOTE && count == 3)
           || (kind == APPENDED && count == 4)
           || (kind == APPEND && count >= APPEND_WORDS && words[5] <= MOST_ENTRIES
               && count == APPEND_WORDS + words[5] * ENTRY_WORDS);
}

static void take(void)
{
    uint64_t words[MOST_WORDS], header;
    words[0] = 0;
    uint64_t count = receive(&header, words);
    uint64_t kind = words[0] & KIND_MASK, from = words[0] >> FROM_SHIFT & 0xff;

    if (count == 1 && kind >= HALT && kind <= FINISH) {
        take_order(kind, header);
    } else if (self.role == HALTED) {
        return;
    } else if (kind == COMMAND && count == COMMAND_WORDS) {
        take_command(words);
    } else if (is_from_replica(kind, from, words, count)) {
        switch (kind) {
        case VOTE_REQUEST: take_vote_request(from, words); break;
        case VOTE: take_vote(from, words); break;
        case APPEND: take_append(from, words); break;
        default: take_appended(from, words); break;
        }
    } else if (lnic_header_ip(header) - self.first_ip >= self.count) {
        answer(header, MALFORMED, 0, 0);
    }
}

/* Waits for a message; meanwhile time passes. */
static void wait(void)
{
    while (!lnic_ready()) {
        lnic_idle();
        if (self.role == HALTED || rdcycle() < self.deadline)
            continue;
        if (self.role == LEADER)
            replicate();
        else
            stand_for_election();
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        printf("raft: 4 arguments, not %d\n", argc - 1);
        return EXIT_FAILURE;
    }
    self.number = strtoul(argv[1], NULL, 0);
    self.count = strtoul(argv[2], NULL, 0);
    self.first_ip = strtoul(argv[3], NULL, 0);
    self.random = random_start(strtoul(argv[4], NULL, 0), self.number);
    self.voted_for = NOBODY;
    if (self.count < 1 || self.count > MOST_REPLICAS || self.number >= self.count) {
        printf("raft: replica %lu of %lu: 1 to %d\n", self.number, self.count, MOST_REPLICAS);
        return EXIT_FAILURE;
    }
    lnic_add_context(0, 0);
    start();
    for (;;) {
        wait();
        take();
        lnic_msg_done();
    }
}
