#!/usr/bin/env python3
"""Runs every example on the simulated NIC and on the native engine, and compares what came out.

    python3 tests/native/run.py [--pinion PATH] [--workers N]... [FOLDER]...

The packets sent are compared without regard to their order, which several cores or threads decide;
host memory byte by byte, or slot by slot where an application deals slots out in the order of
arrival at its counter. Then handlers that crash, each with the fault it must be reported with.
Exit status 0 when all is as it must be.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
from common import find_pinion  # noqa: E402

sys.path.insert(0, str(REPOSITORY / "tests/examples"))
from run import Difference, read_frames  # noqa: E402

SECONDS = 300
WORKERS = [1, 4]
# Applications whose host memory depends on the order of packets, which several cores or threads
# decide: offset and bytes of a slot, and the part of it that any order must give.
# `to_host` deals slots out in the order its counter is read: sorted, without the sequence number.
# `filter` keeps the last packet of the rules that share a slot: there must be one, or none.
DEALT_OUT = {"to_host": (0, 2048, slice(4, None))}
LAST_ONE = {"filter": (4096, 1024, slice(0, 16))}
# Applications that decide by what came before: which packets are sent depends on the order, too. A
# capture leaves enough time between packets for one worker to see them in the NIC's order.
HISTORY = {"kvstore", "slmp"}
# What an application has that the native engine does not promise: protection between contexts.
NOT_PROMISED = {"multi_tenant"}
# What fails on the default machine on purpose, for want of Xpulp, which is a matter of the cores.
NEEDS_XPULP = {"energy"}

# Per context of crash/: packets, port offset, and the fault every one of them must give.
CRASHES = [
    ("good", 64, None),
    ("null_load", 8, ("exception", 5)),
    ("wild_store", 8, ("exception", 7)),
    ("wild_copy", 8, ("exception", 7)),
    ("wild_jump", 8, ("exception", 1)),
    ("division", 8, ("exception", 26)),
    ("illegal", 8, ("exception", 2)),
    ("assertion", 8, ("exception", 3)),
    ("overrun", 8, ("exception", 7)),
    ("endless", 1, ("watchdog", 1_000_000)),
    ("endless_printing", 1, ("watchdog", 1_000_000)),
]
EXIT_HANDLERS_FAILED = 3
# Per context of calls/: the number of the call that it is stopped at.
CALLS = [("open", 2), ("write", 1), ("socket", 41), ("fork", 57), ("exit", 231), ("old_door", 5)]
SYSTEM_CALL_CAUSE = 27

# What math/ prints: function, result in double and in single precision, in 1/1000; 9999 is no number.
MATH = """\
floor -2000 -2000
ceil -1000 -1000
trunc -1000 -1000
round -2000 -2000
fmod 500 500
sqrt 1414 1414
sqrt of less 9999 9999
fabs 1500 1500
copysign -2000 -2000
fmin -1500 -1500
fmax 2000 2000"""


def execute(pinion, folder, options, out, status):
    """Runs once; gives the summary and what was printed."""
    summary = out / "summary.json"
    command = [pinion, "run", folder, "--quiet", "--json", summary, *options]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode != status:
        raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(summary.read_text()), done.stdout


def any_order(memory, name, packets):
    """Host memory in a form that does not depend on the order of packets."""
    offset, size, part = {**DEALT_OUT, **LAST_ONE}.get(name, (0, len(memory), slice(None)))
    slots = [memory[at : at + size][part] for at in range(offset, len(memory), size)]
    if name in DEALT_OUT:
        # Once all slots are used, order decides which packets are left.
        return sorted(slots) if packets <= len(slots) else None
    return [memory[:offset], *slots] if name in LAST_ONE else memory


def outcome(pinion, folder, source, engine, contexts, status):
    """What an application does with packets: those sent, those left over, and host memory."""
    with tempfile.TemporaryDirectory(prefix="pinion-native-") as name:
        out = Path(name)
        options = [*source, *engine, "--pcap-out", out / "out.pcap"]
        options += ["--unmatched-out", out / "unmatched.pcap"]
        for context in contexts:
            options += ["--host-dump", f"{context}={out / context}"]
        summary, _ = execute(pinion, folder, options, out, status)
        packets = summary["packets"]
        return {
            "packets sent": sorted(read_frames(out / "out.pcap")),
            "unmatched packets": read_frames(out / "unmatched.pcap"),
            "counters": {key: packets[key] for key in ("in", "matched", "processed", "resident")},
            "dropped": packets["dropped"],
            **{
                f"host memory of {context}": (out / context).read_bytes() for context in contexts
            },
        }


def compare(wanted, found, name, workers, is_capture):
    for what in wanted:
        if wanted[what] == found[what]:
            continue
        packets = wanted["counters"]["in"]
        is_decided = what == "packets sent" or what.startswith("host memory")
        if name in HISTORY and is_decided and (workers > 1 or not is_capture):
            continue
        if what.startswith("host memory") and (workers > 1 or name in DEALT_OUT):
            if any_order(wanted[what], name, packets) == any_order(found[what], name, packets):
                continue
        if what.startswith("host memory"):
            pairs = enumerate(zip(wanted[what], found[what]))
            at = next((i for i, (a, b) in pairs if a != b), min(len(wanted[what]), len(found[what])))
            raise Difference(
                f"{what} differs at {at:#x}: {found[what][at:at + 16].hex()}, the NIC has "
                f"{wanted[what][at:at + 16].hex()}"
            )
        if what == "packets sent":
            missing = [f for f in wanted[what] if f not in found[what]]
            raise Difference(
                f"{what}: {len(found[what])}, the NIC sends {len(wanted[what])}; "
                f"{len(missing)} missing, first {missing[0].hex() if missing else '-'}"
            )
        raise Difference(f"{what}: {found[what]}, on the NIC {wanted[what]}")


def sources_of(folder, manifest):
    """The packets to run an example on: its captures, and its standard traffic."""
    sources = []
    if (folder / "expect.toml").exists():
        runs = tomllib.loads((folder / "expect.toml").read_text())["run"]
        for run in runs:
            if not run.get("options"):
                status = run.get("exit_status", 0)
                source = ["--pcap-in", folder / run["input"]] if "input" in run else []
                sources.append((run.get("input", "its own traffic"), source, status))
    if "traffic" in manifest and all(source for _, source, _ in sources):
        sources.append(("its own traffic", [], 0))
    return sources


@contextlib.contextmanager
def case(title, failed):
    """A case: says whether what is done in it went well, and puts it among those that failed if not."""
    try:
        yield
        print(f"ok   {title}", flush=True)
    except (Difference, OSError, subprocess.TimeoutExpired) as problem:
        failed.append(title)
        print(f"FAIL {title}: {problem}", flush=True)


def test_example(pinion, folder, workers):
    """Compares both engines on an example; gives the number of failures."""
    manifest = tomllib.loads((folder / "app.toml").read_text())
    contexts = [context["name"] for context in manifest.get("context", [])]
    if not contexts or folder.name in NOT_PROMISED | NEEDS_XPULP:
        return 0
    with_memory = [
        context["name"] for context in manifest["context"] if context.get("host_memory", 1) != 0
    ]
    failed = []
    for title, source, status in sources_of(folder, manifest):
        try:
            wanted = outcome(pinion, folder, source, [], with_memory, status)
        except (Difference, OSError, subprocess.TimeoutExpired) as problem:
            failed.append(title)
            print(f"FAIL {folder.name} {title}, on the simulated NIC: {problem}")
            continue
        for count in workers:
            name = f"{folder.name} {title}, {count} worker{'s' * (count > 1)}"
            engine = ["--engine", "native", "--workers", count]
            with case(name, failed):
                found = outcome(pinion, folder, source, engine, with_memory, status)
                compare(wanted, found, folder.name, count, bool(source))
    return len(failed)


def crash_once(pinion, folder, out, name, count, port, fault, workers):
    """Runs one handler that goes wrong."""
    spec = f"udp,size=128,count={count},messages={count},dport={port}"
    engine = ["--engine", "native", "--workers", workers]
    options = [*engine, "--generate", spec, "--pcap-out", out / "out.pcap"]
    status = EXIT_HANDLERS_FAILED if fault else 0
    summary, printed = execute(pinion, folder, options, out, status)
    packets = summary["packets"]
    if (packets["in"], packets["processed"], packets["resident"]) != (count, count, 0):
        raise Difference(f"packets {packets}")
    sent = count if not fault or fault[0] == "bad_command" else 0
    if packets["out"] != sent or "not reached" in printed or "initialised" not in printed:
        raise Difference(f"{packets['out']} packets out, printed {printed}")
    faults = [(found["kind"], found["cause"]) for found in summary["faults"]]
    if any(found != fault for found in faults) or bool(faults) != bool(fault):
        raise Difference(f"faults {faults}, wanted {fault}")
    wanted_errors = 0 if not fault else count
    if packets["handler_errors"] != wanted_errors:
        raise Difference(f"{packets['handler_errors']} handler errors, wanted {wanted_errors}")
    places = {found["place"] for found in summary["faults"] if found["pc"]}
    known = ("wild_jump", "overrun", "assertion", "endless", "endless_printing")
    if fault and name not in known and not all(f"{name}_ph" in str(place) for place in places):
        raise Difference(f"the faults lie in {places}")


def test_crashes(pinion, workers):
    """Runs every handler that goes wrong; gives the number of failures."""
    folder, failed = Path(__file__).resolve().parent / "crash", []
    for workers_now in workers:
        for index, (name, count, fault) in enumerate(CRASHES):
            title = f"crash {name}, {workers_now} worker{'s' * (workers_now > 1)}"
            with case(title, failed), tempfile.TemporaryDirectory(prefix="pinion-native-") as out:
                port = 9500 + index
                crash_once(pinion, folder, Path(out), name, count, port, fault, workers_now)
    return len(failed)


def call_once(pinion, folder, out, port, number, workers, more):
    """Runs one handler that calls the kernel."""
    spec = f"udp,size=128,count=3,messages=3,dport={port}"
    options = ["--engine", "native", "--workers", workers, "--generate", spec, *more]
    summary, printed = execute(pinion, folder, options, out, EXIT_HANDLERS_FAILED)
    packets = summary["packets"]
    if (packets["processed"], packets["handler_errors"]) != (3, 3) or "not reached" in printed:
        raise Difference(f"packets {packets}, printed {printed}")
    for found in summary["faults"]:
        if (found["cause"], found["wrong"]) != (SYSTEM_CALL_CAUSE, "system_call"):
            raise Difference(f"fault {found['cause']}, {found['wrong']}")
        if f"number {number}" not in found["words"]:
            raise Difference(f"it says {found['words']}, of call {number}")


def test_calls(pinion, workers):
    """Runs handlers that call the kernel, trusted or not; gives the number of failures."""
    folder, failed = Path(__file__).resolve().parent / "calls", []
    for workers_now in workers:
        for index, (name, number) in enumerate(CALLS):
            more = ["--untrusted"] if index % 2 else []
            title = f"system call {name}, {workers_now} worker{'s' * (workers_now > 1)}"
            with case(title, failed), tempfile.TemporaryDirectory(prefix="pinion-native-") as out:
                port = 9500 + index
                call_once(pinion, folder, Path(out), port, number, workers_now, more)
                if next(Path.cwd().glob("touched"), None):
                    raise Difference("it made a file")
    return len(failed)


def test_wreck(pinion):
    """Runs a handler that destroys its own process; gives the number of failures."""
    folder = Path(__file__).resolve().parent / "calls"
    words = ["run", folder, "--engine", "native", "--generate", "udp,count=9,dport=9506"]
    done = subprocess.run(
        [str(part) for part in [pinion, *words]], capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode != 2 or "the process that handlers run in has ended" not in done.stderr:
        print(f"FAIL a handler that wrecks its worker: {done.returncode}, {done.stderr}", flush=True)
        return 1
    print("ok   a handler that wrecks its worker", flush=True)
    return 0


def test_crowd(pinion):
    """As many workers as there can be live behind their walls; gives the number of failures."""
    larger = ["--set", "cluster.count=8", "--set", "cluster.cores=16"]
    folder, failed = REPOSITORY / "examples/empty", []
    for count, more in [(8, []), (32, []), (64, larger), (128, larger)]:
        options = ["--engine", "native", "--workers", count, *more, "--generate", "udp,count=2000"]
        title = f"{count} workers"
        with case(title, failed), tempfile.TemporaryDirectory(prefix="pinion-native-") as out:
            summary, _ = execute(pinion, folder, options, Path(out), 0)
            if summary["packets"]["processed"] != 2000:
                raise Difference(f"packets {summary['packets']}")
    return len(failed)


def test_math(pinion):
    """What math.h gives must be the same on both engines; gives the number of failures."""
    folder = Path(__file__).resolve().parent / "math"
    wanted = MATH.split("\n")
    failed = []
    for engine in ("simulator", "native"):
        options = ["--engine", engine, "--generate", "udp,count=1"]
        title = f"math, {engine}"
        with case(title, failed), tempfile.TemporaryDirectory(prefix="pinion-native-") as out:
            _, printed = execute(pinion, folder, options, Path(out), 0)
            found = [line.split("] ")[1] for line in printed.splitlines() if line[:1] == "["]
            if found != wanted:
                raise Difference(f"printed {found}, wanted {wanted}")
    return len(failed)


def refusals(pinion):
    """Options without meaning for the native engine are refused by name."""
    folder, failures = REPOSITORY / "examples/icmp_echo", 0
    native = ["--engine", "native", "--pcap-in", folder / "ping.pcap"]
    for options, part in [
        ([*native, "--faithful"], "--faithful"),
        ([*native, "--set", "core.load_use_cycles=3"], "core.load_use_cycles"),
        ([*native, "--pace", "100g"], "--pace"),
        ([*native, "--workers", "33"], "33 workers"),
        ([*native, "--elf", folder / "app.toml"], "--elf"),
        (["--workers", "2", "--pcap-in", folder / "ping.pcap"], "--engine native"),
    ]:
        command = [str(part) for part in [pinion, "run", folder, *options]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        is_refused = done.returncode not in (0, EXIT_HANDLERS_FAILED) and part in done.stderr
        failures += not is_refused
        print(f"{'ok  ' if is_refused else 'FAIL'} refused: {part}")
        if not is_refused:
            print(f"  status {done.returncode}: {done.stderr}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--pinion", help="the command to test [default: the newest in target/]"
    )
    parser.add_argument("--workers", action="append", type=int, help="[default: 1 and 4]")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion)
    workers = arguments.workers or WORKERS
    folders = arguments.folders or sorted((REPOSITORY / "examples").iterdir())
    failures = 0
    for folder in (f.resolve() for f in folders if (f / "app.toml").exists()):
        failures += test_example(pinion, folder, workers)
    if not arguments.folders:
        failures += test_crowd(pinion)
        failures += test_math(pinion)
        failures += test_crashes(pinion, workers)
        failures += test_calls(pinion, workers)
        failures += test_wreck(pinion)
        failures += refusals(pinion)
    if failures:
        sys.exit(f"{failures} failed")


if __name__ == "__main__":
    main()
