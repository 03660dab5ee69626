/* Hart 0 asks the other peers, its neighbour first, one request after the other, and checks every
 * answer; the other harts answer whoever asks. Arguments: this peer's number, the first peer's address,
 * how many peers there are, how many requests, turns of a loop that an answer is made in. */
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

/* The answer depends on who gives it, so that a message that went astray is found out. */
static uint64_t answer_of(uint32_t peer, uint64_t question)
{
    return question * 3 + peer;
}

static int answer(uint32_t own)
{
    lnic_add_context(QUESTIONS, 0);
    __atomic_add_fetch(&ready, 1, __ATOMIC_RELEASE);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), question = lnic_read(), work = lnic_read();

        for (; work; work--)
            __asm__ volatile("");
        lnic_write_r(lnic_header(lnic_header_ip(header), ANSWERS, 8));
        lnic_write_r(answer_of(own, question));
        lnic_msg_done();
    }
    return 0;
}

static uint64_t ask(uint32_t peer, uint64_t question, uint64_t work)
{
    lnic_write_r(lnic_header(peer, QUESTIONS, 16));
    lnic_write_r(question);
    lnic_write_r(work);
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
    uint64_t peers = argc > 5 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t requests = argc > 5 ? strtoul(argv[4], NULL, 10) : 0;
    uint64_t work = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
    uint64_t sum = 0;

    if (peers < 2) {
        if (cid == 0)
            printf("arguments: INDEX FIRST-PEER PEERS REQUESTS WORK\n");
        return 2;
    }
    if (cid > 0)
        return answer(first + (uint32_t)index);
    lnic_add_context(ANSWERS, 0);
    /* The others start as this one does: when its own harts are ready, theirs are. */
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < nc - 1)
        ;
    for (uint64_t number = 0; number < requests; number++) {
        uint64_t other = (index + 1 + number % (peers - 1)) % peers;
        uint64_t question = index << 32 | number, begun = read_csr(cycle);

        if (ask(first + (uint32_t)other, question, work) !=
            answer_of(first + (uint32_t)other, question)) {
            printf("request %d came back wrong\n", (int)number);
            return 1;
        }
        sum += read_csr(cycle) - begun;
    }
    printf("%d answers, mean %d cycles\n", (int)requests, requests ? (int)(sum / requests) : 0);
    return 0;
}
