#!/usr/bin/env python3
"""The long runs behind docs/src/promises.md: each promise attacked as long as one has, with the figures it gives.

    python3 scripts/promises.py [--seed N] [--scale S] [PART]...

PART is handlers (10⁶ random hostile handlers), inputs (wrong inputs for every reader, ten minutes each),
coverage (the same guided by coverage, scripts/coverage.py), sanitizer (the tests of the crates with unsafe code under the
address sanitizer), miri (those that miri can run), disk (every call on every output failing, short or interrupted),
writes, bytes and calls (the same from outside, and bounds of files), interruptions (each command twenty times), kills (a
hundred), endless (inputs that never end, and outputs over inputs), clients (256 for ten minutes), runs (10,000 random ones), isa (10⁸ random instructions of each kind in step with
QEMU), references (10⁷ of each kind beside two further models), soak (a live NIC for ten minutes) [default: what needs no
nightly Rust: all but coverage, sanitizer and miri]. --scale 0.01 takes a hundredth. Ends with a line for each part.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OUTSIDE = [sys.executable, "tests/promises/run.py"]
CARGO = ["cargo", "test", "--release", "-p"]


def handlers(scale, seed):
    command = [*CARGO, "pinion-spin", "--test", "node", "hostile_handlers", "--", "--nocapture"]
    return command, {"PINION_HOSTILE_HANDLERS": str(int(1e6 * scale)), "PINION_TEST_SEED": str(seed)}


def inputs(scale, seed):
    command = ["cargo", "run", "--release", "-p", "pinion-fuzz", "--"]
    return [*command, "--seconds", str(max(1, int(600 * scale))), "--seed", str(seed)], {}


def coverage(scale, _):
    return [sys.executable, "scripts/coverage.py", "--seconds", str(max(1, int(600 * scale)))], {}


# The crates with unsafe code that tests of their own reach.
UNSAFE = ["pinion-native", "pinion-pspinsim", "pinion-host", "pinion-hardware", "pinion-net"]
# What miri can run of the crates with unsafe code: everything but what maps files of memory, starts processes, or
# asks the kernel for more than it knows. Of pinion-native that is what handlers may name in commands (in tests of
# miri's own, for its addresses are as small as handlers' are), the order of messages, and where packets are put.
MIRI = {
    "pinion-native": ["command", "mpq"],
    "pinion-pspinsim": ["engine", "settings", "slm", "statistics", "trace", "types", "the_interface"],
    "pinion-host": [
        *("iommu", "pcie", "memory::tests::a_full_memory", "memory::tests::a_dump", "model::tests::a_"),
        *("model::tests::memory_bounds", "model::tests::numbers_that", "model::tests::the_order"),
    ],
}


def sanitizer(_, seed):
    """The library that C programs link is instrumented too, so they are compiled with a sanitizer's runtime."""
    command = ["cargo", "+nightly", "test", "--target", "x86_64-unknown-linux-gnu", "--lib", "--tests"]
    command += [word for crate in UNSAFE for word in ("-p", crate)]
    return command, {
        "RUSTFLAGS": "-Zsanitizer=address",
        "CARGO_TARGET_DIR": str(REPOSITORY / "target/sanitizer"),
        "PINION_TEST_CFLAGS": "-fsanitize=address",
        "PINION_TEST_SEED": str(seed),
        # What drivers in C leave allocated at their ends is theirs.
        "ASAN_OPTIONS": "detect_leaks=0",
    }


def miri(_, seed):
    """One command for each crate, since each has a list of its own."""
    command = ["cargo", "+nightly", "miri", "test", "--lib", "--tests"]
    each = [" ".join([*command, "-p", crate, "--", *names]) for crate, names in MIRI.items()]
    return ["sh", "-c", " && ".join(each)], {"MIRIFLAGS": "-Zmiri-disable-isolation -Zmiri-permissive-provenance", "PINION_TEST_SEED": str(seed)}


def disk(_, seed):
    command = [*CARGO, "pinion", "--bin", "pinion", "failing_disk", "--", "--nocapture"]
    return command, {"PINION_TEST_SEED": str(seed)}


def references(scale, seed):
    command = ["cargo", "run", "--release", "--manifest-path", "tests/references/Cargo.toml", "--"]
    return [*command, "--instructions", str(int(1e7 * scale)), "--seed", str(seed)], {}


def isa(scale, seed):
    command = [*CARGO, "pinion-isa", "--test", "differential", "like_qemu", "--", "--nocapture"]
    return command, {"PINION_DIFF_INSTRUCTIONS": str(int(1e8 * scale)), "PINION_DIFF_SEED": str(seed)}


def soak(scale, _):
    return [sys.executable, "scripts/soak.py", "--highest", "--minutes", str(10 * scale)], {}


def outside(part, most):
    def command(scale, seed):
        number = max(1, int(most * scale))
        return [*OUTSIDE, "--most", str(number), part], {"PINION_TEST_SEED": str(seed)}

    return command


PARTS = {
    "handlers": handlers,
    "inputs": inputs,
    "coverage": coverage,
    "sanitizer": sanitizer,
    "miri": miri,
    "disk": disk,
    "writes": outside("writes", 100_000),
    "bytes": outside("bytes", 1000),
    "calls": outside("calls", 100_000),
    "interruptions": outside("interruptions", 20),
    "moments": outside("moments", 100),
    "kills": outside("kills", 100),
    "endless": outside("endless", 100),
    "pipes": outside("pipes", 1),
    "starved": outside("starved", 1),
    "blocks": outside("blocks", 1),
    "clients": outside("clients", 600),
    "runs": outside("runs", 10_000),
    "isa": isa,
    "references": references,
    "soak": soak,
}
# They want nightly Rust and more of it.
NIGHTLY = {"coverage", "sanitizer", "miri"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        sys.exit(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    results = {}
    for part in arguments.parts or [part for part in PARTS if part not in NIGHTLY]:
        command, more = PARTS[part](arguments.scale, arguments.seed)
        print(f"\n== {part}: {' '.join(map(str, command))}", flush=True)
        started = time.monotonic()
        status = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **more}).returncode
        results[part] = (status, time.monotonic() - started)
    print()
    for part, (status, seconds) in results.items():
        print(f"{'ok  ' if status == 0 else 'FAIL'} {part}, {seconds:.0f} s")
    return 1 if any(status for status, _ in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
