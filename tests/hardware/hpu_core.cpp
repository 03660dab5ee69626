// Runs hpu_core, or with CACHED cached_core, in Verilator with a memory that answers at once: a program, and tasks that its loop gets from
// the HPU driver's registers. Called by tests/hardware/core.py.
//
// Arguments: a folder with segments.txt (a line each: address, file), then the address of each task's handler.
// Out: `task` before each task, `left CYCLE PC BITS TAKEN TRAPS` for each instruction: the cycles in which it leaves
// the decode stage and in which its last access is taken, or 0; `write REGISTER VALUE` for each result.
#include "Vhpu_core.h"
#include "verilated.h"

#ifndef CACHED
#define CACHED 0
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace {
// What lies where, as PsPIN's cores see it.
constexpr uint32_t PROGRAM = 0x1d000000, PROGRAM_BYTES = 0x8000;
constexpr uint32_t L1 = 0x10000000, L1_BYTES = 0x1000000, BANKS = 64;
constexpr uint32_t L1_ALIAS = 0x1b000000, L1_ALIAS_BYTES = 0x100000;
constexpr uint32_t L2 = 0x1c000000, L2_BYTES = 0x800000;
constexpr uint32_t PERIPHERALS = 0x1b200000, PERIPHERALS_BYTES = 0x10000;
constexpr uint32_t DRIVER = 0x1b205000, DOORBELL = 0x50;
// As the HPU driver has them for every task here.
constexpr uint32_t TASK[] = {
    0, 0, 0x1c300000, 0x10000, 0x10004400, 64, 0x10014400, 0x10414400, 0x10814400, 0x10c14400,
    0x4000, 0x4000, 0x4000, 0x4000, 0x10000000, 0, 0x10000000, 0x1c400000, 0, 0,
};
// Cycles that a line takes more when it has not been asked for before; program memory's behind a cache; between tasks, of a handler
// before it is interrupted, and of a program that hangs.
constexpr uint64_t MISS = 8, REFILL = 3, PAUSE = 200, WATCHDOG = 200000, PATIENCE = 1000000;
// The atomics' funct5.
enum { ADD = 0, SWAP = 1, RESERVE = 2, CONDITIONAL = 3, XOR = 4, OR = 8, AND = 12, MIN = 16, MAX = 20, MINU = 24, MAXU = 28 };

uint32_t atomic(unsigned operation, uint32_t old, uint32_t operand) {
    switch (operation) {
    case ADD: return old + operand;
    case SWAP: return operand;
    case XOR: return old ^ operand;
    case OR: return old | operand;
    case AND: return old & operand;
    case MIN: return int32_t(old) < int32_t(operand) ? old : operand;
    case MAX: return int32_t(old) > int32_t(operand) ? old : operand;
    case MINU: return old < operand ? old : operand;
    case MAXU: return old > operand ? old : operand;
    default: return old;
    }
}

// The instruction in the execute stage.
struct Executing {
    uint64_t left = 0, taken = 0;
    uint32_t pc = 0, bits = 0;
    bool traps = false;

    void show() const { printf("left %lu %x %x %lu %d\n", (unsigned long)left, pc, bits, (unsigned long)taken, traps); }
};

// Memories and devices around the core.
struct Machine {
    std::vector<uint8_t> program = std::vector<uint8_t>(PROGRAM_BYTES);
    std::vector<uint8_t> l1 = std::vector<uint8_t>(L1_BYTES);
    std::vector<uint8_t> l2 = std::vector<uint8_t>(L2_BYTES);
    std::vector<uint32_t> tasks;
    size_t given = 0;
    bool running = false, over = false, reserved = false;
    uint32_t reservation = 0, held_bank = 0;
    uint64_t free_from = 0, started = 0, held_in = 0;

    // The word at an address, or null: nothing is there.
    uint8_t *word(uint32_t address) {
        if (address - PROGRAM < PROGRAM_BYTES) return &program[address - PROGRAM];
        if (address - L1 < L1_BYTES) return &l1[address - L1];
        if (address - L1_ALIAS < L1_ALIAS_BYTES) return &l1[address - L1_ALIAS];
        if (address - L2 < L2_BYTES) return &l2[address - L2];
        return nullptr;
    }

    bool load(const std::string &folder) {
        std::ifstream lines(folder + "/segments.txt");
        uint32_t address;
        std::string name;
        while (lines >> std::hex >> address >> name) {
            std::ifstream file(folder + "/" + name, std::ios::binary);
            const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
            uint8_t *to = word(address);
            if (!to || !word(address + bytes.size() - 1)) return false;
            memcpy(to, bytes.data(), bytes.size());
        }
        return true;
    }

    // An access in a cycle: whether it is taken, and what it answers.
    bool device(const Vhpu_core &core, uint64_t cycle, uint32_t &answer) {
        const uint32_t place = core.data_word * 4 - DRIVER;
        answer = 0;
        if (place == 0 && !core.data_write) {
            if (!free_from) free_from = cycle + PAUSE;
            if (running || cycle < free_from) return false;
            over = given == tasks.size();
            if (over) return false;
            answer = tasks[given++];
            running = true;
            started = cycle;
            printf("task\n");
        } else if (place < sizeof TASK) answer = TASK[place / 4];
        else if (place == DOORBELL && !core.data_write) {
            running = false;
            free_from = 0;
        }
        return true;
    }

    bool memory(const Vhpu_core &core, uint64_t cycle, uint8_t *at, uint32_t &answer) {
        const uint32_t address = core.data_word * 4;
        // An atomic holds its bank for a cycle more.
        if (held_in == cycle && core.data_word % BANKS == held_bank) return false;
        uint32_t old, changed;
        memcpy(&old, at, 4);
        changed = answer = old;
        if (core.data_atomic && core.data_operation == CONDITIONAL) {
            const bool stores = reserved && reservation == address;
            if (stores) changed = core.data_data;
            reserved = false;
            answer = !stores;
        } else if (core.data_atomic && core.data_operation == RESERVE) {
            reserved = true;
            reservation = address;
        } else if (core.data_atomic) {
            changed = atomic(core.data_operation, old, core.data_data);
            held_in = cycle + 1;
            held_bank = core.data_word % BANKS;
        } else if (core.data_write) {
            for (int byte = 0; byte < 4; ++byte)
                if (core.data_strobes >> byte & 1) {
                    const uint32_t mask = 0xffu << 8 * byte;
                    changed = (changed & ~mask) | (core.data_data & mask);
                }
            reserved &= reservation != address;
        }
        memcpy(at, &changed, 4);
        return true;
    }
};
} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    VerilatedContext context;
    Vhpu_core core{&context};
    Machine machine;
    if (!machine.load(argv[1])) return 2;
    for (int argument = 2; argument < argc; ++argument) machine.tasks.push_back(strtoul(argv[argument], nullptr, 0));
    std::set<uint32_t> present;
    uint32_t response = 0, line = 0;
    uint64_t line_at = 0;
    bool line_due = false;
    Executing executing;

    core.hart = 0;
    core.fetch_ready = 1;
    core.reset = 1;
    core.clock = 0;
    core.eval();
    core.clock = 1;
    core.eval();
    core.reset = 0;
    for (uint64_t cycle = 0, last = 0; cycle - last <= PATIENCE; ++cycle) {
        core.clock = 0;
        core.response_data = response;
        core.line_valid = line_due && cycle >= line_at;
        uint8_t *bytes = machine.word(line * 16);
        core.line_error = line * 16 - PROGRAM >= PROGRAM_BYTES;
        for (int word = 0; word < 4; ++word) {
            core.line_data[word] = 0;
            if (!core.line_error) memcpy(&core.line_data[word], bytes + 4 * word, 4);
        }
        core.data_ready = 0;
        core.data_error = 0;
        core.interrupts = machine.running && cycle == machine.started + WATCHDOG;
        core.eval();
        if (core.data_valid) {
            uint8_t *at = machine.word(core.data_word * 4);
            if (core.data_word * 4 - PERIPHERALS < PERIPHERALS_BYTES) core.data_ready = machine.device(core, cycle, response);
            else if (at) core.data_ready = machine.memory(core, cycle, at, response);
            else core.data_ready = core.data_error = 1;
            if (machine.over) return 0;
            if (core.data_ready) executing.taken = cycle;
            core.eval();
        }
        if (core.interrupts) printf("interrupts %lu\n", (unsigned long)cycle);
        executing.traps |= core.trap_valid;
        if (core.wrote_register) printf("write %u %x\n", core.wrote_register, core.wrote_value);
        if (core.left_valid) {
            executing.show();
            executing = {cycle, 0, core.left_pc << 1, core.left_bits, false};
            last = cycle;
        }
        if (machine.free_from) last = cycle;
        if (core.line_valid) line_due = false;
        const bool asks = core.fetch_valid;
        const uint32_t wanted = core.fetch_line;
        core.clock = 1;
        core.eval();
        if (asks) {
            line = wanted;
            line_due = true;
            line_at = cycle + (CACHED ? REFILL : 1 + (present.insert(wanted).second ? MISS : 0));
        }
    }
    printf("hangs\n");
    return 1;
}
