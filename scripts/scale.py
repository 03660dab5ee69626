#!/usr/bin/env python3
"""Measures what large clusters cost: memory, time to boot and ask once, time per simulated time.

    python3 scripts/scale.py [--pinion PATH] [--nodes 16,64,256,1024] [--threads 1,2] [--requests 40]
                             [--work 100] [--repeat 3]
    python3 scripts/scale.py --curves FOLDER [--pinion PATH] [--nodes 1024,4096,16384,65536]
                             [--ranks 1,2,4] [--repeat 1]

Runs examples/cluster_rpc. Each size is run twice, with one request per node and with --requests more:
the first is what booting and one remote procedure call of every node cost; the difference is what
simulated time costs when all nodes ask and answer, without start-up. Of --repeat runs the one that
took the least processor time counts. With `--threads 1,2` the last columns compare wall time with that
of one thread. Use a build that is optimised (cargo build --release).

--curves runs examples/cluster_datacentre instead, in which every node asks one other, and writes what a node
costs into FOLDER as cluster-cost.csv and cluster-cost.svg. Behind it, with --ranks, stands mpirun with so many
processes of one thread each; memory and processor time are those of all of them together. 65,536 nodes take
seven GiB and some minutes.
"""

import argparse
import csv
import json
import math
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


def boot(pinion, nodes, ranks, folder):
    """Runs the data centre once; gives the row of what it costs."""
    summary = folder / "summary.json"
    command = [str(pinion), "run", str(REPOSITORY / "examples/cluster_datacentre"), "--quiet"]
    command += ["--threads", "1", "--set", f"server.count={nodes}", "--json", str(summary)]
    if ranks > 1:
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command]
    # What is waited for is in usage; the largest of the ranks stands for each of them.
    before = os.times()
    started = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status):
            out.seek(0)
            sys.exit(f"{' '.join(command)}: {out.read().decode()}")
    wall, after = time.monotonic() - started, os.times()
    processor = sum(after[2:4]) - sum(before[2:4])
    told = json.loads(summary.read_text())
    return {
        "nodes": nodes,
        "ranks": ranks,
        "simulated_us": round(told["cycles"] / CYCLES_PER_US, 3),
        "processor_s": round(processor, 2),
        "wall_s": round(wall, 2),
        "memory_mib": round(ranks * usage.ru_maxrss / 1024, 1),
    }


def chart(rows):
    """What a node costs over their number, by ranks: both axes of time and memory by doublings."""
    left, bottom, width, height = 70, 330, 420, 240
    sizes = [math.log2(row["nodes"]) for row in rows]
    first, span = min(sizes), max(max(sizes) - min(sizes), 1)
    kinds = [
        ("ms of processor time a node", "processor_s", 1e3, "#0072b2"),
        ("KiB a node", "memory_mib", 1024, "#d55e00"),
    ]
    values = [factor * row[key] / row["nodes"] for _, key, factor, _ in kinds for row in rows]
    low = math.floor(math.log2(max(min(values), 1e-3)))
    high = max(math.ceil(math.log2(max(values))), low + 1)
    across = lambda nodes: left + width * (math.log2(nodes) - first) / span  # noqa: E731
    up = lambda value: bottom - height * (math.log2(value) - low) / (high - low)  # noqa: E731
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="560" height="400" font-family="sans-serif">',
        '<rect width="560" height="400" fill="white"/>',
        '<text x="24" y="28" font-size="17">What a node costs: boot, and one call</text>',
        '<text x="250" y="385" font-size="14">nodes</text>',
    ]
    for power in range(low, high + 1):
        y = up(2**power)
        lines.append(f'<path d="M{left} {y:.1f}h{width}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 40}" y="{y + 5:.1f}" font-size="13">{2.0**power:g}</text>')
    for nodes in sorted({row["nodes"] for row in rows}):
        x = across(nodes)
        lines.append(f'<path d="M{x:.1f} {bottom}v-{height}" stroke="#ddd"/>')
        lines.append(f'<text x="{x - 18:.1f}" y="{bottom + 22}" font-size="13">{nodes:,}</text>')
    for ranks in sorted({row["ranks"] for row in rows}):
        for name, key, factor, colour in kinds:
            these = [row for row in rows if row["ranks"] == ranks]
            places = [(across(r["nodes"]), up(factor * r[key] / r["nodes"])) for r in these]
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            dashes = "" if ranks == 1 else f' stroke-dasharray="{2 * ranks} 4"'
            lines.append(
                f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
            )
            x, y = places[-1]
            told = name if ranks == 1 else f"{ranks} ranks"
            lines.append(
                f'<text x="{x:.1f}" y="{y - 6:.1f}" font-size="13" text-anchor="end">{told}</text>'
            )
    return "\n".join(lines) + "\n</svg>\n"


def curves(options, folder):
    """Measures what a node costs, by the number of nodes and ranks; writes table and chart."""
    boot(options.pinion, 2, 1, folder)  # builds the program
    rows = []
    for ranks in options.ranks:
        for nodes in options.nodes or [1024, 4096, 16384, 65536]:
            runs = [boot(options.pinion, nodes, ranks, folder) for _ in range(options.repeat)]
            rows.append(min(runs, key=lambda row: row["processor_s"]))
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    options.curves.mkdir(parents=True, exist_ok=True)
    with (options.curves / "cluster-cost.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (options.curves / "cluster-cost.svg").write_text(chart(rows))


def main():
    numbers = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", type=Path, default=REPOSITORY / "target/release/pinion")
    parser.add_argument("--nodes", type=numbers)
    parser.add_argument("--threads", type=numbers, default=[1])
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--work", type=int, default=100)
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--curves", type=Path, metavar="FOLDER")
    parser.add_argument("--ranks", type=numbers)
    options = parser.parse_args()
    if options.ranks and not options.curves:
        parser.error("--ranks is for --curves")
    if options.curves:
        options.ranks, options.repeat = options.ranks or [1], options.repeat or 1
        with tempfile.TemporaryDirectory(prefix="pinion-scale-") as folder:
            return curves(options, Path(folder))
    options.nodes, options.repeat = options.nodes or [16, 64, 256, 1024], options.repeat or 3
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
