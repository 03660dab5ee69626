#!/usr/bin/env python3
"""Builds the command by a profile of itself: target/tuned/pinion, the fastest there is.

    python3 scripts/tuned.py [--seconds SECONDS | --keep]

Compiles the command so that it counts which ways it goes, lets it simulate all examples on all machines that they fit
(`pinion bench`, for SECONDS each [default: 0.1]) and make all that tests/golden looks at, and compiles it anew with what was
counted. Results are the same to the byte, of which tests/golden is asked again at the end. What was counted lies in
target/tuned/profile; --keep compiles by that, and counts nothing.

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
# For which each example is simulated while ways are counted.
SECONDS = 0.1
# Files that processes which run side by side may merge into.
POOL = "%4m.profraw"


def say(text):
    print(f"tuned: {text}", file=sys.stderr, flush=True)


def give_up(text):
    sys.exit(f"tuned: {text}")


def seconds(text):
    """A number of seconds; asked for before anything is compiled."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


def asked(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        give_up(f"{' '.join(command)}: {done.stderr.strip()}")
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
        give_up(f"there is no {tool}: rustup component add llvm-tools, or `make build` without a profile")
    return tool


def run(*command, **environment):
    """Runs a command that must succeed; what it prints goes to standard error."""
    started = time.monotonic()
    command = [str(part) for part in command]
    done = subprocess.run(
        command, cwd=REPOSITORY, env={**os.environ, **environment}, stdout=sys.stderr, check=False
    )
    if done.returncode:
        give_up(f"{' '.join(command)}: exit status {done.returncode}")
    say(f"{time.monotonic() - started:.0f} s: {' '.join(command)}")


def build(folder, flag):
    """Compiles the command with a flag; gives its path."""
    flags = [os.environ.get("RUSTFLAGS", ""), flag]
    command = ["cargo", "build", "--release", "--locked", "--package", "pinion", "--target", host()]
    run(*command, "--target-dir", folder, RUSTFLAGS=" ".join(flags).strip())
    return folder / host() / "release/pinion"


def golden(pinion, **environment):
    run(sys.executable, "tests/golden/run.py", "--pinion", pinion, **environment)


def count(profile, build_counting, seconds=SECONDS):
    """Writes into a file which ways a command goes; `build_counting` compiles it with a flag, and gives its path."""
    tool = profdata()
    # At one place, so that a build that counts need not be made anew each time.
    counted = profile.parent / "counted"
    pinion = build_counting(f"-Cprofile-generate={counted}")
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
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--seconds", type=seconds, default=SECONDS, metavar="SECONDS")
    how.add_argument("--keep", action="store_true", help="use what was counted before")
    arguments = parser.parse_args()
    profile = TUNED / "profile"
    if arguments.keep and not profile.exists():
        parser.error(f"--keep: nothing was counted before, there is no {profile}")
    if not arguments.keep:
        count(profile, lambda flag: build(TUNED / "counting", flag), arguments.seconds)
    made = build(TUNED / "built", f"-Cprofile-use={profile}")
    golden(made)
    shutil.copy2(made, TUNED / "pinion")
    print(TUNED / "pinion")


if __name__ == "__main__":
    main()
