"""Random nested datatypes, in the notation of examples/datatypes/host/ddt_text.c."""

BASICS = ("char", "short", "int", "long", "float", "double", "complex", "long_double", "float_int",
          "double_int", "short_int", "long_int", "2int", "long_double_int")
CONSTRUCTORS = ("ctg", "vec", "hvec", "idx", "hidx", "bidx", "hbidx", "struct", "sub", "res", "dup")


def numbers(random, count, low, high):
    return [random.randint(low, high) for _ in range(count)]


def pairs(lengths, places):
    return " ".join(f"{length} {place}" for length, place in zip(lengths, places, strict=True))


def not_minus_one(number):
    """Blocks that go back by one byte: Open MPI 4.1 places them one behind the other."""
    return -2 if number == -1 else number


def indexed(random, name, child):
    """Blocks of lengths from 0 on, in any order, with negative displacements and overlaps."""
    reach = 60 if name.startswith("h") else 6
    count = random.randint(1, 4)
    places = numbers(random, count, -reach, 2 * reach)
    if "bidx" in name:
        return f"{name}({random.randint(1, 3)} {' '.join(map(str, places))})[{child}]"
    lengths = numbers(random, count, 0, 3)
    lengths[random.randrange(count)] = random.randint(1, 3)
    return f"{name}({pairs(lengths, places)})[{child}]"


def subarray(random, child):
    dims = random.randint(1, 3)
    sizes = numbers(random, dims, 1, 5)
    subsizes = [random.randint(1, size) for size in sizes]
    starts = [random.randint(0, size - part) for size, part in zip(sizes, subsizes, strict=True)]
    text = " ".join(map(str, [dims, *sizes, *subsizes, *starts]))
    return f"sub({random.choice('CF')} {text})[{child}]"


def structure(random, depth):
    count = random.randint(1, 3)
    children = [random_type(random, random.randint(0, depth - 1)) for _ in range(count)]
    lengths = numbers(random, count, 1, 2)
    places = numbers(random, count, -40, 300)
    return f"struct({pairs(lengths, places)})[{'; '.join(children)}]"


def random_type(random, depth):
    """A datatype of at most `depth` constructors inside one another."""
    if depth == 0:
        return random.choice(BASICS)
    name = random.choice(CONSTRUCTORS)
    if name == "struct":
        return structure(random, depth)
    child = random_type(random, depth - 1)
    if name == "dup":
        return f"dup[{child}]"
    if name == "ctg":
        return f"ctg({random.randint(1, 5)})[{child}]"
    if name == "res":
        return f"res({random.randint(-30, 30)} {not_minus_one(random.randint(-40, 120))})[{child}]"
    if name == "vec":
        stride = not_minus_one(random.randint(-4, 6))
        return f"vec({random.randint(1, 4)} {random.randint(1, 3)} {stride})[{child}]"
    if name == "hvec":
        stride = not_minus_one(random.randint(-50, 90))
        return f"hvec({random.randint(1, 4)} {random.randint(1, 3)} {stride})[{child}]"
    if name == "sub":
        return subarray(random, child)
    return indexed(random, name, child)
