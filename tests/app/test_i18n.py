import math
import re
from collections import Counter
from pathlib import Path

import pytest
from babel.messages import pofile
from babel.messages.extract import extract_from_dir

from andrea.errors import InputError
from app import i18n

ROOT = Path(__file__).resolve().parents[2]
KEYWORDS = {"_": None, "N_": None, "gettext": None, "ngettext": (1, 2), "InputError": None}
FOLDERS = ("app", "pages", "andrea")
OTHERS = [lang for lang in i18n.LANGUAGES if lang != i18n.FALLBACK]
PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def extracted() -> dict[str | tuple[str, str], str]:
    """Return every translatable string of the source and where it stands."""
    found = {}
    for folder in FOLDERS:
        rows = extract_from_dir(str(ROOT / folder), [("**.py", "python")], keywords=KEYWORDS)
        for file, line, message, _comments, _context in rows:
            found[tuple(message) if isinstance(message, tuple) else message] = (
                f"{folder}/{file}:{line}"
            )
    return found


def entries(lang):
    for path in sorted((i18n.LOCALE / lang / "LC_MESSAGES").glob("*.po")):
        with path.open("rb") as file:
            for message in pofile.read_po(file, locale=lang, abort_invalid=True):
                if message.id:
                    yield path.name, message


def test_the_source_has_strings_of_every_kind():
    found = extracted()
    assert "The text is empty: write a few words." in found  # andrea's refusals
    assert "Inside one block of a transformer" in found  # a page
    assert ("{n} block", "{n} blocks") in found  # a plural
    assert "The block at a glance" in found  # marked in a table, translated later


@pytest.mark.parametrize("lang", OTHERS)
def test_no_entry_is_missing(lang):
    there = {m.id for _, m in entries(lang)}
    missing = [f"{where}: {text!r}" for text, where in extracted().items() if text not in there]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("lang", OTHERS)
def test_no_entry_is_stale_fuzzy_empty_or_given_twice(lang):
    found, bad = extracted(), []
    seen = Counter(m.id for _, m in entries(lang))
    for file, message in entries(lang):
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        for fault, is_so in {
            "stale": message.id not in found,
            "fuzzy": message.fuzzy,
            "empty": not all(strings),
            "twice": seen[message.id] > 1,
        }.items():
            if is_so:
                bad.append(f"{file}: {fault}: {message.id!r}")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("lang", OTHERS)
def test_placeholders_are_the_same_on_both_sides(lang):
    for file, message in entries(lang):
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        wanted = {frozenset(Counter(PLACEHOLDER.findall(text)).items()) for text in ids}
        for text in strings:
            got = frozenset(Counter(PLACEHOLDER.findall(text)).items())
            assert got in wanted, (file, message.id, text)


def test_the_language_in_force_decides():
    with i18n.use_language("it"):
        assert i18n._("Language") != i18n._("Model") == "Modello"
        assert i18n.ngettext("{n} block", "{n} blocks", 1) == "{n} blocco"
        assert i18n.ngettext("{n} block", "{n} blocks", 2) == "{n} blocchi"
    with i18n.use_language("en"):
        assert i18n._("Model") == "Model"
    assert i18n.current() == "en"  # outside a session
    with i18n.use_language("xx"):
        assert i18n._("Model") == "Model"
    with i18n.use_language("it"):
        assert i18n._("A sentence that nobody has translated") == (
            "A sentence that nobody has translated"
        )
        assert i18n._("") == ""  # not the catalogue's header


@pytest.mark.parametrize(
    ("call", "english", "italian"),
    [
        (lambda: i18n.number(1234.5), "1,234.50", "1.234,50"),
        (lambda: i18n.number(-0.216), "−0.22", "−0,22"),
        (lambda: i18n.number(0.0), "0.00", "0,00"),
        (lambda: i18n.number(-0.0), "0.00", "0,00"),
        (lambda: i18n.number(3.0, 0), "3", "3"),
        (lambda: i18n.number(2.4e-10), "2.4 × 10⁻¹⁰", "2,4 × 10⁻¹⁰"),
        (lambda: i18n.number(-3e30, 1), "−3.0 × 10³⁰", "−3,0 × 10³⁰"),
        (lambda: i18n.number(math.nan), "not a number", "non è un numero"),
        (lambda: i18n.number(-math.inf), "minus infinity", "meno infinito"),
        (lambda: i18n.signed(0.5), "+0.50", "+0,50"),
        (lambda: i18n.signed(-0.5), "−0.50", "−0,50"),
        (lambda: i18n.percent(0.413), "41%", "41 %".replace(" ", "\u202f")),
        (lambda: i18n.percent(0.0041, 2), "0.41%", "0,41\u202f%"),
        (lambda: i18n.integer(92331264), "92,331,264", "92.331.264"),
        (lambda: i18n.integer(-7), "−7", "−7"),
    ],
)
def test_numbers_are_written_as_the_language_writes_them(call, english, italian):
    with i18n.use_language("en"):
        assert call() == english
    with i18n.use_language("it"):
        assert call() == italian


def test_a_refusal_speaks_the_language_and_keeps_its_values():
    error = InputError(
        "Depth {depth} is not possible here: choose 1 to {most} blocks.", depth=99, most=12
    )
    with i18n.use_language("en"):
        assert i18n.error_text(error) == str(error)
    with i18n.use_language("it"):
        text = i18n.error_text(error)
    assert text != str(error) and "99" in text and "12" in text
