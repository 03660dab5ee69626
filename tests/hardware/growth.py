"""How units grow with a parameter: docs/src/figures/hardware-growth.csv, and the curves beside it."""

import csv

import chart
from common import REPOSITORY
from synthesis import synthesize

FIGURE = REPOSITORY / "docs/src/figures/hardware-growth"


def points(units, pool):
    """By unit: its parameter, and (value, tables, flip-flops) of each value that units.toml lists."""
    asked = [
        (name, unit, unit["growth"]["parameter"], value)
        for name, unit in units.items()
        for value in unit.get("growth", {}).get("values", [])
    ]
    found = {}
    for (name, _, parameter, value), counts in zip(asked, pool.map(count, asked), strict=True):
        found.setdefault((name, parameter), []).append((value, *counts))
    return found


def count(asked):
    """Four-input tables and flip-flops of a unit at a value of its parameter."""
    name, unit, parameter, value = asked
    cells = synthesize(name, unit, {parameter: value}, f"synth_ecp5 -top {name}")
    print(f"growth {name} {parameter} {value}", flush=True)
    return cells.get("LUT4", 0), cells.get("TRELLIS_FF", 0)


def draw(curves):
    """Draws the tables over the parameter, both axes by doublings."""
    lines = [
        (f"{name}, {parameter}", [(value, max(tables, 1)) for value, tables, _ in rows], "o-")
        for (name, parameter), rows in curves.items()
    ]
    panel = chart.Panel("Four-input tables of an ECP5", "value of the parameter", lines)
    chart.draw(FIGURE.with_suffix(".svg"), panel)


def write(units, pool):
    """Measures, and writes both files."""
    chart.need()
    curves = points(units, pool)
    with FIGURE.with_suffix(".csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["unit", "parameter", "value", "lut4", "ff"])
        for (name, parameter), rows in curves.items():
            table.writerows([name, parameter, *row] for row in rows)
    draw(curves)
