/* What a replica is made of, and its parts: log.c (the log and the commands in it), election.c,
 * replication.c, replica.c (messages and time). */
#ifndef RAFT_REPLICA_H
#define RAFT_REPLICA_H

#include <stdbool.h>
#include "raft.h"

#define LOG_ENTRIES 8192

/* Times in cycles. A round trip between two nodes takes some 900; a packet that is lost costs the
 * transport's timeout, 6,000. */
#define HEARTBEAT_CYCLES 10000
#define ELECTION_CYCLES 40000 /* at least, and less than twice as much */

typedef enum { FOLLOWER, CANDIDATE, LEADER, HALTED } role_t;

/* Is what the log's commands make: registers, and what each client's last command gave. */
typedef struct {
    uint64_t registers[KEYS];
    struct {
        uint64_t number, value;
    } last[MOST_CLIENTS];
} machine_t;

typedef struct {
    /* What survives a halt. */
    uint64_t term, voted_for;
    entry_t log[LOG_ENTRIES]; /* from 1 on */
    uint64_t last; /* index of the last entry */

    uint64_t number, count, first_ip; /* of this replica; of all; address of replica 0 */
    uint64_t random;

    role_t role;
    uint64_t leader, votes, deadline;
    uint64_t commit, applied;
    machine_t machine;
    struct {
        uint64_t next, match, due; /* due: when an APPEND goes to it, answered or not */
        bool is_waiting; /* for the answer to one */
    } others[MOST_REPLICAS];
    uint64_t elections, leaderships;
} replica_t;

extern replica_t self;

/* Sends the words of a message to a replica. */
void send(uint64_t to, const uint64_t *words, uint64_t count);
/* Answers a client. */
void answer(uint64_t client, uint64_t status, uint64_t number, uint64_t value);
/* Ends the program: something happened that must not. */
void broken(const char *what) __attribute__((noreturn));

/* log.c */
bool log_append(const entry_t *entry);
bool log_matches(uint64_t index, uint64_t term);
uint64_t log_conflict(uint64_t index);
void log_take(uint64_t index, const entry_t *entry);
void log_commit(uint64_t index);
void log_print(void);

/* election.c */
void restart_clock(void);
void follow(uint64_t term, uint64_t leader);
void stand_for_election(void);
void take_vote_request(uint64_t from, const uint64_t *words);
void take_vote(uint64_t from, const uint64_t *words);

/* replication.c */
void replicate(void);
void lead(void);
void take_append(uint64_t from, const uint64_t *words);
void take_appended(uint64_t from, const uint64_t *words);
void take_command(const uint64_t *words);

#endif
