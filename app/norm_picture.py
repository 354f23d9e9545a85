"""Pre-norm and post-norm side by side: where the LayerNorm stands, on the branch or on the stream.

Drawn like ``app.picture``: the stream goes up, a branch leaves it and comes back to a plus.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from app.theme import FONT, Theme

STREAM, BRANCH, WIDTH, HEIGHT = 68, 220, 330, 470


def _box(x: float, y: float, text: str, theme: Theme, strong: bool) -> str:
    """Draw a labelled box; a LayerNorm stands out."""
    edge, width = (theme["acc"], 3) if strong else (theme["line"], 1.5)
    fill = theme["soft"] if strong else theme["card"]
    return (
        f'<rect x="{x - 62}" y="{y - 19}" width="124" height="38" rx="9" fill="{fill}" '
        f'stroke="{edge}" stroke-width="{width}"/>'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle">{escape(text)}</text>'
    )


def _plus(y: float, theme: Theme) -> str:
    return (
        f'<circle cx="{STREAM}" cy="{y}" r="15" fill="{theme["card"]}" stroke="{theme["acc"]}" '
        f'stroke-width="2.4"/><path d="M{STREAM - 7} {y}h14M{STREAM} {y - 7}v14" '
        f'stroke="{theme["ink"]}" stroke-width="2.2" stroke-linecap="round"/>'
    )


def _half(
    bottom: float, norm: str, branch: str, labels: Mapping[str, str], residual: bool, theme: Theme
) -> str:
    """Draw one sublayer, 200 high, from ``bottom`` upwards."""
    leave, join = bottom - 18, bottom - 146
    pre = norm == "pre"
    boxes = ((leave - 42, labels["layernorm"], True),) if pre else ()
    middle = leave - 97 if pre else leave - 64
    wire = (
        f'<path d="M{STREAM} {leave}H{BRANCH}V{join}H{STREAM}" fill="none" '
        f'stroke="{theme["acc"]}" stroke-width="2.4" stroke-linejoin="round"/>'
    )
    cut = "" if residual else (
        f'<path d="M{STREAM} {leave - 8}V{join + 4}" stroke="{theme["bg"]}" stroke-width="9"/>'
        f'<path d="M{STREAM} {leave - 10}V{join + 6}" stroke="{theme["line"]}" stroke-width="2" '
        'stroke-dasharray="2 6"/>'
    )  # fmt: skip
    parts = [cut, wire, _plus(join, theme) if residual else ""]
    parts += [_box(BRANCH, y, text, theme, strong) for y, text, strong in boxes]
    parts.append(_box(BRANCH, middle, labels[branch], theme, False))
    if norm == "post":
        parts.append(_box(STREAM, join - 40, labels["layernorm"], theme, True))
    return "".join(parts)


def placement_svg(
    norm: str, residual: bool, labels: Mapping[str, str], alt: str, theme: Theme
) -> str:
    """Return one block under pre- or post-norm as SVG text.

    Parameters
    ----------
    norm
        ``"pre"`` or ``"post"``.
    residual
        Whether the branch is added; without it the stream ends where the branch leaves.
    labels
        ``attention``, ``mlp``, ``layernorm`` in the visitor's language.
    alt
        What a screen reader says.
    theme
        The palette.
    """
    stream = theme["acc2"]
    parts = [
        f'<path d="M{STREAM} {HEIGHT - 6}V26" stroke="{stream}" stroke-width="6" '
        'stroke-linecap="round"/>',
        f'<path d="M{STREAM - 10} 26L{STREAM} 10l10 16" fill="none" stroke="{stream}" '
        'stroke-width="6" stroke-linecap="round" stroke-linejoin="round"/>',
        _half(HEIGHT - 14, norm, "attn", labels, residual, theme),
        _half(HEIGHT - 222, norm, "mlp", labels, residual, theme),
    ]
    style = f"<style>text{{fill:{theme['ink']};font:15px {FONT}}}</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(alt)}">{style}{"".join(parts)}</svg>'
    )


def code(norm: str, residual: bool) -> str:
    """Return the two lines of the block's forward pass."""
    lines = []
    for ln, branch in (("ln_1", "attn"), ("ln_2", "mlp")):
        inner = f"{branch}({ln}(x))" if norm == "pre" else f"{branch}(x)"
        total = f"x + {inner}" if residual else inner
        lines.append(f"x = {total}" if norm == "pre" else f"x = {ln}({total})")
    return "\n".join(lines)
