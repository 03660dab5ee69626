#!/usr/bin/env python3
"""Measures how much memory traces of growing size take: what is held must not grow with the file.

    python3 tests/tracks/memory.py --pinion target/release/pinion [--bytes 1e9]

Runs `cluster_echo` with ever more requests of its clients, each run ten times the one before, until a
trace has so many bytes; prints for each the file's bytes and the process's largest resident memory. Not
part of `make test`: a gigabyte takes minutes. Exit status 1 when the largest trace took more than twice
the memory of the smallest.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FIRST_REQUESTS = 100
GROWTH = 10


def traced(pinion, requests, file):
    """Bytes of a trace, and the most memory that writing it took, in KiB."""
    arguments = f'client.args=["{{server}}", "{{index}}", "{requests}"]'
    command = [pinion, "trace", REPOSITORY / "examples/cluster_echo", "--quiet", "--set", arguments]
    command = list(map(str, [*command, "--threads", "1", "--perfetto", file]))
    child = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return file.stat().st_size, usage.ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pinion", required=True, type=Path)
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the largest trace")
    arguments = parser.parse_args()
    requests, rows = FIRST_REQUESTS, []
    with tempfile.TemporaryDirectory() as folder:
        while not rows or rows[-1][0] < arguments.bytes:
            rows.append(traced(arguments.pinion, requests, Path(folder) / "trace.pftrace"))
            size, memory = rows[-1]
            print(f"{requests:>10} requests {size / 1e6:>10.1f} MB trace {memory / 1024:>8.1f} MiB", flush=True)
            requests = int(requests * min(GROWTH, max(2, 1.05 * arguments.bytes / size)))
    return int(rows[-1][1] > 2 * rows[0][1])


if __name__ == "__main__":
    sys.exit(main())
