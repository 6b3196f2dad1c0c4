# Everything happens in .venv, made here. PYTHON chooses the interpreter that makes it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEPS := $(VENV)/.stamp

.PHONY: demo test check bench install fuzz clean

demo: install
	$(BIN)/footplant demo

install: $(DEPS)-all

# one stamp a set of extras: rerun pip only when pyproject.toml changes
$(DEPS)-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

test: $(DEPS)-test
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(DEPS)-check $(DEPS)-test
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(DEPS)-bench
	$(BIN)/python benchmarks/run.py

fuzz: $(DEPS)-fuzz
	$(BIN)/python tests/fuzz/run.py --seconds 60

clean:
	rm -rf $(VENV) build dist
