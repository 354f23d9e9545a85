"""What one takes away: CSV with full precision, a figure as one HTML file, the terminal command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.io import to_html

from andrea.requests import (
    AttentionRequest,
    LensMapRequest,
    ModelRequest,
    NormRequest,
    Request,
    TraceRequest,
)
from app.i18n import _, current

if TYPE_CHECKING:
    from andrea.measures.overview import AttentionResult
    from andrea.measures.trace import TraceResult
    from andrea.results import Provenance

HEADER = "name,i,j,label,value"
NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# Inside double quotes a shell still acts on these, or they end the quotes.
UNSAFE_IN_QUOTES = set('"$`\\!%\n\r\x00')


def quoted(text: str) -> str:
    """Return ``text`` as one word of a shell: in plain double quotes where they suffice."""
    if text and not UNSAFE_IN_QUOTES & set(text):
        return f'"{text}"'
    return shlex.quote(text)


def command(request: Request, more: str = "") -> str:
    """Return the terminal command that gives the same numbers, with ``more`` options at its end.

    The model is always named; of the other switches only those that differ from their defaults.
    """
    parts = ["python -m andrea", _subcommand(request)]
    late = request.text.startswith("-")  # such a text would read as an option
    if not late:
        parts.append(quoted(request.text))
    parts += _model_options(request.model)
    if isinstance(request, TraceRequest | NormRequest) and request.position != -1:
        parts.append(f"--position {request.position}")
    if isinstance(request, AttentionRequest | NormRequest) and request.layer:
        parts.append(f"--layer {request.layer + 1}")  # the terminal counts blocks from 1
    if isinstance(request, NormRequest) and request.ln != "ln1":
        parts.append(f"--ln {request.ln}")
    parts += [*more.split(), "--json"]
    if late:
        parts.append(f"-- {quoted(request.text)}")
    return " ".join(parts)


def _subcommand(request: Request) -> str:
    if isinstance(request, TraceRequest):
        return "trace"
    if isinstance(request, AttentionRequest):
        return "attention"
    if isinstance(request, LensMapRequest):
        return "lens-map"
    if isinstance(request, NormRequest):
        return "norm"
    raise TypeError(f"no command for {type(request).__name__}")


def _model_options(model: ModelRequest) -> list[str]:
    plain = ModelRequest(model.model)
    options = [f"--model {shlex.quote(model.model)}"]
    if not model.trained and model.seed != plain.seed:
        options.append(f"--seed {model.seed}")
    if model.norm != plain.norm:
        options.append(f"--norm {shlex.quote(model.norm)}")
    if not model.residual:
        options.append("--no-residual")
    if model.n_layer is not None:
        options.append(f"--n-layer {model.n_layer}")
    return options


def cell(label: str) -> str:
    """Return a label as a quoted CSV cell that no spreadsheet runs as a formula."""
    if label.lstrip()[:1] in ("=", "+", "-", "@") or label[:1] in ("\t", "\r", "\n"):
        label = "'" + label
    return '"' + label.replace('"', '""') + '"'


def comments(request: Request, p: Provenance) -> Iterator[str]:
    """Yield the lines, each beginning with ``#``, that say how to make these numbers again."""
    yield f"command: {command(request)}"
    yield f"text: {request.text}"
    yield f"model: {p.model}, {'trained' if p.trained else 'fresh'}, {p.n_parameters} parameters"
    if p.trained and not p.as_trained:
        yield "these weights ran under switches that they were not trained with"
    yield "settings: " + json.dumps(p.config)
    yield f"seed: {p.seed}"
    yield f"weights_sha256: {p.weights_sha256}"
    yield f"device: {p.device}, {p.device_name}, {p.threads} threads"
    yield f"date: {p.date}"


def one_line(text: str) -> str:
    """Return ``text`` with line breaks and other controls written as escapes."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def csv_bytes(request: Request, p: Provenance, header: str, rows: Iterable[str]) -> bytes:
    """Return a CSV file: commented header, column names, rows; UTF-8, decimal points."""
    head = [f"# {one_line(line)}" for line in comments(request, p)]
    # Half a surrogate pair, which a text box can hold, has no UTF-8.
    return ("\n".join([*head, header, *rows]) + "\n").encode("utf-8", "backslashreplace")


def value(x: Any) -> str:
    """Return the shortest digits that give the same number back at its own precision."""
    text = str(x)
    return NOT_FINITE.get(text, text)


def tidy(name: str, array: np.ndarray, labels: Mapping[Any, str]) -> Iterator[str]:
    """Yield one row a value: name, indices (counted from 0), the token it belongs to, value."""
    for index in np.ndindex(array.shape):
        i, j = (*index, "", "")[:2]
        label = labels.get(index)
        yield f"{name},{i},{j},{'' if label is None else cell(label)},{value(array[index])}"


def lens_rows(result: TraceResult) -> Iterator[str]:
    """Yield the lens: i counts the streams (0 is the embedding), j the guesses."""
    guesses = {
        (s, k): label for s, row in enumerate(result.lens_labels) for k, label in enumerate(row)
    }
    answer = {(s,): result.answer_label for s in range(len(result.lens_names))}
    arrays: tuple[tuple[str, np.ndarray, Mapping[Any, str]], ...] = (
        ("lens_ids", result.lens_ids, guesses),
        ("lens_probs", result.lens_probs, guesses),
        ("lens_rank", result.lens_rank, answer),
        ("lens_answer_prob", result.lens_answer_prob, answer),
    )
    for name, array, labels in arrays:
        yield from tidy(name, array, labels)


def lens_csv(result: TraceResult) -> bytes:
    """Return the logit lens at the traced token as CSV, stream by stream."""
    rows = []
    for s, name in enumerate(result.lens_names):
        for k, label in enumerate(result.lens_labels[s]):
            rows.append(
                f"{name},{k + 1},{result.lens_ids[s, k]},{cell(label)},"
                f"{value(result.lens_probs[s, k])},{result.lens_rank[s]},"
                f"{value(result.lens_answer_prob[s])}"
            )
    header = "stream,guess,id,label,probability,rank_of_answer,probability_of_answer"
    return csv_bytes(result.request, result.provenance, header, rows)


def trace_csv(result: TraceResult) -> bytes:
    """Return everything recorded at the traced token as tidy CSV.

    Columns ``name, i, j, label, value``. Scores and patterns: i head, j key position, label the
    token read. q, k, v, z: i head, j component. Logits: i token id.
    """

    def rows() -> Iterator[str]:
        tokens = {(t,): label for t, label in enumerate(result.labels)}
        yield from tidy("token_log_probs", result.token_log_probs, tokens)
        for name, array in result.activations.items():
            read: Mapping[Any, str] = {}
            if name.endswith((".scores", ".pattern")):
                read = {(h, k): result.labels[k] for h, k in np.ndindex(array.shape)}
            yield from tidy(name, array, read)
        yield from lens_rows(result)

    return csv_bytes(result.request, result.provenance, HEADER, rows())


def attention_csv(result: AttentionResult) -> bytes:
    """Return scores and patterns of a layer as CSV; masked pairs are left out."""
    rows = []
    for h, q, k in np.ndindex(result.pattern.shape):
        if k <= q:
            rows.append(
                f"{result.layer + 1},{h + 1},{q},{k},{cell(result.labels[q])},"
                f"{cell(result.labels[k])},{value(result.scores[h, q, k])},"
                f"{value(result.pattern[h, q, k])}"
            )
    header = "block,head,query_pos,key_pos,query,key,score,pattern"
    return csv_bytes(result.request, result.provenance, header, rows)


PAGE = """<!doctype html>
<html lang="{lang}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
style-src 'unsafe-inline'; img-src data: blob:; font-src data:">
<title>{title}</title>
<style>
body{{margin:0 auto;max-width:1100px;padding:16px;font:16px/1.5 system-ui,sans-serif;
background:{paper};color:{ink}}}
h1{{font-size:1.4rem}}h2{{font-size:1rem;margin:1.2rem 0 .3rem}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;padding:10px 12px;border-radius:8px;
border:1px solid currentColor}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:.9rem}}
dd{{margin:0;overflow-wrap:anywhere}}
</style></head><body>
<h1>{title}</h1>
{figure}
<h2>{repeat}</h2><pre>{command}</pre>
<h2>{settings}</h2><dl>{facts}</dl>
</body></html>
"""


def figure_html(fig: go.Figure, title: str, provenance: Provenance, command: str) -> bytes:
    """Return a figure as one HTML file that works without a network.

    Plotly is inside; the policy in its head forbids every outside request. It carries the settings
    and the command that repeat it.
    """
    p = provenance
    seed = "" if p.trained else ", " + _("seed {n}").format(n=p.seed)
    facts = {
        _("model"): p.model + seed,
        _("configuration"): json.dumps(p.config).strip("{}").replace('"', ""),
        _("weights (SHA-256)"): p.weights_sha256,
        _("device"): p.device_name,
        _("date"): p.date,
    }
    config = {"responsive": True, "displaylogo": False}
    page = PAGE.format(
        lang=current(),
        title=escape(title),
        paper=escape(str(fig.layout.paper_bgcolor or "#ffffff")),
        ink=escape(str(fig.layout.font.color or "#1d2129")),
        figure=to_html(fig, config=config, full_html=False, include_plotlyjs=True),
        repeat=_("Repeat it in a terminal"),
        command=escape(command),
        settings=_("Settings"),
        facts="".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items()),
    )
    return page.encode("utf-8", "backslashreplace")
