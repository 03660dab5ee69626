/* Seeded bugs of nanoservices. Each is a function that a hart runs whose program was given its name,
 * after a line
 *
 *     // case NAME: CONTEXT:WORDS CONTEXT:WORDS …; KEYS
 *
 * with the messages that come in. KEYS: `all`: every hart runs it, else hart 0 alone; `node`: a node of a
 * cluster runs it, another one echoes, or with `relay` answers to context 1; `unfixed`. Lines say what is found as those of the other files do.
 */
#include <lnic.h>
#include <lnic-scheduler.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Uses a value: a branch that no compiler leaves out. */
#define USE(value)             \
    if ((value) == 0x5a5a5a5a) \
    __asm__ volatile("nop")
/* Hides from the compiler where a pointer comes from. */
#define HIDDEN(pointer)                                    \
    ({                                                     \
        __typeof__(pointer) hidden_ = (pointer);           \
        __asm__ volatile("" : "+r"(hidden_) : : "memory"); \
        hidden_;                                           \
    })

static struct {
    volatile uint64_t count;
    volatile uint32_t flag, lock, other;
    volatile uint64_t data[4];
} shared;

/* What is found names the line of the case, so these are no functions. */
#define begin()      \
    ({               \
        lnic_wait(); \
        lnic_read(); \
    })
#define skip(count)                                                \
    do {                                                           \
        for (uint64_t words_ = (count); words_ > 0; words_--)      \
            (void)lnic_read();                                     \
    } while (0)
/* Takes a message with all its words. */
#define take()                                         \
    ({                                                 \
        uint64_t header_ = begin();                    \
        skip(lnic_words(lnic_header_bytes(header_)));  \
        header_;                                       \
    })
/* Asks the echo with a word. */
#define ask(word)                                  \
    do {                                           \
        lnic_write_r(lnic_header(server, 0, 8));   \
        lnic_write_r(word);                        \
    } while (0)

/* Addresses of the node that echoes, and of this one. */
static __thread uint32_t server, own_address;

static void lock(volatile uint32_t *word)
{
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        ;
}

static void unlock(volatile uint32_t *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

// case local: 0:1 0:2
static void local(int cid)
{
    volatile uint64_t table[4];

    table[0] = 1;
#ifdef FIXED
    table[2] = 1;
#endif
    take();
    USE(table[2]); // finds uninitialised
    lnic_msg_done();
}

// case part: 0:1 0:2
static void part(int cid)
{
    volatile union {
        uint32_t half[2];
        uint64_t whole;
    } word;

    word.half[0] = 7;
#ifdef FIXED
    word.half[1] = 8;
#endif
    uint64_t header = take();
    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 8));
    lnic_write_r(word.whole); // finds uninitialised
    lnic_msg_done();
}

// case heap: 0:1
static void heap(int cid)
{
#ifdef FIXED
    volatile uint64_t *block = calloc(4, 8);
#else
    volatile uint64_t *block = malloc(32);
#endif
    take();
    block[0] = 1;
    USE(block[3]); // finds uninitialised
    lnic_msg_done();
}

// case address: 0:1
static void address(int cid)
{
    volatile uint64_t *places[4];

    places[0] = &shared.data[0];
    take();
#ifdef FIXED
    USE(*HIDDEN(&places[0])[0]);
#else
    uint64_t place = (uintptr_t)HIDDEN(&places[0])[1];
    USE(shared.data[place & 3]); // finds uninitialised
#endif
    lnic_msg_done();
}

static __attribute__((noinline)) volatile uint64_t *gone(void)
{
    volatile uint64_t own[8];

    own[3] = 3;
    return HIDDEN(&own[0]);
}

// case returned: 0:1
static void returned(int cid)
{
    volatile uint64_t *place = gone();
#ifdef FIXED
    volatile uint64_t kept = 3;
    place = &kept - 3;
#endif
    take();
    USE(place[3]); // finds uninitialised
    lnic_msg_done();
}

// case beyond: 0:1,2 0:3,4
static void beyond(int cid)
{
    uint64_t words = lnic_words(lnic_header_bytes(begin())), sum = 0;

#ifndef FIXED
    words++;
#endif
    while (words--)
        sum += lnic_read(); // finds beyond_message
    USE(sum);
    lnic_msg_done();
}

// case trusting: 0:2,7,8 0:4,7
static void trusting(int cid)
{
    uint64_t words = lnic_words(lnic_header_bytes(begin())), said = lnic_read();

#ifdef FIXED
    said = words - 1;
#endif
    USE(words);
    while (said--)
        (void)lnic_read(); // finds beyond_message
    lnic_msg_done();
}

// case empty: 0:1
static void empty(int cid)
{
#ifdef FIXED
    lnic_wait();
#endif
    uint64_t header = lnic_read(); // finds empty_read
    lnic_wait();
#ifndef FIXED
    header = lnic_read();
#endif
    skip(lnic_words(lnic_header_bytes(header)));
    lnic_msg_done();
}

// case left: 0:1,2,3 0:4,5,6
static void left(int cid)
{
    begin();
#ifdef FIXED
    skip(3);
#else
    skip(2);
#endif
    lnic_msg_done(); // finds unread_words
}

// case undone: 0:1 0:2 0:3
static void undone(int cid)
{
    uint64_t header = begin(); // finds never_done

    skip(lnic_words(lnic_header_bytes(header)));
#ifdef FIXED
    lnic_msg_done();
#endif
}

// case twice: 0:1 0:2
static void twice(int cid)
{
    take();
    lnic_msg_done();
#ifndef FIXED
    lnic_msg_done(); // finds unmatched_done
#endif
}

// case excess: 0:1 0:2
static void excess(int cid)
{
    uint64_t header = take();

    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 8));
    lnic_write_i(1);
#ifndef FIXED
    lnic_write_i(48); // finds excess_words
#endif
    lnic_msg_done();
}

// case excess_zero: 0:1 0:2
static void excess_zero(int cid)
{
    uint64_t header = take();

    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 16));
    lnic_write_i(1);
    lnic_write_i(2);
#ifndef FIXED
    lnic_write_i(0); // finds excess_words
#endif
    lnic_msg_done();
}

// case missing: 0:1 0:2
static void missing(int cid)
{
    uint64_t header = take();

    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 16)); // finds missing_words
    lnic_write_i(1);
#ifdef FIXED
    lnic_write_i(2);
#endif
    lnic_msg_done();
}

// case unanswered: 0:1
static void unanswered(int cid)
{
    uint64_t header = take();

    lnic_msg_done();
    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 24)); // finds missing_words
    lnic_write_i(1);
#ifdef FIXED
    lnic_write_i(2);
    lnic_write_i(3);
#endif
}

// case refused: 0:1
static void refused(int cid)
{
    uint64_t header = take(), bytes = 60000;

#ifdef FIXED
    bytes = 8;
#endif
    lnic_write_r(lnic_header(lnic_header_ip(header), 0, bytes)); // finds refused_message
    for (uint64_t words = lnic_words(bytes); words--;)
        lnic_write_r(words);
    lnic_msg_done();
}

// case foreign: 1:1 0:2 1:3 0:4
static int foreign_thread(int argc, char **argv, int cid, int nc, uint64_t id, uint64_t priority)
{
    for (;;) {
#ifndef FIXED
        if (id == 1)
            write_csr(LNIC_CSR_CUR_CONTEXT, 0);
#endif
        uint64_t header = begin(); // finds foreign_message
        skip(lnic_words(lnic_header_bytes(header)));
        lnic_msg_done();
    }
}

static void foreign(int cid)
{
    scheduler_init();
    start_thread(foreign_thread, 0, 0);
    start_thread(foreign_thread, 1, 0);
    scheduler_run();
}

// case deep: 1:1 0:2
#ifdef FIXED
#define LARGE 512
#else
#define LARGE 8192
#endif
static __attribute__((noinline)) void fill(void)
{ // finds stack_overflow
    volatile uint8_t large[LARGE];

    *HIDDEN(&large[0]) = 1;
}

static int deep_thread(int argc, char **argv, int cid, int nc, uint64_t id, uint64_t priority)
{
    for (;;) {
        take();
        fill();
        lnic_msg_done();
    }
}

static void deep(int cid)
{
    scheduler_init();
    start_thread(deep_thread, 0, 0);
    start_thread(deep_thread, 1, 0);
    scheduler_run();
}

// case recursion: 0:1
static __attribute__((noinline)) uint64_t fall(uint64_t depth)
{ // finds stack_overflow
    volatile uint64_t frame[62];

    frame[0] = depth;
    return depth ? fall(depth - 1) + frame[0] : 0;
}

static void recursion(int cid)
{
    take();
#ifdef FIXED
    USE(fall(16));
#else
    USE(fall(258));
#endif
    lnic_msg_done();
}

// case counter: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void counter(int cid)
{
#ifdef FIXED
    __atomic_fetch_add(&shared.count, 1, __ATOMIC_RELAXED);
#else
    shared.count++; // finds lost_update
#endif
    take();
    lnic_msg_done();
}

// case two_locks: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void two_locks(int cid)
{
#ifdef FIXED
    volatile uint32_t *own = &shared.lock;
#else
    volatile uint32_t *own = cid % 2 ? &shared.lock : &shared.other;
#endif
    lock(own);
    shared.data[0] = shared.data[0] + cid + 1; // finds lost_update
    unlock(own);
    take();
    lnic_msg_done();
}

// case half_locked: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void half_locked(int cid)
{
    if (cid % 2) {
        lock(&shared.lock);
        shared.data[1] = cid; // finds data_race
        unlock(&shared.lock);
    } else {
#ifdef FIXED
        lock(&shared.lock);
#endif
        USE(shared.data[1]); // finds data_race
#ifdef FIXED
        unlock(&shared.lock);
#endif
    }
    take();
    lnic_msg_done();
}

// case published: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void published(int cid)
{
    static bool is_told; /* hart 0's own */

    if (cid == 0) {
        if (is_told)
            goto told;
        is_told = true;
        shared.data[2] = 42; // finds data_race
#ifdef FIXED
        __atomic_store_n(&shared.flag, 1, __ATOMIC_RELEASE);
    } else if (__atomic_load_n(&shared.flag, __ATOMIC_ACQUIRE)) {
#else
        shared.flag = 1; // finds data_race
    } else if (shared.flag) { // finds data_race
#endif
        USE(shared.data[2]);
    }
told:
    take();
    lnic_msg_done();
}

// case byte: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void byte(int cid)
{
    volatile uint8_t *bytes = (volatile uint8_t *)&shared.data[3];

#ifdef FIXED
    bytes[cid] = 1;
#else
    bytes[0] = cid; // finds data_race
#endif
    take();
    lnic_msg_done();
}

// case early: 0:1 0:2 0:3 0:4; all
static void early(int cid)
{
    static uint64_t table[4];
    static uint64_t ready;

    if (cid == 0 && !ready) {
        ready = 1;
        for (int i = 0; i < 4; i++)
            ((volatile uint64_t *)table)[i] = i; // finds data_race
        __atomic_store_n(&shared.flag, 1, __ATOMIC_RELEASE);
    }
#ifdef FIXED
    while (!__atomic_load_n(&shared.flag, __ATOMIC_ACQUIRE))
        ;
#endif
    USE(((volatile uint64_t *)table)[cid]); // finds data_race
    take();
    lnic_msg_done();
}

// case several: 0:1 0:2 0:3 0:4 0:5 0:6 0:7 0:8; all
static void several(int cid)
{
    volatile uint64_t told[2];

    told[0] = shared.count + 1;
#ifdef FIXED
    told[1] = 0;
    __atomic_fetch_add(&shared.count, 1, __ATOMIC_RELAXED);
#else
    shared.count = told[0]; // finds data_race
#endif
    uint64_t header = take();
    lnic_write_r(lnic_header(lnic_header_ip(header), 0, 24)); // finds missing_words
    lnic_write_r(told[0]);
    lnic_write_r(told[1]); // finds uninitialised
#ifdef FIXED
    lnic_write_i(0);
    lnic_msg_done();
#else
    lnic_msg_done();
    lnic_msg_done(); // finds unmatched_done
#endif
}

/* The echo that nodes of clusters ask. */
static void echo(int cid)
{
    uint64_t header = begin();

    lnic_write_r(header);
    for (uint64_t words = lnic_words(lnic_header_bytes(header)); words--;)
        lnic_copy();
    lnic_msg_done();
}

/* Answers to another context than the one that asks. */
static void relay(int cid)
{
    uint32_t from = lnic_header_ip(begin());
    uint64_t word = lnic_read();

    lnic_write_r(lnic_header(from, 1, 8));
    lnic_write_r(word);
    lnic_msg_done();
}

// case asks_garbage: ; node
static void asks_garbage(int cid)
{
    volatile uint64_t words[2];

#ifdef FIXED
    words[1] = 1;
#endif
    ask(words[1]); // finds uninitialised
    take();
    lnic_msg_done();
    exit(0);
}

// case asks_short: ; node
static void asks_short(int cid)
{
    lnic_write_r(lnic_header(server, 0, 16)); // finds missing_words
    lnic_write_i(1);
#ifdef FIXED
    lnic_write_i(2);
    take();
    lnic_msg_done();
#endif
    exit(0);
}

// case asks_more: ; node
static void asks_more(int cid)
{
    ask(1);
    begin();
    (void)lnic_read();
#ifndef FIXED
    USE(lnic_read()); // finds beyond_message
#endif
    lnic_msg_done();
    exit(0);
}

// case asks_together: ; node, all
static void asks_together(int cid)
{
#ifdef FIXED
    __atomic_fetch_add(&shared.count, 1, __ATOMIC_ACQ_REL);
#else
    shared.count++; // finds lost_update
#endif
    if (cid == 0) {
        ask(1);
        take();
        lnic_msg_done();
        for (volatile int i = 0; i < 2000; i++)
            ;
        exit(0);
    }
    for (;;)
        lnic_wait();
}

// case handed_on: ; node, all
static void handed_on(int cid)
{
    /* Hart 0 tells the others by a message to this node; who has it comes after. */
    static uint64_t table[2];

    if (cid == 0) {
        table[1] = 5;
#ifdef FIXED
        lnic_write_r(lnic_header(own_address, 1, 8));
        lnic_write_i(1);
#else
        ask(1);
        table[1] = 6; // finds data_race
#endif
        for (;;)
            lnic_wait();
    }
#ifdef FIXED
    take();
    USE(*(volatile uint64_t *)&table[1]);
#else
    for (volatile int i = 0; i < 2000; i++)
        ;
    USE(*(volatile uint64_t *)&table[1]); // finds data_race
#endif
    exit(0);
}

// case relayed: ; node, all, relay
static void relayed(int cid)
{
    /* Another node's answer to hart 0 comes to another hart: what is done before the question is before. */
    static uint64_t table[2];

    if (cid == 0) {
        table[0] = 5;
        ask(1);
#ifndef FIXED
        table[1] = 6; // finds data_race
#endif
        for (;;)
            lnic_wait();
    }
    take();
    USE(*(volatile uint64_t *)&table[0]);
#ifndef FIXED
    for (volatile int i = 0; i < 2000; i++)
        ;
    USE(*(volatile uint64_t *)&table[1]);
#endif
    exit(0);
}

// case relayed_late: ; node, all, relay
static void relayed_late(int cid)
{
    /* The one that hears the answer counts on what is not said by it. */
    if (cid == 0) {
#ifdef FIXED
        shared.count++;
#endif
        ask(1);
#ifndef FIXED
        shared.count++; // finds lost_update
#endif
        for (;;)
            lnic_wait();
    }
    take();
    shared.count++;
    exit(0);
}

// case nowhere: 0:1
static void nowhere(int cid)
{
    volatile uint64_t *pointer = HIDDEN((uint64_t *)0x1000);

    take();
#ifdef FIXED
    pointer = HIDDEN((uint64_t *)&shared.count);
#endif
    USE(*pointer); // finds exception
    lnic_msg_done();
}

// case nowhere_written: 0:1
static void nowhere_written(int cid)
{
    uint64_t *pointer = HIDDEN((uint64_t *)NULL);

    take();
#ifdef FIXED
    pointer = HIDDEN((uint64_t *)&shared.count);
#endif
    *(volatile uint64_t *)pointer = 1; // finds exception
    lnic_msg_done();
}

// case misaligned: 0:1
static void misaligned(int cid)
{
    char *bytes = HIDDEN((char *)shared.data);

    take();
#ifndef FIXED
    bytes += 3;
#endif
    USE(*(volatile uint64_t *)HIDDEN(bytes)); // finds exception
    lnic_msg_done();
}

/* Threads of hart 0, of these priorities, the first urgent. */
static void run_threads(int (*thread)(), uint64_t first, uint64_t second)
{
    scheduler_init();
    start_thread(thread, 0, first);
    start_thread(thread, 1, second);
    scheduler_run();
}

// case preempted: 1:1 0:2 1:3 0:4
static int preempted_thread(void)
{
    for (;;) {
        take();
#ifdef FIXED
        __atomic_fetch_add(&shared.count, 1, __ATOMIC_RELAXED);
#else
        shared.count++; // finds lost_update
#endif
        lnic_msg_done();
    }
}

static void preempted(int cid)
{
    run_threads(preempted_thread, 0, 1);
}

// case preempted_within: 1:1 0:2 1:3 0:4
static int preempted_within_thread(int argc, char **argv, int cid, int nc, uint64_t id)
{
    /* The urgent thread comes while the other one has read, and not written. */
    for (;;) {
        take();
#ifdef FIXED
        csr_clear(mstatus, MSTATUS_MIE);
#endif
        uint64_t count = shared.count; // finds data_race
        if (id == 1)
            for (int i = 0; i < 5000; i++)
                __asm__ volatile("");
        shared.count = count + 1; // finds lost_update
#ifdef FIXED
        csr_set(mstatus, MSTATUS_MIE);
#endif
        lnic_msg_done();
    }
}

static void preempted_within(int cid)
{
    run_threads(preempted_within_thread, 0, 1);
}

// case one_holds: 1:1 0:2 1:3 0:4
static int one_holds_thread(int argc, char **argv, int cid, int nc, uint64_t id)
{
    /* Nothing interrupts the urgent thread, so it need not keep the other one off; that must. */
#ifdef FIXED
    bool holds = id == 1;
#else
    bool holds = id == 0;
#endif
    for (;;) {
        take();
        if (holds)
            csr_clear(mie, LNIC_INT_ENABLE);
        shared.data[0]++; // finds lost_update
        if (holds)
            csr_set(mie, LNIC_INT_ENABLE);
        lnic_msg_done();
    }
}

static void one_holds(int cid)
{
    run_threads(one_holds_thread, 0, 1);
}

// case turns: 1:1 0:2 1:3 0:4
static int turns_thread(void)
{
    for (;;) {
        take();
        shared.data[1]++; // finds lost_update
        lnic_msg_done();
    }
}

static void turns(int cid)
{
#ifdef FIXED
    run_threads(turns_thread, 1, 1);
#else
    run_threads(turns_thread, 0, 1);
#endif
}

// case sliced: 1:1 0:2 1:3 0:4
static int sliced_thread(void)
{
    for (;;) {
        take();
        shared.data[1]--; // finds lost_update
        lnic_msg_done();
    }
}

static void sliced(int cid)
{
    /* The timer gives no turns. */
    scheduler_init();
    start_thread(sliced_thread, 0, 1);
    start_thread(sliced_thread, 1, 1);
#ifdef FIXED
    scheduler_run();
#else
    scheduler_run_timer();
#endif
}

// case set_up_late: 1:1 0:2 1:3 0:4
static int set_up_late_thread(int argc, char **argv, int cid, int nc, uint64_t id)
{
    for (;;) {
        take();
#ifndef FIXED
        if (id == 0)
            shared.data[3] = 7; // finds data_race
#endif
        USE(shared.data[3]); // finds data_race
        lnic_msg_done();
    }
}

static void set_up_late(int cid)
{
    shared.data[3] = 7;
    run_threads(set_up_late_thread, 0, 1);
}

// case told: ; node
static int told_thread(int argc, char **argv, int cid, int nc, uint64_t id)
{
    /* The thread of context 0 tells the other one by a message to this node. */
    if (id == 0) {
        shared.data[0] = 5;
        lnic_write_r(lnic_header(own_address, 1, 8));
        lnic_write_i(1);
#ifndef FIXED
        shared.data[0] = 6; // finds data_race
#endif
        for (;;)
            lnic_wait();
    }
    take();
    USE(shared.data[0]); // finds data_race
    exit(0);
}

static void told(int cid)
{
    run_threads(told_thread, 0, 1);
}

static const struct {
    const char *name;
    void (*run)(int cid);
    bool all, has_threads;
} cases[] = {
#define CASE(name) { #name, name, false, false }
#define ALL(name) { #name, name, true, false }
#define THREADS(name) { #name, name, false, true }
    CASE(local), CASE(part), CASE(heap), CASE(address), CASE(returned), CASE(beyond),
    CASE(trusting), CASE(empty), CASE(left), CASE(undone), CASE(twice), CASE(excess),
    CASE(excess_zero), CASE(missing), CASE(unanswered), CASE(refused), THREADS(foreign), THREADS(deep),
    CASE(recursion), ALL(counter), ALL(two_locks), ALL(half_locked), ALL(published), ALL(byte),
    ALL(early), ALL(several), CASE(echo), CASE(asks_garbage), CASE(asks_short), CASE(asks_more),
    ALL(asks_together), ALL(handed_on), CASE(relay), ALL(relayed), ALL(relayed_late), CASE(nowhere),
    CASE(nowhere_written), CASE(misaligned), THREADS(preempted), THREADS(preempted_within),
    THREADS(one_holds), THREADS(turns), THREADS(sliced), THREADS(set_up_late), THREADS(told),
};

bool is_single_core(void)
{
    return false;
}

int core_main(int argc, char **argv, int cid, int nc)
{
    if (argc > 3) {
        server = strtoul(argv[2], NULL, 10);
        own_address = strtoul(argv[3], NULL, 10);
    }
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, argv[1]) != 0 || (cid > 0 && !cases[i].all))
            continue;
        bool hands_on = cases[i].run == handed_on || cases[i].run == relayed ||
                        cases[i].run == relayed_late;
        bool hears_others = hands_on && cid > 0;
        if (!cases[i].has_threads)
            lnic_add_context(hears_others, 0);
        for (;;)
            cases[i].run(cid);
    }
    return 0;
}
