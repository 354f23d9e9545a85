"""The benchmarks' own arithmetic; the timings themselves are no test's business."""

import types

import pytest

from tests.benchmarks import Row, __main__, compared, interleaved, timed


def test_the_cost_of_looking_is_among_them():
    assert "record" in __main__.known()
    assert not any(name.startswith("_") for name in __main__.known())


def test_candidates_take_turns_and_the_first_rounds_do_not_count():
    calls: list[str] = []

    def timer(name: str):
        def once() -> float:
            calls.append(name)
            return float(len(calls))

        return once

    seconds = interleaved({"a": timer("a"), "b": timer("b")}, rounds=5)
    assert {name: len(values) for name, values in seconds.items()} == {"a": 5, "b": 5}
    assert len(calls) == 14
    assert all(set(calls[k : k + 2]) == {"a", "b"} for k in range(0, 14, 2))
    assert min(seconds["a"] + seconds["b"]) > 4


def test_a_ratio_is_the_median_of_the_rounds_ratios():
    """One round that a busy machine spoiled does not decide."""
    rows = compared({"bare": [1.0, 10.0, 1.0], "looking": [1.2, 9.0, 1.1]}, {"looking": 1.15})
    assert [row.seconds for row in rows] == [1.0, 1.2]
    assert [row.ratio for row in rows] == pytest.approx([1.0, 1.1])
    assert all(row.passed for row in rows)
    assert not compared({"bare": [1.0], "looking": [1.2]}, {"looking": 1.15})[1].passed


def test_time_is_the_processors():
    assert 0 < timed(lambda: sum(range(300_000))) < 1


@pytest.mark.parametrize(("ratio", "status"), [(1.05, 0), (1.2, 1)])
def test_check_fails_only_above_the_limit_and_only_when_asked(monkeypatch, capsys, ratio, status):
    rows = [
        Row("bare", 0.1, 1.0),
        Row("looking", 0.1 * ratio, ratio, 1.1),
        Row("b", None, note="n"),
    ]
    fake = types.SimpleNamespace(__doc__="A title.\n\nMore.", run=lambda: rows)
    monkeypatch.setattr(__main__.importlib, "import_module", lambda name: fake)
    assert __main__.main(["record", "--check"]) == status
    assert __main__.main(["record"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("A title.\n")
    assert f"{ratio:.3f} x" in printed
    assert ("TOO SLOW" in printed) == bool(status)


def test_an_unknown_benchmark_names_the_known_ones(capsys):
    with pytest.raises(SystemExit) as ended:
        __main__.main(["rekord"])
    assert ended.value.code == 2
    assert "record" in capsys.readouterr().err.splitlines()[-1]
