#!/usr/bin/env python3
"""Counts the host instructions of short runs and compares them with those that are recorded.

    python3 tests/speed/run.py [--pinion PATH] [--record] [NAME]...

Time depends on the computer and on who else uses it, instructions hardly do: valgrind's cachegrind
counts them. The runs are those of runs.toml, recorded.json has what they took in the build that
`cargo build -p pinion` makes (target/debug, whose profile optimises a little). The one that
`cargo test` leaves there is another and takes up to 16 % less, so this is no step of the tests. A
run that takes more than 5 % more fails, and so does one that takes 5 % less, which is a gain to keep:
--record writes the numbers anew, and the commit says why they moved.

5 % is room for what a computer decides: libc chooses its memcpy by the processor (we ask it for the
plainest), hash tables begin with random seeds. Another compiler, for Rust or for the programs, makes other
code: then nothing is compared. Exit status 0 when all is as it was.
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
from common import Difference, find_pinion, is_reference_compiler  # noqa: E402

RECORDED = FOLDER / "recorded.json"
MOST_APART = 0.05
SECONDS = 120
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
# The plainest variants of libc's functions, so that the processor makes no difference.
PLAIN = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-ERMS,-FSRM,-SSSE3,-SSE4_2"


def made_with():
    """What the numbers depend on beside our sources."""
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False)
    return {"rustc": " ".join(rustc.stdout.split()[:2]), "processor": platform.machine()}


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


def count(pinion, words, folder):
    """The host instructions of a run whose programs are built already."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {**os.environ, "GLIBC_TUNABLES": PLAIN}
    run = [pinion, *words, "--quiet", "--build-dir", folder]
    found = COUNTED.search(execute([*valgrind, *run], environment))
    if not found:
        raise Difference("valgrind has counted nothing")
    return int(found[1].replace(",", ""))


def verdict(now, before):
    """What is to be said of a count, nothing if it is as it was."""
    if before is None:
        return "is not recorded; --record does it"
    change = now / before - 1
    if change > MOST_APART:
        return f"takes {change:.1%} more host instructions: {before:,} before, {now:,} now"
    if change < -MOST_APART:
        return f"takes {-change:.1%} fewer: keep the gain with --record ({before:,} before, {now:,} now)"
    return None


def why_not(recorded):
    """Why nothing can be compared here, if so."""
    if not shutil.which("valgrind"):
        return "valgrind is not installed"
    if not is_reference_compiler():
        return "the numbers are of programs by gcc 12.2"
    if recorded and recorded["made_with"] != made_with():
        return f"recorded with {recorded['made_with']}, this is {made_with()}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to count [default: target/debug/pinion]")
    parser.add_argument("--record", action="store_true", help="write the numbers anew")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    pinion = find_pinion(arguments.pinion or REPOSITORY / "target/debug/pinion")
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

    def measure(name):
        words = shlex.split(runs[name])
        started = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                execute([pinion, "build", words[1], "--build-dir", folder], os.environ)
                return count(pinion, words, folder), time.monotonic() - started
        except (Difference, OSError, subprocess.TimeoutExpired) as problem:
            return problem, time.monotonic() - started

    counts, failed = {}, 0
    before = recorded["instructions"] if recorded else {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for name, (found, seconds) in zip(chosen, pool.map(measure, chosen)):
            wrong = str(found) if isinstance(found, Exception) else None
            if wrong is None:
                counts[name] = found
                wrong = None if arguments.record else verdict(found, before.get(name))
                wrong = wrong and f"{name} {wrong}"
            failed += wrong is not None
            shown = f"{found:>15,}" if wrong is None else ""
            print(f"{'FAIL' if wrong else 'ok  '} {name:28} {shown} {seconds:5.1f} s", flush=True)
            if wrong:
                print(f"     {wrong}")
    if arguments.record:
        kept = {name: counts.get(name, before.get(name)) for name in runs}
        kept = {name: number for name, number in kept.items() if number is not None}
        told = {"made_with": made_with(), "instructions": kept}
        RECORDED.write_text(json.dumps(told, indent=2) + "\n")
    elif failed:
        print("     (the recorded numbers are of the build by `cargo build -p pinion`)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
