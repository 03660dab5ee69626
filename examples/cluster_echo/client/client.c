/* Sends numbered requests to an echo server, one after the other, checks that each comes back as it
 * went, and prints how long they took. Arguments: the server's address, this client's number, how many
 * requests. */
#include <stdio.h>
#include <stdlib.h>

#include <lnic.h>

static uint64_t ask(uint32_t server, uint64_t value)
{
    uint64_t answer;

    lnic_write_r(lnic_header(server, 0, 8));
    lnic_write_r(value);
    lnic_wait();
    lnic_read(); /* the header: only the server writes to us */
    answer = lnic_read();
    lnic_msg_done();
    return answer;
}

int main(int argc, char **argv)
{
    uint32_t server = argc > 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
    uint64_t client = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    uint64_t requests = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t least = UINT64_MAX, most = 0, sum = 0;

    if (!server || !requests) {
        printf("arguments: SERVER CLIENT REQUESTS\n");
        return 2;
    }
    lnic_add_context(0, 0);
    for (uint64_t number = 0; number < requests; number++) {
        uint64_t value = client << 32 | number, begun = read_csr(cycle);

        if (ask(server, value) != value) {
            printf("request %d came back changed\n", (int)number);
            return 1;
        }
        uint64_t took = read_csr(cycle) - begun;

        least = took < least ? took : least;
        most = took > most ? took : most;
        sum += took;
    }
    printf("%d answers, %d to %d cycles, mean %d\n", (int)requests, (int)least, (int)most,
           (int)(sum / requests));
    return 0;
}
