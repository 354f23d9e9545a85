"""The list of pages: the one place where a page is announced, in the order of the menu."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from app.i18n import N_, _

ROOT = Path(__file__).resolve().parents[1]

BLOCK = N_("The block")
MODEL = N_("The model")
COURSE = N_("The course")
GROUPS = (BLOCK, MODEL, COURSE)


@dataclass(frozen=True)
class PageEntry:
    """One page. ``title``, ``help`` and ``group`` are source strings, translated when shown."""

    file: str
    url_path: str
    title: str
    help: str
    group: str
    default: bool = False

    def page(self) -> Page:
        """Return what Streamlit navigates to, titled in the language in force."""
        return st.Page(
            ROOT / self.file,
            title=_(self.title),
            url_path=self.url_path,
            default=self.default,
        )


PAGES: tuple[PageEntry, ...] = (
    PageEntry(
        "pages/home.py",
        "home",
        N_("The block at a glance"),
        N_("What a block is, and what you can do here."),
        BLOCK,
        default=True,
    ),
    PageEntry(
        "pages/trace.py",
        "trace",
        N_("Follow a token"),
        N_(
            "Write a sentence, choose one of its tokens and walk with it through every block: each "
            "number you meet was recorded from the model."
        ),
        BLOCK,
    ),
    PageEntry(
        "pages/gradients.py",
        "gradients",
        N_("Residuals and gradients"),
        N_(
            "Why skip connections and pre-norm won: real backward passes through stacks of up to "
            "192 blocks, with and without."
        ),
        BLOCK,
    ),
    PageEntry(
        "pages/race.py",
        "race",
        N_("The race"),
        N_(
            "Small models trained side by side while you watch: with and without LayerNorm, "
            "residual and warmup. Who learns, who stands still, who breaks?"
        ),
        BLOCK,
    ),
    PageEntry(
        "pages/depth.py",
        "depth",
        N_("Depth"),
        N_("What twelve blocks do: what each adds to the answer, and what is lost without it."),
        MODEL,
    ),
    PageEntry(
        "pages/norm.py",
        "norm",
        N_("Normalisation"),
        N_(
            "What a LayerNorm does to one token's vector, which numbers it averages, and what its "
            "place does to the stream."
        ),
        BLOCK,
    ),
    PageEntry(
        "pages/gelu.py",
        "gelu",
        N_("GELU and ReLU"),
        N_("Where a real model's numbers fall on the curve, and what they would lose with ReLU."),
        BLOCK,
    ),
    PageEntry(
        "pages/parameters.py",
        "parameters",
        N_("Parameters"),
        N_("Where 92 million numbers sit, and why the name says 120."),
        MODEL,
    ),
)
