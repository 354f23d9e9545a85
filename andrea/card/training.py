"""What the card says of the training: the run, the command, the runs compared, the curve."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

from andrea.card.markdown import name_of, table
from andrea.config import ModelConfig
from andrea.picture import Line, line_chart
from andrea.trainer import Recipe

Document = dict[str, Any]


def command(evaluation: Document) -> str:
    """Return the command that trains the model again, with placeholders for the texts."""
    recipe, config = evaluation["made"].get("recipe", {}), evaluation["config"]
    names = list(evaluation["languages"])
    words = ["python", "-m", "andrea", "train", "--text", *[f"{n}.txt" for n in names]]
    words += ["--valid", *[f"{n}-valid.txt" for n in names], "--sources", "SOURCES.tsv"]
    words += ["--tokenizer", "andrea/weights/tokenizer.json", "--out", "runs/mini"]
    if origin := evaluation["made"].get("origin"):
        words += ["--start-from", origin["file"]]
    for name in ("n_layer", "d_model", "n_head"):
        words += ["--" + name.replace("_", "-"), str(config[name])]
    for field in fields(Recipe):
        value = recipe.get(field.name, field.default)
        if value != field.default:
            words += ["--" + field.name.replace("_", "-"), str(value)]
    return shlex.join(words).replace(" --", " \\\n  --")


def recipe_table(evaluation: Document) -> str:
    """Return what is known of the run: hardware, hours, tokens, batch, rates."""
    made, recipe = evaluation["made"], evaluation["made"].get("recipe", {})
    seen, held = made.get("tokens"), sum(evaluation["train_tokens"].values())
    hours = f"{made['seconds'] / 3600:.1f}" if "seconds" in made else "not recorded"
    rows = [
        ["hardware", evaluation["hardware"] or made.get("device_name", "not recorded")],
        ["hours", hours],
        ["tokens seen", f"{seen:,} ({seen / held:.1f} x the text)" if seen else "not recorded"],
        ["steps", f"{made['step']:,}" if "step" in made else "not recorded"],
        ["precision", made.get("precision", "not recorded")],
        ["date", made.get("date", "not recorded")],
    ]
    if origin := made.get("origin"):
        before = f"{origin['tokens']:,} tokens" if origin.get("tokens") else "tokens not recorded"
        rows.insert(2, ["begun from", f"`{origin['file']}` ({before}, sha256 {origin['sha256']})"])
    rows += [[name.replace("_", " "), str(value)] for name, value in recipe.items()]
    return table(["", ""], rows)


def study_section(study: list[Document]) -> str:
    """Return the table of compared runs, or nothing.

    Their minutes are those of the processor where all runs have counted them: what another program
    took from a run does not count.
    """
    if not study:
        return ""
    names = sorted({name for run in study for name in run["made"]["valid_loss"]})
    counted = all(run["made"].get("processor_seconds") for run in study)
    rows = []
    for run in study:
        config, made = ModelConfig(**run["config"]), run["made"]
        seconds = made["processor_seconds"] if counted else made["seconds"]
        rows.append(
            [
                run["name"],
                f"{config.n_layer}, {config.d_model}, {config.n_head}",
                f"{made['recipe']['batch']}",
                f"{seconds / 60:.1f}",
                f"{made['tokens'] / 1e6:.2f}",
                *[f"{made['valid_loss'][name]:.3f}" for name in names],
            ]
        )
    minutes = "processor minutes" if counted else "minutes"
    head = ["run", "blocks, width, heads", "batch", minutes, "million tokens"]
    compared = table([*head, *[f"loss {name}" for name in names]], rows, numbers=3 + len(names))
    return (
        "### Shapes and recipes compared\n\n"
        "Loss on the held-out texts (all their full windows), in nats a token, after runs of about "
        f"the same length, each with its own fall of the learning rate.\n\n{compared}"
    )


def loss_picture(evaluation: Document) -> str:
    """Return the SVG of the losses while learning, or nothing where no log was given."""
    curve = evaluation["curve"]
    if not curve["train"]:
        return ""
    lines = [
        Line(f"{name_of(name)}, held out", [(t / 1e6, y) for t, y in points])
        for name, points in curve["valid"].items()
    ]
    lines.append(Line("training", [(t / 1e6, y) for t, y in curve["train"]], faint=True))
    return line_chart("Loss while learning", "tokens seen, millions", "nats a token", lines)
