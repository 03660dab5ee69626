// Drives spin_nic: boots a program, hands packets over, and says what came of each.
//
//     spin_nic FOLDER CYCLES
//
// In FOLDER: segments.txt (address and file of each segment), contexts.txt (context, word, value),
// host.txt (as segments.txt, of host memory),
// packets.txt (cycle, context, message, end, bytes; not before that cycle, counted from CYCLES cycles after reset, is
// the packet offered) and packets.bin. Lines on standard output: `her N CYCLE`,
// `done N CYCLE`, `out CYCLE HEX`, `host ADDRESS HEX` at the end, `print HPU BYTE`, `error HPU CAUSE`,
// `ran CYCLES SECONDS`. Ends when every packet is done and nothing has moved for a while, or with `hangs` after
// PATIENCE cycles in which no packet ended.
#include "Vspin_nic.h"
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>
#if TRACE
#include <verilated_fst_c.h>
#endif

namespace {
constexpr uint64_t PATIENCE = 100000, REST = 400;
constexpr uint32_t LINE = 64;
using Line = std::array<uint8_t, LINE>;

struct Packet {
    uint64_t at;
    unsigned context;
    uint32_t message;
    unsigned end;
    std::vector<uint8_t> bytes;
};

std::vector<char> whole(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::vector<char>((std::istreambuf_iterator<char>(file)), {});
}

void put(WData *to, const uint8_t *from) { memcpy(to, from, LINE); }

struct Bench {
    VerilatedContext context;
    Vspin_nic nic{&context};
    uint64_t cycle = 0;
    std::map<uint64_t, Line> host;
    std::deque<Line> answers;
#if TRACE
    VerilatedFstC trace;
#endif

    void settle() {
        nic.clock = 0;
        nic.eval();
#if TRACE
        trace.dump(2 * cycle);
#endif
    }
    void rise() {
        nic.clock = 1;
        nic.eval();
#if TRACE
        trace.dump(2 * cycle + 1);
#endif
        ++cycle;
    }

    // What is to be loaded, by line; then all of it.
    std::map<uint32_t, Line> image;
    void keep(uint32_t address, const std::vector<char> &bytes) {
        for (size_t at = 0; at < bytes.size(); ++at)
            image[(address + at) / LINE][(address + at) % LINE] = bytes[at];
    }
    void load() {
        nic.load_valid = 1;
        nic.load_strobes = ~0ull;
        for (const auto &[number, line] : image) {
            nic.load_line = number;
            put(nic.load_data, line.data());
            settle();
            rise();
        }
        nic.load_valid = 0;
    }

    // The host answers at once.
    void serve() {
        if (nic.host_write_valid) {
            Line &line = host[nic.host_write_line];
            const uint8_t *from = reinterpret_cast<const uint8_t *>(&nic.host_write_data[0]);
            for (unsigned byte = 0; byte < LINE; ++byte)
                if (nic.host_write_strobes >> byte & 1) line[byte] = from[byte];
        }
        if (nic.host_read_valid) answers.push_back(host[nic.host_read_line]);
    }
};
} // namespace

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const std::string folder = argv[1];
    const uint64_t boot = strtoull(argv[2], nullptr, 0);
    static Bench bench;
    Vspin_nic &nic = bench.nic;
#if TRACE
    bench.context.traceEverOn(true);
    nic.trace(&bench.trace, 99);
    bench.trace.open((folder + "/waves.fst").c_str());
#endif
    nic.reset = 1;
    nic.watchdog_cycles = 0;
    nic.m_axis_tready = 1;
    nic.host_write_ready = 1;
    nic.host_read_ready = 1;
    {
        std::ifstream lines(folder + "/segments.txt");
        uint32_t address;
        std::string name;
        while (lines >> std::hex >> address >> name) bench.keep(address, whole(folder + "/" + name));
        bench.load();
        std::ifstream words(folder + "/contexts.txt");
        uint32_t number, word, value;
        nic.config_valid = 1;
        while (words >> std::dec >> number >> word >> std::hex >> value) {
            nic.config_context = number;
            nic.config_word = word;
            nic.config_data = value;
            bench.settle();
            bench.rise();
        }
        nic.config_valid = 0;
    }
    {
        std::ifstream lines(folder + "/host.txt");
        uint64_t address;
        std::string name;
        while (lines >> std::hex >> address >> name) {
            const std::vector<char> bytes = whole(folder + "/" + name);
            for (size_t at = 0; at < bytes.size(); ++at)
                bench.host[(address + at) / LINE][(address + at) % LINE] = bytes[at];
        }
    }
    std::vector<Packet> packets;
    {
        const std::vector<char> data = whole(folder + "/packets.bin");
        std::ifstream lines(folder + "/packets.txt");
        Packet packet;
        size_t bytes, at = 0;
        while (lines >> std::dec >> packet.at >> packet.context >> packet.message >> packet.end >> bytes) {
            packet.bytes.assign(data.begin() + at, data.begin() + at + bytes);
            at += bytes;
            packets.push_back(packet);
        }
    }
    bench.settle();
    bench.rise();
    nic.reset = 0;
    const uint64_t begin = bench.cycle;
    const auto started = std::chrono::steady_clock::now();
    size_t sent = 0, taken = 0, done = 0, beat = 0;
    const uint64_t from = begin + boot;
    uint64_t last = from;
    std::map<uint32_t, size_t> at_address;
    std::string out;
    while (done < packets.size() || bench.cycle < last + REST) {
        // The next beat of the packet that is offered.
        nic.s_axis_tvalid = 0;
        if (sent < packets.size() && bench.cycle >= from + packets[sent].at) {
            const Packet &packet = packets[sent];
            const size_t rest = packet.bytes.size() - beat * LINE;
            Line line{};
            memcpy(line.data(), &packet.bytes[beat * LINE], std::min<size_t>(rest, LINE));
            put(nic.s_axis_tdata, line.data());
            nic.s_axis_tvalid = 1;
            nic.s_axis_tkeep = rest >= LINE ? ~0ull : (1ull << rest) - 1;
            nic.s_axis_tlast = rest <= LINE;
            nic.s_axis_tuser = uint64_t(packet.context) << 33 | uint64_t(packet.message) << 1 | packet.end;
        }
        nic.host_answer_valid = !bench.answers.empty();
        if (nic.host_answer_valid) {
            put(nic.host_answer_data, bench.answers.front().data());
            bench.answers.pop_front();
        }
        bench.settle();
        const unsigned long now = bench.cycle - begin;
        if (nic.s_axis_tvalid && nic.s_axis_tready) {
            ++beat;
            if (nic.s_axis_tlast) {
                beat = 0;
                ++sent;
            }
        }
        if (nic.state_her_valid) {
            printf("her %zu %lu\n", taken, now);
            at_address[nic.state_her_address] = taken++;
        }
        if (nic.state_done_valid) {
            printf("done %zu %lu\n", at_address[nic.state_done_address], now);
            ++done;
            last = bench.cycle;
        }
        if (nic.m_axis_tvalid) {
            const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&nic.m_axis_tdata[0]);
            char digits[3];
            for (unsigned byte = 0; byte < LINE; ++byte)
                if (nic.m_axis_tkeep >> byte & 1) {
                    snprintf(digits, sizeof digits, "%02x", bytes[byte]);
                    out += digits;
                }
            last = bench.cycle;
            if (nic.m_axis_tlast) {
                printf("out %lu %s\n", now, out.c_str());
                out.clear();
            }
        }
        if (nic.error_valid)
            for (unsigned hpu = 0; hpu < 32; ++hpu)
                if (nic.error_valid >> hpu & 1) printf("error %u at %lu\n", hpu, now);
        bench.serve();
        bench.rise();
        if (bench.cycle > last + PATIENCE) {
            printf("hangs: %zu of %zu packets are done\n", done, packets.size());
            return 1;
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    for (const auto &[address, line] : bench.host) {
        printf("host %lx ", (unsigned long)(address * LINE));
        for (const uint8_t byte : line) printf("%02x", byte);
        printf("\n");
    }
    printf("ran %lu %f\n", (unsigned long)(bench.cycle - begin), took.count());
#if TRACE
    bench.trace.close();
#endif
    return 0;
}
