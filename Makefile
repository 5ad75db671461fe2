# The two commands of the README are `make run` and `make test`. They need Python with venv and a package index;
# no package is compiled. Stamps in the environment make second runs start at once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RECIPE := recipes/quickstart.yaml
TRAIN := recipes/train_quickstart.yaml
CORPUS := out/quickstart
RUN := runs/quickstart
PYTEST := $(BIN)/python -m pytest
# Two processes, a file of tests at a time, since the tests of a file share what they have made.
SHARED_OUT := -n 2 --dist loadfile
SEED := 17

.DEFAULT_GOAL := help
.PHONY: help run test lint format soak bench clean

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environment -------------------------------------------------------------------------------------------
# constraints.txt holds the exact versions that were tested; without it, torch may come as a build of several
# gigabytes.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: Headrace needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)"; echo; \
	  echo "hint: make run PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-train: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[train]"
	@touch $@

$(VENV)/.installed-test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[train,test]"
	@touch $@ $(VENV)/.installed-train

$(VENV)/.installed-bench: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[train,test,bench]"
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed-train

# --- the main job ------------------------------------------------------------------------------------------
run: $(VENV)/.installed-train ## Raw text to shards to a trained, resumed and audited model
	@# The tables of the first two come at the end, once; progress is on stderr.
	$(BIN)/dataprep run $(RECIPE) > /dev/null
	rm -rf $(RUN)
	$(BIN)/trainer run $(TRAIN) --until 30 > /dev/null
	$(BIN)/trainer run $(TRAIN) --until 60 > /dev/null
	@echo; $(BIN)/dataprep report $(CORPUS)
	@echo; $(BIN)/trainer audit $(RUN)
	@echo; echo "corpus    $(CORPUS)/manifest.json"
	@echo "run       $(RUN)"

# --- checks ------------------------------------------------------------------------------------------------
test: $(VENV)/.installed-test ## The fast tests, then the slow ones
	$(PYTEST) -q -m "not slow" $(SHARED_OUT)
	$(PYTEST) -q -m slow $(SHARED_OUT)

soak: $(VENV)/.installed-test ## Minutes of random kills and random input (SEED=17)
	$(BIN)/python -m tests.faults.soak --rounds 10 --kills 20 --seed $(SEED) --write tests/faults/soak.json
	HYPOTHESIS_PROFILE=soak $(PYTEST) -q -m "not slow" --hypothesis-seed=$(SEED) tests/dataprep tests/manifests

lint: $(VENV)/.installed-test ## Style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -q tests/test_layers.py

format: $(VENV)/.installed-test ## Rewrite to the one style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed-bench ## Every benchmark, as tables (NAME=read for one)
	$(BIN)/python -m benchmarks $(or $(NAME),all)

clean: ## Remove what `make run` wrote
	rm -rf out/quickstart runs/quickstart
