# Every target sets up what it needs in .venv by itself. `make` alone lists them.
# Written for GNU make 3.81 (macOS) and later.

PYTHON ?= python3
PORT   ?= 8501
HOST   ?= 0.0.0.0
OUT    ?= runs/mine
TEXT   ?=
ARGS   ?=

VENV       := .venv
VENV_BENCH := .venv-bench
PY         := $(VENV)/bin/python
SITE       := $(VENV)/.site-ready
DEV        := $(VENV)/.dev-ready
BENCH      := $(VENV_BENCH)/.bench-ready

.DEFAULT_GOAL := help
.PHONY: help setup run test lint format format-check types check bench train sample screenshots \
        chromium clean

help:
	@echo "make run           the site, at http://localhost:$(PORT) (PORT=... for another port)"
	@echo "make test          everything: lint, format, types, all tests, a real browser"
	@echo "make check         lint, format and types only"
	@echo "make train TEXT=\"a.txt b.txt\" [OUT=runs/mine]   a model of your own text"
	@echo "make sample        let the model write (ARGS=\"...\" for its options)"
	@echo "make bench         the cost of looking, beside transformers and TransformerLens"
	@echo "make format        put the code into its format"
	@echo "make screenshots   the pictures of the README"
	@echo "make setup         install all that tests and site need; make clean removes it"

# ---- setting up ---------------------------------------------------------------------------------

# Asked only when something is to be installed: a finished .venv needs no other Python.
define check_python
@command -v $(PYTHON) >/dev/null 2>&1 || { \
  echo "There is no $(PYTHON) here: install Python 3.11 or later, or say PYTHON=/path/to/python." >&2; \
  exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
  echo "$(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1); Python 3.11 or later is needed." >&2; \
  echo "If another one is installed, name it: make PYTHON=python3.12 ..." >&2; \
  exit 1; }
endef

$(SITE): requirements.txt
	$(check_python)
	@$(PYTHON) tools/make_venv.py $(VENV) requirements.txt
	@touch $@

$(DEV): requirements-dev.txt requirements.txt
	$(check_python)
	@$(PYTHON) tools/make_venv.py $(VENV) requirements-dev.txt
	@touch $(SITE) $@

# The comparison is worth having, but its old NumPy ends at Python 3.12: go on without it.
$(BENCH): requirements-bench.txt
	$(check_python)
	@if $(PYTHON) tools/make_venv.py $(VENV_BENCH) requirements-bench.txt; then touch $@; else \
	  echo "TransformerLens could not be installed (it needs Python 3.11 or 3.12);" \
	       "the benchmark goes on without it." >&2; fi

setup: $(DEV)

chromium: $(DEV)
	@$(PY) -m tools.find_chromium --install

clean:
	rm -rf $(VENV) $(VENV_BENCH)

# ---- the site -----------------------------------------------------------------------------------

run: $(SITE)
	@echo "Starting. Open http://localhost:$(PORT) in a browser; from another machine of the same"
	@echo "network, this machine's name or address with :$(PORT). Ctrl-C stops."
	@PORT=$(PORT) HOST=$(HOST) exec $(PY) -m app

# ---- checking -----------------------------------------------------------------------------------

lint: $(DEV)
	@$(PY) -m ruff check .

format: $(DEV)
	@$(PY) -m ruff check --fix-only .
	@$(PY) -m ruff format .

format-check: $(DEV)
	@$(PY) -m ruff format --check .

types: $(DEV)
	@$(PY) -m mypy

check: lint format-check types

test: check chromium
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

bench: $(DEV) $(BENCH)
	@ANDREA_BENCH_PYTHON=$(VENV_BENCH)/bin/python $(PY) -m tests.benchmarks $(ARGS)

# ---- the model ----------------------------------------------------------------------------------

train: $(SITE)
	@if [ -z '$(TEXT)' ]; then \
	  echo 'Name the text to learn from: make train TEXT="a.txt b.txt" (plain text, UTF-8)' >&2; \
	  exit 2; fi
	@$(PY) -m andrea train --text $(TEXT) --out $(OUT) $(ARGS)

sample: $(SITE)
	@$(PY) -m andrea sample $(ARGS)

screenshots: chromium
	@$(PY) -m tools.screenshots $(ARGS)
