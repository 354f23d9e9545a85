import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from andrea.config import PRESETS
from app import i18n, notices, parameters_controls, race_settings


def page() -> None:
    """Run a page of nothing but controls, inside the testing harness."""
    import streamlit as st

    from app import controls, state
    from app.state import MAX_CHARS

    state.begin()
    state.language_switch("language")
    text = controls.text_control("Hello")
    norm = state.checked(
        "norm",
        st.segmented_control(
            "norm", ["pre", "post"], default="pre", required=True, key="norm", bind="query-params"
        ),
    )
    depth = state.checked("depth", int(st.slider("d", 1, 12, 12, key="depth", bind="query-params")))
    on = state.checked("residual", st.toggle("r", value=True, key="residual", bind="query-params"))
    pos = state.get("pos", -1, of=text, allowed=lambda p: -1 <= p < 9)
    if st.button("five"):
        state.put("pos", 5, of=text)
        pos = state.get("pos", -1, of=text)
    assert len(text) <= MAX_CHARS
    st.json(
        {
            "text": text,
            "norm": norm,
            "depth": depth,
            "on": on,
            "pos": pos,
            "station": state.station(),
            "notices": state.notices(),
            "returning": state.is_returning(),
            "link": state.share_link(text=text, depth=depth, residual=on, pos=pos),
        }
    )


def opened(**query):
    at = AppTest.from_function(page, default_timeout=120)
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def shown(at):
    import json

    assert not at.exception, at.exception
    return json.loads(at.json[0].value)


def test_without_an_address_everything_is_its_default():
    values = shown(opened())
    assert (values["text"], values["norm"], values["depth"], values["pos"]) == (
        "Hello",
        "pre",
        12,
        -1,
    )
    assert values["notices"] == [] and not values["returning"]


def test_good_values_are_used_without_a_word():
    values = shown(
        opened(text="Ciao", norm="post", depth="3", residual="false", pos="2", at="4.resid_mid")
    )
    assert values["notices"] == []
    assert (values["text"], values["norm"], values["depth"]) == ("Ciao", "post", 3)
    assert (values["on"], values["pos"], values["station"]) == (False, 2, "4.resid_mid")
    assert values["returning"]


@pytest.mark.parametrize(
    ("key", "raw", "used"),
    [
        ("norm", "sideways", "pre"),
        ("depth", "300", 12),
        ("depth", "abc", 12),
        ("depth", "-1", 12),
        ("depth", "nan", 12),
        ("depth", "3.7", 3),
        ("pos", "99", -1),
        ("pos", "x", -1),
        ("at", "0.ln1", None),
        ("at", "javascript:alert(1)", None),
        ("lang", "xx", None),
    ],
)
def test_a_value_that_cannot_be_used_is_named_in_a_notice(key, raw, used):
    values = shown(opened(**{key: raw}))
    assert values.get({"at": "station"}.get(key, key)) == used
    (notice,) = values["notices"]
    assert f"{key} = “{raw}”" in notice


def test_a_notice_speaks_the_visitors_language_and_goes_when_they_choose_anew():
    at = opened(lang="it", pos="99")
    assert "non è possibile: al suo posto vale l’ultimo" in shown(at)["notices"][0]
    at.button[0].click().run()
    assert shown(at)["notices"] == [] and shown(at)["pos"] == 5
    at.run()
    assert shown(at)["pos"] == 5 and at.query_params["pos"] == "5"


def test_the_position_belongs_to_its_text():
    at = opened(text="Ciao", pos="2")
    assert shown(at)["pos"] == 2
    at.text_input[0].set_value("Another text").run()
    assert shown(at)["pos"] == -1
    assert "pos" not in at.query_params


def test_a_long_text_is_capped_in_memory_and_named():
    for at in (
        opened(text="x" * 100_000),
        opened().text_input[0].set_value("x" * 100_000).run(),
    ):
        values = shown(at)
        assert len(values["text"]) == len(at.session_state["text"]) == 2000
        assert "100,000 characters: the first 2,000 are kept" in values["notices"][0]
        assert "x" * 2001 not in str(vars(at.session_state))
    at.text_input[0].set_value("short").run()
    assert shown(at)["notices"] == []


def test_the_default_follows_the_language_until_the_visitor_writes():
    from tests.app.test_controls import controls_page

    at = AppTest.from_function(controls_page, default_timeout=120)
    at.query_params["lang"] = "it"
    at.run()
    italian = at.text_input[0].value
    at.button_group[0].set_value("en").run()
    assert at.text_input[0].value != italian
    at.text_input[0].set_value("mine").run()
    at.button_group[0].set_value("it").run()
    assert at.text_input[0].value == "mine"


def test_a_link_writes_every_value_out():
    values = shown(opened(text="a&b=ü?", lang="en", at="2.ln1"))
    query = parse_qs(urlsplit(values["link"]).query, strict_parsing=True)
    assert query == {
        "lang": ["en"],
        "text": ["a&b=ü?"],
        "residual": ["true"],
        "depth": ["12"],
        "pos": ["-1"],
        "at": ["2.ln1"],
    }


def test_a_notice_shows_little_of_a_long_value():
    with i18n.use_language("en"):
        text = notices.sentence("norm", "z" * 500, "pre", 2000)
    assert "z" * 40 + "…" in text and len(text) < 160


def keys_of_the_source() -> set[str]:
    """The keys that pages and controls check against the address, as far as they are literals."""
    root = Path(__file__).resolve().parents[2]
    files = [*root.glob("app/*_*.py"), root / "app/controls.py", *root.glob("pages/*.py")]
    found = re.compile(r"""(?:checked|state\.get)\(\s*f?"([^"]+)\"""")
    return {key for file in files for key in found.findall(file.read_text())}


def test_every_parameter_of_the_address_has_a_name():
    literal = keys_of_the_source()
    assert len(literal) > 20
    keys = {key.replace("{prefix}", "b.") for key in literal}
    keys |= {f"b.{key}" for key in parameters_controls.values(PRESETS["gpt2"])}
    keys |= set(race_settings.FIELDS.values())
    assert {key.removeprefix("b.") for key in keys} - set(notices.NAMES) == set()
    with i18n.use_language("it"):
        spoken = [notices.name(key) for key in ("b.vocab_size", "arm.plain", "unheard-of")]
    assert spoken == ["vocabolario", "variante", "unheard-of"]


@pytest.mark.parametrize(
    ("used", "said"), [(0.003, "0,003"), (1.0, "1"), (12, "12"), (-1.5, "−1,5")]
)
def test_a_notice_writes_numbers_as_the_language_does(used, said):
    with i18n.use_language("it"):
        assert f"vale {said}." in notices.sentence("race.lr", "NaN", used, 9)
