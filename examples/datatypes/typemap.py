"""Datatypes as type maps: a list of (displacement, bytes), by the definitions of the MPI standard.

Written without the layout compiler, to check it: no loops, no stack, no extent rules but the
standard's. Reads the notation of host/ddt_text.c. Standard library only.
"""

import ctypes
import re

NAMES = {
    "simple": "ctg(27648)[float]",
    "complex_nested": "hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)"
    "[vec(32 6 8)[ctg(18)[float]]]]]",
}
BASICS = {
    "char": ctypes.c_char,
    "byte": ctypes.c_byte,
    "short": ctypes.c_short,
    "int": ctypes.c_int,
    "long": ctypes.c_long,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "long_double": ctypes.c_longdouble,
}
PAIRS = {"float_int": "float", "double_int": "double", "long_int": "long", "short_int": "short",
         "long_double_int": "long_double", "2int": "int"}
TOKEN = re.compile(r"\s*([A-Za-z_0-9-]+|[()\[\];])")


class Type:
    """Runs in the order of the type map; markers are bounds given by resizing."""

    def __init__(self, runs, lb, ub, align, marked=False):
        self.runs, self.lb, self.ub, self.align, self.marked = runs, lb, ub, align, marked

    @property
    def extent(self):
        return self.ub - self.lb

    @property
    def size(self):
        return sum(size for _, size in self.runs)


def basic(name):
    c_type = BASICS[name]
    size = ctypes.sizeof(c_type)
    return Type([(0, size)], 0, size, ctypes.alignment(c_type))


def join(parts):
    """One type out of (displacement, type), in order."""
    runs, bounds = [], []
    for displacement, part in parts:
        for at, size in part.runs:
            at += displacement
            if runs and runs[-1][0] + runs[-1][1] == at:
                runs[-1] = (runs[-1][0], runs[-1][1] + size)
            else:
                runs.append((at, size))
        if part.runs or part.marked:
            bounds.append((displacement + part.lb, displacement + part.ub, part.marked))
    marked = any(mark for *_, mark in bounds)
    bounds = [(lb, ub) for lb, ub, mark in bounds if mark or not marked] or [(0, 0)]
    lb, ub = min(lb for lb, _ in bounds), max(ub for _, ub in bounds)
    align = max((part.align for _, part in parts), default=1)
    if not marked:
        ub += -(ub - lb) % align
    return Type(runs, lb, ub, align, marked)


def block(length, displacement, part):
    return [(displacement + i * part.extent, part) for i in range(length)]


def resized(lb, extent, part):
    return Type(part.runs, lb, lb + extent, part.align, True)


def pair(name):
    first = basic(PAIRS[name])
    whole = type("pair", (ctypes.Structure,), {
        "_fields_": [("first", BASICS[PAIRS[name]]), ("second", ctypes.c_int)]})
    made = join([(0, first), (whole.second.offset, basic("int"))])
    made.ub = ctypes.sizeof(whole)
    return made


def subarray(order, dims, sizes, subsizes, starts, part):
    """All elements of the box, one by one, in memory's order."""
    fastest_first = range(dims) if order == "F" else range(dims - 1, -1, -1)
    steps, step = {}, part.extent
    for d in fastest_first:
        steps[d] = step
        step *= sizes[d]
    places = [0]
    for d in reversed(list(fastest_first)):
        places = [at + (starts[d] + i) * steps[d] for at in places for i in range(subsizes[d])]
    return resized(0, step, join([(at, part) for at in places]))


class Reader:
    def __init__(self, text):
        self.tokens = TOKEN.findall(text)

    def take(self, wanted=None):
        token = self.tokens.pop(0)
        assert wanted in (None, token), f"{token} instead of {wanted}"
        return token

    def numbers(self):
        numbers = []
        if self.tokens[0] == "(":
            self.take()
            while self.tokens[0] != ")":
                token = self.take()
                numbers.append(token if token in "CF" else int(token))
            self.take()
        return numbers

    def type(self):
        name = self.take()
        if name in NAMES:
            return parse(NAMES[name])
        if name in PAIRS:
            return pair(name)
        if name in BASICS:
            return basic(name)
        if name == "complex":
            return Type([(0, 16)], 0, 16, 8)
        numbers = self.numbers()
        self.take("[")
        children = [self.type()]
        while self.tokens[0] == ";":
            self.take()
            children.append(self.type())
        self.take("]")
        return construct(name, numbers, children)


def construct(name, n, children):
    part = children[0]
    unit = 1 if name.startswith("h") else part.extent
    if name == "dup":
        return part
    if name == "res":
        return resized(*n, part)
    if name == "ctg":
        return join(block(n[0], 0, part))
    if name == "struct":
        fields = zip(n[::2], n[1::2], children, strict=True)
        return join([at for length, place, field in fields for at in block(length, place, field)])
    if name == "sub":
        dims = n[1]
        lists = [n[2 + i * dims : 2 + (i + 1) * dims] for i in range(3)]
        return subarray(n[0], dims, *lists, part)
    if name in ("vec", "hvec"):
        count, length, stride = n
        places = [(length, i * stride * unit) for i in range(count)]
    elif name in ("idx", "hidx"):
        places = [(length, place * unit) for length, place in zip(n[::2], n[1::2], strict=True)]
    else:
        places = [(n[0], place * unit) for place in n[1:]]
    return join([at for length, place in places for at in block(length, place, part)])


def parse(text):
    return Reader(text).type()


def unpack(part, packed, origin, memory):
    """Places packed data, element after element, in a bytearray whose `origin` is the type's."""
    at = element = 0
    while at < len(packed):
        for displacement, size in part.runs:
            piece = packed[at : at + size]
            place = origin + element * part.extent + displacement
            memory[place : place + len(piece)] = piece
            at += len(piece)
        element += 1
