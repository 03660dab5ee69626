"""Runs a unit in Verilator beside what the units of the NIC did in a run, cycle by cycle, and stops at the
first difference with both sides and a waveform of the cycles before."""

import subprocess

from common import Difference, check
from tools import MADE, RTL, need, verilate

# Cycles of a waveform, and seconds for a compilation and for a run.
WINDOW = 200
PATIENCE = 600

DRIVER = """\
// Made by tests/hardware/lockstep.py: applies a line's inputs, compares its outputs, one line a cycle.
#include "V{name}.h"
#include "verilated.h"
#if WAVES
#include "verilated_vcd_c.h"
#endif
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

int main(int argc, char **argv) {{
    if (argc < 2) return 2;
    VerilatedContext context;
#if WAVES
    if (argc < 4) return 2;
    const uint64_t from = strtoull(argv[2], nullptr, 10);
    context.traceEverOn(true);
    V{name} unit{{&context}};
    VerilatedVcdC waves;
    unit.trace(&waves, 99);
    waves.open(argv[3]);
#define DUMP(half) if (cycle >= from) waves.dump(2 * cycle + half)
#else
    V{name} unit{{&context}};
#define DUMP(half)
#endif
    unit.clock = 0;
    unit.reset = 1;
    unit.eval();
    unit.clock = 1;
    unit.eval();
    unit.reset = 0;
    std::ifstream lines(argv[1]);
    std::string line, word;
    for (uint64_t cycle = 0; std::getline(lines, line); ++cycle) {{
        std::istringstream words(line);
        unit.clock = 0;
{inputs}
        unit.eval();
        DUMP(0);
        bool differs = false;
{outputs}
        if (differs) {{
#if WAVES
            waves.close();
#endif
            printf("cycle %lu\\n", (unsigned long)cycle);
            return 1;
        }}
        unit.clock = 1;
        unit.eval();
        DUMP(1);
    }}
    return 0;
}}
"""
INPUT = "        words >> word; unit.{port} = strtoull(word.c_str(), nullptr, 16);"
OUTPUT = """\
        words >> word;
        if (word != "-" && strtoull(word.c_str(), nullptr, 16) != (uint64_t)unit.{port}) {{
            printf("{port}: %s expected, the unit says %lx\\n", word.c_str(), (unsigned long)unit.{port});
            differs = true;
        }}"""


class Block:
    """A unit, compiled for some parameters, with the ports that are driven and compared."""

    def __init__(self, name, unit, parameters, ports, folder):
        need("verilator")
        self.name, (self.inputs, self.outputs) = name, ports
        driver = folder / "driver.cpp"
        driver.write_text(
            DRIVER.format(
                name=name,
                inputs="\n".join(INPUT.format(port=port) for port in self.inputs),
                outputs="\n".join(OUTPUT.format(port=port) for port in self.outputs),
            )
        )
        self.unit, self.parameters, self.folder = unit, parameters, folder
        self.program = self.build("plain", ["-CFLAGS", "-DWAVES=0"])

    def build(self, program, options):
        """Compiles the block; one that writes waveforms takes twice as long."""
        return verilate(
            *(self.folder / f"made-{program}", self.folder / program, "--top-module", self.name, *options),
            *(f"-G{key}={value}" for key, value in self.parameters.items()),
            *(RTL / file for file in self.unit["files"]),
            self.folder / "driver.cpp",
            limit=PATIENCE,
        )

    def differs(self, cycles):
        """Compares a run: for each cycle, what goes in and what must come out, by port; a port that is
        not named is 0, or of no concern. Gives what differs first, or nothing."""
        with (self.folder / "lines").open("w") as file:
            for row in cycles:
                words = [f"{row.get(port, 0):x}" for port in self.inputs]
                words += [f"{row[port]:x}" if port in row else "-" for port in self.outputs]
                file.write(" ".join(words) + "\n")
        return self.call(self.program, self.folder / "lines")

    def run(self, title, cycles):
        """Fails where a run differs, with a waveform of the cycles before."""
        said = self.differs(cycles)
        if not said:
            return
        cycle = int(said.rsplit(" ", 1)[1])
        waves = MADE / f"{self.name}-{title}.vcd"
        traced = self.build("traced", ["--trace", "-CFLAGS", "-DWAVES=1"])
        self.call(traced, self.folder / "lines", max(0, cycle - WINDOW), waves)
        shown = ", ".join(f"{port} {value:x}" for port, value in cycles[cycle].items())
        raise Difference(f"{title}: {said}, of {shown}; {waves} has the cycles before")

    def call(self, program, *arguments):
        """Runs a program; gives what differs, or nothing."""
        done = subprocess.run(
            [program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        check(done.returncode in (0, 1), f"the block ended with {done.returncode}: {done.stderr}")
        return ", ".join(done.stdout.split("\n")[:-1]) if done.returncode else ""

