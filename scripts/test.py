#!/usr/bin/env python3
"""Runs every test of the project and ends with one line: N passed, N failed.

    python3 scripts/test.py [--changed [REVISION]] [--jobs N] [STEP]...

Without arguments, every step, even when one fails. What compiles Rust runs first, one step after the
other; then the runners that use what was compiled, as many side by side as there are processors, each
one's output printed whole, in the order of STEPS. `make test` runs this after scripts/setup.sh.

--changed runs what a change can reach, by scripts/reach.py: what the working tree has that REVISION
has not [default: where the branch left main; on main, the last commit].
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import reach

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
    """Files that test our own scripts and runners; those of the Python package want its environment."""
    found = [*REPOSITORY.glob("scripts/test_*.py"), *REPOSITORY.glob("tests/*/test_*.py")]
    found = [path for path in found if path.parent.name != "python"]
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
    # The command without code that is made at run time (crates/pinion-translate, pinion-p4-translate).
    "without-jit": [
        *("cargo", "check", "--package", "pinion", "--no-default-features", "--locked"),
    ],
    "cargo": [PYTHON, "scripts/cargo_test.py", "--workspace", "--locked", *mpi()],
    "rustdoc": ["cargo", "doc", "--workspace", "--no-deps", "--locked"],
    "speed": [PYTHON, "tests/speed/run.py"],
    "python": [PYTHON, "tests/python/run.py", "--pinion", PINION],
    "sdk": [PYTHON, "tests/sdk/run.py"],
    "pspinsim": [PYTHON, "tests/pspinsim/run.py"],
    "hardware": [PYTHON, "tests/hardware/run.py", "--jobs", "1", "--pinion", PINION],
    "examples": [PYTHON, "tests/examples/run.py", "--pinion", PINION],
    "cluster": [PYTHON, "tests/cluster/run.py", "--pinion", PINION],
    "datatypes": [PYTHON, "tests/datatypes/run.py", "--pinion", PINION],
    "native": [PYTHON, "tests/native/run.py", "--pinion", PINION],
    "faults": [PYTHON, "tests/faults/run.py", "--pinion", PINION],
    "fpspin": [PYTHON, "tests/fpspin/run.py", "--pinion", PINION],
    "promises": [PYTHON, "tests/promises/run.py", "--pinion", PINION],
    "captures": [PYTHON, "tests/captures/run.py", "--pinion", PINION],
    "tracks": [PYTHON, "tests/tracks/run.py", "--pinion", PINION],
    "golden": [PYTHON, "tests/golden/run.py", "--pinion", PINION],
    "release": [PYTHON, "tests/release/run.py", "--pinion", PINION],
    "docs": [PYTHON, "tests/docs/run.py", "--pinion", PINION],
}

# Steps that only want what `cargo` has built, and run side by side.
RUNNERS = [
    *("sdk", "pspinsim", "examples", "cluster", "datatypes", "native", "faults", "fpspin"),
    *("promises", "captures", "tracks", "hardware", "golden", "release", "docs"),
]
# Those that compile in the examples' own folders, each in its way: one at a time.
IN_EXAMPLES = {"examples", "cluster", "datatypes", "native", "captures", "tracks"}
# Which begin first: the longest, so that none is left over at the end.
LONGEST = [
    *("fpspin", "hardware", "docs", "examples", "sdk", "cluster", "datatypes", "golden", "native"),
    "pspinsim",
]

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


def run_step(name, write):
    """Runs a step, giving its lines to `write` as they come; returns its counts."""
    command = [str(part) for part in STEPS[name]]
    write(f"\n== {name}: {' '.join(command)}\n".encode())
    environment = {**os.environ, "RUSTDOCFLAGS": "-D warnings", "PYTHONUNBUFFERED": "1"}
    counts, started = Counts(), time.monotonic()
    if name in NEEDS and subprocess.run(NEEDS[name], capture_output=True, check=False).returncode:
        write(f"skip {name}: {' '.join(NEEDS[name][:2])} is not installed\n".encode())
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
                write(line)
                counts.read(line)
            _, status, usage = os.wait4(process.pid, 0)
            status = process.returncode = os.waitstatus_to_exitcode(status)
        processors = usage.ru_utime + usage.ru_stime
    except OSError as problem:
        write(f"{problem}\n".encode())
        status, processors = 127, 0
    counts.close(status == 0)
    seconds = time.monotonic() - started
    how = "ok" if status == 0 else f"FAILED ({status})"
    write(f"== {name}: {how}, {seconds:.0f} s, {processors:.0f} s of processor time\n".encode())
    return counts


def write_through(data):
    """Prints at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def in_turn(names):
    """The order in which runners begin, and which of them share the examples' folders: a list of
    lists, each to be run one after the other."""
    order = sorted(names, key=lambda name: (LONGEST + RUNNERS).index(name))
    chain = [name for name in order if name in IN_EXAMPLES]
    lists = [[name] for name in order if name not in IN_EXAMPLES]
    if chain:
        lists.insert(0, chain)
    return lists


def run_side_by_side(names, jobs, run=run_step, write=write_through):
    """Runs runners, so many at a time, and prints the output of each whole, in the order given; gives
    counts by name."""
    results, outputs = {}, {name: [] for name in names}
    ended = threading.Condition()

    def follow(chain):
        for name in chain:
            counts = run(name, outputs[name].append)
            with ended:
                results[name] = counts
                ended.notify()

    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        work = [pool.submit(follow, chain) for chain in in_turn(names)]
        for name in names:
            with ended:
                while name not in results and not all(one.done() for one in work):
                    ended.wait(timeout=1)
            write(b"".join(outputs[name]))
    for one in work:
        one.result()
    return {name: results[name] for name in names}


def changed_steps(revision):
    """The steps that a change reaches, with the reasons printed."""
    base = revision or reach.default_base(REPOSITORY)
    paths = reach.changed_paths(REPOSITORY, base)
    reasons = reach.steps_of(paths, list(STEPS))
    print(f"{len(paths)} files differ from {base}")
    for name, path in reasons.items():
        print(f"  {name:13} for {path}")
    return list(reasons)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changed", nargs="?", const="", metavar="REVISION")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.steps if name not in STEPS]:
        sys.exit(f"there is no step {unknown[0]}; there are {', '.join(STEPS)}")
    names = arguments.steps or list(STEPS)
    if arguments.changed is not None:
        if arguments.steps:
            sys.exit("--changed chooses the steps itself; leave STEP out")
        names = changed_steps(arguments.changed)
    names = list(dict.fromkeys(names))
    results = {name: run_step(name, write_through) for name in names if name not in RUNNERS}
    if runners := [name for name in names if name in RUNNERS]:
        if not PINION.exists():
            sys.exit(f"there is no {PINION}: run the step `cargo`, or `cargo build -p pinion`")
        print(f"\nside by side, {arguments.jobs} at a time: {', '.join(runners)}", flush=True)
        results |= run_side_by_side(runners, max(1, arguments.jobs))
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
