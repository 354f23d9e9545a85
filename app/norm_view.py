"""What Normalisation shows in more than one call: pictures, tables, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from andrea.measures.layernorm import Applied, Statistics, disturb, layer_norm
from andrea.measures.norm import NormResult
from andrea.measures.stream_norms import StreamNormsResult
from andrea.requests import ModelRequest, StreamNormsRequest
from app import compute, layout, norm_controls, readings, readings_norm, state, tables, theme
from app.controls import MAX_SEED
from app.figures import gradients as profiles
from app.figures import norm as figures
from app.figures.base import shown
from app.i18n import _, number
from app.norm_picture import code, placement_svg
from app.readings_norm import size
from app.tables import Line

FEATURES = 6  # columns that the matrix shows


def vector(result: NormResult, made: Applied) -> None:
    """Show the vector before and after: histograms, strips, a table."""
    palette, voice = theme.current(), readings.voice()
    before = result.inputs[result.position]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        layout.chart(
            figures.histograms(before, made.out, palette, voice),
            "histograms",
            _("Histogram of the vector before and after LayerNorm"),
        )
    with right:
        statistics_table(
            _("The vector in numbers"),
            (
                (_("before"), made.before),
                (_("− mean, ÷ √(var + ε)"), made.after_normalized),
                (_("· γ + β"), made.after_out),
            ),
        )
        layout.reading(readings_norm.variance_reading(made))
    layout.chart(strip_figure(result, made), "strips", _("The vector component by component"))


def strip_figure(result: NormResult, made: Applied) -> go.Figure:
    """Return the three stages of one vector as strips."""
    rows = [
        (_("before"), result.inputs[result.position]),
        (_("normalised"), made.normalized),
        (_("after γ, β"), made.out),
    ]
    title = _("Component by component")
    hint = _("orange below zero, blue above; each strip on its own scale")
    return figures.strips(rows, theme.current(), readings.voice(), title, hint)


def statistics_table(name: str, stages: tuple[tuple[str, Statistics], ...]) -> None:
    """Show mean, variance and length of each stage."""
    lines = [
        Line((label, number(0.0 if abs(s.mean) < 1e-9 else s.mean, 4),
              size(s.variance) if s.variance >= 2 else number(s.variance, 6), size(s.norm)))
        for label, s in stages
    ]  # fmt: skip
    head = ("", _("mean"), _("variance"), _("length"))
    tables.table(name, head, lines, numbers=(1, 2, 3))


def axis(result: NormResult, made: Applied) -> tuple[int, float]:
    """Show the matrix tokens x features with another row multiplied; return which and by what."""
    other, factor = norm_controls.disturbance(result)
    found = disturb(result.inputs, result.position, other, factor, made.eps)
    original = layer_norm(result.inputs, eps=made.eps)
    after = layer_norm(found.matrix, eps=made.eps)
    rows = norm_controls.window(result)
    moved = np.abs(after - original).max(-1)
    notes = ["Δ " + (number(0, 0) if not moved[p] else size(float(moved[p]))) for p in rows]
    limit = float(np.abs(result.inputs[rows, :FEATURES]).max())
    chosen = shown(result.labels[result.position])
    titles = (
        (found.matrix, limit, [""] * len(rows), _("What LayerNorm reads"),
         _("frame: averaged together · point at a cell")),
        (after, 2.0, notes, _("What it makes of it (γ = 1, β = 0)"),
         _("Δ: how far the row has moved")),
    )  # fmt: skip
    for k, (column, (values, most, words, title, hint)) in enumerate(
        zip(st.columns(2, gap="medium"), titles, strict=True)
    ):
        picture = figures.Matrix(
            values=values[rows, :FEATURES],
            labels=[result.labels[p] for p in rows],
            means=values[rows].mean(-1),
            variances=values[rows].var(-1),
            chosen=rows.index(result.position),
            limit=most,
            notes=words,
            width=values.shape[1],
        )
        with column:
            layout.chart(
                figures.matrix(picture, theme.current(), readings.voice(), title, hint),
                f"matrix.{k}",
                _("{title}: tokens by components, the row of {token} framed").format(
                    title=title, token=chosen
                ),
            )
    layout.reading(readings_norm.disturbed_reading(result, found, other, factor))
    return other, factor


def placements(residual: bool) -> None:
    """Show pre-norm and post-norm side by side: the picture and the two lines of code."""
    labels = {"attention": _("attention"), "attn": _("attention"), "mlp": _("MLP"),
              "layernorm": _("LayerNorm")}  # fmt: skip
    words = {
        "pre": (_("Pre-norm (GPT-2, ANDREA)"), _("The LayerNorm stands on the branch.")),
        "post": (_("Post-norm (the Transformer of 2017)"), _("It stands on the stream itself.")),
    }
    for column, (norm, (title, caption)) in zip(
        st.columns(2, gap="medium"), words.items(), strict=True
    ):
        with column:
            layout.label(title)
            svg = placement_svg(norm, residual, labels, f"{title}. {caption}", theme.current())
            layout.picture(svg, caption, f"placement.{norm}")
            st.code(code(norm, residual), language="python")


def fresh_seed(model: ModelRequest) -> int:
    """Return the seed of the fresh weights; beside trained ones it has a control of its own."""
    if not model.trained:
        return model.seed
    seed = st.number_input(
        _("Seed of the fresh weights"), 0, MAX_SEED, 0, key="fresh", bind="query-params", width=215
    )
    return int(state.checked("fresh", int(seed)))


def stream_figure(result: StreamNormsResult, residual: bool) -> go.Figure:
    """Return the stream's length through depth, with or without the residual."""
    lines = [
        profiles.Line(
            readings_norm.arm_name(c),
            "trained" if c.trained else c.norm,
            c.residual,
            np.arange(len(c.norms), dtype=np.float64),
            c.norms[None],
        )
        for c in result.curves
        if c.residual == residual
    ]
    title = _("With residual") if residual else _("Without residual")
    return profiles.profile(
        lines,
        theme.current(),
        readings.voice(),
        title,
        _("mean length ‖x‖ of a token's vector in the stream"),
        _("after block (0: embeddings)"),
    )


def streams(text: str, model: ModelRequest) -> StreamNormsResult:
    """Show the stream's length under every placement, with and without the residual; return it."""
    result = compute.answer(StreamNormsRequest(text, replace(model, seed=fresh_seed(model))))
    for column, residual in zip(st.columns(2, gap="medium"), (True, False), strict=True):
        with column:
            title = _("Length of the stream, with residual")
            bare = _("Length of the stream, without residual")
            figure = stream_figure(result, residual)
            layout.chart(figure, f"streams.{residual}", title if residual else bare)
            mine = [c for c in result.curves if c.residual == residual]
            layout.readings([readings_norm.stream_sentence(c) for c in mine])
    st.caption(readings_norm.streams_notice(result))
    return result


def rms(result: NormResult, made: Applied) -> None:
    """Show LayerNorm and RMSNorm of the same vector, without gamma and beta."""
    st.write(
        _(
            "LLaMA and many later models leave the mean in place and divide by the root of the "
            "mean square: RMSNorm(x) = γ · x ÷ √(mean(x²) + ε)."
        )
    )
    rows = [
        (_("before"), result.inputs[result.position]),
        ("LayerNorm", made.normalized),
        ("RMSNorm", made.rms),
        (_("difference"), made.rms - made.normalized),
    ]
    title = _("The same vector under both")
    hint = _("γ = 1, β = 0; each strip on its own scale")
    figure = figures.strips(rows, theme.current(), readings.voice(), title, hint)
    layout.chart(figure, "rms", _("LayerNorm and RMSNorm of the same vector"))
    stages = (("LayerNorm", made.after_normalized), ("RMSNorm", made.after_rms))
    statistics_table(_("LayerNorm beside RMSNorm"), stages)
