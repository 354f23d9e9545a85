"""The Depth page's figures with their sentences, and where its numbers come from."""

from __future__ import annotations

from typing import cast

import streamlit as st

from andrea import saved_depth
from andrea.measures.ablation import AnswersResult, ChangesResult
from andrea.measures.attribution import WaterfallResult
from andrea.measures.depth import DepthResult
from andrea.requests import TraceRequest
from andrea.requests_depth import CHANGES, AnswersRequest, Change, ChangesRequest, DepthRequest
from app import (
    compute,
    depth_csv,
    export,
    layout,
    readings,
    readings_depth,
    readings_trace,
    state,
    tables,
    theme,
)
from app.figures import depth, depth_curves
from app.figures.base import shown
from app.i18n import _, integer, ngettext, number, percent, signed
from app.layout import Download

LIVE = "depth.live"


def gathered(request: DepthRequest | ChangesRequest) -> DepthResult | ChangesResult:
    """Return the saved answer if its weights are the ones in use, else measure now."""
    found = None if state.peek(LIVE) else saved_depth.find(request)
    if found is not None:
        return found
    with st.spinner(_("Measuring on the passages: a few seconds")):
        return compute.blocks(request)


def survey() -> DepthResult:
    """Return the survey of the trained model; say so where it is a saved one."""
    result = cast(DepthResult, gathered(DepthRequest()))
    if not state.peek(LIVE) and saved_depth.find(DepthRequest()) is not None:
        saved_notice(result)
    return result


def changes(change: Change) -> ChangesResult:
    """Return the losses under one change."""
    return cast(ChangesResult, gathered(ChangesRequest(change)))


def saved_notice(result: DepthResult) -> None:
    """Label saved results with date and machine; offer to measure the same live."""
    p = result.provenance
    seconds = max(1, round(p.seconds))
    cost = ngettext("about {n} second", "about {n} seconds", seconds).format(n=integer(seconds))
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        layout.notice(
            _("Saved results, measured on {date} on {machine} with the weights in use.").format(
                date=p.date[:10], machine=p.device_name
            )
        )
        st.button(
            f"{_('Measure live')} ({cost})", key="depth.measure", on_click=state.assign,
            args=(LIVE, True),
        )  # fmt: skip


def text_notices(text: str) -> None:
    """Say which characters were read as others, and which part of a long text was left out."""
    trace = compute.answer(TraceRequest(text))
    for sentence in (readings_trace.fold_notice(trace), readings_trace.cut_notice(trace)):
        if sentence:
            layout.notice(sentence)


def waterfall(result: WaterfallResult) -> None:
    """Show the answer's logit part by part."""
    figure = depth.waterfall(result, theme.current(), readings.voice())
    layout.chart(figure, "waterfall", _("The logit of the answer, part by part"))
    layout.reading(readings_depth.waterfall_reading(result))
    layout.provenance(result.provenance)


def sizes(result: DepthResult) -> None:
    """Show how much each block changes the stream."""
    figure = depth.block_sizes(result.sizes, result.sizes_init, theme.current(), readings.voice())
    layout.chart(figure, "sizes", _("Size and direction of each block's step"))
    layout.readings(readings_depth.sizes_reading(result))


def lens(result: DepthResult) -> None:
    """Show the lens through depth over all positions of the passages."""
    vocabulary = int(result.provenance.config["vocab_size"])
    figure = depth_curves.lens_curves(result, vocabulary, theme.current(), readings.voice())
    layout.chart(figure, "lens", _("Rank and probability of the right token at each depth"))
    layout.readings(readings_depth.lens_reading(result))


def heads(result: DepthResult) -> None:
    """Show where the heads look."""
    figure = depth_curves.heads(result, theme.current(), readings.voice())
    layout.chart(figure, "heads", _("Entropy and shares of attention, by block and head"))
    layout.readings(readings_depth.heads_reading(result))
    layout.provenance(result.provenance)


def _change() -> None:
    state.put("change", state.peek("changes"))


def controls() -> tuple[Change, int]:
    """Show what can be changed, and where; return both."""
    change = state.get("change", CHANGES[0], allowed=CHANGES.__contains__)
    state.assign("changes", change)
    st.pills(
        _("What to change"), CHANGES, format_func=readings_depth.change_label, key="changes",
        required=True, on_change=_change,
    )  # fmt: skip
    last = compute.base_config(DepthRequest().model).n_layer
    block = 1
    if last > 1:
        block = st.slider(
            _("Block"), 1, last, 1, key="block", bind="query-params", width=320,
            disabled=change == "residual",
        )  # fmt: skip
    return change, state.checked("block", int(block))


def snapped(result: ChangesResult, k: int) -> int:
    """Return the nearest place at which the change can be made."""
    return min(result.places, key=lambda place: abs(place - k))


def change(result: ChangesResult, answers: AnswersResult, k: int) -> None:
    """Show what a change costs at each place, and what it does at ``k``."""
    layout.label(place_label(result.request.change, k))
    layout.readings(
        [readings_depth.change_reading(result, k), readings_depth.answer_reading(answers, k)]
    )
    if len(result.places) > 1:
        title = readings_depth.change_label(result.request.change)
        title = title[:1].upper() + title[1:]
        figure = depth_curves.change_curves(result, k, title, theme.current(), readings.voice())
        layout.chart(figure, "losses", _("Loss with each block changed"))
        with st.expander(_("Every block in numbers")):
            change_table(result, answers, k)
    layout.provenance(result.provenance)


def place_label(change: str, k: int) -> str:
    """Return what exactly is changed."""
    forms = {
        "block": _("Without block {k}"),
        "attention": _("Without the attention of block {k}"),
        "mlp": _("Without the MLP of block {k}"),
        "swap": _("Blocks {k} and {next} in the other order"),
        "first": _("Only the blocks up to {k}"),
        "residual": _("Each branch replaces the stream"),
    }
    return forms[change].format(k=integer(k), next=integer(k + 1))


def change_table(result: ChangesResult, answers: AnswersResult, k: int) -> None:
    """Show loss, its growth, and the text's answer at each place."""
    lines = []
    for p, place in enumerate(result.places):
        it, en = (float(x) for x in result.loss[:, p])
        grown = result.loss[:, p] - result.base_loss
        lines.append(
            tables.Line(
                (
                    integer(place),
                    number(it, 3),
                    signed(float(grown[0]), 3),
                    number(en, 3),
                    signed(float(grown[1]), 3),
                    shown(answers.labels[p]),
                    percent(float(answers.probs[p]), 1),
                ),
                "mark" if place == k else "",
            )
        )
    head = (_("block"), _("loss, Italian"), _("change"), _("loss, English"), _("change"),
            _("answer"), _("probability"))  # fmt: skip
    tables.table(_("Every block in numbers"), head, lines, numbers=(0, 1, 2, 3, 4, 6))


def answers(text: str, change: Change) -> AnswersResult:
    """Return what the text's answer becomes under one change, at every place."""
    return compute.blocks(AnswersRequest(text, change))


def downloads(drop: WaterfallResult, result: DepthResult, changed: ChangesResult) -> list[Download]:
    """Return the files to take along: all numbers, and the waterfall."""
    repeat = depth_csv.command(drop.request.text, changed.request.change)
    return [
        Download(
            _("All numbers (CSV)"), lambda: depth_csv.table(drop, result, changed), "depth.csv"
        ),
        Download(
            _("The waterfall (HTML)"),
            lambda: export.figure_html(
                depth.waterfall(drop, theme.current(), readings.voice()),
                _("The logit of the answer, part by part"),
                drop.provenance,
                repeat,
            ),
            "waterfall.html",
            "text/html",
        ),
    ]
