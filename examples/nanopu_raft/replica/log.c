/* The log, and the commands in it: once committed they are applied in order, each of a client's
 * once, however often it was sent. */
#include <stdio.h>
#include "replica.h"

/* Appends an entry at the end; false when the log is full. */
bool log_append(const entry_t *entry)
{
    if (self.last + 1 == LOG_ENTRIES)
        return false;
    self.log[++self.last] = *entry;
    return true;
}

/* Tells whether the entry at `index` is there and of this term. */
bool log_matches(uint64_t index, uint64_t term)
{
    return index <= self.last && self.log[index].term == term;
}

/* Where a leader should begin whose entry at `index` is not ours: behind our last, or with the
 * first of the term that differs. */
uint64_t log_conflict(uint64_t index)
{
    if (index > self.last)
        return self.last + 1;
    uint64_t first = index;
    while (first > self.commit + 1 && self.log[first - 1].term == self.log[index].term)
        first--;
    return first;
}

/* Takes a leader's entry for its index; what stood there of another term goes, and all
 * behind it. */
void log_take(uint64_t index, const entry_t *entry)
{
    if (log_matches(index, entry->term))
        return;
    if (index <= self.commit)
        broken("a committed entry would change");
    self.last = index - 1;
    if (!log_append(entry))
        broken("the log is full");
}

static uint64_t apply(const entry_t *entry)
{
    uint64_t client = entry->client & 0xffff, key = entry->what & 0xff, value = 0;

    if (entry->number <= self.machine.last[client].number)
        return self.machine.last[client].value; /* sent again: it was applied before */
    if (entry->what >> OPERATION_SHIFT == PUT)
        self.machine.registers[key] = entry->value;
    else
        value = self.machine.registers[key];
    self.machine.last[client].number = entry->number;
    self.machine.last[client].value = value;
    return value;
}

/* Commits all up to `index`, applies it and, as the leader, answers. Who waits for the answer to an
 * entry of an older leader's asks again. */
void log_commit(uint64_t index)
{
    if (index > self.commit)
        self.commit = index;
    while (self.applied < self.commit) {
        const entry_t *entry = &self.log[++self.applied];
        if (entry->what >> OPERATION_SHIFT == NOTHING)
            continue;
        uint64_t value = apply(entry);
        if (self.role == LEADER && entry->term == self.term) /* what it appended itself */
            answer(entry->client, DONE, entry->number, value);
    }
}

/* Prints what is committed: c INDEX TERM CLIENT NUMBER OPERATION KEY VALUE. */
void log_print(void)
{
    printf("raft: replica %lu, term %lu, committed %lu of %lu, elections %lu, leader %lu times\n",
           self.number, self.term, self.commit, self.last, self.elections, self.leaderships);
    for (uint64_t i = 1; i <= self.commit; i++) {
        const entry_t *entry = &self.log[i];
        printf("c %lu %lu %lu %lu %lu %lu %#lx\n", i, entry->term, entry->client & 0xffff,
               entry->number, entry->what >> OPERATION_SHIFT, entry->what & 0xff, entry->value);
    }
}
