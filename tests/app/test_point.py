"""What the point on the curves sends to the browser: float64 numbers, marks, and words."""

import json
import math

import pytest

from app import readings
from app.components.point.payload import START, STOPS, payload, place
from app.i18n import use_language

languages = pytest.mark.parametrize("lang", ["it", "en"])


def sent(lang="en"):
    """The payload as the browser reads it."""
    with use_language(lang):
        return json.loads(json.dumps(payload(readings.voice()), allow_nan=False))


def phi(x):
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


def normal(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def phi_tanh(x):
    return 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def tanh_slope(x, h=1e-4):
    """A central difference of fourth order."""
    f = [k * phi_tanh(k) for k in (x - 2 * h, x - h, x + h, x + 2 * h)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)


def test_every_number_of_every_stop():
    arrays = sent()["arrays"]
    assert arrays["x"] == [k / 20 for k in range(-80, 81)] == STOPS.tolist()
    expected = {
        "phi": phi,
        "density": normal,
        "gelu": lambda x: x * phi(x),
        "gelu_slope": lambda x: phi(x) + x * normal(x),
        "phi_tanh": phi_tanh,
        "tanh": lambda x: x * phi_tanh(x),
        "difference": lambda x: x * phi_tanh(x) - x * phi(x),
        "relu": lambda x: max(x, 0.0),
        "cut": lambda x: x * phi(x) - max(x, 0.0),
    }
    for name, function in expected.items():
        wanted = [function(x) for x in arrays["x"]]
        assert arrays[name] == pytest.approx(wanted, rel=1e-12, abs=1e-15), name
    wanted = [tanh_slope(x) for x in arrays["x"]]
    assert arrays["tanh_slope"] == pytest.approx(wanted, abs=1e-10)
    wanted = [None if x == 0 else float(x > 0) for x in arrays["x"]]
    assert arrays["relu_slope"] == wanted
    assert set(arrays) == {"x", "tanh_slope", "relu_slope", *expected}


@languages
def test_marks_and_words_are_in_the_language(lang):
    found = sent(lang)
    comma = found["decimal"]
    assert comma == ("," if lang == "it" else ".") and START in STOPS
    (_, x, y, words), *slopes = found["marks"]
    assert (x, y) == pytest.approx((-0.75179, -0.16997), abs=1e-5)
    assert f"−0{comma}16997" in words and f"−0{comma}7518" in words
    root = math.sqrt(2)
    for (panel, x, y, words), side in zip(slopes, (-1, 1), strict=True):
        assert panel == "slope" and x == pytest.approx(side * root)
        assert y == pytest.approx(phi(x) + x * normal(x))
        assert words == ("−0.129" if side < 0 else "1.129").replace(".", comma)
    assert [words for _, words in found["regions"]][::2] == ["≈ 0", "≈ x"]
    other = sent("en" if lang == "it" else "it")["words"]
    same = {key for key, text in found["words"].items() if text == other[key]}
    assert same == set()


def test_a_rerun_has_nothing_new_to_send():
    assert sent("it") == sent("it")


@pytest.mark.parametrize(
    ("said", "stop"),
    [
        ("-0.75", -0.75),
        ("2.76", 2.75),
        ("-4", -4.0),
        ("1e0", 1.0),
        (" .5 ", 0.5),
        ("9,5", START),
        ("4.1", START),
        ("nan", START),
        ("inf", START),
        ("0x1", START),
        ("1_0", START),
        ("1e999", START),
        ("<b>", START),
        ("", START),
        ("1 2", START),
    ],
)
def test_the_stop_that_an_address_asks_for(said, stop):
    assert place(said) == stop
