/* Receives one message of every client, each once and whole, and says when the last word came.
 *
 * Arguments: the first client's address (the others follow), how many there are, the cycle in which
 * they send. The exit code is 0 if all was right.
 */
#include <lnic.h>
#include <stdio.h>
#include <stdlib.h>

#include "incast.h"

#define MOST_CLIENTS 1024

static bool seen[MOST_CLIENTS];

/* Reads a message; tells whether it is what its client sends, for the first time. */
static bool read_message(uint64_t first_address, uint64_t clients)
{
    uint64_t header = lnic_read(), client = lnic_read(), differences = 0;
    uint64_t word = first_word(client);

    for (int i = 1; i < MESSAGE_WORDS; i++) {
        differences |= lnic_read() ^ word;
        word += STEP;
    }
    if (lnic_header_bytes(header) != MESSAGE_BYTES || client >= clients)
        return false;
    if (lnic_header_ip(header) != first_address + client || differences || seen[client])
        return false;
    seen[client] = true;
    return true;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return EXIT_FAILURE;
    uint64_t first_address = strtoul(argv[1], NULL, 0), clients = strtoul(argv[2], NULL, 0);
    uint64_t start = strtoul(argv[3], NULL, 0), first = 0, last = 0;

    if (clients == 0 || clients > MOST_CLIENTS)
        return EXIT_FAILURE;
    lnic_add_context(0, 0);
    for (uint64_t n = 0; n < clients; n++) {
        lnic_wait();
        if (n == 0)
            first = read_csr(mcycle);
        if (!read_message(first_address, clients)) {
            printf("message %lu is wrong\n", n);
            return EXIT_FAILURE;
        }
        last = read_csr(mcycle);
        lnic_msg_done();
    }
    printf("%lu messages, each once: first after %lu cycles, last read after %lu\n", clients,
           first - start, last - start);
    return 0;
}
