/* What clients, filter and server agree on: requests {key, number}, answers {key, result}. */
#ifndef RULES_H
#define RULES_H

#include <stdint.h>

/* In the place of the result: the filter let the request not through. */
#define REFUSED 0xffffffffffffffffull

/* What the server makes of a key. */
static inline uint64_t result_of(uint64_t key)
{
    return 3 * key + 1;
}

#endif
