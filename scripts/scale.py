#!/usr/bin/env python3
"""Measures what large clusters cost: memory, time to boot and ask once, time per simulated time.

    python3 scripts/scale.py [--pinion PATH] [--nodes 16,64,256,1024] [--threads 1,2] [--requests 40]
                             [--work 100] [--repeat 3]
    python3 scripts/scale.py --curves FOLDER [--pinion PATH] [--nodes 1024,4096,16384,65536]
                             [--threads 1,2] [--ranks 1,2,4] [--repeat 1]

Runs examples/cluster_rpc. Each size is run twice, with one request per node and with --requests more:
the first is what booting and one remote procedure call of every node cost; the difference is what
simulated time costs when all nodes ask and answer, without start-up. Of --repeat runs the one that
took the least processor time counts. With `--threads 1,2` the last columns compare wall time with that
of one thread. Use a build that is optimised (cargo build --release).

--curves runs examples/cluster_datacentre instead, in which every node asks one other, with so many threads and,
behind mpirun, with so many ranks of one thread each. All must give the same summary. What a node costs goes into
FOLDER as cluster-cost.csv and cluster-cost.svg; memory and processor time are those of all ranks together. With
one rank, one for each processor and two for each, cluster-machines.csv says what more machines like this one would
take. 65,536 nodes take seven GiB and some minutes for each way.
"""

import argparse
import csv
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))
import chart  # noqa: E402

CYCLES_PER_US = 3200
# The data centre's shortest cable (examples/cluster_datacentre/cluster.toml): ranks meet that often at most.
WINDOW_CYCLES = 140
# What a meeting of all ranks over Ethernet takes for each doubling of ranks: assumed, not measured.
MEETING_S = 50e-6
MACHINES = [1, 2, 4, 8, 16, 32, 64]


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


def boot(pinion, nodes, threads, ranks, folder, *options):
    """Runs the data centre once; gives the row of what it costs, and what came of it."""
    summary = folder / "summary.json"
    command = [str(pinion), "run", str(REPOSITORY / "examples/cluster_datacentre"), "--quiet"]
    command += ["--threads", str(threads), "--set", f"server.count={nodes}", "--json", str(summary)]
    command += options
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
    told = summary.read_bytes()
    microseconds = json.loads(told)["cycles"] / CYCLES_PER_US
    return {
        "nodes": nodes,
        "threads": threads,
        "ranks": ranks,
        "simulated_us": round(microseconds, 3),
        "processor_s": round(processor, 2),
        "wall_s": round(wall, 2),
        "memory_mib": round(ranks * usage.ru_maxrss / 1024, 1),
    }, hashlib.sha256(told).hexdigest()


def fit(rows, *columns):
    """Fits values as sums of columns, least squares, none of them negative: `rows` has (value, key)
    each, and a column gives its share of a key. Gives how much each column counts."""
    import numpy

    values = numpy.array([value for value, _ in rows])
    table = numpy.array([[column(key) for column in columns] for _, key in rows], float)
    kept = list(range(len(columns)))
    while True:
        found = numpy.linalg.lstsq(table[:, kept], values, rcond=None)[0]
        if min(found) >= 0:
            break
        del kept[int(found.argmin())]
    counts = [0.0] * len(columns)
    for column, count in zip(kept, found, strict=True):
        counts[column] = float(count)
    return counts


def on_machines(rows, starts, processors):
    """What machines of so many processors, a rank on each, would take by what ranks take on this one.

    `rows` are whole runs by ranks, `starts` runs that end at once. What these take is what one rank does
    alone, what each does of the whole, and what they share; ranks on one processor take turns. The
    rest, cycles that are simulated, is shared by machines as it is by two such on one computer: twice the
    ranks on the same processors say what doubling them loses. Memory, of the largest rank, is what each has
    and what they share. Gives rows."""
    by_ranks = {row["ranks"]: row for row in rows if row["threads"] == 1}
    alone, each, shared = fit(
        [(row["wall_s"], row["ranks"]) for row in starts],
        lambda ranks: 1,
        lambda ranks: max(ranks / processors, 1),
        lambda ranks: 1 / min(ranks, processors),
    )
    own, of_all = fit(
        [(row["memory_mib"] / ranks, ranks) for ranks, row in by_ranks.items()],
        lambda ranks: 1,
        lambda ranks: 1 / ranks,
    )
    simulated = {row["ranks"]: by_ranks[row["ranks"]]["wall_s"] - row["wall_s"] for row in starts}
    once, doubled = simulated[processors], simulated[2 * processors]
    loss = max(doubled / once, 1)
    windows = rows[0]["simulated_us"] * CYCLES_PER_US / WINDOW_CYCLES
    found = []
    for machines in MACHINES:
        ranks = machines * processors
        parts = {
            "alone_s": alone,
            "each_s": each,
            "shared_s": shared / ranks,
            "simulated_s": once / machines * loss ** math.log2(machines),
            "meetings_s": windows * MEETING_S * math.log2(ranks),
        }
        row = {"nodes": rows[0]["nodes"], "machines": machines, "ranks": ranks}
        row |= {name: round(seconds, 2) for name, seconds in parts.items()}
        row["wall_s"] = round(sum(parts.values()), 2)
        row["mib_of_the_largest"] = round(own + of_all / ranks)
        found.append(row)
    return found


def write_table(path, rows):
    """Writes rows that have the same columns."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def panels(rows, extrapolated):
    """What a node costs over their number, and what more machines would take."""
    ways = list(dict.fromkeys((row["threads"], row["ranks"]) for row in rows))

    def curves(key, factor):
        for way in ways:
            of_way = [row for row in rows if (row["threads"], row["ranks"]) == way]
            points = [(row["nodes"], factor * row[key] / row["nodes"]) for row in of_way]
            threads, ranks = way
            told = "a thread" if threads == 1 else f"{threads} threads"
            yield told if ranks == 1 else f"{ranks} ranks of {told}", points, "o-"

    shown = [
        chart.Panel("processor time, ms a node", "nodes", [*curves("processor_s", 1e3)], from_zero=True),
        chart.Panel("memory, KiB a node", "nodes", [*curves("memory_mib", 1024)], from_zero=True),
    ]
    if extrapolated:
        names = {"wall_s": "in all, extrapolated", "simulated_s": "of it simulated cycles"}
        lines = [
            (told, [(row["machines"], row[name]) for row in extrapolated], "o--")
            for name, told in names.items()
        ]
        shown.append(chart.Panel(f"seconds, {rows[-1]['nodes']:,} nodes", "machines", lines))
    return shown


def curves(options, folder):
    """Measures what a node costs, by the number of nodes, threads and ranks; writes tables and chart."""
    chart.need()
    boot(options.pinion, 2, 1, 1, folder)  # builds the program
    ways = dict.fromkeys([*((threads, 1) for threads in options.threads), *((1, n) for n in options.ranks)])
    rows = []
    for nodes in options.nodes or [1024, 4096, 16384, 65536]:
        summaries = set()
        for threads, ranks in ways:
            runs = [boot(options.pinion, nodes, threads, ranks, folder) for _ in range(options.repeat)]
            rows.append(min((row for row, _ in runs), key=lambda row: row["processor_s"]))
            print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
            summaries.update(one for _, one in runs)
            if len(summaries) > 1:
                sys.exit(f"{nodes} nodes: {threads} threads and {ranks} ranks give another summary")
    options.curves.mkdir(parents=True, exist_ok=True)
    write_table(options.curves / "cluster-cost.csv", rows)
    extrapolated = more_machines(options, rows, folder)
    if extrapolated:
        write_table(options.curves / "cluster-machines.csv", extrapolated)
    chart.draw(options.curves / "cluster-cost.svg", *panels(rows, extrapolated))


def more_machines(options, rows, folder):
    """What more machines would take for the largest size; nothing, where too few ranks were measured."""
    nodes, processors = rows[-1]["nodes"], os.cpu_count()
    wanted = {1, processors, 2 * processors}
    if not wanted <= set(options.ranks):
        told = ",".join(str(ranks) for ranks in sorted(wanted))
        print(f"not extrapolated to more machines, which wants --ranks {told}")
        return []
    starts = [
        boot(options.pinion, nodes, 1, ranks, folder, "--cycles", "1")[0] for ranks in options.ranks
    ]
    return on_machines([row for row in rows if row["nodes"] == nodes], starts, processors)


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
