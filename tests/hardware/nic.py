#!/usr/bin/env python3
"""Boots SDK applications on the NIC in SystemVerilog, hardware/rtl/spin/spin_nic.sv, and compares what comes of their
packets with the model's.

    python3 tests/hardware/nic.py [--pinion FILE] [--clusters N] [--cores N] [--program FILE] [APP]...

The ELF is the one that `pinion run` runs. Compared are the packets that leave, byte by byte and in order, host memory,
and each packet's cycles from HER to completion; the table says how many differ, and by how much. Bytes that differ, or
a packet that differs by more than APPS allows, is an error. --program takes a NIC that was compiled before. Exit status 0
when all is well.
"""

import argparse
import csv
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
from core import Program  # noqa: E402
from tools import HARDWARE, RTL, call, need, scratch  # noqa: E402

NAME = "spin_nic"
# Where the first context's handler memory and host memory are, and all bytes of a packet.
HANDLER_MEMORY, HOST_MEMORY, ALL = 0x1C300000, 1 << 60, 0xFFFFFFFF
# Cycles from reset until all cores wait for tasks.
BOOT_CYCLES = 6000
PATIENCE = 3600
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
    "filter": ("traffic.pcap", 4),
    "histogram": ("traffic.pcap", 3),
    "kvstore": ("traffic.pcap", 12),
    "aggregate": ("traffic.pcap", 45),
    "reduce": ("traffic.pcap", 11),
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


def model_runs(pinion, app, capture, machine, folder):
    """Runs an application in the model; gives its ELF, what came of each packet, frames that had a context, and those
    that left."""
    sent, unmatched, packets = folder / "out.pcap", folder / "unmatched.pcap", folder / "packets.csv"
    settings = [option for setting in machine for option in ("--set", setting)]
    contexts = tomllib.loads((app / "app.toml").read_text())["context"]
    with_host = [one["name"] for one in contexts if one.get("host_memory")]
    dumps = [option for name in with_host for option in ("--host-dump", f"{name}={folder / name}.bin")]
    done = subprocess.run(
        [
            *(pinion, "run", app, "--quiet", "--pcap-in", app / capture, "--pace", PACE, *settings, *dumps),
            *("--pcap-out", sent, "--unmatched-out", unmatched, "--packets", packets),
            *("--build-dir", folder / "build"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"pinion ended with {done.returncode}: {done.stderr[-2000:]}")
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
    elf = next((folder / "build").glob("**/*.elf"))
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


def nic_runs(nic, folder, program, contexts, packets, images):
    """Runs the NIC; packets are (cycle, context, message, end, frame), images what is in host memory. Gives cycles of HERs
    and completions, frames that left, host memory by line, cycles and seconds."""
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
        elif kind == "ran":
            ran = (int(said[0]), float(said[1]))
        else:
            raise Difference(f"the NIC says: {line}")
    return hers, ends, sent, host, ran


def check_app(pinion, nic, name, sizes, folder):
    """Compares one application; gives a line of the table."""
    app, (capture, most) = REPOSITORY / "examples" / name, APPS[name]
    clusters, cores = sizes
    machine = [f"cluster.count={clusters}", f"cluster.cores={cores}", *SETTINGS]
    elf, contexts, rows, frames, expected = model_runs(pinion, app, capture, machine, folder)
    program = Program(elf)
    words = list(context_words(program, contexts))
    begin = int(rows[0]["arrival_ns"])
    numbers = {context["name"]: number for number, context in enumerate(contexts)}
    given = [
        (
            *(int(row["arrival_ns"]) - begin, numbers[row["context"]], int(row["message"])),
            *(int(row["end_of_message"]), frame),
        )
        for row, frame in zip(rows, frames, strict=True)
    ]
    images = []
    for context, (*_, memory, _, high, low, _, _, _, _) in zip(contexts, words, strict=True):
        if "handler_memory_image" in context:
            program.segments.append((memory, (app / context["handler_memory_image"]).read_bytes()))
        if "host_memory_image" in context:
            images.append((high << 32 | low, (app / context["host_memory_image"]).read_bytes()))
    hers, ends, sent, host, (ran, seconds) = nic_runs(nic, folder / "image", program, words, given, images)
    check(len(ends) == len(rows), f"{name}: {len(ends)} packets are done, in the model {len(rows)}")
    check(len(sent) == len(expected), f"{name}: {len(sent)} packets leave, in the model {len(expected)}")
    for number, (frame, other) in enumerate(zip(sent, expected, strict=True)):
        check(frame == other, f"{name}: packet {number} that leaves is\n{frame.hex()}\nin the model\n{other.hex()}")
    for context, (*_, high, low, _, _, _, _) in zip(contexts, words, strict=True):
        if context.get("host_memory"):
            compare_host(name, host, high << 32 | low, (folder / f"{context['name']}.bin").read_bytes())
    off = Counter()
    for number, row in enumerate(rows):
        model = int(row["completion_ns"]) - int(row["her_ns"])
        off[ends[number] - hers[number] - model] += 1
    worst = max(map(abs, off))
    check(worst <= most, f"{name}: cycles differ from the model's by (cycles, packets) {sorted(off.items())}")
    return (
        f"{name} on {clusters}x{cores}: {len(rows)} packets, {len(sent)} leave, all bytes equal; "
        f"{off[0]} in the same cycles, {off[-1] + off[1]} one off, at most {worst}; {ran / seconds:.0f} cycles a second"
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
    parser.add_argument("apps", nargs="*", metavar="APP")
    arguments = parser.parse_args()
    unit = tomllib.loads((HARDWARE / "units.toml").read_text())[NAME]
    sizes = (arguments.clusters, arguments.cores)
    try:
        with scratch() as made, tempfile.TemporaryDirectory() as runs:
            nic = arguments.program or compile_nic(unit, Path(made), *sizes)
            for name in arguments.apps or APPS:
                folder = Path(runs) / name
                folder.mkdir()
                print(f"ok   {check_app(arguments.pinion, nic, name, sizes, folder)}", flush=True)
    except Skip as reason:
        print(f"skip {NAME}: {reason}")
    except (Difference, OSError) as problem:
        print(f"FAIL {NAME}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
