# Everything happens in .venv, which is made here. PYTHON chooses the interpreter that makes it (3.11 or newer).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CODE := src tests benchmarks examples hatch_build.py
WORKERS := 3
BLENDER := $(VENV)/blender
BLENDER_PYTHON ?= python3.11

.PHONY: demo quick test bounds check page bench bench-quick install docs fuzz nightly clean clips wheel dist
.NOTPARALLEL:

# what Footplant does, on samples that ship with it; results in ./demo
demo: install
	$(BIN)/footplant demo

# footplant itself with all optional parts; afterwards: .venv/bin/footplant --help
install: $(STAMP)-all

# some tests of every package, in about a minute: tests/quick.txt
quick: $(STAMP)-test
	$(BIN)/python -m pytest -n 2 --dist loadfile -q --quick @tests/quick.txt

# every test, examples and README included; kernels are compiled first, with a bar that counts.
# Three workers for two cores: some tests wait for processes, sockets and a browser. Modules are compiled once, also
# where the environment says otherwise: tests start many processes that import them
test: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)-test page clips
	$(BIN)/footplant warmup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# the kernels' tests with bounds checks in compiled code
bounds: $(STAMP)-test
	FOOTPLANT_BOUNDSCHECK=1 $(BIN)/python -m pytest -n 2 --dist loadfile -q @tests/bounds.txt

# real clips of public packages, where the folder ../shared/data is absent: tests/README.md
clips: $(STAMP)-test
	$(BIN)/python tests/real_clips.py

# style, types and the direction of imports; the page's types too; and the documentation as a site
check: $(STAMP)-check $(STAMP)-test
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python hatch_build.py --types
	$(BIN)/mkdocs build --strict --quiet

# the editor's page, when its sources have changed; without Node and npm the tests say what they skip
page: $(BIN)/pip
	-$(BIN)/python hatch_build.py

# speed beside other libraries, against the committed baseline
bench: $(STAMP)-bench
	$(BIN)/python benchmarks/run.py --gate

# the part of it that takes about a minute; CI runs it in a job of its own (.github), since a busy machine is no reason to refuse a change
bench-quick: $(STAMP)-bench
	$(BIN)/python benchmarks/run.py --gate --quick

# a minute of random bytes for each parser
fuzz: $(STAMP)-fuzz
	$(BIN)/python tests/fuzz/run.py --seconds 60

# the documentation as a site in build/site; a warning is an error
docs: $(STAMP)-docs
	$(BIN)/mkdocs build --strict

# a wheel with compiled kernels, for this Python, the numba of .venv and this kind of processor; in dist/
wheel: $(STAMP)-dist page
	rm -rf dist
	FOOTPLANT_COMPILED=1 $(BIN)/python -m build --no-isolation --wheel --outdir dist

# what is published: sources, the wheel for every system, the wheel with compiled kernels; each installed and tried
dist: wheel
	$(BIN)/python -m build --no-isolation --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/try_distributions.py dist

# Blender reads our files, in an environment of its own: 1 GB, and a Python 3.11 because its module is made for that
nightly: $(STAMP)-all $(BLENDER)/.installed
	$(BIN)/python tests/nightly/blender_reads_fbx.py --blender $(BLENDER)/bin/python

clean:
	rm -rf $(VENV) build dist demo out web/node_modules src/footplant/editor/static

# one stamp a set of extras: pip runs again only when pyproject.toml has changed. Of an editable install it compiles no
# modules: the first command would take a second longer
$(STAMP)-%: pyproject.toml | $(BIN)/pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	$(BIN)/python -m compileall -q src/footplant
	@touch $@

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Footplant needs Python 3.11 or newer; try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(BLENDER)/.installed:
	$(BLENDER_PYTHON) -m venv $(BLENDER)
	$(BLENDER)/bin/python -m pip install --quiet --disable-pip-version-check bpy==4.5.15
	@touch $@
