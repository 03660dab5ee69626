/* What clients, roots and leaves of the set service have in common: which documents have which
 * terms, and messages. */
#ifndef SETS_H
#define SETS_H

#include <stdint.h>
#include "cluster.h"

#define DOCUMENTS 16384
#define TERMS 16
#define MOST_TERMS 7 /* of a query */

/* A query: its number, how many terms; then a byte for each term. */
#define QUERY_BYTES 16
#define query_word(query, count) ((uint64_t)(query) << 32 | (uint64_t)(count))
#define query_number(word) ((uint32_t)((word) >> 32))
#define query_count(word) ((uint32_t)(word))

/* An answer comes in parts: the query's number, which part, how many parts, how many documents are
 * in this one; then those, two to a word, in ascending order. A part has up to 2048 bytes: two
 * packets. */
#define PART_DOCUMENTS 510
#define IS_ANSWER (1ul << 31)
#define answer_word(query, part, parts, count) \
    ((uint64_t)(query) << 32 | IS_ANSWER | (uint64_t)(part) << 21 | (uint64_t)(parts) << 10 | \
     (uint64_t)(count))
#define answer_part(word) ((uint32_t)(word) >> 21 & 0x3ff)
#define answer_parts(word) ((uint32_t)(word) >> 10 & 0x7ff)
#define answer_count(word) ((uint32_t)(word) & 0x3ff)
#define answer_bytes(count) (8 + 8 * (((count) + 1) / 2))

/* A document has a term by chance: one in 2 for term 0, one in 3 for term 1, and so on. The chance
 * is decided by 64 bits that look random (a multiplication and shifts), the same wherever it is
 * asked. */
static inline int has_term(uint64_t document, uint64_t term)
{
    uint64_t bits = (document << 8 | term) * 0x9e3779b97f4a7c15ul;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9ul;
    bits ^= bits >> 32;
    return (bits & 0xffffffff) * (term + 2) >> 32 == 0;
}

/* Sends documents in as many parts as it takes, one at least. */
static inline void send_documents(uint32_t ip, uint64_t port, uint64_t query,
                                  const uint32_t *documents, uint64_t count)
{
    uint64_t parts = count ? (count + PART_DOCUMENTS - 1) / PART_DOCUMENTS : 1;

    for (uint64_t part = 0; part < parts; part++, documents += PART_DOCUMENTS) {
        uint64_t here = count < PART_DOCUMENTS ? count : PART_DOCUMENTS;
        count -= here;
        lnic_write_r(lnic_header(ip, port, answer_bytes(here)));
        lnic_write_r(answer_word(query, part, parts, here));
        uint64_t i;
        for (i = 0; i + 1 < here; i += 2)
            lnic_write_r(documents[i] | (uint64_t)documents[i + 1] << 32);
        if (i < here)
            lnic_write_r(documents[i]);
    }
}

/* Takes the documents of a part, whose first word has been read; an odd one leaves half a word. */
static inline void read_documents(uint64_t count, uint32_t *documents)
{
    for (uint64_t i = 0; i < count; i += 2) {
        uint64_t word = lnic_read();
        documents[i] = (uint32_t)word;
        if (i + 1 < count)
            documents[i + 1] = word >> 32;
    }
}

#endif
