# Two commands are enough on a fresh machine: `make run` and `make test`.
# They need Python 3.11+, make and a C++ compiler; everything else comes from PyPI.

PYTHON  ?= python3
WORKERS ?= auto
VENV   := .venv
BIN    := $(VENV)/bin
WHEELS := build/wheels
SOURCES := $(shell find cpp cmake src -name '*.?pp' -o -name '*.cmake' -o -name '*.py' -o -name '*.pyi') \
           CMakeLists.txt pyproject.toml README.md

.PHONY: run check test mutants lint format bench clean

run: $(VENV)/.installed
	$(BIN)/widemargin demo

# Before every commit: the linters, and quick tests, of those with many cases some.
check: lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --max-worker-restart=0 -m "not slow and not data" --few

# Everything. Tests of real data need the folder that WIDEMARGIN_DATA names.
test: $(VENV)/.tested-with
	$(BIN)/python -m pytest -q -n $(WORKERS) --max-worker-restart=0

# Do the tests notice mistakes? Twenty lines of the solvers, each changed in turn.
mutants: $(VENV)/.mutated-with
	$(BIN)/python -m tools.mutants

lint: $(VENV)/.linted-with
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python -m tools.words
	$(BIN)/clang-format --dry-run --Werror $$(find cpp -name '*.hpp' -o -name '*.cpp')

format: $(VENV)/.linted-with
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find cpp -name '*.hpp' -o -name '*.cpp')

bench: $(VENV)/.benched-with
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# The core is compiled once; every set of extras is then installed from the same wheel.
$(VENV)/.installed: $(VENV)/bin/python $(SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir $(WHEELS) .
	$(BIN)/python -m pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[cli,plot]"
	touch $@

$(VENV)/.tested-with: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[test]"
	touch $@

$(VENV)/.linted-with: $(VENV)/.tested-with
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[lint]"
	touch $@

$(VENV)/.mutated-with: $(VENV)/.tested-with
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[mutants]"
	touch $@

$(VENV)/.benched-with: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet "$$(echo $(WHEELS)/*.whl)[bench]"
	touch $@
