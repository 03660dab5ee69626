/* Sends requests to the filter, a few at a time, and checks every answer: what is let through is
 * answered by the server, the rest refused by the filter, each request once.
 *
 * Arguments: the filter's address, the server's, this client's number, how many requests.
 */
#include <lnic.h>
#include <stdio.h>
#include <stdlib.h>

#include "rules.h"

/* Requests without an answer at a time, and most requests. */
#define WINDOW 4
#define MOST_REQUESTS 4096

/* Keys, and what is to become of them; written down here, not computed as the filter does. */
static const struct {
    uint64_t key;
    bool refused;
} KEYS[] = {
    {0x0000000000000001, false}, {0x00000000deadbeef, false}, {0xbad00000ffffffff, true},
    {0xbad0c00000000007, false}, {0xbad0c0ff12345678, false}, {0xbad0c10000000000, true},
    {0xbad1000000000000, true},  {0xdeadbeef00000000, true},  {0xdeadbeefcafe0001, true},
    {0xdeadbef000000000, false}, {0xbacfffffffffffff, false}, {0xbadfffffffffffff, true},
    {0xbae0000000000000, false},
};
#define KEY_COUNT (sizeof(KEYS) / sizeof(KEYS[0]))

static bool is_done[MOST_REQUESTS];
static uint64_t sent_in[MOST_REQUESTS], cycles[2], counts[2];

/* The request's number says which key it has; the key's lowest bits do not, so the answer's key alone
 * would not tell requests apart: they are matched in the order of each key. */
static uint64_t key_index(uint64_t client, uint64_t number)
{
    return (5 * number + client) % KEY_COUNT;
}

static void send(uint64_t filter, uint64_t client, uint64_t number)
{
    lnic_write_r(lnic_header(filter, 0, 16));
    lnic_write_r(KEYS[key_index(client, number)].key);
    lnic_write_r(number);
    sent_in[number] = read_csr(mcycle);
}

/* Finds the oldest request with a key that is sent and has no answer. */
static uint64_t find(uint64_t client, uint64_t key, uint64_t sent)
{
    uint64_t number = 0;

    while (number < sent && (is_done[number] || KEYS[key_index(client, number)].key != key))
        number++;
    return number;
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return EXIT_FAILURE;
    uint64_t filter = strtoul(argv[1], NULL, 0), server = strtoul(argv[2], NULL, 0);
    uint64_t client = strtoul(argv[3], NULL, 0), requests = strtoul(argv[4], NULL, 0), sent = 0;

    if (requests > MOST_REQUESTS)
        return EXIT_FAILURE;
    lnic_add_context(0, 0);
    for (uint64_t done = 0; done < requests; done++) {
        while (sent < requests && sent < done + WINDOW)
            send(filter, client, sent++);
        lnic_wait();
        uint64_t header = lnic_read(), key = lnic_read(), result = lnic_read();
        uint64_t now = read_csr(mcycle), number = find(client, key, sent);

        if (number == sent) {
            printf("an answer for key %lx, which has none to come\n", key);
            return EXIT_FAILURE;
        }
        bool refused = KEYS[key_index(client, number)].refused;
        uint64_t from = refused ? filter : server, expected = refused ? REFUSED : result_of(key);

        if (lnic_header_ip(header) != from || result != expected) {
            printf("key %lx: %lx from %x\n", key, result, lnic_header_ip(header));
            return EXIT_FAILURE;
        }
        is_done[number] = true;
        cycles[refused] += now - sent_in[number];
        counts[refused]++;
        lnic_msg_done();
    }
    printf("%lu answered in %lu cycles each, %lu refused in %lu\n", counts[0],
           counts[0] ? cycles[0] / counts[0] : 0, counts[1], counts[1] ? cycles[1] / counts[1] : 0);
    return 0;
}
