/* Replays a packet trace and prints when each packet reached the packet scheduler and when its
 * completion came back, in ps.
 *
 *     PINION_ELF=app.elf replay packets.csv packets.bin
 */
#include "check.h"

static void feedback(uint64_t user, uint64_t nic_arrival, uint64_t pspin_arrival, uint64_t now)
{
    CHECK(user == 0 && nic_arrival < pspin_arrival && pspin_arrival < now);
    printf("%llu %llu\n", (unsigned long long)pspin_arrival, (unsigned long long)now);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    CHECK(pspinsim_init(argc, argv, NULL) == SPIN_SUCCESS);
    CHECK(pspinsim_cb_set_pkt_feedback(feedback) == SPIN_SUCCESS);
    CHECK(pspinsim_packet_trace_read(argv[1], argv[2]) == SPIN_SUCCESS);
    CHECK(pspinsim_packet_eos() == SPIN_SUCCESS);
    CHECK(pspinsim_run() == SPIN_SUCCESS);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    return failures != 0;
}
