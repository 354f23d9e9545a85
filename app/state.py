"""The only place that touches the session's state and the address in the browser.

Widgets are bound to the URL (``bind="query-params"``) and drop what they cannot use without a
word, so the address is copied on a session's first run, before any widget, and compared with what
each widget made of it: the difference becomes a notice that names the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app import i18n
from app.notices import NAMES, sentence

T = TypeVar("T")

MAX_CHARS = 2000  # of a visitor's text, in memory and in the address
_STATION = re.compile(
    r"embed|ln_final|logits|[1-9]\d{0,2}\."
    r"(ln1|qkv|pattern|attn_out|resid_mid|ln2|mlp_pre|mlp_post|mlp_out|resid_post)"
)


def begin() -> None:
    """Open a run: keep the address as it came (once a session) and apply pending corrections."""
    if "_raw" not in st.session_state:
        raw = {key: st.query_params.get_all(key) for key in st.query_params}
        st.session_state["_raw"] = raw
        st.session_state["_returning"] = any(key != "lang" for key in raw)
        st.session_state["_notices"] = {}
        st.session_state["_own"] = {}
        # Before any widget is bound to it, the address itself can be cut.
        if len(st.query_params.get("text", "")) > MAX_CHARS:
            st.query_params["text"] = st.query_params["text"][:MAX_CHARS]
    for key, value in st.session_state.pop("_corrections", {}).items():
        st.session_state[key] = value


def language() -> str:
    """Return the session's language: the switch's, else the browser's, else English."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return i18n.FALLBACK  # no session: a start-up or a test
    lang = st.session_state.get("lang")
    return lang if lang in i18n.LANGUAGES else browser_language()


def browser_language() -> str:
    """Return the browser's language if the site speaks it, else English."""
    code = (st.context.locale or "")[:2].lower()
    return code if code in i18n.LANGUAGES else i18n.FALLBACK


i18n.follow(language)


def is_returning() -> bool:
    """Whether the visitor came by a link to a place: somebody who does not start from scratch."""
    return bool(st.session_state.get("_returning", False))


# -- what the address said, and what became of it -------------------------------------------------


def _same(raw: str, used: object) -> bool:
    if isinstance(used, bool):
        return raw.lower() == str(used).lower()
    if isinstance(used, int | float):
        try:
            return float(raw) == used
        except ValueError:
            return False
    return raw == str(used)


def checked(key: str, used: T) -> T:
    """Compare a bound widget's value with the address it started from; return the value.

    The first call for ``key`` in a session leaves a notice if the address asked for something
    else: out of range, off step, unknown or doubled.
    """
    raw = st.session_state.get("_raw", {}).pop(key, None)
    if raw is not None and not (len(raw) == 1 and _same(raw[0], used)):
        _note(key, " ".join(raw), used)
    return used


def _note(key: str, raw: str, used: object) -> None:
    st.session_state["_notices"][key] = (raw, used)


def correct(key: str, value: object) -> None:
    """Give a widget another value from the next run on, and start that run now."""
    st.session_state.setdefault("_corrections", {})[key] = value
    st.rerun()


def rewrite(key: str, value: object) -> None:
    """Let the address say another value of a widget that this session has not drawn yet.

    ``checked`` still tells the visitor what it said before. Once the widget is drawn, the address
    belongs to it, and nothing is done.
    """
    if key not in st.session_state and key in st.query_params:
        st.query_params[key] = str(value)


def assign(key: str, value: object) -> None:
    """Set a widget's value from within a callback."""
    st.session_state[key] = value


def peek(key: str, default: Any = None) -> Any:
    """Return a widget's value as it stands, e.g. within a callback."""
    return st.session_state.get(key, default)


def preview(key: str, default: T, spelled: Callable[[str], T | None] | None = None) -> T:
    """Return what a bound widget is about to hold, before it is drawn.

    ``spelled`` makes a value of what the address says, or ``None``; else whole numbers are read.
    """
    if key in st.session_state:
        return st.session_state[key]
    raw = " ".join(st.session_state.get("_raw", {}).get(key, []))
    if spelled is not None:
        value = spelled(raw)
        return default if value is None else value
    return int(raw) if raw.isdecimal() and len(raw) < 12 else default  # type: ignore[return-value]


def notices() -> list[str]:
    """Return one sentence for each value that was not used as it came."""
    noted = st.session_state.get("_notices", {})
    return [sentence(key, raw, used, MAX_CHARS) for key, (raw, used) in noted.items()]


def forget_notice(key: str) -> None:
    """Drop the notice on ``key``: the visitor has chosen anew."""
    st.session_state.get("_notices", {}).pop(key, None)


# -- text ------------------------------------------------------------------------------------------


def capped(key: str) -> None:
    """Keep at most ``MAX_CHARS`` of a text widget's value (a callback), and say what was cut."""
    text = st.session_state.get(key, "")
    forget_notice("text")
    if len(text) > MAX_CHARS:
        st.session_state[key] = text[:MAX_CHARS]
        _note("text", str(len(text)), MAX_CHARS)


def capped_from_address(key: str, text: str) -> str:
    """Keep at most ``MAX_CHARS`` of a text that came with the address."""
    st.session_state.get("_raw", {}).pop(key, None)
    if len(text) > MAX_CHARS:
        _note("text", str(len(text)), MAX_CHARS)
        correct(key, text[:MAX_CHARS])
    return text


def follow_default(key: str, default: str) -> None:
    """Let a widget that still shows an earlier default (another language's) show the new one."""
    earlier = st.session_state.get(f"_default.{key}", default)
    st.session_state[f"_default.{key}"] = default
    if earlier != default and st.session_state.get(key) == earlier:
        st.session_state[key] = default


# -- values that belong to no widget ---------------------------------------------------------------


def get(
    key: str, default: T, *, of: object = None, allowed: Callable[[Any], bool] | None = None
) -> T:
    """Return a value that no widget holds, mirrored in the address.

    Parameters
    ----------
    key
        Its name in the address.
    default
        Where nothing (or nothing usable) was said; its type decides how the address is read.
    of
        What the value belongs to, e.g. the text for a token's position: with another ``of`` than
        the one it was put for, the value is forgotten.
    allowed
        Whether a value is possible; an impossible one falls back to the default with a notice.
    """
    own = st.session_state.setdefault("_own", {})
    raw = st.session_state.get("_raw", {}).pop(key, None)
    if raw is not None and key not in own:
        value = _parsed(raw, default)
        if value is None or (allowed is not None and not allowed(value)):
            _note(key, " ".join(raw), default)
        else:
            own[key] = (value, of)
            if not _same(raw[0], value):  # off step: snapped
                _note(key, raw[0], value)
    value, owner = own.get(key, (default, of))
    if owner != of or (allowed is not None and not allowed(value)):
        own.pop(key, None)
        value = default
    _mirror(key, value, default)
    return value


def _parsed(raw: list[str], default: object) -> Any:
    if len(raw) != 1:
        return None
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[raw[0].lower()]
        if isinstance(default, int | float):
            return type(default)(float(raw[0]))
        return raw[0]
    except (ValueError, KeyError, OverflowError):
        return None


def put(key: str, value: object, *, of: object = None) -> None:
    """Remember a value that no widget holds and write it into the address."""
    st.session_state.setdefault("_own", {})[key] = (value, of)
    forget_notice(key)
    _mirror(key, value, None)


def _mirror(key: str, value: object, default: object) -> None:
    wanted = None if value == default else str(value)
    if st.query_params.get(key) != wanted:
        if wanted is None:
            st.query_params.pop(key, None)
        else:
            st.query_params[key] = wanted


def station() -> str | None:
    """Return the walk's station in the address (the walk itself writes it), ``None`` if none.

    Whether the model has such a block is the walk's to say.
    """
    at = st.query_params.get("at")
    st.session_state.get("_raw", {}).pop("at", None)
    if at is None or _STATION.fullmatch(at):
        return at
    _note("at", at, "embed")
    st.query_params.pop("at", None)
    return None


def go_to(place: tuple[int, str] | None, *, of: object) -> bool:
    """Move to a token's position and a station of the walk; return whether that is a new place.

    A selection in a figure stays as long as the figure: the same one again is no new wish.
    ``None`` (nothing selected) forgets the last one.
    """
    before = st.session_state.get("_went_to")
    st.session_state["_went_to"] = place
    if place is None or place == before:
        return False
    put("pos", place[0], of=of)
    st.query_params["at"] = place[1]
    st.session_state["_jumps"] = jumps() + 1
    return True


def jumps() -> int:
    """Return how often a page has moved the walk by itself: the walk obeys each of them."""
    return int(st.session_state.get("_jumps", 0))


# -- links -----------------------------------------------------------------------------------------


def share_link(**values: object) -> str:
    """Return the page's full address with every value written out, language always included.

    Defaults vanish from the address bar and may change one day; a shared link must not.
    """
    written: dict[str, str] = {"lang": language()}
    at = st.query_params.get("at", "")
    if _STATION.fullmatch(at):
        written["at"] = at
    for key, value in values.items():
        if value is not None:
            written[key] = str(value).lower() if isinstance(value, bool) else str(value)
    order = [*NAMES, *sorted(set(written) - set(NAMES))]
    pairs = [(key, written[key]) for key in order if key in written]
    return f"{(st.context.url or '').split('?')[0]}?{urlencode(pairs, quote_via=quote)}"


def session() -> str:
    """Return a name for this visitor's session, "" outside any."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def still_wanted() -> None:
    """Stop here if the visitor has moved on meanwhile (Streamlit ends stale runs at such calls).

    Pass it into long loops; it costs some microseconds. Outside a session it does nothing.
    """
    if get_script_run_ctx(suppress_warning=True) is not None:
        st.session_state.get("_raw")


def language_switch(label: str) -> None:
    """Show the language switch; what it says holds from this line on."""
    chosen = st.segmented_control(
        label,
        options=list(i18n.LANGUAGES),
        default=browser_language(),
        required=True,
        key="lang",
        bind="query-params",
        label_visibility="collapsed",
    )
    checked("lang", chosen or browser_language())
