"""Line charts as SVG, written by hand: a few lines, no library, readable on light and on dark.

The picture follows the reader's colour scheme by a media query inside the SVG, which browsers
honour in an ``<img>`` too. Lines differ in their dashes and carry their name at their end, so that
nobody has to tell colours apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 150, 44, 50
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
  .faint { stroke-width: 1; opacity: .6 }
  .c0 { stroke: #0072b2 } .c1 { stroke: #c2410c } .c2 { stroke: #6e7781 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .grid { stroke: #3d444d }
    .c0 { stroke: #56b4e9 } .c1 { stroke: #f0a35e } .c2 { stroke: #9198a1 }
  }"""
DASHES = ("none", "7 4", "none")


@dataclass(frozen=True)
class Line:
    """One line: its name, its points (x, y), and whether it is background (thin and pale)."""

    name: str
    points: Sequence[tuple[float, float]]
    faint: bool = False


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between ``low`` and ``high``: about so many."""
    rough = (high - low) / about or 1.0
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Return the powers of ten from below ``low`` to above ``high``."""
    last = max(math.ceil(math.log10(high) - 1e-9), math.floor(math.log10(low) + 1e-9) + 1)
    return [10.0**i for i in range(math.floor(math.log10(low) + 1e-9), last + 1)]


def number(value: float) -> str:
    """Return a tick's label: 1,000 and 2.5, without needless zeros."""
    return f"{value:,.10g}"


def line_chart(
    title: str, x_label: str, y_label: str, lines: Sequence[Line], log_y: bool = False
) -> str:
    """Return an SVG document with the lines over common axes.

    Parameters
    ----------
    title, x_label, y_label
        What is shown, with units.
    lines
        At least one, with at least one point; ``log_y`` needs values above 0.

    Raises
    ------
    ValueError
        If there is no point.
    """
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    if not xs:
        raise ValueError("a chart needs at least one point")
    y_ticks = decades(min(ys), max(ys)) if log_y else ticks(min(ys), max(ys))
    scale = math.log10 if log_y else float
    y_low, y_high = (
        min(*map(scale, ys), scale(y_ticks[0])),
        max(*map(scale, ys), scale(y_ticks[-1])),
    )
    x_low, x_high = min(xs), max(xs)

    def at_x(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low or 1) * (WIDTH - LEFT - RIGHT)

    def at_y(y: float) -> float:
        share = (scale(y) - y_low) / (y_high - y_low or 1)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>',
    ]
    for y in y_ticks:
        h = f"{at_y(y):.1f}"
        parts.append(f'<path class="grid" d="M{LEFT} {h}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{h}" dy="4" text-anchor="end">{number(y)}</text>')
    for x in ticks(x_low, x_high):
        middle = f'x="{at_x(x):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle"'
        parts.append(f"<text {middle}>{number(x)}</text>")
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
    )
    parts.append(f'<text x="{LEFT}" y="{TOP - 6}" class="unit">{escape(y_label)}</text>')
    parts += drawn(lines, [[(at_x(x), at_y(y)) for x, y in line.points] for line in lines])
    return "\n".join([*parts, "</svg>"]) + "\n"


def drawn(lines: Sequence[Line], paths: Sequence[Sequence[tuple[float, float]]]) -> list[str]:
    """Return the lines in picture coordinates, with names at their ends that do not overlap."""
    parts, below = [], {}
    for i, (line, path) in enumerate(zip(lines, paths, strict=True)):
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in path)
        dash = f' stroke-dasharray="{DASHES[i % 3]}"'
        kind = f"line c{i % 3}{' faint' if line.faint else ''}"
        parts.append(f'<path class="{kind}" d="M{steps}"{dash}/>')
        below[i] = path[-1][1]
    last = -math.inf
    for i in sorted(below, key=lambda i: below[i]):
        last = max(below[i], last + 17)
        x = WIDTH - RIGHT + 8
        parts.append(f'<text x="{x}" y="{last:.1f}" dy="4">{escape(lines[i].name)}</text>')
    return parts
