/* What a handler shares with its host program through NIC memory, and the request numbers of
 * fpspin_host_req. */
#include "pspin.h"
#include "spin_conf.h"

volatile struct host_data __host_data __attribute__((section(".host_data")));
volatile uint8_t dma_idx[NUM_CLUSTER_HPUS] __attribute__((section(".data_tiny_l1")));
