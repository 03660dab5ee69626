#!/usr/bin/env python3
"""Wrong inputs for every reader, guided by coverage: `cargo fuzz` with the targets of crates/pinion-fuzz.

    python3 scripts/coverage.py [--seconds 600] [--sanitizer address] [--quick-build] [--keep FOLDER] [--built PROGRAM]
                                [--seeds FOLDER] [TARGET]...

Needs nightly Rust and cargo-fuzz (`cargo install cargo-fuzz`). Each target begins with the inputs that the stable
driver begins with and those of earlier runs in fuzz/corpus/TARGET, which are made few again at the end; the shortest of
them go into fuzz/corpus/TARGET.seeds, which the tests begin with and the repository has. Prints how many
inputs each target took, how much of its code they reach (edges of all there are, those of other targets' code too)
and how many inputs that takes. An input that fails lies in fuzz/artifacts/TARGET, and the exit status is 1; mended,
it belongs into crates/pinion-fuzz/corpus/TARGET. --quick-build optimises less; --keep puts the build elsewhere; --built
takes the binary of an earlier one, and --seeds what `pinion-fuzz --export` wrote.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FUZZ = REPOSITORY / "fuzz"
HANGS_SECONDS = 20
MEMORY_MIB = 2048
LONGEST_BYTES = 1 << 16
# Of each target the repository has so many bytes, and so many inputs; of slow ones fewer.
KEPT_BYTES, KEPT_MOST, KEPT_SECONDS = 10 << 10, 64, 4


def run(*command, **more):
    return subprocess.run([str(word) for word in command], cwd=REPOSITORY, check=False, **more)


def build(arguments, name):
    """Builds the binary of one target, which serves for all; gives it."""
    if arguments.built:
        return Path(arguments.built).absolute()
    if not shutil.which("cargo-fuzz"):
        sys.exit("there is no cargo-fuzz: cargo install cargo-fuzz")
    folder = Path(arguments.keep or FUZZ / "target").absolute()
    command = ["cargo", "+nightly", "fuzz", "build", "--sanitizer", arguments.sanitizer, "--target-dir", folder]
    command += ["--dev"] if arguments.quick_build else []
    if run(*command, name).returncode:
        sys.exit("the targets cannot be built; is nightly Rust installed? (rustup toolchain install nightly)")
    profile = "debug" if arguments.quick_build else "release"
    return next(folder.glob(f"*/{profile}/{name}"))


def names(text):
    return [part.split('"')[0] for part in text.split('name = "')[2:]]


def first_inputs(folder):
    """Writes the inputs that the stable driver begins with, a folder for each target."""
    command = ["cargo", "run", "--quiet", "-p", "pinion-fuzz", "--", "--export", folder]
    if run(*command).returncode:
        sys.exit("the first inputs cannot be had")


def number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def keep(target, speed):
    """Writes the shortest inputs of a target into one file: of each its length, as four bytes, and its bytes."""
    inputs = sorted({path.read_bytes() for path in (FUZZ / "corpus" / target).iterdir()}, key=lambda it: (len(it), it))
    kept, most = b"", max(8, min(KEPT_MOST, KEPT_SECONDS * speed))
    for one in inputs[:most]:
        if len(kept) + len(one) + 4 > KEPT_BYTES:
            break
        kept += struct.pack("<I", len(one)) + one
    (FUZZ / "corpus" / f"{target}.seeds").write_bytes(kept)


def fuzz(program, target, seconds, seeds):
    """Lets a target take inputs; gives its row of the table, and whether all were answered."""
    corpus, artifacts = FUZZ / "corpus" / target, FUZZ / "artifacts" / target
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-timeout={HANGS_SECONDS}", f"-rss_limit_mb={MEMORY_MIB}", f"-max_len={LONGEST_BYTES}"]
    command = [program, corpus, seeds, f"-artifact_prefix={artifacts}/", f"-max_total_time={seconds}", *limits]
    chosen = {"env": {**os.environ, "PINION_FUZZ_TARGET": target}, "capture_output": True}
    done = run(*command, "-print_final_stats=1", **chosen, text=True, errors="replace")
    said = done.stderr
    # The fewest inputs that reach as much.
    with tempfile.TemporaryDirectory(prefix="pinion-coverage-", dir=FUZZ) as few:
        if run(program, "-set_cover_merge=1", *limits, few, corpus, seeds, **chosen).returncode == 0:
            shutil.rmtree(corpus)
            shutil.copytree(few, corpus)
            keep(target, number(r"average_exec_per_sec: +(\d+)", said))
    edges = number(r"\((\d+) inline 8-bit counters\)", said) or number(r"(\d+) inline 8-bit counters", said)
    row = (
        number(r"number_of_executed_units: (\d+)", said),
        number(r"average_exec_per_sec: +(\d+)", said),
        number(r"cov: (\d+)", said),
        edges,
        len(list(corpus.iterdir())),
    )
    if done.returncode:
        print(said[-3000:])
    return row, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--sanitizer", default="none", help="what is built in: none or address")
    parser.add_argument("--quick-build", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER", help="where the build goes [default: fuzz/target]")
    parser.add_argument("--built", metavar="PROGRAM", help="what an earlier run has built")
    parser.add_argument("--seeds", metavar="FOLDER", help="the first inputs, written before")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    arguments = parser.parse_args()
    known = names((FUZZ / "Cargo.toml").read_text())
    if unknown := [target for target in arguments.targets if target not in known]:
        sys.exit(f"there is no target {unknown[0]}; there are {', '.join(known)}")
    program, failed = build(arguments, known[0]), []
    with tempfile.TemporaryDirectory(prefix="pinion-seeds-") as seeds:
        if arguments.seeds:
            seeds = arguments.seeds
        else:
            first_inputs(seeds)
        print(f"{'target':18} {'executions':>11} {'per s':>7} {'edges':>7} {'of':>8} {'inputs':>7}", flush=True)
        for target in arguments.targets or known:
            row, is_well = fuzz(program, target, arguments.seconds, Path(seeds) / target)
            executed, speed, reached, edges, kept = row
            print(
                f"{target:18} {executed:11} {speed:7} {reached:7} {edges:8} {kept:7}{'' if is_well else '  FAIL'}",
                flush=True,
            )
            failed += [] if is_well else [target]
    if failed:
        sys.exit(f"wrong answers: {', '.join(failed)}; the inputs lie in fuzz/artifacts")


if __name__ == "__main__":
    main()
