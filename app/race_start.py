"""A session's own race: asked for, started, stopped; and what it costs, said before it starts.

The races wait in one queue for everybody (``app.compute``); a session has one at a time.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from andrea.errors import InputError
from andrea.measures.race import RaceProgress, RaceResult
from andrea.measures.race_cost import estimate_seconds, refuse_too_slow
from andrea.requests_race import RaceRequest
from app import compute, layout, race_view, state
from app.compute import RaceStatus
from app.i18n import _, integer

MINE = "race.mine"
PACE = 5  # steps after which there is one

End = Literal["", "stopped", "silent", "failed"]


@dataclass
class Mine:
    """A session's own race: what was asked, what there is of it, and how it ended.

    ``end`` is ``""`` while it is on and when it is done; ``refusal`` says why it failed, if that
    is known; ``since`` is the first step that was seen, and when (seconds of a clock).
    """

    request: RaceRequest
    found: RaceProgress | RaceResult | None = None
    end: End = ""
    refusal: InputError | None = None
    since: tuple[int, float] | None = None

    @property
    def on(self) -> bool:
        """Whether it waits or runs, as far as this session knows."""
        return not self.end and not isinstance(self.found, RaceResult)


def mine() -> Mine | None:
    """Return this session's race, as it stood at the last look."""
    found: Mine | None = state.peek(MINE)
    return found


def start(request: RaceRequest) -> None:
    """Put a race into the queue (a callback)."""
    before = mine()
    try:
        compute.start_race(request)
    except InputError as error:
        state.assign("race.refused", (request, error))
        return
    state.assign("race.refused", None)
    # Whoever takes up the race that they stopped need not see it go back to nothing first.
    kept = before.found if before is not None and before.request == request else None
    state.assign(MINE, Mine(request, kept if isinstance(kept, RaceProgress) else None))


def stop(request: RaceRequest) -> None:
    """Stop watching, and keep what was drawn (a callback)."""
    race = mine()
    if race is not None and race.request == request:
        look(race)
        if race.on:
            race.end = "stopped"
    compute.leave_race()


def look(race: Mine) -> RaceStatus:
    """Ask how a race stands, and remember what there is of it."""
    status = compute.race_status(race.request)
    if not race.on:
        return status
    if status.value is not None:
        race.found = status.value
    elif status.progress is not None:
        race.found = status.progress
        race.since = race.since or (status.progress.step, time.monotonic())
    if status.state == "failed":
        race.end, race.refusal = "failed", status.error
    elif status.state == "stopped":
        race.end = "silent"
    return status


def left(race: Mine, step: int, now: float) -> float:
    """Return about how many seconds a race takes from ``step`` on: by the pace that was seen.

    Until there is one, by the estimate, which knows nothing of who else is computing.
    """
    first, when = race.since or (step, now)
    if step - first < PACE:
        return estimate_seconds(race.request) * (1 - step / race.request.steps)
    return (race.request.steps - step) * (now - when) / (step - first)


# -- before the start ------------------------------------------------------------------------------


def offer(wanted: RaceRequest) -> None:
    """Show the button that starts a race, with what it costs, or why it cannot be."""
    race = mine()
    refusal = _refusal(wanted)
    on = race is not None and race.on
    same = on and race is not None and race.request == wanted
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.button(
            _("Start the race"),
            type="primary",
            key="race.start",
            on_click=start,
            args=(wanted,),
            disabled=refusal is not None or same or not wanted.arms,
        )
        st.caption(_price(wanted, refusal))
    if not wanted.arms:
        layout.notice(_("Choose at least one variant."))
    elif refusal is not None:
        layout.show_refusal(refusal)
    elif on and not same:
        layout.notice(
            _("Your race below is still on. Starting another one with these settings ends it.")
        )


def _touched(wanted: RaceRequest) -> bool:
    """Whether the visitor has done something: only then the machine's speed is measured."""
    return bool(wanted.arms) and (wanted != RaceRequest() or mine() is not None)


def _refusal(wanted: RaceRequest) -> InputError | None:
    kept = state.peek("race.refused")
    if kept is not None and kept[0] == wanted:
        error: InputError = kept[1]
        return error
    try:
        if _touched(wanted):
            refuse_too_slow(wanted)
    except InputError as error:
        return error
    return None


def _price(wanted: RaceRequest, refusal: InputError | None) -> str:
    """Say about how long a race takes: from this machine's speed, or from the saved race."""
    if refusal is not None or not wanted.arms:
        return ""
    if _touched(wanted):
        return _("about {n} s on this machine").format(n=seconds(estimate_seconds(wanted)))
    saved = race_view.default()
    if not saved:
        return ""
    return _("it took {n} s when it was saved").format(n=seconds(float(saved[0].arm_seconds.sum())))


def seconds(cost: float) -> str:
    """Write a duration in seconds, about."""
    return integer(max(1, math.ceil(cost)) if cost < 20 else int(round(cost, -1)))
