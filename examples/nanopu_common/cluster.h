/* Programs on all cores of many nodes. Every core has a port of its own, the number of its hart;
 * the cores of a group of nodes, whose addresses follow each other, are numbered through. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include <lnic.h>

#define HARTS_PER_NODE 4

/* All nodes leave reset in cycle 0, and their NICs are ready some 16,400 cycles later. By this
 * cycle every core has bound its port, so that nothing need be sent twice. */
#define ALL_HAVE_BOOTED 40000

static inline void open_port(uint64_t hart) { lnic_add_context(hart, 0); }

static inline void wait_for_all(void)
{
    while (rdcycle() < ALL_HAVE_BOOTED)
        ;
}

/* The header of a message to core `core` of the group whose first node is `first`. */
static inline uint64_t core_header(uint32_t first, uint64_t core, uint64_t bytes)
{
    return lnic_header(first + core / HARTS_PER_NODE, core % HARTS_PER_NODE, bytes);
}

/* What a core of several takes of `all` things that are dealt out in order: from the first on. */
static inline uint64_t share_begin(uint64_t all, uint64_t core, uint64_t cores)
{
    return all * core / cores;
}

#endif
