#!/usr/bin/env python3
"""The long runs behind docs/src/promises.md: each promise attacked as long as one has, with the figures it gives.

    python3 scripts/promises.py [--seed N] [--scale S] [PART]...

PART is handlers (10⁶ random hostile handlers), inputs (wrong inputs for every reader, ten minutes each),
coverage (the same by `cargo fuzz`, where that and nightly Rust are installed), writes (every call of every
output), interruptions (each command twenty times), kills (a hundred), clients (256 for ten minutes), runs
(10,000 random ones) [default: all but coverage]. --scale 0.01 takes a hundredth. Ends with a line for each part.
"""

import argparse
import os
import shutil
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
    """One target after the other; what it finds lies in fuzz/artifacts, what it learns in fuzz/corpus."""
    if not shutil.which("cargo-fuzz"):
        sys.exit("coverage needs cargo-fuzz (cargo install cargo-fuzz) and nightly Rust")
    targets = sorted(path.name for path in (REPOSITORY / "crates/pinion-fuzz/corpus").iterdir())
    seconds = max(1, int(600 * scale))
    each = [
        f"cargo +nightly fuzz run {target} fuzz/corpus/{target} crates/pinion-fuzz/corpus/{target} "
        f"-- -max_total_time={seconds} && cargo +nightly fuzz coverage {target}"
        for target in targets
    ]
    return ["sh", "-ec", "\n".join(each)], {}


def outside(part, most):
    def command(scale, seed):
        number = max(1, int(most * scale))
        return [*OUTSIDE, "--most", str(number), part], {"PINION_TEST_SEED": str(seed)}

    return command


PARTS = {
    "handlers": handlers,
    "inputs": inputs,
    "coverage": coverage,
    "writes": outside("writes", 100_000),
    "interruptions": outside("interruptions", 20),
    "kills": outside("kills", 100),
    "clients": outside("clients", 600),
    "runs": outside("runs", 10_000),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in PARTS]:
        sys.exit(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    results = {}
    for part in arguments.parts or [part for part in PARTS if part != "coverage"]:
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
