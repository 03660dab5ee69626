#!/usr/bin/env python3
"""Runs programs that go wrong, each in its own way, and checks what is said of each.

    python3 tests/faults/run.py [--pinion PATH] [--cc NAME]... [NAME]...

Handlers on the simulated NIC, with every compiler there is, and on the native engine; nanoservices.
A report must name the kind, say it in words, name the line of the source that ends in a comment
"at: NAME" (or one of those with "near: NAME") and the calls that led there; equal faults are one,
with a count. Exit status 0 when all is as it must be.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests"))
from common import Difference, check, check_in, find_pinion, installed_compilers  # noqa: E402

HERE = Path(__file__).resolve().parent
SECONDS = 300
PACKETS = 12
FIRST_PORT = 9600
HANDLERS_FAILED = 3

# Per context of handlers/: kind, what its words hold, functions on the way from the innermost.
HANDLERS = {
    "null": ("null", "a null pointer", ["value_of", "null_ph"]),
    "null_call": ("null_call", "a call through a null pointer", [None, "null_call_ph"]),
    "tenant": ("other_context", "the handler memory of context overshoot", ["tenant_ph"]),
    "overshoot": ("other_context", "0 B behind the end of its context's 4,096 B", ["overshoot_ph"]),
    "packet_end": ("packet_end", "0 B behind the end of its packet", ["packet_end_ph"]),
    "program": ("program", "program memory", ["program_ph"]),
    "nowhere": ("nothing", "no memory lies there", ["memcpy", "nowhere_ph"]),
    "register": ("nic_register", "a NIC register", ["register_ph"]),
    "window": ("outside_window", "outside its DMA window", ["window_ph"]),
    "misaligned": ("misaligned", "no multiple", ["misaligned_ph"]),
    "illegal": ("illegal_instruction", "illegal instruction", ["illegal_ph"]),
    "assertion": ("breakpoint", "an assertion", ["assertion_ph"]),
    "division": None,  # RISC-V divides by zero
    "stack": ("stack_overflow", "below this HPU's stack of 1,024 B", ["depth_of", "stack_ph"]),
    "loop": ("watchdog", "stopped by the watchdog", ["look", "loop_ph"]),
}
# What differs on this computer, where other memory is protected: `None`: no fault there.
NATIVE = {
    "tenant": None,
    "overshoot": None,
    "packet_end": None,
    "misaligned": None,
    "illegal": None,
    "register": ("nic_register", "a NIC register", ["register_ph"]),
    "division": ("arithmetic", "division by zero", ["division_ph"]),
    "stack": ("stack_overflow", "stack overflow", ["depth_of"]),
    "nowhere": ("nothing", "no memory lies there", ["nowhere_ph"]),
}
# Per first argument of service/.
SERVICES = {
    "null": ("null", "a null pointer", ["load", "main"]),
    "call": ("null_call", "a call through a null pointer", [None, "main"]),
    "stack": ("stack_overflow", "below the 131,072 B of stacks of hart 0", []),
    "misaligned": ("misaligned", "no multiple", ["main"]),
    "nowhere": ("nothing", "memory ends there", ["memset", "main"]),
    "illegal": ("illegal_instruction", "illegal instruction", ["main"]),
    "message": ("null", "a null pointer", ["load", "follow", "main"]),
}
# The message that the last of them takes: an address, and so many bytes that not all are shown.
MESSAGE = [0] + [0x1111111111111111 * number for number in range(1, 10)]
SHOWN_BYTES = 64


def marked(source, name):
    """The lines of a source that are marked with a name: the one, or those near."""
    lines = source.read_text().splitlines()
    mark = re.compile(rf"/\* (at|near): {name} \*/")
    found = [number for number, line in enumerate(lines, 1) if mark.search(line)]
    near = any("near: " in lines[number - 1] for number in found)
    spread = range(min(found) - 1, max(found) + 2) if near else found
    return {f"{source.name}:{number}" for number in spread}


def execute(pinion, folder, out, *options):
    """Runs once; gives the summary and what was printed."""
    summary = out / "summary.json"
    command = [pinion, "run", folder, "--json", summary, *options]
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=SECONDS
    )
    check(done.returncode == HANDLERS_FAILED, f"status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(summary.read_text()), done.stdout


def check_fault(fault, printed, wanted, lines):
    """Checks what one fault says against what it must."""
    kind, words, functions = wanted
    check(fault["wrong"] == kind, f"{fault['wrong']}: {fault['words']}, wanted {kind}")
    check_in(words, fault["words"])
    check_in(fault["words"], printed)
    frames = fault["backtrace"]
    names = iter([frame["function"] for frame in frames])
    missing = [name for name in functions if name not in names]
    check(not missing, f"no {missing} in order in {frames}")
    if lines is not None:
        check(fault["source"] in lines, f"the source is {fault['source']}, wanted one of {lines}")
        check_in(fault["source"], printed)
    pointer = int(fault["registers"].get("sp") or fault["registers"]["rsp"], 16)
    check(pointer != 0, f"registers {fault['registers']}")


def run_handlers(pinion, folder, name, wanted, *options):
    """Runs one handler on a few packets that come in any order; all must be told as one fault."""
    port = FIRST_PORT + list(HANDLERS).index(name)
    with tempfile.TemporaryDirectory(prefix="pinion-faults-") as out:
        traffic = f"udp,size=128,dport={port},count={PACKETS},messages={PACKETS}"
        summary, printed = execute(pinion, folder, Path(out), "--generate", traffic, *options)
    faults = summary["faults"]
    told = [fault["words"] for fault in faults]
    if name == "loop":
        # The watchdog may end one packet's handler in the function that has the loop and another's in
        # the one that calls it.
        check(1 <= len(faults) <= 2, f"{len(faults)} faults: {told}")
        counted = sum(one["count"] for one in faults)
        check(counted == summary["packets"]["handler_errors"] == PACKETS, f"{counted}")
        for one in faults:
            check_loops(one)
        in_look = [
            one for one in faults if any(f["function"] == "look" for f in one["backtrace"])
        ]
        if in_look:
            faults = in_look
        else:
            wanted = (*wanted[:2], ["loop_ph"])
        wanted_times = faults[0]["count"]
    else:
        check(len(faults) == 1, f"{len(faults)} faults: {told}")
        wanted_times = PACKETS
        check(faults[0]["count"] == summary["packets"]["handler_errors"] == PACKETS, f"{told}")
    fault = faults[0]
    check_fault(fault, printed, wanted, marked(folder / "faults.c", name))
    check(fault["context"] == name and fault["handler"] == "payload", f"context {fault['context']}")
    check(fault["packet_bytes"] == 128 and len(fault["packet_head"]) == 128, "the packet")
    check(any(f"> {port}" in line for line in fault["headers"]), f"headers {fault['headers']}")
    if wanted_times > 1:
        check_in(f"{wanted_times} times, the first is shown", printed)
    check_in("packet of 128 B: Ethernet ", printed)
    return fault


def check_loops(fault):
    """Checks that the loops are those of both functions, or of the one that holds the other."""
    loops = {loop["function"]: loop["lines"] for loop in fault["loops"]}
    check("look" in loops or "loop_ph" in loops, f"loops {loops}")
    check(all("faults.c:" in lines for lines in loops.values()), f"loops {loops}")


def test_handlers(pinion, work, compiler, name):
    wanted = HANDLERS[name]
    if wanted is None:
        return
    fault = run_handlers(pinion, work / "handlers", name, wanted, "--cc", compiler)
    check(fault["instruction"] or name == "null_call", "no instruction")
    if name == "loop":
        check_loops(fault)
    if name == "stack":
        calls = [frame["calls"] for frame in fault["backtrace"]]
        check(sum(calls) > 5, f"calls {calls}")


def test_native(pinion, work, name):
    wanted = NATIVE.get(name, HANDLERS[name])
    if wanted is None:
        return
    fault = run_handlers(pinion, work / "handlers", name, wanted, "--engine", "native")
    if name == "loop":
        check_loops(fault)


def test_service(pinion, work, compiler, name):
    folder = work / "service"
    manifest = folder / "app.toml"
    text = (HERE / "service/app.toml").read_text()
    manifest.write_text(text.replace('args = ["null"]', f'args = ["{name}"]'))
    options = []
    with tempfile.TemporaryDirectory(prefix="pinion-faults-") as out:
        if name == "message":
            script = Path(out) / "messages.toml"
            script.write_text(f"[[message]]\nsend = {MESSAGE}\nreply = []\n")
            options = ["--messages", script]
        summary, printed = execute(pinion, folder, Path(out), "--cc", compiler, *options)
    faults = summary["faults"]
    check(len(faults) == 1, f"{len(faults)} faults\n{printed}")
    at = marked(folder / "service.c", {"message": "null"}.get(name, name))
    check_message(faults[0]["message"], printed, name == "message")
    at = None if name == "stack" else at
    check_fault(faults[0], printed, SERVICES[name], at)
    check(faults[0]["hart"] == 0, f"hart {faults[0]['hart']}")
    check_in("ended by an exception", printed)


def check_message(message, printed, wanted):
    """Checks that a fault shows the message that the thread worked on, if there was one."""
    if not wanted:
        check(message is None and "message: " not in printed, f"message {message}")
        return
    sent = b"".join(word.to_bytes(8, "big") for word in MESSAGE)
    check(message["bytes"] == len(sent) and not message["done"], f"message {message}")
    check(message["head"] == sent[:SHOWN_BYTES].hex(), f"message {message}")
    address, port = message["address"], message["port"]
    check(re.fullmatch(r"[0-9]+(\.[0-9]+){3}", address), f"address {address}")
    check_in(f"message: {len(sent)} B from {address}, port {port}", printed)
    check_in("0010  " + " ".join(["22"] * 8), printed)


def test_exit_code(pinion, work, compiler):
    """A program that ends with a code of its own had no exception."""
    manifest = work / "service/app.toml"
    text = (HERE / "service/app.toml").read_text()
    manifest.write_text(text.replace('args = ["null"]', 'args = ["code"]'))
    with tempfile.TemporaryDirectory(prefix="pinion-faults-") as out:
        summary, printed = execute(pinion, work / "service", Path(out), "--cc", compiler)
    check(summary["faults"] == [] and summary["exit_code"] == 99, f"{summary['faults']}")
    check_in("ended with exit code 99", printed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to test [default: the newest in target/]")
    parser.add_argument("--cc", action="append", help="compilers [default: all there are]")
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults [default: all]")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion)
    compilers = arguments.cc or installed_compilers()
    failures = 0

    def run(title, test, *values):
        nonlocal failures
        try:
            test(pinion, work, *values)
            print(f"ok   {title}", flush=True)
        except (Difference, OSError, subprocess.TimeoutExpired) as problem:
            failures += 1
            print(f"FAIL {title}: {problem}", flush=True)

    def chosen(names):
        return [name for name in names if not arguments.names or name in arguments.names]

    with tempfile.TemporaryDirectory(prefix="pinion-faults-work-") as folder:
        work = Path(folder)
        for part in ("handlers", "service"):
            shutil.copytree(HERE / part, work / part, ignore=shutil.ignore_patterns("build"))
        for compiler in compilers:
            for name in chosen(HANDLERS):
                run(f"handlers {name}, {compiler}", test_handlers, compiler, name)
            for name in chosen(SERVICES):
                run(f"service {name}, {compiler}", test_service, compiler, name)
            run(f"service with an exit code, {compiler}", test_exit_code, compiler)
        for name in chosen(HANDLERS):
            run(f"native {name}", test_native, name)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
