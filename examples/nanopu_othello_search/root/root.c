/* Counts the leaves of Othello's tree below positions. Arguments: the address of the first worker,
 * the number of workers, then for each position the mover's discs, the other's, the steps to go
 * and how many of them are taken here; what is below goes to the workers as tasks.
 *
 * A worker has up to TASKS_EACH tasks: two for each of its harts, so that the next is there when
 * one is done. The answers say which worker has room. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "cluster.h"
#include "tree.h"

#define MOST_WORKERS 64
#define TASKS_EACH (2 * HARTS_PER_NODE)

static uint32_t first_worker;
static uint64_t workers, busy[MOST_WORKERS];
static uint64_t tasks, answers, sum;

/* Reduce: takes an answer; gives the worker it is from. */
static uint64_t take_answer(void)
{
    lnic_wait();
    uint64_t worker = lnic_header_ip(lnic_read()) - first_worker;
    (void)lnic_read();
    sum += lnic_read();
    lnic_msg_done();
    answers++;
    busy[worker]--;
    return worker;
}

/* Finds a worker with room, those with the fewest tasks first. */
static uint64_t find_worker(void)
{
    uint64_t best = 0;

    for (uint64_t worker = 1; worker < workers; worker++)
        best = busy[worker] < busy[best] ? worker : best;
    return busy[best] < TASKS_EACH ? best : take_answer();
}

static void send_task(uint64_t own, uint64_t other, uint64_t steps)
{
    uint64_t worker = find_worker();

    lnic_write_r(lnic_header(first_worker + worker, 0, TASK_BYTES));
    lnic_write_r(own);
    lnic_write_r(other);
    lnic_write_r(steps);
    lnic_write_r(tasks);
    busy[worker]++;
    tasks++;
}

/* Map: a task for each position `here` steps below. */
static void expand(uint64_t own, uint64_t other, uint64_t steps, uint64_t here)
{
    if (steps == 0) {
        sum++;
        return;
    }
    if (here == 0) {
        send_task(own, other, steps);
        return;
    }
    uint64_t moves = legal_moves(own, other);
    if (!moves && legal_moves(other, own))
        expand(other, own, steps - 1, here - 1);
    else if (!moves)
        sum++;
    for (uint64_t move = moves & -moves; moves; moves ^= move, move = moves & -moves) {
        uint64_t flips = turned(move, own, other);
        expand(other & ~flips, own | move | flips, steps - 1, here - 1);
    }
}

int main(int argc, char **argv)
{
    open_port(0);
    first_worker = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
    workers = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
    if (argc < 7 || (argc - 3) % 4 || workers < 1 || workers > MOST_WORKERS) {
        printf("root: WORKER WORKERS, then OWN OTHER STEPS HERE of each position\n");
        return EXIT_FAILURE;
    }
    wait_for_all();
    for (int i = 3; i + 3 < argc; i += 4) {
        uint64_t own = strtoul(argv[i], NULL, 0), other = strtoul(argv[i + 1], NULL, 0);
        uint64_t steps = strtoul(argv[i + 2], NULL, 0), here = strtoul(argv[i + 3], NULL, 0);
        uint64_t start = rdcycle();

        tasks = answers = sum = 0;
        expand(own, other, steps, here);
        while (answers < tasks)
            take_answer();
        uint64_t cycles = rdcycle() - start;
        printf("0x%016lx 0x%016lx: %lu leaves %lu steps below, %lu tasks, %lu cycles\n", own, other,
               sum, steps, tasks, cycles);
    }
    return EXIT_SUCCESS;
}
