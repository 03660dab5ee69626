"""A network over many cores: its values against one computed in floating point."""

import re

from support import EXAMPLES, check, lines

UNIT, WEIGHT = 1024, 4096
# A few nodes are done sooner on one thread.
ONE = ("--threads", 1)
FAULTS = "loss=1%,dup=1%,reorder=2%"


def numbers(text, name):
    listed = re.search(rf"\b{name}\[.*?\] = \{{(.*?)\}};", text, re.S).group(1)
    return [int(number) for number in re.findall(r"-?\d+", listed)]


def network():
    """Layers of rows of weights with their offset behind them, names of digits, their points."""
    text = (EXAMPLES / "nanopu_neural/network.h").read_text()
    sizes = numbers(text, "layer_sizes")
    layers = []
    for number, inputs in enumerate(sizes[:-1], 1):
        flat = [value / WEIGHT for value in numbers(text, f"layer_{number}")]
        width = inputs + 1
        layers.append([flat[at : at + width] for at in range(0, len(flat), width)])
    points, names = numbers(text, "digit_points"), numbers(text, "digit_names")
    digits = [points[at : at + sizes[0]] for at in range(0, len(points), sizes[0])]
    return layers, names, digits


def reference(layers, points):
    """Outputs in floating point, and how far from them rounding each layer to 1/1024 may lead."""
    values, errors = [point / 16 for point in points], [0.0] * len(points)
    for number, rows in enumerate(layers):
        sums = [row[-1] + sum(w * v for w, v in zip(row, values)) for row in rows]
        reach = [0.5 / UNIT + sum(abs(w) * e for w, e in zip(row, errors)) for row in rows]
        is_hidden = number + 1 < len(layers)
        values = [max(0.0, s) for s in sums] if is_hidden else sums
        # What is below zero for certain is zero without an error.
        errors = [e if s > -e or not is_hidden else 0.0 for s, e in zip(sums, reach)]
    return values, errors


def outputs(summary):
    found = []
    for line in lines(summary, "client"):
        match = re.match(r"digit (\d+) is (\d): ([-\d ]+) -> (\d), \d+ cycles", line)
        if match:
            check(int(match[1]) == len(found), f"out of order: {line}")
            found.append((int(match[2]), [int(v) for v in match[3].split()], int(match[4])))
    return found


def compare(summary, count):
    """Compares what the client printed about so many digits with the reference."""
    layers, names, digits = network()
    found = outputs(summary)
    check(len(found) == count, f"{len(found)} digits instead of {count}")
    for (name, values, best), expected_name, points in zip(found, names, digits):
        exact, errors = reference(layers, points)
        check(name == expected_name, f"digit {name} instead of {expected_name}")
        for value, output, error in zip(values, exact, errors):
            difference = abs(value / UNIT - output)
            check(difference <= min(error, 0.01), f"{value / UNIT} instead of {output}, ± {error}")
        check(best == max(range(10), key=exact.__getitem__), f"{best} of {exact}")


def test_network_gives_what_floating_point_gives(bench):
    compare(bench.run("nanopu_neural", *ONE), 40)


# Two neurons or one to a core, on 13 nodes and on a network that loses, repeats and reorders.
WIDE = """
[cluster]
name = "wide"
[[node]]
name = "client"
app = "EXAMPLES/nanopu_neural/client"
args = ["{first}", "24", "12"]
ends = true
[[node]]
name = "first"
app = "EXAMPLES/nanopu_neural/layer"
count = 6
args = ["1", "{index}", "{first.count}", "{second}", "16"]
[[node]]
name = "second"
app = "EXAMPLES/nanopu_neural/layer"
count = 4
args = ["2", "{index}", "{second.count}", "{third}", "8"]
[[node]]
name = "third"
app = "EXAMPLES/nanopu_neural/layer"
count = 2
args = ["3", "{index}", "{third.count}", "{client}", "1"]
"""


def test_network_on_more_cores_over_faulty_links(bench):
    folder = bench.cluster(WIDE)
    compare(bench.run(folder, *ONE, "--link", FAULTS, "--seed", bench.seed), 12)
