/* How the leader's log becomes everybody's: it sends each follower what that lacks, one APPEND at a
 * time, again when no answer comes, and an empty one as a sign of life. An entry of its own term
 * that a majority has is committed, and all before it. */
#include "encoding.h"
#include "replica.h"

static void send_entries(uint64_t to)
{
    uint64_t before = self.others[to].next - 1, left = self.last - before;
    uint64_t count = left < MOST_ENTRIES ? left : MOST_ENTRIES, words[MOST_WORDS];

    words[0] = APPEND | self.number << FROM_SHIFT;
    words[1] = self.term;
    words[2] = before;
    words[3] = before ? self.log[before].term : 0;
    words[4] = self.commit;
    words[5] = count;
    entry_t *entries = (entry_t *)&words[APPEND_WORDS];
    for (uint64_t i = 0; i < count; i++)
        entries[i] = self.log[before + 1 + i];
    self.others[to].is_waiting = true;
    self.others[to].due = rdcycle() + HEARTBEAT_CYCLES;
    send(to, words, APPEND_WORDS + count * ENTRY_WORDS);
}

/* Sends what is due: new entries where no answer is waited for, and to all whose time has come. */
void replicate(void)
{
    self.deadline = -1ul;
    for (uint64_t i = 0; i < self.count; i++) {
        if (i == self.number)
            continue;
        bool is_behind = self.others[i].next <= self.last;
        if (rdcycle() >= self.others[i].due || (is_behind && !self.others[i].is_waiting))
            send_entries(i);
        if (self.others[i].due < self.deadline)
            self.deadline = self.others[i].due;
    }
}

static void commit_what_most_have(void)
{
    for (uint64_t index = self.last; index > self.commit; index--) {
        uint64_t have = 1;
        if (self.log[index].term != self.term)
            return; /* those of older terms are committed together with one of ours */
        for (uint64_t i = 0; i < self.count; i++)
            have += i != self.number && self.others[i].match >= index;
        if (have > self.count / 2) {
            log_commit(index);
            return;
        }
    }
}

/* Begins to lead: with an entry of this term, which lets those before it be committed. */
void lead(void)
{
    entry_t nothing = { .term = self.term };

    self.role = LEADER;
    self.leader = self.number;
    self.leaderships++;
    for (uint64_t i = 0; i < self.count; i++) {
        self.others[i].next = self.last + 1;
        self.others[i].match = 0;
        self.others[i].due = 0;
        self.others[i].is_waiting = false;
    }
    if (!log_append(&nothing))
        broken("the log is full");
    replicate();
    commit_what_most_have();
}

void take_append(uint64_t from, const uint64_t *words)
{
    uint64_t term = words[1], before = words[2], count = words[5], success = 0, index = 0;
    const entry_t *entries = (const entry_t *)&words[APPEND_WORDS];

    if (term >= self.term) {
        if (self.role == LEADER && term == self.term)
            broken("two leaders in a term");
        follow(term, from);
        restart_clock();
        if (before == 0 || log_matches(before, words[3])) {
            for (uint64_t i = 0; i < count; i++)
                log_take(before + 1 + i, &entries[i]);
            success = 1;
            index = before + count;
            log_commit(words[4] < index ? words[4] : index);
        } else {
            index = log_conflict(before);
        }
    }
    uint64_t reply[] = { APPENDED | self.number << FROM_SHIFT, self.term, success, index };
    send(from, reply, sizeof reply / 8);
}

void take_appended(uint64_t from, const uint64_t *words)
{
    uint64_t term = words[1], success = words[2], index = words[3];

    if (term > self.term)
        follow(term, NOBODY);
    if (self.role != LEADER || term != self.term)
        return;
    self.others[from].is_waiting = false;
    if (success && index > self.others[from].match) {
        self.others[from].match = index;
        commit_what_most_have();
    }
    /* An answer that comes late may name what the follower has had since. */
    if (success)
        self.others[from].next = self.others[from].match + 1;
    else if (index > self.others[from].match && index < self.others[from].next)
        self.others[from].next = index;
    replicate();
}

void take_command(const uint64_t *words)
{
    uint64_t client = words[1], number = words[2], id = client & 0xffff;
    entry_t entry = { self.term, client, number, words[3], words[4] };

    if (id >= MOST_CLIENTS || (words[3] & 0xff) >= KEYS)
        answer(client, MALFORMED, number, 0);
    else if (self.role != LEADER)
        answer(client, NOT_LEADER, number, self.leader);
    else if (number == self.machine.last[id].number)
        answer(client, DONE, number, self.machine.last[id].value);
    else if (!log_append(&entry))
        answer(client, FULL, number, 0);
    else
        replicate();
    if (self.role == LEADER)
        commit_what_most_have(); /* alone it is the majority */
}
