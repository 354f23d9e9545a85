"""The parts of Parameters that are more than one call: pictures, tables, comparison, files."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from andrea.config import PRESETS
from andrea.measures.parameters import ParametersResult, side_by_side
from andrea.measures.tensors import Row
from andrea.requests import ParametersRequest
from andrea.results import Provenance
from app import compute, export, layout, parameters_controls, readings, state, tables, theme
from app import parameters_text as text
from app.figures import parameters as figures
from app.figures.base import share
from app.i18n import _, integer, ngettext, number
from app.layout import Download
from app.tables import Claim, Line

# Where the picture can open, for those who cannot or will not click in it.
PLACES = ("model", "embeddings", "blocks", "b1", "b1.attn", "b1.mlp")


def name(result: ParametersResult) -> str:
    """Name a configuration: the preset's name, marked where it was changed."""
    changed = result.config != PRESETS[result.preset].as_dict()
    return _("{preset}, changed").format(preset=result.preset) if changed else result.preset


def _open() -> None:
    """Remember where the picture opens (a callback)."""
    state.put("into", state.peek("places", PLACES[0]))


def picture(result: ParametersResult) -> None:
    """Show the bar of shares and the map one can go into."""
    palette, voice = theme.current(), readings.voice()
    layout.chart(
        figures.share_bar([(name(result), result)], palette, voice),
        "shares",
        _("Shares of embeddings, attention, MLP and LayerNorms"),
    )
    words = {
        "model": _("the whole model"),
        "embeddings": _("the embeddings"),
        "blocks": _("all blocks"),
        "b1": _("one block"),
        "b1.attn": _("its attention"),
        "b1.mlp": _("its MLP"),
    }
    into = state.get("into", PLACES[0], allowed=PLACES.__contains__)
    state.assign("places", into)
    st.pills(
        _("Open the picture at"), PLACES, required=True, key="places",
        format_func=words.__getitem__, on_change=_open,
    )  # fmt: skip
    layout.chart(
        figures.parameter_map(result, palette, voice, into),
        "map",
        _("Map of all parameters: model, part, block, sublayer, tensor"),
    )


def row_line(row: Row, total: int) -> Line:
    """Return a tensor's line of the table."""
    shape = figures.shape_text(row)
    if row.tied_to:
        note = _("the same matrix as {kind}: counted once").format(kind=row.tied_to)
        return Line((row.kind, shape, "0", "", note))
    part = share(readings.voice(), row.total / total)
    cells = (row.kind, shape, integer(row.total), part, row.formula.text)
    return Line(cells, small=(4, row.formula.numbers))


def count_table(result: ParametersResult) -> None:
    """Show every tensor with its formula, subtotals and the total."""
    lines = []
    for part, title in text.part_names().items():
        inside = [row for row in result.rows if row.part == part]
        if not inside:
            continue
        if part == "blocks":
            n = int(result.config["n_layer"])
            title = ngettext("{n} block", "{n} blocks", n).format(n=n)
        value = sum(row.total for row in inside)
        whole = share(readings.voice(), value / result.total)
        lines.append(Line((title, "", integer(value), whole, ""), "head"))
        lines += [row_line(row, result.total) for row in inside]
    last = (_("total"), "", integer(result.total), "", result.closed_form.text)
    lines.append(Line(last, "head", small=(4, result.closed_form.numbers)))
    head = (_("tensor"), _("shape of one"), _("parameters"), _("share"), _("formula"))
    tables.table(_("All tensors and their parameters"), head, lines, numbers=(2, 3), wide=4)


def lesson(result: ParametersResult) -> None:
    """Show the lesson's statements beside the count."""
    words = text.verdict_words()
    tables.claims(
        [
            Claim(
                *words[s.verdict],
                _(s.claim),
                text.reading_of(s),
                ((_("stated"), text.amount(s.stated)), (_("counted"), text.amount(s.counted))),
            )
            for s in result.reconciliation
        ]
    )


def costs(result: ParametersResult) -> None:
    """Show bytes and operations, each with its formula, beside the machine's memory."""
    names, memory = text.cost_names(), result.costs.memory_total
    lines = []
    for cost in result.costs.bytes:
        part = share(readings.voice(), cost.value / memory) if memory else ""
        cells = (names[cost.name], text.bytes_text(cost.value), part, cost.formula.text)
        lines.append(Line(cells, small=(3, cost.formula.numbers)))
    head = (_("memory"), _("result"), _("of this machine's"), _("formula, in bytes"))
    tables.table(_("Memory"), head, lines, numbers=(1, 2), wide=3)
    layout.reading(text.memory_reading(result))
    lines = [
        Line(
            (names[cost.name], text.flops_text(cost.value), cost.formula.text),
            small=(2, cost.formula.numbers),
        )
        for cost in result.costs.flops
    ]
    titles = (_("operations for one token"), _("result"), _("formula, in FLOP"))
    tables.table(_("Operations"), titles, lines, numbers=(1,), wide=2)


def measured(request: ParametersRequest) -> None:
    """Offer to count a forward pass operation by operation, and set it beside the formula."""
    on = st.toggle(_("check the formula operation by operation"), key="measure")
    if on:
        result = compute.parameters(replace(request, measure_flops=True))
        layout.reading(text.measured_reading(result))


def comparison(a: ParametersResult, b: ParametersResult) -> None:
    """Show two configurations side by side; what differs stands out."""
    names = (_("A: {name}").format(name=name(a)), _("B: {name}").format(name=name(b)))
    layout.chart(
        figures.share_bar(list(zip(names, (a, b), strict=True)), theme.current(), readings.voice()),
        "two",
        _("Parameters of both configurations by group"),
    )
    lines = []
    for d in side_by_side(a, b):
        differs = d.a != d.b
        ratio = f"× {number(d.ratio, 2)}" if differs and d.ratio else ""
        if d.name in text.SWITCHES:
            ratio = ""
        mark = "≠ " if differs else ""
        cells = (mark + text.line_name(d.name), text.line_text(d.name, d.a),
                 text.line_text(d.name, d.b), ratio)  # fmt: skip
        lines.append(Line(cells, "mark" if differs else ""))
    tables.table(_("Both configurations"), ("", *names, _("B ÷ A")), lines, numbers=(1, 2, 3))


def made_from(result: ParametersResult) -> Provenance:
    """Return where the numbers come from: shapes alone, no weights, no device."""
    return Provenance(
        model=result.preset,
        trained=False,
        as_trained=True,
        config=result.config,
        n_parameters=result.total,
        seed=0,
        weights_sha256=_("none: only shapes were counted"),
        device="meta",
        device_name=_("none: nothing was computed"),
        threads=1,
        seconds=result.seconds,
        date=result.date,
    )


def provenance_line(result: ParametersResult) -> str:
    """Return the muted line under the picture."""
    return _(
        "{name} · counted from the model's own tensors, laid out without memory · {ms} ms"
    ).format(name=name(result), ms=number(1000 * result.seconds, 1))


def table_csv(result: ParametersResult, command: str) -> bytes:
    """Return the table as CSV: commented header, one line a tensor kind, decimal points."""
    head = "part,tensor,shape,each,copies,total,share,tied_to,formula,numbers"
    lines = [f"# command: {command}", f"# total: {result.total}", f"# date: {result.date}", head]
    for row in result.rows:
        shape = " x ".join(str(n) for n in row.shape)
        cells = (row.part, row.kind, shape, row.each, row.copies, row.total,
                 row.total / result.total, row.tied_to)  # fmt: skip
        formula = (export.cell(row.formula.text), export.cell(row.formula.numbers))
        lines.append(",".join([*map(str, cells), *formula]))
    return ("\n".join(lines) + "\n").encode()


def downloads(result: ParametersResult, command: str) -> list[Download]:
    """Return the files that this page offers; each is made when it is asked for."""
    palette, voice = theme.current(), readings.voice()
    return [
        Download(_("The table (CSV)"), lambda: table_csv(result, command), "parameters.csv"),
        Download(
            _("The picture (HTML)"),
            lambda: export.figure_html(
                figures.parameter_map(result, palette, voice),
                _("Where the parameters sit"),
                made_from(result),
                command,
            ),
            "parameters.html",
            "text/html",
        ),
    ]


def commands(a: ParametersRequest, b: ParametersRequest | None) -> str:
    """Return the command, or both where the second configuration is no preset."""
    first = parameters_controls.command(a, b)
    if b is None or "--compare" in first:
        return first
    return f"{first}\n{parameters_controls.command(b)}"
