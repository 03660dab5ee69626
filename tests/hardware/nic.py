#!/usr/bin/env python3
"""Boots SDK applications on the NIC in SystemVerilog, hardware/rtl/spin/spin_nic.sv, and compares what comes of their
packets with the model's.

    python3 tests/hardware/nic.py [--pinion FILE] [--clusters N] [--cores N] [--program FILE] [--rows] [--show] [NAME]...

The ELF is the one that `pinion run` runs; with --rows it is that of the calibration's rows (tests/calibration/pspin and
pspin2) that the size allows. The NIC is given each packet so early that its HER can come when the model's does. Compared
are the packets that leave, byte by byte and in order, host memory, and each packet's cycles from HER to completion; a line
says how many differ, and by how much. Where HPUs race, in bursts of rows, packets may leave in another order, and host memory
that several write is not looked at. An error is a byte that differs, a packet of an application that differs by more than
APPS allows, and a row whose packets are not all within a cycle, unless rows-misses.txt has it; one there that is within is
an error, too. --show tells of each packet. --program takes a NIC that was compiled before. Exit status 0 when all is well.
"""

import argparse
import csv
import dataclasses
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
from common import REPOSITORY, Difference, Skip, check  # noqa: E402
import rows  # noqa: E402
from core import Program  # noqa: E402
from tools import HARDWARE, RTL, call, need, scratch  # noqa: E402

NAME = "spin_nic"
# Where the first context's handler memory and host memory are, and all bytes of a packet.
HANDLER_MEMORY, HOST_MEMORY, ALL = 0x1C300000, 1 << 60, 0xFFFFFFFF
# Cycles from reset until all cores wait for tasks.
BOOT_CYCLES = 6000
PATIENCE = 3600
# The model's exit status where a handler failed.
HANDLER_FAILED = 3
# Bytes of a beat, and messages that the NIC can have at a time.
LINE, QUEUES = 64, 16
MISSES = FOLDER / "rows-misses.txt"
# How fast packets come, so that some meet others.
PACE = "2g"
# How large a handler is said to be, which concerns nobody here.
HANDLER_BYTES = 4096
# The longest packet, and the larger slots' bytes.
LARGEST = 2176
# What the model is told so that it is the NIC in SystemVerilog: memory protection and the packet buffer as there,
# no check of commands.
SETTINGS = (
    "protection.pmp=rtl",
    "protection.check_commands=false",
    "protection.watchdog=false",
    f"inbound.max_packet_bytes={LARGEST}",
    f"allocator.large_bytes={LARGEST}",
    "allocator.kind=slots",
    "pcie.iommu=false",
    "pcie.latency_ps=0",
    "pcie.rate_mbit_s=0",
    "network.rate_mbit_s=0",
    "dma.core_reach=l2",
)
# By application: its packets, and how far a packet may be off, in cycles.
APPS = {
    "icmp_echo": ("ping.pcap", 1),
    "udp_echo": ("traffic.pcap", 1),
    "ping_pong": ("traffic.pcap", 1),
    "to_host": ("traffic.pcap", 1),
    "host_direct": ("traffic.pcap", 1),
    "copy_from_host": ("traffic.pcap", 2),
    "strided_ddt": ("traffic.pcap", 8),
    "empty": ("traffic.pcap", 1),
    "filter": ("traffic.pcap", 1),
    "histogram": ("traffic.pcap", 6),
    "kvstore": ("traffic.pcap", 11),
    "aggregate": ("traffic.pcap", 46),
    "reduce": ("traffic.pcap", 8),
}


def frames_of(path):
    """The frames of a capture."""
    data = path.read_bytes()
    order = "<" if data[:1] in (b"\xd4", b"\x4d") else ">"
    at, frames = 24, []
    while at < len(data):
        kept = struct.unpack_from(f"{order}4I", data, at)[2]
        frames.append(data[at + 16 : at + 16 + kept])
        at += 16 + kept
    return frames


def compile_nic(unit, folder, clusters, cores, *options, flags="-O1"):
    """Compiles the NIC; gives the program."""
    need("verilator")
    program = folder / NAME
    status, text = call(
        "verilator",
        *("--cc", "--exe", "--build", "--quiet", "-O3", "--unroll-count", 8, "--x-assign", "fast"),
        *("--prefix", f"V{NAME}", "--top-module", NAME, f"-GCLUSTERS={clusters}", f"-GCORES={cores}"),
        f"-GLARGE_BYTES={LARGEST}",
        *("-CFLAGS", f"{flags} -DTRACE=0", "-MAKEFLAGS", "VK_PCH_I_FAST= VK_PCH_I_SLOW= OPT_SLOW=-O0"),
        *(*options, "--Mdir", folder / "made", "-o", program),
        *(RTL / file for file in unit["files"]),
        FOLDER / f"{NAME}.cpp",
        limit=PATIENCE,
    )
    check(not status, f"verilator ended with {status}:\n{text[-3000:]}")
    return program


@dataclasses.dataclass
class Case:
    """An application, and how the model is to run it."""

    name: str
    app: Path
    capture: str
    pace: str
    # Cycles that a packet may be off; not a number that matters for rows.
    most: int
    elf: Path | None = None
    # Whether it does not matter in which order HPUs write and send.
    races: bool = False
    show: bool = False


def model_runs(pinion, case, machine, folder):
    """Runs an application in the model; gives its ELF, what came of each packet, frames that had a context, and those
    that left."""
    app, capture = case.app, case.capture
    sent, unmatched, packets = folder / "out.pcap", folder / "unmatched.pcap", folder / "packets.csv"
    settings = [option for setting in machine for option in ("--set", setting)]
    contexts = tomllib.loads((app / "app.toml").read_text())["context"]
    with_host = [one["name"] for one in contexts if one.get("host_memory")]
    dumps = [option for name in with_host for option in ("--host-dump", f"{name}={folder / name}.bin")]
    done = subprocess.run(
        [
            *(pinion, "run", app, "--quiet", "--pcap-in", app / capture, "--pace", case.pace, *settings, *dumps),
            *("--pcap-out", sent, "--unmatched-out", unmatched, "--packets", packets),
            *(("--elf", case.elf) if case.elf else ("--build-dir", folder / "build")),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    # Rows may have handlers that trap.
    well = (0, HANDLER_FAILED) if case.elf else (0,)
    check(done.returncode in well, f"pinion ended with {done.returncode}: {done.stderr[-2000:]}")
    with packets.open() as lines:
        rows = sorted(csv.DictReader(lines), key=lambda row: int(row["packet"]))
    others = Counter(frames_of(unmatched))
    frames = []
    for frame in frames_of(app / capture):
        if others[frame]:
            others[frame] -= 1
        else:
            frames.append(frame)
    check(len(frames) == len(rows), f"{len(rows)} packets in the model of {len(frames)} frames")
    elf = case.elf or next((folder / "build").glob("**/*.elf"))
    return elf, contexts, rows, frames, frames_of(sent)


def context_words(program, contexts):
    """Contexts as spin_nic's registers have them, their parts of each memory one behind the other."""
    memory, host, pad = HANDLER_MEMORY, HOST_MEMORY, 0
    for context in contexts:
        words = []
        for kind in ("header", "payload", "completion"):
            words += [program.symbols[context[kind]], HANDLER_BYTES] if kind in context else [0, 0]
        memory_bytes, host_bytes, pad_bytes = (
            size_of(context.get(kind, 0)) for kind in ("handler_memory", "host_memory", "scratchpad")
        )
        l1_bytes = size_of(context["l1_bytes"]) if "l1_bytes" in context else ALL
        yield [*words, memory, memory_bytes, host >> 32, host & ALL, host_bytes, pad, pad_bytes, l1_bytes]
        memory, host, pad = memory + memory_bytes, host + host_bytes, pad + pad_bytes


def size_of(text):
    """Bytes, as an app.toml says them."""
    units = {"KiB": 1 << 10, "MiB": 1 << 20, "B": 1}
    for unit, bytes_each in units.items():
        if str(text).endswith(unit):
            return int(str(text).removesuffix(unit)) * bytes_each
    return int(text)


def nic_runs(nic, folder, program, contexts, packets, images, traps=False):
    """Runs the NIC; packets are (cycle, context, message, end, frame), images what is in host memory; handlers may trap if
    `traps`. Gives cycles of HERs and completions, frames that left, host memory by line, cycles and seconds."""
    program.write(folder)
    words = [(number, place, word) for number, one in enumerate(contexts) for place, word in enumerate(one)]
    (folder / "contexts.txt").write_text("".join(f"{number} {place} {word:x}\n" for number, place, word in words))
    lines = [f"{at} {context} {message} {end} {len(frame)}\n" for at, context, message, end, frame in packets]
    (folder / "packets.txt").write_text("".join(lines))
    (folder / "packets.bin").write_bytes(b"".join(frame for *_, frame in packets))
    names = []
    for address, image in images:
        names.append(f"{address:x} host-{address:x}.bin\n")
        (folder / f"host-{address:x}.bin").write_bytes(image)
    (folder / "host.txt").write_text("".join(names))
    done = subprocess.run(
        [nic, folder, str(BOOT_CYCLES)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    check(done.returncode == 0, f"the NIC ended with {done.returncode}: {done.stdout[-500:]}")
    hers, ends, sent, host, ran = {}, {}, [], {}, (0, 0.0)
    for line in done.stdout.splitlines():
        kind, *said = line.split()
        if kind == "her":
            hers[int(said[0])] = int(said[1])
        elif kind == "done":
            ends[int(said[0])] = int(said[1])
        elif kind == "out":
            sent.append(bytes.fromhex(said[1]))
        elif kind == "host":
            host[int(said[0], 16)] = bytes.fromhex(said[1])
        elif kind == "error" and traps:
            continue
        elif kind == "ran":
            ran = (int(said[0]), float(said[1]))
        else:
            raise Difference(f"the NIC says: {line}")
    return hers, ends, sent, host, ran


def offers(lines, frames, numbers):
    """When the NIC is given each packet, and whose it is: a packet of n beats that is offered in cycle t has its HER in
    t + 2n + 1, if nobody stalls."""
    before = [int(row["her_ns"]) - 2 * -(-len(frame) // LINE) for row, frame in zip(lines, frames, strict=True)]
    begin = min(before)
    return [
        (
            *(at - begin, numbers[row["context"]], int(row["message"])),
            *(int(row["end_of_message"]), frame),
        )
        for at, row, frame in zip(before, lines, frames, strict=True)
    ]


def compare(pinion, nic, case, sizes, folder):
    """Compares one application; gives cycles that packets are off, the number of those that leave, and cycles a second."""
    clusters, cores = sizes
    machine = [f"cluster.count={clusters}", f"cluster.cores={cores}", *SETTINGS]
    elf, contexts, lines, frames, expected = model_runs(pinion, case, machine, folder)
    program, name = Program(elf), case.name
    words = list(context_words(program, contexts))
    numbers = {context["name"]: number for number, context in enumerate(contexts)}
    given = offers(lines, frames, numbers)
    images = []
    for context, (*_, memory, _, high, low, _, _, _, _) in zip(contexts, words, strict=True):
        if "handler_memory_image" in context:
            program.segments.append((memory, (case.app / context["handler_memory_image"]).read_bytes()))
        if "host_memory_image" in context:
            images.append((high << 32 | low, (case.app / context["host_memory_image"]).read_bytes()))
    hers, ends, sent, host, (ran, seconds) = nic_runs(nic, folder / "image", program, words, given, images, traps=bool(case.elf))
    check(len(ends) == len(lines), f"{name}: {len(ends)} packets are done, in the model {len(lines)}")
    check(len(sent) == len(expected), f"{name}: {len(sent)} packets leave, in the model {len(expected)}")
    pairs = zip(*(map(sorted, (sent, expected)) if case.races else (sent, expected)), strict=True)
    for number, (frame, other) in enumerate(pairs):
        check(frame == other, f"{name}: packet {number} that leaves is\n{frame.hex()}\nin the model\n{other.hex()}")
    for context, (*_, high, low, _, _, _, _) in zip(contexts, words, strict=True):
        if context.get("host_memory") and not case.races:
            compare_host(name, host, high << 32 | low, (folder / f"{context['name']}.bin").read_bytes())
    off = Counter()
    for number, line in enumerate(lines):
        model = int(line["completion_ns"]) - int(line["her_ns"])
        off[ends[number] - hers[number] - model] += 1
        if case.show:
            late = hers[number] - hers[0] - int(line["her_ns"]) + int(lines[0]["her_ns"])
            print(
                f"     packet {number}: HER in cycle {line['her_ns']} ({late:+} in the NIC), done {model} later "
                f"({ends[number] - hers[number] - model:+})"
            )
    return off, len(sent), ran / seconds


def check_case(pinion, nic, case, sizes, folder):
    """Compares one application or row; gives its packets, those within a cycle, and a line of the table."""
    off, sent, speed = compare(pinion, nic, case, sizes, folder)
    worst, packets = max(map(abs, off)), off.total()
    within = sum(off[by] for by in (-1, 0, 1))
    if case.elf is None:
        check(worst <= case.most, f"{case.name}: cycles differ by (cycles, packets) {sorted(off.items())}")
    return packets, within, (
        f"{case.name} on {sizes[0]}x{sizes[1]}: {packets} packets, {sent} leave, all bytes equal; {off[0]} in the same "
        f"cycles, {within - off[0]} one off, at most {worst}; {speed:.0f} cycles a second"
    )


def compare_host(name, host, base, expected):
    """Fails where host memory differs."""
    for at in range(0, len(expected), 64):
        found, other = host.get(base + at, bytes(64)), expected[at : at + 64]
        check(found[: len(other)] == other, f"{name}: host memory at {at:#x} is {found.hex()}, in the model {other.hex()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", type=Path, default=REPOSITORY / "target/debug/pinion", metavar="FILE")
    parser.add_argument("--clusters", type=int, default=1, metavar="N")
    parser.add_argument("--cores", type=int, default=2, metavar="N")
    parser.add_argument("--program", type=Path, metavar="FILE")
    parser.add_argument("--rows", action="store_true", help="of the calibration, not applications")
    parser.add_argument("--show", action="store_true", help="each packet")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    unit = tomllib.loads((HARDWARE / "units.toml").read_text())[NAME]
    sizes = (arguments.clusters, arguments.cores)
    total, good, failed = 0, 0, 0
    misses = set(MISSES.read_text().split()) if arguments.rows else set()
    try:
        with scratch() as made, tempfile.TemporaryDirectory() as runs:
            nic = arguments.program or compile_nic(unit, Path(made), *sizes)
            for case in (rows_of if arguments.rows else apps)(Path(runs), arguments.names, sizes):
                folder = Path(runs) / f"{case.name}-runs"
                folder.mkdir()
                case.show = arguments.show
                packets, within, line = check_case(arguments.pinion, nic, case, sizes, folder)
                total, good = total + packets, good + within
                is_well = case.elf is None or (within == packets) == (case.name not in misses)
                failed += not is_well
                mark = ("ok  " if case.name not in misses else "miss") if is_well else "FAIL"
                print(f"{mark} {line}", flush=True)
    except Skip as reason:
        print(f"skip {NAME}: {reason}")
    except (Difference, OSError) as problem:
        print(f"FAIL {NAME}: {problem}")
        return 1
    print(f"{good} of {total} packets are within one cycle of the model")
    return 1 if failed else 0


def apps(_, names, __):
    """The applications of these names, or all of APPS."""
    for name in names or APPS:
        capture, most = APPS[name]
        yield Case(name, REPOSITORY / "examples" / name, capture, PACE, most)


def rows_of(folder, names, sizes):
    """The calibration's rows of these names, or all that the size allows."""
    for group, row in rows.names(QUEUES, sizes[0]):
        name = row["row"]
        if names and name not in names:
            continue
        app = folder / name
        app.mkdir()
        elf = rows.write(group, row, app)
        yield Case(name, app, rows.CAPTURE, "recorded", 1, elf, row["scenario"].startswith(rows.RACES))


if __name__ == "__main__":
    sys.exit(main())
