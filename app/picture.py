"""The picture of one block: the stream, its two branches, and real numbers on their way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from app.theme import FONT, Theme, signed_colour

CELLS = 22  # components that a strip shows
_CELL = 9.0
STREAM, BRANCH = 78, 312  # x of the stream and of the branches' middle

# Which tensor lies where: name within the block, left end and middle height of its strip.
_STRIPS = (
    ("resid_pre", 104, 548),
    ("attn_out", 104, 352),
    ("mlp_out", 104, 132),
    ("resid_post", 104, 42),
)


def _strip(values: Sequence[float], limit: float, x: float, y: float, theme: Theme) -> str:
    cells = "".join(
        f'<rect x="{x + i * _CELL:.1f}" y="{y - 7}" width="{_CELL + 0.3:.1f}" height="14" '
        f'fill="{signed_colour(v, limit, theme)}"/>'
        for i, v in enumerate(values)
    )
    width = _CELL * CELLS
    return (
        f'<g>{cells}<rect x="{x}" y="{y - 7}" width="{width}" height="14" rx="2" fill="none" '
        f'stroke="{theme["line"]}"/></g>'
    )


def _box(y: float, text: str, theme: Theme) -> str:
    return (
        f'<rect x="{BRANCH - 90}" y="{y - 21}" width="180" height="42" rx="9" '
        f'fill="{theme["card"]}" stroke="{theme["line"]}" stroke-width="1.5"/>'
        f'<text x="{BRANCH}" y="{y + 5}" text-anchor="middle">{escape(text)}</text>'
    )


def _badge(x: float, y: float, n: int, theme: Theme) -> str:
    return (
        f'<circle cx="{x}" cy="{y}" r="11" fill="{theme["bg"]}" stroke="{theme["acc"]}" '
        f'stroke-width="1.5"/><text x="{x}" y="{y + 4.5}" text-anchor="middle" class="b">{n}</text>'
    )


def _branch(leave: float, boxes: Sequence[tuple[float, str]], join: float, theme: Theme) -> str:
    """Draw one branch: it leaves the stream, passes its boxes and comes back to a plus."""
    wire = (
        f'<path d="M{STREAM} {leave}H{BRANCH}V{join}H{STREAM + 19}" fill="none" '
        f'stroke="{theme["acc"]}" stroke-width="2.4" stroke-linejoin="round"/>'
    )
    plus = (
        f'<circle cx="{STREAM}" cy="{join}" r="18" fill="{theme["card"]}" '
        f'stroke="{theme["acc"]}" stroke-width="2.4"/><path d="M{STREAM - 8} {join}h16M{STREAM} '
        f'{join - 8}v16" stroke="{theme["ink"]}" stroke-width="2.2" stroke-linecap="round"/>'
    )
    return wire + plus + "".join(_box(y, text, theme) for y, text in boxes)


def block_svg(
    labels: Mapping[str, str],
    alt: str,
    theme: Theme,
    values: Mapping[str, Iterable[float]] | None = None,
) -> str:
    """Return the picture as SVG text.

    Parameters
    ----------
    labels
        ``attention``, ``mlp``, ``layernorm``, ``stream``, ``in``, ``out`` in the visitor's
        language.
    alt
        What a screen reader says.
    theme
        The palette.
    values
        Recorded vectors by the names ``resid_pre``, ``attn_out``, ``mlp_out``, ``resid_post``;
        each strip shows the first ``CELLS`` components, all on one scale. Without them the
        picture has no strips.
    """
    text = {name: escape(value) for name, value in labels.items()}
    parts = [
        f'<rect x="20" y="74" width="416" height="440" rx="16" fill="{theme["card"]}" '
        f'fill-opacity=".55" stroke="{theme["line"]}" stroke-width="1.4"/>',
        f'<path d="M{STREAM} 572V20" stroke="{theme["acc2"]}" stroke-width="7" '
        'stroke-linecap="round"/>',
        f'<path d="M{STREAM - 11} 28L{STREAM} 10l11 18" fill="none" stroke="{theme["acc2"]}" '
        'stroke-width="7" stroke-linecap="round" stroke-linejoin="round"/>',
        _branch(488, ((452, labels["layernorm"]), (396, labels["attention"])), 352, theme),
        _branch(278, ((242, labels["layernorm"]), (180, labels["mlp"])), 132, theme),
        f'<text x="{STREAM - 26}" y="430" transform="rotate(-90 {STREAM - 26} 430)" '
        f'class="c" text-anchor="middle">{text["stream"]}</text>',
    ]
    if values:
        shown = {name: [float(v) for v in values[name]][:CELLS] for name, _, _ in _STRIPS}
        limit = max(abs(v) for strip in shown.values() for v in strip)
        parts += [_strip(shown[name], limit, x, y, theme) for name, x, y in _STRIPS]
        inside = 104 + _CELL * CELLS + 12
    else:
        inside = 104
    parts += [
        f'<text x="{inside}" y="553" class="c">{text["in"]}</text>',
        f'<text x="{inside}" y="47" class="c">{text["out"]}</text>',
        _badge(436, 100, 1, theme),
        _badge(STREAM, 312, 2, theme),
        _badge(BRANCH + 90, 396, 3, theme),
        _badge(BRANCH + 90, 180, 4, theme),
        _badge(BRANCH + 90, 452, 5, theme),
        _badge(BRANCH + 90, 242, 5, theme),
    ]
    style = (
        f"<style>text{{fill:{theme['ink']};font:16px {FONT}}}.c{{fill:{theme['mute']};"
        f"font-size:14px}}.b{{fill:{theme['acc']};font-size:13px;font-weight:650}}</style>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="12 0 446 584" role="img" '
        f'aria-label="{escape(alt)}">{style}{"".join(parts)}</svg>'
    )
