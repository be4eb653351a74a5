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
# compiled modules are kept, whatever the machine says: without them a worker collects for nearly twice as long
export PYTHONDONTWRITEBYTECODE :=

# LOCK=1 takes every package from requirements.lock and stops where a file has another hash, in a .venv made anew.
LOCK ?=
PINS := requirements.$(if $(LOCK),lock,txt)
SETUP := $(VENV)/.done$(if $(LOCK),-locked)
HTML := _build/html/.done
BENCH := _build/bench
BENCH_RECORD := $(BENCH)/cpu.json
PAGES := index.md README.md _config.yml _toc.yml $(shell find chapters companions assets extras/slides tools -type f -not -path '*/__pycache__/*')
# Shapes and dtypes in the signatures are checked everywhere but where bad input must meet the library's own errors.
SHAPES := --jaxtyping-packages=amemlib,amembook.laws,amembook.networks,amembook.paper,amembook.practice,amembook.companions,amembook.vocabularies,typecheck.check
UNCHECKED := tests/test_bad_input.py tests/test_muon.py tests/test_watch.py tests/test_doctor.py tests/test_extremes.py
CHAPTERS := chapters companions/chapters
NOTEBOOKS = $(wildcard $(CHAPTERS:%=%/*.ipynb))

QUICK ?= not weekly and not process and not slow

.DELETE_ON_ERROR:
.PHONY: help setup notebooks figures html book test unit nbval quick screen weekly portable lint bench gpu gpu-bench pages serve pdf slides links dist clean distclean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(SETUP)  ## install the pins in .venv; with LOCK=1 by the hashes of requirements.lock
$(SETUP): $(PINS) pyproject.toml
	$(if $(LOCK),$(PYTHON) -m venv --clear $(VENV),test -x $(BIN)/python || $(PYTHON) -m venv $(VENV))
	$(BIN)/python -m pip install --quiet $(if $(LOCK),--require-hashes --only-binary :all:) -r $(PINS)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

book: notebooks  ## execute what is stale, build both books strictly, print the front page's path
	@$(MAKE) --no-print-directory $(HTML)
	@echo _build/html/index.html

notebooks: $(SETUP)  ## write the notebooks and execute those that are stale
	$(BIN)/python tools/notebooks.py run

figures: $(SETUP)  ## bring what is generated up to date: pictures, ledger, cheat sheet, explorer
	$(BIN)/python tools/generate.py write

html: $(HTML)  ## build the pages from the stored outputs
$(HTML): $(SETUP) $(PAGES)
	$(BIN)/python tools/books.py html
	touch $@

test: $(SETUP)  ## everything that must hold, cheapest first
	$(MAKE) --no-print-directory unit
	$(MAKE) --no-print-directory nbval

unit: $(SETUP)
	$(MAKE) --no-print-directory lint
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(SHAPES) $(UNCHECKED:%=--ignore=%)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile $(UNCHECKED)

nbval: $(SETUP)
	$(if $(NOTEBOOKS),PYTHONPATH=tools $(BIN)/python -m pytest -q -p forked_kernels --nbval --nbval-current-env --nbval-cell-timeout=300 -n 2 --dist loadfile $(CHAPTERS))

quick: $(SETUP)  ## the tests that execute no notebook, start no process and take no seconds
	$(MAKE) --no-print-directory lint
	$(BIN)/python tools/notebooks.py check
	$(BIN)/python -m pytest -q -m "$(QUICK)" -n auto --dist loadfile $(SHAPES) $(UNCHECKED:%=--ignore=%)
	$(BIN)/python -m pytest -q -m "$(QUICK)" -n auto --dist loadfile $(UNCHECKED)

screen: $(HTML)  ## the tests that open pages in Chromium; `make test` has a sample of them
	$(BIN)/python -m pytest -q -m "screen and not weekly" -n 2 --dist loadfile tests

weekly: $(SETUP)  ## the tests that are too slow for every day
	$(BIN)/python -m pytest -q -m weekly

portable: $(SETUP)  ## notebooks and tests as other machines would run them (an hour and a half)
	for machine in "--noise 1" "--noise 2" "--setting avx2" "--setting smallest" "--setting threads2" \
	    "--setting avx2 --tests" "--setting smallest --tests"; do \
	  $(BIN)/python tools/rounding.py $$machine --log $(CURDIR)/_build/portability.csv || exit 1; \
	done
	cp _build/portability.csv tests/

# The book's environment, and the peers on top of it in a place of their own: nothing of them reaches .venv.
bench: $(SETUP)  ## time the kernels beside their peers (minutes)
	mkdir -p $(BENCH)
	$(BIN)/python -m venv $(BENCH)
	echo "import site; site.addsitedir('$(CURDIR)/$$(echo $(VENV)/lib/python*/site-packages)')" > $$(echo $(BENCH)/lib/python*/site-packages)/book.pth
	for peer in $$(sed '/^#/d' extras/benchmarks/requirements.txt); do \
	  $(BENCH)/bin/python -m pip install --quiet --constraint requirements.txt $$peer || echo "bench: $$peer cannot be installed and is skipped"; \
	done
	PYTHONPATH=extras $(BENCH)/bin/python -m benchmarks --output $(BENCH_RECORD) $(BENCH_OPTIONS)

# Nothing is installed: .venv where there is one, else a Python with torch, numpy, scipy, tqdm and jaxtyping. A machine
# without .git gets its commit by AMEM_COMMIT=$(git rev-parse --short=12 HEAD). The studies stand in the order of their worth.
GPU_PYTHON = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))
# PROFILE=rehearsal is of the first three alone.
GPU_STUDIES ?= $(if $(filter rehearsal,$(PROFILE)),one-step sharp deflation,sharp one-step deflation spectral-maps \
  interactions signal loss many-steps trajectory critical-batch optimality race iterates-domain iterates-ratio precision lemmas \
  vocabulary recall-rates recall recall-capacity)
BUDGET ?= 540
RESULTS ?= results
DEVICE ?= auto
PROFILE ?= gpu
# Processes that draw beside each other and share the card: four want 60 GB of its memory.
WORKERS ?=
gpu:  ## run the gpu profiles for BUDGET seconds; what is done is kept in RESULTS
	@test "$(BUDGET)" -gt 0 2>/dev/null || { echo "BUDGET must be a positive whole number of seconds, got $(BUDGET)" >&2; exit 2; }
	@end=$$(($$(date +%s) + $(BUDGET))); \
	for name in $(GPU_STUDIES); do \
	  record=$(RESULTS)/records/$$name/$(PROFILE).json; left=$$((end - $$(date +%s))); \
	  if [ -e $$record ]; then continue; fi; \
	  if [ $$left -le 0 ]; then break; fi; \
	  mkdir -p $(RESULTS)/records/$$name; \
	  env -u OMP_NUM_THREADS -u MKL_NUM_THREADS -u OPENBLAS_NUM_THREADS $(GPU_PYTHON) -m amembook run $$name \
	    --profile $(PROFILE) --device $(DEVICE) $(if $(WORKERS),--workers $(WORKERS)) --budget $$left --results $(RESULTS) --output $$record || test $$? -le 3 || exit; \
	done; \
	echo "$$(ls $(RESULTS)/records/*/$(PROFILE).json 2>/dev/null | wc -l) of $(words $(GPU_STUDIES)) records in $(RESULTS)/records"

gpu-bench:  ## time the kernels on a GPU (minutes); DEVICE=cpu rehearses it
	mkdir -p $(RESULTS)/records/benchmarks
	PYTHONPATH=extras $(GPU_PYTHON) -m benchmarks $(if $(filter cpu,$(DEVICE)),--size device-tiny --device cpu,--size device --device cuda) --rounds 3 \
	  --output $(RESULTS)/records/benchmarks/$(if $(filter cpu,$(DEVICE)),rehearsal,gpu).json

pages: $(HTML)  ## open every page in Chromium, both widths, light and dark; pictures in _build/shots
	$(BIN)/python tools/browse.py --shots

serve: $(HTML)  ## show the books at http://localhost:8000, where the search can show what it found
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory _build/html

pdf: $(SETUP)  ## each book as one PDF, printed by Chromium
	$(BIN)/python tools/pdf.py

slides: $(HTML)  ## set the seminar's slides by Marp (npm), in _build/html/slides
	npx --yes @marp-team/marp-cli@4.5.1 --input-dir extras/slides --output _build/html/slides

links: $(SETUP)  ## ask every address outside the books whether it still answers
	$(BIN)/python tools/books.py linkcheck

RELEASE := _build/release
dist:  ## build what a release publishes, in _build/dist
	rm -rf _build/dist && $(PYTHON) -m venv --clear $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet build==1.6.1 twine==7.0.0
	$(RELEASE)/bin/python -m build --outdir _build/dist .
	$(RELEASE)/bin/python -m twine check --strict _build/dist/*

lint: $(SETUP)  ## ruff: faults and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

clean:  ## remove what was built, keep .venv
	rm -rf _build

distclean: clean  ## remove .venv as well
	rm -rf $(VENV)
