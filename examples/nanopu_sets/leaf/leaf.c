/* Posting lists of some documents on each core: those whose number, by the number of cores, leaves
 * the core's own. A query is answered with the documents that have all its terms. Arguments: this
 * node's number among the leaves, their number. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "sets.h"

bool is_single_core(void)
{
    return false;
}

/* A term's documents in ascending order. */
typedef struct {
    uint32_t *documents;
    uint64_t count;
} list_t;

static list_t lists[HARTS_PER_NODE][TERMS];

static bool make_lists(list_t *own, uint64_t core, uint64_t cores)
{
    for (uint64_t term = 0; term < TERMS; term++) {
        own[term].documents = malloc((DOCUMENTS / cores + 1) * sizeof(uint32_t));
        if (!own[term].documents)
            return false;
        for (uint64_t document = core; document < DOCUMENTS; document += cores)
            if (has_term(document, term))
                own[term].documents[own[term].count++] = document;
    }
    return true;
}

/* The first place from `at` on whose document is not before `document`: in steps that double, then
 * by halves, so that a long list is skipped and not walked. */
static uint64_t skip_to(const list_t *list, uint64_t at, uint32_t document)
{
    uint64_t step = 1, end = at;

    while (end < list->count && list->documents[end] < document) {
        at = end + 1;
        end += step;
        step *= 2;
    }
    end = end < list->count ? end : list->count;
    while (at < end) {
        uint64_t middle = (at + end) / 2;
        if (list->documents[middle] < document)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* Keeps those of `found` that are in a list too; gives how many. */
static uint64_t keep_common(uint32_t *found, uint64_t count, const list_t *list)
{
    uint64_t kept = 0, at = 0;

    for (uint64_t i = 0; i < count; i++) {
        at = skip_to(list, at, found[i]);
        if (at == list->count)
            break;
        if (list->documents[at] == found[i])
            found[kept++] = found[i];
    }
    return kept;
}

static uint64_t intersect(const list_t *own, uint64_t count, uint64_t terms, uint32_t *found)
{
    if (count == 0)
        return 0;
    /* The shortest list first: nothing else can be in the intersection. */
    uint64_t shortest = 0;
    for (uint64_t i = 1; i < count; i++)
        if (own[terms >> 8 * i & 0xff].count < own[terms >> 8 * shortest & 0xff].count)
            shortest = i;
    const list_t *list = &own[terms >> 8 * shortest & 0xff];
    uint64_t left = list->count;
    for (uint64_t i = 0; i < left; i++)
        found[i] = list->documents[i];
    for (uint64_t i = 0; i < count && left; i++)
        if (i != shortest)
            left = keep_common(found, left, &own[terms >> 8 * i & 0xff]);
    return left;
}

int core_main(int argc, char **argv, int cid, int nc)
{
    open_port(cid);
    uint64_t index = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    uint64_t nodes = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
    list_t *own = lists[cid];
    uint32_t *found = malloc(DOCUMENTS * sizeof(uint32_t));

    if (index >= nodes || nc != HARTS_PER_NODE || !found ||
        !make_lists(own, index * HARTS_PER_NODE + cid, nodes * HARTS_PER_NODE)) {
        printf("leaf: INDEX NODES, with memory for the lists\n");
        return EXIT_FAILURE;
    }
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read(), query = lnic_read(), terms = lnic_read();
        uint64_t count = intersect(own, query_count(query), terms, found);

        send_documents(lnic_header_ip(header), lnic_header_context(header), query_number(query),
                       found, count);
        lnic_msg_done();
    }
}
