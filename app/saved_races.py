"""Races run beforehand, as other pages than the race show them: names, label, link, verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import streamlit as st

from andrea import cli_race, saved_race
from andrea.measures.race import RaceResult
from andrea.requests_race import BATCH, BYTES, CONTEXT, RaceRequest
from app import export, layout, readings_norm
from app.i18n import _, integer, ngettext, number
from app.registry import PAGES

SAVE = "python -m andrea race --save"
LEARNED = 0.15  # nats below the loss of counting bytes, from which on something was learned
BLIND = math.log(BYTES)  # the loss of guessing every byte alike
Doubles = npt.NDArray[np.float64]


def found(requests: Sequence[RaceRequest]) -> list[RaceResult]:
    """Return the saved answers to ``requests``: all of them, or none."""
    results = [saved_race.find(request) for request in requests]
    return [r for r in results if r is not None] if None not in results else []


def ranged(values: Doubles) -> str:
    """Write the mean of some seeds' losses and, where they differ, the lowest and the highest."""
    ends = (values.mean(), values.min(), values.max())
    mean, low, high = (
        readings_norm.size(float(x)) if x >= 100 else number(float(x), 2) for x in ends
    )
    return mean if low == high else f"{mean} ({low} – {high})"


def variant_name(arm: str) -> str:
    """Name a variant of the race."""
    return {
        "pre": _("pre-norm"),
        "post": _("post-norm"),
        "post-warmup": _("post-norm with warmup"),
        "pre-cut": _("pre-norm without residual"),
        "none": _("without normalisation"),
    }[arm]


def held_out(results: Sequence[RaceResult], arm: str) -> Doubles:
    """Return a variant's held-out loss [seeds, 2], before the first step and after the last."""
    return np.stack([r.held_out_loss[r.request.arms.index(arm)] for r in results])


def verdict(results: Sequence[RaceResult], arm: str) -> str:
    """Say in a few words how much a variant has learned, by its held-out loss with every seed."""
    after = held_out(results, arm)[:, 1]
    learned = after < results[0].unigram - LEARNED
    if any(r.broken[r.request.arms.index(arm)] for r in results):
        return _("broke: no longer finite")
    if (after < results[0].bigram).all():
        return _("more than pairs of bytes")
    if learned.all():
        return _("more than how frequent bytes are")
    if learned.any():
        return _("more than how frequent bytes are, with {k} of {n} seeds").format(
            k=integer(int(learned.sum())), n=integer(len(results))
        )
    if (after > BLIND).any():
        return _("nothing: worse than guessing")
    return _("no more than how frequent bytes are")


def label(results: Sequence[RaceResult]) -> None:
    """Label saved races with date, machine and settings, and give the commands that repeat them."""
    first, p = results[0].request, results[0].provenance
    threads = ngettext("{n} thread", "{n} threads", p.threads).format(n=p.threads)
    seeds = ", ".join(integer(r.request.seed) for r in results)
    layout.notice(
        _("Saved result: run on {date} on {machine}, {threads}, with seeds {seeds}.").format(
            date=p.date[:10], machine=p.device_name, threads=threads, seeds=seeds
        )
    )
    blocks = ngettext("{n} block × {width}", "{n} blocks × {width}", first.n_layer)
    st.caption(
        _(
            "{blocks}, every byte a token, {steps} steps of {batch} windows of {context} bytes, "
            "Adam with learning rate {lr}, {init} initialisation, on the shipped passages; lengths "
            "and losses on passages that were held out. Numbers are means over the seeds, with the "
            "lowest and the highest in brackets."
        ).format(
            blocks=blocks.format(n=integer(first.n_layer), width=integer(first.d_model)),
            steps=integer(first.steps),
            batch=integer(BATCH),
            context=integer(CONTEXT),
            lr=number(first.lr, 3),
            init=first.init.capitalize(),
        )
    )
    st.code(cli_race.command(first), language="bash", wrap_lines=True)
    others = ", ".join(f"`--seed {r.request.seed}`" for r in results[1:])
    st.caption(
        _("The other seeds: {others}. All saved races anew: `{save}`.").format(
            others=others, save=SAVE
        )
    )


def missing() -> None:
    """Say how to make the saved races where their file is missing."""
    layout.notice(_("The saved races are missing here. This command makes them (a few minutes):"))
    st.code(SAVE, language="bash")


def link(words: str, **query: str) -> None:
    """Show the way to the race page, with these settings chosen."""
    entry = next((entry for entry in PAGES if entry.url_path == "race"), None)
    if entry is not None:
        st.page_link(entry.page(), label=f"{words} →", query_params=query)


def head(results: Sequence[RaceResult], columns: str) -> list[str]:
    """Return the head of a CSV file: commands, text, machine, and the columns' names."""
    p = results[0].provenance
    return [
        *(f"# command: {cli_race.command(r.request)}" for r in results),
        f"# all saved races: {SAVE}",
        f"# text_sha256: {results[0].text_sha256}",
        f"# unigram loss: {export.value(results[0].unigram)}",
        f"# device: {p.device}, {p.device_name}, {p.threads} threads",
        f"# date: {p.date}",
        columns,
    ]
