# Amends: every target does its own set-up (a .venv in this checkout, no root) and can be the first one you run.
# Set-up is skipped when it is up to date. A .venv that belongs to another folder (a copied checkout) is made anew.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
SEEDS ?= 2000
FIRST ?= 0
QUICK ?=
UV_VERSION := 0.13.9

BIN := .venv/bin
STAMP := .venv/.ready
HOME_NOTE := .venv/.made_in
present = $(wildcard $(1))
CODE = $(call present,src tests agents examples benchmarks docs)
TESTED = $(call present,tests agents)
TYPED = $(call present,src agents tests)

# A test that hangs is a failure with a name, not a frozen terminal.
TEST_TIMEOUT_S ?= 120
PROOF_TIMEOUT_S ?= 1200

ifneq ($(shell cat $(HOME_NOTE) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help demo test check proof sim mutants docs lock bench clean setup

help:
	@echo "Amends: the honest write layer for agents and automations."
	@echo
	@echo "  make demo               see it: a lost answer, and what Amends says and does about it"
	@echo "  make test               every test that needs no server and no patience"
	@echo "  make check              style, types, layers, docs, and the tests of the house rules"
	@echo "  make proof [QUICK=1]    the long part: real processes killed, simulated crashes"
	@echo "  make sim [SEEDS=2000]   simulate that many seeds; a failing one is printed with its command"
	@echo "  make mutants            plant every mistake that we could think of, and say who catches it"
	@echo "  make bench              measure what a write costs on this machine"
	@echo "  make docs               write the generated pages anew from the code"
	@echo "  make lock               resolve the requirements anew, with hashes"
	@echo "  make clean              remove what make made, .venv included"
	@echo
	@echo "  The first one makes a .venv here (Python 3.11 or newer, no root, about a minute);"
	@echo "  after that they start at once. Another Python: make test PYTHON=python3.12"
	@echo "  One test: $(BIN)/pytest tests/house -k front_door"

demo: $(STAMP)
	@$(BIN)/amends demo

test: $(STAMP)
	@echo "servers needed: none"
	@PYTEST_TIMEOUT=$(TEST_TIMEOUT_S) $(BIN)/pytest -m "not proof" $(TESTED)

check: $(STAMP)
	@echo "[1/7] ruff check"
	@$(BIN)/ruff check $(CODE)
	@echo "[2/7] ruff format --check"
	@$(BIN)/ruff format --check $(CODE)
	@echo "[3/7] mypy --strict"
	@$(BIN)/mypy --strict $(TYPED)
	@echo "[4/7] lint-imports"
	@$(BIN)/lint-imports --no-logo --no-cache
	@echo "[5/7] generated docs are up to date"
	@$(BIN)/python docs/generate.py --check
	@echo "[6/7] no download address in the requirements"
	@! grep -n -i 'http' requirements/*.txt
	@echo "[7/7] the house rules and the requirements"
	@PYTEST_TIMEOUT=$(TEST_TIMEOUT_S) $(BIN)/pytest -q tests/house tests/spec

proof: $(STAMP)
	@echo "proof: $(if $(QUICK),quick,full)"
	@PYTEST_TIMEOUT=$(PROOF_TIMEOUT_S) AMENDS_PROOF=$(if $(QUICK),quick,full) $(BIN)/pytest -m proof $(TESTED)

sim: $(STAMP)
	@$(BIN)/python -m tests.simulation.run --seeds $(SEEDS) --first $(FIRST) --processes 2

mutants: $(STAMP)
	@$(BIN)/python -m tests.simulation.hunt

bench: $(STAMP)
	@$(BIN)/python benchmarks/run.py

docs: $(STAMP)
	@$(BIN)/python docs/generate.py

clean:
	@rm -rf .venv .venv-lock build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache
	@rm -rf .mypy_cache .pytest_cache .ruff_cache
	@find $(call present,src tests agents examples benchmarks docs) -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "clean"

# --- set-up ----------------------------------------------------------------------------------------------------------

setup: $(STAMP)

# pip's lines become dots; all of them are shown if it fails.
dots = awk '{ print > "$(1)"; if (/^(Collecting|Building|Installing)/) { printf "."; fflush() } } END { print "" }'

$(STAMP): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "Amends needs Python 3.11 or newer, and '$(PYTHON)' is not here: say which with PYTHON=python3.12."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Amends needs Python 3.11 or newer, and '$(PYTHON)' is $$($(PYTHON) -V 2>&1): say which with PYTHON=python3.12."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "'$(PYTHON)' can't make a virtual environment: install Debian's package python3-venv (as root: apt-get install python3-venv) and start again."; exit 1; }
	@if [ "$$(cat $(HOME_NOTE) 2>/dev/null)" = "$(CURDIR)" ] && $(BIN)/python -c 'import pip' 2>/dev/null; then \
		echo "[1/3] .venv is here; bringing it up to date"; \
	else \
		echo "[1/3] making .venv …"; \
		$(PYTHON) -m venv --clear .venv; \
		echo "$(CURDIR)" > $(HOME_NOTE); \
	fi
	@printf '[2/3] installing %s locked packages ' "$$(grep -c '==' requirements/dev.txt)"
	@$(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off --require-hashes -r requirements/dev.txt 2>&1 \
		| $(call dots,.venv/install.log) || { cat .venv/install.log; exit 1; }
	@printf '[3/3] installing Amends from this folder '
	@$(BIN)/python -m pip install --disable-pip-version-check --no-input --no-deps --no-build-isolation -e . 2>&1 \
		| $(call dots,.venv/install.log) || { cat .venv/install.log; exit 1; }
	@touch $(STAMP)

lock:
	@test -x .venv-lock/bin/uv || { echo "[1/2] making .venv-lock …"; $(PYTHON) -m venv --clear .venv-lock; .venv-lock/bin/pip install --disable-pip-version-check --quiet uv==$(UV_VERSION); }
	@echo "[2/2] resolving …"
	@cd requirements && ../.venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" ../pyproject.toml -o runtime.txt
	@cd requirements && ../.venv-lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command "make lock" ../pyproject.toml dev.in -o dev.txt
	@! grep -n -i 'http' requirements/runtime.txt requirements/dev.txt || { echo "The lock files must name no download address."; exit 1; }
	@grep -c '==' requirements/runtime.txt requirements/dev.txt
