#!/usr/bin/env python3
"""Counts the host instructions of short runs and compares them with those that are recorded.

    python3 tests/speed/run.py [--pinion PATH] [--record] [NAME]...

Time depends on the computer and on who else uses it, instructions hardly do: valgrind's cachegrind
counts them. The runs are those of runs.toml, recorded.json has what they took. How a program was
built decides over more than a tenth of its instructions, and `cargo build`, `cargo test` and MPI build
it differently; so it is built here, always in the same way, with the profile of `make demo`.
A run that takes more than 5 % more fails. One that takes 5 % less is told: --record writes the numbers
anew, and the commit says why they moved. A run that is `bench NAME …` is that of a benchmark (BENCHES);
AT_MOST says what may not take more than so many times what another takes, each beyond its start.

5 % is room for what a computer decides: libc chooses its memcpy by the processor (we ask it for the
plainest), hash tables begin with random seeds. Another compiler, for Rust or for the programs, makes other
code: then nothing is built or compared, and the line that is left out says so. Exit status 0 unless a run
takes more.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER.parent))
from common import Difference, is_reference_compiler  # noqa: E402

RECORDED = FOLDER / "recorded.json"
MOST_APART = 0.05
SECONDS = 300
# By benchmark: its crate.
BENCHES = {"transport": "pinion-nanopu", "listening": "pinion-run", "packets": "pinion-spin"}
# The build whose instructions are recorded: all at once, so that each crate is compiled once, and the same
# whichever runs are asked for.
BUILD = ["cargo", "build", "--profile", "demo", "--locked", "--package", "pinion", "--bin", "pinion"]
BUILD += [word for bench, crate in BENCHES.items() for word in ("--package", crate, "--bench", bench)]
# By run: the one that it is compared with, and how many times its instructions it may take.
AT_MOST = {
    # docs/src/p4.md says what takes how much.
    "transport, P4": ("transport, built-in", 1.7),
    "transport, Homa as P4": ("transport, Homa", 2.0),
    "handlers, as commands run them": ("handlers, heard by nobody", 1.01),
    # The summary's own: every frame is read for its latency, every word and message counted. That takes
    # 1.2 % since the rest takes less; how the compiler divides the two among its functions, which already
    # the path of the checkout changes, moves it by a quarter of a percent.
    "nanoservice, as commands run it": ("nanoservice, heard by nobody", 1.02),
}
# What changes how cargo builds, beside the sources.
FLAGS = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"]
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
# The plainest variants of libc's functions, so that the processor makes no difference.
PLAIN = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-ERMS,-FSRM,-SSSE3,-SSE4_2"


def made_with():
    """What the numbers depend on beside our sources."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    return {"rustc": " ".join(rustc.stdout.split()[:2]), "processor": platform.machine()}


def build():
    """Builds what is counted; gives paths by name, of the command and of the benchmarks."""
    environment = {**os.environ, "CARGO_INCREMENTAL": "0"}
    started = time.monotonic()
    command = [*BUILD, "--message-format=json-render-diagnostics"]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        sys.exit(f"{shlex.join(BUILD)}: exit status {done.returncode}")
    print(f"built in {time.monotonic() - started:.0f} s: {shlex.join(BUILD)}", flush=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {made["target"]["name"]: made["executable"] for made in told if made.get("executable")}


def count_bench(bench, words):
    """The host instructions of a benchmark's rounds, without those of its start."""
    *rest, rounds = words
    few, many = (counted([bench, *rest, str(n)]) for n in (int(rounds) // 10, int(rounds)))
    return many - few


def execute(command, environment):
    """Runs a command; gives what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        raise Difference(f"exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def counted(run):
    """The host instructions of a command."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {**os.environ, "GLIBC_TUNABLES": PLAIN}
    found = COUNTED.search(execute([*valgrind, *run], environment))
    if not found:
        raise Difference("valgrind has counted nothing")
    return int(found[1].replace(",", ""))


def count(pinion, words):
    """The host instructions of a run, of which its programs' compilation is no part."""
    with tempfile.TemporaryDirectory() as folder:
        execute([pinion, "build", words[1], "--build-dir", folder], os.environ)
        return counted([pinion, *words, "--quiet", "--build-dir", folder])


def too_many(counts):
    """What takes too many times the instructions of what it is compared with, in words by run."""
    found = {}
    for name, (other, times) in AT_MOST.items():
        if name in counts and other in counts and counts[name] > times * counts[other]:
            ratio = counts[name] / counts[other]
            found[name] = f"takes {ratio:.2f} times the host instructions of {other}, {times} at most"
    return found


def verdict(now, before):
    """What is to be said of a count, nothing if it is as it was, and whether it is wrong."""
    if before is None:
        return "is not recorded; --record does it", True
    change = now / before - 1
    if change > MOST_APART:
        return f"takes {change:.1%} more host instructions: {before:,} before, {now:,} now", True
    if change < -MOST_APART:
        told = f"takes {-change:.1%} fewer host instructions: {before:,} before, {now:,} now"
        return f"{told}; --record keeps the gain", False
    return None, False


def why_not(recorded):
    """Why nothing can be compared here, if so."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if not is_reference_compiler():
        return "the numbers are of programs by gcc 12.2"
    if given := [name for name in FLAGS if os.environ.get(name)]:
        return f"{given[0]} changes the build"
    if recorded and recorded["made_with"] != made_with():
        then, now = (" on ".join(made.values()) for made in (recorded["made_with"], made_with()))
        return f"recorded with {then}, this is {now}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="count this command, which was built in the same way")
    parser.add_argument("--record", action="store_true", help="write the numbers anew")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else None
    runs = tomllib.loads((FOLDER / "runs.toml").read_text())
    chosen = [
        name
        for name in runs
        if not arguments.names or any(part in name for part in arguments.names)
    ]
    if not chosen:
        sys.exit(f"there is no such run; there are: {', '.join(runs)}")
    if problem := why_not(None if arguments.record else recorded):
        print(f"skip host instructions: {problem}")
        return 0
    built = {"pinion": Path(arguments.pinion).absolute()} if arguments.pinion else {}
    if not arguments.pinion or any(runs[name].startswith("bench ") for name in chosen):
        built = build() | built

    def measure(name):
        words = shlex.split(runs[name])
        started = time.monotonic()
        try:
            if words[0] == "bench":
                return count_bench(built[words[1]], words[2:]), time.monotonic() - started
            return count(built["pinion"], words), time.monotonic() - started
        except (Difference, OSError, subprocess.TimeoutExpired) as problem:
            return problem, time.monotonic() - started

    counts, failed = {}, 0
    before = recorded["instructions"] if recorded else {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, (found, seconds) in zip(chosen, pool.map(measure, chosen)):
            said, is_wrong = (str(found), True) if isinstance(found, Exception) else (None, False)
            if not is_wrong:
                counts[name] = found
                if not arguments.record:
                    said, is_wrong = verdict(found, before.get(name))
            failed += is_wrong
            shown = f"{found:>15,}" if name in counts else ""
            print(f"{'FAIL' if is_wrong else 'ok  '} {name:28} {shown} {seconds:5.1f} s", flush=True)
            if said:
                print(f"     {name} {said}" if name in counts else f"     {said}")
    for name, said in too_many(counts).items():
        failed += 1
        print(f"FAIL {name} {said}")
    if arguments.record:
        kept = {name: counts.get(name, before.get(name)) for name in runs}
        kept = {name: number for name, number in kept.items() if number is not None}
        told = {"made_with": made_with(), "instructions": kept}
        RECORDED.write_text(json.dumps(told, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
