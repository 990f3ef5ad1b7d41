# Needs Python 3.11 or newer, make and a C++ compiler. Every target sets up what it uses.
PYTHON ?= python3
VENV := .venv
BOOK_VENV := .venv-book

# Without compiled modules each of some hundred processes compiles them anew.
unexport PYTHONDONTWRITEBYTECODE

# Browsers and emulated GPUs wait as often as they work: a third worker has the two cores meanwhile.
PYTEST = $(VENV)/bin/python -m pytest -n 3 --dist loadfile

SEED ?= $(shell date +%s)
# Records as new as the kernels are a release's to have: on other branches a test that misses them only tells.
ON_MAIN := $(filter main,$(shell git branch --show-current))
FRESH := $(if $(ON_MAIN),--fresh)
# The engine's tests are a sample where they passed and nothing has changed since (tests/engine/sampling.py).
WHOLE := $(if $(CI),$(if $(ON_MAIN),--whole))

.PHONY: help book epub check test test-book test-all lint set-up lab notebooks listings machine outcomes readme fork clean distclean

help:  ## this list
	@awk -F':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: $(BOOK_VENV)/ready  ## the site, in _build/html; warnings are errors
	$(BOOK_VENV)/bin/jupyter-book build . --warningiserror --keep-going --quiet

epub: $(BOOK_VENV)/ready  ## the whole book as one file, in _build/epub, for readers of EPUB
	$(BOOK_VENV)/bin/jupyter-book build . --builder custom --custom-builder epub --warningiserror --keep-going --quiet

check: lint  ## while you work: lint, types, imports, one shape a kernel
	$(PYTEST) tests --tier check

test: lint  ## lint, types, unit tests and what every notebook gives
	$(PYTEST) $(WHOLE)

test-book: $(VENV)/ready book  ## the site in a browser, the EPUB, Colab's environment
	$(PYTEST) tests --tier book

test-all: lint book  ## all of these with full tables, a new fuzz seed, and every kernel built anew
	cache=$$(mktemp -d) && trap "rm -rf $$cache" EXIT && \
	$(VENV)/bin/python -m pytest --tier all -m alone tests/pages && \
	XDG_CACHE_HOME=$$cache $(PYTEST) --nbval --tier all -m "not alone" $(FRESH) --hypothesis-seed $(SEED)

lint: $(VENV)/ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

set-up: $(VENV)/ready $(BOOK_VENV)/ready  ## both environments; every target sees to its own

lab: $(VENV)/ready  ## JupyterLab at the introduction, beside a list of the chapters
	$(VENV)/bin/jupyter lab --ServerApp.root_dir=book --ContentsManager.hide_globs='["*.bib", "__pycache__", "exercises", "measurements", "publish", "static"]' book/intro.ipynb

notebooks:  ## execute every notebook on the CPU, reproducibly, and save it
listings:  ## machine code of the book's kernels, where one has changed
machine:  ## the interpreter of machine code as WebAssembly, where a source has changed; by node and npm
outcomes:  ## what graders say of the attempts that pages offer
readme:  ## results in the README, from the recorded measurements
notebooks listings machine outcomes readme: $(VENV)/ready
	$(VENV)/bin/python book/publish/$@.py

fork:  ## point every link at another repository: make fork URL=https://github.com/you/fork
	$(PYTHON) book/publish/address.py $(URL)

clean:  ## remove what was built
	rm -rf _build build *.egg-info

distclean: clean  ## that and both environments; `softmax-lib cache --clear` first removes built kernels
	rm -rf $(VENV) $(BOOK_VENV) .hypothesis .mypy_cache .pytest_cache .ruff_cache

# A virtual environment is made anew when what it holds has changed. Dependency groups need pip 25.1.
define create_venv
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12")'
	rm -rf $(1)
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install -qq --upgrade "pip>=25.1"
endef

$(BOOK_VENV)/ready: pyproject.toml constraints.txt
	$(call create_venv,$(BOOK_VENV))
	$(BOOK_VENV)/bin/pip install -qq -c constraints.txt --editable . --group book
	touch $@

$(VENV)/ready: pyproject.toml constraints.txt
	$(call create_venv,$(VENV))
	$(VENV)/bin/pip install -qq -c constraints.txt --editable ".[cuda12,notebook,triton]" --group test
	touch $@
