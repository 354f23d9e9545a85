"""Training text: what is refused, and from where the windows are drawn."""

import lzma

import numpy as np
import pytest

from andrea.corpus import (
    DOCUMENT_BREAK,
    Stream,
    read_text,
    split_off,
    tier_weights,
    tokenise,
)
from andrea.tokenizer import BOS_ID, TextTokenizer, train_tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return train_tokenizer(["la casa e il mare, the house and the sea\n"] * 20, 260)


def stream(lengths: list[int], weights: list[float]) -> Stream:
    """Return a stream whose token at place i is i, so that a window tells where it began."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    share = np.array(lengths) * np.array(weights)
    tokens = np.arange(starts[-1]).astype(np.uint16)
    return Stream("numbers", tokens, starts.astype(np.int64), share / share.sum())


# -- reading ------------------------------------------


def xz(text: str) -> bytes:
    return lzma.compress(text.encode())


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("missing.txt", None, "cannot be read"),
        ("empty.txt", b"", "is empty"),
        ("blank.txt", b" \n\t\n\r\n ", "is empty"),
        ("empty.txt.xz", xz(""), "is empty"),
        ("picture.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        ("utf16.txt", "ciao".encode("utf-16"), "binary"),
        ("latin.txt", "perché no".encode("latin-1"), r"not UTF-8 \(byte 5\)"),
        ("line.txt", b"a" * 2_000_000, "line of 2,000,000 characters"),
        ("line.txt.xz", xz("short\n" + "word " * 400_000), "line of 2,000,000 characters"),
        ("broken.txt.xz", b"this was never compressed", "no valid .xz"),
        ("cut.txt.xz", xz("a text that was cut short" * 50)[:-30], "no valid .xz"),
        ("bad.txt.xz", xz("x" * 9)[:20] + b"\xff" * 40, "no valid .xz"),
        ("nothing.txt.xz", b"", "no valid .xz"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path, name, content, complaint):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=complaint) as caught:
        read_text(path)
    assert str(caught.value).startswith(f"{name}: ")
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_text(tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path.name}: cannot be read"):
        read_text(tmp_path)


def test_text_is_read_plain_or_compressed_with_any_line_ends(tmp_path):
    text = "Era una notte buia — e tempestosa.\n\nPerché? 🐈\n"
    for name, raw in (
        ("plain.txt", text.encode()),
        ("small.txt.xz", xz(text)),
        ("windows.txt", text.replace("\n", "\r\n").encode()),
        ("old-mac.txt", text.replace("\n", "\r").encode()),
        ("bom.txt", b"\xef\xbb\xbf" + text.encode()),
    ):
        (tmp_path / name).write_bytes(raw)
        assert read_text(tmp_path / name) == text, name


# -- the table of sources ------------------------------------------


def test_weights_follow_the_tier_language_and_split(tmp_path):
    table = tmp_path / "SOURCES.tsv"
    table.write_text(
        "title\tlang\tsplit\ttier\nA\ten\ttrain\t0\nB\tit\ttrain\t1\n"
        "C\ten\ttrain\t2\nD\ten\tvalid\t1\nE\ten\ttrain\t1\n"
    )
    assert tier_weights(table, "en") == [1.5, 1.0, 2.5]
    assert tier_weights(table, "it") == [2.5]
    assert tier_weights(table, "en", "valid") == [2.5]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "title\tlang\ttier\nA\ten\t0\n",
        "lang\tsplit\ttier\nen\ttrain\tnine\n",
        "lang\tsplit\ttier\nen\ttrain\t9\n",
        "lang\tsplit\ttier\nen\ttrain\n",
    ],
)
def test_a_table_that_is_none_is_named(tmp_path, content):
    if content is not None:
        (tmp_path / "SOURCES.tsv").write_text(content)
    with pytest.raises(ValueError, match=r"^SOURCES.tsv: "):
        tier_weights(tmp_path / "SOURCES.tsv", "en")


# -- tokens ------------------------------------------


def test_every_document_begins_with_bos_and_none_is_lost(tokenizer):
    documents = ["la casa\n\nil mare", "the house", "e"]
    made = tokenise("it", DOCUMENT_BREAK.join(documents), tokenizer, [1.0, 2.0, 1.0])
    assert made.tokens.dtype == np.uint16
    assert len(made.starts) == 4 and made.starts[-1] == len(made.tokens)
    for document, low, high in zip(documents, made.starts, made.starts[1:], strict=False):
        assert made.tokens[low] == BOS_ID
        assert tokenizer.decode(made.tokens[low + 1 : high]) == document.encode()
    lengths = np.diff(made.starts) * [1, 2, 1]
    assert made.chance == pytest.approx(lengths / lengths.sum())


def test_weights_must_be_one_a_document(tokenizer):
    with pytest.raises(ValueError, match="it: has 2 documents, but the sources list 3"):
        tokenise("it", f"la casa{DOCUMENT_BREAK}il mare", tokenizer, [1.0, 1.0, 1.0])


def test_tokenising_tells_how_far_it_is(tokenizer):
    seen: list[tuple[int, int]] = []
    tokenise("it", f"a{DOCUMENT_BREAK}b", tokenizer, progress=lambda *at: seen.append(at))
    assert seen == [(1, 2), (2, 2)]


# -- windows ------------------------------------------


def test_windows_are_pieces_of_the_stream_as_often_as_the_weights_say():
    """A document of equal length and three times the weight is drawn three times as often."""
    source = stream([1000, 1000, 500], [1.0, 3.0, 1.0])
    windows = source.windows(np.random.default_rng(0), 9000, 8)
    assert windows.shape == (9000, 8) and windows.dtype == np.int64
    assert (np.diff(windows, axis=1) == 1).all()
    counts = np.histogram(windows[:, 0], bins=[0, 1000, 2000, 2501])[0] / 9000
    # 1000 : 3000 : 500 of 4500; four standard errors are below 0.021
    assert counts == pytest.approx([0.2222, 0.6667, 0.1111], abs=0.021)
    within = windows[(windows[:, 0] >= 1000) & (windows[:, 0] < 2000), 0]
    assert np.histogram(within, bins=4, range=(1000, 2000))[0] / len(within) == pytest.approx(
        [0.25] * 4, abs=0.03
    )


def test_the_last_tokens_are_reached_and_never_passed():
    source = stream([30], [1.0])
    windows = source.windows(np.random.default_rng(1), 500, 10)
    assert windows.min() == 0 and windows.max() == 29
    assert source.windows(np.random.default_rng(1), 3, 30).tolist() == [list(range(30))] * 3


def test_the_same_generator_draws_the_same_windows():
    source = stream([100, 50], [1.0, 2.0])
    one, two, other = (source.windows(np.random.default_rng(s), 20, 5) for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_blocks_lie_side_by_side_and_are_thinned_evenly():
    source = stream([103], [1.0])
    assert source.blocks(10).tolist() == np.arange(100).reshape(10, 10).tolist()
    assert source.blocks(10, most=10).shape == (10, 10)
    assert source.blocks(10, most=4)[:, 0].tolist() == [0, 30, 60, 90]


def test_too_little_text_is_named_with_what_is_needed():
    source = stream([9], [1.0])
    for ask in (
        lambda: source.blocks(10),
        lambda: source.windows(np.random.default_rng(0), 2, 10),
        lambda: source.check_holds(10),
    ):
        with pytest.raises(ValueError, match="numbers: gives 9 tokens; at least 10 are needed"):
            ask()


# -- holding text out ------------------------------------------


def test_the_end_is_held_out_at_a_line():
    text = "\n".join(f"line {i} of the text" for i in range(1000))
    train, valid = split_off(text)
    assert train + valid == text
    assert valid.startswith("\n")
    assert len(valid) / len(text) == pytest.approx(0.02, abs=0.002)


@pytest.mark.parametrize("text", ["Title\n" + "word " * 4000, "word " * 4000])
def test_a_text_of_one_line_is_not_held_out_whole(text):
    train, valid = split_off(text)
    assert train + valid == text
    assert 0.01 < len(valid) / len(text) <= 0.041
