// Drives nanopu_nic as a model's run did: frames on the pins, and of each hart reads of x30, writes of x31 and
// of registers, each in its cycle. A write of x31 sends the word that the hart read longest ago, as an echo does.
// Tells which words entered which hart's queue when, and which frames left.
#include "Vnanopu_nic.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {
constexpr int HARTS = NIC_HARTS;

// Bits of a port of any size.
template <typename Port> void put(Port &port, int at, int bits, uint64_t value) {
    const uint64_t mask = bits == 64 ? ~0ULL : (1ULL << bits) - 1;
    port = static_cast<Port>((static_cast<uint64_t>(port) & ~(mask << at)) | ((value & mask) << at));
}
template <std::size_t N> void put(VlWide<N> &port, int at, int bits, uint64_t value) {
    for (int bit = 0; bit < bits; ++bit) {
        const int place = at + bit;
        const uint32_t one = 1U << (place % 32);
        port[place / 32] = value >> bit & 1 ? port[place / 32] | one : port[place / 32] & ~one;
    }
}
template <std::size_t N> uint64_t word(const VlWide<N> &port, int at) {
    return port[at / 32] | static_cast<uint64_t>(port[at / 32 + 1]) << 32;
}

struct Frame {
    uint64_t at;
    std::vector<uint8_t> bytes;
};
struct Act {
    uint64_t at;
    char what;
    int hart, csr;
    uint64_t value;
};

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const uint64_t end = std::stoull(argv[2]);
    std::deque<Frame> frames;
    std::deque<Act> acts;
    std::ifstream lines(argv[1]);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream text(line);
        char what = 0;
        uint64_t at = 0;
        text >> what >> at;
        if (what == 'F') {
            std::string hex;
            text >> hex;
            Frame frame{at, {}};
            for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
                frame.bytes.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
            frames.push_back(frame);
        } else {
            Act act{at, what, 0, 0, 0};
            text >> act.hart >> act.csr >> act.value;
            acts.push_back(act);
        }
    }

    VerilatedContext context;
    Vnanopu_nic nic{&context};
    nic.own_mac = 0x081122334408;
    nic.next_mac = 0x085566778808;
    nic.own_ip = 0x0a000002;
    nic.timeout_cycles = 30000;
    nic.nic_ready = 1;
    nic.out_ready = 1;
    nic.reset = 1;
    for (int i = 0; i < 4; ++i) {
        nic.clock = i & 1;
        nic.eval();
    }
    nic.reset = 0;
    std::deque<uint64_t> read[HARTS];
    std::size_t flit = 0;
    std::string leaving;
    uint64_t first = 0;
    for (uint64_t cycle = 0; cycle < end; ++cycle) {
        nic.clock = 0;
        nic.in_valid = 0;
        nic.in_last = 0;
        if (!frames.empty() && frames.front().at <= cycle) {
            const auto &bytes = frames.front().bytes;
            nic.in_valid = 1;
            uint64_t data = 0;
            int keep = 0;
            for (std::size_t i = 0; i < 8 && 8 * flit + i < bytes.size(); ++i) {
                data |= static_cast<uint64_t>(bytes[8 * flit + i]) << 8 * i;
                keep |= 1 << i;
            }
            nic.in_data = data;
            nic.in_keep = keep;
            ++flit;
            nic.in_last = 8 * flit >= bytes.size();
            if (nic.in_last) {
                frames.pop_front();
                flit = 0;
            }
        }
        nic.read_valid = 0;
        nic.write_valid = 0;
        nic.csr_valid = 0;
        nic.csr_write = 0;
        std::vector<int> reads;
        while (!acts.empty() && acts.front().at <= cycle) {
            const Act act = acts.front();
            acts.pop_front();
            const int hart = act.hart;
            if (act.what == 'R') {
                put(nic.read_valid, hart, 1, 1);
                reads.push_back(hart);
            } else if (act.what == 'W') {
                if (read[hart].empty()) {
                    printf("X %lu hart %d writes a word that it has not read\n", (unsigned long)cycle, hart);
                    return 1;
                }
                put(nic.write_valid, hart, 1, 1);
                put(nic.write_word, 64 * hart, 64, read[hart].front());
                read[hart].pop_front();
            } else {
                put(nic.csr_valid, hart, 1, 1);
                put(nic.csr_write, hart, 1, 1);
                put(nic.csr_number, 12 * hart, 12, act.csr);
                put(nic.csr_written, 64 * hart, 64, act.value);
            }
        }
        nic.eval();
        for (const int hart : reads) {
            if (!(nic.read_held >> hart & 1)) {
                printf("X %lu hart %d reads a word that is not there\n", (unsigned long)cycle, hart);
                return 1;
            }
            read[hart].push_back(word(nic.read_word, 64 * hart));
        }
        for (int hart = 0; hart < HARTS; ++hart)
            if (nic.state_enter >> hart & 1)
                printf("E %lu %d %016lx\n", (unsigned long)cycle, hart,
                       (unsigned long)word(nic.state_enter_word, 64 * hart));
        if (nic.out_valid) {
            if (leaving.empty()) first = cycle;
            for (int i = 0; i < 8; ++i)
                if (nic.out_keep >> i & 1) {
                    char text[3];
                    snprintf(text, sizeof text, "%02x", static_cast<int>(nic.out_data >> 8 * i & 0xff));
                    leaving += text;
                }
            if (nic.out_last) {
                printf("O %lu %lu %s\n", (unsigned long)first, (unsigned long)cycle, leaving.c_str());
                leaving.clear();
            }
        }
        nic.clock = 1;
        nic.eval();
    }
    return 0;
}
