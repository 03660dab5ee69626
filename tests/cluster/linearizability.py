"""Is a history of reads and writes linearizable? A history is when operations on several registers
were invoked and answered, as clients saw it; it is linearizable when each operation could have
happened at one moment between the two, every read giving what was last written.

Registers are independent, so each is looked at alone. For one, orders of its operations are searched
depth first: an operation may come next when no other that is left was answered before it was invoked
(Wing and Gong, 1993); a state, what is left and the value, is never entered twice (Lowe, 2017). A read
that may come next and gives the value comes next at once: that never spoils anything.
"""

import itertools
import random
from collections import defaultdict
from dataclasses import dataclass

from support import check

NEVER = float("inf")


@dataclass(frozen=True)
class Operation:
    """One operation of a client; `answered` is NEVER where no answer came."""

    invoked: float
    answered: float
    kind: str  # r, w
    key: int
    value: int


def parse_history(lines, initial):
    """Reads the lines of examples/nanopu_chain/history.h; gives operations and the values that keys
    had in the beginning: `initial` of the key."""
    operations = []
    for line in lines:
        if line.startswith("h "):
            _, invoked, answered, kind, key, value = line.split()
            operation = Operation(int(invoked), int(answered), kind, int(key), int(value, 16))
            operations.append(operation)
    return operations, {operation.key: initial(operation.key) for operation in operations}


def is_register(operations, initial):
    """Tells whether operations on one register are linearizable."""
    # A read without an answer says nothing; a write without one may have happened or not.
    left = [op for op in operations if op.kind == "w" or op.answered != NEVER]
    left.sort(key=lambda op: op.invoked)
    seen = set()
    stack = [(0, frozenset(), initial)]  # all before a place are done, and some behind it
    while stack:
        first, done, value = stack.pop()
        # Take what can be taken without a choice.
        while True:
            while first in done:
                done = done - {first}
                first += 1
            choices, earliest = [], NEVER
            for place in range(first, len(left)):
                if left[place].invoked > earliest:
                    break
                if place not in done:
                    choices.append(place)
                    earliest = min(earliest, left[place].answered)
            choices = [place for place in choices if left[place].invoked <= earliest]
            reads = [p for p in choices if left[p].kind == "r" and left[p].value == value]
            if not reads:
                break
            done = done | frozenset(reads)
        if earliest == NEVER:
            return True  # only writes without an answer are left, or nothing
        if (first, done, value) in seen:
            continue
        seen.add((first, done, value))
        for place in choices:
            if left[place].kind == "w":
                stack.append((first, done | {place}, left[place].value))
    return False


def wrong_keys(operations, initial):
    """Gives the keys whose operations are not linearizable."""
    by_key = defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    return [key for key in sorted(by_key) if not is_register(by_key[key], initial[key])]


def check_history(operations, initial):
    """Fails a test whose history is not linearizable; shows the first key's."""
    wrong = wrong_keys(operations, initial)
    if wrong:
        own = sorted((op for op in operations if op.key == wrong[0]), key=lambda op: op.invoked)
        shown = "\n".join(f"  {op}" for op in own[:40])
        check(False, f"not linearizable: keys {wrong}; key {wrong[0]}:\n{shown}")


def by_brute_force(operations, initial):
    """The definition itself: tries every order; without operations that have no answer."""
    for order in itertools.permutations(operations):
        value, latest = initial, -1.0
        for op in order:
            latest = max(latest, op.invoked)
            if latest > op.answered or (op.kind == "r" and op.value != value):
                break
            value = op.value
        else:
            return True
    return False


def test_the_checker_knows_right_from_wrong(bench):
    def history(*rows):
        return [Operation(*row[:3], 0, row[3]) for row in rows]

    right = [
        history((0, 1, "w", 1), (2, 3, "r", 1)),
        history((0, 9, "w", 1), (1, 2, "r", 0), (3, 4, "r", 1)),
        history((0, 9, "w", 1), (0, 9, "w", 2), (10, 11, "r", 1), (12, 13, "r", 1)),
        history((0, NEVER, "w", 1), (5, 6, "r", 0), (7, 8, "r", 1)),
        history((0, NEVER, "w", 1), (5, 6, "r", 0)),
    ]
    wrong = [
        history((0, 1, "w", 1), (2, 3, "r", 0)),  # stale
        history((0, 9, "w", 1), (1, 2, "r", 1), (3, 4, "r", 0)),  # new, then old
        history((0, 9, "w", 1), (0, 9, "w", 2), (10, 11, "r", 1), (12, 13, "r", 2)),
        history((0, 1, "r", 7)),  # from nowhere
        history((3, NEVER, "w", 1), (1, 2, "r", 1)),  # before it was written
    ]
    for case in right:
        check(is_register(case, 0), f"linearizable, but refused: {case}")
    for case in wrong:
        check(not is_register(case, 0), f"not linearizable, but accepted: {case}")


def test_the_checker_agrees_with_the_definition(bench):
    numbers = random.Random(bench.seed)
    found = {True: 0, False: 0}
    for _ in range(3000):
        operations = []
        for _ in range(numbers.randrange(1, 6)):
            invoked = numbers.randrange(12)
            answered = invoked + numbers.randrange(1, 8)
            kind = numbers.choice("rw")
            operations.append(Operation(invoked, answered, kind, 0, numbers.randrange(3)))
        wanted = by_brute_force(operations, 0)
        found[wanted] += 1
        check(is_register(operations, 0) == wanted, f"{wanted} by definition: {operations}")
    check(min(found.values()) > 300, f"the histories are too much alike: {found}")


def test_a_register_gives_linearizable_histories(bench):
    numbers = random.Random(bench.seed)
    operations, value, moments = [], 0, sorted(numbers.random() * 1000 for _ in range(300))
    for number, moment in enumerate(moments, 1):
        around = (moment - numbers.random() * 6, moment + numbers.random() * 6)
        if numbers.random() < 0.5:
            value = number
            operations.append(Operation(*around, "w", 0, value))
        else:
            operations.append(Operation(*around, "r", 0, value))
    check(is_register(operations, 0), "a register's history is refused")
    place = max(i for i, op in enumerate(operations) if op.kind == "r")
    stale = operations[place]
    operations[place] = Operation(stale.invoked, stale.answered, "r", 0, operations[0].value)
    check(not is_register(operations, 0), "a read of what was overwritten long ago is accepted")
