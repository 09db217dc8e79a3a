# Two stamps in one virtual environment: the demo does not wait for the tools of the developers.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-browser quick check bench attack kills tools browser assets docs docs-serve gallery clean

demo: .venv/.ready
	$(BIN)/flexarm simulate canadarm --out out

test: .venv/.ready-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The tests of pages alone; without a Chromium they say that they were skipped.
test-browser: .venv/.ready-dev
	$(BIN)/python -m pytest tests/test_browser_*.py

quick: .venv/.ready-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --quick

check: .venv/.ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Kill -9 at 200 moments; in `make test` it is 20.
kills: .venv/.ready-dev
	FLEXARM_KILLS=200 $(BIN)/python -m pytest -q -s tests/test_kills.py

bench: .venv/.ready-peers
	$(BIN)/python -m benchmarks

# 20 000 cases of wrong, damaged and hostile input, with new seeds; ATTACK="--seed 1 --count 500" and the like.
attack: .venv/.ready-dev
	$(BIN)/python -m tests.attack $(ATTACK)

# The site, in build/site; a warning is an error. Nothing is fetched.
docs: build/gallery/.made
	$(BIN)/python -m sphinx -b html -W --keep-going -j auto -q -d build/doctrees docs build/site
	@echo "open build/site/index.html"

# Pictures of every scenario and example, and pages in which they move: anew where the package has changed.
gallery: build/gallery/.made

build/gallery/.made: $(shell find src examples docs/making/gallery.py -name '*.py' -o -name '*.toml' -o -name '*.js' -o -name '*.css') | .venv/.ready-docs
	cd docs && ../$(BIN)/python -m making.gallery ../build/gallery
	touch $@

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

# What some tests use where it is there: LaTeX for documents, Octave for MATLAB code. Debian; needs root.
tools:
	apt-get update -q && apt-get install -qy --no-install-recommends texlive-latex-recommended octave

# In which the tests open pages, where no Chromium is there. Debian; needs root.
browser:
	command -v chromium || (apt-get update -q && apt-get install -qy --no-install-recommends chromium)

# What pages carry from elsewhere (three.js, uPlot), anew from the versions in assets/; needs Node. Kept in git.
assets:
	cd assets && npm ci --no-audit --no-fund && node build.mjs

clean:
	rm -rf .venv assets/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# Pinocchio (crosscheck) has no wheel for some systems: its tests are then skipped.
.venv/.ready-dev: .venv/.ready
	$(PIP) -e ".[dev,cluster,crosscheck,docs]" || $(PIP) -e ".[dev,cluster,docs]"
	touch $@

.venv/.ready-docs: .venv/.ready
	$(PIP) -e ".[docs]"
	touch $@

# Exudyn (peers) has no wheel for some systems: its rows then say so.
.venv/.ready-peers: .venv/.ready
	$(PIP) -e ".[peers]" || true
	touch $@
