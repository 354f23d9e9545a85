"""A race of one's own on the page: watched while it runs, and what was drawn kept.

A fragment asks how this session's race stands, again and again as long as it is on; when it has
ended the whole page is drawn once more, without the asking.
"""

from __future__ import annotations

import time

import streamlit as st

from andrea.measures.race import RaceProgress, RaceResult
from andrea.measures.race_cost import seconds_limit
from andrea.requests_race import RaceRequest
from app import compute, layout, race_view
from app import readings_race as say
from app.compute import RaceStatus
from app.i18n import _, integer, ngettext
from app.race_drawing import drawing_so_far
from app.race_start import Mine, left, look, mine, seconds, stop

PERIOD = 1.0  # seconds between two looks …
CROWD = 20  # … of so many visitors; a larger crowd looks less often
SELDOM = 5.0  # seconds


def show(wanted: RaceRequest) -> RaceResult | RaceProgress | None:
    """Show this session's race, or the one asked for if it is known; return what was drawn."""
    race = mine()
    status = look(race) if race is not None and race.on else None
    if race is not None and race.on and status is not None:
        crowd = status.watchers + status.ahead
        pause = min(SELDOM, max(PERIOD, PERIOD * crowd / CROWD))
        st.fragment(_watch, run_every=pause)(race.request)
        return race.found
    if race is None or race.request != wanted:
        known = _known(wanted)
        if known is not None:
            return known
    if race is not None:
        _ended(race, wanted)
        return race.found
    return None


def _known(wanted: RaceRequest) -> RaceResult | None:
    """Show a race that is saved, or that somebody has run; ``None`` if there is none."""
    status = compute.race_status(wanted) if wanted.arms else RaceStatus("stopped")
    if status.state in ("waiting", "running"):
        # By somebody else, or by the same visitor before they loaded the page anew.
        layout.notice(
            _(
                "This very race has been started here already: start it too, and you join it "
                "where it is."
            )
        )
        return None
    if wanted in [result.request for result in race_view.default()]:
        layout.notice(
            _("With these settings the race stands above, saved. Start it to see it run.")
        )
        return None
    saved = race_view.seeds_of(wanted)
    if wanted in [result.request for result in saved]:
        race_view.saved_notice(saved)
        race_view.show(saved, "own")
        return next(result for result in saved if result.request == wanted)
    result = status.value
    if result is not None:
        layout.notice(
            _("Somebody has run this race here: {settings}. These are its results.").format(
                settings=say.settings_line(wanted)
            )
        )
        race_view.show([result], "own")
    return result


def _ended(race: Mine, wanted: RaceRequest) -> None:
    settings = say.settings_line(race.request)
    if isinstance(race.found, RaceResult):
        layout.notice(_("Your race: {settings}.").format(settings=settings))
    elif race.end == "failed":
        _failed(race)
    elif race.found is None:
        layout.notice(_("Stopped before the first step: {settings}.").format(settings=settings))
    else:
        said = {
            "stopped": _("Stopped by you at step {step} of {steps}: {settings}."),
            "silent": _(
                "Ended at step {step} of {steps}, because this page had not been heard of for "
                "half a minute: {settings}. Start it again to go on watching."
            ),
        }[race.end]
        layout.notice(
            said.format(
                step=integer(race.found.step),
                steps=integer(race.request.steps),
                settings=settings,
            )
        )
    if race.request != wanted:
        st.caption(_("The controls have changed since: this is still the race of before."))
    if isinstance(race.found, RaceResult):
        race_view.show([race.found], "own")
    elif race.found is not None:
        _so_far(race.found)


def _failed(race: Mine) -> None:
    if race.refusal is not None:
        layout.show_refusal(race.refusal)
    else:
        layout.apologise()


def _so_far(progress: RaceProgress, on: bool = False) -> None:
    drawing = drawing_so_far(progress)
    race_view.charts(drawing, "own", progress.request if on else None, PERIOD)
    layout.readings(say.running_sentences(drawing))
    st.caption(say.levels_sentence(drawing.unigram, drawing.bigram))


def _watch(request: RaceRequest) -> None:
    """Look at the race that is on, and draw it (a fragment, every second)."""
    race = mine()
    status = None if race is None or race.request != request else look(race)
    if race is None or status is None or not race.on:
        st.rerun()  # once: the page then no longer asks
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.progress(*_bar(race, status))
        st.button(_("Stop"), key="race.stop", on_click=stop, args=(request,))
    layout.label(say.settings_line(request))
    for sentence in _company(status):
        layout.notice(sentence)
    if status.progress is not None:
        _so_far(status.progress, on=True)


def _bar(race: Mine, status: RaceStatus) -> tuple[float, str]:
    """Return how far the race is, and in words."""
    request = race.request
    if status.state == "waiting":
        return 0.0, ngettext(
            "Waiting: {n} race comes before yours, of about {most} s at most",
            "Waiting: {n} races come before yours, each of about {most} s at most",
            status.ahead,
        ).format(n=integer(status.ahead), most=seconds(seconds_limit()))
    step = 0 if status.progress is None else status.progress.step
    rest = left(race, step, time.monotonic())
    return step / request.steps, _("Step {step} of {steps}, about {n} s left").format(
        step=integer(step), steps=integer(request.steps), n=seconds(rest)
    )


def _company(status: RaceStatus) -> list[str]:
    """Say how many others watch the same race."""
    others = status.watchers - 1
    if others < 1:
        return []
    return [
        ngettext(
            "{n} other visitor watches this very race: it runs once for all.",
            "{n} other visitors watch this very race: it runs once for all.",
            others,
        ).format(n=integer(others))
    ]
