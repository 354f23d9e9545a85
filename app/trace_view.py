"""What Follow a token shows in more than one call: the journey's figures, taking a token."""

from __future__ import annotations

from typing import Any

import streamlit as st

from andrea.measures.trace import TraceResult
from andrea.requests import AttentionRequest, LensMapRequest
from app import compute, export, layout, readings, state, theme
from app.figures import attention, lens, lens_map, norms
from app.i18n import _
from app.layout import Download


def take(result: TraceResult, added: str) -> None:
    """Let the text go on with the token that was taken at the walk's last station.

    The text is cut after the traced token, whose continuation it is; the walk then follows the
    new token, the last one.
    """
    typed = result.request.text[: result.tokens.pieces[result.position].end]
    state.assign("text", (typed + added)[: state.MAX_CHARS])
    state.put("pos", -1)


def journey(result: TraceResult) -> None:
    """Show the figures that look at the whole way at once, one tab a question."""
    words = [_("What it would say"), _("How long the vector is"), _("Who reads whom"), _("The map")]
    shown = st.tabs(words, key="journey", on_change="rerun")
    for tab, draw in zip(shown, (_lens, _norms, _attention, _map), strict=True):
        if tab.open:
            with tab:
                draw(result)


def _lens(result: TraceResult) -> None:
    half = st.toggle(_("also between attention and MLP"), key="half", bind="query-params")
    palette, voice = theme.current(), readings.voice()
    table, curve = st.columns([3, 2], gap="medium")
    with table:
        layout.chart(
            lens.lens_table(result, palette, voice, half),
            "lens",
            _("The five likeliest next tokens after each block"),
        )
    with curve:
        layout.chart(
            lens.rank_curve(result, palette, voice),
            "rank",
            _("Rank of the final answer through depth"),
        )
    layout.reading(readings.lens_reading(result))


def _norms(result: TraceResult) -> None:
    figure = norms.norm_profile(
        norms.norms_of(result.activations),
        theme.current(),
        readings.voice(),
        bool(result.provenance.config["residual"]),
    )
    layout.chart(figure, "norms", _("Norm of the stream and of each correction through depth"))
    layout.reading(readings.norm_reading(result))


@st.fragment
def _attention(result: TraceResult) -> None:
    n_layer, n_head = (int(result.provenance.config[k]) for k in ("n_layer", "n_head"))
    with st.container(horizontal=True, gap="medium"):
        layer = 1
        if n_layer > 1:
            layer = st.slider(_("Block"), 1, n_layer, 1, key="layer", bind="query-params")
        every = _("all heads")
        head = st.selectbox(
            _("Head"), [every, *(str(h + 1) for h in range(n_head))], key="head", width=150
        )
    answer = compute.answer(AttentionRequest(result.request.text, result.request.model, layer - 1))
    chosen = None if head == every else int(head) - 1
    figure = attention.attention_matrix(
        answer, theme.current(), readings.voice(), chosen, result.position
    )
    layout.chart(figure, "attention", _("Attention patterns with the causal mask"))
    layout.reading(readings.attention_reading(answer, result.position, chosen))


def _map(result: TraceResult) -> None:
    answer = compute.answer(LensMapRequest(result.request.text, result.request.model))
    figure = lens_map.lens_map(answer, theme.current(), readings.voice())
    st.caption(_("Click a cell: the walk goes to that token and that block."))
    event = layout.chart(
        figure,
        "map",
        _("First guess at every token after every block"),
        on_select="rerun",
        selection_mode="points",
    )
    place = None
    if event and event.selection.points:
        layer, position = event.selection.points[0]["customdata"][:2]
        place = (int(position), f"{int(layer)}.resid_post" if layer else "embed")
    if state.go_to(place, of=result.request.text):
        st.rerun()


def downloads(result: TraceResult) -> list[Download]:
    """Return the files that this page offers; each is made when it is asked for."""
    palette, voice = theme.current(), readings.voice()
    command = export.command(result.request)

    def page(figure: Any, title: str) -> bytes:
        return export.figure_html(figure, title, result.provenance, command)

    return [
        Download(_("This token's numbers (CSV)"), lambda: export.trace_csv(result), "trace.csv"),
        Download(_("The lens (CSV)"), lambda: export.lens_csv(result), "lens.csv"),
        Download(
            _("The lens (HTML)"),
            lambda: page(lens.lens_table(result, palette, voice, True), _("The logit lens")),
            "lens.html",
            "text/html",
        ),
        Download(
            _("The norms (HTML)"),
            lambda: page(
                norms.norm_profile(
                    norms.norms_of(result.activations),
                    palette,
                    voice,
                    bool(result.provenance.config["residual"]),
                ),
                _("Norms through depth"),
            ),
            "norms.html",
            "text/html",
        ),
    ]
