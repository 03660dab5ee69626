"""Promise 5: what comes in goes out, is dropped for a reason, or is inside, on every run and every node, and the
same seed gives the same bytes whatever the number of threads. Random machines, programs, traffic, faults of links
and numbers of threads; a failure is shrunk to the fewest options that still show it, and printed as a command."""

import json
import os
import random
import resource
import subprocess
import tempfile
from pathlib import Path

from support import Broken, application, service

# Of processor time. On the wall threads that wait for each other take what a busy computer gives them.
SECONDS = 60
WALL_SECONDS = 1800
RUNS = 300
SEED = int(os.environ.get("PINION_TEST_SEED", "1"))
# 3: handlers failed; 1: an answer is missing, as on a link that loses frames.
STATUSES = {0, 1, 3}
# Of this computer, and not of the run.
OF_THE_HOST = {"host_seconds", "simulated_mips", "slowdown", "threads"}


def handlers(draw):
    """Options of a run of packet handlers, each a list of words that can go by itself."""
    pick = draw.choice
    options = [
        ["--set", f"cluster.count={pick([1, 2, 4])}"],
        ["--set", f"cluster.cores={pick([1, 2, 8])}"],
        ["--set", f"mpq.count={pick([1, 2, 16, 256])}"],
        ["--set", f"l2_packet.bytes={pick([8192, 65536, 1048576])}"],
        ["--set", f'inbound.when_full="{pick(["drop", "back-pressure"])}"'],
        ["--set", f"cluster.buffered_hers={pick([1, 3, 12])}"],
        ["--set", f"matching.latency_cycles={pick([0, 7])}"],
        ["--set", f"protection.message_timeout_cycles={pick([500, 3000, 1000000])}"],
        ["--seed", str(draw.randrange(1 << 32))],
        ["--link", link(draw)],
        ["--machine", pick(["pspin", "pspin", "fpspin", "pspin-2units"])],
    ]
    kind, size = pick(["udp", "udp", "icmp"]), pick(["64", "512", "64:7/1400:1", "1400"])
    messages = pick(["", "", ",messages=4,packets=8", ",messages=20,packets=2"])
    count = "" if messages else f",count={draw.randrange(1, 60)}"
    spec = f"{kind},size={size}{count}{messages if kind == 'udp' else f',count={draw.randrange(1, 60)}'}"
    if kind == "icmp":
        spec = f"icmp,count={draw.randrange(1, 60)}"
    fixed = ["run", "app", "--generate", f"{spec},rate={pick([1, 50, 400])}g"]
    return fixed, some(draw, options), []


def nanoservices(draw):
    pick = draw.choice
    options = [
        ["--set", f"transport.kind={pick(['ndp', 'homa', 'raw', 'udp'])}"],
        ["--set", f"core.count={pick([1, 2, 4])}"],
        ["--link", str(pick([43, 140, 1000]))],
        ["--seed", str(draw.randrange(1 << 32))],
        ["--peer", "none"],
    ]
    # Behind lost requests a run waits for nothing more than this.
    load = f"requests={draw.randrange(1, 60)},gap={pick(['exp:2000', 'fixed:500', 'exp:100'])}"
    return ["run", "service", "--load", load, "--patience", "200000"], some(draw, options), []


def clusters(draw):
    pick, count = draw.choice, draw.randrange(1, 5)
    topology = pick(['kind = "star"', 'kind = "fat-tree"'])
    text = (
        f'[cluster]\nname = "many"\nseed = {draw.randrange(1 << 31)}\npatience = 200000\n[network]\n'
        f"topology = {{ {topology} }}\nlink = {{ latency_cycles = {pick([60, 140, 400])} }}\n"
        f'[[node]]\nname = "server"\napp = "service"\ncount = {count}\n'
        f'[[load]]\nname = "load"\nto = "server"\ncount = {draw.randrange(1, 4)}\n'
        f'spec = "requests={draw.randrange(1, 40)},gap=exp:{pick([200, 2000])}"\n'
    )
    # Two numbers of threads, one of them for each of the two runs.
    return ["run", "many.toml"], some(draw, [["--link", link(draw)]]), [["--threads", "1"], ["--threads", str(pick([2, 3, 4]))], text]


def link(draw):
    faults = draw.choice(["loss=3%", "dup=2%", "reorder=5%", "corrupt=1%", "loss=1%,dup=1%,reorder=9%"])
    return f"{faults},seed={draw.randrange(1000)}"


def some(draw, options):
    return [option for option in options if draw.random() < 0.5]


def flat(options):
    return [word for option in options for word in option]


def books(summary, where=""):
    """What does not add up in a summary, or in one of its nodes."""
    for node in summary.get("nodes", []):
        books(node.get("details") or {}, f"{where}{node.get('name', '')} ")
    network = summary.get("network", {})
    for part in [*network.get("cables", []), *network.get("switches", [])]:
        if not part["balanced"]:
            raise Broken(f"{where}a part of the network lost frames: {part}")
    if summary.get("imbalances"):
        raise Broken(f"{where}{summary['imbalances']}")
    packets = summary.get("packets")
    if not isinstance(packets, dict) or "dropped" not in packets:
        return
    dropped = packets["dropped"]
    dropped = sum(dropped.values()) if isinstance(dropped, dict) else dropped
    ways = ("processed", "to_host") if "processed" in packets else ("delivered", "control", "trimmed")
    out = sum(packets.get(way, 0) for way in ways if way != "trimmed") + dropped
    inside = packets.get("resident", 0)
    if packets["in"] != out + inside:
        raise Broken(f"{where}{packets['in']} packets in, {out} out or dropped, {inside} inside")
    if any(isinstance(number, int) and number < 0 for number in packets.values()):
        raise Broken(f"{where}a number is below zero: {packets}")


def own(value):
    """A document without what differs from computer to computer."""
    if isinstance(value, dict):
        return {key: own(part) for key, part in value.items() if key not in OF_THE_HOST}
    return [own(part) for part in value] if isinstance(value, list) else value


def once(pinion, folder, words):
    """Runs a command; gives its document and the bytes that left."""
    words = [*words, "--quiet", "--json", "out.json"]
    has_packets = "many.toml" not in words
    if has_packets:
        words += ["--pcap-out", "out.pcap"]
    done = subprocess.run(
        [str(pinion), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=WALL_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        check=False,
    )
    if done.returncode == 2 and "panicked" not in done.stderr:
        return None
    if done.returncode not in STATUSES:
        raise Broken(f"exit status {done.returncode}\n{done.stderr[-800:]}")
    summary = json.loads((folder / "out.json").read_text())
    books(summary)
    return own(summary), (folder / "out.pcap").read_bytes() if has_packets else b""


def twice(pinion, folder, fixed, options, ways):
    """Runs a command twice; gives whether it could be run."""
    if ways:
        (folder / "many.toml").write_text(ways[2])
    first = once(pinion, folder, [*fixed, *flat(options), *(ways[0] if ways else [])])
    if first is None:
        return False
    second = once(pinion, folder, [*fixed, *flat(options), *(ways[1] if ways else [])])
    if second is None or first[0] != second[0]:
        raise Broken("the same run gave another summary")
    if first[1] != second[1]:
        raise Broken("the same run sent other bytes")
    return True


def shrink(pinion, folder, case, problem):
    """Takes options away as long as it still fails."""
    fixed, options, ways = case
    for option in list(options):
        fewer = [other for other in options if other is not option]
        try:
            twice(pinion, folder, fixed, fewer, ways)
        except (Broken, subprocess.TimeoutExpired) as found:
            options, problem = fewer, found
    again = " ".join(f"'{word}'" if " " in word or '"' in word else word for word in [*fixed, *flat(options)])
    text = f"\nmany.toml:\n{ways[2]}{ways[0]} {ways[1]}" if ways else ""
    return f"{problem}\n  again, twice: pinion {again} --json out.json{text}"


def run(pinion, most=RUNS):
    """Runs all; yields a title and what is wrong, if something is."""
    draw, done, refused = random.Random(SEED), 0, 0
    with tempfile.TemporaryDirectory(prefix="pinion-conserved-") as place:
        folder = Path(place)
        application(folder / "app")
        service(folder / "service")
        while done < most:
            case = draw.choice([handlers, handlers, nanoservices, clusters])(draw)
            try:
                ran = twice(pinion, folder, *case)
            except (Broken, subprocess.TimeoutExpired, ValueError) as problem:
                yield f"random runs, seed {SEED}, run {done}", shrink(pinion, folder, case, problem)
                return
            done, refused = done + ran, refused + (not ran)
            if refused > 100 + done:
                yield "random runs", f"{refused} of {refused + done} were refused"
                return
    yield f"random runs, seed {SEED}: {done} twice, the same, and nothing lost ({refused} refused)", None
