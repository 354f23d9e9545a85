import csv
import dataclasses
import io
import json
import re
import shlex

import numpy as np
import pytest

from andrea import __main__ as terminal
from andrea import cli
from andrea.requests import AttentionRequest, LensMapRequest, ModelRequest, TraceRequest
from app import export, i18n
from app.figures.lens import rank_curve
from app.readings import voice
from tests.app.journey import FRESH, LIGHT, NASTY, attended, overflowed, traced

REQUESTS = [
    TraceRequest("C'era una volta un re che aveva", position=8),
    TraceRequest(NASTY, FRESH),
    TraceRequest("-x --json", ModelRequest(norm="post", residual=False)),
    TraceRequest('say "hi" `ls` $HOME\n!! \\', ModelRequest("andrea-120m", 7, n_layer=3), 0),
    TraceRequest(" "),
    AttentionRequest("un re", FRESH, 1),
    AttentionRequest("un re"),
    LensMapRequest("un re", ModelRequest("andrea-12m", 5, "none")),
]


def rows_of(data: bytes) -> list[dict[str, str]]:
    lines = [line for line in data.decode().split("\n") if not line.startswith("# ")]
    return list(csv.DictReader(io.StringIO("\n".join(lines))))


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r.text[:12])
def test_the_command_asks_the_same_question(request_):
    words = shlex.split(export.command(request_))
    assert words[:3] == ["python", "-m", "andrea"]
    args = terminal.build_parser().parse_args(words[3:])
    assert args.json and args.text == request_.text
    assert cli.model_request(args) == request_.model
    if isinstance(request_, TraceRequest):
        assert args.position == request_.position
    if isinstance(request_, AttentionRequest):
        assert args.layer - 1 == request_.layer


def test_the_command_is_short_where_it_can_be():
    assert export.command(REQUESTS[0]) == (
        'python -m andrea trace "C\'era una volta un re che aveva" --model andrea-mini '
        "--position 8 --json"
    )
    # A seed decides nothing for trained weights.
    assert "--seed" not in export.command(TraceRequest("a", ModelRequest(seed=4)))


def test_the_trace_comes_back_to_the_bit():
    result = traced()
    found: dict[str, dict[tuple[int, ...], str]] = {}
    for row in rows_of(export.trace_csv(result)):
        index = tuple(int(row[k]) for k in ("i", "j") if row[k])
        found.setdefault(row["name"], {})[index] = row["value"]
    for name, array in [
        *result.activations.items(),
        ("lens_probs", result.lens_probs),
        ("lens_rank", result.lens_rank),
    ]:
        values = found[name]
        assert len(values) == array.size
        back = np.array([float(values[index]) for index in np.ndindex(array.shape)])
        np.testing.assert_array_equal(back.astype(array.dtype), array.ravel())
    assert found["token_log_probs"][(0,)] == "NaN"


def test_the_header_says_how_to_make_it_again():
    result = traced()
    text = export.trace_csv(result).decode()
    head = [line for line in text.splitlines() if line.startswith("# ")]
    assert f"# command: {export.command(result.request)}" in head
    assert f"# weights_sha256: {result.provenance.weights_sha256}" in head
    assert "# seed: 3" in head and f"# date: {result.provenance.date}" in head
    settings = next(line for line in head if line.startswith("# settings: "))
    assert json.loads(settings.removeprefix("# settings: "))["n_layer"] == 2


def test_a_text_of_several_lines_stays_inside_the_header():
    result = dataclasses.replace(traced(), request=TraceRequest("a\n=cmd()\u2028b\r\x00c", FRESH))
    lines = export.lens_csv(result).decode().splitlines()
    until = lines.index(next(line for line in lines if line.startswith("stream,")))
    assert all(line.startswith("# ") for line in lines[:until])


def test_the_lens_as_csv():
    result = traced()
    rows = rows_of(export.lens_csv(result))
    assert len(rows) == 5 * 5
    assert [int(r["id"]) for r in rows] == result.lens_ids.ravel().tolist()
    assert [np.float32(r["probability"]) for r in rows] == result.lens_probs.ravel().tolist()


def test_attention_as_csv_leaves_the_masked_pairs_out():
    result = attended()
    n = len(result.labels)
    rows = rows_of(export.attention_csv(result))
    assert len(rows) == 12 * n * (n + 1) // 2
    for row in rows[:: len(rows) // 50]:
        place = tuple(int(row[k]) for k in ("query_pos", "key_pos"))
        assert np.float32(row["pattern"]) == result.pattern[(int(row["head"]) - 1, *place)]
        assert row["block"] == "2"


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("=1+1", '"\'=1+1"'),
        (" -x", '"\' -x"'),
        ("@a", '"\'@a"'),
        ("+", '"\'+"'),
        ("\t=a", '"\'\t=a"'),
        ('say "x", y', '"say ""x"", y"'),
        ("re", '"re"'),
    ],
)
def test_no_label_is_a_formula(label, written):
    assert export.cell(label) == written


def test_numbers_that_are_none_are_written_as_the_terminal_writes_them():
    text = export.trace_csv(overflowed(-np.inf)).decode()
    assert "blocks.0.resid_post,0,,,-Infinity" in text and "inf," not in text


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_page_stands_alone(lang):
    result = traced()
    command = export.command(result.request)
    with i18n.use_language(lang):
        fig = rank_curve(result, LIGHT, voice())
        page = export.figure_html(fig, "<Title> & more", result.provenance, command).decode()
    assert f'<html lang="{lang}">' in page and "default-src 'none'" in page
    assert "<title>&lt;Title&gt; &amp; more</title>" in page
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert result.provenance.weights_sha256 in page
    assert "&lt;b&gt;x" in page and "<b>x" not in page  # the text, in the command and the figure
    assert ("Impostazioni" if lang == "it" else "Settings") in page
