"""The tokenizer: nothing is lost, nothing is unknown, and every token knows where it stands."""

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from andrea.tokenizer import (
    BOS_ID,
    BOS_TEXT,
    FIRST_MERGE_ID,
    FOLDS,
    N_BYTES,
    VOCAB_SIZE,
    Fold,
    Piece,
    TextTokenizer,
    changes,
    train_tokenizer,
)

WEIGHTS = Path(__file__).parents[1] / "andrea" / "weights"

# What people paste: emoji and their joiners, right-to-left text, controls, marks in every order,
# letters that Unicode composes or takes apart, our own markers.
FRAGMENTS = [
    "Il gatto dorme.",
    " dell'uomo",
    "don't",
    "perché",
    "perche\u0301",
    "“Ciao”",
    "‘l’amore’",
    "«così»",
    "…",
    "a\u00a0b",
    "\u2000",
    "–—―",
    "🐈",
    "👩\u200d🚀",
    "🏳️\u200d🌈",
    "🇮🇹",
    "עברית",
    "مرحبا",
    "\u202e\u202c",
    "\x00\x07\x1b[31m",
    "\r\n",
    "\t \n\n ",
    "<bos>",
    "<|endoftext|>",
    "<b>&amp;</b>",
    "\u1100\u1161\u11a8",
    "\u0958",
    "\u212b",
    "e\u0316\u0301",
    "\u0301",
    "\ufeff",
    "\ufffd",
    "日本語",
    "1234567",
    "´`\u0300",
]
texts = st.one_of(
    st.text(max_size=40),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=12).map("".join),
)
thorough = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(WEIGHTS / "tokenizer.json")


@pytest.fixture(scope="module")
def small(tokenizer) -> TextTokenizer:
    return tokenizer.truncated(4353)


# -- the vocabulary ------------------------------------------------------------------------------


def test_exactly_8449_entries_bytes_then_bos_then_merges(tokenizer):
    assert tokenizer.vocab_size == VOCAB_SIZE == 8449 == 256 + 1 + 8192
    assert [tokenizer.piece(i).bytes for i in range(N_BYTES)] == [bytes([i]) for i in range(256)]
    assert tokenizer.piece(BOS_ID) == Piece(256, 0, 0, b"", "")
    assert tokenizer.piece(BOS_ID).label == BOS_TEXT
    merges = [tokenizer.piece(i).bytes for i in range(FIRST_MERGE_ID, VOCAB_SIZE)]
    assert all(len(b) > 1 for b in merges)
    assert len({*merges}) == len(merges) == 8192


def test_a_merge_joins_two_entries_that_stand_before_it(tokenizer):
    """Hence any prefix of the vocabulary is a vocabulary."""
    place = {tokenizer.piece(i).bytes: i for i in range(VOCAB_SIZE) if i != BOS_ID}
    for i in range(FIRST_MERGE_ID, VOCAB_SIZE):
        raw = tokenizer.piece(i).bytes
        halves = [max(place.get(raw[:k], i), place.get(raw[k:], i)) for k in range(1, len(raw))]
        assert min(halves) < i, raw


def test_it_knows_both_languages(tokenizer):
    """Common words of both languages are one token: the merges come from real text."""
    for word in (" the", " little", " because", " che", " della", " perché", " bambino"):
        assert len(tokenizer.encode(word)) == 1, word


def test_labels_are_those_of_the_pieces(tokenizer):
    assert len(tokenizer.labels) == VOCAB_SIZE
    assert tokenizer.labels[BOS_ID] == BOS_TEXT
    assert tokenizer.labels[0x41] == "A"
    assert tokenizer.labels[0xE2] == "<E2>"
    assert not any("\ufffd" in label for label in tokenizer.labels)


# -- round trips ---------------------------------------------------------------------------------


@thorough
@given(text=texts)
@example(text="")
@example(text="<bos>")
@example(text="".join(FRAGMENTS))
def test_decoding_gives_the_folded_text_back_byte_for_byte(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == tokenizer.fold(text).encode()
    assert all(0 <= i < VOCAB_SIZE for i in ids)
    assert BOS_ID not in ids
    assert [BOS_ID, *ids] == [p.id for p in tokenizer.pieces(text)]


@thorough
@given(text=texts)
def test_folding_twice_changes_nothing_more(tokenizer, text):
    once = tokenizer.fold(text)
    assert tokenizer.fold(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not set(once) & set(FOLDS)
    assert changes(once) == []
    assert tokenizer.encode(once) == tokenizer.encode(text)


@thorough
@given(text=texts)
@example(text="e\u0301")
@example(text="\u0958")
@example(text="\u2000")
@example(text="\u1100\u1161")
def test_changes_are_told_exactly_when_there_are_some(tokenizer, text):
    told = changes(text)
    assert bool(told) == (tokenizer.fold(text) != text)
    assert all(change.count >= 1 and change.before != change.after for change in told)


@thorough
@given(text=texts)
def test_the_first_half_of_the_vocabulary_is_a_tokenizer_too(tokenizer, small, text):
    ids = small.encode(text)
    assert small.vocab_size == 4353
    assert all(i < 4353 for i in ids)
    assert small.decode(ids) == tokenizer.fold(text).encode()
    assert BOS_ID not in ids


def test_truncating_matters_and_has_its_limits(tokenizer):
    text = "The children were walking towards the lighthouse. Camminavano verso il faro."
    lengths = [len(tokenizer.truncated(n).encode(text)) for n in (257, 1000, 4353, 8449)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == len(text.encode()) > lengths[1] > lengths[3]
    assert tokenizer.truncated(50257) is tokenizer
    with pytest.raises(ValueError, match="vocab_size is 256: at least 257"):
        tokenizer.truncated(256)


def test_half_a_surrogate_pair_is_refused_by_its_place(tokenizer):
    for ask in (tokenizer.encode, tokenizer.pieces, tokenizer.fold):
        with pytest.raises(ValueError, match="half a character at position 2"):
            ask("ab\ud83d")


# -- where a token stands --------------------------------------------------------------------------


@thorough
@given(text=texts)
@example(text="a\u0301\u0300b")
@example(text="\u0301a")
@example(text="".join(FRAGMENTS))
def test_spans_cover_the_text_as_typed_in_order(tokenizer, text):
    bos, *pieces = tokenizer.pieces(text)
    assert (bos.id, bos.start, bos.end) == (BOS_ID, 0, 0)
    assert bool(pieces) == bool(text)
    reached = 0
    for before, piece in zip([bos, *pieces], pieces, strict=False):
        assert before.start <= piece.start <= reached  # in order and without a gap
        assert before.end <= piece.end
        assert piece.start < piece.end <= len(text)  # none is empty, none runs out of the text
        reached = piece.end
    assert reached == len(text)


@thorough
@given(text=texts.filter(lambda t: changes(t) == []))
def test_a_span_of_text_that_nothing_changed_is_the_token(tokenizer, text):
    for piece in tokenizer.pieces(text)[1:]:
        span = text[piece.start : piece.end]
        if piece.text is not None:
            assert span == piece.text
        else:  # bytes of characters that the span holds whole
            assert piece.bytes in span.encode()


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("perche\u0301 no", ["perche\u0301", " no"]),
        ("aspetta…", ["aspetta", "…"]),
        ("« ciao »", ["«", " ciao", " »"]),
        ("l’amore", ["l’", "amore"]),
    ],
)
def test_spans_of_folded_text_hold_what_was_typed(tokenizer, text, spans):
    found: list[str] = []
    for piece in tokenizer.pieces(text)[1:]:
        span = text[piece.start : piece.end]
        if not found or not found[-1].endswith(span):  # several tokens of one character
            found.append(span)
    assert "".join(found) == text
    boundaries = {len("".join(spans[:k])) for k in range(len(spans))}
    assert boundaries <= {p.start for p in tokenizer.pieces(text)}


def test_the_parts_of_one_character_are_bytes_that_share_its_span(tokenizer):
    parts = tokenizer.pieces("a🐈b")[2:-1]
    assert len(parts) > 1
    assert {(p.start, p.end) for p in parts} == {(1, 2)}
    assert b"".join(p.bytes for p in parts) == "🐈".encode()
    assert all(p.text is None and p.label == f"<{p.bytes.hex(' ').upper()}>" for p in parts)
    # Also where the character was typed as a letter and a mark.
    parts = tokenizer.truncated(257).pieces("xe\u0301y")[2:-1]
    assert [p.label for p in parts] == ["<C3>", "<A9>"]
    assert {(p.start, p.end) for p in parts} == {(1, 3)}


@thorough
@given(text=texts)
def test_no_label_ever_shows_a_replacement_mark(tokenizer, text):
    for piece in tokenizer.pieces(text):
        typed = "\ufffd" in text[piece.start : piece.end]
        assert typed or "\ufffd" not in piece.label
        if piece.text is not None:
            assert piece.text.encode() == piece.bytes


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (" dell'uomo", " dell'", "uomo"),
        (" l'isola", " l'", "isola"),
        (" un'altra", " un'", "altra"),
        (" c'era", " c'", "era"),
        (" l'est", " l'", "est"),  # an ending only counts at the end of a word
        (" dell’uomo", " dell'", "uomo"),
        (" don't", " don", "'t"),
        (" I'll", " I", "'ll"),
        (" she's", " she", "'s"),
        (" we're", " we", "'re"),
        (" they’ve", " they", "'ve"),
    ],
)
def test_elisions_keep_their_apostrophe_and_contractions_begin_with_it(
    tokenizer, text, first, second
):
    """A boundary stands between the two parts, and neither part loses its apostrophe."""
    pieces = tokenizer.pieces(text)[1:]
    assert "".join(p.text for p in pieces) == first + second
    assert len(first) in {p.start for p in pieces}
    assert pieces[0].text == first  # one token, learned as such


def test_capitals_are_cut_at_the_same_places(tokenizer):
    assert {len(" DON")} <= {p.start for p in tokenizer.pieces(" DON'T")}
    assert {len(" DELL'")} <= {p.start for p in tokenizer.pieces(" DELL'UOMO")}


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("l’amore", "l'amore"),
        ("“Ciao”, ‘disse’", "\"Ciao\", 'disse'"),
        ("«Ciao»", '"Ciao"'),
        ("‹Ciao›", "'Ciao'"),
        ("„Ciao‟", '"Ciao"'),
        ("aspetta…", "aspetta..."),
        ("pp. 3–5", "pp. 3—5"),
        ("e ― disse", "e — disse"),
        ("Lago‑Maggiore", "Lago-Maggiore"),
        ("10\u00a0km\u202f!", "10 km !"),
        ("perche\u0301", "perché"),
        ("citta`", "citta'"),
        ("5′ 3″", "5' 3\""),
        ("plain — text, 'straight' \"quotes\"...", "plain — text, 'straight' \"quotes\"..."),
    ],
)
def test_what_people_type_becomes_what_books_print(tokenizer, typed, read):
    assert tokenizer.fold(typed) == read
    assert tokenizer.encode(typed) == tokenizer.encode(read)


def test_the_shipped_tokenizer_folds_by_our_table(tokenizer):
    """Its file holds the table too; what we tell a visitor must be what it does."""
    for before, after in FOLDS.items():
        assert tokenizer.fold(before) == after
        assert changes(before) == [Fold(before, after, 1)]


def test_changes_name_what_was_changed_and_how_often():
    assert changes("plain 'text' — fine...") == []
    assert changes("l’amore e l’odio…") == [Fold("’", "'", 2), Fold("…", "...", 1)]
    assert changes("perche\u0301 e\u0300") == [Fold("◌\u0301", "NFC", 1), Fold("◌\u0300", "NFC", 1)]
    assert changes("\u212b") == [Fold("\u212b", "\u00c5", 1)]
    assert changes("a\u2000b") == [Fold("\u2000", " ", 1)]


def test_long_text_is_no_trouble(tokenizer):
    text = "Il gatto “dorme” sul tetto… " * 4000  # 112,000 characters
    assert tokenizer.decode(tokenizer.encode(text)) == tokenizer.fold(text).encode()
    assert {c.count for c in changes(text)} == {4000}


# -- learning one, saving one ----------------------------------------------------------------------


def test_learning_is_deterministic_and_lays_the_ids_out(tmp_path):
    words = [f"la casa numero {i} del paese, the house of the town\n" for i in range(200)]
    one, two = (train_tokenizer(words, 300) for _ in range(2))
    assert one.vocab_size == 300
    assert one.labels == two.labels
    assert one.piece(BOS_ID).bytes == b""
    assert len(one.piece(FIRST_MERGE_ID).bytes) == 2
    one.save(tmp_path / "tokenizer.json")
    back = TextTokenizer.load(tmp_path / "tokenizer.json")
    text = "la casa del paese “nuovo” 🐈"
    assert back.labels == one.labels
    assert back.pieces(text) == one.pieces(text)


@pytest.mark.parametrize(
    ("size", "complaint"), [(256, "at least 257"), (8449, "entries, 8449 are needed")]
)
def test_learning_refuses_what_cannot_be(size, complaint):
    with pytest.raises(ValueError, match=complaint):
        train_tokenizer(["too little text"], size)


def test_bos_cannot_be_learned_from_text_that_spells_it():
    learned = train_tokenizer(["<bos> <bos> bos <bos><bos>\n" * 50 + "abc abd abe abf\n" * 9], 262)
    assert BOS_ID not in learned.encode("<bos> bos<bos>")
    assert learned.decode(learned.encode("<bos>")) == b"<bos>"


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "{",
        "[]",
        '{"model": 3}',
        '{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}',
    ],
)
def test_a_file_that_is_no_tokenizer_is_named(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match="tokenizer.json"):
        TextTokenizer.load(path)
