#!/usr/bin/env python3
"""Measures what large clusters cost: memory, time to boot and ask once, time per simulated time.

    python3 scripts/scale.py [--pinion PATH] [--nodes 16,64,256,1024] [--threads 1,2] [--requests 40]
                             [--work 100] [--repeat 3]

Runs examples/cluster_rpc. Each size is run twice, with one request per node and with --requests more:
the first is what booting and one remote procedure call of every node cost; the difference is what
simulated time costs when all nodes ask and answer, without start-up. Of --repeat runs the one that
took the least processor time counts. With `--threads 1,2` the last columns compare wall time with that
of one thread. Use a build that is optimised (cargo build --release).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
CYCLES_PER_US = 3200


def run(pinion, nodes, threads, requests, work, folder):
    """Runs the cluster once; gives simulated cycles, wall seconds, processor seconds, peak MiB."""
    arguments = ["{index}", "{peer}", "{peer.count}", str(requests), str(work)]
    summary = folder / "summary.json"
    command = [str(pinion), "run", str(REPOSITORY / "examples/cluster_rpc"), "--quiet"]
    command += ["--threads", str(threads), "--json", str(summary)]
    command += ["--set", f"peer.count={nodes}", "--set", f"peer.args={json.dumps(arguments)}"]
    with tempfile.TemporaryFile() as out:
        started = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            out.seek(0)
            sys.exit(f"{' '.join(command)}: {out.read().decode()}")
    told = json.loads(summary.read_text())
    answers = sum(f"{requests} answers" in node["console"] for node in told["nodes"])
    if answers != nodes:
        sys.exit(f"only {answers} of {nodes} nodes got their answers")
    return told["cycles"], wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(runs):
    """The run that took the least processor time."""
    return min(runs, key=lambda one: one[2])


def measure(options, nodes, threads, folder):
    """Measures one size; gives the row's numbers."""
    shape = (options.pinion, nodes, threads)
    few, many = 1, 1 + options.requests
    once = best(run(*shape, few, options.work, folder) for _ in range(options.repeat))
    more = best(run(*shape, many, options.work, folder) for _ in range(options.repeat))
    microseconds = (more[0] - once[0]) / CYCLES_PER_US
    return {
        "boot": once,
        "wall": 1e3 * (more[1] - once[1]) / microseconds,
        "processor": 1e3 * (more[2] - once[2]) / microseconds,
    }


def main():
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", type=Path, default=REPOSITORY / "target/release/pinion")
    parser.add_argument("--nodes", type=numbers, default=[16, 64, 256, 1024])
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--work", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(
        "  nodes  threads  boot + 1 RPC, s  processor    MiB  KiB/node  ms per simulated us"
        "  processor  us/us and node  speed-up"
    )
    with tempfile.TemporaryDirectory(prefix="pinion-scale-") as folder:
        run(options.pinion, 2, 1, 1, options.work, Path(folder))  # builds the program
        for nodes in options.nodes:
            single = None
            for threads in options.threads:
                row = measure(options, nodes, threads, Path(folder))
                single = single or row["wall"]
                _, wall, processor, mib = row["boot"]
                print(
                    f"{nodes:7} {threads:8} {wall:16.2f} {processor:10.2f} {mib:6.0f}"
                    f" {1024 * mib / nodes:9.0f} {row['wall']:20.3f} {row['processor']:10.3f}"
                    f" {1e3 * row['processor'] / nodes:15.2f} {single / row['wall']:9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
