import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app import theme

ROOT = Path(__file__).resolve().parents[2]
CONFIG = tomllib.loads((ROOT / "app/.streamlit/config.toml").read_text(encoding="utf-8"))

ASK = """
import json, sys
from streamlit import config
from streamlit.web import bootstrap
bootstrap.load_config_options({})
config._main_script_path = sys.argv[1]
config.get_config_options(force_reparse=True, options_from_flags={})
print(json.dumps({name: config.get_option(name) for name in sys.argv[2:]}))
"""
WANTED = {
    "runner.postScriptGC": False,
    "runner.magicEnabled": False,
    "browser.gatherUsageStats": False,
    "server.fileWatcherType": "none",
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": "false",
}


@pytest.mark.parametrize("folder", ["repository", "elsewhere"])
def test_the_settings_count_from_any_folder(folder, tmp_path):
    cwd = ROOT if folder == "repository" else tmp_path
    out = subprocess.run(
        [sys.executable, "-c", ASK, str(ROOT / "app/main.py"), *WANTED],
        cwd=cwd,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(out.stdout.splitlines()[-1]) == WANTED


@pytest.mark.parametrize(("name", "palette"), [("light", theme.LIGHT), ("dark", theme.DARK)])
def test_streamlits_theme_is_the_palette(name, palette):
    of = CONFIG["theme"][name]
    assert (of["backgroundColor"], of["textColor"], of["primaryColor"], of["borderColor"]) == (
        palette["bg"],
        palette["ink"],
        palette["acc"],
        palette["line"],
    )


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_ground(palette):
    for ground in ("bg", "card", "soft"):
        for ink in ("ink", "mute", "acc"):
            assert contrast(palette[ink], palette[ground]) >= 4.5, (ink, ground)


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_the_signed_scale_keeps_its_order_in_grey_and_lets_small_values_show(palette):
    for sign in (1, -1):
        values = [0, 0.01, 0.1, 0.3, 0.6, 1]
        greys = [luminance(theme.signed_colour(sign * v, 1, palette)) for v in values]
        assert greys in (sorted(greys), sorted(greys, reverse=True))
        assert len(set(greys)) == len(greys)
    assert theme.signed_colour(0.04, 1, palette) != theme.signed_colour(0, 1, palette)
    assert theme.signed_colour(9, 1, palette) == palette["pos"]
    assert theme.signed_colour(-1, 1, palette) == palette["neg"]
    assert theme.signed_scale(palette)[10] == (0.5, palette["mid"])
