"""Runs hpu_multiply beside what RISC-V says of multiplication and division, and the model's cycles."""

import random

from lockstep import Block

INSTRUCTIONS = 4000
BITS = 32
MASK = (1 << BITS) - 1
MUL, MULH, MULHSU, MULHU, DIV, DIVU, REM, REMU = range(8)
MULH_CYCLES, DIV_CYCLES = 5, 3
PORTS = (["start", "operation", "a", "b"], ["done", "result"])


def signed(value):
    """The number that bits stand for."""
    return value - (1 << BITS) if value >> (BITS - 1) else value


def result(operation, a, b):
    """What an instruction gives (RISC-V unprivileged specification, chapter "M")."""
    if operation in (MUL, MULH, MULHSU, MULHU):
        left = a if operation == MULHU else signed(a)
        right = signed(b) if operation in (MUL, MULH) else b
        return (left * right >> (0 if operation == MUL else BITS)) & MASK
    a, b = (signed(a), signed(b)) if operation in (DIV, REM) else (a, b)
    if b == 0:
        return MASK if operation in (DIV, DIVU) else a & MASK
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return (quotient if operation in (DIV, DIVU) else a - quotient * b) & MASK


def cycles(operation, b):
    """How long it takes (the model's `Costs`)."""
    if operation < DIV:
        return 1 if operation == MUL else MULH_CYCLES
    if operation in (DIV, REM) and signed(b) < 0:
        return DIV_CYCLES + BITS - (~b & MASK).bit_length() - 1
    return DIV_CYCLES + BITS - b.bit_length()


def rows(seed):
    """Instructions one after the other, some with a pause, their operands of all sizes."""
    chance = random.Random(seed)
    special = [0, 1, MASK, 1 << (BITS - 1), MASK >> 1]
    for _ in range(INSTRUCTIONS):
        operation = chance.randrange(8)
        a, b = (
            chance.choice(special)
            if chance.random() < 0.4
            else chance.choice([1, -1]) * chance.getrandbits(chance.randint(1, BITS)) & MASK
            for _ in range(2)
        )
        length = cycles(operation, b)
        for step in range(length):
            row = {"start": 1, "operation": operation, "a": a, "b": b, "done": 0}
            yield row if step < length - 1 else row | {"done": 1, "result": result(operation, a, b)}
        if chance.random() < 0.3:
            yield {"done": 0}


def check_arithmetic(name, unit, folder):
    """Every instruction ends in its cycle with its result."""
    Block(name, unit, {}, PORTS, folder).run("random", list(rows(1)))
