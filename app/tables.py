"""Tables and lists as plain HTML: they wrap on a phone, and a screen reader reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

CSS = """<style>
.a-scroll{overflow-x:auto;margin:.3rem 0 .8rem}
.a-table{border-collapse:collapse;width:100%;font-size:.92rem;line-height:1.4}
.a-table th{font-weight:600;color:var(--a-mute);text-align:left;font-size:.82rem}
.a-table th,.a-table td{padding:.32rem .9rem .32rem 0;border-bottom:1px solid var(--a-line);
vertical-align:top}
.a-table .w{white-space:nowrap}
.a-table .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.a-table small{display:block;color:var(--a-mute);font-size:.82rem}
.a-table code{background:none;color:inherit;padding:0;font-size:.9em;white-space:nowrap}
.a-table .f{min-width:15rem;overflow-wrap:break-word}
.a-table tr.head td:first-child{white-space:nowrap}
.a-table tr.head td{font-weight:650;background:var(--a-soft);padding-left:.5rem}
.a-table tr.mark td{font-weight:600}
.a-table tr.mark td:first-child{box-shadow:inset 3px 0 0 var(--a-acc);padding-left:.7rem}
.a-claims{list-style:none;margin:.3rem 0!important;padding:0!important}
.a-claims li{border-top:1px solid var(--a-line);padding:.6rem 0;display:grid;
margin:0!important;
grid-template-columns:9.5rem minmax(0,1fr) 15rem;gap:.2rem 1.2rem}
.a-claims b.v{font-weight:650}.a-claims p{margin:.15rem 0 0;color:var(--a-mute);max-width:66ch}
.a-claims .yes{color:var(--a-acc)}.a-claims .no{color:var(--a-neg)}
.a-claims dl{display:grid;align-content:start;grid-template-columns:auto 1fr;gap:0 .8rem;
margin:0;font-size:.9rem}
.a-claims dt{color:var(--a-mute)}.a-claims dd{margin:0;text-align:right;
font-variant-numeric:tabular-nums}
@media(max-width:760px){.a-claims li{grid-template-columns:minmax(0,1fr)}}
</style>"""


@dataclass(frozen=True)
class Line:
    """One line of a table: plain text in every cell; ``small`` goes under a cell, by its index.

    ``kind`` is ``""``, ``"head"`` (a subtitle with its own figures) or ``"mark"`` (stands out).
    """

    cells: Sequence[str]
    kind: str = ""
    small: tuple[int, str] | None = None


@dataclass(frozen=True)
class Claim:
    """One statement with its verdict (a word), what is stated, what was found, and why."""

    verdict: str
    tone: str  # "yes", "" or "no"
    text: str
    more: str
    facts: Sequence[tuple[str, str]]


def table(
    name: str,
    head: Sequence[str],
    lines: Sequence[Line],
    numbers: Sequence[int] = (),
    wide: int | None = None,
) -> None:
    """Show a table that scrolls by itself where it is wider than the page.

    Parameters
    ----------
    name
        What a screen reader calls it.
    head, lines
        The columns' titles and the lines, plain text.
    numbers
        The columns that hold numbers: set flush right.
    wide
        The column that keeps room for a long text.
    """

    def cell(tag: str, k: int, text: str, line: Line | None = None) -> str:
        small = f"<small>{escape(line.small[1])}</small>" if line and line.small and (
            line.small[0] == k) else ""  # fmt: skip
        look = "n" if k in numbers else "w" if text.startswith("[") else "f" if k == wide else ""
        return f'<{tag} class="{look}">{escape(text)}{small}</{tag}>'

    top = "".join(cell("th", k, text) for k, text in enumerate(head))
    body = "".join(
        f'<tr class="{line.kind}">'
        + "".join(cell("td", k, text, line) for k, text in enumerate(line.cells))
        + "</tr>"
        for line in lines
    )
    st.html(
        f'{CSS}<div class="a-scroll" role="region" tabindex="0" aria-label="{escape(name)}">'
        f'<table class="a-table"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def claims(entries: Sequence[Claim]) -> None:
    """Show statements with their verdicts."""
    items = "".join(
        f'<li><b class="v {entry.tone}">{escape(entry.verdict)}</b>'
        f"<div>{escape(entry.text)}<p>{escape(entry.more)}</p></div><dl>"
        + "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in entry.facts)
        + "</dl></li>"
        for entry in entries
    )
    st.html(f'{CSS}<ul class="a-claims">{items}</ul>')
