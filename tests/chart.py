"""Charts of the scripts that measure: curves over what doubles, as SVG.

Drawn by matplotlib, the version of tests/python/requirements.txt; the same curves give the same bytes.
"""

import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parent / "python/requirements.txt"
# Okabe and Ito's: apart for eyes of all kinds.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"]


class Panel:
    """Curves that share their axes. `curves`: (label, points, style) each, a point being (x, y) and a
    style matplotlib's, such as "o-" for what was measured and "--" for what was not. Upwards go
    doublings, or `from_zero` what is added."""

    def __init__(self, title, across, curves, from_zero=False):
        self.title, self.across, self.curves, self.from_zero = title, across, curves, from_zero


def need():
    """Says how to get matplotlib, and ends, where it is not; before anything is measured."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        wanted = [line for line in REQUIREMENTS.read_text().split() if line.startswith("matplotlib")]
        sys.exit(f"the charts want matplotlib: python3 -m pip install {wanted[0]}")


def draw(path, *panels):
    """Writes a chart of panels side by side; across go doublings."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot, ticker

    # Names within the file are made of it alone; text stays text.
    pyplot.rcParams.update({"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 11})
    figure, places = pyplot.subplots(
        1, len(panels), figsize=(max(7.2, 4.6 * len(panels)), 4.4), squeeze=False, layout="constrained"
    )
    for place, panel in zip(places[0], panels, strict=True):
        for number, (label, points, style) in enumerate(panel.curves):
            colour = COLOURS[number % len(COLOURS)]
            place.plot(*zip(*points), style, label=label, color=colour, markersize=4)
        place.set_xscale("log", base=2)
        if panel.from_zero:
            place.set_ylim(bottom=0)
        else:
            place.set_yscale("log", base=2)
        for axis in (place.xaxis, place.yaxis):
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.set_minor_locator(ticker.NullLocator())
        values = sorted({x for _, points, _ in panel.curves for x, _ in points})
        place.set_xticks(values)
        place.set_title(panel.title, fontsize=12)
        place.set_xlabel(panel.across)
        place.grid(color="#dddddd")
        place.legend(fontsize=9)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
