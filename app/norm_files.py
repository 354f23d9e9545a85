"""What one takes along from Normalisation: the link, the files, the terminal command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from andrea.measures.layernorm import Applied
from andrea.measures.norm import NormResult
from andrea.measures.race import RaceResult
from andrea.measures.stream_norms import StreamNormsResult
from andrea.requests import NormRequest
from app import controls, export, layout, norm_race, norm_view, state
from app.i18n import _
from app.layout import Download
from app.norm_controls import Settings


def link(
    request: NormRequest, position: int, chosen: Settings, disturbed: tuple[int, float], seed: int
) -> str:
    """Return the page's address with every value written out."""
    return state.share_link(
        text=request.text,
        pos=position,
        layer=request.layer + 1,
        ln=request.ln,
        gscale=chosen.gamma_scale,
        bshift=chosen.beta_shift,
        eps=chosen.eps,
        learned=chosen.learned,
        other=disturbed[0],
        factor=f"{disturbed[1]:g}",
        fresh=seed,
        **controls.written(request.model),
    )


def command(request: NormRequest, chosen: Settings, seed: int = 0) -> str:
    """Return the terminal command that gives the same numbers.

    ``seed`` is that of the fresh weights whose streams stand beside trained ones; a fresh model
    has its own.
    """
    beside = f" --seed {seed}" if request.model.trained and seed else ""
    return export.command(request, beside + chosen.options() + " --streams")


def vector_csv(result: NormResult, made: Applied, command: str) -> bytes:
    """Return every component before, normalised, after gamma and beta, and under RMSNorm."""
    head = [f"command: {command}", *list(export.comments(result.request, result.provenance))[1:]]
    lines = [f"# {export.one_line(line)}" for line in head]
    lines.append("component,before,normalized,out,rms")
    columns = (result.inputs[result.position], made.normalized, made.out, made.rms)
    for i, values in enumerate(zip(*columns, strict=True), 1):
        lines.append(",".join([str(i), *(export.value(x) for x in values)]))
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def downloads(
    result: NormResult, made: Applied, lengths: StreamNormsResult, command: str
) -> list[Download]:
    """Return the files that this page offers; each is made when it is asked for."""

    def page(figure: Any, title: str) -> bytes:
        return export.figure_html(figure, title, result.provenance, command)

    return [
        Download(_("The vector (CSV)"), lambda: vector_csv(result, made, command), "norm.csv"),
        Download(
            _("The strips (HTML)"),
            lambda: page(norm_view.strip_figure(result, made), _("One vector under LayerNorm")),
            "norm.html",
            "text/html",
        ),
        Download(
            _("The stream's length (HTML)"),
            lambda: page(
                norm_view.stream_figure(lengths, True), _("Length of the stream, with residual")
            ),
            "stream.html",
            "text/html",
        ),
    ]


def take_away(
    result: NormResult,
    chosen: Settings,
    disturbed: tuple[int, float],
    lengths: StreamNormsResult,
    races: Sequence[RaceResult],
) -> None:
    """Offer the link, the files and the command of everything that the page shows."""
    request = replace(result.request, position=result.position)
    said = command(request, chosen, lengths.seed)
    layout.take_away(
        link(request, result.position, chosen, disturbed, lengths.seed),
        said,
        downloads(result, chosen.applied(result), lengths, said) + norm_race.downloads(races),
    )
