#!/usr/bin/env python3
"""Draws docs/src/machine.svg: the units of the machine and a packet's way through them.

    python3 docs/machine_svg.py
"""

from html import escape
from pathlib import Path

TARGET = Path(__file__).resolve().parent / "src/machine.svg"
WIDTH, HEIGHT = 1000, 560
INK, FAINT, WAY, BACK = "#1d2733", "#8a94a0", "#c2410c", "#2563a8"
FILLS = {"nic": "#eef3f8", "cluster": "#f3f7ee", "memory": "#fff4d6", "plain": "#ffffff"}


class Drawing:
    """Boxes, arrows and numbered steps, in the order they are drawn."""

    def __init__(self):
        self.parts = []

    def box(self, x, y, width, height, lines, fill="plain", dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="7" '
            f'fill="{FILLS[fill]}" stroke="{FAINT}" stroke-width="1.2"{dash}/>'
        )
        top = y + height / 2 - (len(lines) - 1) * 9 + 5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + 18 * number, line, small=number > 0)

    def frame(self, x, y, width, height, title, fill):
        self.box(x, y, width, height, [], fill)
        self.text(x + 12, y + 21, title, anchor="start", colour=FAINT)

    def text(self, x, y, text, small=False, anchor="middle", colour=INK, bold=False):
        size = 12 if small else 14
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}"{weight}>{escape(text)}</text>'
        )

    def arrow(self, points, colour=WAY, dashed=False):
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        head = "way" if colour == WAY else "back"
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash} '
            f'marker-end="url(#{head})"/>'
        )

    def step(self, x, y, number, colour=WAY):
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="10" fill="{colour}"/>')
        self.text(x, y + 4, str(number), small=True, colour="#ffffff", bold=True)

    def svg(self):
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{colour}"/></marker>'
            for name, colour in (("way", WAY), ("back", BACK))
        )
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="Helvetica, Arial, sans-serif" role="img" '
            f'aria-label="A packet\'s way through the machine">\n<defs>{heads}</defs>\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n{body}\n</svg>\n'
        )


def draw_nic(d):
    d.frame(110, 14, 840, 156, "NIC", "nic")
    d.box(130, 56, 130, 90, ["matching engine", "finds the context,", "or: to the host"])
    d.box(290, 56, 120, 90, ["inbound engine", "64 B a cycle"])
    d.box(440, 56, 130, 90, ["MPQ engine", "256 messages:", "header, payload,", "completion"])
    d.box(600, 56, 130, 90, ["task dispatcher", "home cluster or", "least occupied"])
    d.box(800, 56, 130, 90, ["outbound engine", "400 Gbit/s"])
    d.box(290, 216, 190, 56, ["L2 packet buffer", "4 MiB, 32 banks"], "memory")
    d.box(500, 216, 150, 56, ["L2 handler memory", "4 MiB"], "memory")
    d.box(670, 216, 110, 56, ["program", "32 KiB"], "memory")
    d.box(820, 216, 140, 56, ["command unit", "send, host DMA, write"])


def draw_cluster(d):
    for offset in (16, 8, 0):
        d.frame(110 + offset, 314 + offset, 690, 216, "", "cluster")
    d.text(122, 335, "4 clusters", anchor="start", colour=FAINT)
    d.box(130, 350, 140, 64, ["cluster scheduler", "room in L1, order"])
    d.box(130, 448, 140, 64, ["cluster DMA", "L2 ↔ L1"])
    d.box(320, 448, 200, 64, ["L1, 1 MiB, 64 banks", "packets, scratchpad, stacks"], "memory")
    d.box(590, 448, 140, 64, ["instruction cache", "4 KiB, shared"], "memory")
    for offset in (10, 5, 0):
        d.box(320 + offset, 340 + offset, 410, 74, [], "plain")
    d.text(330, 360, "8 HPUs", anchor="start", colour=FAINT, small=True)
    d.box(390, 349, 140, 56, ["HPU driver", "commands, watchdog"])
    d.box(570, 349, 150, 56, ["RI5CY core", "the handler runs here"])
    d.box(835, 448, 140, 64, ["host memory", "PCIe, IOMMU"], "memory")


def draw_way(d):
    d.arrow([(15, 101), (128, 101)])
    d.text(15, 84, "packets in", anchor="start")
    d.step(68, 101, 1)
    d.arrow([(260, 101), (288, 101)])
    d.arrow([(385, 146), (385, 214)])
    d.step(385, 166, 2)
    d.arrow([(410, 101), (438, 101)])
    d.step(424, 78, 3)
    d.text(424, 122, "HER", small=True, colour=WAY)
    d.arrow([(570, 101), (598, 101)])
    d.step(584, 78, 4)
    d.arrow([(640, 146), (640, 194), (200, 194), (200, 348)])
    d.step(200, 244, 5)
    d.arrow([(300, 272), (300, 432), (200, 432), (200, 446)])
    d.arrow([(270, 480), (318, 480)])
    d.step(294, 480, 6)
    d.arrow([(270, 381), (388, 381)])
    d.step(358, 381, 7)
    d.arrow([(530, 377), (568, 377)])
    d.arrow([(645, 405), (645, 432), (420, 432), (420, 446)])
    d.step(545, 432, 8)
    d.arrow([(500, 349), (500, 328), (870, 328), (870, 274)])
    d.step(838, 328, 9)
    d.arrow([(870, 216), (870, 148)])
    d.arrow([(930, 101), (990, 101)])
    d.text(972, 84, "out")
    d.arrow([(920, 272), (920, 446)])
    d.arrow([(430, 349), (430, 294), (800, 294), (800, 188), (690, 188), (690, 148)], BACK, True)
    d.text(640, 288, "completion: frees packet and queue", small=True, colour=BACK)


def main():
    drawing = Drawing()
    draw_nic(drawing)
    draw_cluster(drawing)
    draw_way(drawing)
    TARGET.write_text(drawing.svg())


if __name__ == "__main__":
    main()
