/* Hart 0 sends numbered messages of all lengths to all other nodes, in an order of its own; hart 1 notes
 * which came. It says so when all are there, and at once when one comes again, or changed, or one that
 * nobody sent. Arguments: this node's number, the first node's address, how many nodes there are, how
 * many messages each sends to each other, bytes of the longest, a seed. */
#include <stdio.h>
#include <stdlib.h>

#include <lnic.h>

enum { MOST_NODES = 64, MOST_MESSAGES = 1 << 14 };

static uint8_t seen[MOST_NODES][MOST_MESSAGES / 8];
static uint32_t sent[MOST_NODES];
static int listens;

bool is_single_core(void)
{
    return false;
}

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 31) * 0x7fb5d329728ea185;
    value = (value ^ value >> 27) * 0x81dadef4bc2dd44d;
    return value ^ value >> 33;
}

/* A message's first word says from whom to whom and which it is; the others follow from it. */
static uint64_t name_of(uint64_t from, uint64_t to, uint64_t number)
{
    return from << 48 | to << 32 | number;
}

/* Mostly short, some of them of several packets; both ends know how long. */
static uint64_t words_of(uint64_t name, uint64_t longest)
{
    uint64_t chance = mix(name);
    uint64_t most = chance % 16 ? 4 : longest / 8;

    return 1 + (chance >> 8) % (most ? most : 1);
}

static int listen(uint64_t own, uint64_t nodes, uint64_t messages, uint64_t longest)
{
    uint64_t missing = messages * (nodes - 1);

    lnic_add_context(0, 0);
    __atomic_store_n(&listens, 1, __ATOMIC_RELEASE);
    for (;;) {
        lnic_wait();
        uint64_t bytes = lnic_header_bytes(lnic_read()), name = lnic_read(), word = name, wrong = 0;
        uint64_t from = name >> 48, number = name & 0xffffffff;

        for (uint64_t left = lnic_words(bytes) - 1; left; left--) {
            word = word * 0x5851f42d4c957f2d + 1;
            wrong |= lnic_read() ^ word;
        }
        lnic_msg_done();
        if (from >= nodes || from == own || number >= messages || wrong ||
            name != name_of(from, own, number) || bytes != 8 * words_of(name, longest)) {
            printf("changed: %lx, %d bytes\n", name, (int)bytes);
        } else if (seen[from][number / 8] >> number % 8 & 1) {
            printf("repeated: %d from %d\n", (int)number, (int)from);
        } else {
            seen[from][number / 8] |= 1 << number % 8;
            if (--missing == 0)
                printf("all %d messages\n", (int)(messages * (nodes - 1)));
        }
    }
    return 0;
}

static void send(uint32_t address, uint64_t name, uint64_t longest)
{
    uint64_t words = words_of(name, longest), word = name;

    lnic_write_r(lnic_header(address, 0, 8 * words));
    lnic_write_r(word);
    for (; words > 1; words--) {
        word = word * 0x5851f42d4c957f2d + 1;
        lnic_write_r(word);
    }
}

int core_main(int argc, char **argv, int cid, int nc)
{
    uint64_t own = argc > 6 ? strtoul(argv[1], NULL, 10) : 0;
    uint32_t first = argc > 6 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    uint64_t nodes = argc > 6 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t messages = argc > 6 ? strtoul(argv[4], NULL, 10) : 0;
    uint64_t longest = argc > 6 ? strtoul(argv[5], NULL, 10) : 0;
    uint64_t seed = argc > 6 ? strtoul(argv[6], NULL, 10) : 0;

    if (nodes < 2 || nodes > MOST_NODES || messages > MOST_MESSAGES)
        return 2;
    if (cid > 0)
        return listen(own, nodes, messages, longest);
    while (!__atomic_load_n(&listens, __ATOMIC_ACQUIRE))
        ;
    for (uint64_t left = messages * (nodes - 1); left; left--) {
        uint64_t to = mix(seed ^ own << 40 ^ left) % nodes;

        while (to == own || sent[to] == messages)
            to = (to + 1) % nodes;
        send(first + (uint32_t)to, name_of(own, to, sent[to]++), longest);
    }
    return 0;
}
