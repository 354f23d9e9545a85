"""Races run beforehand, as other pages than the race's own show them: label, table cells, link."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import streamlit as st

from andrea.cli_race import command
from andrea.measures.gradients import Doubles
from andrea.measures.race import RaceResult
from andrea.requests_race import RaceRequest
from app import export, layout, race_settings, race_view
from app import readings_race as say
from app.i18n import _
from app.registry import PAGES

SAVE = "python -m andrea race --save"


def held_out(results: Sequence[RaceResult], arm: str) -> Doubles:
    """Return a variant's held-out loss [seeds, 2], before the first step and after the last."""
    return np.stack([r.held_out_loss[r.request.arms.index(arm)] for r in results])


def ranged(losses: Doubles) -> str:
    """Write the mean of some seeds' losses and, where they differ, the lowest and the highest."""
    mean, low, high = (say.loss_text(float(x)) for x in (losses.mean(), losses.min(), losses.max()))
    return mean if low == high else f"{mean} ({low} – {high})"


def label(results: Sequence[RaceResult]) -> None:
    """Label saved races with date, machine and settings, and give the commands that repeat them."""
    race_view.saved_notice(results)
    st.caption(
        _(
            "Every byte is a token. Lengths and final losses are measured on passages that were "
            "held out; numbers are means over the seeds, with the lowest and the highest in "
            "brackets."
        )
    )
    st.code(command(results[0].request), language="bash", wrap_lines=True)
    others = ", ".join(f"`--seed {r.request.seed}`" for r in results[1:])
    st.caption(
        _("The other seeds: {others}. All saved races anew: `{save}`.").format(
            others=others, save=SAVE
        )
    )


def missing() -> None:
    """Say how to make the saved races where their file is missing."""
    layout.notice(_("No race is saved here yet. This makes it, in some minutes:"))
    st.code(SAVE, language="bash")


def way(words: str) -> None:
    """Show the way to the race's page."""
    page = next(entry for entry in PAGES if entry.url_path == "race").page()
    st.page_link(page, label=f"{words} →")


def way_to(words: str, request: RaceRequest) -> None:
    """Show the way to the race's page with the controls at ``request``.

    A plain link: the page reads what the address says when a visit begins, so one begins.
    """
    query = race_settings.link(request).partition("?")[2]
    look = "color:var(--a-acc);text-underline-offset:3px"
    st.html(f'<p><a style="{look}" href="race?{escape(query)}">{escape(words)} →</a></p>')


def head(results: Sequence[RaceResult], columns: str) -> list[str]:
    """Return the head of a CSV file: commands, text, machine, and the columns' names."""
    p = results[0].provenance
    return [
        *(f"# command: {command(r.request)}" for r in results),
        f"# all saved races: {SAVE}",
        f"# text_sha256: {results[0].text_sha256}",
        f"# unigram loss: {export.value(results[0].unigram)}",
        f"# device: {p.device}, {p.device_name}, {p.threads} threads",
        f"# date: {p.date}",
        columns,
    ]
