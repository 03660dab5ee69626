"""Synthesis of a unit with Yosys: how large it is, and how deep its logic."""

import json
import re
from pathlib import Path

from checks import sources
from common import check
from tools import call, scratch


# Simple gates and multiplexers of two inputs, as standard cells have them.
GATES = "AND,NAND,OR,NOR,XOR,XNOR,MUX"
# Seconds for a synthesis: register arrays of 4 KiB as flip-flops take a quarter of an hour.
PATIENCE = 3600
# Of the report of the longest path between flip-flops.
DEPTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


def synthesize(name, unit, size, script):
    """Runs a synthesis; gives cells by type."""
    sets = "".join(f"chparam -set {key} {value} {name}; " for key, value in size.items())
    return cells_of(sources(unit), f"{sets}{script}")[0]


def cells_of(files, script):
    """Runs a synthesis of files; gives cells by type, and what Yosys said."""
    names = " ".join(map(str, files))
    with scratch() as folder:
        counts = Path(folder) / "stat.json"
        status, text = call(
            *("yosys", "-q", "-p"),
            f"read_verilog -sv {names}; {script}; tee -q -o {counts} stat -json",
            limit=PATIENCE,
        )
        check(not status and counts.exists(), f"yosys ended with {status}:\n{text[-2000:]}")
        return json.loads(counts.read_text())["design"]["num_cells_by_type"], text


def gates_of(files, name):
    """The gates of a module without flip-flops, and how many are on top of each other at most."""
    script = f"synth -flatten -top {name}; abc -g {GATES}; tee -a /dev/stderr ltp -noff"
    cells, text = cells_of(files, script)
    depth = DEPTH.search(text)
    check(depth, f"yosys tells no longest path of {name}:\n{text[-2000:]}")
    return sum(count for kind, count in cells.items() if "DFF" not in kind), int(depth[1])
