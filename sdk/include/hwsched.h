/* The HPU driver's registers, at PINION_DRIVER (0x1b205000). Only aligned 32-bit accesses reach
 * them. */
#ifndef PINION_HWSCHED_H
#define PINION_HWSCHED_H

#include <stdint.h>

#include "pinion_map.h"

#ifdef PINION_NATIVE
#define MMIO_READ(address) pinion_mmio_read((uint32_t)(address))
#define MMIO_WRITE(address, value) pinion_mmio_write((uint32_t)(address), value)
#else
#define MMIO_READ(address) (*(volatile uint32_t *)(address))
#define MMIO_WRITE(address, value) (*(volatile uint32_t *)(address) = (value))
#endif

#define HWSCHED_HANDLER_FUN_ADDR (PINION_DRIVER + 0x00)
#define HWSCHED_HANDLER_FUN_SIZE (PINION_DRIVER + 0x04)
#define HWSCHED_HANDLER_MEM_ADDR (PINION_DRIVER + 0x08)
#define HWSCHED_HANDLER_MEM_SIZE (PINION_DRIVER + 0x0c)
#define HWSCHED_PKT_ADDR (PINION_DRIVER + 0x10)
#define HWSCHED_PKT_SIZE (PINION_DRIVER + 0x14)
#define HWSCHED_SCRATCHPAD_0_ADDR (PINION_DRIVER + 0x18)
#define HWSCHED_SCRATCHPAD_1_ADDR (PINION_DRIVER + 0x1c)
#define HWSCHED_SCRATCHPAD_2_ADDR (PINION_DRIVER + 0x20)
#define HWSCHED_SCRATCHPAD_3_ADDR (PINION_DRIVER + 0x24)
#define HWSCHED_SCRATCHPAD_0_SIZE (PINION_DRIVER + 0x28)
#define HWSCHED_SCRATCHPAD_1_SIZE (PINION_DRIVER + 0x2c)
#define HWSCHED_SCRATCHPAD_2_SIZE (PINION_DRIVER + 0x30)
#define HWSCHED_SCRATCHPAD_3_SIZE (PINION_DRIVER + 0x34)
#define HWSCHED_HOST_MEM_ADDR_HIGH (PINION_DRIVER + 0x38)
#define HWSCHED_HOST_MEM_ADDR_LOW (PINION_DRIVER + 0x3c)
#define HWSCHED_HOST_MEM_SIZE (PINION_DRIVER + 0x40)
#define HWSCHED_HOST_L2_PKT_ADDR (PINION_DRIVER + 0x44)
#define HWSCHED_HOME_CLUSTER_ID (PINION_DRIVER + 0x48)
#define HWSCHED_FLOW_ID (PINION_DRIVER + 0x4c)
#define HWSCHED_DOORBELL (PINION_DRIVER + 0x50) /* a read ends the task */
#define HWSCHED_ERROR (PINION_DRIVER + 0x54)    /* write: report an error code */

#ifndef CMD_ISSUE
#define CMD_ISSUE (PINION_DRIVER + 0x80) /* a read issues; returns the command's id; may wait */
#endif
#define CMD_WAIT (PINION_DRIVER + 0x84) /* write an id: waits for it */
#define CMD_TEST (PINION_DRIVER + 0x88) /* write an id, read: 1 = done */
#define CMD_INFO (PINION_DRIVER + 0x8c) /* bits 2:1 type, bit 0 event */
#define CMD_WORD0 (PINION_DRIVER + 0x90)
#define CMD_WORD1 (PINION_DRIVER + 0x94)
#define CMD_WORD2 (PINION_DRIVER + 0x98)
#define CMD_WORD3 (PINION_DRIVER + 0x9c)
#define CMD_WORD4 (PINION_DRIVER + 0xa0)
#define CMD_WORD5 (PINION_DRIVER + 0xa4)
#define CMD_WORD6 (PINION_DRIVER + 0xa8)

#define CMD_TYPE_HOST_DMA (0 << 1)
#define CMD_TYPE_NIC_SEND (1 << 1)
#define CMD_TYPE_HOST_DIRECT (2 << 1)
#define CMD_EVENT 1

#ifdef PINION_NATIVE
#include "../native/registers.h"
#endif

#endif
