"""The site's words and numbers in the visitor's language.

English stands in the code; every other language is a folder of ``.po`` files under ``locale/``,
all of which are read at import (no compiled catalogues to keep in step). Adding a language is
adding a folder and its code to ``LANGUAGES``.
"""

from __future__ import annotations

import gettext
import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from babel.messages import Catalog, pofile
from babel.messages.mofile import write_mo
from babel.numbers import format_decimal, format_percent

from andrea.errors import InputError

LANGUAGES = ("it", "en")
FALLBACK = "en"
LOCALE = Path(__file__).parent / "locale"

_forced: ContextVar[str | None] = ContextVar("forced_language", default=None)
# app.state says which language the running session speaks; outside a session it is English.
_session: list[Callable[[], str]] = []


def merged(lang: str) -> Catalog:
    """Return one catalogue with the entries of all ``.po`` files of a language.

    The rule for plurals is the files' own (Babel's for Italian has a form more, for millions).
    """
    files = sorted((LOCALE / lang / "LC_MESSAGES").glob("*.po"))
    parts = [pofile.read_po(io.BytesIO(file.read_bytes()), locale=lang) for file in files]
    whole = parts[0] if parts else Catalog(locale=lang)
    for part in parts[1:]:
        for message in part:
            if message.id and not message.fuzzy:
                whole[message.id] = message
    return whole


def _translations(lang: str) -> gettext.NullTranslations:
    if lang == FALLBACK:
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, merged(lang))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


_CATALOGUES = {lang: _translations(lang) for lang in LANGUAGES}


def follow(session_language: Callable[[], str]) -> None:
    """Register who knows the language of the running session (``app.state`` does)."""
    _session[:] = [session_language]


@contextmanager
def use_language(lang: str) -> Iterator[None]:
    """Speak ``lang`` inside the ``with`` block, whatever the session says."""
    token = _forced.set(lang)
    try:
        yield
    finally:
        _forced.reset(token)


def current() -> str:
    """Return the language in force: ``"it"`` or ``"en"``."""
    lang = _forced.get() or (_session[0]() if _session else FALLBACK)
    return lang if lang in LANGUAGES else FALLBACK


def _(message: str) -> str:
    """Return ``message`` in the language in force, or as it stands where no entry is there."""
    return _CATALOGUES[current()].gettext(message) if message else ""


def ngettext(singular: str, plural: str, n: int) -> str:
    """Return the form of a sentence that goes with ``n`` things."""
    return _CATALOGUES[current()].ngettext(singular, plural, n)


def N_(message: str) -> str:  # noqa: N802  (the usual name)
    """Mark a string that is translated later, where it is shown."""
    return message


def error_text(error: InputError) -> str:
    """Return a refusal in the language in force."""
    return _(error.template).format(**error.values)


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _special(x: float) -> str | None:
    if math.isnan(x):
        return _("not a number")
    if math.isinf(x):
        return _("infinite") if x > 0 else _("minus infinity")
    return None


def number(x: float, digits: int = 2) -> str:
    """Write ``x`` with ``digits`` decimals; tiny and huge ones as a power of ten.

    NaN and infinities are results too and are written in words.
    """
    words = _special(x)
    if words is not None:
        return words
    if x and not 10.0**-digits / 2 <= abs(x) < 1e7:
        return _scientific(x)
    pattern = "#,##0" + ("." + "0" * digits if digits else "")
    text = format_decimal(x, format=pattern, locale=current())
    return _minus(text if float(f"{x:.{digits}f}") else text.lstrip("-"))


def _scientific(x: float) -> str:
    mantissa, exponent = f"{x:.1e}".split("e")
    powers = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    written = format_decimal(float(mantissa), format="0.0", locale=current())
    return _minus(written) + " × 10" + str(int(exponent)).translate(powers)


def signed(x: float, digits: int = 2) -> str:
    """Write ``x`` with its sign, ``+`` included."""
    text = number(x, digits)
    return f"+{text}" if x > 0 and not math.isinf(x) else text


def percent(share: float, digits: int = 0) -> str:
    """Write a share of 1 as a percentage: 0.41 is ``41%`` (``41 %`` in Italian)."""
    words = _special(share)
    if words is not None:
        return words
    pattern = "#,##0" + ("." + "0" * digits if digits else "") + "%"
    text = format_percent(share, format=pattern, locale=current())
    return _minus(text.replace("%", "\N{NARROW NO-BREAK SPACE}%") if current() == "it" else text)


def integer(n: int) -> str:
    """Write a whole number with the language's thousands separator."""
    return _minus(format_decimal(n, format="#,##0", locale=current()))
