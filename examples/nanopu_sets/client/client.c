/* Asks for the documents that have some terms. Arguments: the address of the root, how many
 * queries, a seed. First one at a time, then one to each of the root's cores at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "sets.h"

#define MOST_QUERIES 512

static uint32_t root;
static uint64_t terms[MOST_QUERIES], counts[MOST_QUERIES]; /* of the queries */
static uint64_t sizes[MOST_QUERIES], sums[MOST_QUERIES], packets[MOST_QUERIES];
static uint64_t asked_at[MOST_QUERIES], cycles[MOST_QUERIES];
static uint32_t documents[HARTS_PER_NODE][DOCUMENTS];
static uint64_t missing[HARTS_PER_NODE];

/* The next of a sequence that looks random, from 0 to `below`. */
static uint64_t pick(uint64_t *seed, uint64_t below)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return (*seed >> 33) * below >> 31;
}

/* Two to four different terms. */
static void make_queries(uint64_t number, uint64_t seed)
{
    for (uint64_t query = 0; query < number; query++) {
        uint64_t count = 2 + pick(&seed, 3), chosen = 0;
        for (uint64_t i = 0; i < count;) {
            uint64_t term = pick(&seed, TERMS);
            if (chosen >> term & 1)
                continue;
            chosen |= 1ul << term;
            terms[query] |= term << 8 * i++;
        }
        counts[query] = count;
    }
}

static void ask(uint64_t query, uint64_t count, uint64_t core)
{
    lnic_write_r(lnic_header(root, core, QUERY_BYTES));
    lnic_write_r(query_word(query, count));
    lnic_write_r(terms[query]);
}

/* Takes a part of an answer; gives the core it is from when that was the last. */
static int take(void)
{
    lnic_wait();
    uint64_t header = lnic_read(), word = lnic_read();
    uint64_t core = lnic_header_context(header), query = query_number(word);

    read_documents(answer_count(word), documents[core] + answer_part(word) * PART_DOCUMENTS);
    lnic_msg_done();
    if (missing[core] == 0) {
        missing[core] = answer_parts(word);
        sizes[query] = packets[query] = 0;
    }
    sizes[query] += answer_count(word);
    packets[query] += (answer_bytes(answer_count(word)) + 1023) / 1024;
    return --missing[core] == 0 ? (int)core : -1;
}

static void finish(uint64_t query, uint64_t core)
{
    uint64_t sum = 0;

    cycles[query] = rdcycle() - asked_at[query];
    for (uint64_t i = 0; i < sizes[query]; i++)
        sum = sum * 31 + documents[core][i];
    sums[query] = sum;
}

/* Asks all queries, so many cores of the root at a time; gives the cycles. */
static uint64_t ask_all(uint64_t number, uint64_t cores)
{
    uint64_t running[HARTS_PER_NODE];
    uint64_t start = rdcycle(), asked = 0;

    for (; asked < cores && asked < number; asked++) {
        asked_at[asked] = rdcycle();
        ask(asked, counts[asked], asked);
        running[asked] = asked;
    }
    for (uint64_t answered = 0; answered < number; answered++) {
        int core;
        while ((core = take()) < 0)
            ;
        finish(running[core], core);
        if (asked < number) {
            running[core] = asked;
            asked_at[asked] = rdcycle();
            ask(asked, counts[asked], core);
            asked++;
        }
    }
    return rdcycle() - start;
}

int main(int argc, char **argv)
{
    open_port(0);
    uint64_t number = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

    if (argc != 4 || number < HARTS_PER_NODE || number > MOST_QUERIES) {
        printf("client: ROOT QUERIES SEED, %d to %d queries\n", HARTS_PER_NODE, MOST_QUERIES);
        return EXIT_FAILURE;
    }
    root = strtoul(argv[1], NULL, 0);
    make_queries(number, strtoul(argv[3], NULL, 0));
    wait_for_all();
    /* Without terms nothing is found: when the answers are here, all lists have been made. */
    for (uint64_t core = 0; core < HARTS_PER_NODE; core++) {
        ask(0, 0, core);
        while (take() < 0)
            ;
    }
    uint64_t together = ask_all(number, HARTS_PER_NODE);
    uint64_t first[MOST_QUERIES];
    for (uint64_t query = 0; query < number; query++)
        first[query] = sums[query];
    uint64_t single = ask_all(number, 1);
    for (uint64_t query = 0; query < number; query++) {
        if (first[query] != sums[query]) {
            printf("query %lu: other documents the second time\n", query);
            return EXIT_FAILURE;
        }
        char list[64] = "";
        for (uint64_t i = 0, at = 0; i < counts[query]; i++)
            at += snprintf(list + at, sizeof(list) - at, " %lu", terms[query] >> 8 * i & 0xff);
        printf("query %lu:%s: %lu documents, sum %#lx, %lu packets, %lu cycles\n", query, list,
               sizes[query], sums[query], packets[query], cycles[query]);
    }
    printf("one at a time: %lu cycles a query; %d: %lu cycles a query\n", single / number,
           HARTS_PER_NODE, together / number);
    return EXIT_SUCCESS;
}
