/* Who leads: a replica that hears nothing of a leader for a random time asks the others for their
 * votes in a new term. Each votes once in a term, and only for a log that is not behind its own. */
#include "history.h"
#include "replica.h"

static uint64_t last_term(void)
{
    return self.last ? self.log[self.last].term : 0;
}

/* From now on a leader has this long to be heard of. */
void restart_clock(void)
{
    self.deadline = rdcycle() + ELECTION_CYCLES + random_below(&self.random, ELECTION_CYCLES);
}

/* Enters a term, if it is a new one, as a follower of `leader` (or NOBODY yet). */
void follow(uint64_t term, uint64_t leader)
{
    if (term > self.term) {
        self.term = term;
        self.voted_for = NOBODY;
        self.leader = NOBODY;
    }
    if (self.role == LEADER)
        restart_clock();
    self.role = FOLLOWER;
    if (leader != NOBODY)
        self.leader = leader;
}

static void count_votes(void)
{
    if ((uint64_t)__builtin_popcountll(self.votes) > self.count / 2)
        lead();
}

void stand_for_election(void)
{
    self.role = CANDIDATE;
    self.term++;
    self.elections++;
    self.voted_for = self.number;
    self.leader = NOBODY;
    self.votes = 1ul << self.number;
    restart_clock();
    uint64_t words[] = { VOTE_REQUEST | self.number << FROM_SHIFT, self.term, self.last,
                         last_term() };
    for (uint64_t i = 0; i < self.count; i++)
        if (i != self.number)
            send(i, words, sizeof words / 8);
    count_votes();
}

void take_vote_request(uint64_t from, const uint64_t *words)
{
    uint64_t term = words[1], index = words[2], of_term = words[3];

    if (term > self.term)
        follow(term, NOBODY);
    bool is_behind = of_term < last_term() || (of_term == last_term() && index < self.last);
    bool is_granted = term == self.term && !is_behind
                      && (self.voted_for == NOBODY || self.voted_for == from);
    if (is_granted) {
        self.voted_for = from;
        restart_clock();
    }
    uint64_t reply[] = { VOTE | self.number << FROM_SHIFT, self.term, is_granted };
    send(from, reply, sizeof reply / 8);
}

void take_vote(uint64_t from, const uint64_t *words)
{
    uint64_t term = words[1], is_granted = words[2];

    if (term > self.term)
        follow(term, NOBODY);
    if (self.role != CANDIDATE || term != self.term || !is_granted)
        return;
    self.votes |= 1ul << from;
    count_votes();
}
