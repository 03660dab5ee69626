"""Barnes–Hut steps over many cores against all pairs, and against one machine's tree."""

import math
import re
import struct

from support import check, lines

SOFTENING, TOP_LEVELS = 0.25, 3
MASK = (1 << 64) - 1
# A few nodes are done sooner on one thread.
ONE = ("--threads", 1)
CLUSTER = """
[cluster]
name = "barnes_hut"
[[node]]
name = "root"
app = "EXAMPLES/nanopu_barnes_hut/root"
args = ["{worker}", "%(cores)d", "%(bodies)d", "%(steps)d"]
ends = true
[[node]]
name = "worker"
app = "EXAMPLES/nanopu_barnes_hut/worker"
count = %(nodes)d
args = ["{root}", "{worker}", "{index}", "%(cores)d", "%(bodies)d", "%(theta)d", "%(step)d"]
"""


def chance(body, purpose):
    bits = (body << 8 | purpose) * 0x9E3779B97F4A7C15 & MASK
    bits = (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9 & MASK
    bits = (bits ^ bits >> 32) * 0x94D049BB133111EB & MASK
    return (bits >> 11) * 2.0**-53


def bodies_at_rest(count):
    """{x, y, vx, vy, mass} of each body."""
    return [
        [
            32.0 * (chance(b, 0) + chance(b, 1)), 32.0 * (chance(b, 2) + chance(b, 3)),
            0.0, 0.0, 0.5 + chance(b, 4),
        ]
        for b in range(count)
    ]


def pull(dx, dy, mass):
    square = dx * dx + dy * dy + SOFTENING
    size = mass / (square * math.sqrt(square))
    return size * dx, size * dy


def all_pairs(bodies, places):
    forces = []
    for x, y in places:
        # A body pulls itself with nothing: its distance is zero.
        pulls = [pull(other[0] - x, other[1] - y, other[4]) for other in bodies]
        forces.append((math.fsum(p[0] for p in pulls), math.fsum(p[1] for p in pulls)))
    return forces


class Cell:
    """A square of a tree on one machine; it is divided while it has two bodies."""

    def __init__(self, bodies, members, middle, side):
        self.side, self.members, self.parts = side, members, []
        if len(members) > 1:
            quarter, half = side / 4, side / 2
            for quadrant in range(4):
                inside = [
                    b for b in members
                    if (bodies[b][0] >= middle[0]) + 2 * (bodies[b][1] >= middle[1]) == quadrant
                ]
                right, above = quadrant & 1, quadrant >> 1
                x = middle[0] + (quarter if right else -quarter)
                y = middle[1] + (quarter if above else -quarter)
                if inside:
                    self.parts.append(Cell(bodies, inside, (x, y), half))
        self.mass = math.fsum(bodies[b][4] for b in members)
        self.x = math.fsum(bodies[b][4] * bodies[b][0] for b in members) / self.mass
        self.y = math.fsum(bodies[b][4] * bodies[b][1] for b in members) / self.mass

    def force(self, bodies, body, theta, sums):
        dx, dy = self.x - bodies[body][0], self.y - bodies[body][1]
        if len(self.members) == 1:
            if self.members[0] != body:
                sums.append(pull(dx, dy, self.mass))
        elif self.side * self.side < theta * theta * (dx * dx + dy * dy):
            sums.append(pull(dx, dy, self.mass))
        else:
            for part in self.parts:
                part.force(bodies, body, theta, sums)


def tree_forces(bodies, theta):
    xs, ys = [body[0] for body in bodies], [body[1] for body in bodies]
    side = max(max(xs) - min(xs), max(ys) - min(ys)) * 1.001 + 1e-9
    middle = (min(xs) + 0.5 * side, min(ys) + 0.5 * side)
    root = Cell(bodies, list(range(len(bodies))), middle, side)
    forces = []
    for body in range(len(bodies)):
        sums = []
        root.force(bodies, body, theta, sums)
        forces.append((math.fsum(p[0] for p in sums), math.fsum(p[1] for p in sums)))
    return forces


def simulate(count, steps, theta, step):
    """Bodies after some steps, the last forces, and where the bodies were then."""
    bodies = bodies_at_rest(count)
    for _ in range(steps):
        forces, places = tree_forces(bodies, theta), [body[:2] for body in bodies]
        before = [body.copy() for body in bodies]
        for body, force in zip(bodies, forces):
            body[2] += step * force[0]
            body[3] += step * force[1]
            body[0] += step * body[2]
            body[1] += step * body[3]
    return bodies, forces, before, places


def results(summary):
    """{x, y, vx, vy, fx, fy} of each body."""
    found = []
    for line in lines(summary, "root"):
        match = re.match(r"body (\d+)((?: [0-9a-f]+){6})$", line)
        if match:
            check(int(match[1]) == len(found), f"out of order: {line}")
            words = [int(word, 16) for word in match[2].split()]
            found.append(list(struct.unpack("<6d", struct.pack("<6Q", *words))))
    return found


def compare(found, count, steps, theta, step):
    """Within rounding of the tree on one machine; gives the errors against all pairs, relative to
    the mean force: the root of their mean square and the largest."""
    bodies, forces, before, places = simulate(count, steps, theta, step)
    check(len(found) == count, f"{len(found)} bodies instead of {count}")
    size = math.sqrt(sum(fx * fx + fy * fy for fx, fy in forces) / count)
    for number, (got, body, force) in enumerate(zip(found, bodies, forces)):
        expected = [*body[:4], *force]
        scale = [64.0, 64.0, size, size, size, size]
        for value, right, unit in zip(got, expected, scale):
            close = abs(value - right) <= 1e-12 * unit
            check(close, f"body {number}: {got} instead of {expected}")
    exact = all_pairs(before, places)
    errors = [math.dist(got[4:], force) / size for got, force in zip(found, exact)]
    return math.sqrt(sum(e * e for e in errors) / count), max(errors)


def test_two_steps_agree_with_one_machine_and_with_all_pairs(bench):
    found = results(bench.run("nanopu_barnes_hut", *ONE))
    mean, most = compare(found, 128, 2, 0.5, 0.01)
    check(mean < 0.015 and most < 0.1, f"error {mean:.4f} in the mean, {most:.4f} at most")
    # Not a sum of all pairs in disguise.
    check(mean > 1e-6, f"error {mean}: no cell was taken as one mass")


def test_six_cores_over_faulty_links(bench):
    numbers = {"cores": 6, "nodes": 2, "bodies": 80, "steps": 2, "theta": 700, "step": 200}
    folder = bench.cluster(CLUSTER % numbers)
    faults = ("--link", "loss=1%,dup=1%,reorder=2%", "--seed", bench.seed)
    mean, most = compare(results(bench.run(folder, *ONE, *faults)), 80, 2, 0.7, 0.2)
    check(mean < 0.03 and most < 0.1, f"error {mean:.4f} in the mean, {most:.4f} at most")
