"""Synthesis of a unit with Yosys."""

import json
from pathlib import Path

from checks import sources
from common import check
from tools import call, scratch


def synthesize(name, unit, size, script):
    """Runs a synthesis; gives cells by type."""
    files = " ".join(map(str, sources(unit)))
    sets = "".join(f"chparam -set {key} {value} {name}; " for key, value in size.items())
    with scratch() as folder:
        counts = Path(folder) / "stat.json"
        begin = f"read_verilog -sv {files}; {sets}"
        status, text = call("yosys", "-q", "-p", f"{begin}{script}; tee -q -o {counts} stat -json")
        check(not status and counts.exists(), f"yosys ended with {status}:\n{text[-2000:]}")
        return json.loads(counts.read_text())["design"]["num_cells_by_type"]
