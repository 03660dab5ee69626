"""Networks of several switches: the same clients and echo server on each shape; what the switches
count; what a capture of a cable between switches shows."""

import shutil
import subprocess

from support import REPOSITORY, Skip, check, check_in

CLUSTER = """
[cluster]
name = "networks"
[network]
topology = { TOPOLOGY }
link = { latency_cycles = 140 }
UPLINK
switch = { paths = "PATHS", data_queue_bytes = BYTES }
[[node]]
name = "server"
app = "EXAMPLES/nanopu_echo"
[[node]]
name = "client"
app = "EXAMPLES/cluster_echo/client"
count = 11
args = ["{server}", "{index}", "20"]
ends = true
set = ["core.count=1", "memory.size=16MiB"]
"""

UPLINK = 'uplink = { latency_cycles = 200, rate = "100g" }'

# Topology, switches, ways.
SHAPES = [
    ("star", 1, "spray"),
    ("tree\", fanout = [3, 2, 2], uplinks = [2]", 7, "spray"),
    ("leaf-spine\", nodes_per_leaf = 4, spines = 3", 6, "ecmp"),
    ("fat-tree", 20, "spray"),
    ("custom\", cables = [[\"client\", \"s1\"], [\"s0\", \"s1\"], [\"server\", \"s0\"]]", 2, "ecmp"),
]


def write(bench, kind, paths, data_queue_bytes=92480):
    topology = f'kind = "{kind}' + ("" if " = " in kind else '"')
    uplink = "" if kind == "star" else UPLINK
    text = CLUSTER.replace("TOPOLOGY", topology).replace("UPLINK", uplink)
    text = text.replace("PATHS", paths).replace("BYTES", str(data_queue_bytes))
    return bench.cluster(text, kind.split('"')[0])


def totals(summary, key):
    return sum(switch[key] for switch in summary["network"]["switches"])


def test_every_shape_answers_all(bench):
    for kind, switches, paths in SHAPES:
        folder = write(bench, kind, paths)
        one = bench.run(folder, "--threads", "1")
        two = bench.run(folder, "--threads", "2")
        check(one == two, f"{kind}: two threads differ from one")
        check(len(one["network"]["switches"]) == switches, f"{kind}: {switches} switches expected")
        check(one["imbalances"] == [], f"{kind}: {one['imbalances']}")
        for node in one["nodes"]:
            if node["name"] != "server":
                check_in("20 answers", node["console"])


def test_small_queues_trim_and_all_is_answered_still(bench):
    folder = write(bench, SHAPES[2][0], "spray", data_queue_bytes=100)
    summary = bench.run(folder)
    trimmed = totals(summary, "trimmed")
    check(trimmed > 0, "nothing was trimmed")
    answers = [node["console"] for node in summary["nodes"] if node["name"] != "server"]
    check(all("20 answers" in text for text in answers), f"{trimmed} trimmed: {answers}")


def test_a_capture_between_switches_opens_in_wireshark(bench):
    folder = write(bench, SHAPES[4][0], "ecmp", data_queue_bytes=100)
    capture = bench.folder / "between.pcap"
    bench.run(folder, "--pcap", f"s0-s1={capture}")
    if not shutil.which("tshark"):
        raise Skip("tshark is not installed (Debian: apt-get install tshark)")
    script = REPOSITORY / "tools/wireshark/nanopu.lua"
    command = ["tshark", "-X", f"lua_script:{script}", "-n", "-r", str(capture), "-T", "fields"]
    for field in ("nanopu.flags", "nanopu.message", "nanopu.trimmed_in", "_ws.malformed"):
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    check(len(rows) > 11 * 20 * 4, f"{len(rows)} frames only")
    check(all(row[0] and not row[3] for row in rows), "a frame is not the dissector's")
    data = {row[1] for row in rows if int(row[0], 16) & 1}
    check(len(data) == 11 * 20 * 2, f"{len(data)} messages, not two a request")


def test_mistakes_say_what_to_do(bench):
    for kind, part in [
        ("fat-tree\", k = 2", "k = 4 has"),
        ("tree\", fanout = [2, 2]", "raise fanout or add a tier"),
        ("custom\", cables = [[\"client\", \"s0\"], [\"sever\", \"s0\"]]", "nearest is `server`"),
        ("ring", "fat-tree"),
    ]:
        folder = write(bench, kind, "spray")
        done = bench.command("run", folder, status=2)
        check_in(part, done.stderr)
        check_in("cluster.toml, line", done.stderr)
