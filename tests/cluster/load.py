"""Load generators and sPIN NICs as nodes of clusters; the incast."""

import csv

from support import check, check_in, lines, node

ECHO = """
[cluster]
name = "echo"

[[node]]
name = "server"
app = "EXAMPLES/{app}"
count = {servers}
{arguments}

[[load]]
name = "load"
to = "server"
count = {loads}
spec = "{spec}"
{more}
"""


def echo(bench, spec, servers=1, loads=1, more="", name="cluster", app="nanopu_service"):
    """A cluster of servers and load generators; `nanopu_service` takes requests of 16 B,
    `nanopu_echo` of any size."""
    arguments = 'args = ["jbsq", "clock", "10", "100", "0"]' if app == "nanopu_service" else ""
    text = ECHO.format(
        spec=spec, servers=servers, loads=loads, more=more, app=app, arguments=arguments
    )
    return bench.cluster(text, name)


def answered_once(summary, requests):
    for load in summary["loads"]:
        counts = load["requests"], load["answered"], load["missing"], load["unexpected"]
        check(counts == (requests, requests, 0, 0), f"{load['name']}: {counts}")


def test_load_every_way_of_asking_is_answered(bench):
    """Open and closed loop, exact and in windows, one and several generators, over several nodes."""
    for number, (spec, servers, loads) in enumerate([
        ("requests=300,gap=exp:700,service=500", 1, 1),
        ("requests=300,gap=700,window=140,service=exp:300,spread=uniform", 3, 2),
        ("requests=300,outstanding=6,think=exp:200,service=bimodal:400/20/4000/20/0.1", 2, 3),
        ("requests=300,size=1504,outstanding=3", 1, 2),
    ]):
        app = "nanopu_echo" if "size=" in spec else "nanopu_service"
        folder = echo(bench, spec, servers, loads, name=f"cluster-{number}", app=app)
        summary = bench.run(folder)
        check(summary["ending"] == "finished", summary["ending"])
        check(len(summary["loads"]) == loads, f"{len(summary['loads'])} loads")
        answered_once(summary, 300)
        messages = sum(entry["messages_in"] for entry in summary["nodes"]
                       if entry["name"].startswith("server"))
        check(messages == 300 * loads, f"{messages} messages for {300 * loads} requests")
        for load in summary["loads"]:
            times = load["response_ns"]
            check(times["p99_low"] is None or times["p99_low"] <= times["p99"], times)
            check(times["min"] >= 87.5, f"faster than two links: {times}")
            if servers > 1:
                check(len(load["by_node"]) == servers, load["by_node"])


def test_load_over_faults_each_request_is_answered_once(bench):
    """What the network loses, repeats and damages is sent again, and served once."""
    spec = "requests=500,gap=exp:400,service=200,timeout=9000"
    folder = echo(bench, spec, servers=2, loads=2)
    faults = f"loss=3%,dup=3%,reorder=5%,corrupt=2%,hold=1us,seed={bench.seed}"
    runs = [bench.run(folder, "--link", faults, "--threads", threads) for threads in (1, 2)]
    check(runs[0] == runs[1], "one and two threads give different results")
    answered_once(runs[0], 500)
    check(all(load["sent_again"]["timeouts"] > 0 for load in runs[0]["loads"]), "nothing was lost")
    served = sum(entry["messages_in"] for entry in runs[0]["nodes"]
                 if entry["name"].startswith("server"))
    check(served == 1000, f"{served} requests were served, of 1000")


def test_load_trimmed_requests_are_pulled(bench):
    """Eight generators fill a short queue: the switch trims, the node asks again."""
    spec = "requests=60,outstanding=8,size=1024,timeout=200000"
    folder = echo(bench, spec, loads=8, app="nanopu_echo")
    more = "\n[network.switch]\ndata_queue_bytes = 8000\n"
    (folder / "cluster.toml").write_text((folder / "cluster.toml").read_text() + more)
    summary = bench.run(folder)
    answered_once(summary, 60)
    check(summary["network"]["switches"][0]["trimmed"] > 0, "nothing was trimmed")
    check(sum(load["sent_again"]["nacks"] for load in summary["loads"]) > 0, "no NACK came")


def test_load_histogram_and_curve(bench):
    """Percentiles and curves are files that other programs read."""
    folder = echo(bench, "requests=400,gap=exp:2000,service=exp:1000", more="gaps = [3000, 260]")
    histogram, plain = bench.folder / "h.csv", bench.folder / "h.hgrm"
    summary = bench.run(folder, "--histogram", f"load={histogram}")
    bench.run(folder, "--histogram", f"load={plain}")
    rows = list(csv.DictReader(histogram.open()))
    check(rows[-1]["count"] == "400" and float(rows[-1]["percentile"]) == 100.0, rows[-1])
    p50 = min(float(row["ns"]) for row in rows if float(row["percentile"]) >= 50)
    check(abs(p50 / summary["loads"][0]["response_ns"]["p50"] - 1) < 0.01, p50)
    check_in("#[Mean", plain.read_text())
    curve = bench.folder / "curve.csv"
    bench.command("run", folder, "--quiet", "--curve", curve)
    points = list(csv.DictReader(curve.open()))
    check([point["gap_cycles"] for point in points] == ["3000", "260"], points)
    check(float(points[0]["p99_ns"]) < float(points[1]["p99_ns"]), "a higher load is no slower")
    for point in points:
        check(float(point["p99_low_ns"]) <= float(point["p99_ns"]), point)
    check_in("<svg", curve.with_suffix(".svg").read_text())


def test_load_mistakes_are_told(bench):
    for number, (spec, part) in enumerate([
        ("gap=exp:100,src=10.0.0.9", "does not apply to a load of a cluster"),
        ("gab=exp:100", "did you mean `gap`"),
        ("gap=exp:100,spread=turn", "a load for one node"),
    ]):
        folder = echo(bench, spec, name=f"wrong-{number}")
        done = bench.command("run", folder, "--quiet", status=2)
        check_in(part, done.stderr)
    folder = echo(bench, "gap=100")
    check_in("no group", bench.command("run", folder, "--set", "load.to=nobody", status=2).stderr)
    done = bench.command("run", folder, "--histogram", "laod=x.csv", status=2)
    check_in("there are: load", done.stderr)
    check_in("gaps", bench.command("run", folder, "--curve", "x.csv", status=2).stderr)


def test_load_services_tails_are_in_the_papers_order(bench):
    """Figure 5 behind a switch: RSS above JBSQ above JBSQ with priorities."""
    summary = bench.run("nanopu_services")
    answered_once(summary, 4000)
    loads = {load["name"]: load["response_ns"] for load in summary["loads"]}
    tails = [loads[name] for name in ("to_rss", "to_jbsq", "to_pre")]
    check(tails[0]["p99_low"] > tails[1]["p99_high"], tails)
    check(tails[1]["p99_low"] > tails[2]["p99_high"], tails)


def test_load_incast_is_whole_with_and_without_trimming(bench):
    """A smaller one: 20 clients, a queue of 15 packets."""
    small = ["--set", "client.count=20", "--set", "network.switch.data_queue_bytes=17400"]
    last = {}
    for overflow, key in (("trim", "trimmed"), ("drop", "dropped")):
        options = [*small, "--set", f"network.switch.overflow={overflow}"]
        summary = bench.run("nanopu_incast", *options)
        switch = summary["network"]["switches"][0]
        check(switch[key] == 5, f"{overflow}: {switch}")
        said = lines(summary, "server")[0]
        check(said.startswith("20 messages, each once"), said)
        last[overflow] = int(said.split()[-1])
    check(last["trim"] + 20_000 < last["drop"], last)


def test_load_filter_decides_which_requests_are_answered(bench):
    """nanoPUs, a sPIN NIC between them, the same with faults and at every number of threads."""
    runs = [bench.run("cluster_filter", "--threads", threads) for threads in (1, 2)]
    check(runs[0] == runs[1], "one and two threads give different results")
    # Six of thirteen keys are refused; 40 requests go through the keys from where a client begins.
    refused = 0
    keys = [False, False, True, False, False, True, True, True, True, False, False, True, False]
    for client in range(8):
        own = sum(keys[(5 * number + client) % 13] for number in range(40))
        refused += own
        said = lines(runs[0], f"client.{client}")[0].split()
        check((int(said[0]), int(said[6])) == (40 - own, own), f"client {client}: {said}")
    nic = node(runs[0], "filter")
    # Requests, and the acknowledgements of refusals, lead to one frame out each; a PULL to none.
    check(nic["frames_in"] >= 320 + refused == nic["frames_out"], nic)
    check(nic["details"]["handlers"][0]["duration_ns"]["mean"] > 0, nic["details"])
    check(node(runs[0], "server")["messages_in"] == 320 - refused, node(runs[0], "server"))
    faults = f"loss=2%,dup=2%,reorder=4%,corrupt=2%,hold=1us,seed={bench.seed}"
    again = bench.run("cluster_filter", "--link", faults)
    check(again["ending"] == "finished", again["ending"])
    check(node(again, "server")["messages_in"] == 320 - refused, "the server got a request twice")
