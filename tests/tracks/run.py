#!/usr/bin/env python3
"""Asks traces for Perfetto what the runs themselves say: counts, sums, flows from end to end.

    python3 tests/tracks/run.py [--pinion PATH] [--keep FOLDER] [NAME]...

Each question is a query in SQL. It is asked of our own reading of the file (decode.py), and once more of
Perfetto's trace_processor, if PyPI's `perfetto` is installed (`pip install perfetto`) and has its program:
the package brings none and loads it from Google's storage at first use; TRACE_PROCESSOR=FILE names one
that is there. Without, that half is left out, and the output says why. Exit status 0 when all is as it
must be.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
import decode  # noqa: E402
from common import REPOSITORY, Difference, Skip, check, find_pinion, installed_compilers  # noqa: E402

# Waits for trace_processor's program so many seconds.
PATIENCE = 60

# Slices of the node's tracks at its cable, by node: a node's tracks lie below one with its name.
PINS = """
    select substr(root.name || ':', 1, instr(root.name || ':', ':') - 1) as node, count(*) as frames
    from slice join track on slice.track_id = track.id join track root on track.parent_id = root.id
    where track.name = 'Pins, {way}' group by node order by node"""
# Pairs of slices that a chain of arrows joins, from those on some tracks to the next on others.
REACHES = """
    with recursive reach(first, last, there) as (
        select slice.id, slice.id, 0 from slice join track on slice.track_id = track.id
        where track.name like '{tracks}'
        union select reach.first, flow.slice_in, track.name like '{to}'
        from reach join flow on flow.slice_out = reach.last
        join slice on slice.id = flow.slice_in join track on slice.track_id = track.id
        where reach.there = 0
    )
    select count(distinct reach.{end}) as found from reach where there = 1"""
LEFT_AND_ARRIVED = REACHES.format(tracks="Pins, out", to="Pins, in", end="last")
# A frame is on its cable until its last flit is in: its slice there ends with the one at the pins.
CABLE_INTO_PINS = """
    select count(*) as frames, sum(cable.ts + cable.dur != pins.ts + pins.dur) as wrong,
        sum(cable.ts > pins.ts) as early
    from flow join slice cable on flow.slice_out = cable.id join slice pins on flow.slice_in = pins.id
    join track over on cable.track_id = over.id join track at on pins.track_id = at.id
    where over.name like 'Cable from %' and at.name = 'Pins, in'"""
# A frame leaves a switch's queue when its cable has its first flit.
QUEUE_INTO_CABLE = """
    select count(*) as frames, sum(queue.ts + queue.dur != cable.ts) as wrong
    from flow join slice queue on flow.slice_out = queue.id join slice cable on flow.slice_in = cable.id
    join track at on queue.track_id = at.id join track over on cable.track_id = over.id
    where over.name like 'Cable from %' and at.name like 'To %'"""
LAST_OF_COUNTERS = """
    select track.name as name, counter.value as value, min(counter.value) as least from counter
    join track on counter.track_id = track.id
    where counter.id in (select max(id) from counter group by track_id) group by counter.track_id
    having value != 0 or least < 0"""
UNENDED = "select count(*) as slices from slice where dur < 0"
LATER_TO_EARLIER = """
    select count(*) as flows from flow join slice a on flow.slice_out = a.id
    join slice b on flow.slice_in = b.id where a.ts > b.ts"""
NAMED = "select count(*) as slices from slice where name like '{name}'"
ON_TRACK = """
    select count(*) as slices from slice join track on slice.track_id = track.id
    where track.name like '{track}' and slice.name = '{name}'"""
# Messages that a hart took and that come of what another hart wrote.
THERE_AND_BACK = REACHES.format(tracks="Hart 0", to="Hart 0", end="last")


class Ours:
    """Our own reading of a trace."""

    name = "decoded"

    def __init__(self, path):
        self.database, stray_ends = decode.load(path.read_bytes())
        check(stray_ends == 0, f"{stray_ends} flows end without a beginning")

    def ask(self, query):
        cursor = self.database.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]

    def close(self):
        self.database.close()


class Theirs:
    """Perfetto's trace_processor."""

    name = "trace_processor"

    def __init__(self, path):
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

        config = TraceProcessorConfig(bin_path=os.environ.get("TRACE_PROCESSOR"))
        self.processor = TraceProcessor(trace=str(path), config=config)
        errors = "select name, value from stats where severity = 'error' and value > 0"
        found = {row.name: row.value for row in self.processor.query(errors)}
        check(not found, f"trace_processor finds fault with the file: {found}")

    def ask(self, query):
        return [dict(row.__dict__) for row in self.processor.query(query)]

    def close(self):
        self.processor.close()


def why_not_theirs():
    """Why trace_processor cannot be asked, if it cannot."""
    if importlib.util.find_spec("perfetto") is None:
        return "PyPI's `perfetto` is not installed: pip install perfetto"
    if "TRACE_PROCESSOR" in os.environ:
        return None
    script = "from perfetto.trace_processor import TraceProcessor as T; T().close()"
    try:
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"its program did not come within {PATIENCE} s: TRACE_PROCESSOR=FILE names one"
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"its program cannot be loaded ({' '.join(last)[:120]}): TRACE_PROCESSOR=FILE names one"
    return None


class Bench:
    """Runs examples with and without a trace."""

    def __init__(self, pinion, folder):
        self.pinion, self.folder, self.traced = pinion, folder, {}

    def run(self, example, *options):
        """The summary of a run, and the file of its trace."""
        key = (example, options)
        if key not in self.traced:
            place = self.folder / str(len(self.traced))
            place.mkdir(exist_ok=True)
            app = REPOSITORY / "examples" / example
            files = ["--json", place / "run.json", "--perfetto", place / "trace.pftrace"]
            command = [self.pinion, "trace", app, "--quiet", *options, *files]
            done = subprocess.run(
                list(map(str, command)), capture_output=True, text=True, check=False, timeout=600
            )
            check(done.returncode == 0, f"{' '.join(map(str, command))}:\n{done.stderr}")
            summary = json.loads((place / "run.json").read_text())
            self.traced[key] = (summary, place / "trace.pftrace")
        return self.traced[key]


def value(trace, query):
    """The only value of the only row of an answer."""
    rows = trace.ask(query)
    check(len(rows) == 1, f"{len(rows)} rows of\n{query}")
    return next(iter(rows[0].values()))


def whole(trace):
    """Checks what holds for every trace of a run that has ended."""
    check(value(trace, UNENDED) == 0, "slices have no end")
    check(value(trace, LATER_TO_EARLIER) == 0, "arrows lead back in time")
    counters = trace.ask(LAST_OF_COUNTERS)
    check(not counters, f"counters that do not end at 0, or are less: {counters}")


def frames(trace, summary):
    """Checks frames of a cluster against the counts of its run."""
    for way, key in (("in", "frames_in"), ("out", "frames_out")):
        traced = {row["node"]: row["frames"] for row in trace.ask(PINS.format(way=way))}
        counted = {node["name"]: node[key] for node in summary["nodes"] if node[key]}
        check(traced == counted, f"frames {way}: {traced}, the run has {counted}")
    (row,) = trace.ask(CABLE_INTO_PINS)
    arrived = sum(node["frames_in"] for node in summary["nodes"])
    check(row == {"frames": arrived, "wrong": 0, "early": 0}, f"cables into pins: {row}, {arrived}")
    (row,) = trace.ask(QUEUE_INTO_CABLE)
    left = sum(switch["frames_out"] for switch in summary["network"]["switches"])
    check(row["wrong"] in (0, None), f"queues into cables: {row}")
    check(row["frames"] == left, f"queues into cables: {row}, switches sent {left}")


def test_cluster(bench):
    summary, path = bench.run("cluster_echo", "--threads", "2")

    def ask(trace):
        whole(trace)
        frames(trace, summary)
        arrived = sum(node["frames_in"] for node in summary["nodes"])
        check(value(trace, LEFT_AND_ARRIVED) == arrived, "frames that left are not those that came")
        # All but the clients' first come of a hart's message: of a request, or of an answer.
        there = value(trace, THERE_AND_BACK)
        messages = sum(node["messages_in"] for node in summary["nodes"])
        clients = len(summary["nodes"]) - 1
        check(there == messages - clients, f"{there} of {messages} messages come of others")

    return path, ask


def test_switches_of_a_fat_tree(bench):
    summary, path = bench.run("cluster_datacentre", "--set", "server.count=8")

    def ask(trace):
        whole(trace)
        frames(trace, summary)

    return path, ask


def test_nic_in_a_cluster(bench):
    summary, path = bench.run("cluster_filter")

    def ask(trace):
        whole(trace)
        frames(trace, summary)
        filters = [node for node in summary["nodes"] if node["name"] == "filter"]
        taken = filters[0]["messages_in"]
        done = value(trace, NAMED.format(name="packet is done"))
        check(done == taken, f"{done} packets are done, the NIC took {taken}")
        handled = value(trace, REACHES.format(tracks="Pins, in", to="HPU %", end="last"))
        ran = sum(handler["runs"] for handler in filters[0]["details"]["handlers"])
        check(handled == ran, f"frames lead to {handled} handlers of {ran}")

    return path, ask


def test_what_faults_drop(bench):
    link = "loss=0.02,corrupt=0.01,dup=0.01,reorder=0.01,seed=3"
    summary, path = bench.run("cluster_echo", "--link", link)

    def ask(trace):
        cables = summary["network"]["cables"]
        for key, words in (("lost", "frame is lost%"), ("damaged", "%damaged on the cable")):
            counted = sum(cable[key] for cable in cables)
            traced = value(trace, NAMED.format(name=words))
            check(traced == counted > 0, f"{key}: {traced}, the run has {counted}")

    return path, ask


def test_what_full_queues_trim(bench):
    tight = ("--set", "network.switch.data_queue_bytes=2500")
    summary, path = bench.run("nanopu_incast", "--set", "client.count=16", *tight)

    def ask(trace):
        whole(trace)
        frames(trace, summary)
        trimmed = sum(switch["trimmed"] for switch in summary["network"]["switches"])
        traced = value(trace, NAMED.format(name="frame is trimmed%"))
        check(traced == trimmed > 0, f"trimmed: {traced}, the run has {trimmed}")

    return path, ask


def test_nanoservice(bench):
    summary, path = bench.run("nanopu_echo")

    def ask(trace):
        whole(trace)
        done = value(trace, ON_TRACK.format(track="Hart %", name="message"))
        check(done == summary["messages"]["in"], f"{done} messages on harts")
        left = value(trace, ON_TRACK.format(track="Egress link", name="frame"))
        check(left == summary["packets"]["out"], f"{left} frames leave")
        way = REACHES.format(tracks="Ingress pipeline, in", to="Packetization", end="last")
        led, answers = value(trace, way), summary["messages"]["out"]
        check(led == answers, f"{led} answers of {answers} have a way")

    return path, ask


def test_handlers(bench):
    summary, path = bench.run("reduce", "--handlers")

    def ask(trace):
        whole(trace)
        done = value(trace, NAMED.format(name="packet is done"))
        check(done == summary["packets"]["in"], f"{done} packets are done")
        ran = sum(handler["runs"] for handler in summary["handlers"])
        query = "select count(*) as n from slice join track on slice.track_id = track.id"
        on_hpus = value(trace, query + " where track.name like 'HPU %'")
        check(on_hpus == ran, f"{on_hpus} slices on HPUs, {ran} handlers")

    return path, ask


TESTS = [
    *(test_cluster, test_switches_of_a_fat_tree, test_nic_in_a_cluster),
    *(test_what_faults_drop, test_what_full_queues_trim, test_nanoservice, test_handlers),
]


def run_one(title, test):
    try:
        test()
        print(f"ok   {title}", flush=True)
    except Skip as skip:
        print(f"skip {title}: {skip}", flush=True)
    except Difference as difference:
        print(f"FAIL {title}: {difference}", flush=True)
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--pinion", help="the command to test")
    parser.add_argument("--keep", type=Path, help="leave traces in this folder")
    parser.add_argument("names", nargs="*", help="parts of names of tests")
    arguments = parser.parse_args()
    if not installed_compilers():
        print("skip tracks: no RISC-V compiler is installed")
        return 0
    reason = why_not_theirs()
    succeeded = True
    with tempfile.TemporaryDirectory() as folder:
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
        bench = Bench(find_pinion(arguments.pinion), arguments.keep or Path(folder))
        for test in TESTS:
            title = test.__name__.removeprefix("test_").replace("_", " ")
            if arguments.names and not any(part in title for part in arguments.names):
                continue
            for reading in (Ours, Theirs):

                def ask(test=test, reading=reading):
                    if reading is Theirs and reason:
                        raise Skip(reason)
                    path, questions = test(bench)
                    trace = reading(path)
                    try:
                        questions(trace)
                    finally:
                        trace.close()

                succeeded &= run_one(f"{title}, {reading.name}", ask)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
