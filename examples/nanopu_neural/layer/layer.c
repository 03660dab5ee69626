/* Some neurons of a layer on each core. Arguments: the layer, this node's number in it, its nodes,
 * the address of the next layer's first node and that layer's cores, or the client's and 1.
 *
 * A message holds some of the values of the layer before; it is worked into the sums of the core's
 * neurons as it comes. When all values of an inference have come, the neurons' own values go to
 * every core of the next layer. Up to WINDOW inferences are on their way at a time, and their
 * messages come in any order. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "cluster.h"
#include "window.h"

bool is_single_core(void)
{
    return false;
}

/* A core's part of the layer. */
typedef struct {
    uint64_t layer, inputs, first, count;
    uint32_t next;
    uint64_t next_cores;
    int64_t sums[WINDOW][MOST_VALUES];
    uint64_t missing[WINDOW];
    int16_t weights[MOST_VALUES][MOST_VALUES + 1]; /* the offset behind them */
} part_t;

static part_t parts[HARTS_PER_NODE];

/* The sums begin with the neurons' offsets. */
static void begin_inference(part_t *part, uint64_t slot)
{
    for (uint64_t n = 0; n < part->count; n++)
        part->sums[slot][n] = (int64_t)part->weights[n][part->inputs] << VALUE_BITS;
    part->missing[slot] = part->inputs;
}

static void send_on(const part_t *part, uint64_t inference)
{
    bool is_hidden = part->layer < LAYERS;
    int16_t values[MOST_VALUES + VALUES_PER_WORD] = { 0 };
    uint64_t words[MOST_VALUES / VALUES_PER_WORD];
    uint64_t count = 0;

    for (uint64_t n = 0; n < part->count; n++)
        values[n] = activation(part->sums[inference % WINDOW][n], is_hidden);
    for (uint64_t n = 0; n < part->count; n += VALUES_PER_WORD)
        words[count++] = pack(values + n, VALUES_PER_WORD);
    for (uint64_t core = 0; core < part->next_cores; core++) {
        lnic_write_r(core_header(part->next, core, slice_bytes(part->count)));
        lnic_write_r(slice_word(inference, part->first, part->count));
        for (uint64_t i = 0; i < count; i++)
            lnic_write_r(words[i]);
    }
}

static void serve(part_t *part)
{
    for (;;) {
        int16_t values[MOST_VALUES + VALUES_PER_WORD];

        lnic_wait();
        (void)lnic_read();
        uint64_t slice = lnic_read(), count = slice_count(slice), first = slice_first(slice);
        uint64_t inference = slice_inference(slice), slot = inference % WINDOW;
        for (uint64_t i = 0; i < count; i += VALUES_PER_WORD)
            unpack(lnic_read(), values + i);
        for (uint64_t n = 0; n < part->count; n++)
            part->sums[slot][n] += products(part->weights[n] + first, values, count);
        part->missing[slot] -= count;
        if (part->missing[slot] == 0) {
            send_on(part, inference);
            begin_inference(part, slot);
        }
        lnic_msg_done();
    }
}

int core_main(int argc, char **argv, int cid, int nc)
{
    open_port(cid);
    if (argc != 6 || nc != HARTS_PER_NODE) {
        printf("layer: LAYER INDEX NODES NEXT NEXT_CORES\n");
        return EXIT_FAILURE;
    }
    part_t *part = &parts[cid];
    uint64_t core = strtoul(argv[2], NULL, 0) * HARTS_PER_NODE + cid;
    uint64_t cores = strtoul(argv[3], NULL, 0) * HARTS_PER_NODE;

    part->layer = strtoul(argv[1], NULL, 0);
    part->next = strtoul(argv[4], NULL, 0);
    part->next_cores = strtoul(argv[5], NULL, 0);
    if (part->layer < 1 || part->layer > LAYERS || cores > layer_sizes[part->layer]) {
        printf("layer: a core has a neuron at least, and there are %d layers\n", LAYERS);
        return EXIT_FAILURE;
    }
    part->inputs = layer_sizes[part->layer - 1];
    part->first = share_begin(layer_sizes[part->layer], core, cores);
    part->count = share_begin(layer_sizes[part->layer], core + 1, cores) - part->first;
    /* Copied, so that each core has its own weights in its cache and nothing else. */
    const int16_t *weights =
        layer_weights[part->layer - 1] + part->first * (part->inputs + 1);
    for (uint64_t n = 0; n < part->count; n++)
        for (uint64_t i = 0; i <= part->inputs; i++)
            part->weights[n][i] = *weights++;
    for (uint64_t slot = 0; slot < WINDOW; slot++)
        begin_inference(part, slot);
    wait_for_all();
    serve(part);
    return EXIT_SUCCESS;
}
