/* Everything a driver can do wrong gives SPIN_ERR, and what was right before goes on.
 *
 *     mistakes move.elf empty.elf
 */
#include "check.h"

static int completed;

static void feedback(uint64_t user, uint64_t nic_arrival, uint64_t pspin_arrival, uint64_t now)
{
    (void)nic_arrival, (void)pspin_arrival, (void)now;
    CHECK(user == 42);
    completed++;
    CHECK(pspinsim_fini() == SPIN_ERR);
    CHECK(pspinsim_init(0, NULL, NULL) == SPIN_ERR);
}

static void before_a_simulation(void)
{
    uint8_t done = 0;

    CHECK(pspinsim_default_conf(NULL) == SPIN_ERR);
    CHECK(pspinsim_run() == SPIN_ERR);
    CHECK(pspinsim_run_tick(&done) == SPIN_ERR && done == 1);
    CHECK(pspinsim_packet_eos() == SPIN_ERR);
    CHECK(pspinsim_fini() == SPIN_ERR);
    CHECK(spin_nicmem_write(HANDLER_MEMORY, &done, 1, NULL) == SPIN_ERR);
}

static void wrong_arguments(const char *elf, const char *other)
{
    spin_nic_addr_t address = 7;
    size_t size = 7;
    uint8_t byte = 1;
    static uint8_t large[20000];
    spin_ec_t ec = plain_context();

    CHECK(spin_find_handler_by_name("no/such/file", "ph", &address, &size) == SPIN_ERR);
    CHECK(spin_find_handler_by_name(NULL, "ph", &address, &size) == SPIN_ERR);
    CHECK(spin_find_handler_by_name(__FILE__, "ph", &address, &size) == SPIN_ERR);
    CHECK(address == 7 && size == 7);
    CHECK(spin_find_handler_by_name(elf, "no_such_handler", &address, &size) == SPIN_SUCCESS);
    CHECK(address == 0 && size == 0);
    CHECK(spin_find_handler_by_name(elf, "ph", &address, &size) == SPIN_SUCCESS);
    CHECK(spin_find_handler_by_name(other, "ph", &address, &size) == SPIN_ERR);
    CHECK(pspinsim_packet_add(NULL, 0, &byte, 1, 1, 1, 0, 0) == SPIN_ERR);
    CHECK(pspinsim_packet_add(&ec, 0, NULL, 1, 1, 1, 0, 0) == SPIN_ERR);
    CHECK(pspinsim_packet_add(&ec, 0, &byte, 0, 0, 1, 0, 0) == SPIN_ERR);
    CHECK(pspinsim_packet_add(&ec, 0, large, sizeof(large), 64, 1, 0, 0) == SPIN_ERR);
    ec.ph_addr = 0x1c000000;
    CHECK(pspinsim_packet_add(&ec, 0, &byte, 1, 1, 1, 0, 0) == SPIN_ERR);
    ec = plain_context();
    ec.handler_mem_addr = 0x1c500000;
    CHECK(pspinsim_packet_add(&ec, 0, &byte, 1, 1, 1, 0, 0) == SPIN_ERR);
    CHECK(spin_nicmem_write(0x1c3fffff, large, 2 << 20, NULL) == SPIN_ERR);
    CHECK(spin_nicmem_read(0, large, 4, NULL) == SPIN_ERR);
    CHECK(spin_nicmem_read(HANDLER_MEMORY, NULL, 4, NULL) == SPIN_ERR);
    CHECK(pspinsim_packet_trace_read("no/such/file", "no/such/file") == SPIN_ERR);
    CHECK(pspinsim_run_tick(NULL) == SPIN_ERR);
}

int main(int argc, char **argv)
{
    pspin_conf_t conf;
    uint8_t packet[64] = { 1 };

    CHECK(argc == 3);
    before_a_simulation();
    pspinsim_default_conf(&conf);
    conf.pcie_slv_conf.pcie_G = -1;
    CHECK(pspinsim_init(argc, argv, &conf) == SPIN_ERR);
    conf.pcie_slv_conf.pcie_G = 0.014782;
    conf.slm_files_path = "no/such/folder";
    CHECK(pspinsim_init(argc, argv, &conf) == SPIN_SUCCESS);
    CHECK(pspinsim_run() == SPIN_ERR); /* no program yet */
    wrong_arguments(argv[1], argv[2]);
    pspinsim_cb_set_pkt_feedback(feedback);
    CHECK(pspinsim_run() == SPIN_ERR); /* no end of stream */
    spin_ec_t ec = plain_context();
    ec.ph_addr = handler(argv[1], "ph");
    ec.ph_size = 4096;
    CHECK(pspinsim_packet_add(&ec, 1, packet, 64, 64, 1, 0, 42) == SPIN_SUCCESS);
    CHECK(pspinsim_packet_eos() == SPIN_SUCCESS);
    CHECK(pspinsim_run() == SPIN_SUCCESS && completed == 1);
    CHECK(pspinsim_packet_add(&ec, 1, packet, 64, 64, 1, 0, 42) == SPIN_SUCCESS);
    CHECK(pspinsim_run() == SPIN_SUCCESS && completed == 2);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    CHECK(pspinsim_fini() == SPIN_ERR);
    return failures != 0;
}
