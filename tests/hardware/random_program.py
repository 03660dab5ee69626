"""Random handlers in assembly for the HPU's core: arithmetic, accesses to its scratchpad in all sizes and
alignments, atomics, branches, loops, jumps and calls, and one of several ends."""

import random

# Registers that instructions compute with, and pick as bases: of the scratchpad, which stays.
POOL = [*("t0", "t1", "t2", "a0", "a1", "a2", "a3", "a4", "a5", "s0", "t3", "t4"), "zero"]
BASE = "s2"
OPERATIONS = ["add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and", "mul", "mul"]
LONG_OPERATIONS = ["mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"]
IMMEDIATE_OPERATIONS = ["addi", "slti", "sltiu", "xori", "ori", "andi"]
SHIFTS = ["slli", "srli", "srai"]
LOADS, STORES = ["lb", "lbu", "lh", "lhu", "lw", "lw", "lw"], ["sb", "sh", "sw", "sw"]
ATOMICS = ["amoadd", "amoswap", "amoxor", "amoand", "amoor", "amomin", "amomax", "amominu", "amomaxu"]
BRANCHES = ["beq", "bne", "blt", "bge", "bltu", "bgeu"]
SCRATCHPAD_BYTES, USED_BYTES = 256, 250
# What ends a handler: a return, and what traps.
ENDS = [
    "ret",
    ".half 0",
    "ebreak",
    "lw a0, 0(zero)",
    "sw a0, 2(zero)",
    f"addi a0, {BASE}, 2\n    amoadd.w a1, a2, (a0)",
    f"addi a0, {BASE}, 1\n    lr.w a1, (a0)",
    "csrr a0, mcycle",
    "csrw 0xc10, a0",
    "mret",
    "jr zero",
]


class Writer:
    """Writes a handler, by a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.labels = [], 0

    def write(self, line):
        """Adds a line."""
        self.lines.append(f"    {line}")

    def label(self):
        """A new label's name."""
        self.labels += 1
        return f".L{self.labels}"

    def register(self):
        """Any register to compute with."""
        return self.random.choice(POOL)

    def arithmetic(self):
        """An instruction that computes."""
        choice = self.random.random()
        rd, a, b = self.register(), self.register(), self.register()
        if choice < 0.3:
            self.write(f"{self.random.choice(OPERATIONS)} {rd}, {a}, {b}")
        elif choice < 0.4:
            self.write(f"{self.random.choice(LONG_OPERATIONS)} {rd}, {a}, {b}")
        elif choice < 0.7:
            value = self.random.choice([self.random.randint(-2048, 2047), self.random.randint(-32, 31)])
            self.write(f"{self.random.choice(IMMEDIATE_OPERATIONS)} {rd}, {a}, {value}")
        elif choice < 0.8:
            self.write(f"{self.random.choice(SHIFTS)} {rd}, {a}, {self.random.randint(0, 31)}")
        elif choice < 0.9:
            self.write(f"lui {rd}, {self.random.randrange(1 << 20)}")
        elif choice < 0.94:
            self.write(f"auipc {rd}, {self.random.randrange(1 << 20)}")
        else:
            self.write(self.random.choice(["fence", "fence.i", "nop", f"csrr {rd}, 0xc10"]))

    def access(self):
        """A load, store or atomic, often with a word that lies at two."""
        rd, a = self.register(), self.register()
        offset = self.random.randrange(USED_BYTES)
        if self.random.random() < 0.7:
            offset &= ~3
        choice = self.random.random()
        if choice < 0.5:
            self.write(f"{self.random.choice(LOADS)} {rd}, {offset}({BASE})")
        elif choice < 0.8:
            self.write(f"{self.random.choice(STORES)} {a}, {offset}({BASE})")
        elif choice < 0.95:
            self.write(f"{self.random.choice(ATOMICS)}.w {rd}, {a}, ({BASE})")
        else:
            self.write(f"lr.w {rd}, ({BASE})")
            self.write(f"sc.w {self.register()}, {a}, ({BASE})")

    def straight(self, count):
        """Instructions one after the other."""
        for _ in range(count):
            self.random.choice([self.arithmetic, self.access])()

    def block(self, depth):
        """A piece of a program."""
        choice = self.random.random()
        after = self.label()
        if choice < 0.4 or depth == 0:
            self.straight(self.random.randint(1, 8))
        elif choice < 0.6:
            condition = self.random.choice(BRANCHES)
            self.write(f"{condition} {self.register()}, {self.register()}, {after}")
            self.block(depth - 1)
        elif choice < 0.7:
            self.write(self.random.choice([f"j {after}", f"jal t5, {after}"]))
            self.straight(self.random.randint(1, 3))
        elif choice < 0.8:
            self.write(f"la t5, {after}")
            # A jump waits until its register has been written, be it computed or loaded.
            if self.random.random() < 0.5:
                self.write(f"sw t5, 0({BASE})")
                self.write(f"lw t5, 0({BASE})")
            self.straight(self.random.randint(0, 2))
            self.write(self.random.choice(["jr t5", "jalr t6, 0(t5)"]))
            self.straight(1)
        elif depth == 2:
            back = self.label()
            self.write(f"li s3, {self.random.randint(1, 12)}")
            self.lines.append(f"{back}:")
            self.block(1)
            self.straight(2)
            self.write("addi s3, s3, -1")
            self.write(f"bnez s3, {back}")
        else:
            self.straight(3)
        self.lines.append(f"{after}:")


def handler(name, seed, blocks):
    """A handler of so many blocks."""
    writer = Writer(seed)
    write = writer.write
    write('.section .text.handler, "axR"')
    write(f".globl {name}")
    write(f".type {name}, @function")
    writer.lines.append(f"{name}:")
    write("lw t0, 0(a0)")
    write(f"lw {BASE}, 16(t0)")
    # Every run of it does the same.
    write(f"addi t0, {BASE}, {SCRATCHPAD_BYTES}")
    writer.lines.append("1:")
    write("addi t0, t0, -4")
    write("sw t0, 0(t0)")
    write(f"bne t0, {BASE}, 1b")
    for register in POOL[:-1]:
        write(f"li {register}, {writer.random.randrange(1 << 32)}")
    for _ in range(blocks):
        writer.block(2)
    # The model lets a jump behind a trap go early where the access before the trap had to wait.
    write("nop")
    write(writer.random.choice(ENDS))
    write("ret")
    return "\n".join(writer.lines) + "\n"
