"""The palette, the page's CSS and the signed colour scale: one look for every page."""

from __future__ import annotations

import streamlit as st

Theme = dict[str, str]

LIGHT: Theme = {
    "bg": "#fbfaf7",
    "ink": "#1d2129",
    "mute": "#5f6570",
    "line": "#d9d5cb",
    "card": "#ffffff",
    "acc": "#0b5fa5",
    "acc2": "#4a4f5a",
    "soft": "#eef3f8",
    "neg": "#b35806",
    "pos": "#2166ac",
    "mid": "#f4f2ee",
}
DARK: Theme = {
    "bg": "#15171b",
    "ink": "#e9e7e1",
    "mute": "#9aa0ab",
    "line": "#343941",
    "card": "#1c1f25",
    "acc": "#7db8ee",
    "acc2": "#c9ced8",
    "soft": "#222b36",
    "neg": "#e08214",
    "pos": "#5aa5e0",
    "mid": "#24272d",
}
FONT = '"Source Sans", "Source Sans 3", "Source Sans Pro", system-ui, sans-serif'


def current() -> Theme:
    """Return the palette of the visitor's theme (light where it is not known)."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def _mix(a: str, b: str, share: float) -> str:
    """Return the colour ``share`` of the way from ``a`` to ``b`` as #rrggbb."""
    pairs = [(int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in pairs)


def signed_colour(value: float, limit: float, theme: Theme) -> str:
    """Return the colour of a signed value: orange below zero, blue above, square-root ramp.

    ``limit`` is the size that gets the full colour; zero is near the background, and the root
    lets small values show.
    """
    if limit <= 0 or value == 0:
        return theme["mid"]
    share = min(1.0, abs(value) / limit) ** 0.5
    return _mix(theme["mid"], theme["pos" if value > 0 else "neg"], share)


def signed_scale(theme: Theme, steps: int = 21) -> list[tuple[float, str]]:
    """Return the same ramp as a Plotly colour scale over [-limit, limit]."""
    half = (steps - 1) / 2
    values = [i / half - 1 for i in range(steps)]
    return [((v + 1) / 2, signed_colour(v, 1.0, theme)) for v in values]


def plotly_layout(theme: Theme) -> dict[str, object]:
    """Return what every figure's layout shares: paper, font, axes, margins, hover labels."""
    axis = {
        "gridcolor": theme["line"],
        "linecolor": theme["line"],
        "zerolinecolor": theme["line"],
        "tickcolor": theme["line"],
        "title": {"font": {"color": theme["mute"]}},
        "automargin": True,
    }
    return {
        "paper_bgcolor": theme["bg"],
        "plot_bgcolor": theme["bg"],
        "font": {"family": FONT, "size": 14, "color": theme["ink"]},
        "colorway": [theme["acc"], theme["neg"], theme["acc2"], theme["pos"], theme["mute"]],
        "xaxis": axis,
        "yaxis": axis,
        "margin": {"l": 8, "r": 8, "t": 48, "b": 8},
        "hoverlabel": {
            "bgcolor": theme["card"],
            "bordercolor": theme["line"],
            "font": {"color": theme["ink"], "family": FONT},
        },
        "legend": {"orientation": "h", "y": -0.18},
        "title": {"font": {"size": 16}, "x": 0, "xanchor": "left"},
    }


CSS = """
[data-testid="stMainBlockContainer"]{max-width:1180px;padding:5rem 24px 4rem}
[data-testid="stHeader"]{background:var(--a-bg);border-bottom:1px solid var(--a-line)}
h1,h2,h3{letter-spacing:-.01em;text-wrap:balance}
.a-lead{color:var(--a-mute);font-size:1.125rem;line-height:1.5;max-width:66ch;margin:-.4rem 0 .6rem}
.a-text{font-size:1.03rem;line-height:1.6;max-width:68ch}
.a-reading{margin:.4rem 0;padding:.1rem 0 .1rem 14px;border-left:3px solid var(--a-acc2);
max-width:70ch;line-height:1.55}
.a-prov{color:var(--a-mute);font-size:.84rem;margin:.2rem 0;overflow-wrap:anywhere;
font-variant-numeric:tabular-nums}
.a-label{color:var(--a-mute);font-size:.78rem;font-weight:600;letter-spacing:.06em;
text-transform:uppercase;margin:0}
.a-notice{border:1px solid var(--a-line);border-left:3px solid var(--a-acc);border-radius:8px;
background:var(--a-soft);padding:.5rem .8rem;margin:0;overflow-wrap:anywhere}
.a-notice.refusal{border-left-color:var(--a-neg)}
ol.a-steps.a-steps{list-style:none;counter-reset:s;margin:0;padding:0;max-width:62ch}
.a-steps li{counter-increment:s;position:relative;padding:0 0 0 42px;margin:0 0 1.05rem!important;
font-size:1.06rem;line-height:1.55}
.a-steps li::before{content:counter(s);position:absolute;left:0;top:1px;width:25px;height:25px;
border:1.5px solid var(--a-acc);border-radius:50%;color:var(--a-acc);font-size:.84rem;
font-weight:650;display:grid;place-items:center;font-variant-numeric:tabular-nums}
.a-facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(230px,1fr));gap:14px 32px;
margin:0!important;padding:0!important}
.a-facts div{min-width:0}.a-facts dt{color:var(--a-mute);font-size:.86rem}
.a-facts dd{margin:0!important;font-weight:600;overflow-wrap:anywhere}
.a-facts small{display:block;font-weight:400;color:var(--a-mute);font-size:.86rem}
.st-key-lang{position:fixed;top:.72rem;right:1rem;z-index:999991;width:auto!important}
.st-key-lang button{text-transform:uppercase;font-size:.8rem;padding:.1rem .6rem;min-height:2rem}
[class*="st-key-card"]{background:var(--a-card)}
[class*="st-key-card"]{gap:.35rem}
[class*="st-key-card"] a{padding:0;margin:0;background:none!important}
[class*="st-key-card"] a p{font-size:1.12rem;font-weight:650;color:var(--a-acc)!important}
[class*="st-key-card"] a:hover p{text-decoration:underline;text-underline-offset:3px}
[class*="st-key-card"] .a-help{color:var(--a-mute);margin:0;line-height:1.5}
.st-key-quiet{display:none}
[data-testid="stException"]>*{display:none}
[data-testid="stException"]::before{content:var(--a-sorry)}
@media(max-width:640px){[data-testid="stMainBlockContainer"]{padding:4.5rem 16px 3rem}
h1{font-size:1.7rem!important}.a-lead{font-size:1.04rem}
.a-steps li{padding-left:36px;font-size:1.02rem}}
@media(prefers-reduced-motion:reduce){*{transition:none!important;animation:none!important}}
"""


def css(sorry: str = "") -> str:
    """Return the page's style sheet for the current theme.

    ``sorry`` (of the catalogue, never a visitor's text) stands where Streamlit would show an error
    of a fragment or a callback: in English, with links to other sites.
    """
    said = sorry.replace("\\", "").replace('"', "\u201d").replace("<", "")
    variables = ";".join(f"--a-{name}:{colour}" for name, colour in current().items())
    return f'<style>:root{{{variables};--a-sorry:"{said}"}}{CSS}</style>'
