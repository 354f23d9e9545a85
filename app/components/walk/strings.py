"""Every text of the walk, in the language in force. ``{name}`` is filled in the browser."""

from __future__ import annotations

from app.components.walk.sentences import formulas, sentences
from app.i18n import _


def strings() -> dict[str, str]:
    """Return all texts by the keys that the walk's JavaScript uses."""
    return {
        **frame(),
        **station_names(),
        **strip_names(),
        **formulas(),
        **sentences(),
        **end_of_walk(),
    }


def frame() -> dict[str, str]:
    """Tower, diagram, transport, numbers in words."""
    return {
        "nan": _("not a number (NaN)"),
        "infinity": _("infinity"),
        "minus_infinity": _("minus infinity"),
        "zero": _("zero"),
        "percent": _("{n}%"),
        "percent_below": _("under {n}%"),
        "tower_title": _("The {n} blocks"),
        "tower_title_one": _("The only block"),
        "tower_label": _("Blocks, the first at the bottom"),
        "tower_embed": _("Before the first block"),
        "tower_block": _("Block {block}"),
        "tower_row": _(
            "{name}: norm of the stream {norm}; the lens reads {word} here; the final answer has "
            "rank {rank}"
        ),
        "tower_note": _(
            "Bar: norm of the stream. Word: what the model would say here (the lens). Number: rank "
            "of the final answer {token}, ▲ nearer, ▼ further."
        ),
        "block_title": _("Block {block}"),
        "diagram_label": _("Diagram of block {block}: choose a station"),
        "stream": _("residual stream"),
        "stream_cut": _("no residual: stream cut"),
        "n_heads": _("{n} heads"),
        "from_block": _("from block {block}"),
        "to_block": _("to block {block}"),
        "foot_token": _("token"),
        "foot_position": _("position"),
        "node_ln1": "LayerNorm",
        "node_qkv": "Q · K · V",
        "node_pattern": _("attention"),
        "node_attn_out": _("projection"),
        "node_ln2": "LayerNorm",
        "node_mlp_pre": _("expand ×{ratio}"),
        "node_mlp_out": _("contract"),
        "node_ln_final": "LayerNorm",
        "node_logits": "logits",
        "button_first": _("First station"),
        "button_prev": _("Previous station"),
        "button_next": _("Next station"),
        "button_last": _("Last station"),
        "play": _("Play"),
        "pause": _("Pause"),
        "slider_station": _("Station"),
        "slider_block": _("Block"),
        "station_of": _("station {n} of {all}"),
        "block_of": _("block {n} of {all}"),
        "keys": _("{left} {right} station · {up} {down} block · {space} play, pause"),
        "space_key": _("space"),
        "save_svg": _("Download this picture (SVG)"),
        "bytes": _(
            "All of this token's numbers came at once: {kb} kB. Stepping asks nothing more of the "
            "server."
        ),
        "halved": _("To fit, these travelled in half precision and show three digits: {names}."),
        "picture_title": _("Block {block}, token {token}"),
        "where_block": _("block {block} · token {token}, position {position}"),
        "where_outside": _("token {token}, position {position}"),
    }


def station_names() -> dict[str, str]:
    """What each station is called."""
    return {
        "station_embed": _("Token and position"),
        "station_ln1": _("First LayerNorm"),
        "station_qkv": _("Query, key, value"),
        "station_pattern": _("Who reads whom"),
        "station_attn_out": _("Values gathered, then projected"),
        "station_resid_mid": _("First addition"),
        "station_replace_1": _("First replacement"),
        "station_ln2": _("Second LayerNorm"),
        "station_mlp_pre": _("Expansion"),
        "station_gelu": _("GELU: which units fire"),
        "station_relu": _("ReLU: which units fire"),
        "station_mlp_out": _("Contraction"),
        "station_resid_post": _("Second addition"),
        "station_replace_2": _("Second replacement"),
        "station_ln_final": _("Final LayerNorm"),
        "station_logits": _("Logits: the next token"),
    }


def strip_names() -> dict[str, str]:
    """Labels of the strips, of their cells and of the four numbers."""
    return {
        "strip_label": _("{label}, {name}: arrow keys move from cell to cell, Escape leaves"),
        "strip_token": _("token {token}"),
        "strip_position": _("+ position {position}"),
        "strip_sum": _("= into block 1"),
        "strip_before": _("before"),
        "strip_normalized": _("mean 0, variance 1"),
        "strip_scaled": _("× gamma + beta"),
        "strip_delta": _("+ correction"),
        "strip_after": _("= after"),
        "strip_dropped": _("before"),
        "strip_branch": _("output of the branch"),
        "strip_q": _("q: what I look for"),
        "strip_k": _("k: what I offer"),
        "strip_v": _("v: what I hand over"),
        "strip_scores": _("scores"),
        "strip_pattern": _("pattern: each row sums to 1"),
        "strip_z": _("z: values gathered"),
        "strip_attn_out": _("correction from attention"),
        "strip_read": _("what the MLP reads"),
        "strip_pre": _("after the expansion"),
        "strip_pre_short": _("before"),
        "strip_post": _("after {f}"),
        "strip_units": _("the units"),
        "strip_mlp_out": _("correction from the MLP"),
        "strip_logits": _("one logit for each vocabulary entry"),
        "norm_is": _("{short} · norm {value}"),
        "cell_component": _("component {i}: {value}"),
        "cell_head": _("head {head}, component {i}: {value}"),
        "cell_score": _("head {head}, {key} (position {j}): {value}"),
        "cell_share": _("head {head}, {key} (position {j}): {value}"),
        "cell_logit": _("{token}: {value}"),
        "scale_same": _("Same colours in all strips, up to ±{max}; square-root ramp."),
        "scale_own": _("Each strip has its own colour scale; square-root ramp."),
        "row_is_head": _("One row per head."),
        "row_is_head_keys": _(
            "One row per head, one column per token; BOS, position 0, comes first."
        ),
        "row_is_head_z": _("In z, one row per head."),
        "stat_shape": _("shape"),
        "stat_mean": _("mean"),
        "stat_std": _("std. dev."),
        "stat_norm": _("norm"),
        "stat_error": _("largest error"),
        "head": _("head"),
        "head_button": _("Head {head}"),
        "heads_group": _("Heads"),
        "key_title": _("position {j}"),
        "curve_label": _("{f}: input across, output upwards, the unit in hand as a dot"),
        "curve_note": _("The dot is the unit in hand; the grey bars count all the units by input."),
    }


def end_of_walk() -> dict[str, str]:
    """The last station: probabilities, temperature, going on."""
    return {
        "temperature": _("temperature"),
        "token_number": _("token {id}"),
        "take": _("take"),
        "take_title": _("Take {token} and go on"),
        "take_not": _(
            "not possible: it is only a part of a character, or the tokenizer would cut the "
            "letters before it differently"
        ),
        "take_closed": _("not possible here"),
        "draw_one": _("Draw one at random and go on"),
        "draw_note": _(
            "A full bar is {roof}. The draw is among the {n} likeliest tokens, which share {share} "
            "of the probability at this temperature."
        ),
    }
