#!/usr/bin/env python3
"""Builds the command by a profile of itself: target/tuned/pinion, the fastest there is.

    python3 scripts/tuned.py [--seconds SECONDS] [--keep]

Compiles the command so that it counts which ways it goes, lets it simulate all examples on all machines that they fit
(`pinion bench`, for SECONDS each [default: 0.1]) and make all that tests/golden looks at, and compiles it anew with what was
counted. Results are the same to the byte, of which tests/golden is asked again at the end. Takes three times as long as
`make build`. What was counted lies in target/tuned/profile, and is used again with --keep, which takes half the time.

Needs LLVM's tools for the profile, which rustup brings (`rustup component add llvm-tools`), and a compiler for RISC-V.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TUNED = REPOSITORY / "target/tuned"
# Files that processes which run side by side may merge into.
POOL = "%4m.profraw"


class Failure(Exception):
    """What cannot be done, and what to do."""


def say(text):
    print(f"tuned: {text}", file=sys.stderr, flush=True)


def asked(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def host():
    """The computer that rustc compiles for. Named, so that only what is built for it counts, not what builds it."""
    return next(line.split()[1] for line in asked("rustc", "-vV").splitlines() if line.startswith("host:"))


def profdata():
    """What merges profiles, of the compiler's own version."""
    tool = Path(asked("rustc", "--print", "sysroot").strip()) / "lib/rustlib" / host() / "bin/llvm-profdata"
    if not tool.exists() and shutil.which("rustup"):
        say("bringing LLVM's tools: rustup component add llvm-tools")
        subprocess.run(["rustup", "component", "add", "llvm-tools"], cwd=REPOSITORY, check=False)
    if not tool.exists():
        raise Failure(f"there is no {tool}: rustup component add llvm-tools, or `make build` without a profile")
    return tool


def run(*command, **environment):
    """Runs a command that must succeed; what it prints goes to standard error."""
    started = time.monotonic()
    command = [str(part) for part in command]
    done = subprocess.run(
        command, cwd=REPOSITORY, env={**os.environ, **environment}, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise Failure(f"{' '.join(command)}: exit status {done.returncode}")
    say(f"{time.monotonic() - started:.0f} s: {' '.join(command)}")


def build(folder, flag):
    """Compiles the command with a flag; gives its path."""
    flags = [os.environ.get("RUSTFLAGS", ""), flag]
    command = ["cargo", "build", "--release", "--locked", "--package", "pinion", "--target", host()]
    run(*command, "--target-dir", folder, RUSTFLAGS=" ".join(flags).strip())
    return folder / host() / "release/pinion"


def golden(pinion, **environment):
    run(sys.executable, "tests/golden/run.py", "--pinion", pinion, **environment)


def count(profile, seconds):
    """Counts which ways the command goes, into a file."""
    tool = profdata()
    counted = TUNED / "counted"
    shutil.rmtree(counted, ignore_errors=True)
    pinion = build(TUNED / "counting", f"-Cprofile-generate={counted}")
    pool = {"LLVM_PROFILE_FILE": str(counted / POOL)}
    # What came with the build itself, as libpinion_pspinsim's, is not the command's.
    shutil.rmtree(counted, ignore_errors=True)
    say(f"simulating all examples, {seconds} s each")
    run(pinion, "bench", "--seconds", seconds, **pool)
    golden(pinion, **pool)
    run(tool, "merge", "-o", profile, counted)
    shutil.rmtree(counted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", default="0.1", metavar="SECONDS")
    parser.add_argument("--keep", action="store_true", help="use what was counted before")
    arguments = parser.parse_args()
    profile = TUNED / "profile"
    try:
        TUNED.mkdir(parents=True, exist_ok=True)
        if not (arguments.keep and profile.exists()):
            count(profile, arguments.seconds)
        made = build(TUNED / "built", f"-Cprofile-use={profile}")
        golden(made)
        shutil.copy2(made, TUNED / "pinion")
    except (Failure, OSError) as problem:
        sys.exit(f"tuned: {problem}")
    print(TUNED / "pinion")


if __name__ == "__main__":
    main()
