#!/usr/bin/env python3
"""Runs the nanoPU's NIC in SystemVerilog, hardware/rtl/nanopu/nanopu_nic.sv, beside the model.

    python3 tests/hardware/nanopu_nic.py [--pinion FILE] [--harts N] [--messages N] [--gap CYCLES] [--seed N]
        [--p4 NAME] [--threads N] [--program FILE]

The model's harts stand at the NIC's interface for cores: messages of random lengths, of one and two packets, come to
examples/nanopu_echo, and what `pinion trace` tells of its reads of x30, its writes of x31 and of registers goes into
the Verilated NIC in those cycles, as do the frames, acknowledgements included. Compared are the cycle in which each word
enters the hart's queue, and each frame that leaves, byte by byte, with the cycles of its first and its last flit. A
byte that differs is an error, and so is a frame or word that is more than a cycle off. With --p4, transport and NIC have
the pipelines of these programs of sdk/p4 instead of the fixed NDP. --threads lets Verilator divide the NIC among so many
threads. --program takes a NIC that was compiled before. Exit status 0 when all is well.
"""

import argparse
import csv
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
import checks  # noqa: E402
from common import REPOSITORY, Difference, Skip, check  # noqa: E402
from tools import HARDWARE, RTL, need, scratch, verilate  # noqa: E402

NAME = "nanopu_nic"
PATIENCE = 7200
# The NIC's sizes, and what the model is told so that it has them.
PARAMETERS = {"SMALL_COUNT": 8, "LARGE_COUNT": 8, "GLOBAL_WORDS": 64}
BUFFERS = "[{ bytes = 1024, count = 8 }, { bytes = 2048, count = 8 }]"
SETTINGS = (f"receive.reassembly.buffers={BUFFERS}", f"transmit.buffers={BUFFERS}", "transmit.message_ids=16")
APP = "examples/nanopu_echo"
# With it the NIC has pipelines of P4.
P4_MACRO = "P4_TRANSPORT"
# By transport of sdk/p4: what of the NIC is as its programs say.
TRANSPORTS = {"ndp": {}, "credit": {"UNASKED": 1}, "dctcp": {"UNASKED": 1}}
PEER, NODE = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PEER_MAC, NODE_MAC = bytes.fromhex("085566778808"), bytes.fromhex("081122334408")
PACKET_BYTES, DATA = 1024, 1
# The protocol's number in frames, and what switches may have written into `tos` of data (RFC 3168): capable, marked.
PROTOCOLS = {"dctcp": 0xFE}
NDP = 0x99
MARKS = {"dctcp": (2, 3)}
FLAGS = {"DATA": 1, "ACK": 2, "NACK": 4, "PULL": 8, "CHOP": 16}
# A cycle in picoseconds, and when the first message comes: the program has started.
CYCLE_PS, BEGIN = 312.5, 20_000
# The example's begin, and that of a program that all harts run.
MAIN = "int main(void)\n{\n"
CORE_MAIN = (
    "bool is_single_core(void)\n{\n\treturn false;\n}\n\n"
    "int core_main(int argc, char **argv, int cid, int nc)\n{\n\t(void)argc, (void)argv, (void)cid, (void)nc;\n"
)
# Registers of the network: the context, its priority, bind; message done.
CONTEXT, PRIORITY, COMMAND, USER_COMMAND = 0x53, 0x55, 0x54, 0x56
LINE = re.compile(r"\s*(\d+)\s+\S+ ns\s+hart (\d+)\s+(x30 read|x31 written|done with|a word entered)")


def header(kind, contexts, lengths, ids):
    """The 64 bytes of headers of a frame from the peer, of a kind (protocol, tos, flags), for so many bytes of payload."""
    (protocol, tos, flags), (message_bytes, payload_bytes), (packet, pull, number) = kind, lengths, ids
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, tos, 50 + payload_bytes, 1, 0, 64, protocol, 0, PEER, NODE)
    transport = struct.pack(">BHHHBHHHB", flags, *contexts, message_bytes, packet, pull, number, 0, 0)
    return NODE_MAC + PEER_MAC + b"\x08\x00" + ip + transport.ljust(30, b"\0")


def messages(count, gap, draw, transport):
    """Frames of random messages with the cycle in which each may come."""
    at, protocol, marks = BEGIN, PROTOCOLS.get(transport, NDP), MARKS.get(transport)
    for number in range(count):
        length = draw.choice([8, draw.randrange(1, 64), draw.randrange(64, 1024), draw.randrange(1024, 2049)])
        payload = draw.randbytes(length)
        for packet in range(0, length, PACKET_BYTES):
            part = payload[packet : packet + PACKET_BYTES]
            place = (packet // PACKET_BYTES, 0, number % 128)
            tos = draw.choice(marks) if marks else 0
            head = header((protocol, tos, DATA), (0, 0), (length, len(part)), place)
            yield at, head + part
            at += (len(head + part) + 7) // 8
        at += int(draw.expovariate(1 / gap))


def write_capture(path, frames):
    """Writes frames with their times in nanoseconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for at, frame in frames:
            ns = int(at * CYCLE_PS / 1000)
            file.write(struct.pack("<IIII", ns // 10**9, ns % 10**9, len(frame), len(frame)) + frame)


def read_capture(path):
    """The frames of a capture that the model wrote."""
    data, at, frames = path.read_bytes(), 24, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frames.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return frames


def app(harts, folder):
    """The example, for so many harts; the NIC has two at least, of which then one is idle."""
    made = folder / "echo"
    made.mkdir(exist_ok=True)
    text = (REPOSITORY / APP / "echo.c").read_text()
    check(MAIN in text, f"{APP}/echo.c has another main")
    (made / "echo.c").write_text(text.replace(MAIN, CORE_MAIN))
    manifest = f'[app]\nname = "echo"\nsources = ["echo.c"]\n\n[nanoservice]\nharts = {harts}\n'
    (made / "app.toml").write_text(manifest)
    return made


def programs(transport):
    """The two programs of a transport."""
    return [f"sdk/p4/{transport}/{way}.p4" for way in ("ingress", "egress")]


def run_model(arguments, frames, folder):
    """Runs the model; gives its trace, its frames as rows, and the bytes of those that left."""
    write_capture(folder / "in.pcap", frames)
    settings = list(SETTINGS)
    if arguments.p4:
        ingress, egress = programs(arguments.p4)
        settings += ["transport.kind=p4", f"transport.ingress={ingress}", f"transport.egress={egress}"]
    settings = [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(
        [
            *(arguments.pinion, "trace", app(arguments.harts, folder), "--faithful", "--pcap-in", folder / "in.pcap"),
            *("--no-instructions", "--packets", folder / "frames.csv", "--pcap-out", folder / "out.pcap"),
            *("--out", folder / "trace.txt", "--build-dir", folder / "build", *settings),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"pinion ended with {done.returncode}: {done.stderr[-2000:]}")
    rows = list(csv.DictReader((folder / "frames.csv").open()))
    return folder / "trace.txt", rows, read_capture(folder / "out.pcap")


def came(rows, frames, transport):
    """Frames that came, each with its cycle: data as it was made, control frames by what their rows say."""
    protocol = PROTOCOLS.get(transport, NDP)
    data = {(frame[44:46], frame[41]): [] for _, frame in frames}
    for _, frame in frames:
        data[frame[44:46], frame[41]].append(frame)
    for row in rows:
        if row["direction"] != "in":
            continue
        flags = sum(FLAGS[flag] for flag in row["flags"].split("+"))
        number, packet = int(row["tx_msg_id"]), int(row["pkt_offset"])
        if flags & DATA:
            frame = data[struct.pack(">H", number), packet].pop(0)
        else:
            contexts = int(row["src_context"]), int(row["dst_context"])
            place = packet, int(row["pull_offset"]), number
            head = header((protocol, 0, flags), contexts, (int(row["msg_len"]), 64), place)
            frame = head + bytes(64)
        yield int(row["first_flit_cycle"]), frame


def acts(trace):
    """What the harts did, by cycle, and the cycle in which each word entered a queue."""
    did, entered = [], []
    with trace.open() as lines:
        for line in lines:
            if found := LINE.match(line):
                at, hart, what = int(found[1]), int(found[2]), found[3]
                if what == "a word entered":
                    entered.append((at, hart))
                elif what == "x30 read":
                    did.append((at, f"R {{}} {hart}"))
                elif what == "x31 written":
                    did.append((at, f"W {{}} {hart}"))
                else:
                    did.append((at, f"C {{}} {hart} {USER_COMMAND} 1"))
    return did, entered


def pipelines(pinion, transport, folder):
    """The pipelines of a transport's programs, and what puts them in their place in the NIC."""
    made = folder / "p4"
    for name in programs(transport):
        done = subprocess.run(
            [pinion, "p4", "hardware", name, "--nic", "--out", made],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        check(done.returncode == 0, f"pinion p4 hardware ended with {done.returncode}: {done.stderr[-2000:]}")
    return [*sorted(made.glob("*.sv")), RTL / "nanopu/p4_ingress.sv", RTL / "nanopu/p4_egress.sv"]


def nic_unit():
    """What hardware/units.toml says of the NIC."""
    return tomllib.loads((HARDWARE / "units.toml").read_text())[NAME]


def check_lint(pinion, transport, folder):
    """All tools take the NIC with a transport's pipelines without a warning."""
    checks.check_lint(NAME, nic_unit(), folder, pipelines(pinion, transport, folder), [P4_MACRO])


def program(arguments, folder):
    """The NIC, compiled."""
    need("verilator")
    harts, transport = max(arguments.harts, 2), arguments.p4
    parameters = {"HARTS": harts, **PARAMETERS, **TRANSPORTS.get(transport, {})}
    more = [] if transport is None else [f"-D{P4_MACRO}", *pipelines(arguments.pinion, transport, folder)]
    return verilate(
        *(folder / "made", folder / NAME, "-O3", "--top-module", NAME, "-fno-inline"),
        *("--threads", str(arguments.threads), "-CFLAGS", f"-DNIC_HARTS={harts}", "-MAKEFLAGS", "OPT_FAST=-O1", "-MAKEFLAGS", "OPT_SLOW=-O0"),
        *(f"-G{key}={value}" for key, value in parameters.items()),
        *(*more, *checks.sources(nic_unit())),
        FOLDER / "nanopu_nic.cpp",
        limit=PATIENCE,
    )


def run_nic(nic, stimulus, cycles, folder):
    """Runs the NIC; gives the words that entered, and the frames that left."""
    lines = folder / "stimulus"
    lines.write_text("\n".join(line.format(at) for at, line in stimulus) + "\n")
    done = subprocess.run(
        [nic, lines, str(cycles)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    entered, left = [], []
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        if kind == "E":
            entered.append((int(words[0]), int(words[1])))
        elif kind == "O":
            left.append((int(words[0]), int(words[1]), bytes.fromhex(words[2])))
        else:
            raise Difference(f"the NIC in SystemVerilog: {line}")
    check(done.returncode == 0, f"the NIC ended with {done.returncode}: {done.stderr[-1000:]}")
    return entered, left


def compare(found, expected, what):
    """How far each is off, in cycles, which may be one."""
    off = Counter()
    for number, (own, model) in enumerate(zip(found, expected)):
        off[max(abs(a - b) for a, b in zip(own, model))] += 1
        check(max(off) <= 1, f"{what} {number}: in cycles {own}, the model's {model}")
    check(len(found) == len(expected), f"{len(found)} of {what}s, the model has {len(expected)}")
    return off


def run(arguments, folder):
    """Runs both and compares them."""
    harts = arguments.harts
    nic = arguments.program or program(arguments, folder)
    frames = list(messages(arguments.messages, arguments.gap, random.Random(arguments.seed), arguments.p4))
    trace, rows, sent = run_model(arguments, frames, folder)
    did, entered = acts(trace)
    base = BEGIN - 500
    stimulus = [(at - base, f"F {{}} {frame.hex()}") for at, frame in came(rows, frames, arguments.p4)]
    stimulus += [(at - base, line) for at, line in did]
    # The context is bound, long before.
    binds = ((CONTEXT, 0), (PRIORITY, 0), (COMMAND, 1))
    for hart in range(harts):
        stimulus += [(10 + at, f"C {{}} {hart} {csr} {value}") for at, (csr, value) in enumerate(binds)]
    leaving = [row for row in rows if row["direction"] == "out"]
    last = max(int(row["last_flit_cycle"]) for row in rows) + 1000 - base
    began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    own_entered, left = run_nic(nic, sorted(stimulus, key=lambda act: act[0]), last, folder)
    spent, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
    for number, ((_, _, own), model) in enumerate(zip(left, sent)):
        check(own == model, f"frame {number} that leaves is {own.hex()}, the model's {model.hex()}")
    # Of each hart they are in order.
    words = compare(
        sorted(own_entered, key=lambda word: word[::-1]),
        sorted([(at - base, hart) for at, hart in entered], key=lambda word: word[::-1]),
        "word",
    )
    cycles = [(int(row["first_flit_cycle"]) - base, int(row["last_flit_cycle"]) - base) for row in leaving]
    off = compare([one[:2] for one in left], cycles, "frame")
    packets = sum(row["direction"] == "in" for row in rows)
    print(
        f"ok   {packets} frames in, {len(left)} out, {off[1]} of them a cycle off; {sum(words.values())} words in "
        f"harts' queues, {words[1]} of them a cycle off; {last} cycles, {last / spent:.0f} in a second, "
        f"{last / worked:.0f} in a second of the processor's"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", default=REPOSITORY / "target/debug/pinion", metavar="FILE")
    parser.add_argument("--harts", type=int, default=4, metavar="N")
    parser.add_argument("--messages", type=int, default=1000, metavar="N")
    parser.add_argument("--gap", type=int, default=400, metavar="CYCLES", help="mean, between messages")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--p4", choices=sorted(TRANSPORTS), metavar="NAME", help="pipelines of these programs of sdk/p4")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="of Verilator")
    parser.add_argument("--program", type=Path, metavar="FILE")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave what was made there")
    arguments = parser.parse_args()
    try:
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            run(arguments, arguments.keep.resolve())
        else:
            with scratch() as made, tempfile.TemporaryDirectory():
                run(arguments, Path(made))
    except Skip as reason:
        print(f"skip {NAME}: {reason}")
    except (Difference, OSError) as problem:
        print(f"FAIL {NAME}: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
