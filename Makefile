# `make demo` and `make test` need python3, and make everything else themselves, in $(VENV).
# Another Python: make test PYTHON=python3.13 VENV=.venv-3.13

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PACKAGING := setup.cfg pyproject.toml

.PHONY: help demo test lint types bench clean

help:
	@echo "make demo   crawl a small web on this machine, politely and not, and compare"
	@echo "make test   run the tests;  PYTEST_ARGS='-k gate -x' passes arguments on"
	@echo "make lint   ruff;  make types  mypy --strict;  make bench  the benchmarks"

demo: $(VENV)/.installed
	$(BIN)/python example_project/run_demo.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

bench: $(VENV)/.installed-test
	set -e; for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench; done

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage* .mypy_cache .pytest_cache .ruff_cache

# A stamp is older than what it depends on when setup.cfg changed: then pip looks again.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(BIN)/python $(PACKAGING)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-%: $(BIN)/python $(PACKAGING)
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	touch $@ $(VENV)/.installed
