/* Takes queries, asks every core of the leaves, merges what they answer. Arguments: the address of
 * the first leaf, the number of leaves. Each core is a root of its own, for one query at a time;
 * queries that come meanwhile wait. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "sets.h"

#define MOST_LEAVES 64 /* cores */
#define MOST_WAITING 16

bool is_single_core(void)
{
    return false;
}

typedef struct {
    uint64_t header, query, terms;
} query_t;

typedef struct {
    uint64_t leaves, each; /* cores, documents that one can have at most */
    uint32_t leaf;
    query_t waiting[MOST_WAITING];
    uint64_t first_waiting, waiting_count;
    uint32_t *answers, *merged; /* as much for each leaf as it can have */
    uint64_t counts[MOST_LEAVES], missing[MOST_LEAVES];
} root_t;

static root_t roots[HARTS_PER_NODE];

/* Takes a message: a query is put behind those that wait, a part of an answer where it belongs.
 * Gives 1 when a leaf's answer is whole. */
static uint64_t take(root_t *root)
{
    uint64_t whole = 0;

    lnic_wait();
    uint64_t header = lnic_read(), word = lnic_read();
    if (word & IS_ANSWER) {
        uint64_t leaf = (lnic_header_ip(header) - root->leaf) * HARTS_PER_NODE +
                        lnic_header_context(header);
        uint64_t place = leaf * root->each + answer_part(word) * PART_DOCUMENTS;
        read_documents(answer_count(word), root->answers + place);
        if (root->missing[leaf] == 0)
            root->missing[leaf] = answer_parts(word);
        root->counts[leaf] += answer_count(word);
        whole = --root->missing[leaf] == 0;
    } else {
        uint64_t at = (root->first_waiting + root->waiting_count++) % MOST_WAITING;
        root->waiting[at] = (query_t){ header, word, lnic_read() };
    }
    lnic_msg_done();
    return whole;
}

/* Merges two ascending runs of different documents. */
static void merge_two(const uint32_t *a, uint64_t a_count, const uint32_t *b, uint64_t b_count,
                      uint32_t *to)
{
    while (a_count && b_count) {
        if (*a < *b) {
            *to++ = *a++;
            a_count--;
        } else {
            *to++ = *b++;
            b_count--;
        }
    }
    while (a_count--)
        *to++ = *a++;
    while (b_count--)
        *to++ = *b++;
}

/* Merges all leaves' documents, in pairs, then pairs of pairs; gives how many and where. */
static uint64_t merge_all(root_t *root, const uint32_t **result)
{
    uint32_t *from = root->answers, *to = root->merged;

    for (uint64_t width = 1; width < root->leaves; width *= 2) {
        for (uint64_t leaf = 0; leaf < root->leaves; leaf += 2 * width) {
            uint64_t right = leaf + width, place = leaf * root->each;
            uint64_t more = right < root->leaves ? root->counts[right] : 0;
            merge_two(from + place, root->counts[leaf], from + right * root->each, more,
                      to + place);
            root->counts[leaf] += more;
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    *result = from;
    return root->counts[0];
}

static void answer(root_t *root, const query_t *query)
{
    const uint32_t *documents;

    for (uint64_t leaf = 0; leaf < root->leaves; leaf++) {
        root->counts[leaf] = root->missing[leaf] = 0;
        lnic_write_r(core_header(root->leaf, leaf, QUERY_BYTES));
        lnic_write_r(query->query);
        lnic_write_r(query->terms);
    }
    for (uint64_t whole = 0; whole < root->leaves;)
        whole += take(root);
    uint64_t count = merge_all(root, &documents);
    send_documents(lnic_header_ip(query->header), lnic_header_context(query->header),
                   query_number(query->query), documents, count);
}

int core_main(int argc, char **argv, int cid, int nc)
{
    open_port(cid);
    root_t *root = &roots[cid];
    uint64_t nodes = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

    root->leaf = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    root->leaves = nodes * HARTS_PER_NODE;
    if (nodes < 1 || root->leaves > MOST_LEAVES || nc != HARTS_PER_NODE) {
        printf("root: LEAF LEAVES, up to %d\n", MOST_LEAVES / HARTS_PER_NODE);
        return EXIT_FAILURE;
    }
    root->each = DOCUMENTS / root->leaves + 1;
    root->answers = malloc(root->leaves * root->each * sizeof(uint32_t));
    root->merged = malloc(root->leaves * root->each * sizeof(uint32_t));
    if (!root->answers || !root->merged)
        return EXIT_FAILURE;
    for (;;) {
        while (root->waiting_count == 0)
            take(root);
        query_t query = root->waiting[root->first_waiting];
        root->first_waiting = (root->first_waiting + 1) % MOST_WAITING;
        root->waiting_count--;
        answer(root, &query);
    }
}
