"""What the card says of the model's quality: losses, the lens, samples."""

from __future__ import annotations

import math
from typing import Any

from andrea.card.markdown import name_of, one_line, table
from andrea.picture import Line, line_chart

Document = dict[str, Any]


def results_table(languages: Document) -> str:
    """Return the losses, a row a language."""
    head = ["", "tokens", "loss", "choices", "nats a character"]
    head += [f"{n}-gram" for n in range(1, 5)] + ["4-gram of both languages"]
    rows = [
        [
            name_of(name),
            f"{report['n_predicted']:,}",
            f"**{report['loss']:.3f}**",
            f"{math.exp(report['loss']):.0f}",
            f"{report['loss_per_character']:.3f}",
            *[f"{report['kneser_ney'][str(n)]:.3f}" for n in range(1, 5)],
            f"{report['kneser_ney_together']['4']:.3f}",
        ]
        for name, report in languages.items()
    ]
    return table(head, rows, numbers=9)


def bar_sentence(languages: Document) -> str:
    """Say, for each language, by how much the best n-gram is beaten or not."""
    parts = []
    for name, report in languages.items():
        order, best = min(report["kneser_ney"].items(), key=lambda item: item[1])
        gain = best - report["loss"]
        verdict = "better" if gain > 0 else "**worse**"
        parts.append(
            f"In {name_of(name)} the model is {abs(gain):.2f} nats {verdict} than the best of "
            f"them, the {order}-gram."
        )
    return " ".join(parts)


def lens_sentence(lens: Document) -> str:
    """Say how the rank moves through depth."""
    mean, blocks = lens["mean_rank"], len(lens["mean_rank"]) - 1
    half = blocks // 2
    return (
        f"The mean rank is {mean[0]:,.0f} before the first block, {mean[half]:,.1f} after {half} "
        "and 1 at the end, where it is the answer itself. It improves at "
        f"{lens['blocks_that_improve']} of {blocks} blocks."
    )


def lens_table(lens: Document) -> str:
    """Return the rank of the final answer by depth."""
    rows = [
        [str(i), f"{mean:,.1f}", f"{middle:,.0f}", f"{geometric:,.1f}", f"{first:.0%}"]
        for i, (mean, middle, geometric, first) in enumerate(
            zip(
                lens["mean_rank"],
                lens["median_rank"],
                lens["geometric_mean_rank"],
                lens["share_first"],
                strict=True,
            )
        )
    ]
    head = ["blocks passed", "mean rank", "median", "geometric mean", "already first"]
    return table(head, rows, numbers=5)


def samples_tables(languages: Document) -> str:
    """Return the samples of every language, with what was counted over them."""
    parts = []
    for name, report in languages.items():
        if not report["samples"]:
            continue
        rows = [[one_line(s[k]) for k in ("prompt", "greedy", "drawn")] for s in report["samples"]]
        greedy, drawn = report["words_known"]
        parts += [
            f"**{name_of(name)}.** Words that the training text of this language holds: "
            f"{greedy:.1%} of the greedy ones, {drawn:.1%} of the drawn ones.",
            table(["prompt", "greedy", "drawn"], rows),
        ]
    return "\n\n".join(parts)


def loops_sentence(languages: Document) -> str:
    """Count the samples in which some tokens come twice."""
    parts = []
    for name, report in languages.items():
        found = report["samples"]
        greedy, drawn = (sum(s[k] for s in found) for k in ("greedy_loops", "drawn_loops"))
        parts.append(
            f"in {name_of(name)} {greedy} of {len(found)} greedy samples above repeat four tokens "
            f"in a row, and {drawn} of the drawn ones"
        )
    return "; ".join(parts)


def lens_picture(lens: Document) -> str:
    """Return the SVG of the final answer's rank by depth."""
    lines = [
        Line("mean", list(enumerate(lens["mean_rank"]))),
        Line("geometric mean", list(enumerate(lens["geometric_mean_rank"]))),
    ]
    return line_chart("Rank of the final answer", "blocks passed", "rank (1: first)", lines, True)
