// Asks the server for sums, one after the other, and checks them. Arguments: the server's address,
// this client's number, how many requests.
#include <lnic.h>
#include <stdio.h>
#include <stdlib.h>

// Sends three words and gives what the server makes of them.
static uint64_t ask(uint32_t server, uint64_t a, uint64_t b, uint64_t c) {
    lnic_write_r(lnic_header(server, 0, 24));
    lnic_write_r(a);
    lnic_write_r(b);
    lnic_write_r(c);
    lnic_wait();
    lnic_read(); // the header: only the server writes to us
    uint64_t sum = lnic_read();
    lnic_msg_done();
    return sum;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        printf("arguments: SERVER CLIENT REQUESTS\n");
        return 2;
    }
    uint32_t server = (uint32_t)strtoul(argv[1], NULL, 10);
    uint64_t client = strtoul(argv[2], NULL, 10);
    uint64_t requests = strtoul(argv[3], NULL, 10);
    lnic_add_context(0, 0);

    uint64_t begun = read_csr(cycle);
    for (uint64_t number = 0; number < requests; number++) {
        if (ask(server, client, number, 1) != client + number + 1) {
            printf("sum %d is wrong\n", (int)number);
            return 1; // another exit code than 0 fails the run
        }
    }
    printf("%d sums in %d cycles\n", (int)requests, (int)(read_csr(cycle) - begun));
    return 0;
}
