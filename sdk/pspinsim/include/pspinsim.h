/* Drives a simulated PsPIN from the outside: packets in; packets, host accesses and completions out.
 *
 *     pspinsim_init(argc, argv, &conf);
 *     pspinsim_cb_set_pkt_feedback(feedback);
 *     spin_find_handler_by_name("build/app", "app_ph", &handler, &size); …
 *     pspinsim_packet_add(&ec, msgid, data, length, length, eom, 0, 0); …
 *     pspinsim_packet_eos();
 *     pspinsim_run();
 *     pspinsim_fini();
 *
 * There is one simulation at a time. Time starts when the NIC's cores have booted; a cycle is 1 ns.
 * Callbacks come in the simulated cycle in which things happen, from within pspinsim_run or
 * pspinsim_run_tick; they may call everything but those two, pspinsim_init and pspinsim_fini, and
 * must not throw or jump out. All functions return SPIN_SUCCESS or SPIN_ERR; what is wrong stands
 * on standard error.
 *
 * Environment: PINION_MACHINE, PINION_SET, PINION_FAITHFUL choose what is simulated, PINION_ELF the
 * program; see the book's page "Drivers written for PsPIN".
 */
#ifndef PSPINSIM_H
#define PSPINSIM_H

#include "spin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of AXI buffers (axi_…) are not modelled. */

typedef struct ni_conf {
    uint32_t axi_aw_buffer;
    uint32_t axi_w_buffer;
    uint32_t axi_b_buffer;
} ni_conf_t;

typedef struct no_conf {
    uint32_t axi_ar_buffer;
    uint32_t axi_r_buffer;
    double network_G;               /* gap of the network in ns per byte; 0: no limit */
    uint32_t max_pkt_size;          /* bytes of the largest packet that handlers send */
    uint32_t max_network_queue_len; /* packets that wait for the network; commands wait beyond */
} no_conf_t;

typedef struct pcie_slv_conf {
    uint32_t axi_aw_buffer;
    uint32_t axi_w_buffer;
    uint32_t axi_ar_buffer;
    uint32_t axi_b_buffer;
    uint32_t axi_r_buffer;
    uint32_t pcie_L; /* latency: ps as published, ns with PINION_FAITHFUL=0 */
    double pcie_G;   /* gap in ns per byte */
} pcie_slv_conf_t;

typedef struct pspin_conf {
    const char *slm_files_path; /* folder with the program as memory images, or NULL */
    ni_conf_t ni_conf;
    no_conf_t no_conf;
    pcie_slv_conf_t pcie_slv_conf;
} pspin_conf_t;

/* A packet left the NIC: its bytes. */
typedef void (*pkt_out_cb_t)(uint8_t *data, size_t length);
/* A packet's completion came back: its user_ptr; when the inbound engine took it, when the packet
 * scheduler got it, and now; in ps. */
typedef void (*pkt_feedback_cb_t)(uint64_t user_ptr, uint64_t nic_arrival, uint64_t pspin_arrival,
                                  uint64_t feedback);
/* A handler's command writes or reads host memory, in pieces that cross no 64-byte border. A
 * reading callback fills `data`; without one, or where it does not, reads give what handlers wrote
 * there, else zeros. */
typedef void (*pcie_slv_write_cb_t)(uint64_t addr, uint8_t *data, size_t length);
typedef void (*pcie_slv_read_cb_t)(uint64_t addr, uint8_t *data, size_t length);
/* A spin_nicmem_write or spin_nicmem_read is done: its user_ptr. */
typedef void (*pcie_mst_write_cb_t)(void *user_ptr);
typedef void (*pcie_mst_read_cb_t)(void *user_ptr);

/* Fills in the defaults: nothing throttles, queues of 32, packets of up to 2048 bytes. */
int pspinsim_default_conf(pspin_conf_t *conf);

/* Begins a simulation; `conf` may be NULL for the defaults. */
int pspinsim_init(int argc, char **argv, pspin_conf_t *conf);

/* Runs until the last packet was added (pspinsim_packet_eos) and everything is done. Fails when
 * nothing is left to do and the last packet was not announced. */
int pspinsim_run(void);

/* Runs one cycle. `*done_flag` becomes 1 when pspinsim_run would return, 0 before. */
int pspinsim_run_tick(uint8_t *done_flag);

/* Prints the statistics and ends the simulation. */
int pspinsim_fini(void);

/* Adds the packets of a trace: a line of 13 comma-separated numbers per packet (message id; address
 * and size of header, payload and completion handler and of the handler memory; packet bytes; bytes
 * copied to L1; 1 for the message's last; cycles of pause), and a file with the packets' bytes. */
int pspinsim_packet_trace_read(const char *pkt_file_path, const char *data_file_path);

/* Adds a packet behind those added before: its context, message id, bytes, how many of them are
 * copied to L1, whether it is the message's last, the cycles that the inbound engine pauses after
 * it, and what its feedback will carry. Everything is copied at once. */
int pspinsim_packet_add(spin_ec_t *ec, uint32_t msgid, uint8_t *pkt_data, size_t pkt_len,
                        size_t pkt_l1_len, uint8_t eom, uint32_t wait_cycles, uint64_t user_ptr);

/* Announces that no packets follow. */
int pspinsim_packet_eos(void);

/* Set the callbacks; NULL: none. */
int pspinsim_cb_set_pkt_out(pkt_out_cb_t cb);
int pspinsim_cb_set_pcie_slv_write(pcie_slv_write_cb_t cb);
int pspinsim_cb_set_pcie_slv_read(pcie_slv_read_cb_t cb);
int pspinsim_cb_set_pcie_mst_write_completion(pcie_mst_write_cb_t cb);
int pspinsim_cb_set_pcie_mst_read_completion(pcie_mst_read_cb_t cb);
int pspinsim_cb_set_pkt_feedback(pkt_feedback_cb_t cb);

#ifdef __cplusplus
}
#endif

#endif
