"""The rules of the house, held by reading the source: who may import whom, and what never ships."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = ("andrea", "app", "pages", "tests", "tools")

# Folder -> what its files may not import. The longest folder that fits decides.
FORBIDDEN = {
    "andrea": {"streamlit", "plotly", "app", "pages"},
    "app": {"pages"},
    "app/figures": {"streamlit", "torch", "pages"},
    "pages": {"torch", "plotly", "pages"},
}
# A name of Streamlit -> the one file that may use it.
ONE_PLACE = {
    "cache_data": "app/compute.py",
    "cache_resource": "app/compute.py",
    "session_state": "app/state.py",
    "query_params": "app/state.py",
}
CEILINGS = {"pages": 120, "app": 250, "andrea": 250, "tools": 250, "tests": 400}
SLACK = 1.3

# Hosts that a text may name as a reference for the reader to follow. Nothing is fetched from them.
REFERENCES = {"arxiv.org", "doi.org", "unhomeschool.com", "www.w3.org", "kellerjordan.github.io"}
LOCAL = {"localhost", "127.0.0.1", "0.0.0.0"}
NAMESPACES = {"www.w3.org"}  # the name of SVG is written as an address
ADDRESS = re.compile(r"(?:https?|wss?)://([^\s/\"'`<>)\]}:,?#]*)", re.IGNORECASE)
# What makes a browser fetch something without a scheme being written.
FETCH = re.compile(
    r"""(?:src|href)\s*=\s*\\?["']//|url\(\s*\\?["']?//|@import|import\s*\(\s*["'](?!\./)""",
    re.IGNORECASE,
)


def python_files(*folders: str) -> list[Path]:
    return sorted(f for folder in folders for f in (ROOT / folder).rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def shipped(suffixes: set[str]) -> list[Path]:
    folders = (ROOT / "app", ROOT / "pages")
    return sorted(f for d in folders for f in d.rglob("*") if f.suffix in suffixes)


def house_files() -> Iterator[Path]:
    """Yield the text files of the repository that people wrote, without what tools leave behind."""
    suffixes = {".py", ".md", ".toml", ".txt", ".js", ".css", ".html", ".po", ".svg", ".json"}
    for folder in (*CODE, "docs", ".ci", ".streamlit"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in suffixes or folder == ".ci" and file.is_file():
                yield file
    yield from sorted(f for f in ROOT.glob("*") if f.suffix in suffixes or f.name == "Makefile")


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def roots(path: Path, module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the first part of every module that a file imports, and the line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.split(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                parts = path.relative_to(ROOT).parts[: -node.level]
                yield (parts[0] if parts else (node.module or "").split(".")[0]), node.lineno
            else:
                yield (node.module or "").split(".")[0], node.lineno
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value).split(".")[0], node.lineno


def broken_imports(path: Path, module: ast.Module) -> list[str]:
    fitting = [d for d in FORBIDDEN if name(path).startswith(d + "/")]
    banned = FORBIDDEN[max(fitting, key=len)] if fitting else set()
    used = [(root, line) for root, line in roots(path, module) if root in banned]
    return [f"{name(path)}:{line} imports {root}" for root, line in used]


def misplaced_names(path: Path, module: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(module):
        used = set()
        if isinstance(node, ast.Attribute):
            used = {node.attr}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit"):
            used = {alias.name for alias in node.names}
        for word in used & ONE_PLACE.keys():
            if name(path) != ONE_PLACE[word]:
                found.append(f"{name(path)}:{node.lineno} uses {word}")  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("path", python_files("andrea", "app", "pages"), ids=name)
def test_who_imports_whom(path: Path) -> None:
    assert broken_imports(path, tree(path)) == []


@pytest.mark.parametrize("path", python_files("andrea", "app", "pages"), ids=name)
def test_caches_and_state_have_one_place(path: Path) -> None:
    assert misplaced_names(path, tree(path)) == []


@pytest.mark.parametrize(
    ("where", "source", "faults"),
    [
        ("andrea/x.py", "import streamlit as st", 1),
        ("andrea/measures/x.py", "def f():\n    from app.state import g", 1),
        ("andrea/x.py", "from . import model", 0),
        ("app/x.py", "from pages import trace", 1),
        ("app/x.py", "import torch", 0),
        ("app/figures/x.py", "import torch.nn as nn", 1),
        ("app/figures/x.py", "import plotly.graph_objects as go", 0),
        ("pages/x.py", "import importlib\nimportlib.import_module('torch')", 1),
        ("pages/x.py", "from .trace import y", 1),
        ("pages/x.py", "from app.compute import y", 0),
    ],
)
def test_the_import_rule_sees(where: str, source: str, faults: int) -> None:
    assert len(broken_imports(ROOT / where, ast.parse(source))) == faults


@pytest.mark.parametrize(
    ("where", "source", "faults"),
    [
        ("app/controls.py", "import streamlit as s\ns.session_state['a'] = 1", 1),
        ("app/state.py", "import streamlit as s\ns.session_state['a'] = 1", 0),
        ("pages/x.py", "from streamlit import cache_data as c\n@c\ndef f(): ...", 1),
        ("app/compute.py", "import streamlit as st\n@st.cache_data\ndef f(): ...", 0),
        ("app/controls.py", "import streamlit as st\nst.slider('a', bind='query-params')", 0),
    ],
)
def test_the_place_rule_sees(where: str, source: str, faults: int) -> None:
    assert len(misplaced_names(ROOT / where, ast.parse(source))) == faults


def test_registry_equals_the_files_on_disk() -> None:
    from app.registry import PAGES

    listed = [Path(page.file).as_posix() for page in PAGES]
    assert len(listed) == len(set(listed)), "a page is listed twice"
    assert set(listed) == {name(path) for path in (ROOT / "pages").glob("*.py")}
    assert sum(bool(page.default) for page in PAGES) == 1
    addresses = [page.url_path for page in PAGES]
    assert len(addresses) == len(set(addresses)), "two pages have one address"


def strange_hosts(text: str, allowed: set[str]) -> list[str]:
    hosts = {host.lower() for host in ADDRESS.findall(text)}
    return sorted(host for host in hosts if host not in allowed)


@pytest.mark.parametrize("path", shipped({".py", ".po", ".md", ".toml", ".json"}), ids=name)
def test_texts_name_only_references(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    # An address that is put together from {…} is the visitor's own, for the share link.
    hosts = [h for h in strange_hosts(text, REFERENCES | LOCAL) if "{" not in h and h]
    assert hosts == []


@pytest.mark.parametrize("path", shipped({".js", ".css", ".html", ".svg"}), ids=name)
def test_nothing_the_browser_runs_names_another_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert strange_hosts(text, NAMESPACES) == []
    assert FETCH.findall(text) == []


def test_the_address_rule_sees() -> None:
    assert strange_hosts('a = "https://cdn.example.net/x.js"', NAMESPACES) == ["cdn.example.net"]
    assert strange_hosts("xmlns='http://www.w3.org/2000/svg'", NAMESPACES) == []
    for line in ('<script src="//cdn.net/x.js">', "url(//x.net/f.woff)", '@import "x.css"'):
        assert FETCH.findall(line), line


# Written in two parts, so that this file does not find itself.
NEVER = [
    r"\.\./" + "shared",
    "/work" + "/",
    "/ro" + r"ot/(?!\S*\.py)",
    "pypi" + r"\.org",
    "python" + "hosted",
    "download" + r"\.pytorch",
    "registry" + r"\.npmjs",
    "--(?:extra-)?index" + "-url",
]


def test_the_repository_stands_alone() -> None:
    pattern = re.compile("|".join(NEVER))
    found = [
        f"{name(path)}:{number} {line.strip()[:80]}"
        for path in house_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("path", python_files(*CODE), ids=name)
def test_files_stay_short(path: Path) -> None:
    most = int(CEILINGS[path.relative_to(ROOT).parts[0]] * SLACK)
    count = len(path.read_text(encoding="utf-8").splitlines())
    assert count <= most, f"{name(path)} has {count} lines, at most {most}: split it"


def test_pins_are_exact_and_need_no_address() -> None:
    for file in ("requirements.txt", "requirements-dev.txt", "requirements-bench.txt"):
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith(("#", "-r "))]
        for pin in pins:
            assert re.fullmatch(r"[\w.-]+==[\w.]+", pin), f"{file}: {pin}"
        names = [pin.split("==")[0].lower() for pin in pins]
        assert len(names) == len(set(names)), f"{file} pins something twice"
