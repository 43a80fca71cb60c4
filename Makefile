# Everything runs in an environment that this file makes: .venv, or the folder that VENV names.
# An environment only grows: a target adds the extras it needs and removes nothing.

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?= xla,examples
TEST_EXTRAS := dev,xla,iree,numba,serve,examples

BIN := $(VENV)/bin
TEST_STAMP := $(VENV)/.installed-$(TEST_EXTRAS)
# What the commands of tools/bench share is no command itself.
BENCHES := $(sort $(filter-out %/timing.py %/plan_models.py %/plan_rivals.py %/engine_workloads.py %/engine_rivals.py %/language_rivals.py $(wildcard tools/bench/serving_*.py),$(wildcard tools/bench/[a-z]*.py)))

# Each names an external command that the tests hand every emitted module to.
# Quoted, for the tests split them as a shell does, and a checkout's path may hold spaces.
export TOPOS_STABLEHLO_VALIDATOR = "$(abspath $(BIN)/python)" "$(abspath tools/validate_stablehlo.py)"
export TOPOS_STABLEHLO_EVALUATOR = "$(abspath $(BIN)/python)" -m topos eval --runtime xla

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint types layers bench docs clean

help: ## Print this list.
	@echo "usage: make TARGET [EXTRAS=xla,examples] [VENV=.venv] [PYTHON=python3]"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(VENV)/.installed-$(EXTRAS) ## Train on handwritten digits and run the emitted module on every installed runtime.
	$(BIN)/python examples/digits.py

test: lint types layers ## Run every check: style, types, layers, then the tests on two processes.
	$(BIN)/python -m pytest -n 2

lint: $(TEST_STAMP) ## Check style, layout and the sizes of files.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/sizes.py

types: $(TEST_STAMP) ## Check the types.
	$(BIN)/mypy

layers: $(TEST_STAMP) ## Check that every import points down, the listed doors excepted.
	$(BIN)/lint-imports

# A BLAS that is told of another core or cache is no measure of this machine.
bench: $(TEST_STAMP) ## Run the commands of tools/bench, which print figures.
	@unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE; for bench in $(BENCHES); do echo "== $$bench"; $(BIN)/python "$$bench" || exit 1; done

docs: $(VENV)/.installed-docs ## Build the pages of docs/ into build/site.
	$(BIN)/mkdocs build --strict

clean: ## Remove what builds and checks left behind; the environment stays.
	rm -rf build dist demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find topos tests tools examples -type d -name __pycache__ -exec rm -rf {} +

$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "topos needs Python 3.11 or newer; there is no command $(PYTHON)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "topos needs Python 3.11 or newer, $(PYTHON) is $$($(PYTHON) -V 2>&1); name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp for each set of extras, newer than pyproject.toml once that set is installed.
$(VENV)/.installed-%: pyproject.toml | $(VENV)/.made
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
