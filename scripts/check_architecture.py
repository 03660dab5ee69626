#!/usr/bin/env python3
"""Checks that the crates lie in layers, that no modules go round in circles, and that rooms stay small.

    python3 scripts/check_architecture.py [--numbers]

- A crate may use those of lower layers alone (LAYERS), in `[dependencies]` and `[build-dependencies]`.
- A crate's top-level modules must not use each other in a circle.
- A crate has at most CRATE_LINES lines in src, a file at most FILE_LINES.
- Unsafe code stands in the crates of UNSAFE alone, and each place has its `// SAFETY:` in front of it.

What is not so yet stands in EXCEPTIONS with its present number. An exception may only shrink: it fails
when there is more of it, and when it is needed no longer; where there is less, the number wants to be
lowered. --numbers prints them as they are, and who uses whom. Exit status 0 when all is well.
"""

import re
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FILE_LINES = 500
CRATE_LINES = 14_000

# From the lowest to the highest; those of one layer do not know each other.
LAYERS = [
    ["pinion-input", "pinion-output"],
    [
        "pinion-assets", "pinion-capture", "pinion-isa", "pinion-matching", "pinion-python-guard",
        "pinion-sim", "pinion-translate",
    ],
    ["pinion-cores", "pinion-host", "pinion-net", "pinion-p4", "pinion-perfetto"],
    ["pinion-nanopu-machine", "pinion-p4-hardware", "pinion-p4-translate", "pinion-spin-machine"],
    ["pinion-nanopu-hardware", "pinion-spin-hardware"],
    ["pinion-instruction-cache", "pinion-l2-port"],
    ["pinion-nanopu", "pinion-spin"],
    ["pinion-native", "pinion-pspinsim"],
    ["pinion-app"],
    ["pinion-calibration", "pinion-hardware", "pinion-observe"],
    ["pinion-check"],
    ["pinion-run"],
    ["pinion-debug", "pinion-expect", "pinion-figures", "pinion-page", "pinion-record", "pinion-why"],
    ["pinion-dashboard", "pinion-nicd"],
    ["pinion", "pinion-fuzz", "pinion-python"],
]

# How many places of unsafe code a crate has at most: blocks, functions, implementations. It may only shrink.
UNSAFE = {
    "pinion": 2,
    "pinion-hardware": 17,
    "pinion-host": 14,
    "pinion-native": 82,
    "pinion-net": 11,
    "pinion-nicd": 1,
    # A function that Cranelift has made is called.
    "pinion-p4-translate": 1,
    "pinion-pspinsim": 44,
    # Arrow's streams come as pointers in capsules.
    "pinion-python": 1,
    # A function that Cranelift has made is called, and on AArch64 the processor is told of it.
    "pinion-translate": 3,
}

# By what is wrong: how many lines there are, or how many modules go round in one circle.
EXCEPTIONS = {
}

NAME = re.compile(r"[a-z_]\w*")


def layer_problems(dependencies, layers):
    """Arrows between crates that do not lead downwards; of a table from a crate to those it uses."""
    height = {crate: at for at, layer in enumerate(layers) for crate in layer}
    for crate, used in sorted(dependencies.items()):
        if crate not in height:
            yield f"{crate} is in no layer; put it into LAYERS of scripts/check_architecture.py"
            continue
        for other in sorted(used):
            if other in height and height[other] >= height[crate]:
                where = "above it" if height[other] > height[crate] else "beside it"
                yield f"{crate} uses {other}, which lies {where}"


def read_dependencies(folder):
    """A table from each crate to those of ours that it uses."""
    manifests = [tomllib.loads(path.read_text()) for path in sorted(folder.glob("*/Cargo.toml"))]
    names = {manifest["package"]["name"] for manifest in manifests}
    return {
        manifest["package"]["name"]: names & (set(tables(manifest)) - {manifest["package"]["name"]})
        for manifest in manifests
    }


def tables(manifest):
    """The names in a manifest's tables of dependencies, those of targets, too; not those of tests."""
    for part in (manifest, *manifest.get("target", {}).values()):
        for table in ("dependencies", "build-dependencies"):
            yield from part.get(table, {})


def plain(text):
    """Rust source without comments and strings, and without what is only compiled for tests."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r'(?<!\')"(?:[^"\\]|\\.)*"', '""', text, flags=re.S)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"#\[cfg\(test\)\]\s*mod \w+ \{.*\Z", "", text, flags=re.S)


def heads(tree):
    """The first names of a use tree: of `{a::B, c::{D, e}, F}` a, c and F."""
    depth, found, at_start = 0, [], True
    for token in re.findall(r"[{},]|::|\w+|\*", tree):
        if token == "{":
            depth += 1
            at_start = depth == 1
        elif token == "}":
            depth -= 1
        elif token == ",":
            at_start = depth <= 1
        elif at_start and NAME.fullmatch(token):
            found.append(token)
            at_start = False
        else:
            at_start = False
    return found


def used_modules(text):
    """The top-level modules of its own crate that a text names, by `crate::`."""
    found = set()
    for match in re.finditer(r"\bcrate::", text):
        rest = text[match.end() :]
        if rest.startswith("{"):
            found |= set(heads(rest[: closing(rest)]))
        elif name := NAME.match(rest):
            found.add(name[0])
    return found


def closing(text):
    """Where the bracket that a text begins with closes."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if not depth:
            return at + 1
    return len(text)


def is_test(path):
    """Tells whether a file is only compiled for tests."""
    return path.stem == "tests" or "tests" in path.parts


def module_graph(source):
    """A table from each top-level module of a crate to those it uses."""
    folders = {path.name for path in source.iterdir() if path.is_dir()}
    modules = (folders | {path.stem for path in source.glob("*.rs")}) - {"lib", "main"}
    graph = {module: set() for module in modules}
    for path in source.rglob("*.rs"):
        inside = path.relative_to(source)
        module = inside.parts[0].removesuffix(".rs")
        if module in modules and not is_test(inside):
            text = plain(path.read_text())
            if len(inside.parts) == 1 or inside.parts[1:] == ("mod.rs",):
                text = re.sub(r"\bsuper::", "crate::", text)  # what lies above it is the root
            graph[module] |= (used_modules(text) & modules) - {module}
    return graph


def circles(graph):
    """Sets of nodes that reach each other, those of more than one node, in order (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


UNSAFE_PLACE = re.compile(r"\bunsafe\s+(?:\{|impl\b|fn\b|extern\b)|#\[unsafe\(")
UNSAFE_BLOCK = re.compile(r"\bunsafe\s+(?:\{|impl\b)")
# A block's reason stands so many lines in front of it at most: the statement it is in may begin earlier.
REASON_LINES = 8


def unsafe_places(folder):
    """Tables of crates' numbers of places, and what has no reason."""
    numbers, bare = {}, []
    for path in sorted(folder.glob("*/src/**/*.rs")):
        text = path.read_text()
        found = len(UNSAFE_PLACE.findall(plain(text)))
        if not found:
            continue
        crate = path.relative_to(folder).parts[0]
        numbers[crate] = numbers.get(crate, 0) + found
        lines = text.splitlines()
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            near = lines[max(0, number - REASON_LINES) : number + 1]
            if UNSAFE_BLOCK.search(code) and not any("SAFETY:" in other for other in near):
                bare.append(f"{path.relative_to(folder)}:{number + 1} has no `// SAFETY:`")
    return numbers, bare


def unsafe_problems(folder, allowed):
    """Unsafe code where there should be none, more of it than there was, and places without a reason."""
    numbers, bare = unsafe_places(folder)
    yield from bare
    for crate, number in sorted(numbers.items()):
        if number > allowed.get(crate, 0):
            yield f"{crate} has {number} places of unsafe code, {allowed.get(crate, 0)} are allowed"
    for crate in sorted(allowed):
        if numbers.get(crate, 0) < allowed[crate]:
            yield f"{crate} has {numbers.get(crate, 0)} places of unsafe code now: lower UNSAFE"


def lines_of(path):
    return path.read_text().count("\n")


def measure(folder):
    """What is larger than it should be: a table from what it is to its number, in words of a limit."""
    found = {}
    for crate in sorted(path.parent for path in folder.glob("*/Cargo.toml")):
        source = crate / "src"
        sizes = {path: lines_of(path) for path in sorted(crate.rglob("*.rs"))}
        total = sum(size for path, size in sizes.items() if path.is_relative_to(source))
        if total > CRATE_LINES:
            found[f"lines of {crate.name}"] = total
        for path, size in sizes.items():
            if size > FILE_LINES:
                found[f"lines of {path.relative_to(folder)}"] = size
        for circle in circles(module_graph(source)):
            name = f"modules of {crate.name} in circles"
            found[name] = found.get(name, 0) + len(circle)
    return found


def compare(found, exceptions):
    """What has got worse than its exception says, and what needs none any more."""
    for name, number in found.items():
        allowed = exceptions.get(name)
        if allowed is None:
            yield f"{name}: {number:,}, and there is no exception for it"
        elif number > allowed:
            yield f"{name}: {number:,}, more than the exception's {allowed:,}"
    for name in sorted(exceptions.keys() - found.keys()):
        yield f"{name}: all is well now; strike the exception off"


def shrunk(found, exceptions):
    """What has got better than its exception says: the number may be lowered."""
    for name, number in found.items():
        if number < exceptions.get(name, number):
            yield f"{name}: {number:,} now; the exception says {exceptions[name]:,}"


def explain_circles(folder):
    """The arrows of each circle, to see where to cut."""
    for crate in sorted(path.parent for path in folder.glob("*/Cargo.toml")):
        graph = module_graph(crate / "src")
        for circle in circles(graph):
            print(f"{crate.name}:")
            for module in circle:
                print(f"    {module} uses {', '.join(sorted(graph[module] & set(circle)))}")


def main():
    folder = REPOSITORY / "crates"
    found = measure(folder)
    if "--numbers" in sys.argv[1:]:
        for name, number in found.items():
            print(f'    "{name}": {number},')
        explain_circles(folder)
        return 0
    problems = {
        "crates lie in layers": list(layer_problems(read_dependencies(folder), LAYERS)),
        "sizes and circles": list(compare(found, EXCEPTIONS)),
        "unsafe code": list(unsafe_problems(folder, UNSAFE)),
    }
    for name, said in problems.items():
        print(f"{'FAIL' if said else 'ok  '} {name}")
        for problem in said:
            print(f"     {problem}")
    for note in shrunk(found, EXCEPTIONS):
        print(f"     {note}")
    if problems["sizes and circles"]:
        print("     (scripts/check_architecture.py --numbers prints the numbers, and who uses whom)")
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
