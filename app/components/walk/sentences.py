"""The walk's formulas with this token's numbers, and the one sentence made from them.

Formulas that are the same in every language stand as they are.
"""

from __future__ import annotations

from app.i18n import _


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
        "f_gelu": "GELU(u) = u · Φ(u),  Φ(u) ≈ ½ (1 + tanh(√(2/π) (u + {c} u³)))",
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
            "Mean {mean} and deviation {std} become 0 and, but for epsilon, 1 (variance "
            "{var}). The branch reads this copy; the stream itself stays as it is."
        ),
        "say_norm_post": _(
            "Mean {mean} and deviation {std} become 0 and, but for epsilon, 1 (variance "
            "{var}). In post-norm this stands on the stream: what goes on is the normalised "
            "vector, norm {norm}."
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
        "quoted": _("“{label}”"),
        "say_pattern": _("Head {head} gives {share} of its attention to “{key}” (position {j})."),
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
            "of the sum of squares; the negative ones stay near zero, never below −0.17."
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
