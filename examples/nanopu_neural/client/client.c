/* Has digits told by the layers. Arguments: the address of the first layer's first node, its cores,
 * how many digits.
 *
 * Three times over the digits: on this core alone; by the layers, as many as may be on their way at
 * a time; and one at a time. What the layers say must be what this core found, bit for bit. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "cluster.h"
#include "window.h"

#define OUTPUTS 10

static int16_t alone[DIGITS][OUTPUTS], spread[DIGITS][OUTPUTS];
static uint64_t alone_cycles[DIGITS], spread_cycles[DIGITS];

static uint32_t layer;
static uint64_t cores, digits;

static void inputs_of(uint64_t digit, int16_t *values)
{
    for (uint64_t i = 0; i < POINTS; i++)
        values[i] = digit_points[digit * POINTS + i] * ((1 << VALUE_BITS) / STRONGEST_POINT);
}

static void infer_alone(uint64_t digit)
{
    int16_t values[2][MOST_VALUES];
    uint64_t from = 0;

    inputs_of(digit, values[0]);
    for (uint64_t number = 0; number < LAYERS; number++, from ^= 1) {
        uint64_t inputs = layer_sizes[number];
        const int16_t *weights = layer_weights[number];
        for (uint64_t n = 0; n < layer_sizes[number + 1]; n++, weights += inputs + 1) {
            int64_t sum = products(weights, values[from], inputs);
            sum += (int64_t)weights[inputs] << VALUE_BITS;
            values[from ^ 1][n] = activation(sum, number + 1 < LAYERS);
        }
    }
    for (uint64_t n = 0; n < OUTPUTS; n++)
        alone[digit][n] = values[from][n];
}

static void ask(uint64_t digit)
{
    int16_t values[POINTS];
    uint64_t words[POINTS / VALUES_PER_WORD];

    inputs_of(digit, values);
    for (uint64_t i = 0; i < POINTS; i += VALUES_PER_WORD)
        words[i / VALUES_PER_WORD] = pack(values + i, VALUES_PER_WORD);
    for (uint64_t core = 0; core < cores; core++) {
        lnic_write_r(core_header(layer, core, slice_bytes(POINTS)));
        lnic_write_r(slice_word(digit, 0, POINTS));
        for (uint64_t i = 0; i < POINTS / VALUES_PER_WORD; i++)
            lnic_write_r(words[i]);
    }
}

/* Takes a part of an answer; gives the digit it is about. */
static uint64_t take(uint64_t *missing)
{
    int16_t values[MOST_VALUES];

    lnic_wait();
    (void)lnic_read();
    uint64_t slice = lnic_read(), digit = slice_inference(slice), count = slice_count(slice);
    for (uint64_t i = 0; i < count; i += VALUES_PER_WORD)
        unpack(lnic_read(), values + i);
    for (uint64_t i = 0; i < count; i++)
        spread[digit][slice_first(slice) + i] = values[i];
    missing[digit] -= count;
    lnic_msg_done();
    return digit;
}

/* Has the first digits told, so many on their way at a time; gives the cycles. */
static uint64_t infer_all(uint64_t count, uint64_t window)
{
    uint64_t missing[DIGITS], asked_at[DIGITS];
    uint64_t start = rdcycle(), oldest = 0;

    for (uint64_t digit = 0; digit < count; digit++)
        missing[digit] = OUTPUTS;
    for (uint64_t digit = 0; digit < count; digit++) {
        /* A place in the window is free when all that came before it has been answered. */
        while (digit - oldest == window)
            for (take(missing); oldest < digit && missing[oldest] == 0; oldest++)
                spread_cycles[oldest] = rdcycle() - asked_at[oldest];
        asked_at[digit] = rdcycle();
        ask(digit);
    }
    while (oldest < count)
        for (take(missing); oldest < count && missing[oldest] == 0; oldest++)
            spread_cycles[oldest] = rdcycle() - asked_at[oldest];
    return rdcycle() - start;
}

static bool agree(void)
{
    bool all = true;

    for (uint64_t digit = 0; digit < digits; digit++) {
        for (uint64_t n = 0; n < OUTPUTS; n++)
            if (alone[digit][n] != spread[digit][n]) {
                printf("digit %lu: output %lu is %d from the layers, %d here\n", digit, n,
                       spread[digit][n], alone[digit][n]);
                all = false;
            }
    }
    return all;
}

static void show(void)
{
    uint64_t right = 0, here = 0, there = 0;

    for (uint64_t digit = 0; digit < digits; digit++) {
        uint64_t best = 0;
        const int16_t *v = spread[digit];
        for (uint64_t n = 0; n < OUTPUTS; n++)
            best = v[n] > v[best] ? n : best;
        printf("digit %lu is %d: %d %d %d %d %d %d %d %d %d %d -> %lu, %lu cycles\n", digit,
               digit_names[digit], v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], best,
               spread_cycles[digit]);
        right += best == digit_names[digit];
        here += alone_cycles[digit];
        there += spread_cycles[digit];
    }
    printf("told right: %lu of %lu\n", right, digits);
    printf("one core: %lu cycles a digit; layers: %lu cycles a digit\n", here / digits,
           there / digits);
}

int main(int argc, char **argv)
{
    open_port(0);
    digits = argc > 3 ? strtoul(argv[3], NULL, 0) : 0;
    if (argc != 4 || digits < WINDOW || digits > DIGITS) {
        printf("client: LAYER CORES DIGITS, %d to %d digits\n", WINDOW, DIGITS);
        return EXIT_FAILURE;
    }
    layer = strtoul(argv[1], NULL, 0);
    cores = strtoul(argv[2], NULL, 0);
    infer_alone(0); /* caches and predictors */
    for (uint64_t digit = 0; digit < digits; digit++) {
        uint64_t start = rdcycle();
        infer_alone(digit);
        alone_cycles[digit] = rdcycle() - start;
    }
    wait_for_all();
    infer_all(WINDOW, WINDOW); /* caches and predictors */
    uint64_t together = infer_all(digits, WINDOW);
    bool all_agree = agree();
    infer_all(digits, 1);
    all_agree = agree() && all_agree;
    show();
    printf("%d at a time: %lu cycles a digit\n", WINDOW, together / digits);
    return all_agree ? EXIT_SUCCESS : EXIT_FAILURE;
}
