#!/usr/bin/env python3
"""Runs what `cargo test` runs, its binaries side by side.

    python3 scripts/cargo_test.py [--jobs N] [CARGO OPTION]...

cargo runs one test binary after the other, each with a thread for every processor: where one waits for its
last test, or has a single one, the other processors do nothing, a quarter of the time in all. Here cargo
compiles and tests documentation; between the two, as many binaries as there are processors run side by side,
with half as many threads each, the longest first. What one prints comes whole, when it has ended. As with
cargo, a test begins in its package's folder. Exit status 0 if all pass.
"""

import argparse
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
# Which begin first, by their targets: those that take longest.
LONGEST = ["in_the_loop", "figure_fpspin", "nanoservice_blocks", "check", "profile", "differential"]
LONGEST += ["figure_pspin", "nanoservice_run"]


def compiled(options):
    """Compiles; gives what cargo would run: target, folder of its package, path."""
    command = ["cargo", "test", "--no-run", *options]
    print(f"   {shlex.join(command)}", flush=True)
    done = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        sys.exit(done.returncode)
    found = []
    for line in done.stdout.splitlines():
        told = json.loads(line)
        if told.get("executable") and told["profile"]["test"]:
            folder = Path(told["manifest_path"]).parent
            found.append((told["target"]["name"], folder, told["executable"]))
    return found


def in_turn(binaries):
    """The order in which they begin."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    return sorted(binaries, key=lambda binary: rank.get(binary[0], len(LONGEST)))


def libraries():
    """Where Rust's own libraries lie, for what links them when it starts: as cargo tells its tests."""
    root = subprocess.run(
        ["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return ":".join(filter(None, [root, os.environ.get("LD_LIBRARY_PATH")]))


def run(binary, threads, environment):
    """Runs one; gives its exit status, what it printed, and seconds."""
    _, folder, path = binary
    started = time.monotonic()
    done = subprocess.run(
        [path, f"--test-threads={threads}"],
        cwd=folder,
        env={**environment, "CARGO_MANIFEST_DIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout, time.monotonic() - started


def run_all(binaries, jobs, threads, environment, write):
    """Runs them; gives those that failed."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        work = {pool.submit(run, binary, threads, environment): binary for binary in binaries}
        for one in concurrent.futures.as_completed(work):
            name, folder, path = work[one]
            status, output, seconds = one.result()
            write(f"\n     Running {name} of {folder.name} ({path}), {seconds:.1f} s\n".encode())
            write(output)
            if status:
                write(f"{name} of {folder.name}: exit status {status}\n".encode())
                failed.append(f"{name} of {folder.name}")
    return failed


def write_through(data):
    """Prints at once."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    arguments, options = parser.parse_known_args()
    binaries = in_turn(compiled(options))
    jobs = max(1, arguments.jobs)
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries()}
    failed = run_all(binaries, jobs, max(1, jobs // 2), environment, write_through)
    documented = subprocess.run(["cargo", "test", "--doc", *options], cwd=REPOSITORY, check=False)
    if documented.returncode:
        failed.append("documentation")
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
