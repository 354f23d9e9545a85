"""The controls of Normalisation: which LayerNorm, gamma, beta and epsilon, what is disturbed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import streamlit as st

from andrea.measures.layernorm import Applied, apply
from andrea.measures.norm import NormResult
from andrea.requests import ModelRequest, WhichNorm
from app import compute, state
from app.figures.base import shown
from app.i18n import _

EPSILONS = ("0", "1e-8", "1e-5", "1e-4", "1e-3", "1e-2", "0.1", "1", "10", "100")
OWN_EPSILON = "1e-5"
FACTORS = ("-100", "-10", "-1", "0", "0.1", "2", "10", "100")
ROWS = 7  # tokens that the matrix shows


@dataclass(frozen=True)
class Settings:
    """What the sliders say; ``command`` as options, ``values`` for the link."""

    gamma_scale: float = 1.0
    beta_shift: float = 0.0
    eps: str = OWN_EPSILON
    learned: bool = True

    def applied(self, result: NormResult) -> Applied:
        """Apply LayerNorm under these settings to the vector that the model recorded."""
        return apply(
            result.inputs[result.position],
            result.gamma,
            result.beta,
            gamma_scale=self.gamma_scale,
            beta_shift=self.beta_shift,
            eps=float(self.eps),
            learned=self.learned,
        )

    def options(self) -> str:
        """Return the terminal's options, each with a space before it; none for a default."""
        parts = [
            ("--gamma-scale {}", self.gamma_scale, 1.0),
            ("--beta-shift {}", self.beta_shift, 0.0),
            ("--eps {}", self.eps, OWN_EPSILON),
        ]
        said = "".join(" " + text.format(value) for text, value, own in parts if value != own)
        return said if self.learned else said + " --no-affine"


def place(model: ModelRequest) -> tuple[int, WhichNorm]:
    """Show which block and which of its LayerNorms; return the layer (0 is the first) and it."""
    most = int(model.n_layer or compute.base_config(model).n_layer)
    names = {
        "ln1": _("before attention") if model.norm != "post" else _("after attention"),
        "ln2": _("before the MLP") if model.norm != "post" else _("after the MLP"),
    }
    if model.norm == "pre":
        names["ln_final"] = _("the final one")
    with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
        block = 1
        if most > 1:
            block = st.slider(_("Block"), 1, most, 1, key="layer", bind="query-params", width=260)
            block = state.checked("layer", int(block))
        chosen = st.segmented_control(
            _("Which LayerNorm"),
            list(names),
            default="ln1",
            required=True,
            key="ln",
            bind="query-params",
            help="  \n".join(f"{name}: {words}" for name, words in names.items()),
        )
        which = state.checked("ln", chosen if chosen in names else "ln1")
    return min(block, most) - 1, cast(WhichNorm, which)


def settings() -> Settings:
    """Show gamma, beta and epsilon; return what they say."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
        gamma = st.slider(
            _("γ ×"),
            0.0,
            3.0,
            1.0,
            0.1,
            format="%.1f",
            key="gscale",
            bind="query-params",
            width=215,
        )
        beta = st.slider(
            _("β +"),
            -3.0,
            3.0,
            0.0,
            0.1,
            format="%.1f",
            key="bshift",
            bind="query-params",
            width=215,
        )
        eps = st.select_slider(
            _("ε"), EPSILONS, OWN_EPSILON, key="eps", bind="query-params", width=215,
            help=_("Added to the variance before the root, so that nothing is divided by zero."),
        )  # fmt: skip
        learned = st.toggle(
            _("the model's own γ and β"), True, key="learned", bind="query-params",
            help=_("Off: γ is 1 and β is 0 for every component, before the sliders."),
        )  # fmt: skip
    return Settings(
        state.checked("gscale", round(float(gamma), 1)),
        state.checked("bshift", round(float(beta), 1)),
        state.checked("eps", str(eps)),
        bool(state.checked("learned", bool(learned))),
    )


def window(result: NormResult) -> list[int]:
    """Return the positions that the matrix shows: the chosen one among its neighbours."""
    first = max(0, min(result.position - ROWS // 2, len(result.labels) - ROWS))
    return [*range(first, min(first + ROWS, len(result.labels)))]


def disturbance(result: NormResult) -> tuple[int, float]:
    """Show which other token's vector is multiplied, and by what; return position and factor."""
    others = [p for p in window(result) if p != result.position] or [result.position]
    place = (result.request.text, result.position)  # with another token others stand around it
    other = state.get("other", others[0], of=place, allowed=others.__contains__)
    widget = f"other.{result.position}.{len(result.labels)}"
    state.assign(widget, other)
    with st.container(horizontal=True, gap="medium", vertical_alignment="top"):
        st.selectbox(
            _("Multiply the vector of"),
            others,
            format_func=lambda p: f"{p}: {shown(result.labels[p])}",
            key=widget,
            on_change=lambda: state.put("other", state.peek(widget), of=place),
            width=215,
        )
        factor = st.select_slider(
            _("by"), FACTORS, "-10", key="factor", bind="query-params", width=260
        )
    return other, float(state.checked("factor", str(factor)))
