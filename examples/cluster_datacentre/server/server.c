/* Hart 0 asks other servers, each chosen at random, and checks every answer; the other harts answer
 * whoever asks. Arguments: this server's number, the first server's address, how many servers there
 * are, a seed, how many requests. */
#include <stdio.h>
#include <stdlib.h>

#include <lnic.h>

enum { QUESTIONS, ANSWERS }; /* contexts */

/* Harts that can be asked. */
static int ready;

bool is_single_core(void)
{
    return false;
}

/* Mixes a number so that every bit of it changes half of the result's (SplitMix64's finalizer). */
static uint64_t mix(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

/* The answer depends on who gives it, so that a message that went astray is found out. */
static uint64_t answer_of(uint32_t server, uint64_t question)
{
    return question * 3 + server;
}

static int answer(uint32_t own)
{
    lnic_add_context(QUESTIONS, 0);
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), question = lnic_read();

        lnic_write_r(lnic_header(lnic_header_ip(header), ANSWERS, 8));
        lnic_write_r(answer_of(own, question));
        lnic_msg_done();
    }
    return 0;
}

static uint64_t ask(uint32_t server, uint64_t question)
{
    lnic_write_r(lnic_header(server, QUESTIONS, 8));
    lnic_write_r(question);
    lnic_wait();
    lnic_read(); /* the header: only one question is under way */
    uint64_t answer = lnic_read();

    lnic_msg_done();
    return answer;
}

int core_main(int argc, char **argv, int cid, int nc)
{
    uint64_t index = argc > 5 ? strtoul(argv[1], NULL, 10) : 0;
    uint32_t first = argc > 5 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint64_t servers = argc > 5 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t seed = argc > 5 ? strtoul(argv[4], NULL, 10) : 0;
    uint64_t requests = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    uint64_t slowest = 0;

    if (servers < 2) {
        if (cid == 0)
            printf("arguments: INDEX FIRST-SERVER SERVERS SEED REQUESTS\n");
        return 2;
    }
    if (cid > 0)
        return answer(first + (uint32_t)index);
    lnic_add_context(ANSWERS, 0);
    /* The others start as this one does: when its own harts are ready, theirs are. */
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < nc - 1)
        ;
    for (uint64_t number = 0; number < requests; number++) {
        uint64_t question = index << 32 | number;
        uint64_t chance = mix(mix(seed) + question) % (servers - 1);
        uint32_t other = first + (uint32_t)((index + 1 + chance) % servers);
        uint64_t begun = read_csr(cycle);

        if (ask(other, question) != answer_of(other, question)) {
            printf("request %d came back wrong\n", (int)number);
            return 1;
        }
        uint64_t took = read_csr(cycle) - begun;

        slowest = took > slowest ? took : slowest;
    }
    printf("%d answers, the slowest after %d cycles\n", (int)requests, (int)slowest);
    return 0;
}
