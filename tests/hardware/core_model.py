"""Runs hpu_core beside the model's core, as `pinion trace` tells of it, on random programs: the same
instructions, the same values, and the same cycles from one to the next."""

import re
import subprocess

import core
from common import check
from random_program import handler

NAME = "random_ph"
PACKETS = 2
# Of a program: it fits into the instruction cache.
BLOCKS = 80
# Its status when a handler did what it may not.
FAULTS = 3
APP = f"""\
[app]
name = "random"
sources = ["random.S"]

[[context]]
name = "random"
match = ["udp.dport=9000"]
message = "flow"
end_of_message = "packets={PACKETS}"
payload = "{NAME}"
scratchpad = 4096

[traffic]
generate = "udp,size=64,messages=1,packets={PACKETS},rate=1g"
"""
LINE = re.compile(r"\s*[\d.]+\s+(\d+)\s.*? ([\da-f]{8}) ([\da-f]{8}|[\da-f]{4})\s+(.{1,24})\s*(.*)")
WRITTEN = re.compile(r"\b(\w+)=(\w{8})\b")
REGISTERS = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *("t3", "t4", "t5", "t6"),
)
JUMPS = re.compile(r"j\b|jr|jal|ret")


def of_model(pinion, seed, blocks, folder):
    """Traces a program; gives its ELF and the lines of the last packet's handler: cycle, program counter,
    bits, mnemonic, what is written, whether it traps."""
    folder.mkdir()
    (folder / "app.toml").write_text(APP)
    (folder / "random.S").write_text(handler(NAME, seed, blocks))
    text = folder / "trace.txt"
    done = subprocess.run(
        [
            *(pinion, "trace", folder, "--no-events", "--packet", str(PACKETS - 1), "--out", text),
            *("--set", "cluster.count=1", "--set", "cluster.cores=1", "--build-dir", folder / "build"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode in (0, FAULTS), f"pinion ended with {done.returncode}: {done.stderr}")
    lines = []
    for line in text.read_text().splitlines()[1:]:
        if found := LINE.match(line):
            written = WRITTEN.match(found[5])
            value = (REGISTERS.index(written[1]), written[2].lstrip("0") or "0") if written else None
            lines.append((int(found[1]), found[2], found[3], found[4], value, "trap:" in found[5]))
    check(lines, f"{text} has no instructions")
    (elf,) = (folder / "build").glob("**/random.elf")
    return elf, lines


def of_unit(lines):
    """The same of the unit: an access's cycle is the one before it is taken, as the model has it."""
    writes = iter([(int(words[1]), words[2]) for words in lines if words[0] == "write"])
    for words in lines:
        if words[0] == "left":
            left, taken, traps = int(words[1]), int(words[4]), words[5] == "1"
            yield taken - 1 if taken else left, words[2], words[3], traps, writes


def compare(title, expected, lines):
    """Fails at the first instruction that differs."""
    shift, load_of, compared = None, None, 0
    for (at, pc, bits, text, value, traps), (at_found, *found, writes) in zip(expected, of_unit(lines), strict=False):
        where = f"{title}: {pc} {text.strip()}, model's cycle {at}"
        check(found == [f"{int(pc, 16):x}", f"{int(bits, 16):x}", traps], f"{where}, in the unit {found}")
        if value:
            wrote = next(writes)
            check(wrote == value, f"{where} writes {value}, in the unit {wrote}")
        # In the unit, and the published core, a jump may leave behind a load, though it went before.
        if shift is None or (at_found - at != shift and not JUMPS.match(text)):
            check(shift is None, f"{where} is {at_found - at - (shift or 0)} cycles later in the unit")
            shift = at_found - at
        compared += 1
    return compared


def check_random(pinion, unit, seeds, folder):
    """Runs random programs on both; gives the number of instructions compared."""
    folder.mkdir()
    harness, compared = core.Harness(unit, folder), 0
    for seed in seeds:
        elf, expected = of_model(pinion, seed, BLOCKS, folder / f"{seed}")
        program = core.Program(elf)
        runs = harness.tasks(program, PACKETS * [program.symbols[NAME]])
        compared += compare(f"seed {seed}", expected, runs[-1])
    return compared
