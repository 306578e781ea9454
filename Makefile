# `make demo` and `make test` need python3 and set up everything else themselves, in $(VENV).
# Another Python: make test PYTHON=python3.13 VENV=.venv-3.13
# Tests wait more than they compute, so JOBS of them run at once, whatever the number of cores.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 4
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --editable
PACKAGING := setup.cfg pyproject.toml

.PHONY: help demo demo-distributed test lint types bench clean

help:
	@echo 'make demo   crawl a small web on this machine, politely and not, and compare'
	@echo 'make demo-distributed   three workers share a crawl through Redis, and one is killed'
	@echo "make test   run the tests; PYTEST_ARGS='-x -k gate' are passed on"
	@echo 'make lint   ruff'
	@echo 'make types  mypy --strict'
	@echo 'make bench  the benchmarks, side by side with stock Scrapy'
	@echo 'make clean  remove what was made here'

demo: $(VENV)/.installed
	@$(BIN)/python example_project/run_demo.py

demo-distributed: $(VENV)/.installed-scrapy-redis
	@$(BIN)/python example_project/run_distributed.py

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check

types: $(VENV)/.installed-dev
	$(BIN)/mypy

bench: $(VENV)/.installed-test
	set -e; for bench in $$(grep -l '__main__' benchmarks/*.py); do echo "== $$bench"; $(BIN)/python $$bench; done

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache

# The stamps depend on the packaging, so pip looks again after a change there, and only then.
$(BIN)/python:
	@echo 'Making $(VENV) with $(PYTHON) ...'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed: $(BIN)/python $(PACKAGING)
	@echo 'Installing scrapy_polite into $(VENV) ...'
	@$(INSTALL) .
	@touch $@

$(VENV)/.installed-%: $(BIN)/python $(PACKAGING)
	@echo 'Installing scrapy_polite[$*] into $(VENV) ...'
	@$(INSTALL) '.[$*]'
	@touch $@ $(VENV)/.installed
