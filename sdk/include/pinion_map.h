/* Fixed addresses of a PsPIN machine as a core sees it; the sizes that a machine file can change
 * come from the linker script and from -DNB_CLUSTERS and -DNB_CORES. Usable from C and assembly.
 * The devices that handlers use may be defined elsewhere, to run handlers on another machine. */
#ifndef PINION_MAP_H
#define PINION_MAP_H

#define PINION_L1_BASE 0x10000000 /* L1 of cluster 0 */
#define PINION_L1_STRIDE 0x00400000 /* from one cluster's L1 to the next */
#define PINION_L1_ALIAS 0x1b000000 /* the own cluster's L1 */
#ifndef PINION_STDOUT
#define PINION_STDOUT 0x1a104000 /* + (cluster << 7) + (core << 3), a byte per store */
#endif
#define PINION_CLUSTER_CONTROL 0x1b200000 /* write 1: end of program */
#define PINION_ICACHE_CONTROL 0x1b201400 /* write all ones: on */
#define PINION_EVENT_UNIT 0x1b204000 /* this core's */
#define PINION_EVENT_MASK 0x00
#define PINION_EVENT_DISPATCH 0x80 /* event-load waits for a dispatch; a store dispatches */
#define PINION_EVENT_TEAM 0x84 /* which cores a dispatch wakes */
#define PINION_EVENT_DISPATCH_BIT 18
#ifndef PINION_DMA_PORT
#define PINION_DMA_PORT 0x1b204400 /* this core's cluster DMA port */
#endif
#define PINION_DMA_PUBLIC_OFFSET 0x201800 /* the public port, from the cluster's base */
#ifndef PINION_DRIVER
#define PINION_DRIVER 0x1b205000 /* this core's HPU driver */
#endif
#define PINION_DRIVER_TASK 0x08
#define PINION_DRIVER_DOORBELL 0x50
#define PINION_DRIVER_ERROR 0x54

/* The register file holds four scratchpads. A machine with more clusters shows the task a second
 * time, with arrays as long as it has clusters. */
#ifndef NB_CLUSTERS
#define NB_CLUSTERS 4
#endif
#ifndef NB_CORES
#define NB_CORES 8
#endif
#if NB_CLUSTERS > 4
#define PINION_SCRATCHPADS NB_CLUSTERS
#define PINION_TASK (PINION_DRIVER + 0x100)
#else
#define PINION_SCRATCHPADS 4
#define PINION_TASK (PINION_DRIVER + PINION_DRIVER_TASK)
#endif

/* Environment calls: number in a7, result in a0. */
#define PSPIN_ECALL_CYCLES 1

#endif
