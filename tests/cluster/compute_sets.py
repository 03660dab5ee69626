"""Set intersection: what the cluster finds against Python's sets."""

import re

from support import check, lines

DOCUMENTS, TERMS, MASK = 16384, 16, (1 << 64) - 1
# A few nodes are done sooner on one thread.
ONE = ("--threads", 1)
FAULTS = "loss=1%,dup=1%,reorder=2%"
CLUSTER = """
[cluster]
name = "sets"
[[node]]
name = "client"
app = "EXAMPLES/nanopu_sets/client"
args = ["{root}", "24", "7"]
ends = true
[[node]]
name = "root"
app = "EXAMPLES/nanopu_sets/root"
args = ["{leaf}", "{leaf.count}"]
[[node]]
name = "leaf"
app = "EXAMPLES/nanopu_sets/leaf"
count = 3
args = ["{index}", "{leaf.count}"]
"""


def has_term(document, term):
    bits = (document << 8 | term) * 0x9E3779B97F4A7C15 & MASK
    bits = (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9 & MASK
    bits ^= bits >> 32
    return (bits & 0xFFFFFFFF) * (term + 2) >> 32 == 0


def postings():
    return [{d for d in range(DOCUMENTS) if has_term(d, term)} for term in range(TERMS)]


def compare(summary, expected):
    """Compares all queries; gives the packets of the largest answer."""
    lists, most, found = postings(), 0, 0
    for line in lines(summary, "client"):
        match = re.match(r"query (\d+):([\d ]+): (\d+) documents, sum (\w+), (\d+) packets", line)
        if not match:
            continue
        found += 1
        terms = [int(term) for term in match[2].split()]
        documents = sorted(set.intersection(*(lists[term] for term in terms)))
        total = 0
        for document in documents:
            total = (total * 31 + document) & MASK
        got = (int(match[3]), int(match[4], 16))
        check(got == (len(documents), total), f"{line}: {len(documents)} documents, {total:#x}")
        most = max(most, int(match[5]))
    check(found == expected, f"{found} queries instead of {expected}")
    return most


def test_answers_are_the_intersections(bench):
    most = compare(bench.run("nanopu_sets", *ONE), 40)
    check(most > 4, f"no answer had more than {most} packets")


def test_answers_over_faulty_links_from_three_leaves(bench):
    folder = bench.cluster(CLUSTER)
    compare(bench.run(folder, *ONE, "--link", FAULTS, "--seed", bench.seed), 24)
