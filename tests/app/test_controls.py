import pytest
from streamlit.testing.v1 import AppTest

from andrea.config import PRESETS
from andrea.requests import TRAINED, ModelRequest
from app import controls, i18n


def controls_page() -> None:
    """Run a page of the shared controls, inside the testing harness."""
    import dataclasses

    import streamlit as st

    from app import controls, state

    state.begin()
    state.language_switch("language")
    controls.text_control()
    request = controls.model_controls()
    st.json({**dataclasses.asdict(request), "notices": state.notices()})


def opened(**query):
    at = AppTest.from_function(controls_page, default_timeout=120)
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def request(at):
    import json

    assert not at.exception, at.exception
    return json.loads(at.json[0].value)


def test_the_trained_model_comes_first_with_all_its_blocks_and_no_seed():
    at = opened()
    got = request(at)
    assert (got["model"], got["n_layer"], got["norm"], got["residual"]) == (TRAINED, 12, "pre", 1)
    assert not at.number_input
    assert (at.slider[0].min, at.slider[0].max) == (1, 12)


def test_a_fresh_model_has_a_seed_and_up_to_96_blocks():
    at = opened(model="andrea-12m", seed="7", depth="96", norm="post", residual="false")
    got = request(at)
    assert got["notices"] == []
    assert (got["model"], got["seed"], got["n_layer"]) == ("andrea-12m", 7, 96)
    assert (got["norm"], got["residual"]) == ("post", False)


def test_a_change_of_model_keeps_the_depth_possible():
    at = opened(model="andrea-12m", depth="96")
    at.selectbox[0].set_value(TRAINED).run()
    assert request(at)["n_layer"] == 12
    at.slider[0].set_value(3).run()
    assert request(at)["n_layer"] == 3
    at.selectbox[0].set_value("andrea-12m").run()
    assert request(at)["n_layer"] == PRESETS["andrea-12m"].n_layer
    at.slider[0].set_value(20).run()
    at.selectbox[0].set_value("andrea-120m").run()
    assert request(at)["n_layer"] == 12


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ({"model": "gpt-9"}, "model"),
        ({"depth": "13"}, "depth"),
        ({"depth": "3.7"}, "depth"),
        ({"depth": "nan"}, "depth"),
        ({"depth": "1e999"}, "depth"),
        ({"model": "andrea-12m", "depth": "97"}, "depth"),
        ({"model": "andrea-12m", "seed": "-1"}, "seed"),
        ({"norm": "batch"}, "norm"),
        ({"residual": "perhaps"}, "residual"),
    ],
)
def test_an_impossible_value_is_named(query, key):
    got = request(opened(**query))
    assert len(got["notices"]) == 1 and f"{key} = " in got["notices"][0]
    ModelRequest(got["model"], got["seed"], got["norm"], got["residual"], got["n_layer"]).config()


def test_the_folded_controls_say_what_is_chosen():
    at = opened(model="andrea-12m", seed="7", norm="none", residual="false", depth="2", lang="en")
    assert at.expander[0].label == (
        "Model and switches: andrea-12m, freshly initialised, seed 7 · 2 blocks · no LayerNorm · "
        "without residual"
    )
    at.slider[0].set_value(1).run()
    assert "· 1 block ·" in at.expander[0].label


def test_labels_say_where_weights_come_from():
    with i18n.use_language("it"):
        assert controls.model_label(ModelRequest()) == "andrea-mini, addestrato"
        assert controls.model_label(ModelRequest("andrea-12m", seed=3)).endswith("seme 3")
