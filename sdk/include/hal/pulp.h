/* For sources that include it before pspin.h: the two functions of it that handlers use. */
#ifndef PINION_HAL_PULP_H
#define PINION_HAL_PULP_H

#include "pspin_rt.h"

#define hal_core_id rt_core_id
#define hal_cluster_id rt_cluster_id

#endif
