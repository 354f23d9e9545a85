"""The passages that ship: long enough, parallel, clean, without repetition, in their language."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import andrea
from andrea import data
from andrea.corpus import DOCUMENT_BREAK
from andrea.data import DEFAULT_SENTENCES, EXAMPLES, LANGUAGES, Language, passages
from andrea.tokenizer import TextTokenizer

SMALLEST_FILE = 31_000  # bytes
ALLOWED = {
    "en": re.compile(r"[A-Za-z \n.,:;!?'\"-]*"),
    "it": re.compile(r"[A-Za-zÈàèéìòù \n.,:;!?'\"—]*"),
}
# Frequent words of one language that are no words of the other.
STOP_WORDS = {
    "en": set("the and of to was with it that is he she they not you for his her".split()),
    "it": set("il la di che e un una non per si gli le del della è sono con".split()),
}

every_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(Path(andrea.__file__).parent / "weights" / "tokenizer.json")


def raw(language: Language) -> str:
    folder = Path(data.__file__).parent
    return (folder / f"{language}.txt").read_bytes().decode("utf-8")


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", text.lower())


@every_language
def test_the_files_hold_what_passages_returns(language: Language) -> None:
    text = raw(language)
    assert len(text.encode()) >= SMALLEST_FILE
    assert DOCUMENT_BREAK.join(passages(language)) + "\n" == text
    assert "\n\n\n\n" not in text
    assert all(passage == passage.strip() for passage in passages(language))


def test_both_languages_have_the_same_number() -> None:
    assert len(passages("it")) == len(passages("en"))
    assert 40 <= len(passages("it")) <= 60


def test_a_passage_is_as_long_as_its_translation() -> None:
    for italian, english in zip(passages("it"), passages("en"), strict=True):
        assert 0.8 < len(italian) / len(english) < 1.25, italian[:60]


@every_language
def test_each_passage_has_60_to_220_words(language: Language) -> None:
    for passage in passages(language):
        assert 60 <= len(words(passage)) <= 220, passage[:60]


@every_language
def test_only_plain_characters(language: Language, tokenizer: TextTokenizer) -> None:
    for text in [*passages(language), DEFAULT_SENTENCES[language], *EXAMPLES[language]]:
        assert ALLOWED[language].fullmatch(text), set(ALLOWED[language].sub("", text))
        assert tokenizer.fold(text) == text
        assert text.count('"') % 2 == 0, text[:60]
        assert "  " not in text
        assert not re.search(r" [.,:;!?]", text), text[:60]
        assert not re.search(r"(?<!\.)\.\.(?!\.)", text), text[:60]


@every_language
def test_no_sentence_comes_twice(language: Language) -> None:
    counts: Counter[tuple[str, ...]] = Counter()
    for passage in passages(language):
        counts.update(tuple(words(sentence)) for sentence in re.split(r"[.!?\n]+", passage))
    assert [s for s, count in counts.items() if count > 1 and len(s) > 6] == []


@every_language
def test_each_passage_is_in_its_language(language: Language) -> None:
    other = "en" if language == "it" else "it"
    for passage in passages(language):
        found = words(passage)
        own = sum(word in STOP_WORDS[language] for word in found) / len(found)
        foreign = sum(word in STOP_WORDS[other] for word in found) / len(found)
        assert own > 0.12, (own, passage[:60])
        assert foreign < 0.02, (foreign, passage[:60])


@every_language
def test_prompts_are_short_and_unfinished(language: Language) -> None:
    assert len(EXAMPLES[language]) == len(set(EXAMPLES[language])) == 8
    for prompt in [DEFAULT_SENTENCES[language], *EXAMPLES[language]]:
        assert 5 <= len(words(prompt)) <= 12, prompt
        assert prompt[-1].isalpha(), prompt


def test_an_unknown_language_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'fr'.*it, en"):
        passages("fr")  # type: ignore[arg-type]
