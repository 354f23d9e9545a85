from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from andrea.errors import InputError
from app import compute, frame, registry

ROOT = Path(__file__).resolve().parents[2]


def opened(**query):
    at = AppTest.from_file(str(ROOT / "app/main.py"), default_timeout=120)
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def html(at):
    return " ".join(element.value for element in at.get("html") if hasattr(element, "value"))


def alerts(at):
    return [e.proto.body for e in at.get("html") if 'role="alert"' in e.proto.body]


def test_every_registered_page_is_a_file_and_every_file_is_registered():
    files = {entry.file for entry in registry.PAGES}
    assert files == {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py")}
    assert len({entry.url_path for entry in registry.PAGES}) == len(registry.PAGES)
    assert sum(entry.default for entry in registry.PAGES) == 1 and registry.PAGES[0].default
    assert {entry.group for entry in registry.PAGES} <= set(registry.GROUPS)


@pytest.mark.parametrize(("query", "lang"), [({}, "en"), ({"lang": "it"}, "it")])
def test_the_frame_speaks_one_language(query, lang):
    at = opened(**query)
    assert not at.exception
    assert (
        at.title[0].value
        == {
            "it": "Dentro un blocco del transformer",
            "en": "Inside one block of a transformer",
        }[lang]
    )
    assert any(f"lang='{lang}'" in e.proto.body for e in at.get("html"))


def test_the_language_switch_changes_the_page():
    at = opened()
    at.button_group(key="lang").set_value("it").run()
    assert at.title[0].value == "Dentro un blocco del transformer"


@pytest.mark.parametrize("lang", ["it", "en"])
def test_an_unexpected_error_is_one_polite_sentence_and_a_record(lang, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("the secret place /etc/x")

    monkeypatch.setattr(compute, "answer", broken)
    at = opened(lang=lang)
    assert not at.exception
    (sentence,) = alerts(at)
    assert {"it": "Qualcosa è andato storto", "en": "Something went wrong"}[lang] in sentence
    assert not any("secret" in e.proto.body for e in at.get("html"))
    assert "the secret place" in caplog.text and "Traceback" in caplog.text


def test_a_refusal_that_a_page_lets_pass_is_shown_in_the_visitors_language(monkeypatch):
    def refusing(*_):
        raise InputError("The weights file {file} lacks {name}: restore it from the repository.",
                         file="<b>w</b>", name="wte")  # fmt: skip

    monkeypatch.setattr(compute, "house", refusing)
    monkeypatch.setattr(compute, "answer", refusing)
    at = opened(lang="it")
    assert not at.exception
    assert "Nel file dei pesi" in alerts(at)[0]
    assert "<b>" not in alerts(at)[0] and "&lt;b&gt;" in alerts(at)[0]


def test_a_language_that_the_site_does_not_speak_is_named():
    at = opened(lang="xx")
    notices = [e.proto.body for e in at.get("html") if 'role="status"' in e.proto.body]
    assert len(notices) == 1 and "lang = “xx”" in notices[0]


def test_a_frame_that_cannot_be_drawn_says_so_in_both_languages(monkeypatch, caplog):
    def broken():
        raise RuntimeError("the secret place /etc/x")

    monkeypatch.setattr(frame, "draw", broken)
    at = opened()
    assert not at.exception
    assert "Il sito non riesce a partire" in at.warning[0].value
    assert "The site cannot start" in at.warning[0].value and "secret" not in at.warning[0].value
    assert "the secret place" in caplog.text
