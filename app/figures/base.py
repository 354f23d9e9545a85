"""What all figures share: colours, the look, and how a token or a number is written.

A figure gets a ``theme`` (a mapping of colour names, see ``app.theme``) and a ``Voice`` (the
words and the number formats of the visitor's language). Plotly reads a small HTML in every text,
so whatever a visitor typed passes through ``escaped`` first.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

Theme = Mapping[str, str]

FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'
SMALL = 12  # px; nothing is written smaller
SIGNS = {"\n": "↵", "\r": "␍", "\t": "⇥", " ": "·"}  # how white space is shown
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")  # Unicode categories without a picture


@dataclass(frozen=True)
class Voice:
    """A language as figures need it: translations, numbers, Plotly's ``separators``."""

    gettext: Callable[[str], str]
    ngettext: Callable[[str, str, int], str]
    number: Callable[[float, int], str]
    percent: Callable[[float, int], str]
    integer: Callable[[int], str]
    separators: str = ".,"


def shown(label: str) -> str:
    """Return a token's label with every character visible: spaces as ``·``, controls as code.

    Direction marks and other characters without a picture would rearrange or empty a label; they
    are written as ``<U+202E>``.
    """
    return "".join(
        SIGNS.get(c) or (f"<U+{ord(c):04X}>" if unicodedata.category(c) in HIDDEN else c)
        for c in label
    )


def escaped(text: str) -> str:
    """Return ``text`` so that Plotly writes it as it is: no tags, no entities, no TeX."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        text = text.replace(character, entity)
    return text


def token(label: str, most: int = 40) -> str:
    """Return a token's label for a figure: visible, at most ``most`` characters, escaped."""
    text = shown(label)
    return escaped(text if len(text) <= most else text[: most - 1] + "…")


def share(voice: Voice, value: float) -> str:
    """Write a probability or a share with about two digits."""
    size = abs(value)
    if 0 < size < 0.00005:
        return "< " + voice.percent(0.0001, 2)
    return voice.percent(value, 0 if size >= 0.0995 or size == 0 else 1 if size >= 0.00995 else 2)


def size_of(voice: Voice, value: float) -> str:
    """Write a norm with about three digits."""
    if value == 0 or not math.isfinite(value):
        return voice.number(value, 0)
    return voice.number(value, min(4, max(0, 2 - math.floor(math.log10(abs(value))))))


def depth_label(voice: Voice, station: int) -> str:
    """Name the lens' station 0 … 2 L: the embedding, then attention and MLP of each block."""
    _ = voice.gettext
    if station == 0:
        return _("embedding")
    block = voice.integer((station + 1) // 2)
    if station % 2:
        return _("block {block}, after attention").format(block=block)
    return _("block {block}, after the MLP").format(block=block)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the channels of ``#rgb`` or ``#rrggbb``."""
    code = colour.lstrip("#")
    code = "".join(c * 2 for c in code) if len(code) == 3 else code
    return int(code[0:2], 16), int(code[2:4], 16), int(code[4:6], 16)


def mix(start: str, end: str, amount: float) -> str:
    """Return the colour ``amount`` (0 to 1) of the way from one colour to another."""
    pairs = zip(rgb(start), rgb(end), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * amount):02x}" for a, b in pairs)


def shade(theme: Theme, value: float) -> str:
    """Return the colour of a probability: a square-root ramp, so that small ones show."""
    if math.isnan(value):
        return theme["bg"]
    return mix(theme["mid"], theme["pos"], math.sqrt(min(1.0, max(0.0, value))))


def ramp(theme: Theme, stops: int = 12) -> list[list[float | str]]:
    """Return ``shade`` as a Plotly colour scale over 0 to 1."""
    return [[(i / stops) ** 2, shade(theme, (i / stops) ** 2)] for i in range(stops + 1)]


def luminance(colour: str) -> float:
    """Return the relative luminance, 0 (black) to 1 (white), as WCAG 2 defines it."""
    linear = [
        c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
        for c in (v / 255 for v in rgb(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21, as WCAG 2 defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def text_on(background: str) -> str:
    """Return black or white, whichever reads better on ``background``: 4.5 to 1 at least."""
    return max(("#000000", "#ffffff"), key=lambda ink: contrast(ink, background))


def ticks(labels: Sequence[str], most: int) -> tuple[list[int], list[str]]:
    """Return positions and labels for an axis: all of them, or evenly thinned to about ``most``."""
    step = max(1, math.ceil(len(labels) / most))
    kept = list(range(0, len(labels), step))
    return kept, [labels[i] for i in kept]


def axis(theme: Theme, **more: Any) -> dict[str, Any]:
    """Return the settings of a plain axis."""
    return {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "fixedrange": True,
        "automargin": True,
        "tickfont": {"size": SMALL, "color": theme["mute"]},
        "title": {"font": {"size": 13, "color": theme["mute"]}},
        "gridcolor": theme["line"],
    } | more


def titled(text: str, theme: Theme, standoff: int = 8) -> dict[str, Any]:
    """Return an axis title."""
    font = {"size": 13, "color": theme["mute"]}
    return {"text": text, "font": font, "standoff": standoff}


def figure(theme: Theme, voice: Voice, title: str, height: int, subtitle: str = "") -> go.Figure:
    """Return an empty figure in the house's look. ``title`` is trusted or escaped text."""
    second = f'<br><span style="font-size:13px;color:{theme["mute"]}">{subtitle}</span>'
    second = second if subtitle else ""
    # In one go: the same through update_layout takes ten times as long.
    layout = dict(
        template="none",
        height=height,
        margin={"l": 8, "r": 8, "t": 66 if subtitle else 44, "b": 8},
        title={
            "text": f"<b>{title}</b>{second}",
            "font": {"size": 15, "color": theme["ink"]},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 8, "t": 26 if subtitle else 10},
        },
        font={"family": FONT, "size": 13, "color": theme["ink"]},
        paper_bgcolor=theme["bg"],
        plot_bgcolor=theme["bg"],
        separators=voice.separators,
        hoverlabel={
            "bgcolor": theme["soft"],
            "bordercolor": theme["line"],
            "font": {"family": FONT, "size": 14, "color": theme["ink"]},
            "align": "left",
        },
        showlegend=False,
        dragmode=False,
    )
    return go.Figure(layout=layout)


def corner_note(fig: go.Figure, text: str, theme: Theme) -> None:
    """Say above the figure's right end what a mark in it means."""
    fig.add_annotation(
        text=text,
        x=1,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        showarrow=False,
        font={"size": SMALL, "color": theme["mute"]},
    )
