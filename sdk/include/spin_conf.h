/* Sizes of the machine; the build passes NB_CORES and NB_CLUSTERS of the machine file. */
#ifndef PINION_SPIN_CONF_H
#define PINION_SPIN_CONF_H

#include "pinion_map.h"

#define CORE_COUNT (NB_CORES * NB_CLUSTERS)
#define NUM_CLUSTER_HPUS NB_CORES

#ifndef PKT_SIZE
#define PKT_SIZE 1024 /* payload bytes of a packet, for sources that assume one size */
#endif

#endif
