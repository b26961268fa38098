# `make` prints what there is. Every target makes its own environment when it needs one.

PYTHON ?= python3
VENV   := .venv
READY  := $(VENV)/.ready
BIN    := $(VENV)/bin

# uv installs in a sixth of pip's time (docs/performance.md). It does not read pip's configuration, so
# that pip does it where another index is configured, and where uv has no wheel or fails.
define install
( ! $(BIN)/pip config list | grep -q '[.]index-url=' && \
  $(BIN)/pip install --quiet --disable-pip-version-check uv 2>/dev/null && \
  $(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '$(1)' ) || \
$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'
endef

.DEFAULT_GOAL := help
.PHONY: help regress regress-full test test-thorough test-unit test-proof test-cosim test-system lint docs lock clean

help:  ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

regress: $(READY)  ## the quick level: nearly every block simulated, checked and proved in minutes
	@$(BIN)/cyclebound regress $(ARGS)

regress-full: $(READY)  ## all configurations, sweeps, proofs, waveforms; resumable, e.g. ARGS="--resume DIR"
	@$(BIN)/cyclebound regress --full $(ARGS)

test: $(READY)  ## all tests but those that take minutes each
	@$(BIN)/pytest -n auto --dist worksteal $(ARGS)

test-thorough: $(READY)  ## all tests (in parts: ARGS="--shard 1/4 --junitxml part-1.xml", then tests/merge_parts.py)
	@$(BIN)/pytest -n auto --dist worksteal --thorough $(ARGS)

test-unit: $(READY)  ## models, bounds and components by themselves: seconds
	@$(BIN)/pytest -n auto -m unit $(ARGS)

test-proof: $(READY)  ## the properties, through the model checker
	@$(BIN)/pytest -n auto -m proof $(ARGS)

test-cosim: $(READY)  ## RTL against golden model on Verilator
	@$(BIN)/pytest -n auto -m cosim $(ARGS)

test-system: $(READY)  ## command line, report, packaging
	@$(BIN)/pytest -n auto -m system $(ARGS)

lint: $(READY)  ## ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy

docs: $(READY)  ## the pages as a site with a search: build/site/index.html
	@rm -rf build/site
	@$(BIN)/sphinx-build -q -W --keep-going -j auto -d build/doctrees docs build/site $(ARGS)
	@echo "build/site/index.html (its search shows excerpts where a server has it: python3 -m http.server -d build/site)"

lock: $(READY)  ## write constraints.txt from the packages installed now
	@$(call install,.[devices])
	@$(call install,.[shmac])
	@$(call install,.[cuda])
	@(head -n 1 constraints.txt; $(BIN)/pip freeze --exclude-editable --exclude uv) > constraints.new
	@mv constraints.new constraints.txt

clean:  ## remove the environment and all runs (not the cache of builds)
	rm -rf $(VENV) runs build docs/modules *.egg-info

# The system has to bring a C++ compiler and Python; all else comes from PyPI.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or later is needed; set PYTHON=, e.g. make PYTHON=python3.12"; exit 1; }
	@for tool in "$$CXX" g++ clang++ c++; do \
	  [ -n "$$tool" ] && command -v "$$tool" >/dev/null && exit 0; done; \
	  echo "a C++ compiler is needed: apt-get install g++, or xcode-select --install"; exit 1
	@echo "installing into $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(call install,.[test])
	@touch $@
