/* Included before all other sources of a handler test: puts memory in the place of the devices that
 * handlers use. Where a device acts when it is read, its address is what a function returns that
 * acts before. */
#ifndef HANDLERS_H
#define HANDLERS_H
#ifndef __ASSEMBLER__

#include <stdint.h>

extern volatile uint32_t stand_in_driver[];

/* Carries out the command whose words are written; the word there is its id. */
uint32_t stand_in_issue(void);

/* Carries out the copy launched before, if any; returns the DMA port. */
uint32_t stand_in_dma(void);

#define PINION_DRIVER ((uint32_t)stand_in_driver)
#define CMD_ISSUE stand_in_issue()
#define PINION_DMA_PORT stand_in_dma()
#define PINION_STDOUT 0x10000000 /* the serial port */

#endif
#endif
