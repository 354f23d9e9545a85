"""The SVG charts: points where they belong, readable ticks, safe text, both colour schemes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from andrea.picture import Line, decades, line_chart, ticks

SVG = "{http://www.w3.org/2000/svg}"


def points(svg: str, line: int) -> list[tuple[float, float]]:
    paths = [
        p for p in ElementTree.fromstring(svg).iter(f"{SVG}path") if "line" in p.attrib["class"]
    ]
    steps = paths[line].attrib["d"].lstrip("M").split("L")
    return [(float(x), float(y)) for x, y in (step.split() for step in steps)]


def test_points_stand_in_proportion() -> None:
    (x0, y0), (x1, y1), (x2, y2) = points(
        line_chart("t", "x", "y", [Line("a", [(0, 0), (5, 1), (10, 4)])]), 0
    )
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert (y0 - y1) * 3 == pytest.approx(y1 - y2, abs=0.4)
    assert y2 < y1 < y0  # up is more


def test_a_logarithmic_axis_gives_each_decade_the_same_room() -> None:
    chart = line_chart("t", "x", "y", [Line("a", [(0, 1), (1, 10), (2, 1000)])], log_y=True)
    (_, y0), (_, y1), (_, y2) = points(chart, 0)
    assert (y0 - y1) * 2 == pytest.approx(y1 - y2, abs=0.3)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 12, [0, 5, 10]), (3.6, 7.7, [4, 5, 6, 7]), (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1])],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_decades_enclose() -> None:
    assert decades(1, 3085) == [1, 10, 100, 1000, 10000]
    assert decades(0.5, 0.5) == [0.1, 1]


def test_names_at_the_ends_do_not_overlap() -> None:
    chart = line_chart("t", "x", "y", [Line(str(i), [(0, i), (1, 3)]) for i in range(3)])
    heights = sorted(float(y) for y in re.findall(r'x="578" y="([\d.]+)"', chart))
    assert len(heights) == 3
    assert min(b - a for a, b in zip(heights, heights[1:], strict=False)) >= 16.9


def test_text_is_escaped_and_one_point_is_enough() -> None:
    chart = line_chart("a < b & c", "x", "y", [Line("<b>", [(1, 2)])])
    texts = [t.text for t in ElementTree.fromstring(chart).iter(f"{SVG}text")]
    assert "a < b & c" in texts
    assert "<b>" in texts


def test_both_colour_schemes_and_nothing_from_outside() -> None:
    chart = line_chart("t", "x", "y", [Line("a", [(1, 2), (2, 3)])])
    assert "prefers-color-scheme: dark" in chart
    assert "url(" not in chart and "href" not in chart


def test_no_point_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one point"):
        line_chart("t", "x", "y", [Line("a", [])])
