"""Othello's tree: counts of the cluster against published ones and against a search of its own kind
here, square by square on a board with a border."""

import random
import re

from support import check, lines

# Leaves 1, 2, … steps below the opening position: published (perft of Othello, known since 1998).
OPENING = [4, 12, 56, 244, 1396, 8200, 55092]
STEPS = [-11, -10, -9, -1, 1, 9, 10, 11]
EMPTY, BORDER = 0, 9
# A few nodes are done sooner on one thread.
ONE = ("--threads", 1)

CLUSTER = """
[cluster]
name = "othello"
[[node]]
name = "root"
app = "EXAMPLES/nanopu_othello_search/root"
args = ["{worker}", "{worker.count}", %s]
ends = true
[[node]]
name = "worker"
app = "EXAMPLES/nanopu_othello_search/worker"
count = %d
"""


def opening():
    board = [BORDER] * 100
    for row in range(8):
        for column in range(8):
            board[10 * row + column + 11] = EMPTY
    for square, disc in ((44, -1), (45, 1), (54, 1), (55, -1)):
        board[square] = disc
    return board


def turned(board, square, who):
    """Discs that a move turns; none where it is not legal."""
    found = []
    if board[square] != EMPTY:
        return found
    for step in STEPS:
        at, row = square + step, []
        while board[at] == -who:
            row.append(at)
            at += step
        if board[at] == who:
            found += row
    return found


def moves(board, who):
    options = ((square, turned(board, square, who)) for square in range(11, 89))
    return [(square, flips) for square, flips in options if flips]


def play(board, who, move):
    board = board.copy()
    for square in (move[0], *move[1]):
        board[square] = who
    return board


def leaves(board, who, steps, seen):
    """Counts leaves; `seen` hears of passes and ends on the way."""
    if steps == 0:
        return 1
    options = moves(board, who)
    if options:
        return sum(leaves(play(board, who, move), -who, steps - 1, seen) for move in options)
    if moves(board, -who):
        seen["pass"] += 1
        return leaves(board, -who, steps - 1, seen)
    seen["end"] += 1
    return 1


def sets(board, who):
    """The mover's discs and the other's, bit 8 * row + column."""
    def bits(disc):
        squares = (8 * (at // 10 - 1) + at % 10 - 1 for at in range(11, 89) if board[at] == disc)
        return sum(1 << square for square in squares)

    return bits(who), bits(-who)


def late_positions(chance, count, empty):
    """Positions from games of random moves, with so many empty squares left."""
    found = []
    while len(found) < count:
        board, who = opening(), 1
        while board.count(EMPTY) > empty:
            options = moves(board, who)
            if options:
                board = play(board, who, chance.choice(options))
            elif not moves(board, -who):
                break
            who = -who
        if board.count(EMPTY) == empty:
            found.append((board, who))
    return found


def count_all(bench, positions, workers, *options):
    """Has a cluster count; gives leaves and tasks of each position."""
    words = [
        word for (own, other), steps, here in positions
        for word in (f"{own:#018x}", f"{other:#018x}", str(steps), str(here))
    ]
    text = CLUSTER % (", ".join(f'"{word}"' for word in words), workers)
    found = []
    for line in lines(bench.run(bench.cluster(text), *ONE, *options), "root"):
        match = re.match(r"(0x\w+) (0x\w+): (\d+) leaves (\d+) steps below, (\d+) tasks", line)
        check(match, f"not understood: {line}")
        own, other = int(match[1], 16), int(match[2], 16)
        (expected, steps, _) = positions[len(found)]
        check((own, other, int(match[4])) == (*expected, steps), f"another position: {line}")
        found.append((int(match[3]), int(match[5])))
    check(len(found) == len(positions), f"{len(found)} of {len(positions)} positions")
    return found


def test_opening_has_the_published_counts(bench):
    board = opening()
    positions = [(sets(board, 1), steps, min(2, steps)) for steps in range(1, 7)]
    counts = [count for count, _ in count_all(bench, positions, 2)]
    check(counts == OPENING[:6], f"{counts} instead of {OPENING[:6]}")
    for steps in range(1, 5):
        own = leaves(board, 1, steps, {"pass": 0, "end": 0})
        check(own == OPENING[steps - 1], f"the test's own search counts {own}")


def test_example_counts_seven_steps(bench):
    last = lines(bench.run("nanopu_othello_search", *ONE), "root")[-1]
    check(f": {OPENING[6]} leaves 7 steps below, 56 tasks" in last, last)


def test_late_positions_with_passes_and_ends(bench):
    chance = random.Random(bench.seed)
    positions, expected, seen = [], [], {"pass": 0, "end": 0}
    for board, who in late_positions(chance, 6, 7) + late_positions(chance, 3, 10):
        steps = 10 if board.count(EMPTY) == 7 else 5
        positions.append((sets(board, who), steps, chance.randrange(0, 4)))
        expected.append(leaves(board, who, steps, seen))
    # Nobody can move: the game is over before it begins. Only the other can: a pass.
    positions += [((1, 0), 5, 2), ((2, 1), 3, 0), ((2, 1), 3, 3)]
    stuck = opening()
    for square in (44, 45, 54, 55):
        stuck[square] = EMPTY
    stuck[11], stuck[12] = -1, 1
    expected += [1] + [leaves(stuck, 1, 3, seen)] * 2
    check(seen["pass"] > 3 and seen["end"] > 3, f"too tame, seed {bench.seed}: {seen}")
    faults = ("--link", "loss=1%,dup=1%,reorder=2%", "--seed", bench.seed)
    counts = [count for count, _ in count_all(bench, positions, 3, *faults)]
    check(counts == expected, f"{counts} instead of {expected}")
