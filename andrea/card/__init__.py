"""The model card: every number from ``evaluation.json``, every text from the table of sources.

``template.md`` holds the prose; here its blanks are filled. The two pictures and the full list of
sources are written beside the card.
"""

from __future__ import annotations

from importlib.resources import files as resources
from string import Template

from andrea.card import results, texts, training
from andrea.card.results import Document
from andrea.card.texts import Row, read_sources
from andrea.config import MAX_TOKENS

__all__ = ["files", "read_sources"]


def blanks(evaluation: Document, rows: list[Row], notes: str, picture: bool) -> dict[str, str]:
    """Return what fills each blank of the template."""
    config, lens, settings = evaluation["config"], evaluation["lens"], evaluation["settings"]
    languages, (n_works, works) = evaluation["languages"], texts.cc_by_works(rows)
    recipe = evaluation["made"].get("recipe", {})
    return {
        **{name: f"{value}" for name, value in config.items()},
        **{name: f"{value}" for name, value in settings.items()},
        "shape": f"width {config['d_model']}, {config['n_head']} heads",
        "n_parameters": f"{evaluation['n_parameters']:,}",
        "megabytes": f"{evaluation['weights_bytes'] / 1e6:.1f}",
        "bytes": f"{evaluation['weights_bytes']:,}",
        "n_merges": f"{config['vocab_size'] - 257:,}",
        "biases": "with biases" if config["bias"] else "without biases",
        "tying": "tied to the token embedding" if config["tie_embeddings"] else "a matrix apart",
        "weights_sha256": evaluation["weights_sha256"],
        "tokenizer_sha256": evaluation["tokenizer_sha256"],
        "date": evaluation["date"],
        "results": results.results_table(languages),
        "bar": results.bar_sentence(languages),
        "loss_picture": "![Loss while learning](loss.svg)" if picture else "",
        "lens_positions": str(lens["n_positions"]),
        "lens_context": str(lens["context"]),
        "lens_sentence": results.lens_sentence(lens),
        "lens_table": results.lens_table(lens),
        "samples": results.samples_tables(languages),
        "loops": results.loops_sentence(languages),
        "notes": notes,
        "data": texts.data_table(rows),
        "n_cc_by": str(n_works),
        "cc_by": works,
        "recipe": training.recipe_table(evaluation),
        "clip": str(recipe.get("clip", 1.0)),
        "command": training.command(evaluation),
        "study": training.study_section(evaluation["study"]),
        "shown": str(min(MAX_TOKENS, config["n_ctx"] - 1)),
    }


def files(evaluation: Document, rows: list[Row], notes: str = "") -> dict[str, str]:
    """Return the card's files by name.

    Parameters
    ----------
    evaluation
        What ``python -m andrea evaluate`` wrote.
    rows
        The table of sources (``read_sources``).
    notes
        Markdown written by hand: how the samples read, what helped.

    Returns
    -------
    dict
        ``MODEL_CARD.md``, ``SOURCES.md``, ``lens.svg`` and, where there was a log of the training,
        ``loss.svg``.

    Raises
    ------
    KeyError
        If the template has a blank that nothing fills.
    """
    loss = training.loss_picture(evaluation)
    template = Template(resources(__name__).joinpath("template.md").read_text(encoding="utf-8"))
    card = template.substitute(blanks(evaluation, rows, notes, picture=bool(loss)))
    while "\n\n\n" in card:  # a section that there was nothing for
        card = card.replace("\n\n\n", "\n\n")
    found = {
        "MODEL_CARD.md": card,
        "SOURCES.md": texts.sources_page(rows),
        "lens.svg": results.lens_picture(evaluation["lens"]),
    }
    return {**found, "loss.svg": loss} if loss else found
