/* Numbers of the PsPIN hardware that drivers use; those of the machine `pspin`. */
#ifndef SPIN_HW_CONF_H
#define SPIN_HW_CONF_H

#define NUM_CLUSTERS 4
#define NUM_CORES 8
#define C_MSGID_WIDTH 10 /* bits of a message id */

/* Host memory, as commands of handlers name it. */
#define PCIE_START_ADDR 0x1000000000000000

/* L1 of a cluster: reserved, the runtime's stacks and data, packets, scratchpads. */
#define L1_CLUSTER_ACTUAL_MEM_SIZE 0x00100000
#define L1_RUNTIME_OFFSET 0x00000400
#define L1_RUNTIME_SIZE 0x00004000
#define L1_PKT_BUFF_OFFSET (L1_RUNTIME_OFFSET + L1_RUNTIME_SIZE)
#define L1_PKT_BUFF_SIZE 0x00010000 /* the hardware's; the paper says 32 KiB */
#define L1_SCRATCHPAD_OFFSET (L1_PKT_BUFF_OFFSET + L1_PKT_BUFF_SIZE)
#define L1_SCRATCHPAD_SIZE (L1_CLUSTER_ACTUAL_MEM_SIZE - L1_SCRATCHPAD_OFFSET)

#define L2_PKT_BUFF_START 0x1c400000
#define L2_PKT_BUFF_SIZE (4 * 1024 * 1024)

#endif
