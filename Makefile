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

# LOCK=1 takes every package from requirements.lock and stops where a file has another hash, in a .venv made anew.
LOCK ?=
PINS := requirements.$(if $(LOCK),lock,txt)
SETUP := $(VENV)/.done$(if $(LOCK),-locked)
HTML := _build/html/.done
BENCH := _build/bench
BENCH_RECORD := $(BENCH)/cpu.json
PAGES := README.md _config.yml _toc.yml $(shell find chapters assets slides tools -type f -not -path '*/__pycache__/*')
# Shapes and dtypes in the signatures are checked everywhere but where bad input must meet the library's own errors.
SHAPES := --jaxtyping-packages=amemlib,typecheck.check
UNCHECKED := tests/test_bad_input.py tests/test_hostile.py
NOTEBOOKS = $(wildcard chapters/*.ipynb)

.DELETE_ON_ERROR:
.PHONY: help setup notebooks figures html book test quick weekly lint bench gpu gpu-bench gpu-pack commit-file pages serve pdf sheet slides links dist clean distclean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(SETUP)  ## install the pinned environment in .venv; with LOCK=1 by the hashes of requirements.lock
$(SETUP): $(PINS) pyproject.toml
	$(if $(LOCK),$(PYTHON) -m venv --clear $(VENV),test -x $(BIN)/python || $(PYTHON) -m venv $(VENV))
	$(BIN)/python -m pip install --quiet $(if $(LOCK),--require-hashes --only-binary :all:) -r $(PINS)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

book: notebooks  ## execute what is stale, build the book strictly, print the front page's path
	@$(MAKE) --no-print-directory $(HTML)
	@echo _build/html/index.html

notebooks: $(SETUP)  ## write the notebooks and execute those that are stale
	$(BIN)/python tools/notebooks.py run

figures: $(SETUP)  ## bring everything generated up to date: front page's pictures, ledger, map, explorer's numbers
	$(BIN)/python tools/generate.py write

html: $(HTML)  ## build the pages from the stored outputs
# Always the whole book: an incremental build forgets the warnings of pages that it does not read again.
$(HTML): $(SETUP) $(PAGES)
	$(BIN)/jupyter-book build . --all -W -n --keep-going --quiet
	touch $@

test: $(SETUP)  ## everything that must hold, cheapest first
	$(MAKE) --no-print-directory lint
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(SHAPES) $(UNCHECKED:%=--ignore=%) tests
	$(BIN)/python -m pytest -q $(UNCHECKED)
	$(if $(NOTEBOOKS),$(BIN)/python -m pytest -q --nbval --nbval-current-env --nbval-cell-timeout=300 -n 2 --dist loadfile chapters)

quick: $(SETUP)  ## the tests for the work at hand: no notebook is executed, no process started
	$(MAKE) --no-print-directory lint
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python -m pytest -q -m "not weekly and not process" $(SHAPES) $(UNCHECKED:%=--ignore=%) tests
	$(BIN)/python -m pytest -q $(UNCHECKED)

weekly: $(SETUP)  ## what is too slow for every day; writes tests/weekly.yml, which is committed
	$(BIN)/python tools/weekly.py

# The book's environment, and the peers on top of it in a place of their own: nothing of them reaches .venv.
bench: $(SETUP)  ## time the kernels beside their peers (minutes); the record goes to BENCH_RECORD
	mkdir -p $(BENCH)
	$(BIN)/python -m venv $(BENCH)
	echo "import site; site.addsitedir('$(CURDIR)/$$(echo $(VENV)/lib/python*/site-packages)')" > $$(echo $(BENCH)/lib/python*/site-packages)/book.pth
	for peer in $$(sed '/^#/d' benchmarks/requirements.txt); do \
	  $(BENCH)/bin/python -m pip install --quiet --constraint requirements.txt $$peer || echo "bench: $$peer cannot be installed and is skipped"; \
	done
	$(BENCH)/bin/python -m benchmarks --output $(BENCH_RECORD) $(BENCH_OPTIONS)

# Nothing is installed: .venv where there is one, else a Python with torch, numpy, scipy, tqdm, matplotlib and jaxtyping.
# SCALE multiplies the time that each experiment may take, FIRST_SEED is added to the seeds, PLAN=1 only prints the plan.
GPU_PYTHON = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))
BUDGET ?= 540
RESULTS ?= results
DEVICE ?= auto
SCALE ?= 1
FIRST_SEED ?= 0
gpu:  ## run the gpu profiles for BUDGET seconds; RESULTS keeps what is done, PLAN=1 prints the plan
	env -u OMP_NUM_THREADS -u MKL_NUM_THREADS -u OPENBLAS_NUM_THREADS $(if $(COMMIT),AMEM_COMMIT=$(abspath $(COMMIT))) \
	  $(GPU_PYTHON) -m amemlib visit --budget $(BUDGET) --results $(RESULTS) --device $(DEVICE) --scale $(SCALE) \
	  --first-seed $(FIRST_SEED) $(if $(PLAN),--plan)

gpu-bench:  ## time the kernels on DEVICE=cuda (some minutes) or rehearse it on DEVICE=cpu; nothing is installed
	mkdir -p $(RESULTS)/records/benchmarks
	$(GPU_PYTHON) -m benchmarks $(if $(filter cpu,$(DEVICE)),--size device-tiny --device cpu,--size device --device cuda) --rounds 3 \
	  --output $(RESULTS)/records/benchmarks/$(if $(filter cpu,$(DEVICE)),rehearsal,gpu).json

gpu-pack:  ## RESULTS as one file, RESULTS.tar.gz, to carry away and unpack before the next visit
	tar -czf $(RESULTS).tar.gz -C $(dir $(abspath $(RESULTS))) $(notdir $(abspath $(RESULTS)))

commit-file:  ## write commit.json, which tells a machine without git what it runs (from a clean tree)
	$(GPU_PYTHON) -m amemlib stamp

pages: $(HTML)  ## open every page in Chromium, both widths, light and dark; pictures in _build/shots
	$(BIN)/python tools/browse.py --shots

serve: $(HTML)  ## show the book at http://localhost:8000, where the search can show what it found
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory _build/html

pdf: $(SETUP)  ## the whole book as one PDF, printed by Chromium
	$(BIN)/python tools/pdf.py

sheet: $(HTML)  ## the cheat sheet as one sheet of A4, _build/cheat-sheet.pdf
	$(BIN)/python tools/cheat_sheet.py print

slides: $(SETUP)  ## the seminar's slides, _build/slides, which need no network; make html puts them into the book
	$(BIN)/python tools/decks.py

links: $(SETUP)  ## ask every address outside the book whether it still answers
	$(BIN)/jupyter-book build . --builder linkcheck --quiet

# Its tools have an environment and a lock of their own (Python 3.11). Wheel and sdist are for the package index, alone in
# their folder; the archive is the whole book at HEAD, for Zenodo.
DIST := _build/dist
ARCHIVE := _build/archive
RELEASE := _build/release
dist:  ## build the wheel, the sdist and the archive of HEAD in _build, and check what is in them
	rm -rf $(DIST) $(ARCHIVE) && mkdir -p $(DIST) $(ARCHIVE)/source
	git archive HEAD | tar -x -C $(ARCHIVE)/source
	$(PYTHON) -m venv --clear $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements-release.lock
	$(RELEASE)/bin/python -m build --no-isolation --outdir $(DIST) $(ARCHIVE)/source
	rm -rf $(ARCHIVE)/source
	$(RELEASE)/bin/python -m twine check --strict $(DIST)/*
	$(RELEASE)/bin/python tools/release.py contents $(DIST)/*
	name=amemlib-$$($(RELEASE)/bin/python tools/release.py version) && \
	  git archive --format=zip --prefix=$$name/ --output=$(ARCHIVE)/$$name.zip HEAD

lint: $(SETUP)  ## ruff
	$(BIN)/ruff check .

clean:  ## remove what was built, keep .venv
	rm -rf _build

distclean: clean  ## remove .venv as well
	rm -rf $(VENV)
