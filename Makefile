# Every job of this project is a target here; .ci/run runs the same ones.
#
#   make demo      a workspace from sample documents and this source, and questions with cited answers
#   make test      the tests; TESTS=tests/query runs some of them
#   make check     style, formatting and types
#
# PYTHON=python3.12 chooses the interpreter (3.11 or newer), VENV=elsewhere the folder of the environment.

PYTHON ?= python3
VENV ?= .venv
PROCESSES ?= 2
TESTS ?= tests

bin := $(VENV)/bin
install := $(bin)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check format nightly bench build wheel-check constraints clean
.DELETE_ON_ERROR:

demo: $(VENV)/.base
	@$(bin)/python docs/demo.py demo-workspace

test: $(VENV)/.dev
	$(bin)/python -m pytest -n $(PROCESSES) --dist worksteal $(TESTS)

check: $(VENV)/.dev
	$(bin)/ruff check .
	$(bin)/ruff format --check .
	$(bin)/mypy

format: $(VENV)/.dev
	$(bin)/ruff check --fix .
	$(bin)/ruff format .

nightly: $(VENV)/.dev
	$(bin)/python -m pytest -n $(PROCESSES) --dist worksteal -m nightly $(TESTS)

bench: $(VENV)/.dev
	@for name in retrieval answers ingest search sync pack upkeep verify; do script=benchmarks/$$name.py; \
	    echo "== $$script"; $(bin)/python $$script || exit 1; done

build: $(VENV)/.dev
	rm -rf dist
	$(bin)/python -m build --no-isolation --outdir dist

# The wheel, in a clean environment without this checkout, asked from a folder that has nothing to do with it.
wheel-check: build
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && set -e; \
	$(PYTHON) -m venv "$$folder/venv"; \
	"$$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl; \
	cp tests/wheel_check.py "$$folder"; cd "$$folder"; \
	"$$folder/venv/bin/python" -I wheel_check.py

# The newest releases that pyproject.toml allows, as a fresh environment resolves them.
constraints:
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && set -e; \
	$(PYTHON) -m venv "$$folder"; \
	"$$folder/bin/python" -m pip install --quiet --disable-pip-version-check ".[dev]"; \
	"$$folder/bin/python" -m pip freeze --exclude tychora > "$$folder/frozen"; \
	mv "$$folder/frozen" constraints.txt

clean:
	rm -rf $(VENV) dist build demo-workspace .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What is installed follows pyproject.toml and constraints.txt; the stamps remember when it last did.
$(VENV)/.base: pyproject.toml constraints.txt | $(bin)/python
	@echo "Installing Tychora into $(VENV) (a minute or two the first time) …"
	@$(install) --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(bin)/python
	@echo "Installing Tychora and its tools into $(VENV) (some minutes the first time) …"
	@$(install) --editable '.[dev]'
	@touch $(VENV)/.base $@

$(bin)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Tychora needs Python 3.11 or newer; this is " + sys.version.split()[0] + ": try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
