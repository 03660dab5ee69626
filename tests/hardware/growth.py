"""How units grow with a parameter: docs/src/figures/hardware-growth.csv, and the curves beside it."""

import csv
import math

from common import REPOSITORY
from synthesis import synthesize

FIGURE = REPOSITORY / "docs/src/figures/hardware-growth"
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"]
LEFT, BOTTOM = 70, 400
# Of a doubling of the parameter, and of the tables.
STEP, RISE = 62, 32
# Exponents of two at the origin, and of the last line of the grid.
FIRST_VALUE, LAST_VALUE, FIRST_COUNT, LAST_COUNT = 1, 6, 3, 13


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


def chart(curves):
    """The tables over the parameter, both axes by doublings."""
    width, height = (LAST_VALUE - FIRST_VALUE) * STEP, (LAST_COUNT - FIRST_COUNT) * RISE
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="720" height="470" font-family="sans-serif">',
        '<rect width="720" height="470" fill="white"/>',
        '<text x="24" y="36" font-size="17">Four-input tables of an ECP5</text>',
        f'<text x="{LEFT + 80}" y="{BOTTOM + 52}" font-size="14">value of the parameter</text>',
    ]
    for power in range(FIRST_VALUE, LAST_VALUE + 1):
        x = LEFT + (power - FIRST_VALUE) * STEP
        lines.append(f'<path d="M{x} {BOTTOM}v-{height}" stroke="#ddd"/>')
        lines.append(f'<text x="{x - 8}" y="{BOTTOM + 22}" font-size="13">{1 << power}</text>')
    for power in range(FIRST_COUNT, LAST_COUNT + 1):
        y = BOTTOM - (power - FIRST_COUNT) * RISE
        lines.append(f'<path d="M{LEFT} {y}h{width}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 44}" y="{y + 5}" font-size="13">{1 << power}</text>')
    for place, ((name, parameter), rows) in enumerate(curves.items()):
        path = "L".join(
            f"{LEFT + (math.log2(value) - FIRST_VALUE) * STEP:.1f} "
            f"{BOTTOM - (math.log2(max(tables, 1)) - FIRST_COUNT) * RISE:.1f}"
            for value, tables, _ in rows
        )
        colour, y = COLOURS[place % len(COLOURS)], 90 + 24 * place
        x = LEFT + width + 30
        lines.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<path d="M{x} {y}h24" stroke="{colour}" stroke-width="2"/>')
        label = f"{name}, {parameter}"
        lines.append(f'<text x="{x + 30}" y="{y + 5}" font-size="13">{label}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def write(units, pool):
    """Measures, and writes both files."""
    curves = points(units, pool)
    with FIGURE.with_suffix(".csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["unit", "parameter", "value", "lut4", "ff"])
        for (name, parameter), rows in curves.items():
            table.writerows([name, parameter, *row] for row in rows)
    FIGURE.with_suffix(".svg").write_text(chart(curves))
