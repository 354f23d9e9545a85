"""Gathering the laboratory's results: saved ones at once, the others live, one after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import streamlit as st

from andrea import saved
from andrea.errors import InputError
from andrea.measures.gradient_cost import estimate_seconds, one_seed_each, refuse_too_large
from andrea.measures.gradients import GradientsResult, joined
from andrea.requests import GradientsRequest
from app import compute, layout, state
from app.i18n import _, integer, ngettext

ASK_ABOVE = 10.0  # seconds: what costs more is started by a button, not by a slider

Jobs = Mapping[Any, GradientsRequest]
Found = dict[Any, GradientsResult]
Show = Callable[[Found, str], None]


def gather(jobs: Jobs, wish: Hashable, show: Show) -> Found:
    """Answer all ``jobs``, showing what is there as soon as it is there.

    Parameters
    ----------
    jobs
        Requests by whatever names them.
    wish
        What the visitor asks for; "measure live" and "stop" hold for this wish only.
    show
        Called with the results so far and a number that differs from call to call.
    """
    live, stopped = state.peek("lab.live") == wish, state.peek("lab.stopped") == wish
    found: Found = {}
    if not live:
        found = {name: r for name, job in jobs.items() if (r := saved.find(job)) is not None}
    missing = {name: job for name, job in jobs.items() if name not in found}
    if not missing:
        saved_notice(found, jobs, wish)
        show(found, "0")
        return found
    if found:
        partly_saved_notice(found, len(jobs))
    if refused(missing):
        if found:
            show(found, "0")
        return found
    done = kept(missing)
    if stopped or (not live and seconds(missing, done) > ASK_ABOVE):
        found |= complete(missing, done)
        if len(found) < len(jobs):
            offer(seconds(missing, done), wish, _("Measure"))
        if found:
            show(found, "0")
        return found
    return measure(missing, wish, found, show)


def refused(jobs: Jobs) -> bool:
    """Show why something cannot be measured here, each reason once; return whether there is one."""
    reasons: dict[str, InputError] = {}
    for job in jobs.values():
        try:
            refuse_too_large(job)
        except InputError as error:
            reasons.setdefault(str(error), error)
    for reason in reasons.values():
        layout.show_refusal(reason)
    return bool(reasons)


def kept(jobs: Jobs) -> dict[GradientsRequest, GradientsResult]:
    """Return what this session has measured of ``jobs``, seed by seed, and forget the rest."""
    wanted = {one for job in jobs.values() for one in one_seed_each(job)}
    done = {r: v for r, v in state.peek("lab.done", {}).items() if r in wanted}
    state.assign("lab.done", done)
    return done


def complete(jobs: Jobs, done: Mapping[GradientsRequest, GradientsResult]) -> Found:
    """Return the jobs of which every seed is done."""
    found: Found = {}
    for name, job in jobs.items():
        ones = one_seed_each(job)
        if all(one in done for one in ones):
            found[name] = joined([done[one] for one in ones])
    return found


def seconds(jobs: Jobs, done: Mapping[GradientsRequest, GradientsResult]) -> float:
    """Return about how long what is left of ``jobs`` takes on this machine."""
    left = [one for job in jobs.values() for one in one_seed_each(job) if one not in done]
    return sum(estimate_seconds(one) for one in left)


def measure(jobs: Jobs, wish: Hashable, found: Found, show: Show) -> Found:
    """Measure seed by seed with a progress bar and a way to stop; show each job as it ends."""
    done = kept(jobs)
    place = st.empty()
    ones = [(name, one) for name, job in jobs.items() for one in one_seed_each(job)]
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0)
        st.button(_("Stop"), key="lab.stop", on_click=state.assign, args=("lab.stopped", wish))
    for count, (name, one) in enumerate(ones):
        bar.progress(
            count / len(ones),
            _("Measuring {n} of {total}: about {seconds} s left").format(
                n=integer(count + 1),
                total=integer(len(ones)),
                seconds=integer(math.ceil(seconds(jobs, done))),
            ),
        )
        if one not in done:
            done[one] = compute.gradients(one)
            state.assign("lab.done", done)
        if one == one_seed_each(jobs[name])[-1]:
            found |= complete({name: jobs[name]}, done)
            if count < len(ones) - 1:
                show(found, str(count + 1))
    place.empty()
    show(found, "0")
    return found


def offer(cost: float, wish: Hashable, label: str) -> None:
    """Offer to measure, saying what it costs."""
    rounded = max(1, round(cost)) if cost < 20 else round(cost, -1)
    text = ngettext("about {n} second", "about {n} seconds", int(rounded))
    st.button(
        f"{label} ({text.format(n=integer(int(rounded)))})",
        key="lab.measure",
        on_click=start,
        args=(wish,),
    )


def start(wish: Hashable) -> None:
    """Begin to measure live (a callback)."""
    state.assign("lab.live", wish)
    state.assign("lab.stopped", None)


def saved_notice(found: Found, jobs: Jobs, wish: Hashable) -> None:
    """Label saved results with date and machine; offer to measure the same live."""
    p = next(iter(found.values())).provenance
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        layout.notice(
            _(
                "Saved results, measured on {date} on {machine} with the settings shown here."
            ).format(date=p.date[:10], machine=p.device_name)
        )
        offer(seconds(jobs, {}), wish, _("Measure live"))


def partly_saved_notice(found: Found, total: int) -> None:
    """Say that some of what is shown was measured beforehand."""
    p = next(iter(found.values())).provenance
    layout.notice(
        _(
            "Of the {total} results asked for, {n} are saved ones, measured on {date} on "
            "{machine}; the rest is measured here."
        ).format(
            n=integer(len(found)), total=integer(total), date=p.date[:10], machine=p.device_name
        )
    )
