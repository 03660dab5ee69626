/* Clients of the replicated log, one on each hart, one command at a time: half of them put a value
 * into a register, half get one. A client that hears nothing, or that its replica does not lead,
 * tries another with the same command, until it is answered. All histories are printed at the end
 * (history.h of nanopu_chain), then every replica is told to print its log.
 *
 * Arguments:
 *   1, 2   address of replica 0, number of replicas; the others' addresses follow
 *   3, 4   this node's address, seed of all random numbers
 *   5, 6   commands of each client, registers
 *   7, 8   after how many of its own commands hart 0 halts the leader, and has it go on; 0: never
 */
#include <stdlib.h>
#include <string.h>
#include "history.h"
#include "raft.h"
#include "util.h"

#define PATIENCE_CYCLES 30000 /* until another replica is tried */
#define PAUSE_CYCLES 3000 /* before a replica is tried whose turn it is only by chance */
#define THINK_CYCLES 2000 /* most between two commands */
#define QUIET_CYCLES 200000 /* at the end: several heartbeats, so that all know what is committed */
#define WRITTEN (1ul << 63)

static uint64_t first_ip, replicas, own_ip, seed, commands, registers, halt_after, resume_after;
static history_t histories[PINION_HARTS];
static uint64_t retries[PINION_HARTS];

bool is_single_core(void)
{
    return false;
}

static void command(uint64_t to, uint64_t hart, uint64_t number, uint64_t what, uint64_t value)
{
    lnic_write_r(lnic_header(first_ip + to, 0, COMMAND_WORDS * 8));
    lnic_write_i(COMMAND);
    lnic_write_r(lnic_header(own_ip, hart, hart));
    lnic_write_r(number);
    lnic_write_r(what);
    lnic_write_r(value);
}

static void pause_until(uint64_t cycle)
{
    while (rdcycle() < cycle)
        ;
}

/* Waits for the answer to a command, or for anything about it, until a cycle; false: nothing
 * came. */
static bool hear(uint64_t number, uint64_t until, uint64_t *status, uint64_t *value)
{
    for (;;) {
        while (!lnic_ready()) {
            lnic_idle();
            if (rdcycle() >= until)
                return false;
        }
        (void)lnic_read();
        *status = lnic_read();
        uint64_t about = lnic_read();
        *value = lnic_read();
        lnic_msg_done();
        if (about == number)
            return true;
    }
}

/* Has a command done; gives what it gives. `leader` is who is asked first, and who did it. */
static uint64_t execute(uint64_t hart, uint64_t *leader, uint64_t number, uint64_t what,
                        uint64_t put)
{
    uint64_t status, value;

    for (;; retries[hart]++) {
        command(*leader, hart, number, what, put);
        if (!hear(number, rdcycle() + PATIENCE_CYCLES, &status, &value)) {
            *leader = (*leader + 1) % replicas;
        } else if (status == DONE) {
            return value;
        } else if (status != NOT_LEADER) {
            printf("client: replica %lu answered with status %lu\n", *leader, status);
            exit(EXIT_FAILURE);
        } else if (value < replicas) {
            *leader = value;
        } else {
            *leader = (*leader + 1) % replicas;
            pause_until(rdcycle() + PAUSE_CYCLES);
        }
    }
}

static void order(uint64_t to, uint64_t kind)
{
    lnic_write_r(lnic_header(first_ip + to, 0, 8));
    lnic_write_r(kind);
}

/* Waits until a replica has done what it was told. */
static void obeyed(uint64_t kind)
{
    uint64_t status, number;

    while (!hear(kind, -1ul, &status, &number))
        ;
}

static void operate(uint64_t hart)
{
    uint64_t random = random_start(seed, 1000 + hart), leader = hart % replicas, halted = NOBODY;
    history_t *history = &histories[hart];

    for (uint64_t i = 0; i < commands; i++) {
        uint64_t key = random_below(&random, registers), tag = WRITTEN | hart << 32 | i;
        bool is_put = random_below(&random, 2);
        uint64_t what = (uint64_t)(is_put ? PUT : GET) << OPERATION_SHIFT | key;
        if (hart == 0 && halt_after && i == halt_after) {
            halted = leader;
            order(halted, HALT);
            obeyed(HALT);
        }
        if (hart == 0 && resume_after && i == resume_after && halted != NOBODY) {
            order(halted, RESUME);
            obeyed(RESUME);
        }
        pause_until(rdcycle() + random_below(&random, THINK_CYCLES));
        operation_t *operation = history_begin(history, is_put ? 'w' : 'r', key, tag);
        /* Numbers above those of orders, which answers have to be told from. */
        uint64_t value = execute(hart, &leader, 1000 + i, what, tag);
        history_end(operation, is_put ? tag : value);
    }
}

static void print_times(void)
{
    uint64_t sum = 0, count = 0, most = 0, again = 0;

    for (int hart = 0; hart < PINION_HARTS; hart++) {
        again += retries[hart];
        for (uint64_t i = 0; i < histories[hart].count; i++, count++) {
            const operation_t *operation = &histories[hart].operations[i];
            uint64_t took = operation->answered - operation->invoked;
            sum += took;
            most = took > most ? took : most;
        }
    }
    printf("client: %lu commands, %lu sent again, %lu cycles on average, %lu at most\n", count,
           again, sum / count, most);
}

int core_main(int argc, char **argv, int cid, int nc)
{
    uint64_t numbers[8] = { 0 };

    for (int i = 1; i <= 8 && i < argc; i++)
        numbers[i - 1] = strtoul(argv[i], NULL, 0);
    /* pinion: intended: the same on all harts */
    first_ip = numbers[0], replicas = numbers[1], own_ip = numbers[2], seed = numbers[3];
    commands = numbers[4], registers = numbers[5]; /* pinion: intended: likewise */
    halt_after = numbers[6], resume_after = numbers[7]; /* pinion: intended: likewise */
    if (argc < 7 || replicas < 1 || commands < 1 || commands > HISTORY_OPERATIONS || registers < 1
        || registers > KEYS) {
        printf("client: %lu replicas, %lu commands, %lu registers: see client.c\n", replicas,
               commands, registers);
        return EXIT_FAILURE;
    }
    lnic_add_context(cid, 0);
    operate(cid);
    barrier(PINION_HARTS);
    if (cid != 0)
        return 0;
    pause_until(rdcycle() + QUIET_CYCLES);
    for (uint64_t i = 0; i < replicas; i++)
        order(i, FINISH);
    print_times();
    for (int hart = 0; hart < PINION_HARTS; hart++)
        history_print(&histories[hart]);
    for (uint64_t i = 0; i < replicas; i++)
        obeyed(FINISH); /* until then they print */
    return 0;
}
