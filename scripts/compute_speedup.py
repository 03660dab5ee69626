#!/usr/bin/env python3
"""Runs the compute examples on more and more cores: tables of times, and a chart of speed-ups.

    python3 scripts/compute_speedup.py [--pinion PATH] [--out FOLDER]

Writes compute-speedup.csv and compute-speedup.svg into the folder (default: the book's figures) and
prints the tables of docs/src/compute.md. Takes some minutes.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLES = REPOSITORY / "examples"
sys.path.insert(0, str(REPOSITORY / "tests"))
import chart  # noqa: E402
from common import find_pinion  # noqa: E402

CYCLES_PER_US = 3200
NODES = [1, 2, 4, 8, 16]
# Nodes of the network's three layers.
LAYOUTS = [(1, 1, 1), (2, 1, 1), (3, 2, 1), (6, 4, 2), (12, 8, 2)]


def node(example, name, count, *args, ends=False):
    listed = ", ".join(f'"{arg}"' for arg in args)
    return f"""[[node]]
name = "{name}"
app = "{EXAMPLES / example / name}"
count = {count}
args = [{listed}]
ends = {str(ends).lower()}
"""


def run(pinion, example, shown, *nodes):
    """Runs a cluster; gives the lines that a node printed."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # One core alone sends nothing for long.
        text = f'[cluster]\nname = "{example}"\npatience = 100_000_000\n' + "".join(nodes)
        (folder / "cluster.toml").write_text(text)
        summary = folder / "summary.json"
        command = [str(pinion), "run", str(folder), "--quiet", "--json", str(summary)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        nodes = json.loads(summary.read_text())["nodes"]
    return next(entry["console"] for entry in nodes if entry["name"] == shown)


def number(pattern, text):
    return [int(found) for found in re.findall(pattern, text)]


def neural(pinion):
    """Cycles a digit: on one core, one at a time, eight at a time."""
    for nodes in LAYOUTS:
        cores = [min(4 * count, neurons) for count, neurons in zip(nodes, (48, 32, 8))]
        text = (
            'name = "%s"\napp = "%s/nanopu_neural/layer"\ncount = %d\n'
            'args = ["%d", "{index}", "%d", "{%s}", "%d"]\n'
        )
        names, following = ("first", "second", "third"), ("second", "third", "client")
        layers = [
            "[[node]]\n" + text % (names[i], EXAMPLES, nodes[i], i + 1, nodes[i], following[i], last)
            for i, last in enumerate((cores[1], cores[2], 1))
        ]
        client = node("nanopu_neural", "client", 1, "{first}", cores[0], 10, ends=True)
        console = run(pinion, "neural", "client", client, *layers)
        one, single = re.search(r"one core: (\d+) .* layers: (\d+)", console).groups()
        yield sum(cores), int(one), int(single), number(r"8 at a time: (\d+)", console)[0]


def othello(pinion):
    """Cycles for seven steps from the opening, four of them at the root."""
    opening = ("0x0000000810000000", "0x0000001008000000")
    for count in NODES:
        example = "nanopu_othello_search"
        root = node(example, "root", 1, "{worker}", count, *opening, 7, 4, ends=True)
        console = run(pinion, "othello", "root", root, node(example, "worker", count))
        yield 4 * count, number(r"(\d+) cycles", console)[0]


def sets(pinion):
    """Cycles a query: one at a time, four at a time."""
    for count in NODES:
        example = "nanopu_sets"
        client = node(example, "client", 1, "{root}", 40, 1, ends=True)
        root = node(example, "root", 1, "{leaf}", count)
        leaf = node(example, "leaf", count, "{index}", count)
        console = run(pinion, "sets", "client", client, root, leaf)
        yield 4 * count, *number(r"(\d+) cycles a query", console)


def barnes_hut(pinion):
    """Cycles of a step of 512 bodies."""
    for cores in (1, *(4 * count for count in NODES)):
        example, nodes = "nanopu_barnes_hut", (cores + 3) // 4
        root = node(example, "root", 1, "{worker}", cores, 512, 1, ends=True)
        arguments = ("{root}", "{worker}", "{index}", cores, 512, 500, 10)
        console = run(pinion, "barnes_hut", "root", root, node(example, "worker", nodes, *arguments))
        found = re.search(r"step 1: (\d+) cycles: build (\d+), forces (\d+)", console)
        yield cores, *(int(cycles) for cycles in found.groups())


def show(title, head, rows):
    print(f"\n{title}\n\n| cores | {' | '.join(head)} |\n|--:|{'--:|' * len(head)}")
    for cores, *cycles in rows:
        print(f"| {cores} | " + " | ".join(f"{c / CYCLES_PER_US:,.2f}" for c in cycles) + " |", flush=True)


def draw(found, path):
    """Draws speed-ups over four cores, both axes by doublings."""
    names = {"othello": "Othello", "barnes_hut": "Barnes–Hut", "sets": "sets, one at a time"}
    curves = []
    for name, title in names.items():
        points = [(row[0], row[1]) for row in found[name] if row[0] >= 4]
        curves.append((title, [(cores, points[0][1] / cycles) for cores, cycles in points], "o-"))
    every = sorted({cores for _, points, _ in curves for cores, _ in points})
    curves.append(("as many times as cores", [(cores, cores / 4) for cores in every], "--"))
    title = "Speed-up over one node of four cores"
    panel = chart.Panel(title, "cores of the workers", curves)
    chart.draw(path, panel)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", help="the command to run [default: the newest in target/]")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs/src/figures")
    arguments = parser.parse_args()
    chart.need()
    pinion = find_pinion(arguments.pinion)
    tables = {
        "neural": ("Neural network, µs a digit", ["one core", "one at a time", "eight at a time"]),
        "othello": ("Othello, µs", ["seven steps from the opening"]),
        "sets": ("Set intersection, µs a query", ["one at a time", "four at a time"]),
        "barnes_hut": ("Barnes–Hut, µs", ["a step of 512 bodies", "build", "forces"]),
    }
    found = {}
    for name, (title, head) in tables.items():
        found[name] = list(globals()[name](pinion))
        show(title, head, found[name])
    rows = [(name, *row) for name, table in found.items() for row in table]
    with (arguments.out / "compute-speedup.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["application", "cores", "what", "cycles"])
        for name, cores, *cycles in rows:
            writer.writerows(zip([name] * 3, [cores] * 3, tables[name][1], cycles))
    draw(found, arguments.out / "compute-speedup.svg")


if __name__ == "__main__":
    main()
