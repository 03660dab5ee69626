// A driver in C++: a network of 128 Gbit/s, packets that leave one by one, then a second
// simulation in the same process.
//
//     throttled move.elf
#include "check.h"

#include <vector>

namespace {

const size_t kBytes = 512;
const int kPackets = 64;

std::vector<uint64_t> departures;
uint64_t now;

// Runs cycle by cycle; returns when each packet left.
std::vector<uint64_t> run(const char *elf, double gap_ns)
{
    pspin_conf_t conf;
    pspinsim_default_conf(&conf);
    conf.no_conf.network_G = gap_ns;
    CHECK(pspinsim_init(0, nullptr, &conf) == SPIN_SUCCESS);
    departures.clear();
    pspinsim_cb_set_pkt_out([](uint8_t *, size_t length) {
        CHECK(length == kBytes);
        departures.push_back(now);
    });
    spin_ec_t ec = plain_context();
    ec.ph_addr = handler(elf, "pingpong_l2");
    ec.ph_size = 4096;
    std::vector<uint8_t> data(kBytes, 7);
    for (int i = 0; i < kPackets; i++)
        CHECK(pspinsim_packet_add(&ec, i, data.data(), kBytes, kBytes, 1, 0, 0) == SPIN_SUCCESS);
    pspinsim_packet_eos();
    uint8_t done = 0;
    for (now = 0; !done; now++)
        CHECK(pspinsim_run_tick(&done) == SPIN_SUCCESS);
    CHECK(pspinsim_fini() == SPIN_SUCCESS);
    return departures;
}

} // namespace

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    std::vector<uint64_t> free = run(argv[1], 0);
    CHECK(free.size() == kPackets);
    // 4 cycles for 64 B, so 32 for a packet.
    std::vector<uint64_t> slow = run(argv[1], 0.0625);
    CHECK(slow.size() == kPackets);
    for (size_t i = 1; i < slow.size(); i++)
        CHECK(slow[i] - slow[i - 1] == 32);
    CHECK(free.back() < slow.back());
    printf("last departure: %llu and %llu ns\n", (unsigned long long)free.back(),
           (unsigned long long)slow.back());
    return failures != 0;
}
