#!/usr/bin/env python3
"""Runs every test of the project and ends with one line: N passed, N failed.

    python3 scripts/test.py [STEP]...

Steps run in order, all of them, even when one fails; without arguments, every step. `make test`
runs this after scripts/setup.sh.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).absolute()
# Built by `cargo test` on the way: the runners need no build of their own.
PINION = TARGET / "debug" / "pinion"
PYTHON = sys.executable

# Where libclang lies on Debian; bindgen wants it to read an MPI's header.
LIBCLANG = ["/usr/lib/llvm-*/lib/libclang.so*", "/usr/lib/*/libclang*.so*"]


def mpi():
    """The feature that brings MPI, where its compiler and libclang are. `clippy` goes without: so both
    ways are compiled, and each thing once."""
    root = Path("/")
    has_clang = "LIBCLANG_PATH" in os.environ or any(
        next(root.glob(pattern.lstrip("/")), None) for pattern in LIBCLANG
    )
    return ["--features", "pinion/mpi"] if shutil.which("mpicc") and has_clang else []


def unit_tests():
    """Files that test our own scripts and runners."""
    found = [*REPOSITORY.glob("scripts/test_*.py"), *REPOSITORY.glob("tests/*/test_*.py")]
    return sorted(path.relative_to(REPOSITORY) for path in found)


STEPS = {
    "format": ["cargo", "fmt", "--all", "--check"],
    "dependencies": [PYTHON, "scripts/check_dependencies.py"],
    "architecture": [PYTHON, "scripts/check_architecture.py"],
    "tools": [PYTHON, "-m", "unittest", "--verbose", *unit_tests()],
    "clippy": [
        *("cargo", "clippy", "--workspace", "--all-targets", "--locked"),
        *("--", "-D", "warnings"),
    ],
    "cargo": ["cargo", "test", "--workspace", "--locked", "--no-fail-fast", *mpi()],
    "rustdoc": ["cargo", "doc", "--workspace", "--no-deps", "--locked"],
    "sdk": [PYTHON, "tests/sdk/run.py"],
    "pspinsim": [PYTHON, "tests/pspinsim/run.py"],
    "examples": [PYTHON, "tests/examples/run.py", "--pinion", PINION],
    "cluster": [PYTHON, "tests/cluster/run.py", "--pinion", PINION],
    "datatypes": [PYTHON, "tests/datatypes/run.py", "--pinion", PINION],
    "native": [PYTHON, "tests/native/run.py", "--pinion", PINION],
    "faults": [PYTHON, "tests/faults/run.py", "--pinion", PINION],
    "fpspin": [PYTHON, "tests/fpspin/run.py", "--pinion", PINION],
    "captures": [PYTHON, "tests/captures/run.py", "--pinion", PINION],
    "golden": [PYTHON, "tests/golden/run.py", "--pinion", PINION],
    "docs": [PYTHON, "tests/docs/run.py", "--pinion", PINION],
}

# Steps that are left out where their tool is not installed.
NEEDS = {"format": ["cargo", "fmt", "--version"], "clippy": ["cargo", "clippy", "--version"]}

CARGO_RESULT = re.compile(rb"^test result: \w+\. (\d+) passed; (\d+) failed")
RUNNER_RESULT = re.compile(rb"^(ok  |FAIL|skip) ")
# Of Python's unittest with --verbose.
UNITTEST_RESULT = re.compile(rb"^test_\w+ \(.* \.\.\. (ok|FAIL|ERROR|skipped)")


class Counts:
    """Passed and failed tests of one step, gathered from its lines."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def read(self, line):
        if found := CARGO_RESULT.match(line):
            self.passed += int(found[1])
            self.failed += int(found[2])
        elif found := RUNNER_RESULT.match(line):
            self.passed += found[1] == b"ok  "
            self.failed += found[1] == b"FAIL"
            self.skipped += found[1] == b"skip"
        elif found := UNITTEST_RESULT.match(line):
            self.passed += found[1] == b"ok"
            self.failed += found[1] in (b"FAIL", b"ERROR")
            self.skipped += found[1] == b"skipped"

    def close(self, succeeded):
        """A step that prints no results counts as one test; one that dies, as one that failed."""
        if succeeded and not self.passed + self.failed + self.skipped:
            self.passed = 1
        if not succeeded and not self.failed:
            self.failed = 1


def run_step(name):
    """Runs a step, its output passing through; returns its counts."""
    command = [str(part) for part in STEPS[name]]
    print(f"\n== {name}: {' '.join(command)}", flush=True)
    environment = {**os.environ, "RUSTDOCFLAGS": "-D warnings", "PYTHONUNBUFFERED": "1"}
    counts, started = Counts(), time.monotonic()
    if name in NEEDS and subprocess.run(NEEDS[name], capture_output=True, check=False).returncode:
        print(f"skip {name}: {' '.join(NEEDS[name][:2])} is not installed", flush=True)
        counts.skipped = 1
        return counts
    try:
        with subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            for line in process.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
                counts.read(line)
        status = process.returncode
    except OSError as problem:
        print(problem)
        status = 127
    counts.close(status == 0)
    seconds = time.monotonic() - started
    print(f"== {name}: {'ok' if status == 0 else f'FAILED ({status})'}, {seconds:.0f} s", flush=True)
    return counts


def main():
    names = sys.argv[1:] or list(STEPS)
    if unknown := [name for name in names if name not in STEPS]:
        sys.exit(f"there is no step {unknown[0]}; there are {', '.join(STEPS)}")
    results = {name: run_step(name) for name in names}
    print()
    for name, counts in results.items():
        left_out = f", {counts.skipped} left out" if counts.skipped else ""
        print(f"{name:13} {counts.passed:5} passed, {counts.failed} failed{left_out}")
    passed = sum(counts.passed for counts in results.values())
    failed = sum(counts.failed for counts in results.values())
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
