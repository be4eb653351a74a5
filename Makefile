# Each target sets up what it needs in .venv. pip's own environment variables choose the indexes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export OMP_WAIT_POLICY := passive
export AMEM_PROFILE := cpu
export PYTHONUTF8 := 1

SETUP := $(VENV)/.done
HTML := _build/html/.done
PAGES := README.md _config.yml _toc.yml $(shell find chapters assets tools -type f -not -path '*/__pycache__/*')
# Shapes and dtypes in the signatures are checked everywhere but where bad input must meet the library's own errors.
SHAPES := --jaxtyping-packages=amemlib,typecheck.check
NOTEBOOKS = $(wildcard chapters/*.ipynb)

.DELETE_ON_ERROR:
.PHONY: help setup notebooks figures html book test lint shots clean distclean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(SETUP)  ## install the pinned environment in .venv
$(SETUP): requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -r requirements.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

book: notebooks  ## execute what is stale, build the book strictly, print the front page's path
	@$(MAKE) --no-print-directory $(HTML)
	@echo _build/html/index.html

notebooks: $(SETUP)  ## write the notebooks and execute those that are stale
	$(BIN)/python tools/notebooks.py run

figures: $(SETUP)  ## redraw the front page's pictures and the ledger from the records
	$(BIN)/python tools/front.py write
	$(BIN)/python tools/ledger.py write

html: $(HTML)  ## build the pages from the stored outputs
# Always the whole book: an incremental build forgets the warnings of pages that it does not read again.
$(HTML): $(SETUP) $(PAGES)
	$(BIN)/jupyter-book build . --all -W -n --keep-going --quiet
	touch $@

test: $(SETUP)  ## everything that must hold, cheapest first
	$(MAKE) --no-print-directory lint
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(SHAPES) --ignore=tests/test_bad_input.py tests
	$(BIN)/python -m pytest -q tests/test_bad_input.py
	$(if $(NOTEBOOKS),$(BIN)/python -m pytest -q --nbval --nbval-current-env --nbval-cell-timeout=300 -n 2 --dist loadfile chapters)

shots: $(HTML)  ## open every page in Chromium; pictures in _build/shots
	$(BIN)/python tools/browse.py

lint: $(SETUP)  ## ruff
	$(BIN)/ruff check .

clean:  ## remove what was built, keep .venv
	rm -rf _build

distclean: clean  ## remove .venv as well
	rm -rf $(VENV)
