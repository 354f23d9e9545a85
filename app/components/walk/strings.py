"""Every text of the walk, in the language in force. ``{name}`` is filled in the browser.

Formulas that are the same in every language stand as they are.
"""

from __future__ import annotations

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
            "All of this token's numbers came once: {kb} KB. Stepping asks nothing of the server."
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
        "row_is_head": _("One row a head."),
        "row_is_head_keys": _("One row a head, one column a token; BOS, position 0, comes first."),
        "row_is_head_z": _("In z, one row a head."),
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


def formulas() -> dict[str, str]:
    """The formulas, in letters and with this token's numbers."""
    return {
        "f_embed": "x = wte[{id}] + wpe[{position}]",
        "f_component_sum": _("component {i}: {a} + {b} = {c}"),
        "f_norm": "x̂ = (x − mean) / √(var + ε),  y = γ · x̂ + β",
        "f_norm_numbers": _("component {i}: ({x} − {mean}) / √({var} + {eps}) = {y}"),
        "f_affine": "{g} · {x} + {b} = {y}",
        "f_qkv": "q = {x} W_Q + b_Q,  k = {x} W_K + b_K,  v = {x} W_V + b_V",
        "f_qkv_numbers": _("head {head}, component {i}: q = {q}, k = {k}, v = {v}"),
        "f_self_score": _("with itself: q · k / √{width} = {dot} / {root} = {score}"),
        "f_score": "score = q · k / √d_head,  pattern = softmax(score)",
        "f_score_numbers": _("head {head} reads {key}: {dot} / {root} = {score}"),
        "f_softmax": _("e{power} / (the same summed over all {n}) = {e} / {total} = {p}"),
        "f_z": "z = Σ pattern · v,  attn_out = z W_O + b_O",
        "f_z_numbers": _(
            "head {head}, component {i}: {p} · {v} (itself) + {rest} (the {n} before) = {z}"
        ),
        "f_z_alone": _("head {head}, component {i}: {p} · {v} (itself) = {z}"),
        "f_project": _("component {i} of the correction: {n} products and a bias make {out}"),
        "f_add": "x ← x + {branch}",
        "f_replace": "x ← {branch}",
        "f_component_replace": _("component {i}: {a} is dropped, {b} takes its place: {c}"),
        "f_expand": "u = {x} W₁ + b₁",
        "f_expand_numbers": _("unit {i}: {n} products and a bias make {u}"),
        "f_gelu": "GELU(u) = u · Φ(u),  Φ(u) ≈ ½ (1 + tanh(√(2/π) (u + 0.044715 u³)))",
        "f_gelu_exact": "GELU(u) = u · Φ(u),  Φ(u) = ½ (1 + erf(u / √2))",
        "f_gelu_numbers": _("unit {i}: {u} · {phi} = {y}"),
        "f_relu": "ReLU(u) = max(0, u)",
        "f_relu_numbers": _("unit {i}: max(0, {u}) = {y}"),
        "f_contract": "mlp_out = GELU(u) W₂ + b₂",
        "f_contract_numbers": _("component {i}: {n} products and a bias make {y}"),
        "f_logit": "logit = LayerNorm(x) · wte[token],  p = softmax(logit / T)",
        "f_logit_plain": "logit = x · wte[token],  p = softmax(logit / T)",
        "f_logit_numbers": _("{token}: logit {z}"),
        "f_softmax_logits": "e{power} / {total} = {p}",
    }


def sentences() -> dict[str, str]:
    """One sentence a station, made from its numbers."""
    return {
        "say_strange": _(
            "{bad} of {all} numbers are not finite (NaN or infinite): the values have grown beyond "
            "what float32 can hold. This is a result, not a fault of the page."
        ),
        "say_all_zero": _(
            "All {all} numbers are zero: too small for float32. This is a result, not a fault of "
            "the page."
        ),
        "say_embed": _(
            "The vector of {token} (norm {a}) and that of its position (norm {b}) add up to what "
            "enters block 1 (norm {c})."
        ),
        "say_embed_bos": _(
            "BOS stands before every text, at position 0: its vector (norm {a}) and that of the "
            "position (norm {b}) add up to norm {c}."
        ),
        "say_norm_pre": _(
            "Mean {mean} and deviation {std} become 0 and 1 (variance {var}, a hair below 1 "
            "because of epsilon). The branch reads this copy; the stream itself stays as it is."
        ),
        "say_norm_post": _(
            "Mean {mean} and deviation {std} become 0 and 1 (variance {var}). In post-norm this "
            "stands on the stream: what goes on is the normalised vector, norm {norm}."
        ),
        "say_norm_final": _(
            "One last time mean {mean} and deviation {std} become 0 and 1; gamma and beta bring "
            "the norm to {norm}, and the vocabulary is read from that."
        ),
        "say_qkv": _(
            "{heads} heads, {width} numbers each: the query says what a head looks for, the key "
            "what this token offers, the value what it hands over. The longest query is that of "
            "head {head} (norm {norm})."
        ),
        "say_pattern": _("Head {head} gives {share} of its attention to «{key}» (position {j})."),
        "say_pattern_to_bos": _(
            "Head {head} gives {share} of its attention to BOS, the start of the text: often a "
            "way of reading nothing in particular."
        ),
        "say_pattern_self": _("Head {head} gives {share} of its attention to the token itself."),
        "say_pattern_all": _("Heads that read BOS most: {n} of {heads}."),
        "say_pattern_bos": _(
            "BOS has nobody before it: all {heads} heads can only read BOS itself, with weight 1."
        ),
        "say_attn_out": _(
            "The {heads} heads have gathered a vector of norm {z}; the projection turns it into "
            "the correction that attention proposes, norm {out}."
        ),
        "say_add_small": _(
            "The correction is only {share} of the stream and turns it by {angle}: a light touch."
        ),
        "say_add": _(
            "The correction is {share} of the stream and turns it by {angle}: the block adds, it "
            "does not replace."
        ),
        "say_add_large": _(
            "The correction is {share} of the stream, larger than the stream itself, and turns it "
            "by {angle}: it is still an addition, but it rewrites much."
        ),
        "say_add_from_zero": _(
            "The stream was zero here: after the addition it is the correction alone, norm {b}."
        ),
        "say_replace": _(
            "Without the residual the stream (norm {a}) is thrown away: what goes on is the "
            "branch's output alone, norm {b}, turned by {angle}."
        ),
        "say_mlp_pre": _(
            "{d} numbers become {m}, {ratio} times as many. {n} of them are positive ({share})."
        ),
        "say_gelu": _(
            "Positive units: {n} of {m} ({share}). The strongest {tenth}, one in ten, carry {top} "
            "of the sum of squares; the others stay near zero, never below −0.17."
        ),
        "say_relu": _(
            "Units that fire: {n} of {m} ({share}); the others are exactly zero. The strongest "
            "{tenth}, one in ten, carry {top} of the sum of squares."
        ),
        "say_mlp_out": _(
            "{m} units are summed back into {d} numbers: the correction that the MLP proposes, "
            "norm {norm}, for a stream of norm {before}."
        ),
        "say_logits": _(
            "The model's first choice is {token} with {p}. It is as uncertain as somebody choosing "
            "among {n} equally likely tokens."
        ),
    }


def end_of_walk() -> dict[str, str]:
    """The last station: probabilities, temperature, going on."""
    return {
        "temperature": _("temperature"),
        "token_number": _("token {id}"),
        "take": _("take"),
        "take_title": _("Take {token} and go on"),
        "take_not": _("only a part of a character: it cannot be added by itself"),
        "take_closed": _("not possible here"),
        "draw_one": _("Draw one at random and go on"),
        "draw_note": _(
            "A full bar is {roof}. The draw is among the {n} likeliest tokens, which share {share} "
            "of the probability at this temperature."
        ),
    }
