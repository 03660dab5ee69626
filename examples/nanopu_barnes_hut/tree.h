/* A quad-tree of bodies in the plane, in cells of one core's memory. A cell without children holds
 * its bodies in a list: one, unless they lie so close together that the tree ends above them. */
#ifndef QUAD_TREE_H
#define QUAD_TREE_H

#include <stdint.h>
#include "gravity.h"

#define DEEPEST 30
#define NOTHING (-1)

typedef struct {
    double x, y, vx, vy, mass, fx, fy;
    uint64_t id;
    int32_t next; /* in its cell */
} body_t;

/* A part of the square: its middle and its side; then what lies in it. */
typedef struct {
    double middle_x, middle_y, side;
    double mass, x, y; /* of all its bodies together */
    int32_t child[4];  /* by quadrant: bit 0 right, bit 1 above */
    int32_t first_body;
    uint8_t is_divided;
} cell_t;

typedef struct {
    cell_t *cells;
    int32_t used, most;
} cells_t;

static inline int quadrant_of(double x, double y, double middle_x, double middle_y)
{
    return (x >= middle_x) | (y >= middle_y) << 1;
}

/* Moves a middle to that of a quadrant's, and halves the side. */
static inline void enter_quadrant(int quadrant, double *middle_x, double *middle_y, double *side)
{
    *side *= 0.5;
    *middle_x += quadrant & 1 ? 0.5 * *side : -0.5 * *side;
    *middle_y += quadrant & 2 ? 0.5 * *side : -0.5 * *side;
}

static int32_t new_cell(cells_t *cells, double middle_x, double middle_y, double side)
{
    if (cells->used == cells->most)
        return NOTHING;
    cells->cells[cells->used] = (cell_t){ middle_x, middle_y, side, 0, 0, 0,
                                          { NOTHING, NOTHING, NOTHING, NOTHING }, NOTHING, 0 };
    return cells->used++;
}

/* Puts a body where it belongs below the cell `at`, which is `depth` deep; 0 when cells run out. */
static int insert_body(cells_t *cells, body_t *bodies, int32_t at, int32_t body, int depth)
{
    for (;; depth++) {
        cell_t *cell = &cells->cells[at];
        int32_t moves = body;
        if (!cell->is_divided) {
            if (cell->first_body == NOTHING || depth >= DEEPEST) {
                bodies[body].next = cell->first_body;
                cell->first_body = body;
                return 1;
            }
            /* Who lived here alone goes one deeper first; then the cell is looked at again. */
            moves = cell->first_body;
            cell->first_body = NOTHING;
            cell->is_divided = 1;
        }
        const body_t *who = &bodies[moves];
        int quadrant = quadrant_of(who->x, who->y, cell->middle_x, cell->middle_y);
        if (cell->child[quadrant] == NOTHING) {
            double x = cell->middle_x, y = cell->middle_y, side = cell->side;
            enter_quadrant(quadrant, &x, &y, &side);
            if ((cell->child[quadrant] = new_cell(cells, x, y, side)) == NOTHING)
                return 0;
        }
        if (moves != body) {
            cell_t *child = &cells->cells[cell->child[quadrant]];
            bodies[moves].next = NOTHING;
            child->first_body = moves;
            depth--;
        } else {
            at = cell->child[quadrant];
        }
    }
}

/* Sums up masses and places from the bodies upwards. */
static void summarise(const cells_t *cells, const body_t *bodies, int32_t at)
{
    cell_t *cell = &cells->cells[at];
    double mass = 0, x = 0, y = 0;

    for (int32_t b = cell->first_body; b != NOTHING; b = bodies[b].next) {
        mass += bodies[b].mass;
        x += bodies[b].mass * bodies[b].x;
        y += bodies[b].mass * bodies[b].y;
    }
    for (int quadrant = 0; quadrant < 4; quadrant++) {
        int32_t child = cell->child[quadrant];
        if (child == NOTHING)
            continue;
        summarise(cells, bodies, child);
        const cell_t *part = &cells->cells[child];
        mass += part->mass;
        x += part->mass * part->x;
        y += part->mass * part->y;
    }
    cell->mass = mass;
    cell->x = mass > 0 ? x / mass : 0;
    cell->y = mass > 0 ? y / mass : 0;
}

/* Whether a cell is far enough from a place, for its size, to be taken as one mass. */
static inline int is_far(double dx, double dy, double side, double theta)
{
    return side * side < theta * theta * (dx * dx + dy * dy);
}

/* What the bodies below a cell pull a body at a place with. `self` is not pulled by itself. */
static void add_forces(const cells_t *cells, const body_t *bodies, int32_t at, double x, double y,
                       uint64_t self, double theta, double *fx, double *fy)
{
    const cell_t *cell = &cells->cells[at];
    double dx = cell->x - x, dy = cell->y - y;

    if (cell->is_divided && is_far(dx, dy, cell->side, theta)) {
        add_pull(dx, dy, cell->mass, fx, fy);
        return;
    }
    for (int32_t b = cell->first_body; b != NOTHING; b = bodies[b].next)
        if (bodies[b].id != self)
            add_pull(bodies[b].x - x, bodies[b].y - y, bodies[b].mass, fx, fy);
    for (int quadrant = 0; quadrant < 4; quadrant++)
        if (cell->child[quadrant] != NOTHING)
            add_forces(cells, bodies, cell->child[quadrant], x, y, self, theta, fx, fy);
}

#endif
