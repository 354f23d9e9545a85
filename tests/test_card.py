"""Sentences and tables of the card: true to the numbers, also where the model is the worse one."""

from __future__ import annotations

from typing import Any

import pytest

from andrea.card import results, texts, training
from andrea.card.markdown import one_line, table
from andrea.config import ModelConfig


def report(loss: float, **changes: Any) -> dict[str, Any]:
    grams = {"1": 7.0, "2": 5.0, "3": 4.0, "4": 4.1}
    return {"loss": loss, "kneser_ney": grams, **changes}


def test_the_bar_is_the_best_ngram_and_a_miss_is_said() -> None:
    sentence = results.bar_sentence({"en": report(3.7), "it": report(4.05)})
    assert "In English the model is 0.30 nats better than the best of them, the 3-gram." in sentence
    assert "In Italian the model is 0.05 nats **worse** than the best of them" in sentence


def test_the_lens_sentence_counts_blocks() -> None:
    sentence = results.lens_sentence(
        {"mean_rank": [2500.0, 300.0, 40.5, 50.0, 1.0], "blocks_that_improve": 3}
    )
    assert "2,500 before" in sentence and "40.5 after 2" in sentence
    assert "improves at 3 of 4 blocks" in sentence


def test_loops_are_counted() -> None:
    samples = [{"greedy_loops": i < 3, "drawn_loops": False} for i in range(10)]
    sentence = results.loops_sentence({"it": {"samples": samples}})
    assert "3 of 10 greedy" in sentence and "0 of the drawn" in sentence


def test_choices_are_the_exponential_of_the_loss() -> None:
    changes = {"n_predicted": 10, "loss_per_character": 1.0, "kneser_ney_together": {"4": 4.5}}
    assert "| **4.000** | 55 |" in results.results_table({"en": report(4.0, **changes)})


def test_what_markdown_would_read_is_escaped() -> None:
    assert one_line("a\n\nb\nc*") == "a ¶ b ↵ c\\*"
    assert table(["a|b"], [["c|d"]]).count("\\|") == 2


def evaluation(**recipe: Any) -> dict[str, Any]:
    config = ModelConfig(n_layer=12, d_model=192, n_head=6, n_ctx=256).as_dict()
    made = {"tokens": 3_000_000, "seconds": 5400, "recipe": recipe} if recipe else {}
    train = {"en": 1_000_000, "it": 1_000_000}
    languages = {"en": report(3.9), "it": report(4.0)}
    return {
        "config": config,
        "made": made,
        "hardware": "",
        "train_tokens": train,
        "languages": languages,
    }


def test_the_command_names_what_differs_from_the_defaults() -> None:
    words = training.command(evaluation(steps=6500, flat=0.45, batch=8)).replace("\\\n", "")
    assert "--steps 6500" in words and "--flat 0.45" in words
    assert "--batch" not in words and "--minutes" not in words
    assert "--text en.txt it.txt" in words
    assert "--valid en-valid.txt it-valid.txt" in words


def test_the_command_is_one_that_the_terminal_reads() -> None:
    from andrea.__main__ import build_parser

    words = training.command(evaluation(steps=6500, minutes=30.0)).replace("\\\n", "").split()
    assert words[:3] == ["python", "-m", "andrea"]
    args = build_parser().parse_args(words[3:])
    assert (args.steps, args.minutes, args.d_model, args.n_head) == (6500, 30.0, 192, 6)


def test_the_run_in_numbers_or_not_recorded() -> None:
    known = training.recipe_table(evaluation(steps=9))
    assert "| hours | 1.5 |" in known and "3,000,000 (1.5 x the text)" in known
    assert training.recipe_table(evaluation()).count("not recorded") == 6


def test_compared_runs_are_a_table_or_nothing() -> None:
    made = {"recipe": {"batch": 8}, "seconds": 600, "tokens": 1_250_000}
    run = {"name": "wide", "config": evaluation()["config"]}
    run["made"] = {**made, "valid_loss": {"en": 5.1, "it": 5.4}}
    assert "| wide | 12, 192, 6 | 8 | 10.0 | 1.25 | 5.100 | 5.400 |" in training.study_section(
        [run]
    )
    assert "| minutes |" in training.study_section([run])
    assert training.study_section([]) == ""


def test_runs_that_counted_processor_time_are_compared_by_it() -> None:
    made = {"recipe": {"batch": 8}, "seconds": 900, "tokens": 1_250_000, "valid_loss": {"en": 5.1}}
    config = evaluation()["config"]
    counted = {"name": "a", "config": config, "made": {**made, "processor_seconds": 600}}
    assert "| a | 12, 192, 6 | 8 | 10.0 |" in training.study_section([counted])
    older = {"name": "b", "config": config, "made": {**made, "processor_seconds": None}}
    both = training.study_section([counted, older])
    assert both.count("| 15.0 |") == 2 and "processor" not in both


def test_a_run_that_began_from_weights_says_so() -> None:
    begun = evaluation(steps=9)
    earlier = {"file": "weights.safetensors", "sha256": "abc", "tokens": 6_000_000}
    begun["made"]["origin"] = earlier
    assert "| begun from | `weights.safetensors` (6,000,000 tokens, sha256 abc) |" in (
        training.recipe_table(begun)
    )
    assert "--start-from weights.safetensors" in training.command(begun)
    begun["made"]["origin"] = {**earlier, "tokens": None}
    assert "(tokens not recorded, sha256 abc)" in training.recipe_table(begun)
    fresh = evaluation(steps=9)
    fresh["made"]["origin"] = None
    assert "begun from" not in training.recipe_table(fresh)
    assert "--start-from" not in training.command(fresh)


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("CC BY (African Storybook / Global ASP)", True),
        ("public domain (text); TEI markup CC BY 4.0 (ELTeC), markup removed", False),
        ("CC0 1.0", False),
    ],
)
def test_which_works_are_under_cc_by(licence: str, expected: bool) -> None:
    assert texts.is_cc_by({"licence": licence}) is expected


def test_each_cc_by_work_is_named_once_under_its_licence() -> None:
    common = {"lang": "en", "source_repo": "one/stories", "licence": "CC BY (Stories)"}
    rows = [
        {"title": title, "author": author, **common}
        for title, author in (("Rain", "Ann"), ("Hare", "Ben"), ("Rain", "Ann"), ("Rain", "Cy"))
    ]
    rows.append({**rows[0], "lang": "it", "title": "Pioggia"})
    rows.append({**rows[0], "title": "Old", "licence": "public domain"})
    count, listed = texts.cc_by_works(rows)
    assert count == 4
    assert listed == (
        "**English, from one/stories; licence: CC BY (Stories).** "
        "*Hare* (Ben); *Rain* (Ann); *Rain* (Cy).\n\n"
        "**Italian, from one/stories; licence: CC BY (Stories).** *Pioggia* (Ann)."
    )
