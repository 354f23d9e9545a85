"""What every page is built from: header, sections, readings, refusals, provenance, take-away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NoReturn

import streamlit as st

from andrea.errors import InputError
from andrea.results import Provenance
from app import i18n, state, theme
from app.components.copy import copy_link
from app.components.picture import show_svg
from app.i18n import _, ngettext
from app.registry import PageEntry

CHART_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


@dataclass(frozen=True)
class Download:
    """One file to take along. ``data`` may be a function: then it is made when asked for."""

    label: str
    data: bytes | str | Callable[[], bytes | str]
    file_name: str
    mime: str = "text/csv"


def frame() -> None:
    """Write the page's style sheet, the document's language and the wordmark."""
    st.html(theme.css(_sorry()))
    lang = i18n.current()  # one of a closed list: no visitor's text goes into the script
    with st.container(key="quiet"):
        st.html(
            f"<script>document.documentElement.lang='{lang}'</script>",
            unsafe_allow_javascript=True,
        )
    st.logo(_wordmark(theme.current()), size="medium")


def _wordmark(palette: theme.Theme) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="126" height="28" viewBox="0 0 126 28">'
        f'<path d="M9 26V2" stroke="{palette["acc2"]}" stroke-width="4" stroke-linecap="round"/>'
        f'<path d="M9 22H18V9H14" fill="none" stroke="{palette["acc"]}" stroke-width="2"/>'
        f'<circle cx="9" cy="9" r="5" fill="{palette["bg"]}" stroke="{palette["acc"]}" '
        f'stroke-width="2"/><text x="30" y="20" fill="{palette["ink"]}" font-size="17" '
        'font-weight="700" letter-spacing=".5" font-family="system-ui,sans-serif">ANDREA</text>'
        "</svg>"
    )


def page_header(title: str, lead: str) -> None:
    """Show the page's title and, under it, what it is about."""
    st.title(title, anchor=False)
    st.html(f'<p class="a-lead">{escape(lead)}</p>')


def section(title: str) -> None:
    """Open a section."""
    st.header(title, anchor=False)


def label(text: str) -> None:
    """Show a small label above something."""
    st.html(f'<p class="a-label">{escape(text)}</p>')


def reading(text: str) -> None:
    """Show the sentence that the numbers make (plain text)."""
    st.html(f'<p class="a-reading">{escape(text)}</p>')


def readings(sentences: Sequence[str]) -> None:
    """Show several readings of one figure, one under the other (plain text)."""
    st.html("".join(f'<p class="a-reading">{escape(sentence)}</p>' for sentence in sentences))


def notice(text: str) -> None:
    """Show one line on something that the visitor should know (plain text)."""
    st.html(f'<p class="a-notice" role="status">{escape(text)}</p>')


def show_refusal(error: InputError) -> None:
    """Show why a request was refused, in the language in force."""
    text = escape(i18n.error_text(error))
    st.html(f'<p class="a-notice refusal" role="alert">{text}</p>')


def refuse(error: InputError) -> NoReturn:
    """Show why a request was refused and end the page there."""
    show_refusal(error)
    st.stop()


def _sorry() -> str:
    return _(
        "Something went wrong on this page, and it is not your doing. Reload the page; if it "
        "happens again, tell whoever runs this site: the server has kept a record."
    )


def apologise() -> None:
    """Say that something went wrong on our side; the server's log has the rest."""
    st.html(f'<p class="a-notice refusal" role="alert">{escape(_sorry())}</p>')


def predict(key: str, question: str, options: Sequence[str]) -> str | None:
    """Ask before showing: a question, the options, and a way past it.

    Returns
    -------
    The option chosen, ``""`` if the visitor asked to be shown, ``None`` as long as neither. Who
    comes by a link to a place finds the question folded away.
    """
    shown = f"predict.{key}.shown"
    chosen_before = state.peek(f"predict.{key}")
    with st.expander(
        _("Predict first"), expanded=not state.is_returning(), key=f"predict.{key}.box"
    ):
        chosen = st.pills(question, list(options), key=f"predict.{key}")
        if chosen is None and chosen_before is None:
            st.button(
                _("Show me"), key=f"predict.{key}.show", on_click=state.assign, args=(shown, True)
            )
    return chosen or ("" if state.peek(shown) else None)


def provenance_line(p: Provenance) -> str:
    """Return where a number comes from, in one line."""
    n = int(p.config["n_layer"])
    blocks = ngettext("{n} block × {width}", "{n} blocks × {width}", n)
    threads = ngettext("{n} thread", "{n} threads", p.threads).format(n=p.threads)
    sha = p.weights_sha256
    weights = _("trained") if p.trained else _("freshly initialised, seed {n}").format(n=p.seed)
    machine = f"{p.device_name}, {threads}" if p.device == "cpu" else p.device_name
    return " · ".join(
        (
            p.model,
            blocks.format(n=n, width=p.config["d_model"]),
            weights,
            _("weights {sha}").format(sha=f"{sha[:4]}…{sha[-2:]}"),
            machine,
            _("{ms} ms").format(ms=i18n.number(1000 * p.seconds, 0)),
        )
    )


def provenance(p: Provenance) -> None:
    """Show the muted line under a result: model, weights, device, time."""
    st.html(f'<p class="a-prov">{escape(provenance_line(p))}</p>')


def switched_notice(p: Provenance) -> None:
    """Say so where trained weights ran under switches that they were not trained with."""
    if p.trained and not p.as_trained:
        notice(
            _(
                "These weights were trained with pre-norm, with the residual and with all their "
                "blocks. Under other switches they show what the switch breaks, not what a model "
                "trained that way would do."
            )
        )


def take_away(link: str, command: str, downloads: Sequence[Download] = ()) -> None:
    """Offer the link to this place, the files, and the terminal command that repeats it."""
    section(_("Take it with you"))
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        copy_link(
            link,
            {"copy": _("Copy the link to this place"), "copied": _("Link copied"),
             "manual": _("Copy this link:")},
            key="copy_link",
        )  # fmt: skip
        for item in downloads:
            st.download_button(
                item.label,
                item.data,
                file_name=item.file_name,
                mime=item.mime,
                on_click="ignore",
                key=f"download.{item.file_name}",
            )
    label(_("Repeat it in a terminal"))
    st.code(command, language="bash", wrap_lines=True)


def chart(figure: Any, key: str, alt: str, **events: Any) -> Any:
    """Show a Plotly figure in the house's look; ``alt`` names it for a screen reader.

    ``events`` go to ``st.plotly_chart`` (``on_select``, ``selection_mode``).
    """
    # Set, not updated: an update walks through all of a template and takes 25 times as long.
    figure.layout.template = {"layout": theme.plotly_layout(theme.current())}
    return st.plotly_chart(
        figure, key=key, config=CHART_CONFIG, theme=None, alt=alt, width="stretch", **events
    )


def picture(svg: str, caption: str, key: str) -> None:
    """Show a drawing of ours (never with a visitor's text in it) with a line under it."""
    show_svg(svg, key)
    st.html(f'<p class="a-prov">{escape(caption)}</p>')


def steps(sentences: Sequence[str]) -> None:
    """Show numbered sentences; the numbers are those in the picture beside them."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    st.html(f'<ol class="a-steps">{items}</ol>')


def facts(rows: Sequence[tuple[str, str, str]]) -> None:
    """Show facts side by side: what it is, the fact, and a small line more."""
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}<small>{escape(more)}</small></dd></div>"
        for name, fact, more in rows
    )
    st.html(f'<dl class="a-facts">{items}</dl>')


def cards(entries: Sequence[PageEntry]) -> None:
    """Show a way into each page, two side by side."""
    for start in range(0, len(entries), 2):
        for column, entry in zip(st.columns(2), entries[start : start + 2], strict=False):
            with column, st.container(border=True, key=f"card_{entry.url_path}", height="stretch"):
                label(_(entry.group))
                st.page_link(entry.page(), label=f"{_(entry.title)} →")
                st.html(f'<p class="a-help">{escape(_(entry.help))}</p>')
