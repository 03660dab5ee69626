/* Keeps the workers of a Barnes-Hut step together and shows the results. Arguments: the address of
 * the first worker, the cores that work, the number of bodies, the steps. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "messages.h"

#define UNKNOWN (-1ul)

static uint32_t first;
static uint64_t cores;
static double top[REGIONS * REGION_WORDS];
static double low_x, high_x, low_y, high_y;
static uint64_t asks;
static uint64_t *results, results_left; /* of the core that tells */

/* Takes some of the results of a core, which says how many it has. */
static void take_results(uint64_t count, uint64_t all)
{
    if (results_left == UNKNOWN)
        results_left = all;
    results_left -= count;
    for (; count; count--) {
        uint64_t *result = results + RESULT_WORDS * lnic_read();
        for (int i = 1; i < RESULT_WORDS; i++)
            result[i] = lnic_read();
        result[0]++;
    }
}

static void take_box(void)
{
    double low = lnic_read_double(), high = lnic_read_double();

    low_x = low < low_x ? low : low_x;
    high_x = high > high_x ? high : high_x;
    low = lnic_read_double();
    high = lnic_read_double();
    low_y = low < low_y ? low : low_y;
    high_y = high > high_y ? high : high_y;
}

/* Takes so many messages of a kind; there are no others meanwhile. */
static void take(uint64_t kind, uint64_t count)
{
    for (; count; count--) {
        lnic_wait();
        (void)lnic_read();
        uint64_t word = lnic_read();
        if (kind_of(word) != kind) {
            printf("root: what is %#lx?\n", word);
            exit(EXIT_FAILURE);
        }
        if (kind == BOX_OF_CORE)
            take_box();
        if (kind == SUMMARY)
            for (uint64_t region = first_of(word); region < REGIONS; region += cores)
                for (int i = 0; i < REGION_WORDS; i++)
                    top[REGION_WORDS * region + i] = lnic_read_double();
        if (kind == FORCES_DONE)
            asks += first_of(word);
        if (kind == RESULTS)
            take_results(first_of(word), second_of(word));
        lnic_msg_done();
    }
}

static void tell(uint64_t core, uint64_t words)
{
    lnic_write_r(core_header(first, core, 8 * words));
}

/* Waits for the cores' boxes. */
static void take_boxes(void)
{
    low_x = low_y = INFINITY;
    high_x = high_y = -INFINITY;
    take(BOX_OF_CORE, cores);
}

static void tell_box(void)
{
    double width = high_x - low_x, height = high_y - low_y;
    /* A little larger, so that the outermost bodies are inside whatever is rounded. */
    double side = (width > height ? width : height) * 1.001 + 1e-9;

    for (uint64_t core = 0; core < cores; core++) {
        tell(core, 4);
        lnic_write_r(word_of(BOX, 0, 0));
        lnic_write_double(low_x);
        lnic_write_double(low_y);
        lnic_write_double(side);
    }
}

static void tell_top(void)
{
    for (uint64_t core = 0; core < cores; core++) {
        tell(core, 1 + REGION_WORDS * REGIONS);
        lnic_write_r(word_of(TOP, 0, 0));
        for (uint64_t i = 0; i < REGION_WORDS * REGIONS; i++)
            lnic_write_double(top[i]);
    }
}

static void tell_all(uint64_t kind)
{
    for (uint64_t core = 0; core < cores; core++) {
        tell(core, 1);
        lnic_write_r(word_of(kind, 0, 0));
    }
}

/* A step between two boxes; the cores' boxes are there. */
static void run_step(uint64_t step)
{
    uint64_t begin = rdcycle();

    asks = 0;
    tell_box();
    take(SUMMARY, cores);
    uint64_t built = rdcycle();
    tell_top();
    take(FORCES_DONE, cores);
    uint64_t forces = rdcycle();
    tell_all(ADVANCE);
    take_boxes();
    uint64_t end = rdcycle();
    printf("step %lu: %lu cycles: build %lu, forces %lu, advance %lu; %lu asks\n", step,
           end - begin, built - begin, forces - built, end - forces, asks);
}

static int show_results(uint64_t bodies)
{
    results = calloc(bodies * RESULT_WORDS, sizeof(uint64_t));
    if (!results)
        return EXIT_FAILURE;
    for (uint64_t core = 0; core < cores; core++) {
        tell(core, 1);
        lnic_write_r(word_of(COLLECT, 0, 0));
        for (results_left = UNKNOWN; results_left;)
            take(RESULTS, 1);
    }
    for (uint64_t b = 0; b < bodies; b++) {
        const uint64_t *result = results + RESULT_WORDS * b;
        if (result[0] != 1) {
            printf("root: body %lu came %lu times\n", b, result[0]);
            return EXIT_FAILURE;
        }
        printf("body %lu %lx %lx %lx %lx %lx %lx\n", b, result[1], result[2], result[3], result[4],
               result[5], result[6]);
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    open_port(0);
    if (argc != 5) {
        printf("root: FIRST CORES BODIES STEPS\n");
        return EXIT_FAILURE;
    }
    first = strtoul(argv[1], NULL, 0);
    cores = strtoul(argv[2], NULL, 0);
    uint64_t bodies = strtoul(argv[3], NULL, 0), steps = strtoul(argv[4], NULL, 0);

    take_boxes();
    for (uint64_t step = 1; step <= steps; step++)
        run_step(step);
    return show_results(bodies);
}
