"""What Follow a token says in words: notices on the text, and the answer to the prediction."""

from __future__ import annotations

import math

import numpy as np

from andrea.measures.trace import TraceResult
from app.i18n import _, integer, ngettext, number, percent
from app.readings import sublayer

MOST_CUT_SHOWN = 60


def fold_notice(result: TraceResult) -> str | None:
    """Return one line that says which characters were read as others, or None."""
    folds = result.tokens.folds
    if not folds:
        return None
    listed = ", ".join(f"{fold.before} → {fold.after} ({fold.count}×)" for fold in folds)
    return _(
        "The model learned from plain typography, so some characters were read as others: "
    ) + (f"{listed}.")


def cut_notice(result: TraceResult) -> str | None:
    """Return one line that says which part of a long text was left out, or None."""
    tokens = result.tokens
    kept = len(tokens.pieces) - 1
    if tokens.n_tokens_typed <= kept:
        return None
    rest = result.request.text[tokens.n_chars_used :].strip()
    shown = rest[:MOST_CUT_SHOWN] + ("…" if len(rest) > MOST_CUT_SHOWN else "")
    return _(
        "The text has {typed} tokens; the first {kept} are followed. Left out, from: “{cut}”"
    ).format(typed=integer(tokens.n_tokens_typed), kept=integer(kept), cut=shown)


def corrections(result: TraceResult) -> list[tuple[float, float]]:
    """Return, for each sublayer in order, (|delta| / |stream before|, angle it turns in degrees).

    The angle lies between the stream before and after the sublayer. A stream of zeros gives NaN.
    """
    found = []
    n_layer = result.provenance.config["n_layer"]
    for i in range(n_layer):
        for before, delta, after in (
            ("resid_pre", "attn_out", "resid_mid"),
            ("resid_mid", "mlp_out", "resid_post"),
        ):
            x, d, y = (
                result.activations[f"blocks.{i}.{name}"].astype(np.float64)
                for name in (before, delta, after)
            )
            size, end = float(np.linalg.norm(x)), float(np.linalg.norm(y))
            share = float(np.linalg.norm(d)) / size if size > 0 else math.nan
            cosine = float(x @ y) / (size * end) if size > 0 and end > 0 else math.nan
            found.append((share, math.degrees(math.acos(min(1.0, max(-1.0, cosine))))))
    return found


def prediction_reading(result: TraceResult) -> str:
    """Return the answer to "replace it or add to it, and how much?" from the measured numbers."""
    config = result.provenance.config
    found = corrections(result)
    shares = np.array([share for share, _angle in found])
    angles = np.array([angle for _share, angle in found])
    if not np.isfinite(shares).all():
        return _("There is no answer here: at some place the vector is zero or no longer finite.")
    if not config["residual"]:
        return _(
            "Here it replaces it: the residual is off, so what comes out of a branch is all that "
            "is left. After the first sublayer the vector has turned by {angle}° from what it was."
        ).format(angle=number(angles[0], 0))
    n = len(found)
    return ngettext(
        "It adds to it. Over {n} sublayer the correction is {median} of the vector it is added to "
        "and turns it by {turn}°; the largest comes from {most} ({large}), the smallest from "
        "{least} ({small}).",
        "It adds to it. Over {n} sublayers the median correction is {median} of the vector it is "
        "added to, and the median turn {turn}°; the largest comes from {most} ({large}), the "
        "smallest from {least} ({small}).",
        n,
    ).format(
        n=integer(n),
        median=percent(float(np.median(shares))),
        turn=number(float(np.median(angles)), 0),
        most=sublayer(int(shares.argmax()) + 1),
        large=percent(float(shares.max())),
        least=sublayer(int(shares.argmin()) + 1),
        small=percent(float(shares.min())),
    )
