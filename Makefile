# Two stamps in one virtual environment: the demo does not wait for the tools of the developers.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt
PEERS := .venv-peers/bin/python -m pip install -q --disable-pip-version-check -c constraints.txt -c benchmarks/peers/constraints.txt

.PHONY: demo test test-empty-cache test-browser quick check words bench contest attack mutants coverage kills random-arms random-runs tools cross browser assets docs docs-serve docs-publish gallery cookbook problems paper dist sbom versions versions-of clean

demo: .venv/.ready
	$(BIN)/flexarm simulate canadarm --out out

# Machine code of earlier runs is found in build/test-cache where it still fits; the twenty slowest tests are listed.
# Bytecode first: two processes of pytest would both make it.
test: .venv/.ready-dev
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=20

# The same with nothing compiled beforehand, as the first run in a fresh clone.
test-empty-cache: .venv/.ready-dev
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest -n 2 --dist worksteal --durations=20 --empty-cache

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
	$(BIN)/python docs/making/words.py

# Counts of what is no plain English in pages and docstrings; WORDS="--list docs/do/arms.md" and the like for the places.
words:
	$(PYTHON) docs/making/words.py $(WORDS)

# Kill -9 at 200 moments; in `make test` it is 12.
kills: .venv/.ready-dev
	FLEXARM_KILLS=200 $(BIN)/python -m pytest -q -s tests/test_kills.py

# 500 arms that cover every pair of options, all quantities: native code, CasADi and the oracle; a sample is in `make test`.
random-arms: .venv/.ready-dev
	FLEXARM_RANDOM_ARMS=500 $(BIN)/python -m pytest -n 2 --dist worksteal -q tests/test_random_arms.py

# The motions of 200 arms on every way of running them: single runs, batches, steppers, FMUs, C, live pages.
random-runs: .venv/.ready-dev
	FLEXARM_RANDOM_RUNS=200 $(BIN)/python -m pytest -n 2 -q tests/test_every_way.py

bench: .venv/.ready-peers
	$(BIN)/python -m benchmarks

# flexarm and its peers on the same problems, in an environment of their own: docs/understand/contest.md. The paper's
# table is taken from there.
contest: .venv-peers/.ready
	.venv-peers/bin/python -m benchmarks.peers
	$(PYTHON) paper/measured.py

# 20 000 cases of wrong, damaged and hostile input, with new seeds; ATTACK="--seed 1 --count 500" and the like.
attack: .venv/.ready-dev
	$(BIN)/python -m tests.attack $(ATTACK)

# Lines and branches that the tests reach, for each test: a table, and build/coverage/html. COVERAGE="tests/test_trees.py" and the like
# for some of the tests.
coverage: .venv/.ready-dev
	rm -rf build/coverage
	FLEXARM_COSTS=$(CURDIR)/build/coverage/costs.jsonl $(BIN)/python -m coverage run -m pytest -n 2 --dist worksteal \
		-p tests.mutants.record $(COVERAGE)
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage html -q
	$(BIN)/python -m coverage json -q
	$(BIN)/python -m tests.mutants.covered

# 300 random faults in mechanics, native and simulation, and whether the tests catch each; MUTANTS="--count 60 --seed 7" and the
# like. Which tests run a line is what `make coverage` has recorded.
mutants: build/coverage/costs.jsonl
	$(BIN)/python -m tests.mutants $(MUTANTS)

build/coverage/costs.jsonl: | .venv/.ready-dev
	$(MAKE) coverage

# Machine code and optimal motions of the site and of the tests are in one cache.
KEPT = export FLEXARM_CACHE=$$($(BIN)/python tests/helpers/machine_code.py)

# The site, in build/site, and its checks: every page and name is there, every link leads somewhere. A warning is an error.
# Nothing is fetched: what would, finds no way.
docs: build/gallery/.made build/cookbook/.made
	$(KEPT); http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 \
		$(BIN)/python -m sphinx -b html -W --keep-going -j auto -q -d build/doctrees docs build/site
	cd docs && ../$(BIN)/python -m making.site ../build/site
	@echo "open build/site/index.html"

# Pictures of every scenario and example, and pages in which they move: anew where the package has changed.
gallery: build/gallery/.made

build/gallery/.made: $(shell find src examples docs/making/gallery.py -name '*.py' -o -name '*.toml' -o -name '*.js' -o -name '*.css') | .venv/.ready-docs
	$(KEPT); cd docs && ../$(BIN)/python -m making.gallery ../build/gallery
	touch $@

# Output and pictures of the programs of the cookbook and the course, and notebooks: anew where the package or a page has changed.
cookbook: build/cookbook/.made

build/cookbook/.made: $(shell find src docs/cookbook docs/course docs/making/cookbook.py docs/making/notebooks.py -name '*.py' -o -name '*.md') | .venv/.ready-docs
	$(KEPT); cd docs && ../$(BIN)/python -m making.cookbook ../build/cookbook
	touch $@

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

# The site as one version beside earlier ones, in a folder that a web server may have; SITES=FOLDER for another one.
SITES ?= build/sites
docs-publish: docs
	cd docs && ../$(BIN)/python -m making.versions $(abspath $(SITES))

# What some tests use where it is there: LaTeX for documents, Octave for MATLAB code. Debian; needs root.
tools:
	apt-get update -q && apt-get install -qy --no-install-recommends texlive-latex-recommended octave

# With which the tests compile exported controllers for ARM processors and count their instructions. Debian; needs root.
cross:
	apt-get update -q && apt-get install -qy --no-install-recommends gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-user valgrind

# In which the tests open pages, where no Chromium is there. Debian; needs root.
browser:
	command -v chromium || (apt-get update -q && apt-get install -qy --no-install-recommends chromium)

# What pages carry from elsewhere (three.js, uPlot), anew from the versions in assets/; needs Node. Kept in git.
assets:
	cd assets && npm ci --no-audit --no-fund && node build.mjs

# The converged trajectories of the public set of problems, anew: half an hour.
problems: .venv/.ready-peers .venv/.ready-dev
	$(BIN)/python -m benchmarks.problem_set

# The paper with its citations and figures, in build/paper.html; a warning is an error. Needs pandoc (Debian).
paper:
	$(PYTHON) paper/measured.py
	mkdir -p build
	cd paper && pandoc paper.md --citeproc --fail-if-warnings --standalone -o ../build/paper.html
	@echo "open build/paper.html"

# Wheel and sdist, in dist; built twice they have the same bytes.
dist: .venv/.ready-dev
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist

# What an installation consists of, as CycloneDX says it: build/sbom.json, of an environment with the wheel and nothing else.
sbom: dist .venv/.ready-release
	rm -rf build/sbom && $(PYTHON) -m venv --without-pip build/sbom
	$(BIN)/python -m pip --python build/sbom/bin/python install -q --disable-pip-version-check -c constraints.txt dist/*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible -o build/sbom.json build/sbom/bin/python

# A choice of the tests with the lowest versions that pyproject.toml allows, and with the newest there are, by the
# oldest and the newest Python: `make versions OLDEST=python3.11 NEWEST=python3.13`.
OLDEST ?= $(PYTHON)
NEWEST ?= $(PYTHON)
CHOICE := tests/test_arm.py tests/test_cli.py tests/test_control_linear.py tests/test_implicit.py tests/test_results.py \
	tests/test_simulate.py tests/test_symbolic.py
versions: .venv/.ready-release
	$(MAKE) versions-of WHICH=lowest-direct WITH=$(OLDEST)
	$(MAKE) versions-of WHICH=highest WITH=$(NEWEST)

# Warnings of others' packages are none of ours: those that are newer than constraints.txt, or older, may warn.
versions-of:
	rm -rf build/$(WHICH) && $(WITH) -m venv --without-pip build/$(WHICH)
	$(BIN)/uv pip install -q --python build/$(WHICH)/bin/python --resolution $(WHICH) -r pyproject.toml
	$(BIN)/uv pip install -q --python build/$(WHICH)/bin/python hypothesis pytest
	PYTHONPATH=$(CURDIR)/src:$(CURDIR) build/$(WHICH)/bin/python -m pytest -q -o filterwarnings=default --disable-warnings $(CHOICE)

clean:
	rm -rf .venv .venv-peers assets/node_modules build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

# Pinocchio (crosscheck) has no wheel for some systems: its tests are then skipped.
.venv/.ready-dev: .venv/.ready
	$(PIP) -e ".[dev,cluster,crosscheck,docs,jax,torch]" || $(PIP) -e ".[dev,cluster,docs,jax,torch]"
	touch $@

.venv/.ready-docs: .venv/.ready
	$(PIP) -e ".[docs]"
	touch $@

.venv/.ready-release: .venv/.ready
	$(PIP) -e ".[release]"
	touch $@

# Exudyn (peers) has no wheel for some systems: its rows then say so.
.venv/.ready-peers: .venv/.ready
	$(PIP) -e ".[peers]" || true
	touch $@

# Where a peer has no wheel for this system, the contest is held without it.
.venv-peers/.ready: pyproject.toml constraints.txt benchmarks/peers/requirements.txt benchmarks/peers/constraints.txt
	$(PYTHON) -m venv .venv-peers
	$(PEERS) -e .
	while read peer; do $(PEERS) $$peer || echo "without $$peer"; done < benchmarks/peers/requirements.txt
	touch $@
