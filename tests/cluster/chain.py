"""Chain replication: what clients saw is linearizable, on good links and bad ones; reads that any
replica answers are not."""

import json

from linearizability import check_history, parse_history, wrong_keys
from support import check, lines

FAULTS = "loss=2%,dup=2%,reorder=5%,corrupt=1%,seed={seed}"


def history(summary):
    """Operations of all clients; keys begin with their own number as the tag."""
    clients = [entry["name"] for entry in summary["nodes"] if entry["name"].startswith("client")]
    printed = [line for name in clients for line in lines(summary, name)]
    return parse_history(printed, lambda key: key)


def settings(**arguments):
    """Options that replace the arguments of groups of nodes."""
    texts = {group: json.dumps([str(word) for word in words]) for group, words in arguments.items()}
    return [part for group, text in texts.items() for part in ("--set", f"{group}.args={text}")]


def chain(bench, task, *options, operations=100, pairs=100, keys=4):
    """Runs the example with few pairs, so that it is ready soon, and another task."""
    about = ["{replica}", "{replica.count}", "{address}", "{index}", "{seed}"]
    changes = settings(replica=[pairs], client=[*about, task, operations, keys])
    summary = bench.run("nanopu_chain", "--threads", 1, "--seed", bench.seed, *changes, *options)
    found, initial = history(summary)
    check(len(found) == 8 * operations, f"{len(found)} operations of 8 clients")
    return found, initial


def test_the_example_is_linearizable(bench):
    summary = bench.run("nanopu_chain", "--threads", 1)
    check_history(*history(summary))


def test_it_is_on_bad_links_too(bench):
    for seed in range(bench.seed, bench.seed + 3):
        check_history(*chain(bench, "mixed", "--link", FAULTS.format(seed=seed)))


def test_a_longer_chain_is_linearizable(bench):
    check_history(*chain(bench, "mixed", "--set", "replica.count=5", keys=1))


def test_reads_from_any_replica_are_not_linearizable(bench):
    # The longer the chain, the longer the head knows what the tail does not.
    found, initial = chain(bench, "any", "--set", "replica.count=5", keys=1)
    check(wrong_keys(found, initial), "the checker found nothing wrong")
