#!/usr/bin/env python3
"""Writes how large the units are and how fast into the book's table, docs/tables/hardware.md, and how
they grow with a parameter into its figure, docs/src/figures/hardware-growth.svg; and those of P4's pipelines
into docs/tables/p4-hardware.md.

    python3 tests/hardware/sizes.py [--jobs N] [--pinion FILE] [--only units|pipelines] [UNIT|PROGRAM]...

By unit and size, as hardware/units.toml lists them: what Yosys makes of it for an ECP5, the gates of two
inputs that it takes at most, and the highest clock that nextpnr finds (speed grade 8, 85k, without
pins), where it is installed, and from where to where its slowest path goes. With UNITs, or PROGRAMs like ndp/ingress, only
their lines of the table are made anew, each kept as it is done.
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
from synthesis import GATES, PATIENCE, cells_of, gates_of, synthesize  # noqa: E402
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
        limit=PATIENCE,
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
    line = f"| `{shown_program(program)}` | {ports.cycles} | {' | '.join(map(str, parts))} | {gates} | {depth} | {fastest} |\n"
    print(line, end="", flush=True)
    return line


def key_of(line, width):
    """What a line of a table is of: its first cells, unit and size or program."""
    return tuple(line.split("|")[1 : 1 + width])


def write_units(pool, chosen):
    """Writes the table of units, all or those that are chosen, and, of all, the curves."""
    units = tomllib.loads((HARDWARE / "units.toml").read_text())
    sizes = [(name, unit, size) for name, unit in units.items() for size in unit.get("sizes", [])]
    order = [key_of(f"| {name} | {shown_size(size)} |", 2) for name, _, size in sizes]
    wanted = [size for size in sizes if not chosen or size[0] in chosen]
    keep_lines((TABLE, HEAD), order, pool.map(lambda size: row(*size), wanted), chosen)
    if not chosen:
        growth.write(units, pool)


def keep_lines(table, order, lines, chosen):
    """Writes a table (file, head) with these lines, in an order of their keys; each as it is done, if only some are
    chosen: the others stay."""
    (path, head), width = table, len(order[0])
    old = path.read_text().splitlines(keepends=True)[2:] if chosen else []
    kept = {key_of(line, width): line for line in old if key_of(line, width) in order}
    for line in lines:
        kept[key_of(line, width)] = line
        if chosen:
            path.write_text(head + "".join(kept[key] for key in order if key in kept))
    path.write_text(head + "".join(kept[key] for key in order if key in kept))


def shown_size(size):
    """A size as the table shows it."""
    return ", ".join(f"`{key}` {value}" for key, value in size.items()) or "–"


def shown_program(program):
    """A program as the table shows it."""
    return program.removeprefix("sdk/p4/").removesuffix(".p4")


def write_pipelines(pool, pinion, chosen):
    """Writes the table of pipelines, all or those that are chosen."""
    programs = [name for name, _ in pipeline.programs() if name not in pipeline.SMALL]
    order = [key_of(f"| `{shown_program(name)}` |", 1) for name in programs]
    wanted = [name for name in programs if not chosen or shown_program(name) in chosen]
    lines = pool.map(lambda program: pipeline_row(pinion, program), wanted)
    keep_lines((PIPELINES, HEAD_OF_PIPELINES), order, lines, chosen)


def check_known(chosen):
    """Refuses names of neither units with sizes nor programs."""
    units = tomllib.loads((HARDWARE / "units.toml").read_text())
    known = [name for name, unit in units.items() if unit.get("sizes")]
    known += [shown_program(name) for name, _ in pipeline.programs()]
    if unknown := [name for name in chosen if name not in known]:
        raise Difference(f"{unknown[0]} is no unit of units.toml with sizes, and no program of sdk/p4")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--pinion", type=Path, default=PINION, metavar="FILE")
    parser.add_argument("--only", choices=["units", "pipelines"])
    parser.add_argument("chosen", nargs="*", metavar="UNIT|PROGRAM")
    arguments = parser.parse_args()
    try:
        need("yosys")
        chosen = arguments.chosen
        check_known(chosen)
        programs = [name for name in chosen if "/" in name]
        units = [name for name in chosen if "/" not in name]
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, arguments.jobs)) as pool:
            if arguments.only != "pipelines" and (units or not chosen):
                write_units(pool, units)
            if arguments.only != "units" and (programs or not chosen):
                write_pipelines(pool, arguments.pinion, programs)
    except (Difference, Skip) as problem:
        return f"{problem}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
