"""The sentences on values in the address that could not be used as they came."""

from __future__ import annotations

from app import i18n
from app.i18n import N_, _

MAX_SHOWN = 40  # characters of a wrong value

# Everything that a shared link writes out, in this order, and what each is called on the page.
NAMES: dict[str, str] = {
    "lang": N_("language"),
    "text": N_("text"),
    "model": N_("model"),
    "seed": N_("seed"),
    "norm": N_("LayerNorm"),
    "residual": N_("residual"),
    "depth": N_("blocks"),
    "pos": N_("token"),
    "at": N_("station"),
    "guide": N_("guided setting"),
    "init": N_("initialisation"),
    "layers": N_("blocks"),
    "width": N_("width"),
    "seeds": N_("seeds"),
    "words": N_("real text"),
    "kind": N_("weights"),
    "change": N_("what is changed"),
    "block": N_("block"),
    "race.arms": N_("variants"),
    "race.lr": N_("learning rate"),
    "race.warmup": N_("warmup steps"),
    "race.blocks": N_("blocks"),
    "race.width": N_("width"),
    "race.steps": N_("steps"),
    "race.seed": N_("seed"),
    "compare": N_("comparison"),
    "preset": N_("model"),
    "n_layer": N_("blocks"),
    "d_model": N_("width"),
    "n_head": N_("heads"),
    "expansion": N_("expansion of the MLP"),
    "vocab_size": N_("vocabulary"),
    "n_ctx": N_("context"),
    "bias": N_("biases"),
    "tied": N_("tied embeddings"),
    "affine": N_("γ and β in the LayerNorms"),
    "into": N_("part of the map"),
    "layer": N_("block"),
    "ln": N_("which LayerNorm"),
    "gscale": N_("factor of γ"),
    "bshift": N_("shift of β"),
    "eps": N_("ε"),
    "learned": N_("the model's own γ and β"),
    "other": N_("the other token"),
    "factor": N_("factor"),
    "fresh": N_("seed of the fresh weights"),
    "over": N_("numbers in the histogram"),
    "act": N_("activation"),
    "x": N_("place of the point"),
}


def name(key: str) -> str:
    """Return what a parameter of the address is called, in the visitor's language."""
    if key.startswith("arm."):
        return _("variant")
    plain = key.removeprefix("b.")  # the second of two configurations
    return _(NAMES[plain]) if plain in NAMES else key


def sentence(key: str, raw: str, used: object, max_chars: int) -> str:
    """Return what the visitor should know.

    Parameters
    ----------
    key
        The parameter's name in the address.
    raw
        What it said; for ``text``, how many characters the text had.
    used
        What holds instead.
    max_chars
        How many characters of a text are kept.
    """
    if key == "text":
        return _(
            "The text had {typed} characters: the first {kept} are kept, the rest was cut."
        ).format(typed=i18n.integer(int(raw)), kept=i18n.integer(max_chars))
    return _(
        "The address asked for {parameter} = “{value}” ({name}), which is not possible here: "
        "{used} is used."
    ).format(
        parameter=key,
        value=raw if len(raw) <= MAX_SHOWN else raw[:MAX_SHOWN] + "…",
        name=name(key),
        used=_spelled(used, key),
    )


def _spelled(value: object, key: str) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if key == "pos" and value == -1:
        return _("the last one")
    if isinstance(value, float):
        return i18n.number(value, len(f"{value:g}".partition(".")[2]))
    return i18n.integer(value) if isinstance(value, int) else str(value)
