/* The HPU driver's registers. Only aligned 32-bit accesses reach them. */
#ifndef PINION_HWSCHED_H
#define PINION_HWSCHED_H

#include <stdint.h>

#define MMIO_READ(address) (*(volatile uint32_t *)(address))
#define MMIO_WRITE(address, value) (*(volatile uint32_t *)(address) = (value))

#define HWSCHED_HANDLER_FUN_ADDR 0x1b205000
#define HWSCHED_HANDLER_FUN_SIZE 0x1b205004
#define HWSCHED_HANDLER_MEM_ADDR 0x1b205008
#define HWSCHED_HANDLER_MEM_SIZE 0x1b20500c
#define HWSCHED_PKT_ADDR 0x1b205010
#define HWSCHED_PKT_SIZE 0x1b205014
#define HWSCHED_SCRATCHPAD_0_ADDR 0x1b205018
#define HWSCHED_SCRATCHPAD_1_ADDR 0x1b20501c
#define HWSCHED_SCRATCHPAD_2_ADDR 0x1b205020
#define HWSCHED_SCRATCHPAD_3_ADDR 0x1b205024
#define HWSCHED_SCRATCHPAD_0_SIZE 0x1b205028
#define HWSCHED_SCRATCHPAD_1_SIZE 0x1b20502c
#define HWSCHED_SCRATCHPAD_2_SIZE 0x1b205030
#define HWSCHED_SCRATCHPAD_3_SIZE 0x1b205034
#define HWSCHED_HOST_MEM_ADDR_HIGH 0x1b205038
#define HWSCHED_HOST_MEM_ADDR_LOW 0x1b20503c
#define HWSCHED_HOST_MEM_SIZE 0x1b205040
#define HWSCHED_HOST_L2_PKT_ADDR 0x1b205044
#define HWSCHED_HOME_CLUSTER_ID 0x1b205048
#define HWSCHED_FLOW_ID 0x1b20504c
#define HWSCHED_DOORBELL 0x1b205050 /* a read ends the task */
#define HWSCHED_ERROR 0x1b205054    /* write: report an error code */

#define CMD_ISSUE 0x1b205080 /* a read issues; returns the command's id; may wait */
#define CMD_WAIT 0x1b205084  /* write an id: waits for it */
#define CMD_TEST 0x1b205088  /* write an id, read: 1 = done */
#define CMD_INFO 0x1b20508c  /* bits 2:1 type, bit 0 event */
#define CMD_WORD0 0x1b205090
#define CMD_WORD1 0x1b205094
#define CMD_WORD2 0x1b205098
#define CMD_WORD3 0x1b20509c
#define CMD_WORD4 0x1b2050a0
#define CMD_WORD5 0x1b2050a4
#define CMD_WORD6 0x1b2050a8

#define CMD_TYPE_HOST_DMA (0 << 1)
#define CMD_TYPE_NIC_SEND (1 << 1)
#define CMD_TYPE_HOST_DIRECT (2 << 1)
#define CMD_EVENT 1

#endif
