/* Messages of chain replication, in words of 64 bits.
 *
 *   request (READ, WRITE), and what a replica sends to the next one (WRITE):
 *     0        operation (7:0), replicas behind the receiver (15:8)
 *     1        who gets the answer: address (63:32), context (31:16)
 *     2        tag, which comes back in the answer
 *     3        version of the write; 0: the receiver is the head, which gives it one
 *     4, 5     addresses of the replicas behind the receiver, the next in 63:32 of word 4
 *     6        hash of the key
 *     7, 8     the key
 *     9 …      WRITE: the value, 64 B
 *   answer:
 *     0        status
 *     1        tag
 *     2        version of the value
 *     3 …      READ: the value
 */
#ifndef NANOPU_CHAIN_H
#define NANOPU_CHAIN_H

#include <lnic.h>
#include "store.h"

enum { READ = 1, WRITE = 2 };
enum { DONE = 0, NOT_FOUND = 1, FULL = 2, MALFORMED = 3 };

#define REQUEST_WORDS 9
#define REQUEST_BYTES (REQUEST_WORDS * 8)
#define WRITE_BYTES (REQUEST_BYTES + STORE_VALUE_BYTES)
#define ANSWER_BYTES 24
#define MOST_REPLICAS 5 /* words 4 and 5 hold the four behind the head */

#define BEHIND_SHIFT 8
#define OPERATION_MASK 0xff

#endif
