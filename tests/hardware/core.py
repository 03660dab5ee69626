"""Runs hpu_core beside traces of the published RTL: the cycle in which each instruction leaves the decode
stage, of the programs of tests/calibration/pspin2, cold and warm."""

import csv
import itertools
import struct
import subprocess
import tomllib

from common import REPOSITORY, Difference, check
from tools import FOLDER, HARDWARE, RTL, need, verilate

CALIBRATION = REPOSITORY / "tests/calibration/pspin2"
PATIENCE = 600
LOADED, SYMBOLS = 1, 2


class Program:
    """An ELF file of 32 bits: its segments, and addresses of its symbols."""

    def __init__(self, path):
        data = path.read_bytes()
        check(data[:5] == b"\x7fELF\x01", f"{path} is no ELF of 32 bits")
        headers, sections = struct.unpack_from("<II", data, 28)
        size, count, section_size, section_count = struct.unpack_from("<HHHH", data, 42)
        self.segments, self.symbols = [], {}
        for number in range(count):
            kind, offset, _, address, length = struct.unpack_from("<5I", data, headers + number * size)
            if kind == LOADED and length:
                self.segments.append((address, data[offset : offset + length]))
        places = [sections + number * section_size for number in range(section_count)]
        for place in places:
            _, kind, _, _, offset, length, link = struct.unpack_from("<7I", data, place)
            if kind == SYMBOLS:
                strings = struct.unpack_from("<I", data, places[link] + 16)[0]
                for at in range(offset, offset + length, 16):
                    name, value = struct.unpack_from("<II", data, at)
                    end = data.index(0, strings + name)
                    self.symbols[data[strings + name : end].decode()] = value

    def put(self, address, word):
        """Puts a word in place of what is at an address."""
        for number, (start, data) in enumerate(self.segments):
            at = address - start
            if 0 <= at < len(data):
                self.segments[number] = (start, data[:at] + struct.pack("<I", word) + data[at + 4 :])

    def write(self, folder):
        """Writes the segments where the harness finds them."""
        folder.mkdir(exist_ok=True)
        with (folder / "segments.txt").open("w") as lines:
            for number, (address, data) in enumerate(self.segments):
                (folder / f"{number}.bin").write_bytes(data)
                lines.write(f"{address:x} {number}.bin\n")


class Harness:
    """The core, compiled with a memory that answers at once, or with its cache and files of its own."""

    def __init__(self, unit, folder, cached=False):
        need("verilator")
        self.folder, self.program = folder, folder / "core"
        files = [FOLDER / "cached_core.sv"] if cached else []
        verilate(
            *(folder / "made", self.program, "--prefix", "Vhpu_core"),
            *("--top-module", "cached_core" if cached else "hpu_core", "-CFLAGS", f"-DCACHED={int(cached)}"),
            *(RTL / file for file in unit["files"]),
            *(*files, FOLDER / "hpu_core.cpp"),
            limit=PATIENCE,
        )

    def tasks(self, program, handlers):
        """Runs handlers one after the other; gives each one's lines, words each."""
        program.write(self.folder / "image")
        done = subprocess.run(
            [self.program, self.folder / "image", *map(str, handlers)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        check(done.returncode == 0, f"the core ended with {done.returncode}: {done.stdout[-500:]}")
        runs = done.stdout.split("task\n")[1:]
        return [[line.split() for line in run.splitlines()] for run in runs]


# A jump to itself; cycles from an interrupt to the trap handler; its mcause.
FOREVER, INTERRUPT_CYCLES, EXTERNAL_INTERRUPT = 0x6F, 3, "8000000b"
# More code than the instruction cache holds: a memory without one cannot follow, and behind one a core alone
# replaces other lines than one that booted with seven others.
LARGE = "capacity"
# Not in the traces: ecall, mret.
UNTRACED = {"73", "30200073"}


def left(lines):
    """What leaves the decode stage: (cycle, program counter, bits)."""
    shown = [words[1:] for words in lines if words[0] == "left"]
    return [(int(at), pc, bits) for at, pc, bits, *_ in shown if bits not in UNTRACED]


def published(row):
    """The first, cold packet's and the last, warm one's instructions, as `left` gives them."""
    with (CALIBRATION / f"trace/{row}.csv").open() as file:
        lines = list(csv.DictReader(file))
    by_packet = {}
    for line in lines:
        entry = (int(line["ns"]), line["pc"], line["instruction"].lstrip("0"))
        by_packet.setdefault(int(line["packet"]), []).append(entry)
    return by_packet[min(by_packet)], by_packet[max(by_packet)]


def compare(title, expected, found):
    """Fails at the first instruction that leaves in another cycle, counted from the first."""
    begin, begin_found = expected[0][0], found[0][0]
    for (at, *one), (at_found, *other) in zip(expected, found, strict=False):
        if (at - begin, *one) != (at_found - begin_found, *other):
            raise Difference(
                f"{title}: {' '.join(one)} leaves in cycle {at - begin}, in the unit "
                f"{' '.join(other)} in {at_found - begin_found}"
            )
    check(len(found) >= len(expected), f"{title}: {len(found)} of {len(expected)} instructions")

def check_traces(_, unit, folder):
    """The core does what the published one did, in every row that has a trace but one."""
    harness = Harness(unit, folder)
    compare_rows(harness)
    check_interrupt(harness)


def check_cache(_, unit, folder):
    """The core does the same behind the cache."""
    core = tomllib.loads((HARDWARE / "units.toml").read_text())["hpu_core"]["files"]
    files = [*unit["files"], *(file for file in core if file not in unit["files"])]
    compare_rows(Harness({"files": files}, folder, cached=True))


def compare_rows(harness):
    """Compares the rows that have a trace, but for the one too large."""
    with (CALIBRATION / "rows.csv").open() as file:
        rows = {row["row"]: row for row in csv.DictReader(file)}
    for path in sorted((CALIBRATION / "trace").glob("*.csv")):
        row = rows[path.stem]
        if row["payload_handler"] == LARGE:
            continue
        program = Program(CALIBRATION / f"elf/{row['program']}.elf")
        runs = harness.tasks(program, 3 * [program.symbols[row["payload_handler"]]])
        # From behind the load that gives a task to the next such load.
        runs = [left(run)[1:] + left(after)[:1] for run, after in itertools.pairwise(runs)]
        for expected, found, kind in zip(published(path.stem), runs, ("cold", "warm"), strict=True):
            compare(f"{path.stem}, {kind}", expected, found)


def check_interrupt(harness):
    """A handler that never ends is interrupted, and the next one runs."""
    program = Program(CALIBRATION / "elf/cold.elf")
    handler = program.symbols["trap_ecall"]
    program.put(handler, FOREVER)
    # The first finds the trap handler's line cold.
    _, lines, _ = harness.tasks(program, 3 * [handler])
    at = next(number for number, words in enumerate(lines) if words[0] == "interrupts")
    cycle, pc, _ = left(lines[at:])[1]
    check(pc == f"{program.symbols['trap']:x}", f"the interrupt leads to {pc}")
    check(cycle == int(lines[at][1]) + INTERRUPT_CYCLES, f"it was in {lines[at][1]}, that in {cycle}")
    check(["write", "5", EXTERNAL_INTERRUPT] in lines[at:], "mcause is another")
