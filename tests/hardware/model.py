#!/usr/bin/env python3
"""Runs the dispatcher in step with the model's, on random traffic, and the HPU's core, on random programs.

    python3 tests/hardware/model.py [--pinion FILE] [--packets N] [--programs N] [--seed N]

`pinion trace` tells of a run with payload handlers only, tests/hardware/busy, that keeps all HPUs busy, in
which cycle each task leaves the MPQ engine for which cluster, and each packet is done. Tasks and
completions go into the Verilated unit in these cycles, and compared are, for each task, that the unit
takes it in that cycle and to which cluster it gives it. The trace does not tell when a task waits, nor when a
cluster's entrance is full: clusters are said to take tasks always.

The core runs handlers of random instructions, some of which trap; compared are each instruction, what it
writes, and the cycles to the next one. Exit status 0 when all is well.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
import core_model  # noqa: E402
import events  # noqa: E402
import replay  # noqa: E402
from common import REPOSITORY, Difference, Skip, check  # noqa: E402
from lockstep import Block  # noqa: E402
from tools import HARDWARE, scratch  # noqa: E402

# The MPQs of the machine, of which each message here has that of its number.
QUEUES = 256
PACKETS_OF_MESSAGE = 8
LINE = re.compile(r"\s*[\d.]+\s+(\d+)\s+\S+ # (.*)")
WRITTEN = re.compile(r"packet (\d+) of message (\d+) is written")
TASK = re.compile(r"a task for packet (\d+) goes to cluster (\d+)")
DONE = re.compile(r"packet (\d+) is done")
NAME = "dispatcher"
CORE = "hpu_core"


def traced(pinion, packets, seed, folder):
    """The run's events: (cycle, text) in order."""
    messages = packets // PACKETS_OF_MESSAGE
    traffic = (
        f"udp,size=64:4/256:2/512:1,messages={messages},packets={PACKETS_OF_MESSAGE},"
        "order=interleaved:16,rate=400g"
    )
    text = folder / "trace.txt"
    done = subprocess.run(
        [
            *(pinion, "trace", FOLDER / "busy", "--no-instructions", "--generate", traffic),
            *("--seed", str(seed), "--set", f"mpq.count={QUEUES}", "--out", text),
            *("--build-dir", folder / "build"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"pinion ended with {done.returncode}: {done.stderr}")
    with text.open() as lines:
        for line in lines:
            if found := LINE.match(line):
                yield int(found[1]), found[2]


def cycles(happened):
    """What goes in and out of the dispatcher in each cycle."""
    message, given_to, rows = {}, {}, {}
    for at, text in happened:
        if found := WRITTEN.match(text):
            message[int(found[1])] = int(found[2])
        elif found := TASK.match(text):
            packet, cluster = int(found[1]), int(found[2])
            given_to[packet] = cluster
            home = message[packet] % QUEUES % events.CLUSTERS
            task = {"task_valid": 1, "task_ready": 1, "task_home": home, "task_data": packet}
            task |= {"cluster_valid": 1 << cluster, "cluster_task": packet}
            rows.setdefault(at, {}).update(task)
        elif found := DONE.match(text):
            completion = {"completion_valid": 1, "completion_cluster": given_to[int(found[1])]}
            rows.setdefault(at, {}).update(completion)
    end = max(rows) + 1
    tasks = [row for row in rows.values() if "task_home" in row]
    away = sum(row["cluster_valid"] != 1 << row["task_home"] for row in tasks)
    print(f"{len(tasks)} tasks in {end} cycles, {away} not to their home cluster", flush=True)
    check(away, "all went to their home cluster, and nothing was tried")
    everyone = {"cluster_ready": (1 << events.CLUSTERS) - 1}
    return [everyone | rows.get(at, {}) for at in range(end)]


def compare(unit, rows):
    """Runs the unit beside its rows."""
    parameters, ports, _ = replay.UNITS[NAME]
    with scratch() as made:
        Block(NAME, unit, parameters, ports, Path(made)).run("model", rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pinion", default=REPOSITORY / "target/debug/pinion", metavar="FILE")
    parser.add_argument("--packets", type=int, default=100_000, metavar="N")
    parser.add_argument("--programs", type=int, default=60, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    units = tomllib.loads((HARDWARE / "units.toml").read_text())
    try:
        with tempfile.TemporaryDirectory() as folder:
            happened = traced(arguments.pinion, arguments.packets, arguments.seed, Path(folder))
            compare(units[NAME], cycles(happened))
            print(f"ok   {NAME} does what the model's does", flush=True)
            seeds = range(arguments.seed, arguments.seed + arguments.programs)
            compared = core_model.check_random(arguments.pinion, units[CORE], seeds, Path(folder) / CORE)
        print(f"ok   {CORE} does what the model's does, over {compared} instructions")
    except Skip as reason:
        print(f"skip model: {reason}")
    except (Difference, OSError) as problem:
        print(f"FAIL model: {problem}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
