/* Adds up packets' bytes; goes wrong at the 30th packet. Tests find lines by the words behind them. */
#include <handler.h>

typedef struct {
    volatile int32_t packets;
    volatile int32_t bytes;
} totals_t;

typedef enum { EARLY, LATE } age_t;

typedef struct {
    int32_t number;
    uint8_t first[4];
    age_t age;
    const totals_t *totals;
} visit_t;

uint32_t longest = 7;

static __attribute__((noinline)) int32_t add(totals_t *totals, int32_t bytes)
{
    int32_t before = totals->bytes; /* here: the reader */
    int32_t sum = before + bytes;

    totals->bytes = sum; /* here: the writer */
    return sum;          /* here: the sum is there */
}

static __attribute__((noinline)) void go_wrong(const visit_t *visit)
{
    *(volatile int32_t *)0x1c2ffff0 = visit->number; /* here: the fault */
}

__handler__ void sum_ph(handler_args_t *args)
{
    task_t *task = args->task;          /* here: the first line */
    totals_t *totals = task->handler_mem;
    const uint8_t *packet = task->pkt_mem;
    int32_t bytes = (int32_t)task->pkt_mem_size;
    visit_t visit;

    visit.number = amo_add(&totals->packets, 1) + 1;
    for (uint32_t at = 0; at < sizeof(visit.first); at++)
        visit.first[at] = packet[at];
    visit.age = visit.number > 20 ? LATE : EARLY;
    visit.totals = totals;

    int32_t sum = add(totals, bytes); /* here: the call */
    if (visit.number == 30) /* here: behind the call */
        go_wrong(&visit); /* here: the call of it */
    if (sum > 1000000)
        longest = (uint32_t)bytes + packet[0] + task->pkt_mem_size + args->cluster_id;
}
