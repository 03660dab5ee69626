#!/usr/bin/env python3
"""The long runs behind docs/src/promises.md: each promise attacked as long as one has, with the figures it gives.

    python3 scripts/promises.py [--seed N] [--scale S] [PART]...

PART is handlers (10⁶ random hostile handlers), inputs (wrong inputs for every reader, ten minutes each),
coverage (the same guided by coverage, scripts/coverage.py), sanitizer (the tests of the crates with unsafe code under the
address sanitizer), miri (those that miri can run), writes, bytes and calls (every call and many bounds of every output),
interruptions (each command twenty times), kills (a hundred), clients (256 for ten minutes), runs (10,000 random ones), isa
(10⁸ random instructions of each kind in step with QEMU), soak (a live NIC for ten minutes) [default: what needs no nightly
Rust: all but coverage, sanitizer and miri]. --scale 0.01 takes a hundredth. Ends with a line for each part.
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
# What miri does not know: memory files, sockets, processes, and clocks of the kernel's.
BEYOND_MIRI = ["exchange", "shared", "windows", "memory::tests::a_window", "random_accesses", "untouched", "across_pages"]
BEYOND_MIRI += ["every_number"]  # minutes of arithmetic, and no pointer in it


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
    command = ["cargo", "+nightly", "miri", "test", "--lib", "-p", "pinion-native", "-p", "pinion-pspinsim"]
    command += ["-p", "pinion-host", "--"]
    command += [word for name in BEYOND_MIRI for word in ("--skip", name)]
    return command, {"MIRIFLAGS": "-Zmiri-disable-isolation", "PINION_TEST_SEED": str(seed)}


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
    "writes": outside("writes", 100_000),
    "bytes": outside("bytes", 1000),
    "calls": outside("calls", 100_000),
    "interruptions": outside("interruptions", 20),
    "kills": outside("kills", 100),
    "clients": outside("clients", 600),
    "runs": outside("runs", 10_000),
    "isa": isa,
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
