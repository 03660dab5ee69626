/* The host's side of sPIN: execution contexts, NIC memory, handlers by name.
 *
 * All functions return SPIN_SUCCESS or SPIN_ERR; what is wrong stands on standard error.
 */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <stdlib.h>

#include "spin_hw_conf.h"

#define SPIN_SUCCESS 0
#define SPIN_ERR 1

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t mem_addr_t;
typedef uint32_t mem_size_t;
typedef uint64_t host_addr_t;
typedef uint32_t spin_nic_addr_t;

/* An execution context: the handlers of a message's packets, and what they may use. The context of
 * a message's first packet counts for all of it. */
typedef struct spin_ec {
    /* L2 handler memory */
    mem_addr_t handler_mem_addr;
    mem_size_t handler_mem_size;
    /* host memory */
    host_addr_t host_mem_addr;
    mem_size_t host_mem_size;
    /* header handler, address 0 for none */
    mem_addr_t hh_addr;
    mem_size_t hh_size;
    /* payload handler, address 0 for none */
    mem_addr_t ph_addr;
    mem_size_t ph_size;
    /* completion (tail) handler, address 0 for none */
    mem_addr_t th_addr;
    mem_size_t th_size;
    /* scratchpads: offset behind each cluster's packet buffer, and bytes */
    mem_addr_t scratchpad_addr[NUM_CLUSTERS];
    mem_size_t scratchpad_size[NUM_CLUSTERS];
} __attribute__((__packed__)) spin_ec_t;

/* Starts a write of `size` bytes to NIC memory (L1, L2 or program memory) at `addr`. The data are
 * copied at once; they are there when pspinsim_cb_set_pcie_mst_write_completion's callback is
 * called with `user_ptr`. Needs pspinsim_init. */
int spin_nicmem_write(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/* Starts a read of `size` bytes of NIC memory at `addr`. `data` is filled when
 * pspinsim_cb_set_pcie_mst_read_completion's callback is called with `user_ptr`, and must live
 * until then. Needs pspinsim_init. */
int spin_nicmem_read(spin_nic_addr_t addr, void *data, size_t size, void *user_ptr);

/* Finds a handler in the ELF file `binfile`. `*handler_size` becomes 4096, the bytes of code that
 * the hardware's protection covers. Unless memory images or PINION_ELF say otherwise, `binfile` is
 * also the program that the NIC runs. A handler that it does not have is mentioned on standard error
 * and gets address and size 0, which means none. May be called at any time. */
int spin_find_handler_by_name(const char *binfile, const char *handler_name,
                              spin_nic_addr_t *handler_addr, size_t *handler_size);

#ifdef __cplusplus
}
#endif

#endif
