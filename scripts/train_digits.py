#!/usr/bin/env python3
"""Trains the network of examples/nanopu_neural and writes its network.h: weights and digits to try.

    python3 scripts/train_digits.py [--check] [FILE]

Digits are drawn from ten templates of 8 x 8 points: moved by up to a point, of different strength,
with noise. The network has 64 inputs, two layers of 48 and 32 neurons (what is below zero becomes
zero) and 10 outputs; it learns by stochastic gradient descent. Weights are rounded to 1/4096 at the
end, so that what is written is the network, exactly. Needs nothing but Python; takes about half a
minute. With --check the file is compared instead of written.
"""

import argparse
import math
import random
import sys
from pathlib import Path

SIZES = [64, 48, 32, 10]
UNIT = 4096  # of weights and offsets
STRONGEST = 16  # a point of a digit is 0 to 16
TRAINED, SHOWN = 700, 40
EPOCHS, STEP = 12, 0.03
SEED = 20

TEMPLATES = [
    """..####..|.##..##.|.#....#.|.#....#.|.#....#.|.#....#.|.##..##.|..####..""",
    """...##...|..###...|.####...|...##...|...##...|...##...|...##...|.######.""",
    """..####..|.##..##.|.....##.|....##..|...##...|..##....|.##.....|.######.""",
    """.#####..|.....##.|.....##.|..####..|.....##.|.....##.|.....##.|.#####..""",
    """....##..|...###..|..#.##..|.#..##..|.######.|....##..|....##..|....##..""",
    """.######.|.##.....|.##.....|.#####..|.....##.|.....##.|.##..##.|..####..""",
    """...###..|..##....|.##.....|.#####..|.##..##.|.##..##.|.##..##.|..####..""",
    """.######.|.....##.|.....##.|....##..|...##...|...##...|..##....|..##....""",
    """..####..|.##..##.|.##..##.|..####..|.##..##.|.##..##.|.##..##.|..####..""",
    """..####..|.##..##.|.##..##.|..#####.|.....##.|.....##.|....##..|..###...""",
]


def draw(digit, chance):
    """Points of a digit, row by row."""
    rows = TEMPLATES[digit].split("|")
    down, right = chance.choice([0, 0, 1, -1]), chance.choice([0, 0, 1, -1])
    strength = chance.uniform(0.65, 1.0)
    points = []
    for row in range(8):
        for column in range(8):
            y, x = row - down, column - right
            dark = 0 <= y < 8 and 0 <= x < 8 and rows[y][x] == "#"
            value = STRONGEST * strength * dark + chance.gauss(0, 2.2)
            points.append(min(STRONGEST, max(0, round(value))))
    return points


def forward(network, points):
    """Values of all layers, the inputs first."""
    values = [[point / STRONGEST for point in points]]
    for number, (weights, offsets) in enumerate(network):
        last = values[-1]
        sums = [b + sum(map(float.__mul__, row, last)) for row, b in zip(weights, offsets)]
        is_hidden = number + 1 < len(network)
        values.append([max(0.0, s) for s in sums] if is_hidden else sums)
    return values


def learn(network, points, digit):
    values = forward(network, points)
    top = max(values[-1])
    powers = [math.exp(value - top) for value in values[-1]]
    whole = sum(powers)
    errors = [power / whole - (number == digit) for number, power in enumerate(powers)]
    for number in reversed(range(len(network))):
        weights, offsets = network[number]
        inputs = values[number]
        below = [0.0] * len(inputs)
        for neuron, error in enumerate(errors):
            if error == 0.0:
                continue
            row = weights[neuron]
            below = [b + error * w for b, w in zip(below, row)]
            change = STEP * error
            weights[neuron] = [w - change * value for w, value in zip(row, inputs)]
            offsets[neuron] -= change
        errors = [b if value > 0 else 0.0 for b, value in zip(below, inputs)]


def train(chance):
    network = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        deviation = math.sqrt(2 / inputs)
        weights = [[chance.gauss(0, deviation) for _ in range(inputs)] for _ in range(outputs)]
        network.append((weights, [0.0] * outputs))
    samples = [(number % 10, draw(number % 10, chance)) for number in range(TRAINED)]
    for _ in range(EPOCHS):
        chance.shuffle(samples)
        for digit, points in samples:
            learn(network, points, digit)
    return network


def listed(numbers, indent="    "):
    """Numbers in lines of at most 100 columns."""
    lines, line = [], indent
    for number in numbers:
        text = f"{number},"
        if len(line) + len(text) > 99:
            lines.append(line.rstrip())
            line = indent
        line += text + " "
    return "\n".join([*lines, line.rstrip()])


def header(network, digits):
    text = f"""/* A network that tells digits of 8 x 8 points, and digits to try, written by
 * scripts/train_digits.py. Weights are in 1/{UNIT}, neuron by neuron: its
 * inputs' weights, then its offset. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

#define LAYERS {len(network)}
#define WEIGHT_BITS {UNIT.bit_length() - 1}
#define POINTS {SIZES[0]}
#define STRONGEST_POINT {STRONGEST}
#define DIGITS {len(digits)}

static const uint16_t layer_sizes[LAYERS + 1] = {{ {", ".join(map(str, SIZES))} }};
"""
    for number, (weights, offsets) in enumerate(network, 1):
        flat = [w for row, offset in zip(weights, offsets) for w in [*row, offset]]
        rounded = [max(-32768, min(32767, round(w * UNIT))) for w in flat]
        text += f"\nstatic const int16_t layer_{number}[] = {{\n{listed(rounded)}\n}};\n"
    names = ", ".join(f"layer_{number}" for number in range(1, len(network) + 1))
    text += f"\nstatic const int16_t *const layer_weights[LAYERS] = {{ {names} }};\n"
    text += "\n/* What each digit is, and its points from 0 to STRONGEST_POINT, row by row. */\n"
    text += f"static const uint8_t digit_names[DIGITS] = {{\n{listed(d for d, _ in digits)}\n}};\n"
    points = [point for _, points in digits for point in points]
    text += f"static const uint8_t digit_points[DIGITS * POINTS] = {{\n{listed(points)}\n}};\n"
    return text + "\n#endif\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    place = Path(__file__).resolve().parent.parent / "examples/nanopu_neural/network.h"
    parser.add_argument("file", nargs="?", type=Path, default=place)
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    arguments = parser.parse_args()
    chance = random.Random(SEED)
    network = train(chance)
    digits = [(chance.randrange(10), None) for _ in range(SHOWN)]
    digits = [(digit, draw(digit, chance)) for digit, _ in digits]
    right = sum(max(range(10), key=forward(network, p)[-1].__getitem__) == d for d, p in digits)
    print(f"{right} of {len(digits)} digits are told right")
    text = header(network, digits)
    if not arguments.check:
        arguments.file.write_text(text)
    elif arguments.file.read_text() != text:
        sys.exit(f"{arguments.file} is not what this script writes")


if __name__ == "__main__":
    main()
