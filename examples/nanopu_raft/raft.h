/* Messages of a replicated log in the manner of Raft, in words of 64 bits. The first word of each
 * has its kind (7:0) and, between replicas, the sender's number (15:8).
 *
 *   VOTE_REQUEST  term, index and term of the candidate's last entry
 *   VOTE          term, granted
 *   APPEND        term, index and term of the entry before, commit index, number of entries,
 *                 entries
 *   APPENDED      term, success, index: the last that is the same here (success), or where to begin
 *   COMMAND       who (answers go there; the client's number in 15:0), the client's number of the
 *                 command, operation (63:56) and key, value
 *   HALT, RESUME, FINISH   nothing; see replica.c
 *
 * and to clients: {status, the command's number, value or number of the leader}.
 */
#ifndef NANOPU_RAFT_H
#define NANOPU_RAFT_H

#include <lnic.h>

enum { VOTE_REQUEST = 1, VOTE, APPEND, APPENDED, COMMAND, HALT, RESUME, FINISH };
enum { NOTHING = 0, PUT = 1, GET = 2 };
enum { DONE = 0, NOT_LEADER = 1, FULL = 2, MALFORMED = 3 };

#define FROM_SHIFT 8
#define OPERATION_SHIFT 56
#define KIND_MASK 0xff

#define MOST_REPLICAS 7
#define MOST_CLIENTS 64
#define KEYS 16
#define NOBODY 0xff

#define COMMAND_WORDS 5
#define ANSWER_WORDS 3

/* Entries of the log as they are sent. */
typedef struct {
    uint64_t term;
    uint64_t client; /* as in COMMAND; 0 with NOTHING, which a new leader appends */
    uint64_t number;
    uint64_t what; /* operation and key */
    uint64_t value;
} entry_t;

#define ENTRY_WORDS (sizeof(entry_t) / 8)
#define MOST_ENTRIES 20 /* of an APPEND: 856 B, a packet */
#define APPEND_WORDS 6
#define MOST_WORDS (APPEND_WORDS + MOST_ENTRIES * ENTRY_WORDS)

#endif
