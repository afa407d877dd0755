# Set PYTHON to use an interpreter as it is (nothing is installed then); by default a virtual
# environment in .venv is made and filled with what a target needs.
VENV := .venv
HAS_GPU := $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L 2>/dev/null | grep -q GPU && echo yes)
PROGRAMS := 100000
EXTRAS := $(if $(HAS_GPU),$(comma)cuda)
comma := ,

ifdef PYTHON
BASE :=
DEV :=
else
PYTHON := $(VENV)/bin/python
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
endif

.PHONY: help demo test test-long test-gpu lint format bench clean
.DEFAULT_GOAL := help

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## (.*)/  make \1\t\2/' | expand -t 20

$(VENV)/bin/python:
	python3 -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet -e '.$(if $(HAS_GPU),[cuda])'
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet -e '.[dev$(if $(HAS_GPU),$(comma)cuda)]'
	touch $@ $(VENV)/.base

demo: $(BASE)  ## Two matrix products and their sum, run concurrently on whatever device there is
	$(PYTHON) -m opar.tools.opar_run examples/two_products_and_sum.mlir --emit-schedule

test: $(DEV)  ## Every test that needs no GPU
	$(PYTHON) -m pytest -n auto -m "not gpu" tests

test-long: $(DEV)  ## Random programs against the oracle: make test-long PROGRAMS=100000
	$(PYTHON) -m tests.oracle --programs $(PROGRAMS)

test-gpu: $(DEV)  ## The tests that run on a GPU (skipped, with the reason, where there is none)
	$(PYTHON) -m pytest -m gpu tests

lint: $(DEV)  ## Style and types
	$(PYTHON) -m ruff check opar tests examples bench
	$(PYTHON) -m ruff format --check opar tests examples bench
	$(PYTHON) -m pyright --pythonpath $(PYTHON)

format: $(DEV)  ## Rewrite the sources in the project's style
	$(PYTHON) -m ruff check --fix opar tests examples bench
	$(PYTHON) -m ruff format opar tests examples bench

bench: $(DEV)  ## The measurements of docs/benchmarks.md
	$(PYTHON) -m bench

clean:  ## Remove the environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache build *.egg-info
