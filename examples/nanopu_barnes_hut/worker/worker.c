/* Bodies and the part of the quad-tree that they lie in, on each core. Arguments: the address of
 * the root, of the first worker, this node's number among the workers, the cores that work, the
 * number of bodies, the opening angle in thousandths, the time step in thousandths.
 *
 * A step: the square around all bodies is found; each body moves to the core of the region it lies
 * in; each core builds the tree of its regions and sends their masses to the root, which tells all
 * of them to all; each core finds the forces on its bodies. Where a region of another core is too
 * near to be taken as one mass, its core is asked for the force; until an answer comes, a core
 * answers others. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "messages.h"
#include "tree.h"

#define MOST_BODIES 2048 /* of a core */
#define MOST_CELLS 8192
#define MOST_ASKED 4 /* forces that a core may wait for */

bool is_single_core(void)
{
    return false;
}

/* A square of the tree above the regions, or a region: as one mass. */
typedef struct {
    double mass, x, y;
} mass_t;

typedef struct {
    uint32_t root, first;
    uint64_t core, cores;
    double theta, step;
    body_t *bodies, *arriving;
    uint64_t count, arrived, messages_missing, cores_heard;
    cells_t cells;
    uint8_t region_cores[REGIONS];
    int32_t region_cells[REGIONS]; /* of this core's */
    double corner_x, corner_y, side;
    mass_t top[REGIONS * 4 / 3 + 1]; /* level by level, the root first */
    uint64_t asked, asks;
    bool has_box, has_top, may_advance;
} worker_t;

static worker_t workers[HARTS_PER_NODE];

/* Places of the levels of `top`: 0, 1, 5, 21. */
static inline uint64_t level_place(uint64_t level) { return ((1ul << 2 * level) - 1) / 3; }

static void tell_root(const worker_t *worker, uint64_t words)
{
    lnic_write_r(lnic_header(worker->root, 0, 8 * words));
}

/* Takes bodies on their way to this core. The first message of a core says how many there are. */
static void take_bodies(worker_t *worker, uint64_t count, uint64_t messages)
{
    for (; count; count--) {
        body_t *body = &worker->arriving[worker->arrived++];
        if (worker->arrived > MOST_BODIES) {
            printf("worker: more than %d bodies on a core\n", MOST_BODIES);
            exit(EXIT_FAILURE);
        }
        body->id = lnic_read();
        body->x = lnic_read_double();
        body->y = lnic_read_double();
        body->vx = lnic_read_double();
        body->vy = lnic_read_double();
        body->mass = lnic_read_double();
    }
    /* Messages of a core may overtake each other; each counts, and each says how many there are. */
    worker->messages_missing += messages ? messages - 1 : -1ul;
    worker->cores_heard += messages != 0;
}

static void answer_ask(worker_t *worker, uint64_t header, uint64_t word)
{
    double x = lnic_read_double(), y = lnic_read_double(), fx = 0, fy = 0;
    int32_t cell = worker->region_cells[first_of(word)];

    /* The body is another core's: none of those here is it. */
    add_forces(&worker->cells, worker->bodies, cell, x, y, -1ul, worker->theta, &fx, &fy);
    lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), 24));
    lnic_write_r(word_of(FORCE, 0, second_of(word)));
    lnic_write_double(fx);
    lnic_write_double(fy);
}

static void take_top(worker_t *worker)
{
    mass_t *regions = worker->top + level_place(TOP_LEVELS);

    for (uint64_t region = 0; region < REGIONS; region++) {
        regions[region].mass = lnic_read_double();
        regions[region].x = lnic_read_double();
        regions[region].y = lnic_read_double();
    }
    worker->has_top = true;
}

/* What has become of this core's bodies. */
static void tell_results(worker_t *worker)
{
    uint64_t b = 0, left = worker->count;

    do {
        uint64_t here = left < MOST_RESULTS_SENT ? left : MOST_RESULTS_SENT;
        left -= here;
        tell_root(worker, 1 + RESULT_WORDS * here);
        lnic_write_r(word_of(RESULTS, here, worker->count));
        for (; here; here--, b++) {
            const body_t *body = &worker->bodies[b];
            lnic_write_r(body->id);
            lnic_write_double(body->x);
            lnic_write_double(body->y);
            lnic_write_double(body->vx);
            lnic_write_double(body->vy);
            lnic_write_double(body->fx);
            lnic_write_double(body->fy);
        }
    } while (left);
}

/* Takes the next message, whatever it is. */
static void take_message(worker_t *worker)
{
    lnic_wait();
    uint64_t header = lnic_read(), word = lnic_read();
    switch (kind_of(word)) {
    case BOX:
        worker->corner_x = lnic_read_double();
        worker->corner_y = lnic_read_double();
        worker->side = lnic_read_double();
        worker->has_box = true;
        break;
    case BODIES:
        take_bodies(worker, first_of(word), second_of(word));
        break;
    case TOP:
        take_top(worker);
        break;
    case ASK:
        answer_ask(worker, header, word);
        break;
    case FORCE:
        worker->bodies[second_of(word)].fx += lnic_read_double();
        worker->bodies[second_of(word)].fy += lnic_read_double();
        worker->asked--;
        break;
    case ADVANCE:
        worker->may_advance = true;
        break;
    case COLLECT:
        tell_results(worker);
        break;
    default:
        printf("worker: what is %#lx?\n", word);
        exit(EXIT_FAILURE);
    }
    lnic_msg_done();
}

static void wait_until(worker_t *worker, bool *happened)
{
    while (!*happened)
        take_message(worker);
    *happened = false;
}

/* The square around all bodies: the root puts together what the cores have. */
static void find_box(worker_t *worker)
{
    double low_x = INFINITY, high_x = -INFINITY, low_y = INFINITY, high_y = -INFINITY;

    for (uint64_t b = 0; b < worker->count; b++) {
        const body_t *body = &worker->bodies[b];
        low_x = body->x < low_x ? body->x : low_x;
        high_x = body->x > high_x ? body->x : high_x;
        low_y = body->y < low_y ? body->y : low_y;
        high_y = body->y > high_y ? body->y : high_y;
    }
    tell_root(worker, 5);
    lnic_write_r(word_of(BOX_OF_CORE, 0, 0));
    lnic_write_double(low_x);
    lnic_write_double(high_x);
    lnic_write_double(low_y);
    lnic_write_double(high_y);
    wait_until(worker, &worker->has_box);
}

/* Finds a body's region by the same comparisons as the tree's; gives the region's square too. */
static uint64_t find_region(const worker_t *worker, double x, double y)
{
    double side = worker->side;
    double middle_x = worker->corner_x + 0.5 * side, middle_y = worker->corner_y + 0.5 * side;
    uint64_t region = 0;

    for (int level = 0; level < TOP_LEVELS; level++) {
        int quadrant = quadrant_of(x, y, middle_x, middle_y);
        enter_quadrant(quadrant, &middle_x, &middle_y, &side);
        region = region << 2 | quadrant;
    }
    return region;
}

static void send_bodies(const worker_t *worker, uint64_t core, const uint8_t *owners)
{
    uint64_t left = 0, b = 0;

    for (uint64_t i = 0; i < worker->count; i++)
        left += owners[i] == core;
    uint64_t messages = left ? (left + MOST_BODIES_SENT - 1) / MOST_BODIES_SENT : 1;
    do {
        uint64_t here = left < MOST_BODIES_SENT ? left : MOST_BODIES_SENT;
        lnic_write_r(core_header(worker->first, core, 8 + 8 * BODY_WORDS * here));
        lnic_write_r(word_of(BODIES, here, messages));
        messages = 0;
        left -= here;
        for (; here; b++) {
            const body_t *body = &worker->bodies[b];
            if (owners[b] != core)
                continue;
            lnic_write_r(body->id);
            lnic_write_double(body->x);
            lnic_write_double(body->y);
            lnic_write_double(body->vx);
            lnic_write_double(body->vy);
            lnic_write_double(body->mass);
            here--;
        }
    } while (left);
}

/* Every core tells every other which bodies are its from now on. */
static void exchange_bodies(worker_t *worker)
{
    static uint8_t all_owners[HARTS_PER_NODE][MOST_BODIES];
    uint8_t *owners = all_owners[worker->core % HARTS_PER_NODE];

    for (uint64_t b = 0; b < worker->count; b++) {
        const body_t *body = &worker->bodies[b];
        owners[b] = worker->region_cores[find_region(worker, body->x, body->y)];
    }
    /* Each begins with its neighbour: not all send to the first core at once. */
    for (uint64_t i = 1; i < worker->cores; i++)
        send_bodies(worker, (worker->core + i) % worker->cores, owners);
    while (worker->cores_heard < worker->cores - 1 || worker->messages_missing)
        take_message(worker);
    for (uint64_t b = 0; b < worker->count; b++)
        if (owners[b] == worker->core && worker->arrived < MOST_BODIES)
            worker->arriving[worker->arrived++] = worker->bodies[b];
    body_t *swap = worker->bodies;
    worker->bodies = worker->arriving;
    worker->arriving = swap;
    worker->count = worker->arrived;
    worker->arrived = worker->cores_heard = 0;
}

/* The trees of this core's regions. */
static void build(worker_t *worker)
{
    worker->cells.used = 0;
    for (uint64_t region = worker->core; region < REGIONS; region += worker->cores) {
        double side = worker->side;
        double x = worker->corner_x + 0.5 * side, y = worker->corner_y + 0.5 * side;
        for (int level = TOP_LEVELS - 1; level >= 0; level--)
            enter_quadrant(region >> 2 * level & 3, &x, &y, &side);
        worker->region_cells[region] = new_cell(&worker->cells, x, y, side);
    }
    for (uint64_t b = 0; b < worker->count; b++) {
        body_t *body = &worker->bodies[b];
        uint64_t region = find_region(worker, body->x, body->y);
        int32_t cell = worker->region_cells[region];
        body->fx = body->fy = 0;
        if (!insert_body(&worker->cells, worker->bodies, cell, b, TOP_LEVELS)) {
            printf("worker: more than %d cells on a core\n", MOST_CELLS);
            exit(EXIT_FAILURE);
        }
    }
}

/* Masses go up: those of the regions to the root and from there to all; each core makes the levels
 * above out of them. */
static void summarise_up(worker_t *worker)
{
    uint64_t count = (REGIONS - worker->core + worker->cores - 1) / worker->cores;

    tell_root(worker, 1 + REGION_WORDS * count);
    lnic_write_r(word_of(SUMMARY, worker->core, count));
    for (uint64_t region = worker->core; region < REGIONS; region += worker->cores) {
        summarise(&worker->cells, worker->bodies, worker->region_cells[region]);
        const cell_t *cell = &worker->cells.cells[worker->region_cells[region]];
        lnic_write_double(cell->mass);
        lnic_write_double(cell->x);
        lnic_write_double(cell->y);
    }
    wait_until(worker, &worker->has_top);
    for (uint64_t place = level_place(TOP_LEVELS); place-- > 0;) {
        mass_t all = { 0, 0, 0 };
        for (int quadrant = 0; quadrant < 4; quadrant++) {
            const mass_t *part = &worker->top[4 * place + 1 + quadrant];
            all.mass += part->mass;
            all.x += part->mass * part->x;
            all.y += part->mass * part->y;
        }
        all.x = all.mass > 0 ? all.x / all.mass : 0;
        all.y = all.mass > 0 ? all.y / all.mass : 0;
        worker->top[place] = all;
    }
}

/* A region that is too near for one mass: here the tree goes on, or at another core. */
static void open_region(worker_t *worker, uint64_t region, uint64_t b)
{
    body_t *body = &worker->bodies[b];

    if (worker->region_cores[region] == worker->core) {
        add_forces(&worker->cells, worker->bodies, worker->region_cells[region], body->x, body->y,
                   body->id, worker->theta, &body->fx, &body->fy);
        return;
    }
    while (worker->asked == MOST_ASKED)
        take_message(worker);
    lnic_write_r(core_header(worker->first, worker->region_cores[region], 24));
    lnic_write_r(word_of(ASK, region, b));
    lnic_write_double(body->x);
    lnic_write_double(body->y);
    worker->asked++;
    worker->asks++;
}

/* Goes down the levels that every core knows. */
static void walk_top(worker_t *worker, uint64_t place, uint64_t level, double side, uint64_t b)
{
    const mass_t *mass = &worker->top[place];
    body_t *body = &worker->bodies[b];
    double dx = mass->x - body->x, dy = mass->y - body->y;

    if (mass->mass == 0)
        return;
    if (is_far(dx, dy, side, worker->theta)) {
        add_pull(dx, dy, mass->mass, &body->fx, &body->fy);
    } else if (level == TOP_LEVELS) {
        open_region(worker, place - level_place(TOP_LEVELS), b);
    } else {
        for (int quadrant = 0; quadrant < 4; quadrant++)
            walk_top(worker, 4 * place + 1 + quadrant, level + 1, 0.5 * side, b);
    }
}

static void find_forces(worker_t *worker)
{
    worker->asks = 0;
    for (uint64_t b = 0; b < worker->count; b++) {
        walk_top(worker, 0, 0, worker->side, b);
        while (lnic_ready())
            take_message(worker);
    }
    while (worker->asked)
        take_message(worker);
    tell_root(worker, 1);
    lnic_write_r(word_of(FORCES_DONE, worker->asks, 0));
    wait_until(worker, &worker->may_advance);
}

static void advance(worker_t *worker)
{
    for (uint64_t b = 0; b < worker->count; b++) {
        body_t *body = &worker->bodies[b];
        body->vx += worker->step * body->fx;
        body->vy += worker->step * body->fy;
        body->x += worker->step * body->vx;
        body->y += worker->step * body->vy;
    }
}

/* A number from 0 to 1 that looks random, for each body and each purpose. */
static double chance(uint64_t body, uint64_t purpose)
{
    uint64_t bits = (body << 8 | purpose) * 0x9e3779b97f4a7c15ul;

    bits = (bits ^ bits >> 29) * 0xbf58476d1ce4e5b9ul;
    bits = (bits ^ bits >> 32) * 0x94d049bb133111ebul;
    return (double)(bits >> 11) * 0x1p-53;
}

/* Bodies in a square of 64 by 64, denser in its middle; at rest. */
static void make_bodies(worker_t *worker, uint64_t all)
{
    uint64_t begin = share_begin(all, worker->core, worker->cores);
    uint64_t end = share_begin(all, worker->core + 1, worker->cores);

    worker->count = end - begin;
    if (worker->count > MOST_BODIES)
        exit(EXIT_FAILURE);
    for (uint64_t id = begin; id < end; id++) {
        body_t *body = &worker->bodies[id - begin];
        memset(body, 0, sizeof(*body));
        body->id = id;
        body->x = 32.0 * (chance(id, 0) + chance(id, 1));
        body->y = 32.0 * (chance(id, 2) + chance(id, 3));
        body->mass = 0.5 + chance(id, 4);
    }
}

int core_main(int argc, char **argv, int cid, int nc)
{
    open_port(cid);
    if (argc != 8 || nc != HARTS_PER_NODE) {
        printf("worker: ROOT FIRST INDEX CORES BODIES THETA STEP\n");
        return EXIT_FAILURE;
    }
    worker_t *worker = &workers[cid];
    worker->root = strtoul(argv[1], NULL, 0);
    worker->first = strtoul(argv[2], NULL, 0);
    worker->core = strtoul(argv[3], NULL, 0) * HARTS_PER_NODE + cid;
    worker->cores = strtoul(argv[4], NULL, 0);
    worker->theta = (double)strtoul(argv[6], NULL, 0) * 0.001;
    worker->step = (double)strtoul(argv[7], NULL, 0) * 0.001;
    if (worker->core >= worker->cores)
        return EXIT_SUCCESS;
    worker->bodies = malloc(MOST_BODIES * sizeof(body_t));
    worker->arriving = malloc(MOST_BODIES * sizeof(body_t));
    worker->cells = (cells_t){ malloc(MOST_CELLS * sizeof(cell_t)), 0, MOST_CELLS };
    if (worker->cores > REGIONS || !worker->bodies || !worker->arriving || !worker->cells.cells)
        return EXIT_FAILURE;
    for (uint64_t region = 0; region < REGIONS; region++)
        worker->region_cores[region] = region_core(region, worker->cores);
    make_bodies(worker, strtoul(argv[5], NULL, 0));
    wait_for_all();
    for (;;) {
        find_box(worker);
        exchange_bodies(worker);
        build(worker);
        summarise_up(worker);
        find_forces(worker);
        advance(worker);
    }
}
