#!/usr/bin/env python3
"""Writes how large the units are and how fast into the book's table, docs/tables/hardware.md, and how
they grow with a parameter into its figure, docs/src/figures/hardware-growth.svg; and those of P4's pipelines
into docs/tables/p4-hardware.md.

    python3 tests/hardware/sizes.py [--jobs N] [--pinion FILE] [--only units|pipelines] [UNIT]...

By unit and size, as hardware/units.toml lists them: what Yosys makes of it for an ECP5, the gates of two
inputs that it takes at most, and the highest clock that nextpnr finds (speed grade 8, 85k, without
pins), where it is installed, and from where to where its slowest path goes. With UNITs only their lines of the table are made
anew, each kept as it is done.
"""

import argparse
import concurrent.futures
import json
import os
import re
import sys
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
sys.path.insert(0, str(FOLDER))
import growth  # noqa: E402
from common import REPOSITORY, Difference, Skip, check  # noqa: E402
import pipeline  # noqa: E402
from synthesis import GATES, cells_of, gates_of, synthesize  # noqa: E402
from tools import HARDWARE, call, find, need, scratch  # noqa: E402

TABLE = REPOSITORY / "docs/tables/hardware.md"
HEAD = """\
| unit | size | LUT4 | FF | RAM (16 × 4 bit) | block RAM | gates | clock, MHz | slowest path |
|---|---|---|---|---|---|---|---|---|
"""
# What Yosys and nextpnr add to the name of what a cell is made of.
ADDED = re.compile(r"(_(TRELLIS|LUT4|CCU2C|PFUMX|L6MUX21|DP16KD|MULT18X18D)\w*|\$.*)$")
PINION = REPOSITORY / "target/debug/pinion"
PIPELINES = REPOSITORY / "docs/tables/p4-hardware.md"
HEAD_OF_PIPELINES = """\
| program | stages | LUT4 | FF | RAM (16 × 4 bit) | gates | deepest logic, gates | clock, MHz |
|---|---|---|---|---|---|---|---|
"""
PLACE_AND_ROUTE = ["--85k", "--package", "CABGA756", "--speed", "8", "--out-of-context"]


def clock(netlist, folder):
    """The highest clock in MHz after place and route, and between which registers its path lies; or dashes."""
    report = folder / "report.json"
    status, text = call(
        "nextpnr-ecp5",
        *(*PLACE_AND_ROUTE, "--timing-allow-fail", "--json", netlist, "--report", report),
    )
    check(not status, f"nextpnr ended with {status}:\n{text[-2000:]}")
    said = json.loads(report.read_text())
    found = said["fmax"].values()
    if not found:
        return "–", "–"
    inner = [one["path"] for one in said["critical_paths"] if "async" not in one["from"] + one["to"]]
    slowest = max(inner, key=lambda path: sum(step["delay"] for step in path))
    ends = [ADDED.sub("", cell) for cell in (slowest[0]["from"]["cell"], slowest[-1]["to"]["cell"])]
    return f"{min(one['achieved'] for one in found):.0f}", f"`{ends[0]}` → `{ends[1]}`"


def row(name, unit, size):
    """A line of the table."""
    with scratch() as made:
        folder = Path(made)
        netlist = folder / "netlist.json"
        cells = synthesize(name, unit, size, f"synth_ecp5 -top {name} -json {netlist}")
        gates = synthesize(name, unit, size, f"synth -flatten -top {name}; abc -g {GATES}")
        fastest, path = clock(netlist, folder) if find("nextpnr-ecp5") else ("–", "–")
    logic = sum(count for kind, count in gates.items() if "DFF" not in kind)
    parts = (cells.get(kind, 0) for kind in ("LUT4", "TRELLIS_FF", "TRELLIS_DPR16X4", "DP16KD"))
    line = f"| {name} | {shown_size(size)} | {' | '.join(map(str, parts))} | {logic} | {fastest} | {path} |\n"
    print(line, end="", flush=True)
    return line


def pipeline_row(pinion, program):
    """A line of the table of pipelines."""
    with scratch() as made:
        folder = Path(made)
        files = pipeline.make(pinion, program, folder, "--vectors", "0")
        ports = pipeline.Ports(min(folder.glob("*.vectors")))
        # Of a program with controls that share register arrays, all of it.
        around = [path.stem for path in files if path.stem.endswith("_all")]
        top = around[0] if around else ports.module
        files = [path for path in files if around or not path.stem.startswith("p4_") or path.stem == top]
        netlist = folder / "netlist.json"
        cells, _ = cells_of(files, f"synth_ecp5 -top {top} -json {netlist}")
        gates, depth = gates_of(files, top)
        fastest, _ = clock(netlist, folder) if find("nextpnr-ecp5") else ("–", "–")
    parts = (cells.get(kind, 0) for kind in ("LUT4", "TRELLIS_FF", "TRELLIS_DPR16X4"))
    shown = program.removeprefix("sdk/p4/").removesuffix(".p4")
    line = f"| `{shown}` | {ports.cycles} | {' | '.join(map(str, parts))} | {gates} | {depth} | {fastest} |\n"
    print(line, end="", flush=True)
    return line


def key_of(line):
    """What a line of the table is of: unit and size."""
    return tuple(line.split("|")[1:3])


def write_units(pool, chosen):
    """Writes the table of units, all or those that are chosen, and, of all, the curves."""
    units = tomllib.loads((HARDWARE / "units.toml").read_text())
    if unknown := [name for name in chosen if not units.get(name, {}).get("sizes")]:
        raise Difference(f"units.toml has no sizes of {unknown[0]}")
    all_sizes = [(name, unit, size) for name, unit in units.items() for size in unit.get("sizes", [])]
    order = [key_of(f"| {name} | {shown_size(size)} |") for name, _, size in all_sizes]
    old = TABLE.read_text().splitlines(keepends=True)[2:] if chosen else []
    lines = {key_of(line): line for line in old if key_of(line) in order}
    sizes = [size for size in all_sizes if not chosen or size[0] in chosen]
    for line in pool.map(lambda size: row(*size), sizes):
        lines[key_of(line)] = line
        if chosen:
            TABLE.write_text(HEAD + "".join(lines[key] for key in order if key in lines))
    if not chosen:
        TABLE.write_text(HEAD + "".join(lines[key] for key in order))
        growth.write(units, pool)


def shown_size(size):
    """A size as the table shows it."""
    return ", ".join(f"`{key}` {value}" for key, value in size.items()) or "–"


def write_pipelines(pool, pinion):
    """Writes the table of pipelines."""
    programs = [name for name, _ in pipeline.programs() if name not in pipeline.SMALL]
    lines = pool.map(lambda program: pipeline_row(pinion, program), programs)
    PIPELINES.write_text(HEAD_OF_PIPELINES + "".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--pinion", type=Path, default=PINION, metavar="FILE")
    parser.add_argument("--only", choices=["units", "pipelines"])
    parser.add_argument("units", nargs="*", metavar="UNIT")
    arguments = parser.parse_args()
    try:
        need("yosys")
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
            if arguments.only != "pipelines":
                write_units(pool, arguments.units)
            if arguments.only != "units" and not arguments.units:
                write_pipelines(pool, arguments.pinion)
    except (Difference, Skip) as problem:
        return f"{problem}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
