/* Gravity in the plane. */
#ifndef GRAVITY_H
#define GRAVITY_H

#include <math.h>

#define SOFTENING 0.25 /* keeps two bodies at one place apart */

/* What a mass as far away as (dx, dy) pulls a body with, for each of its own mass; added to `fx`
 * and `fy`. */
static inline void add_pull(double dx, double dy, double mass, double *fx, double *fy)
{
    double square = dx * dx + dy * dy + SOFTENING;
    double pull = mass / (square * __builtin_sqrt(square));

    *fx += pull * dx;
    *fy += pull * dy;
}

#endif
