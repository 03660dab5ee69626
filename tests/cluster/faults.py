"""Messages over faulty cables: each comes exactly once and unchanged, and every frame is accounted for.

100,000 messages of one to two packets, between all pairs of nodes, while every cable loses, repeats,
reorders and damages frames. What is drawn depends on --seed alone."""

import random
from pathlib import Path

from support import check, check_in

EXCHANGE = Path(__file__).resolve().parent / "programs" / "exchange"
MESSAGES = 100_000

CLUSTER = """
[cluster]
name = "exchange"
seed = {seed}

[network]
topology = {topology}
link = {{ latency_cycles = {latency} }}
switch = {{ overflow = "{overflow}", data_queue_bytes = {queue}, paths = "{paths}" }}

[[node]]
name = "peer"
app = "{app}"
count = {nodes}
args = ["{{index}}", "{{peer}}", "{{peer.count}}", "{messages}", "{longest}", "{{seed}}"]
set = {set}
"""

STAR = '{ kind = "star" }'


def draw(chance, messages, topology=STAR):
    """Draws a cluster and its faults; gives the text and the faults and how many must come."""
    nodes = chance.randint(5, 9)
    each = -(-messages // (nodes * (nodes - 1)))
    text = CLUSTER.format(
        seed=chance.randrange(1 << 30),
        topology=topology,
        latency=chance.choice([70, 140, 400]),
        overflow=chance.choice(["trim", "trim", "drop"]),
        queue=chance.choice([4_000, 20_000, 92_480]),
        paths=chance.choice(["spray", "ecmp"]),
        app=EXCHANGE,
        nodes=nodes,
        messages=each,
        longest=2048,
        # Short timeouts: what is lost is sent again soon.
        set=f'["transmit.timer.timeout_cycles={chance.choice([3000, 5000, 9000])}"]',
    )
    rates = {key: chance.uniform(0.002, 0.04) for key in ("loss", "dup", "reorder", "corrupt")}
    faults = ",".join(f"{key}={rate:.4f}" for key, rate in rates.items())
    hold = chance.choice(["200ns", "1us", "20us", "100us"])
    return text, f"{faults},hold={hold},seed={chance.randrange(1 << 30)}", nodes, each


def exchange(bench, name, messages, topology=STAR, **more):
    """Runs an exchange and checks that every message came once; gives how many there were."""
    chance = random.Random(f"{bench.seed} {name}")
    text, faults, nodes, each = draw(chance, messages, topology)
    folder = bench.cluster(text, name)
    summary = bench.run(folder, "--link", faults, "--threads", 1, **more)
    for entry in summary["nodes"]:
        said = entry["console"]
        check(
            said == f"all {each * (nodes - 1)} messages\n",
            f"{entry['name']} of {folder} with {faults} says {said!r}",
        )
        check(entry["imbalance"] is None, f"{entry['name']}: {entry['imbalance']}")
    cables = summary["network"]["cables"]
    for cable in cables:
        check(cable["balanced"], f"cable {cable} does not balance")
    for fault in ("lost", "duplicated", "reordered", "damaged"):
        hit = sum(cable[fault] > 0 for cable in cables)
        # Between switches some wires carry little.
        check(hit > len(cables) // 4, f"only {hit} of {len(cables)} wires have frames {fault}")
    return nodes * (nodes - 1) * each


def test_every_message_comes_once(bench):
    parts = 5
    came = sum(exchange(bench, f"part-{part}", MESSAGES // parts) for part in range(parts))
    check(came >= MESSAGES, f"only {came} messages")


def test_every_message_comes_once_over_several_paths(bench):
    for kind in ("leaf-spine", "fat-tree"):
        more = ", nodes_per_leaf = 2, spines = 3" if kind == "leaf-spine" else ""
        exchange(bench, kind, 10_000, f'{{ kind = "{kind}"{more} }}')


def test_a_lossless_exchange_repeats_nothing(bench):
    text, _, nodes, each = draw(random.Random(bench.seed), 2_000)
    summary = bench.run(bench.cluster(text, "lossless"), "--threads", 1)
    for entry in summary["nodes"]:
        check_in(f"all {each * (nodes - 1)} messages", entry["console"])
    lost = [cable for cable in summary["network"]["cables"] if cable["lost"] or cable["damaged"]]
    check(not lost, f"lost without faults: {lost}")
